//! Merging what was committed since a transaction began into the transaction, or finding that
//! both changed the same thing.

use std::collections::HashMap;
use std::sync::Arc;

use sapwood_core::FsPath;
use sapwood_core::paths::FsPathBuf;
use sapwood_core::{ErrorCode, NodeKind, Revnum};
use sapwood_fsfs_format::{NodeRev, NodeRevId};

use super::nodes::{Dag, Entries, EntryNow};
use super::{ROOT, Tree};
use crate::error::{Error, Result};

/// A directory that both sides changed.
struct Frame {
    path: FsPathBuf,
    /// Its place in the transaction.
    target: usize,
    source: Arc<NodeRev>,
    ancestor: Arc<NodeRev>,
}

impl Tree {
    /// Moves the transaction from its base to `revision`, a later one, taking over what changed
    /// in between.
    ///
    /// # Errors
    /// E160024 with the path where both changed something; corruption and system errors. The
    /// transaction is of no further use then.
    pub(crate) fn merge_to(&mut self, revision: Revnum) -> Result<()> {
        let ancestor = self.source.node_at(self.base, FsPath::ROOT)?;
        let source = self.source.node_at(revision, FsPath::ROOT)?;
        if ancestor.id != source.id {
            self.merge_dirs(Frame {
                path: FsPath::ROOT.to_owned(),
                target: ROOT,
                source,
                ancestor,
            })?;
        }
        self.base = revision;
        Ok(())
    }

    /// Merges a directory and, one after the other, those below that both sides changed.
    fn merge_dirs(&mut self, top: Frame) -> Result<()> {
        let mut todo = vec![top];
        // Directories whose mergeinfo is set once those below are done, each with the place of its
        // parent, which comes before it. A transaction has each node in one place: there are no
        // cycles.
        let mut parents: HashMap<usize, usize> = HashMap::new();
        let mut mergeinfo: Vec<(usize, i64)> = Vec::new();
        while let Some(frame) = todo.pop() {
            let target = frame.target;
            let mut below = Vec::new();
            let more = self.merge_dir(&frame, &mut below)?;
            mergeinfo.push((target, more));
            for inner in below {
                parents.insert(inner.target, target);
                todo.push(inner);
            }
            let node = &mut self.txn_node_mut(target)?.node;
            node.predecessor = Some(frame.source.id);
            node.predecessor_count = frame.source.predecessor_count.saturating_add(1);
        }
        if self.source.counts_mergeinfo() {
            // What changed in a directory counts for all directories above, up to the top.
            let mut below: HashMap<usize, i64> = HashMap::new();
            for (at, own) in mergeinfo.into_iter().rev() {
                let more = own.saturating_add(below.remove(&at).unwrap_or_default());
                self.add_mergeinfo(at, more)?;
                if let Some(parent) = parents.get(&at) {
                    let sum = below.entry(*parent).or_default();
                    *sum = sum.saturating_add(more);
                }
            }
        }
        Ok(())
    }

    /// Merges the entries of one directory; how much its mergeinfo count changes by them. The
    /// directories that both sides changed are put into `below`.
    fn merge_dir(&mut self, frame: &Frame, below: &mut Vec<Frame>) -> Result<i64> {
        let Frame { path, target, source, ancestor } = frame;
        let target_node = &self.txn_node(*target)?.node;
        let dirs = [source.kind, ancestor.kind, target_node.kind];
        if dirs.iter().any(|kind| *kind != NodeKind::Dir) {
            return Err(conflict(path));
        }
        // A commit that changes a directory's properties takes the whole directory to be
        // as they have it.
        let fs = &self.source;
        let their_props = source.props.map(|r| r.location) != ancestor.props.map(|r| r.location);
        if their_props && fs.props(source)? != fs.props(ancestor)? {
            return Err(conflict(path));
        }
        let own_props = match &self.txn_node(*target)?.props {
            Some(props) => *props != *fs.props(ancestor)?,
            None => false,
        };
        let theirs = self.entries(&Dag::Rev(Arc::clone(source)))?;
        let before = self.entries(&Dag::Rev(Arc::clone(ancestor)))?;
        if own_props && !same_structure(&theirs, &before) {
            return Err(conflict(path));
        }
        let ours = self.entries(&Dag::Txn(*target))?;

        let mut mergeinfo = 0i64;
        let mut takes: Vec<(Box<str>, EntryNow)> = Vec::new();
        for (name, kind, id) in before.iter() {
            let their = theirs.find(name);
            let our = ours.find(name);
            if their.is_some_and(|(_, t)| t == id) {
                continue;
            }
            if our.is_some_and(|(_, o)| o == id) {
                mergeinfo = mergeinfo.saturating_sub(self.mergeinfo_count(&id)?);
                if let Some((_, their)) = their {
                    mergeinfo = mergeinfo.saturating_add(self.mergeinfo_count(&their)?);
                }
                takes.push((name.into(), their));
                continue;
            }
            let place = path.child(name);
            let (Some((their_kind, their)), Some((our_kind, our))) = (their, our) else {
                return Err(conflict(&place));
            };
            let all_dirs = [kind, their_kind, our_kind].iter().all(|k| *k == NodeKind::Dir);
            let same_node = |other: &NodeRevId| other.node == id.node && other.copy == id.copy;
            let Dag::Txn(inner) = self.dag(&our)? else { return Err(conflict(&place)) };
            if !all_dirs || !same_node(&their) || !same_node(&our) {
                return Err(conflict(&place));
            }
            if their != our {
                below.push(Frame {
                    path: place,
                    target: inner,
                    source: self.source.node(&their)?,
                    ancestor: self.source.node(&id)?,
                });
            }
        }
        for (name, kind, id) in theirs.iter() {
            if before.find(name).is_some() {
                continue;
            }
            if ours.find(name).is_some() {
                return Err(conflict(&path.child(name)));
            }
            mergeinfo = mergeinfo.saturating_add(self.mergeinfo_count(&id)?);
            takes.push((name.into(), Some((kind, id))));
        }
        for (name, entry) in takes {
            self.set_entry(*target, &name, entry)?;
        }
        Ok(mergeinfo)
    }

    fn mergeinfo_count(&self, id: &NodeRevId) -> Result<i64> {
        if !self.source.counts_mergeinfo() {
            return Ok(0);
        }
        let dag = self.dag(id)?;
        Ok(self.noderev(&dag)?.mergeinfo_count)
    }
}

fn conflict(path: &FsPath) -> Error {
    Error::new(ErrorCode::FS_CONFLICT, format!("Conflict at '{path}'"))
}

/// Whether both have the same names, for revisions of the same nodes.
fn same_structure(a: &Entries, b: &Entries) -> bool {
    let mut left = a.iter();
    let mut right = b.iter();
    loop {
        match (left.next(), right.next()) {
            (None, None) => return true,
            (Some((x, _, x_id)), Some((y, _, y_id)))
                if x == y && x_id.node == y_id.node && x_id.copy == y_id.copy => {}
            _ => return false,
        }
    }
}
