//! What proves who this server is: a certificate with those that lead to its authority, and the key to it.
//!
//! Invariant: a key is that of its certificate, and nothing of it is in an error.

use std::path::Path;
use std::sync::Arc;

use rustls::pki_types::PrivateKeyDer;
use rustls::pki_types::pem::{self, PemObject as _};
use rustls::sign::CertifiedKey;

use crate::error::{Error, Result};

/// How the first line of a key ends in a PEM file.
const KEY: &str = "PRIVATE KEY-----";

/// Reads a certificate, which the file has first, and its key, which is not encrypted; both in PEM form.
///
/// # Errors
/// A file that cannot be read, or what cannot be used in it, with its line; a key of another certificate.
pub fn read(certificate: &Path, key: &Path) -> Result<Arc<CertifiedKey>> {
    let chain = super::certificates(certificate)?;
    let first = chain.first().map_or(1, |(line, _)| *line);
    let chain = chain.into_iter().map(|(_, certificate)| certificate).collect();
    let failed = |source| Error::Io { path: key.to_owned(), source };
    let bytes = std::fs::read(key).map_err(failed)?;
    let line = line_of(&bytes);
    let wrong = |why: String| Error::Key { path: key.to_owned(), line, why };
    let secret = PrivateKeyDer::from_pem_slice(&bytes).map_err(|e| wrong(unread(&e)))?;
    CertifiedKey::from_der(chain, secret, &super::provider()).map(Arc::new).map_err(|e| match e {
        rustls::Error::InconsistentKeys(_) => {
            let (path, certificate) = (key.to_owned(), certificate.to_owned());
            Error::OtherKey { path, line, certificate }
        }
        rustls::Error::InvalidCertificate(why) => {
            let (path, why) = (certificate.to_owned(), why.to_string());
            Error::Certificate { path, line: first, why }
        }
        other => wrong(other.to_string()),
    })
}

/// Why there is no key, without what the file says.
fn unread(error: &pem::Error) -> String {
    match error {
        pem::Error::NoItemsFound => "there is no key in it that is not encrypted".to_owned(),
        pem::Error::MissingSectionEnd { .. } => "the key has no end".to_owned(),
        _ => "it is no file in PEM form".to_owned(),
    }
}

/// The line on which the key begins, counted from 1; the last line if there is none.
fn line_of(bytes: &[u8]) -> usize {
    let text = String::from_utf8_lossy(bytes);
    let is_key = |line: &str| line.starts_with("-----BEGIN") && line.trim_end().ends_with(KEY);
    let found = text.lines().position(is_key).map(|at| at + 1);
    found.unwrap_or_else(|| text.lines().count())
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_that_of_its_certificate_and_is_never_said() {
        let made = || rcgen::generate_simple_self_signed(vec!["a".to_owned()]).unwrap();
        let (one, other) = (made(), made());
        let folder = tempfile::tempdir().unwrap();
        let (certificate, key) = (folder.path().join("c.pem"), folder.path().join("k.pem"));
        let with = |chain: &str, secret: &str| {
            std::fs::write(&certificate, chain).unwrap();
            std::fs::write(&key, secret).unwrap();
            read(&certificate, &key)
        };
        let secret = one.signing_key.serialize_pem();
        let chain = one.cert.pem();
        assert_eq!(with(&format!("{chain}{}", other.cert.pem()), &secret).unwrap().cert.len(), 2);
        let why = with(&chain, &format!("# a key\n{}", other.signing_key.serialize_pem()));
        let why = why.unwrap_err().to_string();
        assert!(why.contains("k.pem', line 2: the key is not that of the certificate in"), "{why}");
        let inner = secret.lines().nth(1).unwrap();
        for (bad, said) in [
            ("no key\n", "line 1: there is no key in it"),
            (secret.split("-----END").next().unwrap(), "line 1: the key has no end"),
            (&secret.replace(inner, &inner.replace('M', "!")), "line 1: it is no file in PEM form"),
            (&secret.replace(inner, ""), "line 1: "),
        ] {
            let why = with(&chain, bad).unwrap_err().to_string();
            assert!(why.contains(said) && !why.contains(&inner[..16]), "{why}");
        }
        assert!(matches!(with("", &secret), Err(Error::Empty(_))));
        std::fs::write(&certificate, &chain).unwrap();
        std::fs::remove_file(&key).unwrap();
        assert!(matches!(read(&certificate, &key), Err(Error::Io { .. })));
    }
}
