//! Tokens that are right, and each way in which one can be wrong.

use proptest::prelude::*;
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _};
use serde_json::json;

use super::*;

/// A set of keys, and tokens that OpenSSL signed, by RS256 and PS256.
const VECTORS: &str = include_str!("vectors.txt");

const NOW: i64 = 1_500;

fn expected() -> ExpectedClaims<'static> {
    ExpectedClaims {
        issuer: "https://h",
        client: "svn",
        nonce: "n",
        now: NOW,
        access_token: "access",
    }
}

/// A provider's key for ES256.
struct Signer {
    pair: EcdsaKeyPair,
    random: SystemRandom,
}

impl Signer {
    fn new() -> Self {
        let random = SystemRandom::new();
        let algorithm = &ECDSA_P256_SHA256_FIXED_SIGNING;
        let stored = EcdsaKeyPair::generate_pkcs8(algorithm, &random).unwrap();
        Self {
            pair: EcdsaKeyPair::from_pkcs8(algorithm, stored.as_ref(), &random).unwrap(),
            random,
        }
    }

    fn keys(&self, more: &Value) -> Keys {
        let point = self.pair.public_key().as_ref();
        let (x, y) = (base64url::encode(&point[1..33]), base64url::encode(&point[33..]));
        let mut key = json!({"kty": "EC", "crv": "P-256", "kid": "e", "x": x, "y": y});
        key.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        Keys::parse(json!({"keys": [{"kty": "new"}, 7, key]}).to_string().as_bytes()).unwrap()
    }

    fn token(&self, head: &Value, claims: &Value) -> String {
        let part = |value: &Value| base64url::encode(value.to_string().as_bytes());
        let message = format!("{}.{}", part(head), part(claims));
        let signature = self.pair.sign(&self.random, message.as_bytes()).unwrap();
        format!("{message}.{}", base64url::encode(signature.as_ref()))
    }
}

fn head() -> Value {
    json!({"alg": "ES256", "kid": "e"})
}

fn claims() -> Value {
    json!({"iss": "https://h", "aud": "svn", "sub": "1", "nonce": "n", "iat": 1000, "exp": 2000})
}

fn with(name: &str, value: Value) -> Value {
    let mut all = claims();
    all[name] = value;
    all
}

fn without(name: &str) -> Value {
    let mut all = claims();
    all.as_object_mut().unwrap().remove(name);
    all
}

fn verdict(text: &str, keys: &Keys) -> Result<Claims> {
    Token::parse(text)?.verify(keys, &expected())
}

#[test]
fn tokens_of_another_implementation_are_verified() {
    let mut lines = VECTORS.lines();
    let keys = Keys::parse(lines.next().unwrap().as_bytes()).unwrap();
    let mut count = 0;
    for text in lines {
        assert_eq!(verdict(text, &keys).unwrap()["sub"], "1", "{text}");
        let (message, signature) = text.rsplit_once('.').unwrap();
        let other = signature.replacen(
            &signature[..1],
            if signature.starts_with('A') { "B" } else { "A" },
            1,
        );
        assert!(verdict(&format!("{message}.{other}"), &keys).is_err());
        count += 1;
    }
    assert_eq!(count, 2);
}

#[test]
fn a_token_has_to_be_signed_by_a_key_of_the_provider() {
    let (signer, other) = (Signer::new(), Signer::new());
    let keys = signer.keys(&json!({}));
    let right = signer.token(&head(), &claims());
    assert_eq!(verdict(&right, &keys).unwrap()["sub"], "1");
    assert!(verdict(&signer.token(&json!({"alg": "ES256"}), &claims()), &keys).is_ok());
    let unsigned = Error::Token("no key of the provider's signed it");
    let refused =
        |text: &str, keys: &Keys| assert_eq!(verdict(text, keys).unwrap_err(), unsigned, "{text}");
    refused(&other.token(&head(), &claims()), &keys);
    for alg in ["none", "None", "", "HS256", "RS256", "ES384", "EdDSA"] {
        refused(&signer.token(&json!({"alg": alg, "kid": "e"}), &claims()), &keys);
    }
    refused(&signer.token(&json!({"alg": "ES256", "kid": "f"}), &claims()), &keys);
    // The message of one token with the signature of another one; no signature at all.
    let (message, _) = right.rsplit_once('.').unwrap();
    let (_, signature) = right.rsplit_once('.').unwrap();
    let (changed, _) = signer
        .token(&head(), &with("sub", json!("2")))
        .rsplit_once('.')
        .map(|(m, s)| (m.to_owned(), s.to_owned()))
        .unwrap();
    refused(&format!("{changed}.{signature}"), &keys);
    refused(&format!("{message}."), &keys);
    refused(&right, &Keys::default());
    // Keys that are for something else.
    refused(&right, &signer.keys(&json!({"use": "enc"})));
    refused(&right, &signer.keys(&json!({"alg": "ES384"})));
    refused(&right, &signer.keys(&json!({"crv": "P-384"})));
    assert!(verdict(&right, &signer.keys(&json!({"use": "sig", "alg": "ES256"}))).is_ok());
    // A key inside of the token is no key of the provider's.
    let inside = json!({"alg": "ES256", "kid": "e", "jwk": {"kty": "EC"}});
    refused(&other.token(&inside, &claims()), &keys);
    let critical = json!({"alg": "ES256", "kid": "e", "crit": ["x"]});
    assert!(verdict(&signer.token(&critical, &claims()), &keys).is_err());
}

#[test]
fn a_token_is_for_this_client_this_sign_in_and_this_time() {
    let signer = Signer::new();
    let keys = signer.keys(&json!({}));
    let may = |claims: &Value| verdict(&signer.token(&head(), claims), &keys).is_ok();
    let both = |azp: Value| {
        let mut all = with("aud", json!(["other", "svn"]));
        all["azp"] = azp;
        all
    };
    for right in [
        claims(),
        with("aud", json!(["svn"])),
        with("azp", json!("svn")),
        both(json!("svn")),
        with("exp", json!(NOW - 59)),
        with("iat", json!(NOW + 60)),
        with("exp", json!(2000.5)),
        with("nbf", json!(NOW)),
        with("at_hash", json!(half_hash("ES256", "access"))),
    ] {
        assert!(may(&right), "{right}");
    }
    for wrong in [
        without("iss"),
        without("aud"),
        without("sub"),
        without("nonce"),
        without("exp"),
        without("iat"),
        with("iss", json!("https://h/")),
        with("iss", json!("https://evil")),
        with("iss", json!(["https://h"])),
        with("aud", json!("other")),
        with("aud", json!([])),
        with("aud", json!(["other", "svn"])),
        with("aud", json!("svn2")),
        with("azp", json!("other")),
        both(json!("other")),
        both(json!(null)),
        with("nonce", json!("m")),
        with("nonce", json!("")),
        with("nonce", json!(null)),
        with("sub", json!("")),
        with("sub", json!(1)),
        with("sub", json!("x".repeat(256))),
        with("exp", json!(NOW - 60)),
        with("exp", json!(0)),
        with("exp", json!("2000")),
        with("exp", json!(-1)),
        with("iat", json!(NOW + 61)),
        with("iat", json!("now")),
        with("nbf", json!(NOW + 61)),
        with("at_hash", json!("x")),
        with("at_hash", json!(half_hash("ES256", "other"))),
        with("at_hash", json!(null)),
    ] {
        assert!(!may(&wrong), "{wrong}");
    }
}

#[test]
fn what_is_no_token_is_refused() {
    let keys = Signer::new().keys(&json!({}));
    let long = "a".repeat(MOST + 1);
    for text in ["", ".", "..", "...", "a.b.c", "e30.e30.e30", "e30.e30", "e30.e30.e30.e30", &long]
    {
        assert!(matches!(verdict(text, &keys), Err(Error::Token(_))), "{text:?}");
    }
}

proptest! {
    #[test]
    fn any_bytes_prove_nothing(bytes in proptest::collection::vec(any::<u8>(), 0..200), text in "[\\[\\]{}\":a-z0-9.,\n-]{0,80}") {
        prop_assert!(!fuzz_token(&bytes));
        prop_assert!(!fuzz_token(text.as_bytes()));
    }
}
