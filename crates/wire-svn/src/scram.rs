//! SCRAM (RFC 5802, RFC 7677), the messages of both sides, without channel binding.
//!
//! Neither side sends the other the password, and the client learns that the server knows it. The
//! server here has the password itself, so salt and keys are made for each exchange. Passwords are
//! taken as the bytes they are, as Cyrus SASL does, without SASLprep. Random bytes are the caller's.

use hmac::{Hmac, KeyInit, Mac};
use sapwood_core::base64;
use sapwood_core::exact::{Cut, Exact};
use sha1::{Digest as _, Sha1};
use sha2::{Sha256, Sha512};

/// How often the password is hashed.
const ITERATIONS: u32 = 4096;
/// How often a server may have the password hashed: about two seconds of work.
const MAX_ITERATIONS: u32 = 1 << 22;
/// Bytes of a salt and of our part of the nonce, before base64.
pub const RANDOM: usize = 18;

/// Why an exchange came to nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ScramError {
    /// The other side does not speak SCRAM, or has lost the thread.
    #[error("malformed message")]
    Malformed,
    /// The other side does not know the password.
    #[error("the password is not the one that the other side knows")]
    NotProven,
}

type Result<T> = std::result::Result<T, ScramError>;
use ScramError::{Malformed, NotProven};

/// The hash function of a mechanism.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "their names say what they are")]
pub enum Hash {
    Sha1,
    Sha256,
    Sha512,
}

impl Hash {
    /// All, the better ones first.
    pub const ALL: [Self; 3] = [Self::Sha512, Self::Sha256, Self::Sha1];

    /// The name of the mechanism.
    #[must_use]
    pub const fn mechanism(self) -> &'static str {
        match self {
            Self::Sha1 => "SCRAM-SHA-1",
            Self::Sha256 => "SCRAM-SHA-256",
            Self::Sha512 => "SCRAM-SHA-512",
        }
    }

    fn digest(self, data: &[u8]) -> Vec<u8> {
        match self {
            Self::Sha1 => Sha1::digest(data).to_vec(),
            Self::Sha256 => Sha256::digest(data).to_vec(),
            Self::Sha512 => Sha512::digest(data).to_vec(),
        }
    }

    fn mac(self, key: &[u8], data: &[u8]) -> Option<Vec<u8>> {
        self.iterate(key, data, 1)
    }

    /// The exclusive or of `iterations` message authentication codes, each of the one before.
    fn iterate(self, key: &[u8], data: &[u8], iterations: u32) -> Option<Vec<u8>> {
        fn run<M: Mac + KeyInit + Clone>(
            key: &[u8],
            data: &[u8],
            iterations: u32,
        ) -> Option<Vec<u8>> {
            let keyed = <M as KeyInit>::new_from_slice(key).ok()?;
            let mut last = keyed.clone().chain_update(data).finalize().into_bytes();
            let mut all = last.to_vec();
            for _ in 1..iterations {
                last = keyed.clone().chain_update(&last).finalize().into_bytes();
                all.iter_mut().zip(&last).for_each(|(all, byte)| *all ^= byte);
            }
            Some(all)
        }
        match self {
            Self::Sha1 => run::<Hmac<Sha1>>(key, data, iterations),
            Self::Sha256 => run::<Hmac<Sha256>>(key, data, iterations),
            Self::Sha512 => run::<Hmac<Sha512>>(key, data, iterations),
        }
    }
}

/// The proofs of client and server, over all messages.
struct Proofs {
    client: Vec<u8>,
    server: Vec<u8>,
}

impl Proofs {
    fn new(hash: Hash, password: &[u8], salt: &[u8], iterations: u32, all: &[u8]) -> Option<Self> {
        let block = [salt, &1_u32.to_be_bytes()].concat();
        let salted = hash.iterate(password, &block, iterations)?;
        let mut client = hash.mac(&salted, b"Client Key")?;
        let signature = hash.mac(&hash.digest(&client), all)?;
        client.iter_mut().zip(&signature).for_each(|(key, byte)| *key ^= byte);
        Some(Self { client, server: hash.mac(&hash.mac(&salted, b"Server Key")?, all)? })
    }
}

/// Whether two secrets are the same; takes the same time wherever they differ.
#[must_use]
pub fn is_same(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && a.iter().zip(b).fold(0, |all, (a, b)| all | (a ^ b)) == 0
}

/// The client's side.
pub struct ScramClient {
    hash: Hash,
    password: Vec<u8>,
    nonce: String,
    /// The first message without its header.
    first: String,
    /// The proof that the server must give at the end.
    expected: Option<Vec<u8>>,
}

/// The header of the first message: no channel binding, no other name.
const HEADER: &str = "n,,";

impl ScramClient {
    /// Begins an exchange. `random` is used up.
    #[must_use]
    pub fn new(hash: Hash, user: &str, password: &[u8], random: &[u8; RANDOM]) -> Self {
        Self::with_nonce(hash, user, password, base64::encode(random))
    }

    fn with_nonce(hash: Hash, user: &str, password: &[u8], nonce: String) -> Self {
        let user = user.replace('=', "=3D").replace(',', "=2C");
        let first = format!("n={user},r={nonce}");
        Self { hash, password: password.to_vec(), nonce, first, expected: None }
    }

    /// The first message.
    #[must_use]
    pub fn first(&self) -> String {
        format!("{HEADER}{}", self.first)
    }

    /// The second message, which answers the server's first.
    ///
    /// # Errors
    /// [`ScramError::Malformed`] for a message that does not answer ours.
    pub fn answer(&mut self, server_first: &[u8]) -> Result<String> {
        let message = std::str::from_utf8(server_first).map_err(|_| Malformed)?;
        let mut fields = message.split(',');
        let mut field = |name| fields.next().and_then(|f| f.strip_prefix(name)).ok_or(Malformed);
        let (nonce, salt, iterations) = (field("r=")?, field("s=")?, field("i=")?);
        if nonce.strip_prefix(&*self.nonce).is_none_or(str::is_empty) {
            return Err(Malformed);
        }
        let salt = base64::decode(salt.as_bytes()).ok_or(Malformed)?;
        let iterations: u32 = iterations.parse().map_err(|_| Malformed)?;
        if !(1..=MAX_ITERATIONS).contains(&iterations) {
            return Err(Malformed);
        }
        let mut last = format!("c={},r={nonce}", base64::encode(HEADER.as_bytes()));
        let all = format!("{},{message},{last}", self.first);
        let proofs = Proofs::new(self.hash, &self.password, &salt, iterations, all.as_bytes());
        let proofs = proofs.ok_or(Malformed)?;
        last.push_str(",p=");
        last.push_str(&base64::encode(&proofs.client));
        self.expected = Some(proofs.server);
        Ok(last)
    }

    /// Whether the server's second message has come, after which there is none.
    #[must_use]
    pub const fn has_answered(&self) -> bool {
        self.expected.is_some()
    }

    /// Checks the server's proof.
    ///
    /// # Errors
    /// [`ScramError::NotProven`] when it does not know the password.
    pub fn verify(&self, server_last: &[u8]) -> Result<()> {
        let proof = server_last.strip_prefix(b"v=").and_then(base64::decode).ok_or(Malformed)?;
        match &self.expected {
            Some(expected) if is_same(expected, &proof) => Ok(()),
            _ => Err(NotProven),
        }
    }
}

/// The server's side: an exchange that waits for the client's second message.
#[derive(Debug)]
pub struct ScramServer {
    hash: Hash,
    user: String,
    /// `None` for an unknown user; the failure is sent only at the end.
    password: Option<Vec<u8>>,
    salt: Vec<u8>,
    /// What begins the client's second message: the header, as base64, and the whole nonce.
    binding: String,
    nonce: String,
    client_first: String,
    server_first: String,
}

#[allow(clippy::missing_errors_doc, reason = "`ScramError` says what its variants mean")]
impl ScramServer {
    /// Begins with the client's first message. `password` looks up a user, the random bytes become
    /// our part of the nonce and the salt.
    pub fn new(
        hash: Hash,
        message: &[u8],
        password: &dyn Fn(&str) -> Option<Vec<u8>>,
        nonce: &[u8; RANDOM],
        salt: &[u8; RANDOM],
    ) -> Result<Self> {
        Self::begin(hash, message, password, &base64::encode(nonce), salt)
    }

    fn begin(
        hash: Hash,
        message: &[u8],
        password: &dyn Fn(&str) -> Option<Vec<u8>>,
        our_nonce: &str,
        salt: &[u8],
    ) -> Result<Self> {
        let message = std::str::from_utf8(message).map_err(|_| Malformed)?;
        // `n,,` or `y,a=NAME,` and so on; a client that wants to bind to a channel has none here.
        let mut parts = message.splitn(3, ',');
        let (Some("n" | "y"), Some(act_as), Some(bare)) =
            (parts.next(), parts.next(), parts.next())
        else {
            return Err(Malformed);
        };
        let header = message.head(message.len().minus(bare.len()));
        let mut fields = bare.split(',');
        let user = fields.next().and_then(|f| f.strip_prefix("n=")).and_then(name);
        let theirs = fields.next().and_then(|f| f.strip_prefix("r="));
        let (Some(user), Some(theirs)) = (user, theirs.filter(|nonce| !nonce.is_empty())) else {
            return Err(Malformed);
        };
        let acts_as_self = match act_as.strip_prefix("a=") {
            Some(other) => name(other).is_some_and(|other| other == user),
            None => act_as.is_empty(),
        };
        if !acts_as_self {
            return Err(Malformed);
        }
        let nonce = format!("{theirs}{our_nonce}");
        Ok(Self {
            hash,
            password: password(&user),
            user,
            binding: base64::encode(header.as_bytes()),
            client_first: bare.to_owned(),
            server_first: format!("r={nonce},s={},i={ITERATIONS}", base64::encode(salt)),
            nonce,
            salt: salt.to_vec(),
        })
    }

    /// The user that the client says to be; nothing once that is proven.
    #[must_use]
    pub fn user(&self) -> &str {
        &self.user
    }

    /// The answer to the first message.
    #[must_use]
    pub fn server_first(&self) -> &str {
        &self.server_first
    }

    /// Takes the client's second message: the authenticated user, and the server's own
    /// proof.
    pub fn finish(&mut self, message: &[u8]) -> Result<(String, String)> {
        let message = std::str::from_utf8(message).map_err(|_| Malformed)?;
        let (without_proof, proof) = message.rsplit_once(",p=").ok_or(Malformed)?;
        let proof = base64::decode(proof.as_bytes()).ok_or(Malformed)?;
        let mut fields = without_proof.split(',');
        let binding = fields.next().and_then(|f| f.strip_prefix("c="));
        let nonce = fields.next().and_then(|f| f.strip_prefix("r="));
        if binding != Some(&*self.binding) || nonce != Some(&*self.nonce) {
            return Err(Malformed);
        }
        let all = format!("{},{},{without_proof}", self.client_first, self.server_first);
        // An unknown user takes as long as a known one.
        let known = self.password.is_some();
        let password = self.password.take().unwrap_or_default();
        let all = all.as_bytes();
        match Proofs::new(self.hash, &password, &self.salt, ITERATIONS, all) {
            Some(proofs) if known && is_same(&proofs.client, &proof) => {
                let ours = format!("v={}", base64::encode(&proofs.server));
                Ok((std::mem::take(&mut self.user), ours))
            }
            _ => Err(NotProven),
        }
    }
}

/// A name out of a message, where `=2C` and `=3D` stand for `,` and `=`.
fn name(text: &str) -> Option<String> {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('=') {
        out.push_str(before);
        rest = match (after.strip_prefix("2C"), after.strip_prefix("3D")) {
            (Some(rest), _) => {
                out.push(',');
                rest
            }
            (_, Some(rest)) => {
                out.push('=');
                rest
            }
            _ => return None,
        };
    }
    out.push_str(rest);
    (!out.is_empty()).then_some(out)
}

#[cfg(test)]
mod tests;
