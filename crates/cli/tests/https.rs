//! `sapwood serve` over https, and our `svn` on https: URLs: certificates that are trusted, and that
//! are not.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};
use sapwood_testkit::server::free_port;
use sapwood_testkit::{Output, Programs, Repository, Shape};

/// An authority of the test's own.
fn authority() -> CertifiedIssuer<'static, KeyPair> {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.distinguished_name.push(DnType::OrganizationName, "The Test");
    CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap()
}

/// Writes a certificate for `host`, and its key; `days` is how long ago it began and when it ends.
fn certify(
    authority: &CertifiedIssuer<'static, KeyPair>,
    host: &str,
    years: (i32, i32),
    folder: &Path,
) {
    let mut params = CertificateParams::new(vec![host.to_owned()]).unwrap();
    params.distinguished_name.push(DnType::CommonName, host);
    params.not_before = rcgen::date_time_ymd(years.0, 1, 1);
    params.not_after = rcgen::date_time_ymd(years.1, 1, 1);
    let key = KeyPair::generate().unwrap();
    let certificate = params.signed_by(&key, authority).unwrap();
    fs::write(folder.join("certificate"), certificate.pem()).unwrap();
    fs::write(folder.join("key"), key.serialize_pem()).unwrap();
}

struct Served {
    child: Child,
    url: String,
    folder: PathBuf,
    _repo: Repository,
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Served {
    fn start(host: &str, years: (i32, i32)) -> Self {
        let repo = Repository::scripted(&Shape::few()[0]);
        let conf = "[general]\nanon-access = write\n";
        fs::write(repo.path().join("conf/svnserve.conf"), conf).unwrap();
        let folder = repo.parent().join("tls");
        fs::create_dir_all(folder.join("config/auth/svn.ssl.server")).unwrap();
        let authority = authority();
        fs::write(folder.join("authority"), authority.pem()).unwrap();
        certify(&authority, host, years, &folder);
        let (svn, port) = (free_port().to_string(), free_port());
        let mut child = Programs::ours()
            .command("sapwood")
            .arg("serve")
            .arg(repo.path())
            .args(["--no-http", "--port", &svn, "--https-port", &port.to_string()])
            .arg("--tls-certificate")
            .arg(folder.join("certificate"))
            .arg("--tls-key")
            .arg(folder.join("key"))
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        assert!(lines.any(|line| line.unwrap().contains("https://")), "the address is printed");
        std::thread::spawn(move || lines.for_each(drop));
        Self { child, url: format!("https://localhost:{port}/repo"), folder, _repo: repo }
    }

    fn svn(&self, args: &[&str]) -> Output {
        let config = self.folder.join("config");
        let more = ["--non-interactive", "--config-dir", config.to_str().unwrap()];
        Programs::ours().run("svn", args.iter().chain(&more))
    }

    fn known(&self) -> String {
        let file = self.folder.join("authority");
        format!("servers:global:ssl-authority-files={}", file.display())
    }
}

#[test]
fn a_known_authority_needs_no_trust() {
    let served = Served::start("localhost", (2020, 2100));
    let known = served.known();
    let option = ["--config-option", known.as_str()];
    let info = served.svn(&[&["info", "--show-item", "url", &served.url][..], &option].concat());
    assert_eq!(info.expect_success("info").stdout_text().trim(), served.url);
    let made = format!("{}/made", served.url);
    served
        .svn(&[&["mkdir", "-q", "-m", "over https", &made][..], &option].concat())
        .expect_success("mkdir");
    // The whole of a tree, too, and its texts.
    let wc = served.folder.join("wc");
    served
        .svn(&[&["co", "-q", &served.url, wc.to_str().unwrap()][..], &option].concat())
        .expect_success("checkout");
    assert!(wc.join("made").is_dir());
}

#[test]
fn what_is_wrong_is_named_and_can_be_accepted() {
    let served = Served::start("elsewhere.example.com", (2010, 2011));
    let refused = served.svn(&["info", &served.url]);
    let text = refused.stderr_text();
    assert_eq!(refused.code, 1, "{text}");
    assert!(text.contains("E230001"), "{text}");
    for reason in ["has expired", "different hostname", "issuer is not trusted"] {
        assert!(text.contains(reason), "{text}");
    }
    let part = ["--trust-server-cert-failures", "expired,cn-mismatch"];
    let text = served.svn(&[&["info", &served.url][..], &part].concat()).stderr_text();
    assert!(text.contains("issuer is not trusted") && !text.contains("expired"), "{text}");
    let all = ["--trust-server-cert-failures", "expired,cn-mismatch,unknown-ca"];
    served.svn(&[&["info", &served.url][..], &all].concat()).expect_success("info");
}

#[test]
fn the_certificate_is_read_again() {
    let served = Served::start("localhost", (2010, 2011));
    let known = served.known();
    let args = ["info", &served.url, "--config-option", &known];
    assert!(served.svn(&args).stderr_text().contains("has expired"));
    // Half of a renewal changes nothing.
    let key = fs::read(served.folder.join("key")).unwrap();
    fs::write(served.folder.join("key"), "no key").unwrap();
    assert!(served.svn(&args).stderr_text().contains("has expired"));
    fs::write(served.folder.join("key"), key).unwrap();
    let authority = authority();
    fs::write(served.folder.join("authority"), authority.pem()).unwrap();
    certify(&authority, "localhost", (2020, 2100), &served.folder);
    served.svn(&args).expect_success("info with the new certificate");
}
