//! The node-revisions of one tree: counts, predecessors, no cycles.

use std::sync::Arc;

use sapwood_core::{CancelToken, NodeKind};
use sapwood_fsfs_format::{Directory, NodeRev};

use super::corrupt;
use crate::ancestors::Ancestors;
use crate::dump_index::check;
use crate::error::Result;
use crate::filesystem::Fs;
use crate::root::Root;

/// A directory whose entries are being looked at.
struct Frame {
    node: Arc<NodeRev>,
    entries: Arc<Directory>,
    /// The place of the entry to look at next.
    next: usize,
    /// Mergeinfo counts of the entries so far; of all, when they are summed up.
    mergeinfo: i64,
    /// Whether only entries that the revision made are still to be looked at.
    summed_up: bool,
}

#[allow(clippy::missing_errors_doc, reason = "all: `Error` says what its variants mean")]
impl Root {
    /// Checks the node-revisions that this revision or transaction made: no cycles, predecessor
    /// counts, mergeinfo counts, and the root's predecessor.
    pub fn verify(&self) -> Result<()> {
        let fs = &*self.fs.fs;
        walk(fs, &self.dir, &CancelToken::new(), &mut |_| Ok(()))?;
        self.verify_root_predecessor()
    }

    /// As [`Root::verify`], and shows every node-revision that the revision made to `each`.
    pub(super) fn verify_with(
        &self,
        cancel: &CancelToken,
        each: &mut dyn FnMut(&Arc<NodeRev>) -> Result<()>,
    ) -> Result<()> {
        walk(&self.fs.fs, &self.dir, cancel, each)?;
        self.verify_root_predecessor()
    }

    fn verify_root_predecessor(&self) -> Result<()> {
        let base = self.base_revision().0;
        let pred = self.dir.predecessor;
        let pred_rev = pred.and_then(|id| id.revision()).map(|revision| revision.0);
        let shown = |none: &str| pred_rev.map_or_else(|| none.to_owned(), |rev| rev.to_string());
        match self.txn_name() {
            None => {
                if pred.is_some() != (base > 0) {
                    let pred = pred.map_or_else(|| "(null)".to_owned(), |id| id.to_string());
                    return Err(corrupt(format!(
                        "r{base}'s root node's predecessor is unexpectedly '{pred}'"
                    )));
                }
                if pred.is_some() && pred_rev.and_then(|rev| rev.checked_add(1)) != Some(base) {
                    return Err(corrupt(format!(
                        "r{base}'s root node's predecessor is r{} but should be r{}",
                        shown("-1"),
                        base.saturating_sub(1)
                    )));
                }
            }
            Some(name) => {
                if pred.is_none() {
                    return Err(corrupt(format!(
                        "Transaction '{name}''s root node's predecessor is unexpectedly NULL"
                    )));
                }
                if pred_rev != Some(base) {
                    return Err(corrupt(format!(
                        "Transaction '{name}''s root node's predecessor is r{} but should be \
                         r{base}",
                        shown("-1")
                    )));
                }
            }
        }
        Ok(())
    }
}

/// Checks `top` and all node-revisions below it that were made where it was made. Directories in
/// work lie on a stack of our own, so that depth is limited by nothing but what is there; which
/// ones lie there is known by a set, so that a cycle is found without going through all of them.
fn walk(
    fs: &Fs,
    top: &Arc<NodeRev>,
    cancel: &CancelToken,
    each: &mut dyn FnMut(&Arc<NodeRev>) -> Result<()>,
) -> Result<()> {
    let mut stack: Vec<Frame> = Vec::new();
    let mut above = Ancestors::default();
    enter(fs, top, (&mut stack, &mut above), cancel, each)?;
    while let Some(frame) = stack.last_mut() {
        check(cancel)?;
        let Some(entry) = frame.entries.get(frame.next) else {
            let own = i64::from(frame.node.has_mergeinfo);
            if frame.mergeinfo.checked_add(own) != Some(frame.node.mergeinfo_count) {
                return Err(corrupt(format!(
                    "Mergeinfo-count discrepancy on '{}': expected {}+{own}, counted {}",
                    frame.node.id, frame.node.mergeinfo_count, frame.mergeinfo
                )));
            }
            above.leave();
            stack.pop();
            continue;
        };
        frame.next += 1;
        let id = entry.id;
        // In a transaction both are `None`.
        let own = id.revision() == top.id.revision();
        if frame.summed_up && !own {
            continue;
        }
        let child = fs.node(&id)?;
        if !frame.summed_up {
            frame.mergeinfo = frame.mergeinfo.saturating_add(child.mergeinfo_count);
        }
        if own {
            enter(fs, &child, (&mut stack, &mut above), cancel, each)?;
        }
    }
    Ok(())
}

/// Checks one node-revision alone, and puts a directory on the stack.
fn enter(
    fs: &Fs,
    node: &Arc<NodeRev>,
    (stack, above): (&mut Vec<Frame>, &mut Ancestors),
    cancel: &CancelToken,
    each: &mut dyn FnMut(&Arc<NodeRev>) -> Result<()>,
) -> Result<()> {
    let NodeRev { id, mergeinfo_count, has_mergeinfo, predecessor_count, .. } = &**node;
    // A file is in no cycle, and goes at once.
    above.enter(stack.len(), id)?;
    if node.kind == NodeKind::File {
        above.leave();
    }
    if *mergeinfo_count < 0 {
        return Err(corrupt(format!("Negative mergeinfo-count {mergeinfo_count} on node '{id}'")));
    }
    if let Some(pred) = &node.predecessor {
        let before = fs.node(pred)?.predecessor_count;
        if before.checked_add(1) != Some(*predecessor_count) {
            return Err(corrupt(format!(
                "Predecessor count mismatch: {id} has {predecessor_count}, but {pred} has {before}"
            )));
        }
    }
    each(node)?;
    match node.kind {
        NodeKind::File => {
            if i64::from(*has_mergeinfo) != *mergeinfo_count {
                let has = i64::from(*has_mergeinfo);
                return Err(corrupt(format!(
                    "File node '{id}' has inconsistent mergeinfo: has_mergeinfo={has}, \
                     mergeinfo_count={mergeinfo_count}"
                )));
            }
        }
        NodeKind::Dir => {
            let entries = fs.directory(node)?;
            // What cannot be summed up is looked at in order, for the first error is the one to
            // report.
            let summary = fs.dir_summary(node, &entries, cancel).ok().flatten();
            stack.push(Frame {
                node: Arc::clone(node),
                entries,
                next: 0,
                mergeinfo: summary.as_ref().map_or(0, |summary| summary.mergeinfo),
                summed_up: summary.is_some(),
            });
        }
    }
    Ok(())
}
