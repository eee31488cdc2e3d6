//! The client certificate for a server that requests one: PKCS#12 files, and the key with which
//! rustls signs.
//!
//! Invariant: the user is not asked, and no file is read, unless the server requests a certificate.

use std::sync::Arc;

use p12_keystore::{CertificateBag, Pkcs12Archive, error::Error as FileError};
use parking_lot::Mutex;
use rustls::SignatureScheme;
use rustls::client::ResolvesClientCert;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::sign::CertifiedKey;
use sapwood_core::{SvnError, SvnResult};

use crate::auth::{Authenticator, KeyFile, Passphrase};

/// Certificates of one file that are tried and shown, at most.
const MAX_CERTIFICATES: usize = 16;

/// The user's certificate for one server.
pub(super) struct Identity {
    provider: Arc<CryptoProvider>,
    auth: Arc<Authenticator>,
    host: String,
    realm: String,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// What was found the first time.
    found: Option<Option<Arc<CertifiedKey>>>,
    /// To be kept when the server has answered.
    passphrase: Option<Passphrase>,
    /// What ends the connection.
    failed: Option<SvnError>,
    /// Why there is no certificate to show although one was named.
    problem: Option<SvnError>,
}

impl std::fmt::Debug for Identity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Identity").field("realm", &self.realm).finish_non_exhaustive()
    }
}

impl Identity {
    pub(super) fn new(
        provider: Arc<CryptoProvider>,
        auth: Arc<Authenticator>,
        host: &str,
        realm: &str,
    ) -> Self {
        let (host, realm) = (host.to_owned(), realm.to_owned());
        Self { provider, auth, host, realm, state: Mutex::default() }
    }

    /// What ended the search for a certificate, once.
    pub(super) fn failed(&self) -> Option<SvnError> {
        self.state.lock().failed.take()
    }

    /// An error of the connection, with why there was no certificate to show, where that is so.
    pub(super) fn explain(&self, error: SvnError) -> SvnError {
        match self.state.lock().problem.clone() {
            Some(problem) => error.with_cause(problem),
            None => error,
        }
    }

    /// The server has answered: what opened the certificate's file may be kept.
    ///
    /// # Errors
    /// What asking the person meets.
    pub(super) fn answered(&self) -> SvnResult<()> {
        let passphrase = self.state.lock().passphrase.take();
        passphrase.map_or(Ok(()), |passphrase| self.auth.keep_passphrase(&self.host, &passphrase))
    }
}

impl ResolvesClientCert for Identity {
    fn resolve(&self, _: &[&[u8]], _: &[SignatureScheme]) -> Option<Arc<CertifiedKey>> {
        let mut state = self.state.lock();
        if let Some(found) = &state.found {
            return found.clone();
        }
        let found = self.auth.client_certificate(&self.realm, &self.host, |bytes, passphrase| {
            unlock(bytes, passphrase, &self.provider)
        });
        match found {
            Ok(shown) => {
                state.passphrase = shown.passphrase;
                state.problem = shown.problem;
                state.found = Some(shown.identity.clone());
                shown.identity
            }
            Err(error) => {
                state.failed = Some(error);
                None
            }
        }
    }

    fn has_certs(&self) -> bool {
        true
    }
}

/// Opens a PKCS#12 file.
fn unlock(
    bytes: &[u8],
    passphrase: Option<&str>,
    provider: &CryptoProvider,
) -> KeyFile<Arc<CertifiedKey>> {
    let archive = match Pkcs12Archive::from_pkcs12(bytes, passphrase.unwrap_or("")) {
        Ok(archive) => archive,
        // One without a checksum shows it by what comes out of it.
        Err(FileError::MacError(_) | FileError::UnpadError | FileError::Pkcs5Error(_)) => {
            return KeyFile::WrongPassphrase;
        }
        Err(FileError::DerError(_)) => {
            return KeyFile::Unusable("it is no PKCS#12 file in DER form".to_owned());
        }
        Err(error) => return KeyFile::Unusable(error.to_string()),
    };
    let Some(key) = archive.keys.first() else {
        return KeyFile::Unusable("there is no key in it".to_owned());
    };
    // The certificate that says that it belongs to the key comes first.
    let is_named = |bag: &&CertificateBag| match (&bag.local_key_id, &key.local_key_id) {
        (Some(one), Some(other)) => one.as_slice() == AsRef::<[u8]>::as_ref(other),
        _ => false,
    };
    let (named, others): (Vec<_>, Vec<_>) = archive.certs.iter().partition(is_named);
    let all: Vec<CertificateDer<'static>> = named
        .into_iter()
        .chain(others)
        .take(MAX_CERTIFICATES)
        .map(|bag| CertificateDer::from(bag.cert.as_der().to_vec()))
        .collect();
    let mut why = "there is no certificate in it".to_owned();
    for (at, first) in all.iter().enumerate() {
        let rest = all.iter().enumerate().filter(|(other, _)| *other != at).map(|(_, rest)| rest);
        let chain = std::iter::once(first).chain(rest).cloned().collect();
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.key.as_der().to_vec()));
        match CertifiedKey::from_der(chain, key, provider) {
            Ok(certified) => return KeyFile::Open(Arc::new(certified)),
            Err(error) => why = error.to_string(),
        }
    }
    KeyFile::Unusable(why)
}

#[cfg(test)]
mod tests;
