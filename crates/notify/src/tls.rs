//! The trust in the certificates of targets.

use std::path::Path;
use std::sync::Arc;

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use rustls::{ClientConfig, RootCertStore};

use crate::error::WrongSetting;

/// Trusts the authorities of a file in PEM form, or those of the system.
///
/// # Errors
/// A file that cannot be used.
pub(crate) fn config(authorities: Option<&Path>) -> Result<Arc<ClientConfig>, WrongSetting> {
    let mut roots = RootCertStore::empty();
    match authorities {
        // A certificate of the system that cannot be read is not trusted.
        None => {
            roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        }
        Some(file) => {
            let wrong =
                |why: String| WrongSetting::new("ca", format!("'{}': {why}", file.display()));
            for authority in
                CertificateDer::pem_file_iter(file).map_err(|e| wrong(e.to_string()))?
            {
                let authority = authority.map_err(|e| wrong(e.to_string()))?;
                roots.add(authority).map_err(|e| wrong(e.to_string()))?;
            }
            if roots.is_empty() {
                return Err(wrong("there is no certificate in it".to_owned()));
            }
        }
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|e| WrongSetting::new("ca", e))?;
    Ok(Arc::new(config.with_root_certificates(roots).with_no_client_auth()))
}
