//! A directory's entries in one allocation of names and one of fixed-size records.

use sapwood_core::NodeKind;

use crate::node::NodeRevId;

/// One entry of a directory, borrowed from a [`Directory`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DirEntry<'a> {
    /// The name, one path component.
    pub name: &'a str,
    /// File or directory.
    pub kind: NodeKind,
    /// The entry's node-revision.
    pub id: NodeRevId,
}

/// A directory's entries, sorted bytewise by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Directory {
    names: Box<str>,
    entries: Box<[Record]>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Record {
    start: u32,
    end: u32,
    kind: NodeKind,
    id: NodeRevId,
}

impl Directory {
    /// How many entries there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The entries, in the bytewise order of their names.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = DirEntry<'_>> + DoubleEndedIterator {
        self.entries.iter().map(|r| self.view(r))
    }

    /// The entry at place `at`.
    #[must_use]
    pub fn get(&self, at: usize) -> Option<DirEntry<'_>> {
        self.entries.get(at).map(|r| self.view(r))
    }

    /// The entry called `name`.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<DirEntry<'_>> {
        let at = self.entries.binary_search_by(|r| self.name(r).cmp(name)).ok()?;
        self.get(at)
    }

    /// Bytes that the directory takes, for cache accounting.
    #[must_use]
    pub fn byte_len(&self) -> usize {
        let records = self.entries.len().saturating_mul(size_of::<Record>());
        self.names.len().saturating_add(records).saturating_add(size_of::<Self>())
    }

    fn name(&self, r: &Record) -> &str {
        let range = usize::try_from(r.start).unwrap_or(0)..usize::try_from(r.end).unwrap_or(0);
        self.names.get(range).unwrap_or_default()
    }

    fn view(&self, r: &Record) -> DirEntry<'_> {
        DirEntry { name: self.name(r), kind: r.kind, id: r.id }
    }

    /// Collects entries in any order; of entries with the same name the last one stays. `None`
    /// when the names together exceed 4 GiB.
    pub(crate) fn build<'a>(items: impl Iterator<Item = DirEntry<'a>>) -> Option<Self> {
        let mut names = String::new();
        let mut entries: Vec<Record> = Vec::new();
        let mut sorted = true;
        let mut last = "";
        for item in items {
            if !entries.is_empty() && last >= item.name {
                sorted = false;
            }
            last = item.name;
            let start = u32::try_from(names.len()).ok()?;
            names.push_str(item.name);
            let end = u32::try_from(names.len()).ok()?;
            entries.push(Record { start, end, kind: item.kind, id: item.id });
        }
        let mut list = Self { names: names.into_boxed_str(), entries: Box::default() };
        if !sorted {
            entries.sort_by(|a, b| list.name(a).cmp(list.name(b)));
            // Keep the last of equal names.
            entries.reverse();
            entries.dedup_by(|a, b| list.name(a) == list.name(b));
            entries.reverse();
        }
        list.entries = entries.into_boxed_slice();
        Some(list)
    }
}
