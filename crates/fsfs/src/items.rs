//! Node-revisions and changed paths: parsed on demand out of raw blocks, kept in the item cache.

use std::sync::Arc;

use sapwood_core::Revnum;
use sapwood_fsfs_format::changes::{ChangeRef, Changes, spell_names};
use sapwood_fsfs_format::l2p::{ITEM_CHANGES, ITEM_ROOT};
use sapwood_fsfs_format::{
    Location, NodeRev, NodeRevId, RepHeader, RepLocation, Representation, Trailer, TxnId, limits,
};

use crate::cache_kinds::{self, NODE_REV};
use sapwood_fs_common::changes::ChangedPaths;

use crate::changes::{self, CHANGES};
use crate::error::{Error, Result};
use crate::filesystem::{Filesystem, Fs};
use crate::revfile::RevFile;

/// The longest list of changed paths that is read.
const CHANGES_LEN: usize = 1 << 30;
/// The longest node-revision file of a transaction that is read.
const TXN_NODE_LEN: usize = limits::NODEREV_LEN;

impl Fs {
    /// The node-revision of an id.
    pub(crate) fn node(&self, id: &NodeRevId) -> Result<Arc<NodeRev>> {
        let found = match id.location {
            Location::Rev { revision, item } => self.rev_node(revision, item),
            Location::Txn(txn) => self.txn_node(&txn, id).map(Arc::new),
        };
        found.map_err(|e| {
            if e.is_corruption() { Error::Node { id: *id, cause: Box::new(e) } } else { e }
        })
    }

    /// The node-revision that is item `item` of a revision.
    pub(crate) fn rev_node(&self, revision: Revnum, item: u64) -> Result<Arc<NodeRev>> {
        let key = cache_kinds::item(&NODE_REV, self.id, revision, item);
        if let Some(node) = self.caches.get(key) {
            return Ok(node);
        }
        self.work.note_made();
        let mut node = self.with_file(revision, |file| {
            let at = self.item_offset(file, revision, item)?;
            let node = self.parse_at(file, revision, at, limits::NODEREV_LEN, |bytes, _| {
                NodeRev::parse(bytes)
            });
            let node = node?.0;
            match node.id.revision() {
                Some(other) if other == revision => Ok(node),
                _ => Err(self.not_of(file, revision, &node.id)),
            }
        })?;
        // Node-revisions of 1.6.0 to 1.6.17 may have kept this flag (issue 4031).
        node.is_fresh_txn_root = false;
        if let Some(rep) = &mut node.text {
            self.fix_expanded_size(rep)?;
        }
        if let Some(rep) = &mut node.props {
            self.fix_expanded_size(rep)?;
        }
        Ok(self.caches.put(key, node))
    }

    /// Sets the expanded size where the writer left it 0 although the text is not empty.
    pub(crate) fn fix_expanded_size(&self, rep: &mut Representation) -> Result<()> {
        if rep.expanded_size != 0 || rep.size == 0 {
            return Ok(());
        }
        let empty_sha1 = sapwood_core::Sha1::of(b"");
        let not_empty = rep.known_md5().is_some_and(|md5| !Filesystem::is_empty_md5(md5))
            || rep.sha1.is_some_and(|sha1| sha1 != empty_sha1);
        // Four bytes are the header of a svndiff without windows.
        let plain = || match rep.location {
            RepLocation::Rev { revision, item } => {
                Ok::<_, Error>(matches!(self.rep_start(revision, item)?.header, RepHeader::Plain))
            }
            _ => Ok(false),
        };
        if not_empty || (rep.size != 4 && plain()?) {
            rep.expanded_size = rep.size;
        }
        Ok(())
    }

    /// A node-revision of a transaction, read from its file.
    fn txn_node(&self, txn: &TxnId, id: &NodeRevId) -> Result<NodeRev> {
        let path = self.file(&self.layout.txn_node_file(txn, id));
        let bytes = self.storage.read(&path, TXN_NODE_LEN).map_err(|e| {
            if e.kind() == std::io::ErrorKind::NotFound {
                Error::DanglingId { id: *id, path: self.path.clone() }
            } else {
                Error::io(e, "Can't open file", &path)
            }
        })?;
        let parsed = NodeRev::parse(&bytes).map_err(|error| Error::File { path, error })?;
        Ok(parsed.0)
    }

    /// The root directory of a revision.
    pub(crate) fn rev_root(&self, revision: Revnum) -> Result<Arc<NodeRev>> {
        let item = if self.layout.is_logical() { ITEM_ROOT } else { self.trailer(revision)?.root };
        self.rev_node(revision, item)
    }

    /// Hints that the changed paths of a revision will be needed soon.
    pub(crate) fn will_need_changes(&self, revision: Revnum) {
        let key = CHANGES.key(self.id, revision.0, 0, 0);
        if self.caches.get(key).is_some() {
            return;
        }
        let file = self.rev_file(revision);
        let at = if !file.key.packed {
            // Nearly always the whole file.
            Ok(0)
        } else if self.layout.is_logical() {
            self.item_offset(&file, revision, ITEM_CHANGES)
        } else {
            self.revision_range(&file, revision).map(|(_, end)| end.saturating_sub(1))
        };
        if let Ok(at) = at {
            self.will_need_block(&file, self.block_of(at));
        }
    }

    /// The paths that a revision changed.
    pub(crate) fn changed_paths(&self, revision: Revnum) -> Result<Arc<ChangedPaths>> {
        let key = CHANGES.key(self.id, revision.0, 0, 0);
        if let Some(changes) = self.caches.get(key) {
            return Ok(changes);
        }
        self.ensure_exists(revision)?;
        Ok(self.caches.put(key, self.read_changes(revision)?))
    }

    /// The same for a caller that caches its own result: they are not cached.
    pub(crate) fn changed_paths_for_once(&self, revision: Revnum) -> Result<Arc<ChangedPaths>> {
        let key = CHANGES.key(self.id, revision.0, 0, 0);
        if let Some(changes) = self.caches.get(key) {
            return Ok(changes);
        }
        self.ensure_exists(revision)?;
        Ok(Arc::new(self.read_changes(revision)?))
    }

    fn read_changes(&self, revision: Revnum) -> Result<ChangedPaths> {
        if self.layout.is_logical() {
            return self.with_file(revision, |file| {
                let at = self.item_offset(file, revision, ITEM_CHANGES)?;
                self.parse_at(file, revision, at, CHANGES_LEN, changes::parse)
            });
        }
        let trailer = self.trailer(revision)?;
        self.with_file(revision, |file| {
            let at = self.item_offset(file, revision, trailer.changes)?;
            let parse = |bytes: &[u8], is_end| changes::parse_last(bytes, is_end, &trailer);
            let changes = self.parse_at(file, revision, at, CHANGES_LEN, parse)?;
            if changes.is_empty() {
                self.expect_no_changes(file, revision, &trailer)?;
            }
            Ok(changes)
        })
    }

    /// A list of nothing is right only directly behind the root's node-revision, where all lists
    /// begin: at the end of a list it would be nothing as well.
    fn expect_no_changes(&self, file: &RevFile, revision: Revnum, trailer: &Trailer) -> Result<()> {
        let at = self.item_offset(file, revision, trailer.root)?;
        let parse = |bytes: &[u8], _| NodeRev::parse(bytes);
        let (_, len) = self.parse_at(file, revision, at, limits::NODEREV_LEN, parse)?;
        let end = u64::try_from(len).ok().and_then(|len| trailer.root.checked_add(len));
        if end == Some(trailer.changes) {
            return Ok(());
        }
        Err(Error::Corrupt(format!(
            "The changed paths of r{revision} do not begin behind its root node-revision"
        )))
    }

    /// The error for a file that holds another revision than the requested one: one that
    /// was put in the wrong place.
    pub(crate) fn not_of(&self, file: &RevFile, revision: Revnum, id: &NodeRevId) -> Error {
        let found = id.revision().map_or_else(|| "no revision".into(), |found| format!("r{found}"));
        Error::Corrupt(format!(
            "File '{}' should hold r{revision}, but a node-revision in it is of {found}",
            self.rev_file_path(file.key).display()
        ))
    }

    /// The paths that a transaction changed so far.
    pub(crate) fn txn_changed_paths(&self, txn: &TxnId) -> Result<ChangedPaths> {
        let name = format!(
            "{}/{}",
            self.layout.txn_dir(txn),
            sapwood_fsfs_format::layout::names::TXN_CHANGES
        );
        let path = self.file(&name);
        let bytes = self
            .storage
            .read(&path, CHANGES_LEN)
            .map_err(|e| Error::io(e, "Can't open file", &path))?;
        let spelt = spell_names(&bytes);
        let list = spelt.as_deref().map_or_else(|| Changes::new(&bytes), Changes::spelt);
        let fail = |error| Error::File { path: path.clone(), error };
        let raw: Vec<ChangeRef<'_>> =
            list.collect::<sapwood_fsfs_format::Result<_>>().map_err(fail)?;
        let folded = sapwood_fsfs_format::changes::fold(raw).map_err(fail)?;
        changes::collect(&mut folded.into_iter().map(Ok)).map_err(fail)
    }
}
