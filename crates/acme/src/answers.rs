//! What the authority is answered while it looks whether a name belongs to this server.
//!
//! Invariant: an answer is there as long as its [`Answer`], which an order in progress has.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use rcgen::{CertificateParams, CustomExtension, KeyPair};
use rustls::ServerConfig;
use rustls::crypto::ring::sign::any_supported_type;
use rustls::pki_types::PrivateKeyDer;
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;

use crate::settings::Challenge;

/// Where the authority asks for tokens.
const FOLDER: &str = "/.well-known/acme-challenge/";
/// The protocol that it asks for within TLS.
const PROTOCOL: &[u8] = b"acme-tls/1";

type BoxedError = Box<dyn std::error::Error + Send + Sync>;

/// The answers of all orders in progress.
#[derive(Debug, Default)]
pub(crate) struct Answers(Mutex<Live>);

#[derive(Debug, Default)]
struct Live {
    /// By token.
    texts: HashMap<String, String>,
    /// By name.
    certificates: HashMap<String, Arc<CertifiedKey>>,
}

/// What takes an answer away when it is dropped.
#[derive(Debug)]
pub(crate) struct Answer {
    answers: Arc<Answers>,
    challenge: Challenge,
    key: String,
}

impl Drop for Answer {
    fn drop(&mut self) {
        let mut live = self.answers.0.lock();
        match self.challenge {
            Challenge::Http01 => drop(live.texts.remove(&self.key)),
            Challenge::TlsAlpn01 => drop(live.certificates.remove(&self.key)),
        }
    }
}

impl Answers {
    /// Answers for a token with a text.
    pub(crate) fn say(self: &Arc<Self>, token: &str, text: &str) -> Answer {
        self.0.lock().texts.insert(token.to_owned(), text.to_owned());
        self.answer(Challenge::Http01, token)
    }

    /// Shows a certificate with the hash of the authority's text to who asks for the name.
    ///
    /// # Errors
    /// The library's, for a name that it cannot take.
    pub(crate) fn show(
        self: &Arc<Self>,
        name: &str,
        hash: &[u8; 32],
    ) -> Result<Answer, BoxedError> {
        let mut params = CertificateParams::new(vec![name.to_owned()])?;
        params.custom_extensions = vec![CustomExtension::new_acme_identifier(hash)];
        let key = KeyPair::generate()?;
        let certificate = params.self_signed(&key)?;
        let key = any_supported_type(&PrivateKeyDer::Pkcs8(key.serialize_der().into()))?;
        let shown = CertifiedKey::new(vec![certificate.der().clone()], key);
        self.0.lock().certificates.insert(name.to_owned(), Arc::new(shown));
        Ok(self.answer(Challenge::TlsAlpn01, name))
    }

    fn answer(self: &Arc<Self>, challenge: Challenge, key: &str) -> Answer {
        Answer { answers: Arc::clone(self), challenge, key: key.to_owned() }
    }

    /// The text for a path of http.
    pub(crate) fn text(&self, path: &str) -> Option<String> {
        let token = path.strip_prefix(FOLDER)?;
        self.0.lock().texts.get(token).cloned()
    }

    /// Whether some name is being proved within TLS.
    pub(crate) fn are_shown(&self) -> bool {
        !self.0.lock().certificates.is_empty()
    }

    /// Whether a client is the authority that asks within TLS.
    pub(crate) fn is_question(hello: &ClientHello<'_>) -> bool {
        let mut asked = hello.alpn().into_iter().flatten();
        asked.next() == Some(PROTOCOL) && asked.next().is_none()
    }

    /// How such a client is answered: no certificate of its own is asked for.
    ///
    /// # Errors
    /// The library's.
    pub(crate) fn config(self: &Arc<Self>) -> Result<ServerConfig, rustls::Error> {
        let resolver = Arc::new(AuthorityResolver(Arc::clone(self)));
        let builder = ServerConfig::builder_with_provider(sapwood_tls_client::provider());
        let builder = builder.with_safe_default_protocol_versions()?.with_no_client_auth();
        let mut config = builder.with_cert_resolver(resolver);
        config.alpn_protocols = vec![PROTOCOL.to_vec()];
        Ok(config)
    }
}

/// Certificates for the authority.
#[derive(Debug)]
struct AuthorityResolver(Arc<Answers>);

impl ResolvesServerCert for AuthorityResolver {
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        let name = hello.server_name()?.to_ascii_lowercase();
        self.0.0.lock().certificates.get(&name).cloned()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    #[test]
    fn answers_are_there_as_long_as_their_orders() {
        let answers = Arc::new(Answers::default());
        let text = || answers.text("/.well-known/acme-challenge/to-ken");
        let order = answers.say("to-ken", "to-ken.thumb");
        assert_eq!(text().as_deref(), Some("to-ken.thumb"));
        for other in ["/.well-known/acme-challenge/", "/.well-known/acme-challenge/to", "/to-ken"] {
            assert_eq!(answers.text(other), None, "{other}");
        }
        drop(order);
        assert_eq!(text(), None);
        let order = answers.show("a.example", &[7; 32]).unwrap();
        assert!(answers.are_shown());
        drop(order);
        assert!(!answers.are_shown());
    }
}
