//! `sapwood serve` over https, and our `svn` on https: URLs: certificates that are trusted, and that
//! are not.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};
use sapwood_testkit::compare::assert_same;
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

/// Without a port of its own there is no http beside https, by options and by a file.
#[test]
fn https_alone_is_https_alone() {
    let served = Served::start("localhost", (2020, 2100));
    let folder = served.folder.canonicalize().unwrap();
    let file = folder.join("f.toml");
    let (https, http) = (free_port(), free_port());
    let place = "[[location]]\nurl = '/a'\nfolder = '.'\n";
    let certificate = "tls-certificate = 'certificate'\ntls-key = 'key'\n";
    let says = |begin: &str, more: &[&str]| {
        fs::write(&file, format!("https-port = {https}\n{begin}{certificate}{place}")).unwrap();
        let mut command = Programs::ours().command("sapwood");
        command.args(["serve", "--config", file.to_str().unwrap()]).args(more);
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let told: Vec<String> =
            lines.map(|line| line.unwrap()).take_while(|line| !line.contains("Ctrl-C")).collect();
        let is_open = std::net::TcpStream::connect(("127.0.0.1", http)).is_ok();
        child.kill().unwrap();
        child.wait().unwrap();
        let told = told.join("\n");
        assert!(told.contains("https://127.0.0.1"), "{told}");
        (told.contains("http://"), is_open)
    };
    let named = format!("http-port = {http}\n");
    assert_eq!(says("", &[]), (false, false));
    assert_eq!(says(&named, &[]), (true, true));
    assert_eq!(says(&named, &["--no-http"]), (false, false));
}

/// A port that only leads to https: browsers are sent there, others hear why not, and nothing is done or looked at.
#[test]
fn plain_http_may_lead_to_https_only() {
    let served = Served::start("localhost", (2020, 2100));
    let folder = served.folder.canonicalize().unwrap();
    let file = folder.join("f.toml");
    let (https, http) = (free_port(), free_port());
    let start = |begin: &str| {
        let place = "[[location]]\nurl = '/a'\nfolder = '..'\nanonymous = 'write'\nlist = true\n";
        let certificate = "tls-certificate = 'certificate'\ntls-key = 'key'\n";
        let text =
            format!("https-port = {https}\n{begin}{certificate}redirect-to-https = true\n{place}");
        fs::write(&file, text).unwrap();
        let mut command = Programs::ours().command("sapwood");
        command.args(["serve", "--config", file.to_str().unwrap()]);
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    };
    let refused = start("").wait_with_output().unwrap();
    let words = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(words.contains("'redirect-to-https' needs 'http-port'"), "{words}");
    let mut child = start(&format!("http-port = {http}\n"));
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let said: Vec<String> =
        lines.map(|line| line.unwrap()).take_while(|line| !line.contains("Ctrl-C")).collect();
    assert!(!said.join("\n").contains("http://"), "{said:?}");
    let ask = |method: &str, path: &str, more: &str| {
        let mut socket = std::net::TcpStream::connect(("127.0.0.1", http)).unwrap();
        let host = format!("Host: localhost:{http}\r\nConnection: close\r\n");
        socket
            .write_all(format!("{method} {path} HTTP/1.1\r\n{host}{more}\r\n").as_bytes())
            .unwrap();
        // To the end, or to the sentence: it does not wait for the body.
        let (mut answer, mut piece) = (String::new(), [0; 4096]);
        while !answer.contains("https only")
            && let count @ 1.. = socket.read(&mut piece).unwrap()
        {
            answer.push_str(&String::from_utf8_lossy(&piece[..count]));
        }
        answer
    };
    for (method, path) in [("GET", "/a/repo/trunk/?p=1"), ("HEAD", "/"), ("GET", "/nowhere/%20b")] {
        let answer = ask(method, path, "Authorization: Basic YTpi\r\n");
        assert!(answer.starts_with("HTTP/1.1 301 "), "{answer}");
        let place = format!("\r\nlocation: https://localhost:{https}{path}\r\n");
        assert!(answer.contains(&place), "{answer}");
    }
    let body = "Content-Length: 1000\r\n";
    for method in ["OPTIONS", "PROPFIND", "POST", "PUT", "MKCOL", "REPORT", "DELETE", "TRACE"] {
        let answer = ask(method, "/a/repo/!svn/me", body);
        assert!(answer.starts_with("HTTP/1.1 403 "), "{method}: {answer}");
        assert!(answer.contains("https only"), "{method}: {answer}");
        assert!(!answer.to_ascii_lowercase().contains("www-authenticate"), "{answer}");
    }
    child.kill().unwrap();
    child.wait().unwrap();
}

/// A connection that gave its buffers back is still the same to its client.
#[test]
fn requests_after_pauses_on_one_connection() {
    let served = Served::start("localhost", (2020, 2100));
    let script = "import http.client, ssl, sys, time\n\
        context = ssl._create_unverified_context()\n\
        place = sys.argv[1].split('/')[2]\n\
        connection = http.client.HTTPSConnection(place, context=context, timeout=60)\n\
        sockets = set()\n\
        for pause in (0, 1.5, 1.5):\n\
        \x20   time.sleep(pause)\n\
        \x20   connection.request('OPTIONS', '/repo')\n\
        \x20   reply = connection.getresponse()\n\
        \x20   reply.read()\n\
        \x20   sockets.add(connection.sock)\n\
        \x20   print(reply.status)\n\
        print(len(sockets))\n";
    let done = std::process::Command::new("python3").args(["-c", script, &served.url]).output();
    let done = done.unwrap();
    let told = String::from_utf8_lossy(&done.stdout).into_owned();
    assert_eq!(told, "200\n200\n200\n1\n", "{}", String::from_utf8_lossy(&done.stderr));
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

/// `svn auth` of certificates that are kept: with alternative names and without, and of what is none.
#[test]
fn kept_certificates_are_described_as_by_the_reference() {
    let folder = tempfile::tempdir().unwrap();
    let kept = |realm: &str, ascii: &str| {
        let config = folder.path().join(realm.len().to_string());
        let store = config.join("auth/svn.ssl.server");
        fs::create_dir_all(&store).unwrap();
        let pairs = [("ascii_cert", ascii), ("failures", "8"), ("svn:realmstring", realm)];
        let lines = pairs.map(|(k, v)| format!("K {}\n{k}\nV {}\n{v}\n", k.len(), v.len()));
        let name = sapwood_core::Md5::of(realm.as_bytes()).to_hex();
        fs::write(store.join(name), lines.concat() + "END\n").unwrap();
        config
    };
    let certificate = |names: Vec<String>, common: &str| {
        let mut params = CertificateParams::new(names).unwrap();
        params.distinguished_name.push(DnType::CommonName, common);
        params.distinguished_name.push(DnType::OrganizationName, "Wood & Sons");
        params.distinguished_name.push(DnType::CountryName, "DE");
        // Of no short name.
        params.distinguished_name.push(DnType::CustomDnType(vec![2, 5, 4, 5]), "77");
        let signed = params.signed_by(&KeyPair::generate().unwrap(), &authority()).unwrap();
        sapwood_core::base64::encode(signed.der())
    };
    let hosts = ["svn.example.org", "*.example.com", "127.0.0.1"].map(str::to_owned).to_vec();
    let configs = [
        kept("https://a:1", &certificate(hosts, "other")),
        kept("https://bb:1", &certificate(Vec::new(), "host.example.org")),
        kept("https://ccc:1", &certificate(Vec::new(), "no host")),
        kept("https://dddd:1", "AAAA"),
    ];
    let shown = |programs: &Programs, config: &Path, pattern: &[&str]| {
        let mut svn = programs.command("svn");
        Output::of(svn.arg("auth").args(pattern).arg("--config-dir").arg(config))
    };
    for config in &configs {
        for pattern in [&[][..], &["DE"], &["de"], &["EXAMPLE.org"], &["AAAA"], &["Sons", "ccc"]] {
            let [wanted, found] = [Programs::reference(), Programs::ours()]
                .map(|programs| shown(&programs, config, pattern));
            assert_same(&format!("svn auth {pattern:?}"), &wanted, &found);
        }
    }
}
