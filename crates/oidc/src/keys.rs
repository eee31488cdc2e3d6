//! The keys of a provider (RFC 7517), and signatures by them (RFC 7518), which `ring` verifies.
//!
//! Invariant: only methods with a public key are known. So neither `none` nor a signature with a key that the client has
//! too can be one.

use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ECDSA_P384_SHA384_FIXED, ED25519, RSA_PKCS1_2048_8192_SHA256,
    RSA_PKCS1_2048_8192_SHA384, RSA_PKCS1_2048_8192_SHA512, RSA_PSS_2048_8192_SHA256,
    RSA_PSS_2048_8192_SHA384, RSA_PSS_2048_8192_SHA512, RsaParameters, RsaPublicKeyComponents,
    UnparsedPublicKey, VerificationAlgorithm,
};
use serde::Deserialize;

use crate::base64url;
use crate::error::{Error, Result};

/// The most keys of a provider that are looked at.
const MOST_KEYS: usize = 64;

/// How a token is signed.
#[derive(Clone, Copy, Debug)]
enum Method {
    Rsa(&'static RsaParameters),
    /// With the bytes of a coordinate, where the key is a point.
    Point(&'static dyn VerificationAlgorithm, &'static str, usize),
    Edwards,
}

impl Method {
    /// The method of this name in the head of a token.
    fn of(name: &str) -> Option<Self> {
        Some(match name {
            "RS256" => Self::Rsa(&RSA_PKCS1_2048_8192_SHA256),
            "RS384" => Self::Rsa(&RSA_PKCS1_2048_8192_SHA384),
            "RS512" => Self::Rsa(&RSA_PKCS1_2048_8192_SHA512),
            "PS256" => Self::Rsa(&RSA_PSS_2048_8192_SHA256),
            "PS384" => Self::Rsa(&RSA_PSS_2048_8192_SHA384),
            "PS512" => Self::Rsa(&RSA_PSS_2048_8192_SHA512),
            "ES256" => Self::Point(&ECDSA_P256_SHA256_FIXED, "P-256", 32),
            "ES384" => Self::Point(&ECDSA_P384_SHA384_FIXED, "P-384", 48),
            "EdDSA" => Self::Edwards,
            _ => return None,
        })
    }
}

/// A key as the provider writes it.
#[derive(Clone, Debug, Deserialize)]
struct Key {
    kty: String,
    kid: Option<String>,
    #[serde(rename = "use")]
    purpose: Option<String>,
    alg: Option<String>,
    n: Option<String>,
    e: Option<String>,
    crv: Option<String>,
    x: Option<String>,
    y: Option<String>,
}

/// The keys of a provider.
#[derive(Clone, Debug, Default)]
pub(crate) struct Keys(Vec<Key>);

/// Keys of all kinds; those that are not known are passed over.
#[derive(Deserialize)]
struct Set {
    keys: Vec<serde_json::Value>,
}

impl Keys {
    /// Reads the answer of a provider.
    ///
    /// # Errors
    /// [`Error::Answer`] for what is no set of keys.
    pub(crate) fn parse(bytes: &[u8]) -> Result<Self> {
        let set: Set = serde_json::from_slice(bytes).map_err(|e| Error::answer("its keys", e))?;
        let known =
            set.keys.into_iter().take(MOST_KEYS).filter_map(|key| serde_json::from_value(key).ok());
        Ok(Self(known.collect()))
    }

    /// Whether there is a key of this name.
    pub(crate) fn have(&self, name: Option<&str>) -> bool {
        self.0.iter().any(|key| key.has_name(name))
    }

    /// Whether one of the keys signed a message.
    pub(crate) fn verify(
        &self,
        method: &str,
        name: Option<&str>,
        message: &[u8],
        signature: &[u8],
    ) -> bool {
        let Some(how) = Method::of(method) else { return false };
        self.0
            .iter()
            .filter(|key| key.has_name(name) && key.may_sign(method))
            .any(|key| key.verify(how, message, signature).is_some())
    }
}

impl Key {
    /// A token without the name of a key may be signed by each of them.
    fn has_name(&self, name: Option<&str>) -> bool {
        name.is_none() || self.kid.as_deref() == name
    }

    fn may_sign(&self, method: &str) -> bool {
        self.purpose.as_deref().is_none_or(|purpose| purpose == "sig")
            && self.alg.as_deref().is_none_or(|alg| alg == method)
    }

    fn verify(&self, how: Method, message: &[u8], signature: &[u8]) -> Option<()> {
        let part = |text: &Option<String>| base64url::decode(text.as_deref()?);
        match how {
            Method::Rsa(parameters) if self.kty == "RSA" => {
                let key =
                    RsaPublicKeyComponents { n: bare(&part(&self.n)?), e: bare(&part(&self.e)?) }
                        .verify(parameters, message, signature);
                key.ok()
            }
            Method::Point(algorithm, curve, length)
                if self.kty == "EC" && self.crv.as_deref() == Some(curve) =>
            {
                let mut point = vec![4];
                point.extend(filled(&part(&self.x)?, length)?);
                point.extend(filled(&part(&self.y)?, length)?);
                UnparsedPublicKey::new(algorithm, point).verify(message, signature).ok()
            }
            Method::Edwards if self.kty == "OKP" && self.crv.as_deref() == Some("Ed25519") => {
                UnparsedPublicKey::new(&ED25519, part(&self.x)?).verify(message, signature).ok()
            }
            _ => None,
        }
    }
}

/// A number without zeros at its beginning, as `ring` wants it.
fn bare(number: &[u8]) -> Vec<u8> {
    number.iter().copied().skip_while(|byte| *byte == 0).collect()
}

/// A coordinate in all its bytes.
fn filled(number: &[u8], length: usize) -> Option<Vec<u8>> {
    let number = bare(number);
    let mut all = vec![0; length.checked_sub(number.len())?];
    all.extend(number);
    Some(all)
}
