//! Two servers of this process that reach each other, with TLS and without, and what is refused.

use std::fs;
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair, date_time_ymd,
};
use tokio::net::TcpListener;

use super::*;
use crate::hello::Door;
use crate::servers::Members;
use crate::tls::TlsFiles;

type Authority = CertifiedIssuer<'static, KeyPair>;

fn authority(name: &str) -> Authority {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.distinguished_name.push(DnType::OrganizationName, name);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap()
}

/// Where a server's certificate comes from.
struct Certificate<'a> {
    of: &'a Authority,
    /// Whose certificates the server believes.
    believes: &'a Authority,
    host: &'a str,
    until: i32,
}

/// Files of servers, and the runtime that they are in.
struct Scene {
    folder: tempfile::TempDir,
    runtime: tokio::runtime::Runtime,
    one: Authority,
    other: Authority,
}

impl Scene {
    fn new() -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let folder = tempfile::tempdir().unwrap();
        Self { folder, runtime, one: authority("one"), other: authority("other") }
    }

    fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.folder.path().join(name);
        fs::write(&path, text).unwrap();
        path
    }

    fn good(&self) -> Certificate<'_> {
        Certificate { of: &self.one, believes: &self.one, host: "127.0.0.1", until: 2100 }
    }

    fn files(&self, name: &str, shown: &Certificate<'_>) -> TlsFiles {
        let mut params = CertificateParams::new(vec![shown.host.to_owned()]).unwrap();
        params.not_before = date_time_ymd(2020, 1, 1);
        params.not_after = date_time_ymd(shown.until, 1, 1);
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, shown.of).unwrap();
        TlsFiles {
            certificate: self.file(&format!("{name}.pem"), &certificate.pem()),
            key: self.file(&format!("{name}.key"), &key.serialize_pem()),
            authorities: self.file(&format!("{name}.ca"), &shown.believes.pem()),
        }
    }

    /// Two servers, of which `b` calls `a`.
    fn pair(&self, a: Option<TlsFiles>, b: Option<TlsFiles>, hosts: [&str; 2]) -> Pair {
        let listener = self.runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
        let port = listener.local_addr().unwrap().port();
        let names = hosts.map(|host| Name::parse(&format!("{host}:{port}")).unwrap());
        let servers = |own: &Name, tls| {
            let secret = Secret::new(b"a secret of all servers".to_vec()).unwrap();
            let members = Members::Fixed(names.to_vec());
            Servers::new(ServerList { own: own.clone(), members, secret, tls }).unwrap()
        };
        let (a, b) = (servers(&names[0], a), servers(&names[1], b));
        Pair { listener, a, b, means: names[0].clone(), is: names[1].clone() }
    }

    /// What a call says on both sides: what the first one learns of the second, too.
    fn call(&self, pair: &Pair) -> (String, String) {
        let Pair { listener, a, b, means, is } = pair;
        let answering = async {
            let (stream, _) = listener.accept().await.unwrap();
            let (mut stream, caller) = accept(stream, a).await?;
            let line = caller.answer(true).unwrap();
            stream.write_all(format!("{line}more").as_bytes()).await.unwrap();
            stream.shutdown().await.unwrap();
            let mut rest = String::new();
            stream.read_to_string(&mut rest).await.unwrap();
            Ok::<_, String>(format!("{} {rest}", caller.hello.client.unwrap()))
        };
        let calling = async {
            let client = Some("192.0.2.7".parse::<IpAddr>().unwrap());
            let (from, to) = (is.clone(), means.clone());
            let hello = Hello { door: Door::Svn, from, to, client, repository: None };
            let mut stream = open(b, &hello, b"first").await.map_err(|e| e.to_string())?;
            stream.shutdown().await.unwrap();
            let mut rest = String::new();
            stream.read_to_string(&mut rest).await.unwrap();
            Ok::<_, String>(rest)
        };
        let text = |said: Result<String, String>| said.unwrap_or_else(|why| why);
        let both = async { tokio::join!(answering, calling) };
        let (answered, called) = self.runtime.block_on(both);
        (text(answered), text(called))
    }
}

/// Two servers, and the names by which the second knows both.
struct Pair {
    listener: TcpListener,
    a: Servers,
    b: Servers,
    means: Name,
    is: Name,
}

const BOTH: [&str; 2] = ["127.0.0.1", "127.0.0.1"];

#[test]
fn servers_reach_each_other_with_tls_and_without() {
    let scene = Scene::new();
    let both = ("192.0.2.7 first".to_owned(), "more".to_owned());
    assert_eq!(scene.call(&scene.pair(None, None, BOTH)), both);
    let (a, b) = (scene.files("a", &scene.good()), scene.files("b", &scene.good()));
    assert_eq!(scene.call(&scene.pair(Some(a), Some(b), BOTH)), both);
}

#[test]
fn a_certificate_that_does_not_count_is_refused() {
    let scene = Scene::new();
    let good = || Some(scene.files("good", &scene.good()));
    let unknown = Certificate { of: &scene.other, ..scene.good() };
    let old = Certificate { until: 2021, ..scene.good() };
    for (shown, said, seen) in [
        (&unknown, "its certificate is of no known authority", "UnknownCA"),
        (&old, "its certificate is refused: certificate expired", "CertificateExpired"),
    ] {
        let bad = || Some(scene.files("bad", shown));
        // The server that is called refuses it, and the other one sees that.
        let (answered, called) = scene.call(&scene.pair(good(), bad(), BOTH));
        assert!(answered.contains(said), "{answered}");
        assert!(called.contains("is refused: it refuses this server: "), "{called}");
        // The one that calls does.
        let (answered, called) = scene.call(&scene.pair(bad(), good(), BOTH));
        assert!(called.contains("is refused: ") && called.contains(said), "{called}");
        assert!(answered.contains(&format!("it refuses this server: {seen}")), "{answered}");
    }
}

/// A server whose certificate is for one name is called, or says that it is, another one.
#[test]
fn a_certificate_is_for_the_name_that_is_meant() {
    let scene = Scene::new();
    let local = Certificate { host: "localhost", ..scene.good() };
    let (good, bad) = (scene.files("a", &scene.good()), scene.files("b", &local));
    let why = bad.check("127.0.0.1").unwrap_err().to_string();
    assert!(why.contains("b.pem': its certificate is refused: certificate not valid"), "{why}");
    bad.check("localhost").unwrap();
    let pair =
        |a: &TlsFiles, b: &TlsFiles, hosts| scene.pair(Some(a.clone()), Some(b.clone()), hosts);
    let sound = pair(&bad, &good, ["localhost", "127.0.0.1"]);
    assert_eq!(scene.call(&sound).1, "more");
    let (ip, name) = (sound.is.clone(), sound.means.clone());
    let refused = "its certificate is refused: certificate not valid for name";
    let (_, called) = scene.call(&Pair { means: ip.clone(), ..sound });
    assert!(called.contains(refused), "{called}");
    let sound = pair(&good, &bad, ["127.0.0.1", "localhost"]);
    assert_eq!(scene.call(&sound).1, "more");
    let (answered, called) = scene.call(&Pair { is: sound.means.clone(), ..sound });
    assert!(answered.contains(refused), "{answered}");
    assert!(called.contains("is refused: "), "{called}");
    assert_ne!(ip, name);
}

#[test]
fn nothing_falls_back_to_a_plain_connection() {
    let scene = Scene::new();
    let files = || Some(scene.files("good", &scene.good()));
    let (answered, called) = scene.call(&scene.pair(None, files(), BOTH));
    assert!(called.contains("is refused: it does not speak TLS"), "{called}");
    assert!(answered.contains("it does not"), "{answered}");
    let (answered, called) = scene.call(&scene.pair(files(), None, BOTH));
    assert!(answered.contains("it ends before TLS has begun"), "{answered}");
    assert!(called.contains("cannot be reached"), "{called}");
    // One that speaks TLS, and shows no certificate.
    let mut roots = rustls::RootCertStore::empty();
    sapwood_tls_client::add_file(&mut roots, &files().unwrap().authorities).unwrap();
    let silent = sapwood_tls_client::builder().unwrap();
    let silent = silent.with_root_certificates(roots).with_no_client_auth();
    scene.runtime.block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let own = Name::of_address(listener.local_addr().unwrap());
        let secret = Secret::new(b"a secret of all servers".to_vec()).unwrap();
        let members = Members::Fixed(vec![own.clone()]);
        let list = ServerList { own: own.clone(), members, secret, tls: files() };
        let servers = Servers::new(list).unwrap();
        let calling = async {
            let tcp = TcpStream::connect((own.host(), own.port())).await.unwrap();
            let name = rustls::pki_types::ServerName::try_from("127.0.0.1").unwrap();
            let connector = tokio_rustls::TlsConnector::from(Arc::new(silent));
            let mut stream = connector.connect(name, tcp).await.unwrap();
            let mut said = Vec::new();
            stream.read_to_end(&mut said).await.unwrap_err();
            said
        };
        let answering = async {
            let (stream, _) = listener.accept().await.unwrap();
            accept(stream, &servers).await.map(drop)
        };
        let (answered, said) = tokio::join!(answering, calling);
        assert_eq!((answered.unwrap_err().as_str(), said.len()), ("it shows no certificate", 0));
    });
}

#[test]
fn files_are_read_again_and_bad_ones_are_refused_at_the_start() {
    let scene = Scene::new();
    let (a, b) = (scene.files("a", &scene.good()), scene.files("b", &scene.good()));
    for (file, bad) in [(&a.certificate, "a.pem"), (&a.key, "a.key"), (&a.authorities, "a.ca")] {
        let text = fs::read(file).unwrap();
        for other in [None, Some("-----BEGIN CERTIFICATE-----\nAAAA\n")] {
            match other {
                None => fs::remove_file(file).unwrap(),
                Some(other) => fs::write(file, other).unwrap(),
            }
            let why = a.check("127.0.0.1").unwrap_err().to_string();
            let has_line = other.is_none() || why.contains(", line ");
            assert!(why.contains(bad) && has_line, "{why}");
        }
        fs::write(file, text).unwrap();
    }
    let mixed = TlsFiles { key: b.key.clone(), ..a.clone() };
    let why = mixed.check("127.0.0.1").unwrap_err().to_string();
    assert!(why.contains("b.key', line 1: the key is not that of the certificate in"), "{why}");
}

#[test]
fn a_renewed_certificate_counts_from_the_next_connection_on() {
    let scene = Scene::new();
    let other = Certificate { of: &scene.other, believes: &scene.other, ..scene.good() };
    let (a, b) = (scene.files("a", &scene.good()), scene.files("b", &scene.good()));
    let pair = scene.pair(Some(a.clone()), Some(b), BOTH);
    // Half of a renewal changes nothing, also when it is looked at.
    fs::write(&a.key, "half of a key").unwrap();
    assert_eq!(scene.call(&pair).1, "more");
    scene.files("a", &other);
    assert!(scene.call(&pair).1.contains("of no known authority"));
    scene.files("b", &other);
    assert_eq!(scene.call(&pair).1, "more");
}
