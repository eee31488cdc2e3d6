//! A provider of OpenID Connect of the tests' own, and a browser that signs in by it.
//!
//! It has one user at a time, asks for no password, and makes such ID tokens as a test wants: right ones, and wrong ones.

use std::collections::HashMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{SystemTime, UNIX_EPOCH};

use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _};
use sapwood_core::base64;
use serde_json::{Value, json};

use super::places::Served;

pub(crate) const SECRET: &str = "hush";

fn base64url(bytes: &[u8]) -> String {
    base64::encode(bytes).trim_end_matches('=').replace('+', "-").replace('/', "_")
}

/// Which ID token a code leads to.
#[derive(Clone, Debug)]
pub(crate) enum Makes {
    /// With these claims besides, which replace the right ones.
    With(Value),
    /// Signed by another key.
    Forged,
    /// With another method in its head, and no signature.
    Unsigned(&'static str),
}

#[derive(Clone, Debug)]
struct Grant {
    nonce: String,
    challenge: String,
    back: String,
    makes: Makes,
}

#[derive(Default)]
struct State {
    codes: HashMap<String, Grant>,
    count: usize,
    /// Whether questions are not answered.
    hangs: bool,
    /// Questions that wait for that.
    waiting: usize,
    /// Whether users can sign out.
    has_end: bool,
}

/// A running provider.
#[derive(Clone)]
pub(crate) struct TestProvider {
    port: u16,
    inner: Arc<Inner>,
}

struct Inner {
    state: Mutex<State>,
    changed: Condvar,
    key: EcdsaKeyPair,
    other: EcdsaKeyPair,
    random: SystemRandom,
}

fn key(random: &SystemRandom) -> EcdsaKeyPair {
    let algorithm = &ECDSA_P256_SHA256_FIXED_SIGNING;
    let stored = EcdsaKeyPair::generate_pkcs8(algorithm, random).unwrap();
    EcdsaKeyPair::from_pkcs8(algorithm, stored.as_ref(), random).unwrap()
}

impl TestProvider {
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let random = SystemRandom::new();
        let (key, other) = (key(&random), key(&random));
        let (state, changed) = (Mutex::default(), Condvar::new());
        let provider = Self { port, inner: Arc::new(Inner { state, changed, key, other, random }) };
        let own = provider.clone();
        std::thread::spawn(move || {
            for socket in listener.incoming() {
                let own = own.clone();
                std::thread::spawn(move || own.answer(socket.unwrap()));
            }
        });
        provider
    }

    pub(crate) fn issuer(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// From now on questions are not answered, or are again.
    pub(crate) fn hang(&self, hangs: bool) {
        self.inner.state.lock().unwrap().hangs = hangs;
        self.inner.changed.notify_all();
    }

    /// From now on the provider says where users sign out.
    pub(crate) fn name_end(&self) {
        self.inner.state.lock().unwrap().has_end = true;
    }

    /// Waits until so many questions are not answered.
    pub(crate) fn wait_for_questions(&self, count: usize) {
        let state = self.inner.state.lock().unwrap();
        drop(self.inner.changed.wait_while(state, |state| state.waiting < count).unwrap());
    }

    /// The user signs in, as the address says to which a browser was sent; the code and the state.
    pub(crate) fn sign_in(&self, address: &str, makes: Makes) -> (String, String) {
        let (start, query) = address.split_once('?').unwrap();
        assert_eq!(start, format!("{}/authorize", self.issuer()));
        let asked: HashMap<String, String> = form(query);
        assert_eq!((&*asked["response_type"], &*asked["client_id"]), ("code", "svn"));
        assert_eq!(asked["code_challenge_method"], "S256");
        let mut state = self.inner.state.lock().unwrap();
        state.count += 1;
        let code = format!("code {}", state.count);
        let (nonce, challenge) = (asked["nonce"].clone(), asked["code_challenge"].clone());
        let grant = Grant { nonce, challenge, back: asked["redirect_uri"].clone(), makes };
        state.codes.insert(code.clone(), grant);
        (code, asked["state"].clone())
    }

    fn answer(&self, mut socket: TcpStream) {
        let mut reader = BufReader::new(socket.try_clone().unwrap());
        let (mut head, mut length) = (Vec::new(), 0);
        loop {
            let mut line = String::new();
            if reader.read_line(&mut line).unwrap_or(0) == 0 {
                return;
            }
            if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length: ") {
                length = value.trim().parse().unwrap();
            }
            if line == "\r\n" {
                break;
            }
            head.push(line);
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body).unwrap();
        let mut state = self.inner.state.lock().unwrap();
        if state.hangs {
            state.waiting += 1;
            self.inner.changed.notify_all();
            state = self.inner.changed.wait_while(state, |state| state.hangs).unwrap();
            state.waiting -= 1;
        }
        drop(state);
        let path = head[0].split(' ').nth(1).unwrap();
        let reply = match path {
            "/.well-known/openid-configuration" => Some(self.about()),
            "/keys" => Some(json!({"keys": [self.public_key()]})),
            "/token" => self.token(&head, &String::from_utf8(body).unwrap()),
            _ => None,
        };
        let (status, text) = match reply {
            Some(reply) => ("200 OK", reply.to_string()),
            None => ("400 Bad Request", json!({"error": "invalid_grant"}).to_string()),
        };
        // The server may have given up.
        let _ = write!(
            socket,
            "HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{text}",
            text.len()
        );
    }

    fn about(&self) -> Value {
        let issuer = self.issuer();
        let mut about = json!({
            "issuer": issuer,
            "authorization_endpoint": format!("{issuer}/authorize"),
            "token_endpoint": format!("{issuer}/token"),
            "jwks_uri": format!("{issuer}/keys"),
        });
        if self.inner.state.lock().unwrap().has_end {
            about["end_session_endpoint"] = format!("{issuer}/end?from=svn").into();
        }
        about
    }

    fn public_key(&self) -> Value {
        let point = self.inner.key.public_key().as_ref();
        let (x, y) = (base64url(&point[1..33]), base64url(&point[33..]));
        json!({"kty": "EC", "crv": "P-256", "kid": "k", "use": "sig", "x": x, "y": y})
    }

    /// The tokens for a code, once.
    fn token(&self, head: &[String], body: &str) -> Option<Value> {
        let login = format!("Basic {}\r\n", base64::encode(format!("svn:{SECRET}").as_bytes()));
        let has_login = |line: &String| {
            line.to_ascii_lowercase().starts_with("authorization:") && line.ends_with(&login)
        };
        head.iter().any(has_login).then_some(())?;
        let sent: HashMap<String, String> = form(body);
        (sent.get("grant_type")? == "authorization_code").then_some(())?;
        let grant = self.inner.state.lock().unwrap().codes.remove(sent.get("code")?)?;
        let digest =
            ring::digest::digest(&ring::digest::SHA256, sent.get("code_verifier")?.as_bytes());
        let is_own = base64url(digest.as_ref()) == grant.challenge;
        (is_own && *sent.get("redirect_uri")? == grant.back).then_some(())?;
        Some(
            json!({"access_token": "a", "token_type": "Bearer", "id_token": self.id_token(&grant)}),
        )
    }

    fn id_token(&self, grant: &Grant) -> String {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
        let mut claims = json!({
            "iss": self.issuer(), "aud": "svn", "sub": "ada-1", "nonce": grant.nonce, "iat": now, "exp": now + 300,
            "preferred_username": "ada", "groups": ["devs"],
        });
        if let Makes::With(Value::Object(more)) = &grant.makes {
            claims.as_object_mut().unwrap().extend(more.clone());
        }
        let alg = if let Makes::Unsigned(alg) = grant.makes { alg } else { "ES256" };
        let part = |value: &Value| base64url(value.to_string().as_bytes());
        let message = format!("{}.{}", part(&json!({"alg": alg, "kid": "k"})), part(&claims));
        let Inner { key, other, random, .. } = &*self.inner;
        let sign = |key: &EcdsaKeyPair| key.sign(random, message.as_bytes()).unwrap();
        let signature = match grant.makes {
            Makes::With(_) => base64url(sign(key).as_ref()),
            Makes::Forged => base64url(sign(other).as_ref()),
            Makes::Unsigned(_) => String::new(),
        };
        format!("{message}.{signature}")
    }
}

pub(crate) fn form(text: &str) -> HashMap<String, String> {
    let pairs = text.split('&').filter_map(|pair| pair.split_once('='));
    let decoded = |text: &str| sapwood_core::uri::decode_utf8(text).unwrap();
    pairs.map(|(name, value)| (name.to_owned(), decoded(value))).collect()
}

/// The value of a header of an answer.
pub(crate) fn header<'a>(answer: &'a str, name: &str) -> Option<&'a str> {
    let head = answer.split("\r\n\r\n").next().unwrap();
    head.lines().find_map(|line| line.strip_prefix(&format!("{name}: ")))
}

/// A browser, with its cookies.
pub(crate) struct Browser<'s> {
    pub(crate) served: &'s Served,
    pub(crate) cookies: HashMap<String, String>,
}

impl<'s> Browser<'s> {
    pub(crate) fn of(served: &'s Served) -> Self {
        Self { served, cookies: HashMap::new() }
    }

    fn own(&self) -> String {
        format!("http://127.0.0.1:{}", self.served.port)
    }

    /// The headers that it sends.
    pub(crate) fn headers(&self) -> String {
        let cookies: Vec<_> =
            self.cookies.iter().map(|(name, value)| format!("{name}={value}")).collect();
        match cookies.is_empty() {
            true => "Accept: text/html\r\n".to_owned(),
            false => format!("Accept: text/html\r\nCookie: {}\r\n", cookies.join("; ")),
        }
    }

    fn keep(&mut self, answer: String) -> String {
        for line in answer.lines().filter_map(|line| line.strip_prefix("set-cookie: ")) {
            let (pair, rest) = line.split_once(';').unwrap();
            let (name, value) = pair.split_once('=').unwrap();
            assert!(rest.contains("HttpOnly") && rest.contains("SameSite=Lax"), "{line}");
            match rest.contains("Max-Age=0") {
                true => self.cookies.remove(name),
                false => self.cookies.insert(name.to_owned(), value.to_owned()),
            };
        }
        answer
    }

    /// Asks for a path, or for a URL of the server.
    pub(crate) fn get(&mut self, at: &str) -> String {
        let path = at.strip_prefix(&self.own()).unwrap_or(at);
        let answer = self.served.get(path, &self.headers());
        self.keep(answer)
    }

    /// Sends a form from a page of the server.
    pub(crate) fn post(&mut self, path: &str, form: &str) -> String {
        let origin = format!("Origin: {}\r\nSec-Fetch-Site: same-origin\r\n", self.own());
        self.post_from(&origin, path, form)
    }

    /// The same with other headers.
    pub(crate) fn post_from(&mut self, headers: &str, path: &str, form: &str) -> String {
        let headers = format!("{}{headers}", self.headers());
        let answer = self.served.request("POST", path, &headers, form);
        self.keep(answer)
    }

    /// Goes to the provider for a page, and comes back with what the provider makes: the address of that.
    pub(crate) fn way_back(&mut self, provider: &TestProvider, path: &str, makes: Makes) -> String {
        let asked = self.get(path);
        let start = header(&asked, "location").unwrap_or_else(|| panic!("{asked}")).to_owned();
        let sent = self.get(&start);
        let (code, state) = provider.sign_in(header(&sent, "location").unwrap(), makes);
        format!("/-/signed-in?code={}&state={state}", code.replace(' ', "%20"))
    }

    /// Signs in to see a page, and returns the answer to the way back.
    pub(crate) fn sign_in(&mut self, provider: &TestProvider, path: &str, makes: Makes) -> String {
        let back = self.way_back(provider, path, makes);
        self.get(&back)
    }
}

/// The part of a configuration about a provider, with more settings.
pub(crate) fn section(provider: &TestProvider, more: &str) -> String {
    format!(
        "[oidc]\nissuer = '{}'\nclient-id = 'svn'\nclient-secret-file = 'secret'\nurl = 'http://127.0.0.1:{{PORT}}'\n\
         name-claim = 'preferred_username'\nname-suffix = '@idp'\ngroups-claim = 'groups'\n{more}\n",
        provider.issuer()
    )
}
