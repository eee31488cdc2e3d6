//! Digest authentication (RFC 7616 with MD5 and `qop=auth`, which the files of `htdigest` are for).
//!
//! A nonce is the time at which it was made, a number, and a hash of both with this process's secret: nothing is stored for clients that never come back.
//! For clients with a right password the counts are stored. A nonce that is too old is answered with a new one, and the client need not ask its user
//! again.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use hmac::{Hmac, KeyInit as _, Mac as _};
use hyper::header::AUTHORIZATION;
use sapwood_core::Md5;
use sapwood_core::exact::Exact as _;
use sha2::Sha256;

use super::head::Head;
use super::nonce_uses::{NonceUses, count};
use crate::common::htdigest::Htdigest;

/// The lifetime of a nonce, in seconds.
const LIFETIME: u64 = 300;

/// The secret of this process, or of all servers of the same repositories.
#[derive(Debug)]
pub struct Nonces {
    secret: Vec<u8>,
    uses: NonceUses,
    /// The number of nonces made.
    made: AtomicU64,
}

impl Default for Nonces {
    fn default() -> Self {
        let mut secret = vec![0; 32];
        // Without random numbers (they are always available once the system is up) no nonce is
        // accepted.
        if getrandom::fill(&mut secret).is_err() {
            secret.clear();
        }
        Self { secret, uses: NonceUses::default(), made: AtomicU64::new(0) }
    }
}

impl Nonces {
    /// With a key that other servers have, too: they accept each other's nonces, of which no two are the same.
    pub(super) fn with_key(key: [u8; 32]) -> Self {
        let mut first = [0; 8];
        // Without random numbers, two clients of two servers may have the same nonce, and one of them is asked again.
        let made = getrandom::fill(&mut first).map_or(0, |()| u64::from_be_bytes(first));
        Self { secret: key.to_vec(), uses: NonceUses::default(), made: AtomicU64::new(made) }
    }
}

/// What an `Authorization` header says.
#[derive(Debug, Default)]
struct DigestHeader {
    user: String,
    realm: String,
    nonce: String,
    uri: String,
    response: String,
    cnonce: String,
    count: String,
    qop: String,
}

/// The result of checking a header.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Proof {
    /// The user is authenticated.
    Is(String),
    /// The nonce has expired: the client has to try again.
    Old,
    /// The user is not authenticated.
    Not(String),
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// The user that a request names.
pub(super) fn user(head: &Head) -> Option<String> {
    said(head).map(|said| said.user)
}

impl Nonces {
    fn sign(&self, time: &str) -> Option<String> {
        let key = Some(&self.secret).filter(|secret| !secret.is_empty())?;
        let mut mac = Hmac::<Sha256>::new_from_slice(key).ok()?;
        mac.update(time.as_bytes());
        let sum = mac.finalize().into_bytes();
        Some(sum.iter().take(16).map(|byte| format!("{byte:02x}")).collect())
    }

    fn make(&self, time: u64) -> String {
        // Each client has its own nonce, since its counts belong to one client.
        let time = format!("{time:x}.{:x}", self.made.fetch_add(1, Ordering::Relaxed));
        let sum = self.sign(&time);
        // A nonce that no client can use is better than one that all could.
        sum.map_or_else(String::new, |sum| format!("{time}-{sum}"))
    }

    /// Seconds since a nonce of ours was made.
    fn age(&self, nonce: &str) -> Option<u64> {
        let (time, sum) = nonce.split_once('-')?;
        let is_ours = self.sign(time)? == sum;
        let (made, _) = time.split_once('.').filter(|_| is_ours)?;
        let made = u64::from_str_radix(made, 16).ok()?;
        now().checked_sub(made)
    }

    /// The challenge for a realm. `head`: of the request that is answered with it.
    pub(super) fn challenge(&self, realm: &str, head: &Head) -> String {
        let is_spent =
            |s: &DigestHeader| count(&s.count).is_some_and(|n| self.uses.is_spent(&s.nonce, n));
        let is_old = said(head)
            .is_some_and(|s| self.age(&s.nonce).is_some_and(|a| a > LIFETIME) || is_spent(&s));
        let stale = if is_old { ", stale=true" } else { "" };
        let nonce = self.make(now());
        format!("Digest realm=\"{realm}\", qop=\"auth\", algorithm=MD5, nonce=\"{nonce}\"{stale}")
    }

    /// Whether the request's header, if it is of this kind, authenticates a user. It does so once.
    pub(super) fn proof(&self, head: &Head, file: &Htdigest, realm: &str) -> Option<Proof> {
        let said = said(head)?;
        let own = match &head.query {
            Some(query) => format!("{}?{query}", head.path),
            None => head.path.clone(),
        };
        let number = count(&said.count);
        let is_sound =
            said.realm == realm && said.qop == "auth" && said.uri == own && number.is_some();
        let known = file.hash(&said.user, realm).filter(|_| is_sound);
        let right = known.map(|hash| {
            let what = md5(&format!("{}:{}", head.method, said.uri));
            let DigestHeader { nonce, count, cnonce, qop, .. } = &said;
            md5(&format!("{hash}:{nonce}:{count}:{cnonce}:{qop}:{what}"))
        });
        let is_right = right.is_some_and(|right| same(&right, &said.response));
        Some(match self.age(&said.nonce) {
            Some(age) if is_right && age <= LIFETIME => {
                let (now, number) = (now(), number.unwrap_or(0));
                let ends = now.plus(LIFETIME.minus(age));
                let is_new = self.uses.spend(&said.nonce, number, ends, now);
                if is_new { Proof::Is(said.user) } else { Proof::Old }
            }
            Some(_) if is_right => Proof::Old,
            // A nonce of another process, perhaps before this one: that is no wrong password.
            None if is_right => Proof::Old,
            _ => Proof::Not(said.user),
        })
    }
}

fn md5(text: &str) -> String {
    Md5::of(text.as_bytes()).to_hex()
}

/// Compares in a time that does not depend on where two texts differ.
fn same(a: &str, b: &str) -> bool {
    a.len() == b.len() && a.bytes().zip(b.bytes()).fold(0, |all, (x, y)| all | (x ^ y)) == 0
}

fn said(head: &Head) -> Option<DigestHeader> {
    let value = head.headers.get(AUTHORIZATION)?.to_str().ok()?;
    let (scheme, rest) = value.split_once(' ')?;
    if !scheme.eq_ignore_ascii_case("digest") {
        return None;
    }
    let mut said = DigestHeader::default();
    for (name, value) in pairs(rest) {
        match name.to_ascii_lowercase().as_str() {
            "username" => said.user = value,
            "realm" => said.realm = value,
            "nonce" => said.nonce = value,
            "uri" => said.uri = value,
            "response" => said.response = value.to_ascii_lowercase(),
            "cnonce" => said.cnonce = value,
            "nc" => said.count = value,
            "qop" => said.qop = value,
            _ => {}
        }
    }
    Some(said)
}

/// `name=value, name="value"`
fn pairs(text: &str) -> Vec<(String, String)> {
    let (mut all, mut rest) = (Vec::new(), text);
    while let Some((name, after)) = rest.split_once('=') {
        let name = name.trim_matches([' ', ',', '\t']).to_owned();
        let mut value = String::new();
        let mut chars = after.char_indices();
        let quoted = after.starts_with('"');
        if quoted {
            chars.next();
        }
        let mut end = after.len();
        while let Some((at, c)) = chars.next() {
            match c {
                '\\' if quoted => value.extend(chars.next().map(|(_, c)| c)),
                '"' if quoted => {
                    end = at;
                    break;
                }
                ',' if !quoted => {
                    end = at;
                    break;
                }
                c => value.push(c),
            }
        }
        all.push((name, if quoted { value } else { value.trim().to_owned() }));
        rest = after.get(end..).and_then(|r| r.split_once(',')).map_or("", |(_, rest)| rest);
    }
    all
}

#[cfg(test)]
mod tests {
    use hyper::Request;

    use super::*;

    /// A head with a header of `password`'s, for the nonce `nonce`.
    fn head(nonce: &str, password: &str, uri: &str) -> Head {
        let own = md5(&format!("joe:a b:{password}"));
        let what = md5(&format!("GET:{uri}"));
        let response = md5(&format!("{own}:{nonce}:00000001:c,\"n:auth:{what}"));
        let header = format!(
            "Digest username=\"joe\", realm=\"a b\", nonce=\"{nonce}\", uri=\"{uri}\", \
             cnonce=\"c,\\\"n\", nc=00000001, qop=auth, response=\"{response}\", algorithm=MD5"
        );
        let request = Request::get("/x?p=1").header("authorization", header).body(()).unwrap();
        Head::new(request.into_parts().0, "127.0.0.1:1".parse().unwrap(), false, &[])
    }

    #[test]
    fn proofs() {
        let nonces = Nonces::default();
        let file = Htdigest::parse(&format!("joe:a b:{}\n", md5("joe:a b:secret")));
        let fresh = nonces.make(now());
        let prove = |head: &Head| nonces.proof(head, &file, "a b");
        assert_eq!(prove(&head(&fresh, "secret", "/x?p=1")), Some(Proof::Is("joe".to_owned())));
        // A repeated request may come from an attacker who has recorded the first.
        assert_eq!(prove(&head(&fresh, "secret", "/x?p=1")), Some(Proof::Old));
        let again = nonces.challenge("a b", &head(&fresh, "secret", "/x?p=1"));
        assert!(again.ends_with("stale=true"));
        let not = Some(Proof::Not("joe".to_owned()));
        assert_eq!(prove(&head(&fresh, "wrong", "/x?p=1")), not);
        assert_eq!(prove(&head(&fresh, "secret", "/other")), not, "the header of another request");
        let old = nonces.make(now() - LIFETIME - 5);
        assert_eq!(prove(&head(&old, "secret", "/x?p=1")), Some(Proof::Old));
        assert!(nonces.challenge("a b", &head(&old, "secret", "/x?p=1")).ends_with("stale=true"));
        let others = Nonces::default().make(now());
        assert_eq!(prove(&head(&others, "secret", "/x?p=1")), Some(Proof::Old));
        assert_eq!(prove(&head(&others, "wrong", "/x?p=1")), not);
        assert_eq!(nonces.proof(&head(&fresh, "secret", "/x?p=1"), &file, "other"), not);
        // Servers of the same repositories accept each other's, and make no two that are the same.
        let [one, other] = [[7; 32]; 2].map(Nonces::with_key);
        let made = one.make(now());
        let proof = other.proof(&head(&made, "secret", "/x?p=1"), &file, "a b");
        assert_eq!(proof, Some(Proof::Is("joe".to_owned())));
        assert_ne!(made, other.make(now()));
        let unused = nonces.make(now());
        assert!(!nonces.challenge("r", &head(&unused, "secret", "/x")).contains("stale"));
    }
}
