//! The client's side of TLS for everything that asks other servers: which authorities are trusted, and the
//! configuration of connections that follows from it. And for servers: what proves who they are ([`identity`]), and files that are
//! read again when they change ([`RenewedFiles`]).
//!
//! Invariant: a file of authorities that cannot be read whole gives no configuration: never a connection that trusts
//! less or more than the file says.

mod error;
pub mod identity;
mod renewed;

use std::path::Path;
use std::sync::Arc;

use rustls::crypto::CryptoProvider;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::{self, PemObject as _};
use rustls::{ClientConfig, ConfigBuilder, RootCertStore, WantsVerifier};

pub use crate::error::{Error, Result};
pub use crate::renewed::RenewedFiles;

/// What a certificate begins with in a PEM file.
const BEGIN: &str = "-----BEGIN CERTIFICATE-----";

/// The cryptography of all connections.
#[must_use]
pub fn provider() -> Arc<CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}

/// A configuration whose trust is still to be chosen, with the library's safe versions of the protocol.
///
/// # Errors
/// [`Error::Library`]
pub fn builder() -> Result<ConfigBuilder<ClientConfig, WantsVerifier>> {
    Ok(ClientConfig::builder_with_provider(provider()).with_safe_default_protocol_versions()?)
}

/// Adds the authorities of the system. One that cannot be read is not trusted.
pub fn add_system(roots: &mut RootCertStore) {
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
}

/// Adds the authorities of a file in PEM form.
///
/// # Errors
/// A file that cannot be read, or has no certificate, or one that cannot be used, with its line.
pub fn add_file(roots: &mut RootCertStore, path: &Path) -> Result<()> {
    for (line, certificate) in certificates(path)? {
        let wrong = |e: rustls::Error| Error::Certificate {
            path: path.to_owned(),
            line,
            why: e.to_string(),
        };
        roots.add(certificate).map_err(wrong)?;
    }
    Ok(())
}

/// All certificates of a file in PEM form, of which there is one at least, each with the line where it begins, from 1.
///
/// # Errors
/// A file that cannot be read, or has no certificate, or what is none, with its line.
pub fn certificates(path: &Path) -> Result<Vec<(usize, CertificateDer<'static>)>> {
    let failed = |source| Error::Io { path: path.to_owned(), source };
    let bytes = std::fs::read(path).map_err(failed)?;
    let mut found = Vec::new();
    for (at, certificate) in CertificateDer::pem_slice_iter(&bytes).enumerate() {
        let line = line_of(&bytes, at);
        let wrong =
            |e: pem::Error| Error::Certificate { path: path.to_owned(), line, why: e.to_string() };
        found.push((line, certificate.map_err(wrong)?));
    }
    if found.is_empty() { Err(Error::Empty(path.to_owned())) } else { Ok(found) }
}

/// The line on which a certificate begins, counted from 1; the last line if there are fewer certificates.
fn line_of(bytes: &[u8], index: usize) -> usize {
    let text = String::from_utf8_lossy(bytes);
    let mut begins = text.lines().enumerate().filter(|(_, line)| line.trim() == BEGIN);
    let found = begins.nth(index).map(|(at, _)| at + 1);
    found.unwrap_or_else(|| text.lines().count())
}

/// The configuration of connections to servers that the authorities of a file (PEM) vouch for, or those of the system.
/// The client shows no certificate.
///
/// # Errors
/// As [`add_file`].
pub fn config(authorities: Option<&Path>) -> Result<Arc<ClientConfig>> {
    let mut roots = RootCertStore::empty();
    match authorities {
        None => add_system(&mut roots),
        Some(path) => add_file(&mut roots, path)?,
    }
    Ok(Arc::new(builder()?.with_root_certificates(roots).with_no_client_auth()))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    fn authority() -> String {
        let made = rcgen::generate_simple_self_signed(vec!["ca".to_owned()]).unwrap();
        made.cert.pem()
    }

    #[test]
    fn files_of_authorities_are_read_whole_or_not_at_all() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("ca.pem");
        let read = |text: &str| {
            std::fs::write(&file, text).unwrap();
            let mut roots = RootCertStore::empty();
            add_file(&mut roots, &file).map(|()| roots.len())
        };
        let good = authority();
        assert_eq!(read(&format!("# two\n{good}{good}")).unwrap(), 2);
        let lines = good.lines().count();
        let bad = format!("{good}\n{BEGIN}\nAAAA\n-----END CERTIFICATE-----\n");
        let why = read(&bad).unwrap_err().to_string();
        assert!(why.contains(&format!("', line {}: ", lines + 2)), "{why}");
        let cut = good.split("-----END").next().unwrap();
        let why = read(&format!("{good}{cut}")).unwrap_err().to_string();
        assert!(why.contains(&format!("', line {}: ", lines + 1)), "{why}");
        assert!(matches!(read("no certificate\n"), Err(Error::Empty(_))));
        std::fs::remove_file(&file).unwrap();
        assert!(matches!(config(Some(&file)), Err(Error::Io { .. })));
        assert!(config(None).is_ok());
    }
}
