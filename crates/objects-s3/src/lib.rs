//! Stores that speak the protocols of S3, of Azure's blob storage and of Google's cloud storage, by the crate `object_store`.
//!
//! The crate is there in every build; the store only with the feature `s3`, which release builds have: it brings some
//! dozen packages that nothing else needs. Without it [`Connection::open`] says so.
//!
//! Invariant: nothing outside of this crate knows of `object_store`, nor of the runtime that it needs.

mod address;
#[cfg(feature = "s3")]
mod s3;
#[cfg(not(feature = "s3"))]
mod without;

pub use address::{Address, Scheme};
#[cfg(feature = "s3")]
pub use s3::{Connection, Kind};
pub use sapwood_objects::OpenError;
#[cfg(not(feature = "s3"))]
pub use without::{Connection, Kind};

/// How a bucket is reached.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// Variables as other programs take them (`AWS_ACCESS_KEY_ID`, `AWS_ENDPOINT_URL`, `AZURE_STORAGE_ACCOUNT_NAME`,
    /// `GOOGLE_APPLICATION_CREDENTIALS`, ...), the later before the earlier. Names that are not known are left out.
    pub variables: Vec<(String, String)>,
}

impl Settings {
    /// The value of a variable that counts, if it is not empty.
    #[must_use]
    pub fn last(&self, name: &str) -> Option<&str> {
        let mut named = self.variables.iter().rev().filter(|(given, _)| given == name);
        named.next().map(|(_, value)| value.as_str()).filter(|value| !value.is_empty())
    }
}
