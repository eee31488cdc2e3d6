//! https: the server's certificate, and the authorities of client certificates. Both are read again
//! when their files change.
//!
//! Invariant: when files cannot be used, perhaps because a renewal is half written, the previous
//! ones stay in use.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use parking_lot::Mutex;
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::NoServerSessionStorage;
use sapwood_core::SvnResult;

use super::certificate::{ClientAuthorities, end_of, unusable};

/// The paths of a certificate and its key: files in PEM form. The certificate's file also has the
/// intermediate certificates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsFiles {
    /// The certificate and its intermediate certificates.
    pub certificate: PathBuf,
    /// Its private key, not encrypted.
    pub key: PathBuf,
    /// The authorities of client certificates, if clients are asked for one.
    pub clients: Option<ClientAuthorities>,
}

/// When the files were changed.
type Stamp = [Option<SystemTime>; 4];

/// A certificate in use.
#[derive(Debug)]
pub(super) struct Tls {
    used: Mutex<Used>,
}

#[derive(Debug)]
struct Used {
    files: TlsFiles,
    stamp: Stamp,
    config: Arc<ServerConfig>,
    /// When the first certificate of the chain expires, in seconds since 1970.
    end: Option<i64>,
}

impl TlsFiles {
    fn stamp(&self) -> Stamp {
        let changed = |path: &Path| std::fs::metadata(path).and_then(|m| m.modified()).ok();
        let clients = self.clients.as_ref();
        let revoked = clients.and_then(|clients| clients.revoked.as_deref());
        [
            changed(&self.certificate),
            changed(&self.key),
            clients.and_then(|clients| changed(&clients.file)),
            revoked.and_then(changed),
        ]
    }

    /// Checks whether they can be used.
    ///
    /// # Errors
    /// What is wrong with them.
    pub fn check(&self) -> SvnResult<()> {
        self.read().map(drop)
    }

    /// What connections use, and when the first certificate expires.
    fn read(&self) -> SvnResult<(Arc<ServerConfig>, Option<i64>)> {
        let chain: Result<Vec<_>, _> = CertificateDer::pem_file_iter(&self.certificate)
            .map_err(|e| unusable(&self.certificate, e))?
            .collect();
        let chain = chain.map_err(|e| unusable(&self.certificate, e))?;
        if chain.is_empty() {
            return Err(unusable(&self.certificate, "there is no certificate in it"));
        }
        let end = chain.iter().filter_map(end_of).min();
        let key = PrivateKeyDer::from_pem_file(&self.key).map_err(|e| unusable(&self.key, e))?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .map_err(|e| unusable(&self.certificate, e))?;
        let builder = match &self.clients {
            None => builder.with_no_client_auth(),
            Some(clients) => builder.with_client_cert_verifier(clients.verifier(&provider)?),
        };
        let mut config =
            builder.with_single_cert(chain, key).map_err(|e| unusable(&self.certificate, e))?;
        if self.clients.is_some() {
            // A client certificate is verified anew on each connection: it may have expired, or been
            // revoked.
            config.session_storage = Arc::new(NoServerSessionStorage {});
            config.send_tls13_tickets = 0;
        }
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok((Arc::new(config), end))
    }
}

impl Tls {
    /// # Errors
    /// When the files cannot be used.
    pub(super) fn new(files: TlsFiles) -> SvnResult<Self> {
        let stamp = files.stamp();
        let (config, end) = files.read()?;
        Ok(Self { used: Mutex::new(Used { files, stamp, config, end }) })
    }

    /// Uses other files from the next connection on.
    ///
    /// # Errors
    /// When they cannot be used; then the old ones stay.
    pub(super) fn renew(&self, files: TlsFiles) -> SvnResult<()> {
        let stamp = files.stamp();
        let (config, end) = files.read()?;
        *self.used.lock() = Used { files, stamp, config, end };
        Ok(())
    }

    /// When the first certificate expires, in seconds since 1970.
    pub(super) fn end(&self) -> Option<i64> {
        drop(self.config());
        self.used.lock().end
    }

    /// The configuration for the next connection.
    pub(super) fn config(&self) -> Arc<ServerConfig> {
        let mut used = self.used.lock();
        let stamp = used.files.stamp();
        if used.stamp != stamp {
            // Tried once for each change: a renewal writes both files, and the second one causes
            // another try.
            used.stamp = stamp;
            if let Ok((config, end)) = used.files.read() {
                (used.config, used.end) = (config, end);
            }
        }
        Arc::clone(&used.config)
    }
}
