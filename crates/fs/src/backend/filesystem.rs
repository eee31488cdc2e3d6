//! An opened filesystem, and the properties of its revisions.

use std::fmt::{Debug, Display};
use std::hash::Hash;
use std::path::Path;
use std::sync::Arc;

use sapwood_core::paths::SharedFsPath;
use sapwood_core::props::names::{AUTHOR, DATE};
use sapwood_core::{CancelToken, Depth, FsPath, Lock, PropList, Revnum};
use sapwood_delta::{TextDelta, Version};
use sapwood_fs_common::history::Nodes;
use sapwood_fsfs::read_ahead as hints;
use sapwood_store::{Caches, WriteStorage};

use super::{Bulk, Children, Contents, Directory, Node, Root, Txn, Writer};
use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::{ChangedPaths, FormatInfo, LogSpan, SpanEncoder};
use sapwood_fsfs::read_ahead::{LogNeeds, NodesWanted};
use sapwood_fsfs::txn::WriteOptions;

/// An opened filesystem. Clones share everything.
pub(crate) trait Backend: Nodes<Id: Eq + Hash + Display> {
    type Itself: Backend;
    type Root: Root<Fs = Self>;
    type Node: Node<Fs = Self>;
    type Directory: Directory<Fs = Self>;
    type Children: Children<Fs = Self>;
    type Contents: Contents;
    type Delta: TextDelta + Debug;
    type Revprops: Revprops<Fs = Self>;
    type DateAuthor: DateAuthor;
    type Writer: Writer<Fs = Self>;
    type Txn: Txn<Fs = Self>;
    type Bulk: Bulk<Fs = Self>;
    /// While it is there, nothing changes the filesystem.
    type Frozen: Debug;

    const ENGINE: Engine;

    fn caches(&self) -> (&Arc<Caches>, u32);
    fn storage(&self) -> &dyn WriteStorage;
    fn path(&self) -> &Path;
    fn format(&self) -> FormatInfo;
    fn oldest_minor_version(&self) -> u32;
    fn uuid(&self) -> Result<String>;
    fn youngest(&self) -> Result<Revnum>;
    fn min_unpacked_rev(&self) -> Result<Revnum>;
    fn changed_paths(&self, revision: Revnum) -> Result<Arc<ChangedPaths>>;
    fn revision_root(&self, revision: Revnum) -> Result<Self::Root>;
    fn txn_root(&self, name: &str) -> Result<Self::Root>;
    fn node_at(&self, path: &SharedFsPath, id: &Self::Id) -> Result<Self::Node>;
    fn revprops(&self) -> Self::Revprops;
    fn lock(&self, path: &FsPath) -> Result<Option<Lock>>;
    fn locks(&self, path: &FsPath, depth: Depth) -> Result<Vec<Lock>>;
    fn may_have_locks(&self) -> Result<bool>;
    fn transactions(&self) -> Result<Vec<String>>;
    fn txn_props(&self, name: &str) -> Result<PropList>;
    fn writer(&self, options: WriteOptions) -> Result<Self::Writer>;

    fn at_rest(&self) -> Self {
        self.clone()
    }

    fn opened_again(&self) -> Self {
        self.clone()
    }

    fn svndiff_asked_for(&self) -> Option<Version> {
        None
    }

    fn records_mergeinfo(&self) -> bool {
        true
    }

    fn require_mergeinfo(&self) -> Result<()> {
        Ok(())
    }

    fn sending_order(&self, _: &Self::Directory) -> Option<Vec<u32>> {
        None
    }

    fn verify_revision(&self, _: Revnum, _: &CancelToken) -> Result<()> {
        Ok(())
    }

    fn verify_metadata(
        &self,
        _range: (Option<Revnum>, Option<Revnum>),
        _threads: usize,
        cancel: &CancelToken,
        _progress: &mut dyn FnMut(Option<Revnum>),
    ) -> Result<()> {
        Ok(cancel.check()?)
    }

    fn cold_reads(&self) -> Option<hints::ColdReads> {
        None
    }

    fn novelty(&self) -> Option<hints::Novelty> {
        None
    }

    /// A handle of its own for a thread that reads ahead.
    fn for_helper(&self) -> Option<Self> {
        None
    }

    fn prefetch_revisions(
        &self,
        _range: (Revnum, Revnum),
        _wanted: LogNeeds,
        _encoder: Option<SpanEncoder>,
    ) -> Option<hints::Prefetch> {
        None
    }

    fn will_need_nodes(
        &self,
        _ids: &mut dyn Iterator<Item = Self::Id>,
        _wanted: NodesWanted,
        _revprops: Option<&mut Self::Revprops>,
    ) {
    }

    fn will_need_revision(&self, _: Revnum, _wanted: LogNeeds, _revprops: &mut Self::Revprops) {}
}

/// The properties of revisions, as one request sees them.
pub(crate) trait Revprops: Debug {
    type Fs: Backend<Revprops = Self>;

    fn get(&mut self, revision: Revnum) -> Result<Arc<PropList>>;
    fn date_author(&mut self, revision: Revnum) -> Result<<Self::Fs as Backend>::DateAuthor>;
    /// A number that no other state of the properties around a revision has; `None` while a change of them would not be
    /// noticed.
    fn version(&mut self, revision: Revnum) -> Result<Option<u64>>;
    /// The same as it is now, not as it was when the request began.
    fn version_now(&mut self, revision: Revnum) -> Result<Option<u64>> {
        self.version(revision)
    }

    fn will_need(&mut self, _: Revnum) {}

    fn make_entries(
        &mut self,
        _: &LogSpan,
        _youngest_first: bool,
        _wanted: LogNeeds,
        _encoder: &SpanEncoder,
    ) -> Result<Option<usize>> {
        Ok(None)
    }
}

/// Date and author of a revision.
pub(crate) trait DateAuthor: Clone + Debug {
    fn date(&self) -> Option<&[u8]>;
    fn author(&self) -> Option<&[u8]>;
}

impl DateAuthor for Arc<PropList> {
    fn date(&self) -> Option<&[u8]> {
        self.get(DATE)
    }

    fn author(&self) -> Option<&[u8]> {
        self.get(AUTHOR)
    }
}

impl DateAuthor for sapwood_fsfs::DateAuthor {
    fn date(&self) -> Option<&[u8]> {
        self.date()
    }

    fn author(&self) -> Option<&[u8]> {
        self.author()
    }
}

/// E200007: an engine has no such thing.
pub(crate) fn not_supported<T>(fs: &impl Backend) -> Result<T> {
    let message = format!(
        "Filesystem '{}' is of type '{}', for which this is not supported",
        fs.path().display(),
        engine_of(fs).name()
    );
    Err(Error::Svn(sapwood_core::SvnError::new(
        sapwood_core::ErrorCode::UNSUPPORTED_FEATURE,
        message,
    )))
}

const fn engine_of<B: Backend>(_: &B) -> Engine {
    B::ENGINE
}
