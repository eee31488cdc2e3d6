//! A revision that is made of a transaction and not there yet: what [`super::commit`] makes, and
//! [`super::group`] and [`super::bulk`] publish.

use std::collections::VecDeque;
use std::sync::Arc;

use sapwood_core::FsPath;
use sapwood_core::{PropList, Revnum};
use sapwood_fsfs_format::current::Current;
use sapwood_fsfs_format::{ChangeRef, Directory, NodeRev};

use super::engine::Change;
use crate::filesystem::UnpublishedFile;
use crate::revision_store::{NewRevision, StagedRevision};
use sapwood_fs_common::rep_cache::Row;

/// A revision that is not there yet.
#[derive(Debug)]
pub(super) struct PreparedRevision {
    pub(super) revision: Revnum,
    pub(super) props: PropList,
    /// What later revisions can share.
    pub(super) reps: Vec<Row>,
    /// What readers of the revision will want, to be cached.
    pub(super) written: VecDeque<WrittenNode>,
    /// What `current` says of it.
    pub(super) current: Current,
    /// What the store is given of it, and what the store made of that.
    pub(super) new: NewRevision,
    pub(super) staged: Option<StagedRevision>,
}

impl PreparedRevision {
    /// Where those who may see it already read it.
    pub(super) fn unpublished(&self) -> UnpublishedFile {
        match self.new.bytes.is_empty() {
            true => UnpublishedFile::File(self.new.spool.clone()),
            false => UnpublishedFile::Memory(Arc::clone(&self.new.bytes)),
        }
    }
}

/// A node that was written, for the cache.
#[derive(Debug)]
pub(super) struct WrittenNode {
    pub(super) node: NodeRev,
    pub(super) directory: Option<Directory>,
    pub(super) props: Option<PropList>,
}

/// A change as it is stored.
pub(super) fn line<'a>(path: &'a FsPath, change: &'a Change) -> ChangeRef<'a> {
    ChangeRef {
        id: change.id,
        kind: change.kind,
        node_kind: Some(change.node_kind),
        text_mod: change.text_mod,
        prop_mod: change.prop_mod,
        mergeinfo_mod: Some(change.mergeinfo_mod),
        path,
        copy_from: change.copy_from.as_ref().map(|(revision, path)| (*revision, path.as_path())),
    }
}
