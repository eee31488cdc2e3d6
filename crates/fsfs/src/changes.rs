//! Changed paths of a revision or transaction.
//!
//! Lists of changed paths are the bulk of what a `log -v` touches, so [`ChangedPaths`] holds all
//! paths of one revision in one allocation, and fixed-size entries in another. Entries are handed
//! out as borrowed [`ChangedPath`] values that are cheap to copy.

use sapwood_core::{NodeKind, Revnum};

use crate::node::NodeRevId;

/// What happened to a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeKind {
    /// Contents or properties changed.
    Modify,
    /// Added (perhaps as a copy).
    Add,
    /// Deleted.
    Delete,
    /// Deleted and added again.
    Replace,
}

/// One changed path, borrowed from a [`ChangedPaths`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChangedPath<'a> {
    /// The path, an fspath.
    pub path: &'a str,
    /// What happened.
    pub kind: ChangeKind,
    /// File or directory; `None` when an old revision does not say (formats before 4).
    pub node_kind: Option<NodeKind>,
    /// Whether the text changed.
    pub text_mod: bool,
    /// Whether properties changed.
    pub prop_mod: bool,
    /// Whether `svn:mergeinfo` changed; `None` when the revision does not say (formats before 7).
    pub mergeinfo_mod: Option<bool>,
    /// Where it was copied from.
    pub copy_from: Option<(Revnum, &'a str)>,
    /// The node-revision after the change (before it, for a deletion).
    pub id: NodeRevId,
}

/// The changed paths of one revision, sorted by [`sapwood_core::path::compare`], one entry a path.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChangedPaths {
    /// All paths, one after the other.
    text: Box<str>,
    entries: Box<[Entry]>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Entry {
    /// Where the path begins in `text`; it ends where the copy source's path begins.
    start: u32,
    /// Where the copy source's path begins in `text`; it ends at `end`.
    source: u32,
    end: u32,
    kind: ChangeKind,
    node_kind: Option<NodeKind>,
    text_mod: bool,
    prop_mod: bool,
    mergeinfo_mod: Option<bool>,
    copy_rev: Option<Revnum>,
    id: NodeRevId,
}

impl ChangedPaths {
    /// How many paths changed.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether nothing changed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The entries, in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = ChangedPath<'_>> + DoubleEndedIterator {
        self.entries.iter().map(|e| self.view(e))
    }

    /// The entry at place `at`.
    #[must_use]
    pub fn get(&self, at: usize) -> Option<ChangedPath<'_>> {
        self.entries.get(at).map(|e| self.view(e))
    }

    /// The entry of `path` itself.
    #[must_use]
    pub fn find(&self, path: &str) -> Option<ChangedPath<'_>> {
        let order = |e: &Entry| sapwood_core::path::compare(self.slice(e.start, e.source), path);
        self.get(self.entries.binary_search_by(order).ok()?)
    }

    /// Bytes that the list takes, for cache accounting.
    #[must_use]
    pub fn byte_len(&self) -> usize {
        let entries = self.entries.len().saturating_mul(size_of::<Entry>());
        self.text.len().saturating_add(entries).saturating_add(size_of::<Self>())
    }

    fn slice(&self, from: u32, to: u32) -> &str {
        let range = usize::try_from(from).unwrap_or(0)..usize::try_from(to).unwrap_or(0);
        self.text.get(range).unwrap_or_default()
    }

    fn view(&self, e: &Entry) -> ChangedPath<'_> {
        ChangedPath {
            path: self.slice(e.start, e.source),
            kind: e.kind,
            node_kind: e.node_kind,
            text_mod: e.text_mod,
            prop_mod: e.prop_mod,
            mergeinfo_mod: e.mergeinfo_mod,
            copy_from: e.copy_rev.map(|rev| (rev, self.slice(e.source, e.end))),
            id: e.id,
        }
    }

    /// Collects entries in any order; of entries with the same path the last one stays. `None`
    /// when the paths together exceed 4 GiB.
    pub(crate) fn build<'a>(changes: impl Iterator<Item = ChangedPath<'a>>) -> Option<Self> {
        let mut text = String::new();
        let mut entries: Vec<Entry> = Vec::new();
        let mut sorted = true;
        let mut last = "";
        for change in changes {
            if !entries.is_empty() && sapwood_core::path::compare(last, change.path).is_ge() {
                sorted = false;
            }
            last = change.path;
            let start = u32::try_from(text.len()).ok()?;
            text.push_str(change.path);
            let source = u32::try_from(text.len()).ok()?;
            if let Some((_, path)) = change.copy_from {
                text.push_str(path);
            }
            entries.push(Entry {
                start,
                source,
                end: u32::try_from(text.len()).ok()?,
                kind: change.kind,
                node_kind: change.node_kind,
                text_mod: change.text_mod,
                prop_mod: change.prop_mod,
                mergeinfo_mod: change.mergeinfo_mod,
                copy_rev: change.copy_from.map(|(rev, _)| rev),
                id: change.id,
            });
        }
        let mut list = Self { text: text.into_boxed_str(), entries: Box::default() };
        if !sorted {
            entries.sort_by(|a, b| {
                let (a, b) = (list.slice(a.start, a.source), list.slice(b.start, b.source));
                sapwood_core::path::compare(a, b)
            });
            // Keep the last of equal paths.
            entries.reverse();
            entries.dedup_by(|a, b| list.slice(a.start, a.source) == list.slice(b.start, b.source));
            entries.reverse();
        }
        list.entries = entries.into_boxed_slice();
        Some(list)
    }
}
