//! A certificate with its key, as it is kept in a file and shown to clients.
//!
//! Invariant: a [`LoadedCertificate`] is for its name, and its key is its own.

use std::sync::Arc;

use rustls::client::verify_server_name;
use rustls::crypto::ring::sign::any_supported_type;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::server::ParsedCertificate;
use rustls::sign::CertifiedKey;

/// The most certificates of a chain.
const MOST: usize = 16;

/// A certificate in use. Times are seconds since 1970.
#[derive(Clone, Debug)]
pub(crate) struct LoadedCertificate {
    pub(crate) key: Arc<CertifiedKey>,
    pub(crate) begins: i64,
    pub(crate) ends: i64,
}

impl LoadedCertificate {
    /// Reads a file with the key and the chain in PEM form.
    ///
    /// # Errors
    /// Why it cannot be used for a name.
    pub(crate) fn of_pem(pem: &[u8], name: &str) -> Result<Self, String> {
        let words = |e: &dyn std::fmt::Display| e.to_string();
        let key = PrivateKeyDer::from_pem_slice(pem).map_err(|e| words(&e))?;
        let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).take(MOST).collect();
        let chain = chain.map_err(|e| words(&e))?;
        let first = chain.first().ok_or("there is no certificate in it")?;
        let (begins, ends) = times(first)?;
        let host = ServerName::try_from(name).map_err(|e| words(&e))?;
        let parsed = ParsedCertificate::try_from(first).map_err(|e| words(&e))?;
        verify_server_name(&parsed, &host).map_err(|_| format!("it is not for '{name}'"))?;
        let key = any_supported_type(&key).map_err(|e| words(&e))?;
        let key = CertifiedKey::new(chain, key);
        key.keys_match().map_err(|_| "the key is not that of the certificate")?;
        Ok(Self { key: Arc::new(key), begins, ends })
    }
}

/// From when until when a certificate is valid.
fn times(certificate: &CertificateDer<'_>) -> Result<(i64, i64), String> {
    let parsed = x509_parser::parse_x509_certificate(certificate);
    let (_, parsed) = parsed.map_err(|e| format!("the certificate cannot be read: {e}"))?;
    let validity = parsed.validity();
    let times = (validity.not_before.timestamp(), validity.not_after.timestamp());
    if times.0 < times.1 { Ok(times) } else { Err("it ends before it begins".to_owned()) }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    #[test]
    fn only_what_fits_is_taken() {
        let made = rcgen::generate_simple_self_signed(vec!["a.example".to_owned()]).unwrap();
        let other = rcgen::KeyPair::generate().unwrap().serialize_pem();
        let (key, certificate) = (made.signing_key.serialize_pem(), made.cert.pem());
        let read = |pem: String, name| LoadedCertificate::of_pem(pem.as_bytes(), name);
        let kept = read(format!("{key}{certificate}"), "a.example").unwrap();
        assert!(kept.begins < kept.ends);
        for (pem, name, why) in [
            (format!("{key}{certificate}"), "b.example", "not for 'b.example'"),
            (format!("{other}{certificate}"), "a.example", "not that of the certificate"),
            (key, "a.example", "no certificate"),
            (certificate, "a.example", ""),
            (String::new(), "a.example", ""),
        ] {
            let said = read(pem, name).unwrap_err();
            assert!(said.contains(why), "{said}");
        }
    }
}
