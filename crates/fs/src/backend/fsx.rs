//! FSX as an engine.

use std::path::Path;
use std::sync::Arc;

use sapwood_core::paths::{FsPathBuf, SharedFsPath};
use sapwood_core::{
    CancelToken, Depth, FsPath, Lock, Md5, NodeKind, PropList, Revnum, Sha1, SvnError,
};
use sapwood_fs_common::TxnEdit as _;
use sapwood_fs_common::history::{History, Nodes};
use sapwood_fsx::txn as fsx;
use sapwood_store::{Caches, WriteStorage};

use super::tree::{Entry, NodeOf};
use super::{
    Admin, Backend, Bulk, Children, Contents, Directory, Node, Revprops, Root, Txn, Writer, common,
};
use crate::callbacks::ChangeProps;
use crate::changes;
use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::locks::{LockOptions, LockOutcome, LockTarget, UnlockTarget};
use crate::{ChangedPaths, FormatInfo, Relation};
use sapwood_fsfs::hotcopy::HotcopyOptions;
use sapwood_fsfs::maintenance::MaintenanceOptions;
use sapwood_fsfs::pack::{PackNotice, PackOptions};
use sapwood_fsfs::txn::{KnownText, NewRevision, WriteOptions};

type Fs = sapwood_fsx::Filesystem;

impl Backend for Fs {
    type Itself = Self;
    type Root = sapwood_fsx::Root;
    type Node = sapwood_fsx::Node;
    type Directory = Arc<sapwood_fsx::Directory>;
    type Children = Arc<sapwood_fsx::Directory>;
    type Contents = sapwood_fsx::Contents;
    type Delta = sapwood_fsx::ContentsDelta;
    type Revprops = RevpropsView;
    type DateAuthor = Arc<PropList>;
    type Writer = Arc<fsx::Writer>;
    type Txn = fsx::Txn;
    type Bulk = fsx::Bulk;
    type Frozen = fsx::Frozen;

    const ENGINE: Engine = Engine::Fsx;

    common::filesystem!();

    fn format(&self) -> FormatInfo {
        FormatInfo {
            number: self.format(),
            shard_size: Some(self.shard_size()),
            logical_addressing: true,
        }
    }

    fn oldest_minor_version(&self) -> u32 {
        sapwood_fsx::OLDEST_MINOR_VERSION
    }

    fn uuid(&self) -> Result<String> {
        Ok(self.uuid().to_owned())
    }

    fn changed_paths(&self, revision: Revnum) -> Result<Arc<ChangedPaths>> {
        changes::of_fsx(&self.changes(revision)?).map(Arc::new)
    }

    fn node_at(&self, path: &SharedFsPath, id: &<Self as Nodes>::Id) -> Result<Self::Node> {
        Ok(self.node_at(path, *id)?)
    }

    fn revprops(&self) -> RevpropsView {
        RevpropsView { fs: self.clone(), generation: None }
    }

    fn writer(&self, options: WriteOptions) -> Result<Self::Writer> {
        let WriteOptions { flush_to_disk, numbers_at_once, .. } = options;
        Ok(fsx::Writer::new(self, fsx::WriteOptions { flush_to_disk, numbers_at_once })?)
    }

    fn verify_revision(&self, revision: Revnum, _: &CancelToken) -> Result<()> {
        Ok(self.verify_revision(revision)?)
    }

    fn verify_metadata(
        &self,
        (start, end): (Option<Revnum>, Option<Revnum>),
        _threads: usize,
        cancel: &CancelToken,
        progress: &mut dyn FnMut(Option<Revnum>),
    ) -> Result<()> {
        let mut step = |revision| -> sapwood_fsx::Result<()> {
            cancel.check()?;
            progress(revision);
            Ok(())
        };
        Ok(self.verify_metadata(start, end, &mut step)?)
    }
}

impl Directory for Arc<sapwood_fsx::Directory> {
    type Fs = Fs;

    common::directory!();
}

impl Root for sapwood_fsx::Root {
    type Fs = Fs;

    common::root!();

    fn changed_paths(&self) -> Result<Arc<ChangedPaths>> {
        match self.txn_name() {
            Some(name) => changes::of_fsx(&self.fs().txn_changes(name)?).map(Arc::new),
            None => Backend::changed_paths(self.fs(), self.base_revision()),
        }
    }

    fn upwards(&self, path: &FsPath) -> Result<Vec<NodeOf<Self>>> {
        Ok(self.upwards(path)?)
    }
}

impl Node for sapwood_fsx::Node {
    type Fs = Fs;

    common::node!();

    fn relation(&self, other: &Self) -> Relation {
        if self.id() == other.id() {
            Relation::Unchanged
        } else if self.is_related(other) {
            Relation::Common
        } else {
            Relation::Unrelated
        }
    }

    fn same_line(&self, other: &Self) -> bool {
        self.same_line(other)
    }

    fn children(&self) -> Result<Arc<sapwood_fsx::Directory>> {
        Ok(self.entries()?)
    }

    fn child_at(&self, name: &str, id: &sapwood_fsx::Id) -> Result<Self> {
        Ok(self.child_at(name, *id)?)
    }

    fn entry_of_wrong_kind(&self, cancel: &CancelToken) -> Result<Option<(String, NodeKind)>> {
        Ok(self.entry_of_wrong_kind(cancel)?)
    }
}

impl Children for Arc<sapwood_fsx::Directory> {
    type Fs = Fs;

    fn entries(&self) -> Self {
        Self::clone(self)
    }
}

impl Contents for sapwood_fsx::Contents {
    common::contents!();
}

/// The properties as a request sees them: those of one state, in which the caches know them, or newer ones.
#[derive(Debug)]
pub(crate) struct RevpropsView {
    fs: Fs,
    /// The state when the first was read; `None` inside while they were being changed.
    generation: Option<Option<u64>>,
}

impl RevpropsView {
    fn generation(&mut self) -> Option<u64> {
        *self.generation.get_or_insert_with(|| self.fs.revprop_generation())
    }
}

impl Revprops for RevpropsView {
    type Fs = Fs;

    fn get(&mut self, revision: Revnum) -> Result<Arc<PropList>> {
        self.fs.ensure_exists(revision)?;
        Ok(match self.generation() {
            Some(generation) => self.fs.revprops_since(revision, generation)?,
            None => Arc::new(self.fs.revprops(revision)?),
        })
    }

    fn date_author(&mut self, revision: Revnum) -> Result<Arc<PropList>> {
        self.get(revision)
    }

    fn version(&mut self, _: Revnum) -> Result<Option<u64>> {
        Ok(self.generation())
    }

    fn version_now(&mut self, _: Revnum) -> Result<Option<u64>> {
        Ok(self.fs.revprop_generation())
    }
}

impl Writer for Arc<fsx::Writer> {
    type Fs = Fs;

    common::writer!();

    fn begin(&self, base: Revnum) -> Result<fsx::Txn> {
        Ok(fsx::Writer::begin(self, base)?)
    }

    fn open_txn(&self, name: &str) -> Result<fsx::Txn> {
        Ok(fsx::Writer::open_txn(self, name)?)
    }

    fn bulk(&self) -> Result<Option<fsx::Bulk>> {
        Ok(fsx::Bulk::new(self))
    }
}

impl Txn for fsx::Txn {
    type Fs = Fs;

    common::txn!();

    fn copy(
        &mut self,
        (from, from_path): (&sapwood_fsx::Root, &FsPath),
        path: &FsPath,
        history: bool,
    ) -> Result<()> {
        let revision = from
            .revision()
            .ok_or_else(|| Error::Svn(SvnError::internal("a copy from a transaction")))?;
        Ok(self.copy((revision, from_path), path, history)?)
    }

    fn set_text_of(
        &mut self,
        path: &FsPath,
        text: &mut dyn std::io::Read,
        known: Option<&KnownText>,
        expected: Option<Md5>,
    ) -> Result<()> {
        let known = known.map(|known| (known.md5, known.sha1));
        Ok(self.set_known_text(path, text, known.as_ref(), expected)?)
    }

    fn commit_for_props(self) -> Result<NewRevision> {
        let fsx::NewRevision { revision, props } = self.commit_for_props()?;
        Ok(NewRevision { revision, props })
    }
}

impl Bulk for fsx::Bulk {
    type Fs = Fs;

    common::bulk!();
}

impl Admin for Fs {
    fn freeze(&self) -> Result<Self::Frozen> {
        Ok(fsx::Writer::new(self, fsx::WriteOptions::default())?.freeze()?)
    }

    fn hotcopy(
        &self,
        to: &Path,
        options: &HotcopyOptions,
        cancel: &CancelToken,
        notify: &mut dyn FnMut(Revnum, Revnum) -> Result<()>,
    ) -> Result<()> {
        Ok(self.hotcopy(to, options, cancel, &mut |first, last| Ok(notify(first, last)?))?)
    }

    fn pack(
        &self,
        options: &PackOptions,
        cancel: &CancelToken,
        notify: &mut dyn FnMut(PackNotice) -> Result<()>,
    ) -> Result<()> {
        let mut notify = |notice| {
            Ok(notify(match notice {
                sapwood_fsx::pack::PackNotice::Start(shard) => PackNotice::Start(shard),
                sapwood_fsx::pack::PackNotice::End(shard) => PackNotice::End(shard),
            })?)
        };
        Ok(self.pack(options.flush_to_disk, cancel, &mut notify)?)
    }

    fn recover(&self, options: &MaintenanceOptions, _: &CancelToken) -> Result<()> {
        let flush_to_disk = options.flush_to_disk;
        let options = fsx::WriteOptions { flush_to_disk, ..fsx::WriteOptions::default() };
        Ok(fsx::Writer::new(self, options)?.recover()?)
    }

    fn build_rep_cache(
        &self,
        (first, last): (Revnum, Revnum),
        cancel: &CancelToken,
        progress: &mut dyn FnMut(Revnum) -> Result<()>,
    ) -> Result<()> {
        let writer = fsx::Writer::new(self, fsx::WriteOptions::default())?;
        let mut progress = |revision| Ok(progress(revision)?);
        Ok(writer.build_rep_cache(first, last, cancel, &mut progress)?)
    }
}
