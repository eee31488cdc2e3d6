//! Client certificates: which authorities are accepted (one setting for all of https), and what a
//! certificate says about its owner.
//!
//! Invariant: a [`ClientCertificate`] was verified, in its handshake, against the authorities that the
//! configuration names; with another server of the same repositories, in that server's handshake.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, CertificateRevocationListDer};
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::ClientCertVerifier;
use rustls::{RootCertStore, ServerConnection};
use sapwood_core::{ErrorCode, SvnError, SvnResult};
use x509_parser::prelude::{FromDer as _, GeneralName, X509Certificate};

use crate::common::config::CertificateName;

/// The most names of one kind that are taken from a certificate.
const MAX_NAMES: usize = 64;

/// The authorities whose certificates clients may show: files in PEM form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientAuthorities {
    /// The certificates of the authorities.
    pub file: PathBuf,
    /// Their revocation lists; intermediate certificates are looked up there, too.
    pub revoked: Option<PathBuf>,
    /// Whether a client without a certificate is refused before it can ask for anything.
    pub required: bool,
}

/// Files of certificates and keys that cannot be used.
pub(super) fn unusable(error: &sapwood_tls_client::Error) -> SvnError {
    SvnError::new(ErrorCode::BAD_FILENAME, format!("Can't use {error}"))
}

/// When the first of the certificates of a file (PEM) expires, in seconds since 1970.
///
/// # Errors
/// When there is none that can be read.
pub fn certificate_end(path: &Path) -> SvnResult<i64> {
    let all = sapwood_tls_client::certificates(path).map_err(|e| unusable(&e))?;
    let end = all.iter().filter_map(|(_, certificate)| end_of(certificate)).min();
    end.ok_or_else(|| unusable(&sapwood_tls_client::Error::Empty(path.to_owned())))
}

/// When a certificate expires, in seconds since 1970.
pub(super) fn end_of(certificate: &CertificateDer<'_>) -> Option<i64> {
    let (_, parsed) = x509_parser::parse_x509_certificate(certificate).ok()?;
    Some(parsed.validity().not_after.timestamp())
}

impl ClientAuthorities {
    /// The verifier of clients' certificates in handshakes.
    ///
    /// # Errors
    /// When the files cannot be used.
    pub(super) fn verifier(
        &self,
        provider: &Arc<CryptoProvider>,
    ) -> SvnResult<Arc<dyn ClientCertVerifier>> {
        let mut roots = RootCertStore::empty();
        sapwood_tls_client::add_file(&mut roots, &self.file).map_err(|e| unusable(&e))?;
        let mut verifier =
            WebPkiClientVerifier::builder_with_provider(Arc::new(roots), Arc::clone(provider));
        if let Some(file) = &self.revoked {
            verifier = verifier.with_crls(revoked(file)?).enforce_revocation_expiration();
        }
        if !self.required {
            verifier = verifier.allow_unauthenticated();
        }
        verifier.build().map_err(|e| not_usable(self.revoked.as_ref().unwrap_or(&self.file), e))
    }

    /// The files that are read.
    pub(super) fn paths(&self) -> impl Iterator<Item = &Path> {
        std::iter::once(&*self.file).chain(self.revoked.as_deref())
    }
}

/// The revocation lists of a file.
fn revoked(path: &Path) -> SvnResult<Vec<CertificateRevocationListDer<'static>>> {
    let lists = CertificateRevocationListDer::pem_file_iter(path);
    let lists: Result<Vec<_>, _> = lists.map_err(|e| not_usable(path, e))?.collect();
    let lists = lists.map_err(|e| not_usable(path, e))?;
    if lists.is_empty() {
        return Err(not_usable(path, "there is no revocation list in it"));
    }
    Ok(lists)
}

fn not_usable(path: &Path, why: impl std::fmt::Display) -> SvnError {
    SvnError::new(ErrorCode::BAD_FILENAME, format!("Can't use '{}': {why}", path.display()))
}

/// What a client's certificate says about its owner.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClientCertificate {
    /// The parts of its subject: numbers of attributes, and their texts.
    subject: Vec<(String, String)>,
    mails: Vec<String>,
    hosts: Vec<String>,
    /// All of it.
    der: Box<[u8]>,
}

impl ClientCertificate {
    /// The certificate that was shown in a handshake, if there was one.
    pub(super) fn of_connection(connection: &ServerConnection) -> Option<Arc<Self>> {
        let first = connection.peer_certificates()?.first()?;
        Self::read(first).map(Arc::new)
    }

    /// Reads one that was verified, in a handshake of this server or of one that it believes.
    pub(super) fn read(der: &[u8]) -> Option<Self> {
        let (_, certificate) = X509Certificate::from_der(der).ok()?;
        let subject = certificate.subject().iter_attributes().take(MAX_NAMES).filter_map(|part| {
            Some((part.attr_type().to_id_string(), part.as_str().ok()?.to_owned()))
        });
        let mut read = Self { subject: subject.collect(), der: der.into(), ..Self::default() };
        let others = certificate.subject_alternative_name().ok().flatten();
        let others = others.iter().flat_map(|names| &names.value.general_names).take(MAX_NAMES);
        for other in others {
            match other {
                GeneralName::RFC822Name(mail) => read.mails.push((*mail).to_owned()),
                GeneralName::DNSName(host) => read.hosts.push((*host).to_owned()),
                _ => {}
            }
        }
        Some(read)
    }

    /// All of it, as it came.
    pub(super) const fn der(&self) -> &[u8] {
        &self.der
    }

    /// The name by which it is known; the first where there are several of its kind. A name that is
    /// empty or has control characters is ignored.
    #[must_use]
    pub fn name(&self, which: CertificateName) -> Option<&str> {
        let part = |number: &str| {
            self.subject.iter().find(|(known, _)| known == number).map(|(_, text)| text.as_str())
        };
        let name = match which {
            CertificateName::Common => part("2.5.4.3"),
            CertificateName::Organization => part("2.5.4.10"),
            CertificateName::Unit => part("2.5.4.11"),
            CertificateName::UserId => part("0.9.2342.19200300.100.1.1"),
            CertificateName::Mail => part("1.2.840.113549.1.9.1"),
            CertificateName::OtherMail => self.mails.first().map(String::as_str),
            CertificateName::OtherHost => self.hosts.first().map(String::as_str),
        };
        name.filter(|name| !name.is_empty() && !name.chars().any(char::is_control))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_owners() {
        let pair = |number: &str, text: &str| (number.to_owned(), text.to_owned());
        let certificate = ClientCertificate {
            subject: vec![pair("2.5.4.3", "ada"), pair("2.5.4.3", "bob"), pair("2.5.4.10", "a\nb")],
            mails: vec![String::new(), "x@example.org".to_owned()],
            hosts: vec!["host".to_owned()],
            der: Box::default(),
        };
        assert_eq!(certificate.name(CertificateName::Common), Some("ada"));
        assert_eq!(certificate.name(CertificateName::OtherHost), Some("host"));
        for none in [
            CertificateName::Organization,
            CertificateName::OtherMail,
            CertificateName::UserId,
            CertificateName::Mail,
            CertificateName::Unit,
        ] {
            assert_eq!(certificate.name(none), None, "{none:?}");
        }
        assert_eq!(ClientCertificate::read(b"no certificate"), None);
    }
}
