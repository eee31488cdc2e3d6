//! What the test's authority believes of a request: its signature, its nonce and its URL.

use sapwood_core::base64;
use serde_json::Value;
use sha2::{Digest as _, Sha256};

/// Bytes in base64 as URLs have it.
pub fn encode(bytes: &[u8]) -> String {
    base64::encode(bytes).replace('+', "-").replace('/', "_").trim_end_matches('=').to_owned()
}

pub fn decode(text: &str) -> Option<Vec<u8>> {
    let padded = format!("{text}{}", "=".repeat((4 - text.len() % 4) % 4));
    base64::decode(padded.replace('-', "+").replace('_', "/").as_bytes())
}

/// A request whose signature is right.
pub struct Signed {
    /// The account's URL, unless it is a new one.
    pub account: Option<String>,
    /// The key that has signed.
    pub key: Value,
    /// Nothing for "POST as GET".
    pub payload: Value,
}

/// Looks at a request to `url`. `key_of` knows the keys of accounts, and `take` whether a nonce is new.
///
/// # Errors
/// The kind of the problem, and its sentence.
pub fn verify(
    body: &[u8],
    url: &str,
    key_of: impl Fn(&str) -> Option<Value>,
    take: impl FnOnce(&str) -> bool,
) -> Result<Signed, (&'static str, &'static str)> {
    let malformed = |why| ("malformed", why);
    let body: Value = serde_json::from_slice(body).map_err(|_| malformed("no JSON"))?;
    let part = |name: &str| body[name].as_str().ok_or(malformed("no JWS"));
    let (protected, payload, signature) =
        (part("protected")?, part("payload")?, part("signature")?);
    let head = decode(protected).ok_or(malformed("no base64"))?;
    let head: Value = serde_json::from_slice(&head).map_err(|_| malformed("no header"))?;
    if head["alg"] != "ES256" {
        return Err(("badSignatureAlgorithm", "ES256 is wanted"));
    }
    if head["url"] != url {
        return Err(("unauthorized", "signed for another URL"));
    }
    if !head["nonce"].as_str().is_some_and(take) {
        return Err(("badNonce", "the nonce is not one of ours, or was used"));
    }
    let account = head["kid"].as_str().map(str::to_owned);
    let key = match (&account, &head["jwk"]) {
        (Some(account), Value::Null) => {
            key_of(account).ok_or(("accountDoesNotExist", "there is no such account"))?
        }
        (None, key @ Value::Object(_)) => key.clone(),
        _ => return Err(malformed("either jwk or kid")),
    };
    let signature = decode(signature).ok_or(malformed("no base64"))?;
    let message = format!("{protected}.{payload}");
    if !is_signed(&key, message.as_bytes(), &signature) {
        return Err(("unauthorized", "the signature is not that of the account's key"));
    }
    let payload = decode(payload).ok_or(malformed("no base64"))?;
    let payload = match payload.is_empty() {
        true => Value::Null,
        false => serde_json::from_slice(&payload).map_err(|_| malformed("no payload"))?,
    };
    Ok(Signed { account, key, payload })
}

fn coordinate(key: &Value, name: &str) -> Vec<u8> {
    key[name].as_str().and_then(decode).unwrap_or_default()
}

fn is_signed(key: &Value, message: &[u8], signature: &[u8]) -> bool {
    let point = [&[4][..], &coordinate(key, "x"), &coordinate(key, "y")].concat();
    if signature.len() != 64 || point.len() != 65 {
        return false;
    }
    let der = [number(&signature[..32]), number(&signature[32..])].concat();
    let der = [&[0x30, u8::try_from(der.len()).unwrap()][..], &der].concat();
    let provider = rustls::crypto::ring::default_provider();
    let all = provider.signature_verification_algorithms.all;
    // P-256 with SHA-256 is one of them; the others do not take such a key and signature.
    all.iter().any(|one| one.verify_signature(&point, message, &der).is_ok())
}

/// An INTEGER of DER.
fn number(bytes: &[u8]) -> Vec<u8> {
    let first = bytes.iter().position(|byte| *byte != 0).unwrap_or(bytes.len() - 1);
    let bytes = &bytes[first..];
    let zero: &[u8] = if bytes[0] & 0x80 != 0 { &[0] } else { &[] };
    let length = u8::try_from(zero.len() + bytes.len()).unwrap();
    [&[2, length], zero, bytes].concat()
}

/// What follows a token: the hash of the account's key.
pub fn thumb(key: &Value) -> String {
    let text = |name: &str| key[name].as_str().unwrap_or_default().to_owned();
    let (x, y) = (text("x"), text("y"));
    let text = format!("{{\"crv\":\"P-256\",\"kty\":\"EC\",\"x\":\"{x}\",\"y\":\"{y}\"}}");
    encode(&Sha256::digest(text.as_bytes()))
}
