//! Which certificates of servers are trusted.

use std::path::Path;
use std::sync::Arc;

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use rustls::{ClientConfig, RootCertStore};

use crate::error::WrongSetting;

/// The settings of connections to servers for which the authorities in this file vouch; those of the system without one.
///
/// # Errors
/// If the file cannot be read, or has no certificate.
pub(crate) fn config(authorities: Option<&Path>) -> Result<Arc<ClientConfig>, WrongSetting> {
    let mut roots = RootCertStore::empty();
    match authorities {
        None => {
            roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        }
        Some(file) => {
            let unusable = |why: &dyn std::fmt::Display| {
                WrongSetting::new("ca", format!("'{}': {why}", file.display()))
            };
            let all = CertificateDer::pem_file_iter(file).map_err(|e| unusable(&e))?;
            for certificate in all {
                let certificate = certificate.map_err(|e| unusable(&e))?;
                roots.add(certificate).map_err(|e| unusable(&e))?;
            }
            if roots.is_empty() {
                return Err(unusable(&"there is no certificate in it"));
            }
        }
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|e| WrongSetting::new("servers", e.to_string()))?;
    Ok(Arc::new(builder.with_root_certificates(roots).with_no_client_auth()))
}
