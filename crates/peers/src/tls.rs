//! TLS between servers, where the configuration asks for it: each side shows a certificate, and the other checks it. The files are read
//! again when they change.
//!
//! Invariants: a connection is encrypted, or there is none; both certificates are of the authorities of one file, count now, and are
//! each for the server that the other side means. When files cannot be used, perhaps because a renewal is half written, what was read
//! before stays in use; at the start that is an error.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;
use rustls::client::verify_server_name;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::server::{NoServerSessionStorage, ParsedCertificate, WebPkiClientVerifier};
use rustls::sign::{CertifiedKey, SingleCertAndKey};
use rustls::{CertificateError, ClientConfig, RootCertStore, ServerConfig};
use sapwood_tls_client::RenewedFiles;
use tokio::net::TcpStream;
use tokio_rustls::{TlsAcceptor, TlsConnector};

use crate::error::{Error, Result};
use crate::stream::PeerStream;

/// The only version that is spoken: all servers are ours.
const VERSIONS: &[&rustls::SupportedProtocolVersion] = &[&rustls::version::TLS13];

/// The files of a configuration, in PEM form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsFiles {
    /// The certificate of this server, and those that lead to its authority.
    pub certificate: PathBuf,
    /// Its key, not encrypted.
    pub key: PathBuf,
    /// The authorities of all servers' certificates.
    pub authorities: PathBuf,
}

/// What was read of them.
#[derive(Clone, Debug)]
struct TlsConfigs {
    calls: Arc<ClientConfig>,
    answers: Arc<ServerConfig>,
}

/// The files in use.
#[derive(Debug)]
pub(crate) struct Tls {
    files: TlsFiles,
    /// The name that this server's certificate has to be for.
    host: String,
    used: Mutex<RenewedFiles<TlsConfigs>>,
}

impl TlsFiles {
    /// Checks whether they can be used by the server that others know by the name `host`.
    ///
    /// # Errors
    /// What is wrong with them, with the file, and the line where there is one.
    pub fn check(&self, host: &str) -> Result<()> {
        self.read(host).map(drop)
    }

    fn paths(&self) -> [&Path; 3] {
        [&self.certificate, &self.key, &self.authorities]
    }

    fn read(&self, host: &str) -> Result<TlsConfigs> {
        let own = sapwood_tls_client::identity::read(&self.certificate, &self.key)?;
        if let Err(why) = own.cert.first().map_or(Ok(()), |own| is_for(own, host)) {
            return Err(Error::Setting(format!("'{}': {why}", self.certificate.display())));
        }
        let mut roots = RootCertStore::empty();
        sapwood_tls_client::add_file(&mut roots, &self.authorities)?;
        let roots = Arc::new(roots);
        let calls = calls(&roots, &own).map_err(sapwood_tls_client::Error::from)?;
        Ok(TlsConfigs { calls: Arc::new(calls), answers: Arc::new(self.answers(roots, own)?) })
    }

    fn answers(&self, roots: Arc<RootCertStore>, own: Arc<CertifiedKey>) -> Result<ServerConfig> {
        let provider = sapwood_tls_client::provider();
        let verifier =
            WebPkiClientVerifier::builder_with_provider(roots, Arc::clone(&provider)).build();
        let unusable = |e| Error::Setting(format!("'{}': {e}", self.authorities.display()));
        let mut answers = ServerConfig::builder_with_provider(provider)
            .with_protocol_versions(VERSIONS)
            .map_err(sapwood_tls_client::Error::from)?
            .with_client_cert_verifier(verifier.map_err(unusable)?)
            .with_cert_resolver(Arc::new(SingleCertAndKey::from(own)));
        // A certificate is verified anew on each connection: it may have expired.
        answers.session_storage = Arc::new(NoServerSessionStorage {});
        answers.send_tls13_tickets = 0;
        Ok(answers)
    }
}

fn calls(
    roots: &Arc<RootCertStore>,
    own: &Arc<CertifiedKey>,
) -> Result<ClientConfig, rustls::Error> {
    let builder = ClientConfig::builder_with_provider(sapwood_tls_client::provider())
        .with_protocol_versions(VERSIONS)?;
    let shown = SingleCertAndKey::from(Arc::clone(own));
    let trusting = builder.with_root_certificates(Arc::clone(roots));
    Ok(trusting.with_client_cert_resolver(Arc::new(shown)))
}

impl Tls {
    /// # Errors
    /// As of [`TlsFiles::check`].
    pub(crate) fn new(files: TlsFiles, host: &str) -> Result<Self> {
        let used = Mutex::new(RenewedFiles::new(&files.paths(), || files.read(host))?);
        Ok(Self { used, files, host: host.to_owned() })
    }

    /// What the next connection uses.
    fn now(&self) -> TlsConfigs {
        let read = || self.files.read(&self.host);
        self.used.lock().now(&self.files.paths(), read).clone()
    }

    /// Encrypts a connection to the server whose certificate is for `host`.
    pub(crate) async fn connect(&self, host: &str, stream: TcpStream) -> io::Result<PeerStream> {
        let name = ServerName::try_from(host.to_owned()).map_err(io::Error::other)?;
        let tls = TlsConnector::from(self.now().calls).connect(name, stream).await?;
        Ok(PeerStream::Tls(Box::new(tls.into())))
    }

    /// Takes a connection of a server that shows a certificate of the authorities.
    pub(crate) async fn accept(&self, stream: TcpStream) -> io::Result<PeerStream> {
        let tls = TlsAcceptor::from(self.now().answers).accept(stream).await?;
        Ok(PeerStream::Tls(Box::new(tls.into())))
    }
}

/// Checks that the certificate that the other side has shown is for a name.
///
/// # Errors
/// A sentence.
pub(crate) fn shows(stream: &PeerStream, host: &str) -> Result<(), String> {
    let shown = stream.certificate().ok_or("it shows no certificate")?;
    is_for(&CertificateDer::from(shown), host)
}

fn is_for(certificate: &CertificateDer<'_>, host: &str) -> Result<(), String> {
    let refused = |e: rustls::Error| sentence(&e);
    let parsed = ParsedCertificate::try_from(certificate).map_err(refused)?;
    let name = ServerName::try_from(host).map_err(|e| format!("'{host}': {e}"))?;
    verify_server_name(&parsed, &name).map_err(refused)
}

/// What went wrong with TLS, if that is what an error of a connection is about.
pub(crate) fn why(error: &io::Error) -> Option<String> {
    error.get_ref()?.downcast_ref().map(sentence)
}

fn sentence(error: &rustls::Error) -> String {
    match error {
        rustls::Error::InvalidMessage(_) => "it does not speak TLS".to_owned(),
        rustls::Error::NoCertificatesPresented => "it shows no certificate".to_owned(),
        rustls::Error::InvalidCertificate(CertificateError::UnknownIssuer) => {
            "its certificate is of no known authority".to_owned()
        }
        rustls::Error::InvalidCertificate(why) => format!("its certificate is refused: {why}"),
        rustls::Error::AlertReceived(alert) => format!("it refuses this server: {alert:?}"),
        other => format!("TLS fails: {other}"),
    }
}
