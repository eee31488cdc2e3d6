//! Revision properties: plain files and packs, cached, with one cheap check a shard a request.

use std::sync::Arc;

use sapwood_core::{PropList, Revnum};

use crate::error::Result;
use crate::filesystem::Filesystem;

/// Reads revision properties for one request: each shard is checked for changes by other programs
/// when it is first touched, and trusted for the rest of the request. Make a new one for each
/// request; never keep one for long.
#[derive(Debug)]
pub struct RevpropsSnapshot {}

#[allow(clippy::missing_errors_doc, unused_variables)]
impl RevpropsSnapshot {
    /// The properties of `revision`.
    pub fn get(&mut self, revision: Revnum) -> Result<Arc<PropList>> {
        todo!()
    }
}

#[allow(clippy::missing_errors_doc, unused_variables)]
impl Filesystem {
    /// A reader of revision properties for one request.
    #[must_use]
    pub fn revprops_snapshot(&self) -> RevpropsSnapshot {
        todo!()
    }

    /// The properties of a revision, as they are now (a change by another program is seen).
    pub fn revprops(&self, revision: Revnum) -> Result<Arc<PropList>> {
        self.revprops_snapshot().get(revision)
    }
}
