//! Transactions: changing a tree, and making a revision of it.
//!
//! A [`Txn`] is driven by one process from begin to commit and lives in memory: node-revisions,
//! directories, properties and changed paths are values here, file contents go to a prototype
//! revision file when they are large ([`proto`]). Nothing of it is visible to others before the
//! commit unless they are to see it ([`disk`]), and nothing is left on disk when it is dropped.
//! One that another program left on disk can be taken over ([`open`]).
//!
//! How a tree changes is said in [`sapwood_txn_rules`], which knows of no files.

mod ancestry;
mod bulk;
mod commit;
mod deltify;
mod disk;
mod edit;
mod engine;
mod group;
mod known_text;
mod open;
mod prepared;
mod proto;
mod rep_batch;
mod revprops;
mod saved;
mod sharing;
mod writer;

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use sapwood_core::{Md5, Revnum, Sha1};
use sapwood_fs_common::commit_info::CommitInfo;
use sapwood_fs_common::rep_cache::OpenRepCache;
use sapwood_fsfs_format::since;
use sapwood_fsfs_format::{Representation, Uniquifier};

pub use self::bulk::Bulk;
pub use self::group::NewRevision;
pub use self::known_text::{DeltaAhead, KnownText};
pub use self::writer::{WriteOptions, Writer};
pub use crate::config::WriteConfig;

use crate::error::Result;
use crate::filesystem::Extension;
use ancestry::{Ancestry, Chain};
use engine::Tree;
use group::Queue;
use proto::ProtoRev;
use sapwood_store::Stamp;
use sapwood_store::write::HeldLock;
use saved::SavedTxn;

/// What all writers to one filesystem share, in this process.
#[derive(Debug, Default)]
pub(crate) struct Common {
    /// Transactions that wait to be committed.
    commits: Queue,
    /// What is known of delta chains and predecessors.
    ancestry: Ancestry,
    /// The open `rep-cache.db`; closed with the last opening, because a database that is open for
    /// writing keeps its file system from being unmounted or made read-only.
    rep_cache: Mutex<OpenRepCache>,
}

impl Extension for Common {
    fn last_closed(&self) {
        self.rep_cache.lock().close();
    }

    fn close_idle(&self) -> bool {
        // The thread that holds it uses it, and may be the one that is out of handles.
        self.rep_cache.try_lock().is_some_and(|mut kept| kept.close())
    }
}

/// A transaction that is being made.
#[derive(Debug)]
pub struct Txn {
    writer: Arc<Writer>,
    tree: Tree,
    folder: Folder,
    /// Whether what is on disk stays there when this is dropped.
    leave: bool,
    /// Keeps others from writing to its prototype.
    lock: Option<Box<dyn HeldLock>>,
    /// How it is to be committed.
    info: CommitInfo,
    proto: ProtoRev,
    /// Representations that this transaction made or shares, by the SHA-1 of their texts.
    shared: HashMap<Sha1, Representation>,
    /// The text of the representation that is being written, if it fits a window, and its base.
    open_text: Option<Vec<u8>>,
    open_base: Option<Representation>,
    /// What was written, for the writer of the next revision.
    fresh: Fresh,
    /// What it was before a revision was made of it, where that may be overtaken.
    saved: Option<Box<SavedTxn>>,
}

/// What a transaction knows of the representations that it wrote, by their items.
#[derive(Debug, Default)]
struct Fresh {
    /// Texts of one window, with their MD5.
    texts: Vec<(u64, Box<[u8]>, Md5)>,
    /// Bytes of these.
    bytes: usize,
    /// How long the chains of their bases are, and in how many shards, and the base's revision.
    chains: Vec<(u64, Option<(Chain, Revnum)>)>,
}

/// Bytes of new texts that a transaction keeps for the cache.
const FRESH_LEN: usize = 8 << 20;
/// New representations whose chains are kept.
const FRESH_CHAINS: usize = 1 << 12;

/// What there is on disk of a transaction.
#[derive(Clone, Copy, Debug)]
enum Folder {
    /// Nothing.
    None,
    /// A folder that keeps its name from others.
    Empty,
    /// A folder of which not everything is written.
    Unread,
    /// All of it, as it was at some time; then its list of changes had this stamp.
    Whole(Stamp),
}

impl Writer {
    /// Begins a transaction based on `base`.
    ///
    /// # Errors
    /// E160006 when there is no such revision; corruption and system errors.
    pub fn begin(self: &Arc<Self>, base: Revnum) -> Result<Txn> {
        let fs = &self.fs.fs;
        fs.ensure_exists(base)?;
        let base_root = fs.rev_root(base)?;
        let (id, has_folder) = self.new_id(base)?;
        let source = Box::new(self.fs.clone());
        let proto = fs.file(&fs.layout.proto_rev_file(&id));
        let storage = Arc::clone(&self.storage);
        Ok(Txn {
            writer: Arc::clone(self),
            tree: Tree::of_revision(source, (id, base), &base_root),
            folder: if has_folder { Folder::Empty } else { Folder::None },
            leave: false,
            lock: None,
            info: CommitInfo::default(),
            proto: ProtoRev::new(storage, proto, fs.layout.is_logical()),
            shared: HashMap::new(),
            open_text: None,
            open_base: None,
            fresh: Fresh::default(),
            saved: None,
        })
    }
}

impl Txn {
    /// What it was begun with.
    #[must_use]
    pub const fn writer(&self) -> &Arc<Writer> {
        &self.writer
    }

    fn format(&self) -> u32 {
        self.writer.fs.fs.layout.format.number
    }

    /// What keeps a new representation apart from others that share its text.
    fn take_uniquifier(&mut self) -> Option<Uniquifier> {
        (self.format() >= since::PACKING)
            .then(|| Uniquifier { txn: self.tree.txn(), number: self.tree.ids.take_node() })
    }
}

impl Drop for Txn {
    fn drop(&mut self) {
        // What cannot be removed is a transaction for `rmtxns`.
        let _ = self.clean_up();
    }
}
