//! https: rustls, with the decision about a server's certificate left to the user's settings.
//!
//! Everything that is wrong with a certificate is found, not only the first thing, because users
//! decide about all of it at once. Invariant: a handshake goes on only if nothing is left that was
//! not accepted; signatures are always checked.

use std::path::Path;
use std::sync::Arc;

use parking_lot::Mutex;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::verify_server_cert_signed_by_trust_anchor;
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error as TlsError, RootCertStore,
    SignatureScheme,
};
use sapwood_core::{ErrorCode, SvnError, SvnResult};
use sha1::{Digest as _, Sha1};
use x509_parser::prelude::{FromDer as _, GeneralName, X509Certificate};

use super::identity::Identity;
use super::options::Options;
use super::settings::ClientSettings;
use crate::auth::{Authenticator, Certificate, Failures};

/// The settings of connections to one server, why its certificate was refused, and the client
/// certificate.
#[derive(Debug)]
pub(super) struct Tls {
    pub(super) config: Arc<ClientConfig>,
    pub(super) name: ServerName<'static>,
    refused: Arc<Mutex<Option<SvnError>>>,
    identity: Arc<Identity>,
}

fn invalid(message: String) -> SvnError {
    SvnError::new(ErrorCode::RA_SERF_SSL_CERT_UNTRUSTED, message)
}

/// The authorities that are trusted: the system's, unless `ssl-trust-default-ca` says no, and those
/// of `ssl-authority-files`.
fn authorities(options: &Options) -> SvnResult<RootCertStore> {
    let mut roots = RootCertStore::empty();
    if options.default_authorities {
        sapwood_tls_client::add_system(&mut roots);
    }
    for file in &options.authority_files {
        sapwood_tls_client::add_file(&mut roots, Path::new(file)).map_err(|_| {
            let text = format!("Invalid config: unable to load certificate file '{file}'");
            SvnError::new(ErrorCode::BAD_CONFIG_VALUE, text)
        })?;
    }
    Ok(roots)
}

/// The TLS error that ended a connection, if one did, in the reference's words.
pub(super) fn failed(error: &std::io::Error) -> Option<SvnError> {
    let said = error.get_ref()?.downcast_ref::<TlsError>()?;
    let text = "Error running context: An error occurred during SSL communication";
    Some(SvnError::new(ErrorCode(120_171), format!("{text}: {said}")))
}

impl Tls {
    /// The settings for `host`; `realm` names the server in questions.
    pub(super) fn new(
        host: &str,
        realm: String,
        options: &Options,
        settings: &ClientSettings,
    ) -> SvnResult<Self> {
        let provider = sapwood_tls_client::provider();
        let refused = Arc::new(Mutex::new(None));
        let auth = Arc::clone(&settings.auth);
        let identity = Identity::new(Arc::clone(&provider), auth, host, &realm);
        let identity = Arc::new(identity);
        let resolver = Arc::clone(&identity);
        let verifier = Verifier {
            roots: authorities(options)?,
            provider: Arc::clone(&provider),
            auth: Arc::clone(&settings.auth),
            host: host.to_owned(),
            realm,
            refused: Arc::clone(&refused),
        };
        let config = sapwood_tls_client::builder()
            .map_err(|error| invalid(error.to_string()))?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(verifier))
            .with_client_cert_resolver(resolver);
        let name = ServerName::try_from(host.to_owned())
            .map_err(|_| invalid(format!("Invalid host name '{host}'")))?;
        Ok(Self { config: Arc::new(config), name, refused, identity })
    }

    /// Why a handshake failed: the decision about the certificate, or what the system says.
    pub(super) fn error(&self, error: &std::io::Error) -> SvnError {
        if let Some(refused) = self.refused.lock().take() {
            return refused;
        }
        self.explain(failed(error).unwrap_or_else(|| SvnError::io(error, "Error running context")))
    }

    /// An error of a connection, with its known cause: a server that got no client certificate
    /// reports little.
    pub(super) fn explain(&self, error: SvnError) -> SvnError {
        self.identity.failed().unwrap_or_else(|| self.identity.explain(error))
    }

    /// Checks whether a handshake counts as done.
    ///
    /// # Errors
    /// Errors of the search for a client certificate.
    pub(super) fn check(&self) -> SvnResult<()> {
        self.identity.failed().map_or(Ok(()), Err)
    }

    /// The server has responded: the credentials that were used may be stored.
    ///
    /// # Errors
    /// Errors of the prompt.
    pub(super) fn answered(&self) -> SvnResult<()> {
        self.identity.answered()
    }
}

/// Checks a certificate, and asks whether its faults are accepted.
#[derive(Debug)]
struct Verifier {
    roots: RootCertStore,
    provider: Arc<CryptoProvider>,
    auth: Arc<Authenticator>,
    host: String,
    realm: String,
    refused: Arc<Mutex<Option<SvnError>>>,
}

/// Whether a name of a certificate matches a host: `*` as its first part matches one part.
fn names_host(pattern: &str, host: &str) -> bool {
    if pattern.eq_ignore_ascii_case(host) {
        return true;
    }
    match (pattern.strip_prefix("*."), host.split_once('.')) {
        (Some(parent), Some((first, rest))) => {
            !first.is_empty() && parent.contains('.') && parent.eq_ignore_ascii_case(rest)
        }
        _ => false,
    }
}

/// Whether the certificate is for the host: by its alternative names, and only without any by its
/// common name.
fn is_for(certificate: &X509Certificate<'_>, host: &str) -> bool {
    let alternatives = certificate.subject_alternative_name().ok().flatten();
    if let Some(names) = alternatives.map(|extension| &extension.value.general_names) {
        return names.iter().any(|name| match name {
            GeneralName::DNSName(name) => names_host(name, host),
            GeneralName::IPAddress(bytes) => {
                host.parse::<std::net::IpAddr>().is_ok_and(|address| match address {
                    std::net::IpAddr::V4(address) => address.octets() == **bytes,
                    std::net::IpAddr::V6(address) => address.octets() == **bytes,
                })
            }
            _ => false,
        });
    }
    let mut common = certificate.subject().iter_common_name();
    common.any(|name| name.as_str().is_ok_and(|name| names_host(name, host)))
}

/// The certificate as it is shown to the user.
fn describe(certificate: &X509Certificate<'_>, der: &[u8]) -> Certificate {
    let text = |name: Option<&x509_parser::x509::AttributeTypeAndValue<'_>>| {
        name.and_then(|name| name.as_str().ok()).unwrap_or("").to_owned()
    };
    let date = |time: x509_parser::time::ASN1Time| time.to_rfc2822().unwrap_or_default();
    let digits: Vec<String> = Sha1::digest(der).iter().map(|byte| format!("{byte:02X}")).collect();
    let issuer = certificate.issuer();
    let parts = [
        text(issuer.iter_organizational_unit().next()),
        text(issuer.iter_organization().next()),
        text(issuer.iter_locality().next()),
        text(issuer.iter_state_or_province().next()),
        text(issuer.iter_country().next()),
        text(issuer.iter_email().next()).trim().to_owned(),
    ];
    let parts: Vec<&str> = parts.iter().map(String::as_str).filter(|p| !p.is_empty()).collect();
    Certificate {
        der: der.to_vec(),
        hostname: text(certificate.subject().iter_common_name().next()),
        valid_from: date(certificate.validity().not_before),
        valid_until: date(certificate.validity().not_after),
        issuer: parts.join(", "),
        fingerprint: digits.join(":"),
    }
}

impl Verifier {
    fn failures(
        &self,
        end: &CertificateDer<'_>,
        parsed: &X509Certificate<'_>,
        intermediates: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Failures {
        let mut failures = Failures::default();
        let seconds = sapwood_core::exact::signed(now.as_secs());
        if seconds < parsed.validity().not_before.timestamp() {
            failures |= Failures::NOT_YET_VALID;
        }
        if seconds > parsed.validity().not_after.timestamp() {
            failures |= Failures::EXPIRED;
        }
        if !is_for(parsed, &self.host) {
            failures |= Failures::NAME;
        }
        let Ok(certificate) = ParsedCertificate::try_from(end) else {
            return failures | Failures::OTHER;
        };
        let algorithms = self.provider.signature_verification_algorithms.all;
        // Checked at a time at which the certificate itself is valid: expiry is reported above, and
        // would hide everything else.
        let (first, last) = (parsed.validity().not_before, parsed.validity().not_after);
        let then = seconds.min(last.timestamp()).max(first.timestamp());
        let then = std::time::Duration::from_secs(u64::try_from(then).unwrap_or(0));
        let now = UnixTime::since_unix_epoch(then);
        let chain = verify_server_cert_signed_by_trust_anchor(
            &certificate,
            &self.roots,
            intermediates,
            now,
            algorithms,
        );
        match chain {
            Ok(()) => {}
            Err(TlsError::InvalidCertificate(error)) => match error {
                CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
                    failures |= Failures::EXPIRED;
                }
                CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
                    failures |= Failures::NOT_YET_VALID;
                }
                // A self-signed certificate counts as such an authority, whatever its key usage.
                CertificateError::UnknownIssuer => failures |= Failures::UNKNOWN_CA,
                _ if parsed.subject() == parsed.issuer() => failures |= Failures::UNKNOWN_CA,
                _ => failures |= Failures::OTHER,
            },
            Err(_) => failures |= Failures::OTHER,
        }
        failures
    }

    fn judge(
        &self,
        end: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> SvnResult<()> {
        let failed = "Server SSL certificate verification failed";
        let (_, parsed) = X509Certificate::from_der(end)
            .map_err(|_| invalid(format!("{failed}: it cannot be read")))?;
        let failures = self.failures(end, &parsed, intermediates, now);
        if failures.is_empty() {
            return Ok(());
        }
        let left = self.auth.judge(&self.realm, &self.host, failures, &describe(&parsed, end))?;
        if left.is_empty() {
            return Ok(());
        }
        let reasons: Vec<&str> = [
            (Failures::NOT_YET_VALID, "certificate is not yet valid"),
            (Failures::EXPIRED, "certificate has expired"),
            (Failures::NAME, "certificate issued for a different hostname"),
            (Failures::UNKNOWN_CA, "issuer is not trusted"),
            (Failures::OTHER, "and other reason(s)"),
        ]
        .into_iter()
        .filter(|(failure, _)| left.has(*failure))
        .map(|(_, reason)| reason)
        .collect();
        Err(invalid(format!("{failed}: {}", reasons.join(", "))))
    }
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, TlsError> {
        match self.judge(end, intermediates, now) {
            Ok(()) => Ok(ServerCertVerified::assertion()),
            Err(error) => {
                *self.refused.lock() = Some(error);
                Err(CertificateError::ApplicationVerificationFailure.into())
            }
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, TlsError> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, TlsError> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

#[cfg(test)]
mod tests {
    use super::names_host;

    #[test]
    fn names_of_hosts() {
        assert!(names_host("Svn.Example.com", "svn.example.com"));
        assert!(names_host("*.example.com", "svn.example.com"));
        for (pattern, host) in [
            ("*.example.com", "example.com"),
            ("*.example.com", "a.b.example.com"),
            ("*.com", "example.com"),
            ("svn.*.com", "svn.example.com"),
            ("example.com", "svn.example.com"),
            ("*", "localhost"),
        ] {
            assert!(!names_host(pattern, host), "{pattern} {host}");
        }
    }
}
