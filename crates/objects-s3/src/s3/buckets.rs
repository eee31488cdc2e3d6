//! A bucket of each kind, made of variables as other programs take them.
//!
//! Invariant: nothing but this file knows which kinds there are; all of them have the same promises.

use std::str::FromStr as _;
use std::sync::Arc;

use object_store::aws::{AmazonS3, AmazonS3Builder, AmazonS3ConfigKey};
use object_store::azure::{AzureConfigKey, MicrosoftAzure, MicrosoftAzureBuilder};
use object_store::gcp::{GoogleCloudStorage, GoogleCloudStorageBuilder, GoogleConfigKey};
use object_store::list::PaginatedListStore;
use object_store::{ObjectStore, RetryConfig};
use sapwood_objects::Reason;

use super::transport::Transport;
use crate::Settings;
use crate::address::Scheme;

/// Variables that say where a bucket is, the more special first, by kind.
const ENDPOINTS: [(Scheme, &[&str]); 3] = [
    (Scheme::S3, &["AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"]),
    (Scheme::Azure, &["AZURE_STORAGE_ENDPOINT"]),
    (Scheme::Google, &["GOOGLE_BASE_URL", "STORAGE_EMULATOR_HOST"]),
];
/// Names that other programs have for variables, and those that the library takes.
const OTHER_NAMES: [(&str, &str); 4] = [
    ("AZURE_STORAGE_ACCOUNT", "azure_storage_account_name"),
    ("AZURE_STORAGE_KEY", "azure_storage_account_key"),
    ("IDENTITY_ENDPOINT", "azure_identity_endpoint"),
    ("STORAGE_EMULATOR_HOST", "google_base_url"),
];

/// What a bucket can do.
pub(super) trait Bucket: ObjectStore + PaginatedListStore {}

impl Bucket for AmazonS3 {}
impl Bucket for MicrosoftAzure {}
impl Bucket for GoogleCloudStorage {}

/// A variable's name as the library takes it.
fn name_of(name: &str) -> String {
    let other = OTHER_NAMES.iter().find(|(other, _)| *other == name);
    other.map_or_else(|| name.to_ascii_lowercase(), |(_, name)| (*name).to_owned())
}

/// Whether a bucket is at a place without TLS: the user's own wish.
fn is_plain(scheme: Scheme, settings: &Settings) -> bool {
    let names = ENDPOINTS.iter().find(|(of, _)| *of == scheme).map_or(&[][..], |(_, names)| names);
    let last = names.iter().find_map(|name| settings.last(name));
    last.is_some_and(|endpoint| endpoint.starts_with("http://"))
}

/// Opens a bucket of a kind, whose requests are repeated so.
pub(super) fn open(
    scheme: Scheme,
    name: &str,
    settings: &Settings,
    transport: &Transport,
    retry: RetryConfig,
) -> Result<Arc<dyn Bucket>, Reason> {
    let plain = is_plain(scheme, settings);
    // Variables that a kind does not know are for other programs.
    let variables = settings.variables.iter().map(|(name, value)| (name_of(name), value));
    match scheme {
        Scheme::S3 => {
            let mut builder = AmazonS3Builder::new();
            for (name, value) in variables {
                if let Ok(key) = AmazonS3ConfigKey::from_str(&name) {
                    builder = builder.with_config(key, value);
                }
            }
            let builder = builder.with_bucket_name(name).with_retry(retry);
            let builder = if plain { builder.with_allow_http(true) } else { builder };
            Ok(Arc::new(builder.with_http_connector(transport.clone()).build()?))
        }
        Scheme::Azure => {
            let mut builder = MicrosoftAzureBuilder::new();
            for (name, value) in variables.filter(|(name, _)| name.starts_with("azure_")) {
                if let Ok(key) = AzureConfigKey::from_str(&name) {
                    builder = builder.with_config(key, value);
                }
            }
            let builder = builder.with_container_name(name).with_retry(retry);
            let builder = if plain { builder.with_allow_http(true) } else { builder };
            Ok(Arc::new(builder.with_http_connector(transport.clone()).build()?))
        }
        Scheme::Google => {
            let mut builder = GoogleCloudStorageBuilder::new();
            for (name, value) in variables.filter(|(name, _)| name.starts_with("google_")) {
                if let Ok(key) = GoogleConfigKey::from_str(&name) {
                    builder = builder.with_config(key, value);
                }
            }
            let builder = builder.with_bucket_name(name).with_retry(retry);
            let builder = match plain {
                true => {
                    builder.with_config(GoogleConfigKey::from_str("google_allow_http")?, "true")
                }
                false => builder,
            };
            Ok(Arc::new(builder.with_http_connector(transport.clone()).build()?))
        }
    }
}
