//! FSFS as an engine.

use std::path::Path;
use std::sync::Arc;

use sapwood_core::paths::{FsPathBuf, SharedFsPath};
use sapwood_core::{
    CancelToken, Depth, FsPath, Lock, Md5, NodeKind, PropList, Revnum, Sha1, SvnError, SvnResult,
};
use sapwood_delta::Version;
use sapwood_fs_common::TxnEdit as _;
use sapwood_fs_common::history::{History, Nodes};
use sapwood_fsfs::read_ahead as hints;
use sapwood_fsfs::txn as fsfs;
use sapwood_store::{Caches, WriteStorage};

use super::tree::{Entry, NodeOf};
use super::{
    Admin, Backend, Bulk, Children, Contents, Directory, Node, Revprops, Root, Txn, Writer, common,
};
use crate::callbacks::ChangeProps;
use crate::callbacks::ReadProps;
use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::locks::{LockOptions, LockOutcome, LockTarget, UnlockTarget};
use crate::{ChangedPaths, FormatInfo, LogSpan, Relation, SpanEncoder};
use sapwood_fsfs::hotcopy::HotcopyOptions;
use sapwood_fsfs::maintenance::MaintenanceOptions;
use sapwood_fsfs::pack::{PackNotice, PackOptions};
use sapwood_fsfs::read_ahead::{LogNeeds, NodesWanted};
use sapwood_fsfs::txn::{DeltaAhead, KnownText, NewRevision, WriteOptions};
use sapwood_fsfs::upgrade::UpgradeNotice;

type Fs = sapwood_fsfs::Filesystem;

impl Backend for Fs {
    type Itself = Self;
    type Root = sapwood_fsfs::Root;
    type Node = sapwood_fsfs::Node;
    type Directory = Arc<sapwood_fsfs::Directory>;
    type Children = sapwood_fsfs::Children;
    type Contents = sapwood_fsfs::Contents;
    type Delta = sapwood_fsfs::ContentsDelta;
    type Revprops = sapwood_fsfs::RevpropsSnapshot;
    type DateAuthor = sapwood_fsfs::DateAuthor;
    type Writer = Arc<fsfs::Writer>;
    type Txn = fsfs::Txn;
    type Bulk = fsfs::Bulk;
    type Frozen = sapwood_fsfs::maintenance::Frozen;

    const ENGINE: Engine = Engine::Fsfs;

    common::filesystem!();

    common::hand_on! {
        plain:
        fn format(&self) -> FormatInfo;
        fn oldest_minor_version(&self) -> u32;
        fn at_rest(&self) -> Self;
        fn opened_again(&self) -> Self;
        fn svndiff_asked_for(&self) -> Option<Version>;
        fn records_mergeinfo(&self) -> bool;
        fn sending_order(&self, entries: &Self::Directory) -> Option<Vec<u32>>;
        failing:
        fn uuid(&self) -> String;
        fn changed_paths(&self, revision: Revnum) -> Arc<ChangedPaths>;
        fn node_at(&self, path: &SharedFsPath, id: &<Self as Nodes>::Id) -> Self::Node;
        fn require_mergeinfo(&self) -> ();
        fn verify_revision(&self, revision: Revnum, cancel: &CancelToken) -> ();
        changing:
    }

    fn revprops(&self) -> Self::Revprops {
        self.revprops_snapshot()
    }

    fn writer(&self, options: WriteOptions) -> Result<Self::Writer> {
        Ok(fsfs::Writer::new(self, options)?)
    }

    fn verify_metadata(
        &self,
        (start, end): (Option<Revnum>, Option<Revnum>),
        threads: usize,
        cancel: &CancelToken,
        progress: &mut dyn FnMut(Option<Revnum>),
    ) -> Result<()> {
        Ok(self.verify_metadata(start, end, threads, cancel, progress)?)
    }

    fn cold_reads(&self) -> Option<hints::ColdReads> {
        Some(hints::ColdReads::new(self))
    }

    fn novelty(&self) -> Option<hints::Novelty> {
        Some(hints::Novelty::new(self))
    }

    fn for_helper(&self) -> Option<Self> {
        Some(self.for_helper())
    }

    fn prefetch_revisions(
        &self,
        (from, to): (Revnum, Revnum),
        wanted: LogNeeds,
        encoder: Option<SpanEncoder>,
    ) -> Option<hints::Prefetch> {
        Some(self.prefetch_revisions(from, to, wanted, encoder))
    }

    fn will_need_nodes(
        &self,
        ids: &mut dyn Iterator<Item = Self::Id>,
        wanted: NodesWanted,
        revprops: Option<&mut Self::Revprops>,
    ) {
        let ids: Vec<_> = ids.collect();
        self.will_need_nodes(&ids, wanted, revprops);
    }

    fn will_need_revision(
        &self,
        revision: Revnum,
        wanted: LogNeeds,
        revprops: &mut Self::Revprops,
    ) {
        self.will_need_revision(revision, wanted, revprops);
    }
}

impl Directory for Arc<sapwood_fsfs::Directory> {
    type Fs = Fs;

    common::directory!();
}

impl Root for sapwood_fsfs::Root {
    type Fs = Fs;

    common::root!();

    fn rest(&self) {
        self.rest();
    }

    fn changed_paths(&self) -> Result<Arc<ChangedPaths>> {
        Ok(self.changed_paths()?)
    }

    fn nearest_mergeinfo(&self, path: &FsPath, parents_only: bool) -> Result<Option<NodeOf<Self>>> {
        Ok(self.nearest_mergeinfo(path, parents_only)?)
    }

    fn parents(
        &self,
        path: &FsPath,
        each: &mut dyn FnMut(&FsPath, ReadProps<'_>) -> Result<()>,
    ) -> Result<()> {
        Ok(self.parents(path, &mut |path, read| Ok(each(path, &|| read().map_err(Error::from))?))?)
    }

    fn mergeinfo_below(
        &self,
        path: &FsPath,
        cancel: &CancelToken,
        found: &mut dyn FnMut(&FsPath, &[u8]) -> Result<()>,
    ) -> Result<()> {
        Ok(self.mergeinfo_below(path, cancel, &mut |path, value| Ok(found(path, value)?))?)
    }
}

impl Node for sapwood_fsfs::Node {
    type Fs = Fs;

    common::node!();

    common::hand_on! {
        plain:
        fn by_way_of(&self, fs: &Fs) -> Self;
        fn relation(&self, other: &Self) -> Relation;
        failing:
        fn children(&self) -> sapwood_fsfs::Children;
        fn props_differ(&self, other: &Self) -> bool;
        fn entry_of_wrong_kind(&self, cancel: &CancelToken) -> Option<(String, NodeKind)>;
        changing:
    }

    fn same_line(&self, other: &Self) -> bool {
        self.id().same_line(&other.id())
    }

    fn child_at(&self, name: &str, id: &sapwood_fsfs::NodeRevId) -> Result<Self> {
        let entry = sapwood_fsfs::DirEntry { name, kind: NodeKind::File, id: *id };
        Ok(self.child_of(&entry)?)
    }

    fn encode_ahead(&self, newest: Version) -> SvnResult<u64> {
        self.encode_ahead(newest)
    }
}

impl Children for sapwood_fsfs::Children {
    type Fs = Fs;

    fn entries(&self) -> Arc<sapwood_fsfs::Directory> {
        Arc::clone(self.entries())
    }

    fn node(&mut self, dir: &sapwood_fsfs::Node, at: usize) -> Result<sapwood_fsfs::Node> {
        Ok(self.node(dir, at)?)
    }
}

impl Contents for sapwood_fsfs::Contents {
    common::contents!();

    fn with_sum_aside(self) -> Self {
        self.with_sum_aside()
    }
}

impl Revprops for sapwood_fsfs::RevpropsSnapshot {
    type Fs = Fs;

    common::hand_on! {
        plain:
        failing:
        changing:
        fn get(&mut self, revision: Revnum) -> Arc<PropList>;
        fn date_author(&mut self, revision: Revnum) -> sapwood_fsfs::DateAuthor;
        fn version(&mut self, revision: Revnum) -> Option<u64>;
        fn make_entries(
            &mut self,
            span: &LogSpan,
            youngest_first: bool,
            wanted: LogNeeds,
            encoder: &SpanEncoder
        ) -> Option<usize>;
    }

    fn will_need(&mut self, revision: Revnum) {
        self.will_need(revision);
    }
}

impl Writer for Arc<fsfs::Writer> {
    type Fs = Fs;

    common::writer!();

    fn begin(&self, base: Revnum) -> Result<fsfs::Txn> {
        Ok(fsfs::Writer::begin(self, base)?)
    }

    fn open_txn(&self, name: &str) -> Result<fsfs::Txn> {
        Ok(fsfs::Writer::open_txn(self, name)?)
    }

    fn bulk(&self) -> Result<Option<fsfs::Bulk>> {
        Ok(fsfs::Bulk::new(self)?)
    }

    fn flush_reps(&self) {
        (**self).flush_reps();
    }

    fn delta_ahead(&self, path: Option<&FsPath>, text: &[u8]) -> Option<DeltaAhead> {
        (**self).delta_ahead(path, text)
    }
}

impl Txn for fsfs::Txn {
    type Fs = Fs;

    common::txn!();

    fn copy(
        &mut self,
        (from, from_path): (&sapwood_fsfs::Root, &FsPath),
        path: &FsPath,
        history: bool,
    ) -> Result<()> {
        Ok(self.copy(from, from_path, path, history)?)
    }

    fn set_text_of(
        &mut self,
        path: &FsPath,
        text: &mut dyn std::io::Read,
        known: Option<&KnownText>,
        expected: Option<Md5>,
    ) -> Result<()> {
        Ok(self.set_known_text(path, text, known, expected)?)
    }

    fn commit_for_props(self) -> Result<NewRevision> {
        Ok(self.commit_for_props()?)
    }
}

impl Bulk for fsfs::Bulk {
    type Fs = Fs;

    common::bulk!();
}

impl Admin for Fs {
    fn freeze(&self) -> Result<Self::Frozen> {
        Ok(self.freeze()?)
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
        Ok(self.pack(options, cancel, &mut |notice| Ok(notify(notice)?))?)
    }

    fn upgrade(
        &self,
        options: &MaintenanceOptions,
        cancel: &CancelToken,
        notify: &mut dyn FnMut(UpgradeNotice) -> Result<()>,
    ) -> Result<()> {
        Ok(self.upgrade(options, cancel, &mut |notice| Ok(notify(notice)?))?)
    }

    fn recover(&self, options: &MaintenanceOptions, cancel: &CancelToken) -> Result<()> {
        Ok(self.recover(options, cancel)?)
    }

    fn build_rep_cache(
        &self,
        (first, last): (Revnum, Revnum),
        cancel: &CancelToken,
        progress: &mut dyn FnMut(Revnum) -> Result<()>,
    ) -> Result<()> {
        Ok(self.build_rep_cache(first, last, cancel, &mut |revision| Ok(progress(revision)?))?)
    }
}
