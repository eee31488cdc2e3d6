//! https: the server's certificate, of files or by ACME, and the authorities of client certificates. Files are read again
//! when they change.
//!
//! Invariant: when files cannot be used, perhaps because a renewal is half written, the previous
//! ones stay in use.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;
use rustls::server::{NoServerSessionStorage, ResolvesServerCert, WantsServerCert};
use rustls::sign::SingleCertAndKey;
use rustls::{ConfigBuilder, ServerConfig};
use sapwood_acme::{Certificates, Report, Summary};
use sapwood_core::{ErrorCode, SvnError, SvnResult, WrongSetting};
use sapwood_tls_client::{RenewedFiles, identity};
use tokio::task::AbortHandle;

use super::certificate::{ClientAuthorities, end_of, unusable};
use crate::common::state::ServerState;

/// Where the certificate comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CertificateSource {
    /// Files in PEM form.
    Files {
        /// The certificate and its intermediate certificates.
        certificate: PathBuf,
        /// Its private key, not encrypted.
        key: PathBuf,
    },
    /// An authority that speaks ACME.
    Acme(sapwood_acme::Settings),
}

/// The settings of https.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsSettings {
    /// Where the server's certificate comes from.
    pub source: CertificateSource,
    /// The authorities of client certificates, if clients are asked for one.
    pub clients: Option<ClientAuthorities>,
}

/// A certificate in use.
#[derive(Debug)]
pub(super) struct Tls {
    used: Mutex<TlsState>,
}

#[derive(Debug)]
struct TlsState {
    settings: TlsSettings,
    read: RenewedFiles<TlsFiles>,
    acme: Option<AcmeTask>,
}

/// What was read of the files.
#[derive(Clone, Debug)]
struct TlsFiles {
    config: Arc<ServerConfig>,
    /// When the first certificate of the chain expires, in seconds since 1970; none with ACME, which has several.
    end: Option<i64>,
}

/// Certificates by ACME, which a task orders and renews as long as this is there.
#[derive(Debug)]
struct AcmeTask {
    certificates: Arc<Certificates>,
    task: AbortHandle,
}

impl Drop for AcmeTask {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl TlsSettings {
    /// The files that are read.
    fn paths(&self) -> Vec<&Path> {
        let own: &[&Path] = match &self.source {
            CertificateSource::Files { certificate, key } => &[certificate, key],
            CertificateSource::Acme(_) => &[],
        };
        let clients = self.clients.iter().flat_map(ClientAuthorities::paths);
        own.iter().copied().chain(clients).collect()
    }

    /// What connections use, to be read again when files change. `acme` has the certificates where no file has.
    fn renewed(&self, acme: Option<&Arc<Certificates>>) -> SvnResult<RenewedFiles<TlsFiles>> {
        RenewedFiles::new(&self.paths(), || self.read(acme))
    }

    /// Checks whether they can be used. Nothing is written, and no authority is asked.
    ///
    /// # Errors
    /// What is wrong with them.
    pub fn check(&self) -> SvnResult<()> {
        match &self.source {
            CertificateSource::Files { .. } => self.read(None).map(drop),
            CertificateSource::Acme(acme) => {
                acme.check().map_err(unusable_acme)?;
                self.builder().map(drop)
            }
        }
    }

    /// What connections use. `acme` has the certificates where no file has.
    fn read(&self, acme: Option<&Arc<Certificates>>) -> SvnResult<TlsFiles> {
        let builder = self.builder()?;
        let (mut config, end) = match &self.source {
            CertificateSource::Files { certificate, key } => {
                let own = identity::read(certificate, key).map_err(|e| unusable(&e))?;
                let end = own.cert.iter().filter_map(end_of).min();
                (builder.with_cert_resolver(Arc::new(SingleCertAndKey::from(own))), end)
            }
            CertificateSource::Acme(settings) => {
                let acme = acme.ok_or_else(|| SvnError::internal("no certificates by ACME"))?;
                debug_assert_eq!(settings, acme.settings());
                let certificates: Arc<dyn ResolvesServerCert> = Arc::<Certificates>::clone(acme);
                (builder.with_cert_resolver(certificates), None)
            }
        };
        if self.clients.is_some() {
            // A client certificate is verified anew on each connection: it may have expired, or been
            // revoked.
            config.session_storage = Arc::new(NoServerSessionStorage {});
            config.send_tls13_tickets = 0;
        }
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(TlsFiles { config: Arc::new(config), end })
    }

    /// A configuration without the server's certificate.
    fn builder(&self) -> SvnResult<ConfigBuilder<ServerConfig, WantsServerCert>> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .map_err(|e| SvnError::new(ErrorCode::BAD_CONFIG_VALUE, e.to_string()))?;
        Ok(match &self.clients {
            None => builder.with_no_client_auth(),
            Some(clients) => builder.with_client_cert_verifier(clients.verifier(&provider)?),
        })
    }
}

impl TlsState {
    fn new(settings: TlsSettings, state: &ServerState, report: &Arc<Report>) -> SvnResult<Self> {
        let acme = match &settings.source {
            CertificateSource::Files { .. } => None,
            CertificateSource::Acme(acme) => {
                Some(Certificates::new(acme.clone()).map_err(unusable_acme)?)
            }
        };
        let read = settings.renewed(acme.as_ref())?;
        // The task begins when nothing can fail any more.
        let keep = |certificates: Arc<Certificates>| {
            let task = Arc::clone(&certificates).keep(Arc::clone(report));
            Ok::<_, SvnError>(AcmeTask { certificates, task: state.tasks.spawn(task)? })
        };
        Ok(Self { read, acme: acme.map(keep).transpose()?, settings })
    }
}

impl Tls {
    /// `report` gets what goes wrong with orders by ACME.
    ///
    /// # Errors
    /// When the settings cannot be used.
    pub(super) fn new(
        settings: TlsSettings,
        state: &ServerState,
        report: &Arc<Report>,
    ) -> SvnResult<Self> {
        Ok(Self { used: Mutex::new(TlsState::new(settings, state, report)?) })
    }

    /// Uses other settings from the next connection on. With the same authority and names, what was ordered stays, and an
    /// order that failed is made again.
    ///
    /// # Errors
    /// When they cannot be used; then the old ones stay.
    pub(super) fn renew(
        &self,
        settings: TlsSettings,
        state: &ServerState,
        report: &Arc<Report>,
    ) -> SvnResult<()> {
        let is_same = self.used.lock().settings.source == settings.source;
        let Some(certificates) = self.acme().filter(|_| is_same) else {
            let new = TlsState::new(settings, state, report)?;
            *self.used.lock() = new;
            return Ok(());
        };
        let read = settings.renewed(Some(&certificates))?;
        let mut used = self.used.lock();
        (used.settings, used.read) = (settings, read);
        certificates.look_now();
        Ok(())
    }

    /// How the certificates stand.
    pub(super) fn summary(&self) -> Summary {
        drop(self.config());
        let used = self.used.lock();
        let of_files = || Summary { end: used.read.last().end, failing: 0 };
        used.acme.as_ref().map_or_else(of_files, |keeping| keeping.certificates.summary())
    }

    /// The certificates by ACME, if there are such.
    pub(super) fn acme(&self) -> Option<Arc<Certificates>> {
        self.used.lock().acme.as_ref().map(|keeping| Arc::clone(&keeping.certificates))
    }

    /// The configuration for the next connection.
    pub(super) fn config(&self) -> Arc<ServerConfig> {
        let mut used = self.used.lock();
        let TlsState { settings, read, acme } = &mut *used;
        let acme = acme.as_ref().map(|keeping| &keeping.certificates);
        let read = read.now(&settings.paths(), || settings.read(acme));
        Arc::clone(&read.config)
    }
}

/// Settings of `[acme]` that cannot be used.
fn unusable_acme(wrong: WrongSetting) -> SvnError {
    SvnError::new(ErrorCode::BAD_CONFIG_VALUE, format!("acme: {wrong}"))
}
