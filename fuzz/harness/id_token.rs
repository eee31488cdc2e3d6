//! The keys of a provider of OpenID Connect in the first line, and an ID token after it: no bytes prove who a user is.

pub fn run(data: &[u8]) {
    assert!(!sapwood_oidc::fuzz_token(data), "a token without a signature counts");
}
