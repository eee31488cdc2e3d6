//! What the entries of a directory add up to, found out from the directory before where that is
//! known: most entries of a directory are the same node-revisions in many revisions.

use std::cmp::Ordering;
use std::sync::Arc;

use sapwood_core::{CancelToken, NodeKind};
use sapwood_fsfs_format::{DirEntryRef, Directory, NodeRev, NodeRevId, RepLocation};
use sapwood_store::{Key, Kind};

use super::corrupt;
use crate::cache_kinds::{self, DIRECTORY, Number};
use crate::dump_index::check;
use crate::error::Result;
use crate::filesystem::Fs;
use crate::node::Node;

/// What the nodes that the entries of a directory lead to say together. All of them can be read.
#[derive(Debug)]
pub(crate) struct DirSummary {
    /// The sum of their mergeinfo counts.
    pub(crate) mergeinfo: i64,
    /// The first entry that leads to a node of another kind than it says.
    wrong_kind: Option<usize>,
}

/// What a directory's entries add up to, by its text representation: revision, item.
const DIR_SUMMARY: Kind<DirSummary> =
    Number::DirSummary.kind(|_: &DirSummary| size_of::<DirSummary>());

impl Fs {
    /// The summary of a committed directory; `None` for one of a transaction. When the directory
    /// before it was summed up and is still at hand, only entries that differ are followed.
    pub(crate) fn dir_summary(
        &self,
        node: &NodeRev,
        entries: &Directory,
        cancel: &CancelToken,
    ) -> Result<Option<Arc<DirSummary>>> {
        let Some(key) = self.summary_key(node) else { return Ok(None) };
        if let Some(found) = self.caches.get(key) {
            return Ok(Some(found));
        }
        let summary = match self.sum_up_changes(node, entries, cancel)? {
            Some(summary) => summary,
            None => self.sum_up(entries, cancel)?,
        };
        Ok(Some(self.caches.put(key, summary)))
    }

    fn summary_key(&self, node: &NodeRev) -> Option<Key<DirSummary>> {
        let RepLocation::Rev { revision, item } = node.text?.location else { return None };
        Some(cache_kinds::item(&DIR_SUMMARY, self.id, revision, item))
    }

    fn sum_up(&self, entries: &Directory, cancel: &CancelToken) -> Result<DirSummary> {
        let mut summary = DirSummary { mergeinfo: 0, wrong_kind: None };
        for (at, entry) in entries.iter().enumerate() {
            check(cancel)?;
            summary.add(at, &entry, &*self.node(&entry.id)?)?;
        }
        Ok(summary)
    }

    fn sum_up_changes(
        &self,
        node: &NodeRev,
        entries: &Directory,
        cancel: &CancelToken,
    ) -> Result<Option<DirSummary>> {
        let Some(pred) = &node.predecessor else { return Ok(None) };
        let before = self.node(pred)?;
        let Some(key) = self.summary_key(&before).filter(|_| before.kind == NodeKind::Dir) else {
            return Ok(None);
        };
        let Some(RepLocation::Rev { revision, item }) = before.text.map(|rep| rep.location) else {
            return Ok(None);
        };
        let directory = cache_kinds::item(&DIRECTORY, self.id, revision, item);
        let (Some(old), Some(old_entries)) = (self.caches.get(key), self.caches.get(directory))
        else {
            return Ok(None);
        };
        if old.wrong_kind.is_some() {
            return Ok(None);
        }
        let mut summary = DirSummary { mergeinfo: old.mergeinfo, wrong_kind: None };
        let mut old_entries = old_entries.iter().peekable();
        for (at, entry) in entries.iter().enumerate() {
            check(cancel)?;
            let mut same = false;
            while let Some(old) = old_entries.peek() {
                match old.name.cmp(entry.name) {
                    Ordering::Greater => break,
                    Ordering::Equal if *old == entry => same = true,
                    _ => summary.take_away(self, &old.id)?,
                }
                if old_entries.next().is_some_and(|old| old.name == entry.name) {
                    break;
                }
            }
            if !same {
                summary.add(at, &entry, &*self.node(&entry.id)?)?;
            }
        }
        for old in old_entries {
            summary.take_away(self, &old.id)?;
        }
        Ok(Some(summary))
    }
}

impl DirSummary {
    fn add(&mut self, at: usize, entry: &DirEntryRef<'_>, node: &NodeRev) -> Result<()> {
        let sum = self.mergeinfo.checked_add(node.mergeinfo_count);
        self.mergeinfo = sum.ok_or_else(|| corrupt("Mergeinfo counts overflow"))?;
        if node.kind != entry.kind {
            self.wrong_kind.get_or_insert(at);
        }
        Ok(())
    }

    fn take_away(&mut self, fs: &Fs, id: &NodeRevId) -> Result<()> {
        let sum = self.mergeinfo.checked_sub(fs.node(id)?.mergeinfo_count);
        self.mergeinfo = sum.ok_or_else(|| corrupt("Mergeinfo counts overflow"))?;
        Ok(())
    }
}

impl Node {
    /// The first entry of a directory that leads to a node of another kind than the entry says:
    /// name and kind of the entry.
    ///
    /// # Errors
    /// E160016 for a file; E200015 when cancelled; when one of the nodes cannot be read.
    pub fn entry_of_wrong_kind(&self, cancel: &CancelToken) -> Result<Option<(String, NodeKind)>> {
        let fs = &*self.fs.fs;
        let entries = self.entries()?;
        let wrong = match fs.dir_summary(&self.rev, &entries, cancel)? {
            Some(summary) => summary.wrong_kind,
            None => fs.sum_up(&entries, cancel)?.wrong_kind,
        };
        let entry = wrong.and_then(|at| entries.get(at));
        Ok(entry.map(|entry| (entry.name.to_owned(), entry.kind)))
    }
}
