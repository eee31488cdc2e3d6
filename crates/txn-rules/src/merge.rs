//! Merging what was committed since a transaction began into the transaction, or finding that
//! both changed the same thing.

use std::collections::HashMap;
use std::sync::Arc;

use sapwood_core::FsPath;
use sapwood_core::paths::FsPathBuf;
use sapwood_core::{ErrorCode, NodeKind, Revnum};

use crate::engine::{Engine, NodeRevision, Result};
use crate::error::Error;
use crate::nodes::{Dag, Entries, EntryNow};
use crate::tree::{ROOT, Tree};

/// A directory that both sides changed.
struct Frame<E: Engine> {
    path: FsPathBuf,
    /// Its place in the transaction.
    target: usize,
    source: Arc<E::Node>,
    ancestor: Arc<E::Node>,
}

impl<E: Engine> Tree<E> {
    /// Moves the transaction from its base to `revision`, a later one, taking over what changed
    /// in between.
    ///
    /// # Errors
    /// E160024 with the path where both changed something; corruption and system errors. The
    /// transaction is of no further use then.
    pub fn merge_to(&mut self, revision: Revnum) -> Result<(), E> {
        let ancestor = self.source.node_at(self.base, FsPath::ROOT)?;
        let source = self.source.node_at(revision, FsPath::ROOT)?;
        if ancestor.id() != source.id() {
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
    fn merge_dirs(&mut self, top: Frame<E>) -> Result<(), E> {
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
            let count = frame.source.predecessor_count().saturating_add(1);
            node.set_predecessor(frame.source.id(), count);
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
    fn merge_dir(&mut self, frame: &Frame<E>, below: &mut Vec<Frame<E>>) -> Result<i64, E> {
        let Frame { path, target, source, ancestor } = frame;
        let target_node = &self.txn_node(*target)?.node;
        let dirs = [source.kind(), ancestor.kind(), target_node.kind()];
        if dirs.iter().any(|kind| *kind != NodeKind::Dir) {
            return Err(conflict::<E>(path));
        }
        // A commit that changes a directory's properties takes the whole directory to be
        // as they have it.
        let fs = &self.source;
        let their_props = match (source.props(), ancestor.props()) {
            (Some(source), Some(ancestor)) => !E::is_same_rep(source, ancestor),
            (source, ancestor) => source.is_some() || ancestor.is_some(),
        };
        if their_props && fs.props(source)? != fs.props(ancestor)? {
            return Err(conflict::<E>(path));
        }
        let own_props = match &self.txn_node(*target)?.props {
            Some(props) => *props != *fs.props(ancestor)?,
            None => false,
        };
        let theirs = self.entries(&Dag::Rev(Arc::clone(source)))?;
        let before = self.entries(&Dag::Rev(Arc::clone(ancestor)))?;
        if own_props && !self.is_same_structure(&theirs, &before)? {
            return Err(conflict::<E>(path));
        }
        let ours = self.entries(&Dag::Txn(*target))?;

        let mut mergeinfo = 0i64;
        let mut takes: Vec<(Box<str>, EntryNow<E>)> = Vec::new();
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
                return Err(conflict::<E>(&place));
            };
            let all_dirs = [kind, their_kind, our_kind].iter().all(|k| *k == NodeKind::Dir);
            let Dag::Txn(inner) = self.dag(&our)? else { return Err(conflict::<E>(&place)) };
            let is_same_line = all_dirs && {
                let line = self.line(&id)?;
                self.line(&their)? == line && self.line(&our)? == line
            };
            if !is_same_line {
                return Err(conflict::<E>(&place));
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
                return Err(conflict::<E>(&path.child(name)));
            }
            mergeinfo = mergeinfo.saturating_add(self.mergeinfo_count(&id)?);
            takes.push((name.into(), Some((kind, id))));
        }
        for (name, entry) in takes {
            self.set_entry(*target, &name, entry)?;
        }
        Ok(mergeinfo)
    }

    fn mergeinfo_count(&self, id: &E::Id) -> Result<i64, E> {
        if !self.source.counts_mergeinfo() {
            return Ok(0);
        }
        let dag = self.dag(id)?;
        Ok(self.noderev(&dag)?.mergeinfo_count())
    }

    /// Whether both have the same names, for revisions of the same nodes.
    fn is_same_structure(&self, a: &Entries<E>, b: &Entries<E>) -> Result<bool, E> {
        let mut left = a.iter();
        let mut right = b.iter();
        loop {
            match (left.next(), right.next()) {
                (None, None) => return Ok(true),
                (Some((x, _, x_id)), Some((y, _, y_id)))
                    if x == y
                        && (E::ENTRIES_ARE_NAMES
                            || x_id == y_id
                            || self.line(&x_id)? == self.line(&y_id)?) => {}
                _ => return Ok(false),
            }
        }
    }
}

fn conflict<E: Engine>(path: &FsPath) -> E::Error {
    Error::new(ErrorCode::FS_CONFLICT, format!("Conflict at '{path}'")).into()
}
