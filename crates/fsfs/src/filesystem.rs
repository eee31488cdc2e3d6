//! One opened filesystem: format, `current`, revision properties, transactions.

use std::path::Path;
use std::sync::Arc;

use sapwood_core::{PropList, Revnum};

use crate::caches::Caches;
use crate::changes::ChangedPaths;
use crate::error::Result;
use crate::root::Root;
use crate::storage::Storage;

/// How to open a filesystem.
#[derive(Clone, Debug, Default)]
pub struct OpenOptions {
    /// Where files are read from; `None` is the local file system.
    pub storage: Option<Arc<dyn Storage>>,
}

/// What the `format` file says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FormatInfo {
    /// The format number, 1 to 8.
    pub number: u32,
    /// Revisions a shard, `None` for the linear layout.
    pub shard_size: Option<u64>,
    /// Whether items are addressed logically, through the indexes.
    pub logical_addressing: bool,
}

/// One opened `db` folder. Clones share everything.
#[derive(Clone, Debug)]
pub struct Filesystem {}

#[allow(clippy::missing_errors_doc, unused_variables)]
impl Filesystem {
    /// Opens `db` (the `db` folder of a repository).
    pub fn open(db: &Path, caches: &Arc<Caches>, options: &OpenOptions) -> Result<Self> {
        todo!()
    }

    /// The folder.
    #[must_use]
    pub fn path(&self) -> &Path {
        todo!()
    }

    /// What the `format` file says.
    #[must_use]
    pub fn format(&self) -> FormatInfo {
        todo!()
    }

    /// The instance id, which is not shared with copies of the repository (format 7 and newer;
    /// the UUID before).
    pub fn instance_id(&self) -> Result<String> {
        todo!()
    }

    /// Says that revisions `from` to `to` are about to be read, in this order. A hint: it may
    /// start reading ahead, and never fails.
    pub fn prefetch_revisions(&self, from: Revnum, to: Revnum) {
        let _ = (from, to);
    }

    /// The repository's UUID.
    pub fn uuid(&self) -> Result<String> {
        todo!()
    }

    /// The youngest revision, read anew from `current`.
    pub fn youngest(&self) -> Result<Revnum> {
        todo!()
    }

    /// The first revision that is not packed.
    pub fn min_unpacked_rev(&self) -> Result<Revnum> {
        todo!()
    }

    /// The tree of a revision; E160006 when there is no such revision.
    pub fn revision_root(&self, revision: Revnum) -> Result<Root> {
        todo!()
    }

    /// The tree of a transaction; E160007 when there is none of that name.
    pub fn txn_root(&self, name: &str) -> Result<Root> {
        todo!()
    }

    /// The names of all transactions, sorted.
    pub fn transactions(&self) -> Result<Vec<String>> {
        todo!()
    }

    /// The properties of a transaction.
    pub fn txn_props(&self, name: &str) -> Result<PropList> {
        todo!()
    }

    /// The paths a revision changed, folded: one entry a path.
    pub fn changed_paths(&self, revision: Revnum) -> Result<Arc<ChangedPaths>> {
        todo!()
    }

    /// The youngest revision whose date is not after `date` (microseconds since 1970), by the
    /// reference's binary search over `svn:date`.
    pub fn dated_revision(&self, date: i64) -> Result<Revnum> {
        todo!()
    }
}
