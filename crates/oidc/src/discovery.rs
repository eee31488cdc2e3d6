//! What the provider says about itself (OpenID Connect Discovery 1.0).

use serde::Deserialize;

use crate::error::{Error, Result};
use crate::settings::is_safe;

/// The addresses of a provider.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
pub(crate) struct Metadata {
    issuer: String,
    pub(crate) authorization_endpoint: String,
    pub(crate) token_endpoint: String,
    pub(crate) jwks_uri: String,
    pub(crate) userinfo_endpoint: Option<String>,
    /// Where users sign out (OpenID Connect RP-Initiated Logout 1.0).
    pub(crate) end_session_endpoint: Option<String>,
    token_endpoint_auth_methods_supported: Option<Vec<String>>,
}

/// What is asked for.
const WHAT: &str = "its addresses";

/// The address at which a provider says what it is.
pub(crate) fn address(issuer: &str) -> String {
    format!("{}/.well-known/openid-configuration", issuer.trim_end_matches('/'))
}

impl Metadata {
    /// Reads the answer of a provider.
    ///
    /// # Errors
    /// [`Error::Answer`] where it is another provider's, or has addresses that cannot be used.
    pub(crate) fn parse(bytes: &[u8], issuer: &str) -> Result<Self> {
        let read: Self = serde_json::from_slice(bytes).map_err(|e| Error::answer(WHAT, e))?;
        if read.issuer != issuer {
            // By this a provider could otherwise speak for another one.
            return Err(Error::answer(WHAT, format!("it is '{}', not '{issuer}'", read.issuer)));
        }
        let all = [&read.authorization_endpoint, &read.token_endpoint, &read.jwks_uri];
        let others = read.userinfo_endpoint.iter().chain(&read.end_session_endpoint);
        let wrong = all.into_iter().chain(others).find(|url| !is_safe(url));
        match wrong {
            Some(url) => Err(Error::answer(WHAT, format!("'{url}' is not encrypted"))),
            None => Ok(read),
        }
    }

    /// Whether the client's password goes into the form, not into a header.
    pub(crate) fn wants_secret_in_form(&self) -> bool {
        let has = |all: &Vec<String>, name: &str| all.iter().any(|method| method == name);
        self.token_endpoint_auth_methods_supported
            .as_ref()
            .is_some_and(|all| !has(all, "client_secret_basic") && has(all, "client_secret_post"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_provider_and_unsafe_addresses_are_refused() {
        let text = |issuer: &str, keys: &str| {
            format!(
                "{{\"issuer\":\"{issuer}\",\"authorization_endpoint\":\"https://h/a\",\"token_endpoint\":\"https://h/t\",\
                 \"jwks_uri\":\"{keys}\",\"more\":[1]}}"
            )
        };
        let parse = |text: String| Metadata::parse(text.as_bytes(), "https://h");
        let read = parse(text("https://h", "https://h/k")).unwrap();
        assert!(!read.wants_secret_in_form() && read.userinfo_endpoint.is_none());
        assert!(parse(text("https://h/", "https://h/k")).is_err());
        assert!(parse(text("https://h", "http://h/k")).is_err());
        let with_end = |url: &str| {
            text("https://h", "https://h/k")
                .replace("\"more\"", &format!("\"end_session_endpoint\":\"{url}\",\"more\""))
        };
        let end = parse(with_end("https://h/e")).unwrap().end_session_endpoint;
        assert_eq!(end.as_deref(), Some("https://h/e"));
        assert!(parse(with_end("javascript:alert(1)")).is_err());
        assert!(parse("{}".to_owned()).is_err() && parse(String::new()).is_err());
        assert_eq!(address("https://h/"), "https://h/.well-known/openid-configuration");
        assert_eq!(address("https://h/r"), "https://h/r/.well-known/openid-configuration");
    }
}
