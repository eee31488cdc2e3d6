//! Password files of httpd, as `htpasswd` writes them: `user:hash` a line.
//!
//! Supported are bcrypt (`$2y$`), SHA-256 and SHA-512 crypt (`$5$`, `$6$`), httpd's own MD5 (`$apr1$`)
//! and `{SHA}`. Old DES hashes are not: they use only eight characters. A user with an unsupported
//! hash cannot log in.
//!
//! Invariant: a password that was verified is cached for a short time, as a digest under a key of
//! this process, together with the hash that it matched. Computing bcrypt for each request would
//! take all of the server's time.

use sapwood_core::Cut;
use std::collections::HashMap;
use std::time::{Duration, Instant};

use md5::{Digest as _, Md5};
use parking_lot::Mutex;
use sapwood_core::base64;
use sha1::Sha1;
use sha2::Sha256;

/// How long a verified password is accepted without computing its hash again.
const REMEMBERED: Duration = Duration::from_secs(300);
/// The limit of cached passwords.
const MOST: usize = 16 << 10;

/// A password file.
#[derive(Debug, Default)]
pub struct Htpasswd {
    users: HashMap<String, String>,
    /// A hash of the file. It is computed for unknown users, so that the time of the reply does not reveal
    /// which users exist.
    decoy: Option<String>,
}

impl Htpasswd {
    /// Reads the text of a file. Malformed lines are skipped, as httpd does.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        let mut users = HashMap::new();
        let mut decoy = None;
        for line in text.lines().map(str::trim) {
            if line.starts_with('#') {
                continue;
            }
            if let Some((user, hash)) = line.split_once(':') {
                // The first line of a user counts, and text after another colon is ignored.
                let hash = hash.split(':').next().unwrap_or("");
                if is_known(hash) {
                    decoy.get_or_insert_with(|| hash.to_owned());
                }
                users.entry(user.to_owned()).or_insert_with(|| hash.to_owned());
            }
        }
        Self { users, decoy }
    }

    /// The users whose hashes are of an unknown kind, sorted.
    #[must_use]
    pub fn unknown(&self) -> Vec<&str> {
        let odd = |hash: &str| !is_known(hash);
        let mut users: Vec<&str> =
            self.users.iter().filter(|(_, h)| odd(h)).map(|(user, _)| user.as_str()).collect();
        users.sort_unstable();
        users
    }

    /// Whether this is the password of the user. `proved` caches verified passwords. An unknown user takes as
    /// long as the first one of the file.
    #[must_use]
    pub fn verify(&self, user: &str, password: &str, proved: &VerifiedPasswords) -> bool {
        match (self.users.get(user), &self.decoy) {
            (Some(hash), _) if is_known(hash) => {
                proved.again(hash, password, || matches(hash, password))
            }
            (_, Some(decoy)) => {
                std::hint::black_box(matches(decoy, password));
                false
            }
            (_, None) => false,
        }
    }

    /// Whether this password of the user was verified a short time ago.
    #[must_use]
    pub fn has_proved(&self, user: &str, password: &str, proved: &VerifiedPasswords) -> bool {
        self.users.get(user).is_some_and(|hash| proved.has(hash, password))
    }
}

fn is_known(hash: &str) -> bool {
    ["$2y$", "$2a$", "$2b$", "$5$", "$6$", "$apr1$", "{SHA}"].iter().any(|p| hash.starts_with(p))
}

fn matches(hash: &str, password: &str) -> bool {
    if let Some(digest) = hash.strip_prefix("{SHA}") {
        return same(
            base64::encode(&Sha1::digest(password.as_bytes())).as_bytes(),
            digest.as_bytes(),
        );
    }
    if let Some(rest) = hash.strip_prefix("$apr1$") {
        let Some((salt, _)) = rest.split_once('$') else { return false };
        return same(apr1(password.as_bytes(), salt.as_bytes()).as_bytes(), hash.as_bytes());
    }
    if hash.starts_with("$2") {
        return bcrypt::verify(password, hash).unwrap_or(false);
    }
    if hash.starts_with("$5$") || hash.starts_with("$6$") {
        use sha_crypt::PasswordVerifier as _;
        return sha_crypt::ShaCrypt::default().verify_password(password.as_bytes(), hash).is_ok();
    }
    false
}

/// Compares in a time that does not depend on where the two differ.
fn same(a: &[u8], b: &[u8]) -> bool {
    let (a, b) = (Sha256::digest(a), Sha256::digest(b));
    a.iter().zip(b.iter()).fold(0u8, |difference, (x, y)| difference | (x ^ y)) == 0
}

/// Poul-Henning Kamp's thousand rounds of MD5, with httpd's magic word.
fn apr1(password: &[u8], salt: &[u8]) -> String {
    let salt = salt.get(..8).unwrap_or(salt);
    let mut inner = Md5::new();
    [password, salt, password].iter().for_each(|part| inner.update(part));
    let inner = inner.finalize();
    let mut sum = Md5::new();
    [password, b"$apr1$", salt].iter().for_each(|part| sum.update(part));
    for piece in password.chunks(16) {
        sum.update(inner.head(piece.len()));
    }
    let mut bits = password.len();
    while bits > 0 {
        sum.update(if bits & 1 == 1 { &[0] } else { password.head(1) });
        bits >>= 1;
    }
    let mut digest = sum.finalize();
    for round in 0..1000u32 {
        let mut next = Md5::new();
        let odd = round % 2 == 1;
        next.update(if odd { password } else { &digest });
        if round % 3 != 0 {
            next.update(salt);
        }
        if round % 7 != 0 {
            next.update(password);
        }
        next.update(if odd { &digest[..] } else { password });
        digest = next.finalize();
    }
    let mut text = format!("$apr1${}$", String::from_utf8_lossy(salt));
    let digest: [u8; 16] = digest.into();
    let [d0, d1, d2, d3, d4, d5, d6, d7, d8, d9, d10, d11, d12, d13, d14, d15] =
        digest.map(u32::from);
    let triples = [(d0, d6, d12), (d1, d7, d13), (d2, d8, d14), (d3, d9, d15), (d4, d10, d5)];
    for (a, b, c) in triples {
        push64(&mut text, a << 16 | b << 8 | c, 4);
    }
    push64(&mut text, d11, 2);
    text
}

fn push64(text: &mut String, mut value: u32, count: usize) {
    const LETTERS: &[u8; 64] = b"./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    for _ in 0..count {
        let letter = usize::try_from(value & 63).ok().and_then(|at| LETTERS.get(at));
        text.push(char::from(letter.copied().unwrap_or(b'.')));
        value >>= 6;
    }
}

/// Whether a password that was verified at a time is still accepted.
fn is_fresh(at: Instant) -> bool {
    at.elapsed() < REMEMBERED
}

/// Passwords that were verified a short time ago.
#[derive(Debug)]
pub struct VerifiedPasswords {
    key: [u8; 32],
    known: Mutex<HashMap<[u8; 32], Instant>>,
}

impl Default for VerifiedPasswords {
    fn default() -> Self {
        // A thief who reads this process's memory later must not be able to use what is cached.
        use std::hash::BuildHasher as _;
        let random = || std::hash::RandomState::new().hash_one(0u8).to_le_bytes();
        let mut key = [0; 32];
        for part in key.chunks_mut(8) {
            part.copy_from_slice(&random());
        }
        Self { key, known: Mutex::default() }
    }
}

impl VerifiedPasswords {
    /// The cache entry of a password and the hash that it matched.
    fn digest(&self, hash: &str, password: &str) -> [u8; 32] {
        let mut digest = Sha256::new();
        digest.update(self.key);
        digest.update(Sha256::digest(hash.as_bytes()));
        digest.update(password.as_bytes());
        digest.finalize().into()
    }

    fn is_known(&self, digest: &[u8; 32]) -> bool {
        self.known.lock().get(digest).is_some_and(|at| is_fresh(*at))
    }

    /// Whether `password` was seen to match `hash` a short time ago.
    pub(crate) fn has(&self, hash: &str, password: &str) -> bool {
        self.is_known(&self.digest(hash, password))
    }

    /// Whether `password` matches `hash`: from the cache, or computed by `prove`.
    pub(crate) fn again(&self, hash: &str, password: &str, prove: impl FnOnce() -> bool) -> bool {
        let digest = self.digest(hash, password);
        let now = Instant::now();
        if self.is_known(&digest) {
            return true;
        }
        if !prove() {
            return false;
        }
        let mut known = self.known.lock();
        if known.len() >= MOST {
            known.retain(|_, at| is_fresh(*at));
            if known.len() >= MOST {
                known.clear();
            }
        }
        known.insert(digest, now);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_of_htpasswd() {
        // Made by `htpasswd -nb` with -m, -s, -B -C 4, -2 -r 1000 and -5 -r 1000.
        let file = Htpasswd::parse(HASHES);
        let proved = VerifiedPasswords::default();
        for user in ["md5", "sha", "bcrypt", "sha256", "sha512"] {
            assert!(file.verify(user, "secret pass", &proved), "{user}");
            assert!(file.verify(user, "secret pass", &proved), "{user}, remembered");
            assert!(!file.verify(user, "secret pas", &proved), "{user}");
            assert!(!file.verify(user, "", &proved), "{user}");
        }
        assert!(!file.verify("nobody", "secret pass", &proved));
        assert!(!file.verify("des", "secret pass", &proved));
        assert_eq!(file.unknown(), ["des"]);
    }

    #[test]
    fn a_changed_hash_is_not_remembered() {
        let proved = VerifiedPasswords::default();
        let before = Htpasswd::parse("a:{SHA}qUqP5cyxm6YcTAhz05Hph5gvu9M=");
        assert!(before.verify("a", "test", &proved));
        assert!(!Htpasswd::parse("a:{SHA}xxx").verify("a", "test", &proved));
    }

    const HASHES: &str = "# a comment\n\
        md5:$apr1$e7EnYPPO$BJKL1.dIb7o1W1q0nNj260\n\
        sha:{SHA}O1hAcUlX7zkBbV+/3rmbDfUlbNM=\n\
        bcrypt:$2y$04$rDGcS/h2nZqrlRAusQO5K.5s3oBW6UgfZJynqSyHkRT3YxpswkbPS\n\
        sha256:$5$rounds=1000$nLIRUEuVjg9uLjDD$QpVvJuP.t/fa7vSEOBcWQIMUpkWttaoZJC99JOeQKu/\n\
        sha512:$6$rounds=1000$LxPxhIwQKIXOPEvz$FwK/O40bEaswbCEmA5BwdX4v1kinQ9.r/cdtcAbz1VvBWi48OGQAbh7F6IWN7UM5ePOHUJyI6/Px6dTnc0vaT.\n\
        des:TfHa.H5PMxwNI\n\
        nonsense\n";
}
