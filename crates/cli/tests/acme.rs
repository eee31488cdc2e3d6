//! Certificates by ACME: `sapwood serve` gets them from an authority of the tests' own, which really asks the server,
//! renews them, and keeps what it has when something goes wrong.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::process::{Child, Command};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use rcgen::KeyPair;
use sapwood_core::base64;
use sapwood_testkit::server::free_port;
use sapwood_testkit::{Programs, Repository, Shape};
use x509_parser::parse_x509_certificate;

use crate::common::authority::Authority;
use crate::common::authority::questions::shown;
use crate::common::places;
use crate::monitor::{ask, until};

const NAME: &str = "localhost";

/// A folder with a repository, an authority, and ports.
struct Ground {
    repo: Repository,
    authority: Arc<Authority>,
    http: u16,
    https: u16,
    metrics: u16,
}

/// A server, which ends with the test.
struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Server {
    /// SIGHUP
    fn reload(&self) {
        let pid = self.0.id().to_string();
        assert!(Command::new("kill").args(["-s", "HUP", &pid]).status().unwrap().success());
    }
}

impl Ground {
    fn new() -> Self {
        let repo = Repository::scripted(&Shape::few()[0]);
        let (http, https, metrics) = (free_port(), free_port(), free_port());
        let authority = Authority::new(repo.parent(), http, https);
        Self { repo, authority, http, https, metrics }
    }

    fn file(&self, name: &str) -> PathBuf {
        self.repo.parent().join(name)
    }

    /// The configuration of a server at these ports.
    fn configure(&self, name: &str, ports: (u16, u16), more: &str, acme: &str) -> PathBuf {
        let file = self.file(name);
        let (http, https) = ports;
        let (metrics, directory) = (self.metrics, self.authority.directory());
        let text = format!(
            "http-port = {http}\nhttps-port = {https}\nmetrics-listen = '127.0.0.1:{metrics}'\nlog-file = 'log'\n\
             {more}\n[[location]]\nurl = '/svn'\nfolder = '.'\nanonymous = 'read'\n\
             [acme]\ndirectory = '{directory}'\nca-file = 'ca.pem'\nterms-agreed = true\nfolder = 'acme'\n\
             domains = ['{NAME}']\n{acme}\n"
        );
        fs::write(&file, text).unwrap();
        file
    }

    fn start(&self, more: &str, acme: &str) -> Server {
        let ports = (self.http, self.https);
        Server(places::serve(&self.configure("sapwood.toml", ports, more, acme)))
    }

    /// The certificate that new connections get, if there is one.
    fn shown(&self) -> Option<Vec<u8>> {
        shown(self.https, NAME, "http/1.1").ok().map(|(certificate, _)| certificate)
    }

    fn log(&self) -> String {
        fs::read_to_string(self.file("log")).unwrap_or_default()
    }

    fn until_logged(&self, words: &str) {
        until(words, || self.log().contains(words));
    }

    fn metric(&self, name: &str) -> Option<String> {
        let (_, text) = ask(self.metrics, "/metrics", "");
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        line.map(str::to_owned)
    }

    /// Lets the next order be made now: an administrator takes the failure away and reloads.
    fn try_again(&self, server: &Server) {
        fs::remove_file(self.file(&format!("acme/{NAME}.failed"))).unwrap();
        server.reload();
    }
}

/// Lets the certificate be one of an hour ago, which may be renewed, and reloads.
fn renew(ground: &Ground, server: &Server) {
    let file = fs::File::options().append(true).open(ground.file("acme/localhost.pem")).unwrap();
    file.set_modified(SystemTime::now() - Duration::from_secs(3600)).unwrap();
    server.reload();
}

/// When a certificate ends, in seconds since 1970.
fn end(certificate: &[u8]) -> i64 {
    parse_x509_certificate(certificate).unwrap().1.validity().not_after.timestamp()
}

#[test]
fn certificates_are_ordered_by_both_challenges() {
    let (redirect, clients) =
        ("redirect-to-https = true", "tls-client-ca = 'ca.pem'\nrequire-certificate = true");
    for (challenge, more) in
        [("http-01", redirect), ("http-01", ""), ("tls-alpn-01", clients), ("tls-alpn-01", "")]
    {
        let ground = Ground::new();
        ground.authority.listen();
        let server = ground.start(more, &format!("challenge = '{challenge}'"));
        until("a certificate", || ground.shown().is_some());
        let (_, protocol) = shown(ground.https, NAME, "http/1.1").unwrap();
        assert_eq!(protocol, "http/1.1");
        assert!(shown(ground.https, NAME, "acme-tls/1").is_err(), "no order is in progress");
        assert_eq!((ground.log(), ground.authority.orders()), (String::new(), 1));
        for name in [format!("{NAME}.pem"), "account.json".to_owned()] {
            let mode = fs::metadata(ground.file("acme").join(&name)).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600, "{name}");
        }
        // An old token is answered as any path is.
        let token = "/.well-known/acme-challenge/dG9rZW4gb2Ygb3JkZXIgMA";
        let (status, body) = ask(ground.http, token, "");
        assert_eq!(status, ask(ground.http, "/any-path", "").0, "{body}");
        assert!(!body.contains("dG9rZW4"), "{body}");
        let certificate = end(&ground.shown().unwrap());
        assert_eq!(
            ground.metric("sapwood_certificate_expiry_timestamp_seconds"),
            Some(certificate.to_string())
        );
        assert_eq!(ground.metric("sapwood_acme_failing_names"), Some("0".to_owned()));
        if more != clients {
            let ca =
                format!("servers:global:ssl-authority-files={}", ground.file("ca.pem").display());
            let url = format!("https://{NAME}:{}/svn/repo", ground.https);
            let args = ["info", "--non-interactive", "--config-option", &ca, &url];
            Programs::ours().run("svn", args).expect_success("svn");
        }
        drop(server);
    }
}

/// Also by another server on the same folder, which finds what is there.
#[test]
fn a_renewal_is_shown_without_a_restart() {
    let ground = Ground::new();
    ground.authority.listen();
    ground.authority.knobs.lock().unwrap().days = (89, 1);
    let server = ground.start("", "");
    until("a certificate", || ground.shown().is_some());
    let old = ground.shown().unwrap();
    // It is due already, but an authority is not asked again at once.
    assert_eq!(ground.authority.orders(), 1);
    ground.authority.knobs.lock().unwrap().days = (1, 89);
    renew(&ground, &server);
    until("the next certificate", || ground.shown().is_some_and(|now| now != old));
    let new = ground.shown().unwrap();
    assert!(end(&new) > end(&old));
    server.reload();
    let (http, https) = (free_port(), free_port());
    let file = ground.configure("other.toml", (http, https), "", "");
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, text.replace(&ground.metrics.to_string(), &free_port().to_string())).unwrap();
    let _other = Server(places::serve(&file));
    assert_eq!(shown(https, NAME, "http/1.1").unwrap().0, new);
    assert_eq!((ground.authority.orders(), ground.log()), (2, String::new()));
}

/// The server starts, says so once, and shows what it had.
#[test]
fn an_authority_that_is_down_or_fails_changes_nothing() {
    let ground = Ground::new();
    let server = ground.start("", "");
    ground.until_logged("No new certificate for 'localhost': ");
    assert!(
        ground.log().contains("cannot be asked: ")
            && ground.log().contains("(there is none; next try in 1 minutes)"),
        "{}",
        ground.log()
    );
    assert_eq!(ground.log().lines().count(), 1);
    assert!(ground.log().contains(" ERR "), "{}", ground.log());
    assert_eq!(ground.shown(), None);
    assert_eq!(ask(ground.http, "/svn/repo/", "").0, 200);
    assert_eq!(ground.metric("sapwood_acme_failing_names"), Some("1".to_owned()));
    let doctor = Programs::ours()
        .run("sapwood", ["doctor", "--config", ground.file("sapwood.toml").to_str().unwrap()]);
    let said = doctor.stdout_text();
    assert!(said.contains("problem  No new certificate for 'localhost': "), "{said}");
    ground.authority.knobs.lock().unwrap().days = (89, 1);
    ground.authority.listen();
    // A reload by itself does not ask an authority that failed a moment ago.
    server.reload();
    ground.try_again(&server);
    until("a certificate", || ground.shown().is_some());
    let old = ground.shown().unwrap();
    assert!(!ground.file("acme/localhost.failed").exists());
    for (fails, why) in [
        ("new-order", "the test wants it so (urn:ietf:params:acme:error:serverInternal)"),
        ("finalize", "the test wants it so"),
        ("certificate", "the test wants it so"),
    ] {
        fs::write(ground.file("log"), "").unwrap();
        ground.authority.knobs.lock().unwrap().fails = Some(fails);
        renew(&ground, &server);
        ground.until_logged(why);
        assert!(ground.log().contains(" WARN "), "{}", ground.log());
        assert!(ground.log().contains("the old one ends in 2"), "{}", ground.log());
        assert_eq!(ground.shown().as_deref(), Some(&*old), "{fails}");
        fs::remove_file(ground.file("acme/localhost.failed")).unwrap();
    }
    let mut knobs = ground.authority.knobs.lock().unwrap();
    (knobs.fails, knobs.sends_other_key) = (None, true);
    drop(knobs);
    renew(&ground, &server);
    ground.until_logged("the key is not that of the certificate");
    assert_eq!(ground.shown(), Some(old));
}

/// A proof that fails says what the authority saw.
#[test]
fn a_name_that_leads_elsewhere_is_said() {
    let ground = Ground::new();
    ground.authority.listen();
    let other = free_port();
    ground.authority.knobs.lock().unwrap().http = other;
    let _server = ground.start("", "");
    ground.until_logged(
        "Connection refused (os error 111) (urn:ietf:params:acme:error:unauthorized)",
    );
    assert_eq!(ground.shown(), None);
}

#[test]
fn the_key_of_another_account_is_refused() {
    let ground = Ground::new();
    ground.authority.listen();
    ground.authority.knobs.lock().unwrap().days = (89, 1);
    let server = ground.start("", "");
    until("a certificate", || ground.shown().is_some());
    let old = ground.shown();
    let file = ground.file("acme/account.json");
    let account = fs::read_to_string(&file).unwrap();
    let mut changed: serde_json::Value = serde_json::from_str(&account).unwrap();
    let key = base64::encode(&KeyPair::generate().unwrap().serialize_der());
    let key = key.replace('+', "-").replace('/', "_").replace('=', "");
    changed["key_pkcs8"] = key.into();
    fs::write(&file, changed.to_string()).unwrap();
    renew(&ground, &server);
    ground.until_logged("the signature is not that of the account's key");
    assert_eq!(ground.shown(), old);
    // An account at another authority is not sent to this one.
    let asked = ground.authority.requests("");
    changed["directory"] = "https://localhost/another".into();
    fs::write(&file, changed.to_string()).unwrap();
    ground.try_again(&server);
    ground.until_logged(
        "it is an account at 'https://localhost/another': another 'folder' is needed",
    );
    assert_eq!((ground.authority.requests(""), ground.shown()), (asked, old));
}

/// What a configuration has to say, and a reload with one that is wrong.
#[test]
fn settings_that_do_not_fit_are_refused_and_the_old_ones_stay() {
    let ground = Ground::new();
    ground.authority.listen();
    let server = ground.start("", "");
    until("a certificate", || ground.shown().is_some());
    let file = ground.file("sapwood.toml");
    let text = fs::read_to_string(&file).unwrap();
    let check = |text: &str| {
        fs::write(&file, text).unwrap();
        let args = ["serve", "--check", "--config", file.to_str().unwrap()];
        Programs::ours().run("sapwood", args).stderr_text()
    };
    let port = format!("http-port = {}\n", ground.http);
    let no_port = text.replace(&port, "");
    let bad = no_port.replace("domains", "challenge = 'tls-alpn-01'\ndomains");
    assert!(!check(&bad).contains("acme"));
    for (text, why) in [
        (no_port, "sapwood.toml:9: acme: 'challenge': http-01 needs 'http-port'"),
        (
            text.replace("terms-agreed = true", "terms-agreed = false"),
            "sapwood.toml:13: acme: 'terms-agreed': ",
        ),
        (text.replace("ca.pem", "none.pem"), "sapwood.toml:12: acme: 'ca-file': "),
        (format!("tls-certificate = 'ca.pem'\n{text}"), "sapwood.toml:11: either '[acme]' or"),
    ] {
        let said = check(&text);
        assert!(said.contains(why), "{why}: {said}");
    }
    let before = (ground.shown(), ground.authority.orders());
    server.reload();
    ground.until_logged("The new configuration is not used");
    assert_eq!((ground.shown(), ground.authority.orders()), before);
}
