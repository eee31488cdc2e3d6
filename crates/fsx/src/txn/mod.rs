//! Transactions: changing a tree, and making a revision of it.
//!
//! A [`Txn`] is driven by one process from begin to commit and lives in memory: node-revisions, directories,
//! properties and changed paths are values here, texts go to a prototype of the revision file ([`proto`]). Nothing of it is
//! visible to others before the commit unless they are to see it ([`disk`]), and nothing is left on disk when it is dropped.
//! One that another program left on disk can be taken over ([`open`]).
//!
//! How a tree changes is said in [`sapwood_txn_rules`], which knows of no files.

mod build_repcache;
mod bulk;
mod commit;
mod disk;
mod edit;
mod engine;
mod freeze;
mod index;
mod open;
mod others;
mod proto;
mod recover;
mod revprops;
mod sharing;
mod source;
mod text;
mod view;
mod writer;

use std::collections::HashMap;
use std::sync::Arc;

use sapwood_core::{Revnum, Sha1};
use sapwood_fs_common::commit_info::CommitInfo;
use sapwood_fs_common::rep_cache::Row;
use sapwood_fsx_format::Representation;
use sapwood_fsx_format::layout::Layout;
use sapwood_store::{HeldLock, Stamp};

pub use self::bulk::Bulk;
pub use self::commit::NewRevision;
pub use self::freeze::Frozen;
pub(crate) use self::index::{RevisionIndex, write_indexes};
pub use self::revprops::ChangeProps;
pub(crate) use self::revprops::stored_len;
pub use self::writer::{WriteOptions, Writer};
pub use crate::config::WriteConfig;

use crate::error::Result;
use crate::items::FIRST_ITEM;
use engine::Tree;
use proto::ProtoRev;
use source::Source;
use text::{NewChain, Texts};

/// A transaction that is being made.
#[derive(Debug)]
pub struct Txn {
    writer: Arc<Writer>,
    tree: Tree,
    /// Whether it has a folder on disk.
    is_on_disk: bool,
    /// What the file of its changes was when it was last written out whole.
    published: Option<Stamp>,
    /// Whether what is on disk stays there when this is dropped.
    leave: bool,
    /// Keeps others from writing to its prototype.
    lock: Option<Box<dyn HeldLock>>,
    /// How it is to be committed.
    info: CommitInfo,
    proto: ProtoRev,
    /// Representations that this transaction made or shares, by the SHA-1 of their texts.
    shared: HashMap<Sha1, Representation>,
    /// What later revisions can share.
    rows: Vec<Row>,
    /// The chains of its own representations.
    chains: Vec<NewChain>,
    /// Short texts of those, which later revisions may be deltas to.
    texts: Texts,
}

impl Writer {
    /// Begins a transaction based on `base`.
    ///
    /// # Errors
    /// E160006 when there is no such revision; corruption and system errors.
    pub fn begin(self: &Arc<Self>, base: Revnum) -> Result<Txn> {
        self.fs.ensure_exists(base)?;
        let root = self.committed.root(base)?;
        let number = self.next_number()?;
        let source = Box::new(Source(Arc::clone(&self.committed)));
        let mut tree = Tree::of_revision(source, (number, base), &root);
        tree.ids.item = FIRST_ITEM;
        let path = self.fs.0.file(&Layout::proto_rev(number.0));
        let proto = ProtoRev::new(Arc::clone(&self.storage), path);
        Ok(self.txn(tree, proto))
    }

    /// A transaction that nothing else is known of.
    fn txn(self: &Arc<Self>, tree: Tree, proto: ProtoRev) -> Txn {
        Txn {
            writer: Arc::clone(self),
            tree,
            is_on_disk: false,
            published: None,
            leave: false,
            lock: None,
            info: CommitInfo::default(),
            proto,
            shared: HashMap::new(),
            rows: Vec::new(),
            chains: Vec::new(),
            texts: Texts::default(),
        }
    }
}

impl Txn {
    /// What it was begun with.
    #[must_use]
    pub const fn writer(&self) -> &Arc<Writer> {
        &self.writer
    }
}

impl Drop for Txn {
    fn drop(&mut self) {
        // What cannot be removed is a transaction for `rmtxns`.
        let _ = self.clean_up();
    }
}
