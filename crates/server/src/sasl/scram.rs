//! SCRAM (RFC 5802, RFC 7677), the server's side, without channel binding.
//!
//! Neither side tells the other the password, and the client learns that the server knows it. The
//! server here has the password itself, so salt and keys are made for each exchange. Passwords are
//! taken as the bytes they are, as Cyrus SASL does, without SASLprep.

use hmac::{Hmac, KeyInit, Mac};
use sapwood_core::base64;
use sha1::{Digest as _, Sha1};
use sha2::{Sha256, Sha512};

use super::{BAD_PROTOCOL, FAILED, is_same};

/// How often the password is hashed.
const ITERATIONS: u32 = 4096;
/// Bytes of a salt and of our part of the nonce, before base64.
const RANDOM: usize = 18;

/// The hash function of a mechanism.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Hash {
    Sha1,
    Sha256,
    Sha512,
}

impl Hash {
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

/// An exchange that waits for the client's second message.
#[derive(Debug)]
pub(super) struct Scram {
    hash: Hash,
    user: String,
    /// `None` for a user whom nobody knows; they hear so in the end only.
    password: Option<Vec<u8>>,
    salt: Vec<u8>,
    /// What begins the client's second message: the header, as base64, and the whole nonce.
    binding: String,
    nonce: String,
    client_first: String,
    server_first: String,
}

impl Scram {
    /// Begins with the client's first message. `password` looks up a user.
    pub(super) fn new(
        hash: Hash,
        message: &[u8],
        password: &dyn Fn(&str) -> Option<Vec<u8>>,
    ) -> Result<Self, &'static str> {
        let (mut ours, mut salt) = ([0; RANDOM], [0; RANDOM]);
        for bytes in [&mut ours, &mut salt] {
            let flags = rustix::rand::GetRandomFlags::empty();
            if rustix::rand::getrandom(&mut *bytes, flags) != Ok(RANDOM) {
                return Err("SASL(-1): generic failure: no random numbers");
            }
        }
        Self::begin(hash, message, password, &base64::encode(&ours), &salt)
    }

    fn begin(
        hash: Hash,
        message: &[u8],
        password: &dyn Fn(&str) -> Option<Vec<u8>>,
        our_nonce: &str,
        salt: &[u8],
    ) -> Result<Self, &'static str> {
        let message = std::str::from_utf8(message).map_err(|_| BAD_PROTOCOL)?;
        // `n,,` or `y,a=NAME,` and so on; a client that wants to bind to a channel has none here.
        let mut parts = message.splitn(3, ',');
        let (Some("n" | "y"), Some(act_as), Some(bare)) =
            (parts.next(), parts.next(), parts.next())
        else {
            return Err(BAD_PROTOCOL);
        };
        let header = message.strip_suffix(bare).unwrap_or_default();
        let mut fields = bare.split(',');
        let user = fields.next().and_then(|f| f.strip_prefix("n=")).and_then(name);
        let theirs = fields.next().and_then(|f| f.strip_prefix("r="));
        let (Some(user), Some(theirs)) = (user, theirs.filter(|nonce| !nonce.is_empty())) else {
            return Err(BAD_PROTOCOL);
        };
        let acts_as_self = match act_as.strip_prefix("a=") {
            Some(other) => name(other).is_some_and(|other| other == user),
            None => act_as.is_empty(),
        };
        if !acts_as_self {
            return Err(BAD_PROTOCOL);
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

    /// The answer to the first message.
    pub(super) fn server_first(&self) -> &str {
        &self.server_first
    }

    /// Takes the client's second message: the user who has proved themselves, and the server's own
    /// proof.
    pub(super) fn finish(&mut self, message: &[u8]) -> Result<(String, String), &'static str> {
        let message = std::str::from_utf8(message).map_err(|_| BAD_PROTOCOL)?;
        let (without_proof, proof) = message.rsplit_once(",p=").ok_or(BAD_PROTOCOL)?;
        let proof = base64::decode(proof.as_bytes()).ok_or(BAD_PROTOCOL)?;
        let mut fields = without_proof.split(',');
        let binding = fields.next().and_then(|f| f.strip_prefix("c="));
        let nonce = fields.next().and_then(|f| f.strip_prefix("r="));
        if binding != Some(&*self.binding) || nonce != Some(&*self.nonce) {
            return Err(BAD_PROTOCOL);
        }
        let all = format!("{},{},{without_proof}", self.client_first, self.server_first);
        // An unknown user takes as long as a known one.
        let known = self.password.is_some();
        let password = self.password.take().unwrap_or_default();
        match self.proofs(&password, all.as_bytes()) {
            Some((right, ours)) if known && is_same(&right, &proof) => {
                Ok((std::mem::take(&mut self.user), format!("v={}", base64::encode(&ours))))
            }
            _ => Err(FAILED),
        }
    }

    /// What the client and what the server must prove, over all that was said.
    fn proofs(&self, password: &[u8], all: &[u8]) -> Option<(Vec<u8>, Vec<u8>)> {
        let hash = self.hash;
        let block = [&*self.salt, &1_u32.to_be_bytes()].concat();
        let salted = hash.iterate(password, &block, ITERATIONS)?;
        let mut client = hash.mac(&salted, b"Client Key")?;
        let signature = hash.mac(&hash.digest(&client), all)?;
        client.iter_mut().zip(&signature).for_each(|(key, byte)| *key ^= byte);
        Some((client, hash.mac(&hash.mac(&salted, b"Server Key")?, all)?))
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
mod tests {
    use super::*;

    fn password(user: &str) -> Option<Vec<u8>> {
        (user == "user").then(|| b"pencil".to_vec())
    }

    fn begin(hash: Hash, first: &str, nonce: &str, salt: &str) -> Result<Scram, &'static str> {
        let salt = base64::decode(salt.as_bytes()).unwrap();
        Scram::begin(hash, first.as_bytes(), &password, nonce, &salt)
    }

    #[test]
    fn rfc_5802_example() {
        let first = "n,,n=user,r=fyko+d2lbbFgONRv9qkxdawL";
        let mut scram = begin(Hash::Sha1, first, "3rfcNHYJY1ZVvWVs7j", "QSXCR+Q6sek8bf92").unwrap();
        assert_eq!(
            scram.server_first(),
            "r=fyko+d2lbbFgONRv9qkxdawL3rfcNHYJY1ZVvWVs7j,s=QSXCR+Q6sek8bf92,i=4096"
        );
        let last = "c=biws,r=fyko+d2lbbFgONRv9qkxdawL3rfcNHYJY1ZVvWVs7j,\
                    p=v0X8v3Bz2T0CJGbJQyF0X+HI4Ts=";
        let (user, verifier) = scram.finish(last.as_bytes()).unwrap();
        assert_eq!((&*user, &*verifier), ("user", "v=rmF9pqV8S7suAoZWja4dJRkFsKQ="));
    }

    #[test]
    fn rfc_7677_example() {
        let (nonce, salt) = ("%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0", "W22ZaJ0SNY7soEsUEjb6gQ==");
        let begin = |first: &str| begin(Hash::Sha256, first, nonce, salt);
        let whole = format!("rOprNGfwEbeRWgbNEkqO{nonce}");
        let last = format!("c=biws,r={whole},p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=");
        let first = "n,,n=user,r=rOprNGfwEbeRWgbNEkqO";
        let done = begin(first).unwrap().finish(last.as_bytes());
        let verifier = "v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=";
        assert_eq!(done, Ok(("user".to_owned(), verifier.to_owned())));
        // One thing wrong.
        for wrong in [
            last.replace("p=d", "p=e"),
            last.replace("p=dHzb", "p="),
            last.replace("c=biws", "c=eSws"),
            last.replace(nonce, ""),
            last.replace(",p=", ",q="),
            String::new(),
        ] {
            assert!(begin(first).unwrap().finish(wrong.as_bytes()).is_err(), "{wrong}");
        }
        let stranger = "n,,n=other,r=rOprNGfwEbeRWgbNEkqO";
        assert_eq!(begin(stranger).unwrap().finish(last.as_bytes()), Err(FAILED));
        // The empty password of somebody unknown opens nothing.
        let mut scram = begin(stranger).unwrap();
        let said =
            format!("n=other,r=rOprNGfwEbeRWgbNEkqO,{},c=biws,r={whole}", scram.server_first);
        let (proof, _) = scram.proofs(b"", said.as_bytes()).unwrap();
        let last = format!("c=biws,r={whole},p={}", base64::encode(&proof));
        assert_eq!(scram.finish(last.as_bytes()), Err(FAILED));
    }

    #[test]
    fn first_messages() {
        let begin = |first: &str| begin(Hash::Sha512, first, "x", "AAAA");
        assert_eq!(begin("y,a=a=2Cb=3D,n=a=2Cb=3D,r=n,ext=1").unwrap().user, "a,b=");
        for bad in [
            "",
            "n",
            "n,,",
            "n,,n=user",
            "n,,n=user,r=",
            "n,,n=,r=x",
            "n,,r=x,n=user",
            "n,a=other,n=user,r=x",
            "n,b,n=user,r=x",
            "n,,n=us=er,r=x",
            "n,,m=ext,n=user,r=x",
            "p=tls-unique,,n=user,r=x",
        ] {
            assert!(begin(bad).is_err(), "{bad}");
        }
    }
}
