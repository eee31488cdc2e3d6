//! Authentication over http: Basic (RFC 7617) and Digest (RFC 7616, with MD5 and SHA-256).

use std::fmt::Write as _;

use md5::{Digest as _, Md5};
use sapwood_core::base64;
use sapwood_core::exact::{Cut, Exact};
use sha2::Sha256;

use crate::auth::Simple;

/// A challenge: one `WWW-Authenticate` of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Challenge {
    pub(super) scheme: Scheme,
    pub(super) realm: String,
    /// Parameters in small letters, with their values.
    parameters: Vec<(String, String)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Scheme {
    Basic,
    Digest,
}

/// Splits `a=b, c="d, e"` into pairs.
fn parameters(mut text: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    while let Some((name, rest)) = text.split_once('=') {
        let name = name.trim_matches([' ', ',', '\t']).to_ascii_lowercase();
        let rest = rest.trim_start();
        let (value, rest) = match rest.strip_prefix('"') {
            Some(quoted) => {
                let (mut value, mut escaped, mut end) = (String::new(), false, quoted.len());
                for (at, c) in quoted.char_indices() {
                    match c {
                        _ if escaped => {
                            value.push(c);
                            escaped = false;
                        }
                        '\\' => escaped = true,
                        '"' => {
                            end = at.plus(1);
                            break;
                        }
                        _ => value.push(c),
                    }
                }
                (value, quoted.tail(end))
            }
            None => {
                let (value, rest) = rest.split_once(',').unwrap_or((rest, ""));
                (value.trim().to_owned(), rest)
            }
        };
        found.push((name, value));
        text = rest;
    }
    found
}

impl Challenge {
    /// Reads the value of a header; `None` for unknown schemes.
    pub(super) fn parse(header: &str) -> Option<Self> {
        let (word, rest) = header.trim().split_once(' ').unwrap_or((header.trim(), ""));
        let scheme = match word.to_ascii_lowercase().as_str() {
            "basic" => Scheme::Basic,
            "digest" => Scheme::Digest,
            _ => return None,
        };
        let parameters = parameters(rest);
        let known = |name: &str| parameters.iter().find(|(n, _)| n == name).map(|(_, v)| v.clone());
        if scheme == Scheme::Digest {
            let algorithm = known("algorithm").unwrap_or_default().to_ascii_lowercase();
            if !matches!(algorithm.as_str(), "" | "md5" | "sha-256") {
                return None;
            }
        }
        Some(Self { scheme, realm: known("realm").unwrap_or_default(), parameters })
    }

    fn parameter(&self, name: &str) -> Option<&str> {
        self.parameters.iter().find(|(n, _)| n == name).map(|(_, value)| value.as_str())
    }

    /// Whether the server says that only the nonce was stale.
    pub(super) fn is_stale(&self) -> bool {
        self.parameter("stale").is_some_and(|word| word.eq_ignore_ascii_case("true"))
    }
}

/// Credentials for a challenge, which go with each request from now on.
pub(super) struct Proof {
    challenge: Challenge,
    simple: Simple,
    client_nonce: String,
    count: u32,
}

impl std::fmt::Debug for Proof {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Proof").field("simple", &self.simple).finish_non_exhaustive()
    }
}

fn hex(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().times(2));
    for byte in bytes {
        // Writing to a string does not fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}

impl Proof {
    /// `random` makes the client nonce.
    pub(super) fn new(challenge: Challenge, simple: Simple, random: [u8; 16]) -> Self {
        Self { challenge, simple, client_nonce: hex(&random), count: 0 }
    }

    /// The user.
    pub(super) fn simple(&self) -> &Simple {
        &self.simple
    }

    /// The value of `Authorization` for the next request.
    pub(super) fn header(&mut self, method: &str, target: &str) -> String {
        let Simple { username, password, .. } = &self.simple;
        match self.challenge.scheme {
            Scheme::Basic => {
                format!("Basic {}", base64::encode(format!("{username}:{password}").as_bytes()))
            }
            Scheme::Digest => {
                self.count = self.count.plus(1);
                self.digest(method, target)
            }
        }
    }

    fn digest(&self, method: &str, target: &str) -> String {
        let challenge = &self.challenge;
        let algorithm = challenge.parameter("algorithm");
        let is_sha = algorithm.is_some_and(|name| name.eq_ignore_ascii_case("sha-256"));
        let hash = |text: String| {
            if is_sha { hex(&Sha256::digest(text)) } else { hex(&Md5::digest(text)) }
        };
        let Simple { username, password, .. } = &self.simple;
        let realm = &challenge.realm;
        let nonce = challenge.parameter("nonce").unwrap_or("");
        let a1 = hash(format!("{username}:{realm}:{password}"));
        let a2 = hash(format!("{method}:{target}"));
        // Without `qop`, the old form of RFC 2069 is meant.
        let asks_auth = challenge
            .parameter("qop")
            .is_some_and(|words| words.split(',').any(|word| word.trim() == "auth"));
        let count = format!("{:08x}", self.count);
        let client = &self.client_nonce;
        let response = if asks_auth {
            hash(format!("{a1}:{nonce}:{count}:{client}:auth:{a2}"))
        } else {
            hash(format!("{a1}:{nonce}:{a2}"))
        };
        let quoted = |text: &str| text.replace('\\', "\\\\").replace('"', "\\\"");
        let mut header = format!(
            "Digest username=\"{}\", realm=\"{}\", nonce=\"{}\", uri=\"{target}\", \
             response=\"{response}\"",
            quoted(username),
            quoted(realm),
            quoted(nonce)
        );
        if let Some(algorithm) = algorithm {
            header.push_str(&format!(", algorithm={algorithm}"));
        }
        if asks_auth {
            header.push_str(&format!(", qop=auth, nc={count}, cnonce=\"{client}\""));
        }
        if let Some(opaque) = challenge.parameter("opaque") {
            header.push_str(&format!(", opaque=\"{}\"", quoted(opaque)));
        }
        header
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn simple(username: &str, password: &str) -> Simple {
        Simple { username: username.to_owned(), password: password.to_owned(), may_save: false }
    }

    #[test]
    fn challenges() {
        let basic = Challenge::parse("Basic realm=\"a \\\"b\\\", c\", charset=UTF-8").unwrap();
        assert_eq!((basic.scheme, basic.realm.as_str()), (Scheme::Basic, "a \"b\", c"));
        assert_eq!(basic.parameter("charset"), Some("UTF-8"));
        assert!(Challenge::parse("Negotiate abc").is_none());
        assert!(Challenge::parse("Digest realm=x, algorithm=SHA-512-256").is_none());
        let digest = Challenge::parse("digest realm=x,nonce=\"n\",stale=TRUE").unwrap();
        assert!(digest.is_stale() && digest.scheme > basic.scheme);
        for odd in ["", "Basic", "Basic realm", "Basic =", "Basic realm=\"x"] {
            let _ = Challenge::parse(odd);
        }
    }

    #[test]
    fn basic() {
        let challenge = Challenge::parse("Basic realm=\"r\"").unwrap();
        let mut proof = Proof::new(challenge, simple("Aladdin", "open sesame"), [0; 16]);
        assert_eq!(proof.header("GET", "/"), "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==");
    }

    /// The example of RFC 2617, 3.5.
    #[test]
    fn digest() {
        let header = "Digest realm=\"testrealm@host.com\", qop=\"auth,auth-int\", \
             nonce=\"dcd98b7102dd2f0e8b11d0f600bfb0c093\", opaque=\"5ccc069c403ebaf9f0171e9517f40e41\"";
        let challenge = Challenge::parse(header).unwrap();
        let mut proof = Proof::new(challenge, simple("Mufasa", "Circle Of Life"), [0; 16]);
        proof.client_nonce = "0a4f113b".to_owned();
        let header = proof.header("GET", "/dir/index.html");
        assert!(header.contains("response=\"6629fae49393a05397450978507c4ef1\""), "{header}");
        assert!(header.contains("nc=00000001") && header.contains("opaque=\"5ccc"));
        assert!(proof.header("GET", "/").contains("nc=00000002"));
    }
}
