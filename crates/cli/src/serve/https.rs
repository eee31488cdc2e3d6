//! How https is served, by the command line and the configuration file together, and why it cannot be.

use sapwood_server::dav::{CertificateSource, TlsSettings};

use super::config;
use super::lines::Problem;
use super::options::Options;

/// The settings of https.
pub(super) fn tls_settings(options: &Options, file: &config::File) -> Option<TlsSettings> {
    let source = match (&file.acme, options.certificate.clone().zip(options.key.clone())) {
        (Some(acme), _) => CertificateSource::Acme(acme.settings()),
        (None, Some((certificate, key))) => CertificateSource::Files { certificate, key },
        (None, None) => return None,
    };
    Some(TlsSettings { source, clients: file.clients() })
}

/// The problem of certificates that are ordered, and cannot be.
pub(super) fn acme_problem(options: &Options, file: &config::File) -> Option<Problem> {
    let acme = file.acme.as_ref()?;
    if options.certificate.is_some() || options.key.is_some() {
        let why = "either '[acme]' or 'tls-certificate' and 'tls-key', not both";
        return Some(Problem::error("acme", why));
    }
    let is_asked = options.http_port.is_some() && !options.no_http;
    let why =
        "acme: 'challenge': http-01 needs 'http-port', which the authority reaches as port 80";
    (acme.needs_http() && !is_asked).then(|| Problem::error("acme.challenge", why))
}

/// The problem of https settings that cannot be used.
pub(super) fn tls_problem(options: &Options, file: &config::File) -> Option<Problem> {
    let asks = [
        ("tls-certificate", options.certificate.is_some()),
        ("tls-key", options.key.is_some()),
        ("https-port", options.https_port.is_some()),
        ("tls-client-ca", file.clients().is_some()),
    ];
    let (name, _) = asks.into_iter().find(|(_, is_set)| *is_set)?;
    let has_both = options.certificate.is_some() && options.key.is_some();
    let why = "https needs both 'tls-certificate' and 'tls-key', or '[acme]'";
    (!has_both && file.acme.is_none()).then(|| Problem::error(name, why))
}

/// The problem of a redirect to https when one of both ports is missing.
pub(super) fn redirect_problem(options: &Options, file: &config::File) -> Option<Problem> {
    let has_certificate = options.certificate.is_some() || file.acme.is_some();
    let speaks_https = has_certificate && options.https_port != Some(0);
    let has_both = speaks_https && options.http_port.is_some() && !options.no_http;
    let why = "'redirect-to-https' needs 'http-port', a certificate and a known 'https-port'";
    (file.redirect_to_https && !has_both).then(|| Problem::error("redirect-to-https", why))
}
