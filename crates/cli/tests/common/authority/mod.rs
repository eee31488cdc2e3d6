//! A small authority that speaks ACME (RFC 8555), of the tests' own: it verifies signatures, asks the server that is to
//! prove a name, and signs.
//!
//! Invariant: what it does wrong, a test has asked for.

mod jose;
pub mod questions;

use std::collections::HashSet;
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use rcgen::{
    BasicConstraints, CertificateParams, CertificateSigningRequestParams, CertifiedIssuer, IsCa,
    KeyPair,
};
use rustls::pki_types::CertificateSigningRequestDer;
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use sapwood_testkit::server::free_port;
use serde_json::{Value, json};

/// What a test can change.
#[derive(Debug)]
pub struct Knobs {
    /// Where it asks.
    pub http: u16,
    pub https: u16,
    /// The days before and after now between which certificates are valid.
    pub days: (u64, u64),
    /// The kind of request that fails, if one does: `new-order`, `finalize`, `certificate`.
    pub fails: Option<&'static str>,
    /// Whether it sends a certificate for another key.
    pub sends_other_key: bool,
}

/// An order. Its proof and its challenge have the same number.
#[derive(Debug)]
struct Order {
    name: String,
    token: String,
    challenge: &'static str,
    status: &'static str,
    why: Option<String>,
    certificate: Option<String>,
}

#[derive(Debug, Default)]
struct Books {
    nonces: HashSet<String>,
    accounts: Vec<Value>,
    orders: Vec<Order>,
    /// How many nonces were given.
    count: u64,
    /// What was asked, as `METHOD path`.
    requests: Vec<String>,
}

type Issuer = CertifiedIssuer<'static, KeyPair>;

/// The authority.
pub struct Authority {
    issuer: Issuer,
    port: u16,
    pub knobs: Mutex<Knobs>,
    books: Mutex<Books>,
}

type Answer = (u16, Vec<(&'static str, String)>, String);

fn problem(status: u16, kind: &str, why: &str) -> Answer {
    let kind = format!("urn:ietf:params:acme:error:{kind}");
    (status, Vec::new(), json!({ "type": kind, "detail": why, "status": status }).to_string())
}

impl Authority {
    /// One that does not listen yet. Its own certificate is written to `ca.pem` of a folder.
    pub fn new(folder: &Path, http: u16, https: u16) -> Arc<Self> {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let issuer = Issuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        fs::write(Self::file(folder), issuer.pem()).unwrap();
        let knobs = Knobs { http, https, days: (1, 89), fails: None, sends_other_key: false };
        Arc::new(Self {
            issuer,
            port: free_port(),
            knobs: Mutex::new(knobs),
            books: Mutex::default(),
        })
    }

    pub fn file(folder: &Path) -> PathBuf {
        folder.join("ca.pem")
    }

    fn url(&self, path: &str) -> String {
        format!("https://localhost:{}{path}", self.port)
    }

    /// Where its directory is.
    pub fn directory(&self) -> String {
        self.url("/directory")
    }

    /// How many orders it has got.
    pub fn orders(&self) -> usize {
        self.books.lock().unwrap().orders.len()
    }

    /// How many requests of a kind it has got.
    pub fn requests(&self, path: &str) -> usize {
        self.books.lock().unwrap().requests.iter().filter(|one| one.contains(path)).count()
    }

    /// Answers from now on, until the test ends.
    pub fn listen(self: &Arc<Self>) {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(
                vec![certificate.der().clone()],
                rustls::pki_types::PrivateKeyDer::Pkcs8(key.serialize_der().into()),
            )
            .unwrap();
        let config = Arc::new(config);
        let listener = TcpListener::bind(("127.0.0.1", self.port)).unwrap();
        let own = Arc::clone(self);
        std::thread::spawn(move || {
            for socket in listener.incoming().map_while(Result::ok) {
                let (own, config) = (Arc::clone(&own), Arc::clone(&config));
                std::thread::spawn(move || own.serve(socket, config));
            }
        });
    }

    /// Answers one request; what goes wrong is the client's.
    fn serve(&self, socket: TcpStream, config: Arc<ServerConfig>) -> Option<()> {
        socket.set_read_timeout(Some(Duration::from_secs(20))).ok()?;
        let connection = ServerConnection::new(config).ok()?;
        let mut stream = BufReader::new(StreamOwned::new(connection, socket));
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            if stream.read_line(&mut head).ok()? == 0 {
                return None;
            }
        }
        let lower = head.to_ascii_lowercase();
        let length =
            lower.split("content-length: ").nth(1).map_or("0", |rest| rest.lines().next().unwrap());
        let mut body = vec![0; length.parse().ok()?];
        stream.read_exact(&mut body).ok()?;
        let mut words = head.split(' ');
        let (method, path) = (words.next()?, words.next()?);
        let (status, headers, text) = self.answer(method, path, &body);
        let nonce = self.nonce();
        let mut reply =
            format!("HTTP/1.1 {status} X\r\nReplay-Nonce: {nonce}\r\nConnection: close\r\n");
        for (name, value) in headers {
            reply += &format!("{name}: {value}\r\n");
        }
        reply += &format!("Content-Length: {}\r\n\r\n", text.len());
        if method != "HEAD" {
            reply += &text;
        }
        let stream = stream.get_mut();
        stream.write_all(reply.as_bytes()).ok()?;
        stream.conn.send_close_notify();
        stream.flush().ok()
    }

    fn nonce(&self) -> String {
        let mut books = self.books.lock().unwrap();
        books.count += 1;
        let nonce = format!("nonce-{}", books.count);
        books.nonces.insert(nonce.clone());
        nonce
    }

    fn answer(&self, method: &str, path: &str, body: &[u8]) -> Answer {
        self.books.lock().unwrap().requests.push(format!("{method} {path}"));
        match (method, path) {
            ("GET", "/directory") => {
                let url = |path| self.url(path);
                let text = json!({
                    "newNonce": url("/new-nonce"),
                    "newAccount": url("/new-account"),
                    "newOrder": url("/new-order"),
                });
                return (200, Vec::new(), text.to_string());
            }
            ("GET" | "HEAD", "/new-nonce") => return (200, Vec::new(), String::new()),
            ("POST", _) => {}
            _ => return problem(405, "malformed", "no such thing"),
        }
        let key_of = |account: &str| {
            let number: usize = account.rsplit_once('/')?.1.parse().ok()?;
            self.books.lock().unwrap().accounts.get(number).cloned()
        };
        let take = |nonce: &str| self.books.lock().unwrap().nonces.remove(nonce);
        let signed = match jose::verify(body, &self.url(path), key_of, take) {
            Ok(signed) => signed,
            Err((kind, why)) => return problem(400, kind, why),
        };
        let fails = self.knobs.lock().unwrap().fails;
        if fails.is_some_and(|kind| path.contains(kind)) {
            return problem(503, "serverInternal", "the test wants it so");
        }
        if path == "/new-account" {
            return self.new_account(&signed);
        }
        if signed.account.is_none() {
            return problem(401, "unauthorized", "an account is needed");
        }
        if path == "/new-order" {
            return self.new_order(&signed.payload);
        }
        let mut parts = path.split('/').skip(1);
        let (kind, number, more) = (parts.next().unwrap(), parts.next(), parts.next());
        let number: usize = number.and_then(|number| number.parse().ok()).unwrap_or(usize::MAX);
        if number >= self.orders() {
            return problem(404, "malformed", "no such order");
        }
        match kind {
            "challenge" => self.challenge(number, &signed, more == Some("tls-alpn-01")),
            "finalize" => self.finalize(number, &signed.payload),
            _ => self.show(kind, number),
        }
    }

    fn new_account(&self, signed: &jose::Signed) -> Answer {
        if signed.payload["termsOfServiceAgreed"] != true {
            return problem(403, "userActionRequired", "the terms");
        }
        let mut books = self.books.lock().unwrap();
        books.accounts.push(signed.key.clone());
        let url = self.url(&format!("/account/{}", books.accounts.len() - 1));
        (201, vec![("Location", url)], json!({ "status": "valid" }).to_string())
    }

    fn new_order(&self, payload: &Value) -> Answer {
        let Some([one]) = payload["identifiers"].as_array().map(Vec::as_slice) else {
            return problem(400, "malformed", "one name an order");
        };
        let name = one["value"].as_str().unwrap_or_default().to_owned();
        let mut books = self.books.lock().unwrap();
        let number = books.orders.len();
        let token = jose::encode(format!("token of order {number}").as_bytes());
        let (challenge, status) = ("pending", "pending");
        books.orders.push(Order { name, token, challenge, status, why: None, certificate: None });
        drop(books);
        let (_, _, text) = self.show("order", number);
        (201, vec![("Location", self.url(&format!("/order/{number}")))], text)
    }

    fn show(&self, kind: &str, number: usize) -> Answer {
        let books = self.books.lock().unwrap();
        let order = &books.orders[number];
        let url = |kind: &str| self.url(&format!("/{kind}/{number}"));
        let challenge = |kind: &str| {
            let mut text = json!({
                "type": kind, "url": url("challenge") + "/" + kind,
                "token": order.token, "status": order.challenge,
            });
            if let Some(why) = &order.why {
                text["error"] = json!({
                    "type": "urn:ietf:params:acme:error:unauthorized", "detail": why, "status": 403,
                });
            }
            text
        };
        let text = match kind {
            "order" => json!({
                "status": order.status,
                "identifiers": [{ "type": "dns", "value": order.name }],
                "authorizations": [url("proof")],
                "finalize": url("finalize"),
                "certificate": order.certificate.as_ref().map(|_| url("certificate")),
            }),
            "proof" => json!({
                "status": order.challenge,
                "identifier": { "type": "dns", "value": order.name },
                "challenges": [challenge("http-01"), challenge("tls-alpn-01"), challenge("dns-01")],
            }),
            "certificate" => {
                let chain = order.certificate.clone().unwrap_or_default();
                return (
                    200,
                    vec![("Content-Type", "application/pem-certificate-chain".to_owned())],
                    chain,
                );
            }
            _ => return problem(404, "malformed", "no such thing"),
        };
        (200, Vec::new(), text.to_string())
    }

    /// Asks the server, at once.
    fn challenge(&self, number: usize, signed: &jose::Signed, within_tls: bool) -> Answer {
        let (name, token) = {
            let books = self.books.lock().unwrap();
            (books.orders[number].name.clone(), books.orders[number].token.clone())
        };
        let (http, https) = {
            let knobs = self.knobs.lock().unwrap();
            (knobs.http, knobs.https)
        };
        let wanted = format!("{token}.{}", jose::thumb(&signed.key));
        let asked = match within_tls {
            true => questions::ask_tls(https, &name, &wanted),
            false => questions::ask_http(http, &name, &token, &wanted),
        };
        let mut books = self.books.lock().unwrap();
        let order = &mut books.orders[number];
        (order.challenge, order.status) = match &asked {
            Ok(()) => ("valid", "ready"),
            Err(_) => ("invalid", "invalid"),
        };
        order.why = asked.err();
        let status = order.challenge;
        drop(books);
        let text =
            json!({ "type": "http-01", "url": self.url("/"), "token": token, "status": status });
        (200, Vec::new(), text.to_string())
    }

    fn finalize(&self, number: usize, payload: &Value) -> Answer {
        let request = payload["csr"].as_str().and_then(jose::decode).unwrap_or_default();
        let request = CertificateSigningRequestDer::from(request);
        let mut request = CertificateSigningRequestParams::from_der(&request).unwrap();
        let mut books = self.books.lock().unwrap();
        let order = &mut books.orders[number];
        if order.status != "ready" {
            return problem(403, "orderNotReady", "the name is not proved");
        }
        let names: Vec<_> =
            request.params.subject_alt_names.iter().map(|n| format!("{n:?}")).collect();
        assert!(names.len() == 1 && names[0].contains(&format!("\"{}\"", order.name)), "{names:?}");
        let knobs = self.knobs.lock().unwrap();
        let day = |days: u64| Duration::from_secs(days * 24 * 3600);
        request.params.not_before = (SystemTime::now() - day(knobs.days.0)).into();
        request.params.not_after = (SystemTime::now() + day(knobs.days.1)).into();
        let made = match knobs.sends_other_key {
            true => request.params.signed_by(&KeyPair::generate().unwrap(), &self.issuer).unwrap(),
            false => request.signed_by(&self.issuer).unwrap(),
        };
        order.certificate = Some(made.pem() + &self.issuer.pem());
        order.status = "valid";
        drop((books, knobs));
        self.show("order", number)
    }
}
