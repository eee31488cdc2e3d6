//! Changed paths of a revision or transaction, whatever engine keeps them.
//!
//! Lists of changed paths are most of the data of a `log -v`, so everything that a log needs of a
//! revision's [`ChangedPaths`] is in one allocation. Entries are handed out as borrowed
//! [`ChangedPath`] values that are cheap to copy.

use sapwood_core::FsPath;
use sapwood_core::{Cut, Exact};
use std::cmp::Ordering;

use sapwood_core::{NodeKind, Revnum};

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

impl ChangeKind {
    /// That of an entry of a stored list; `None` for one that says that others are void.
    #[must_use]
    pub const fn of(stored: sapwood_core::ChangeKind) -> Option<Self> {
        match stored {
            sapwood_core::ChangeKind::Modify => Some(Self::Modify),
            sapwood_core::ChangeKind::Add => Some(Self::Add),
            sapwood_core::ChangeKind::Delete => Some(Self::Delete),
            sapwood_core::ChangeKind::Replace => Some(Self::Replace),
            sapwood_core::ChangeKind::Reset => None,
        }
    }

    /// The letter that logs and the svn protocol have for it.
    #[must_use]
    pub const fn letter(self) -> u8 {
        match self {
            Self::Modify => b'M',
            Self::Add => b'A',
            Self::Delete => b'D',
            Self::Replace => b'R',
        }
    }
}

/// One changed path, borrowed from a [`ChangedPaths`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChangedPath<'a> {
    /// The path, an fspath.
    pub path: &'a FsPath,
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
    pub copy_from: Option<(Revnum, &'a FsPath)>,
}

/// The changed paths of one revision, sorted by [`sapwood_core::path::compare`], one entry a path.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChangedPaths {
    /// What a log reads, in one allocation: a record of [`RECORD`] bytes for each entry, then all
    /// paths one after the other.
    data: Box<[u8]>,
    /// How many entries there are.
    len: usize,
}

/// Bytes of a record: where path, copy source and next path begin in the text (four each), the
/// revision of the copy source or `u64::MAX` (eight), flags (two), padding.
const RECORD: usize = 24;

/// A record, taken apart.
#[derive(Clone, Copy)]
struct Record {
    start: u32,
    source: u32,
    end: u32,
    copy_rev: u64,
    flags: [u8; 2],
}

impl Record {
    fn write(self, out: &mut Vec<u8>) {
        let [low, high] = self.flags;
        out.extend(self.start.to_le_bytes());
        out.extend(self.source.to_le_bytes());
        out.extend(self.end.to_le_bytes());
        out.extend(self.copy_rev.to_le_bytes());
        out.extend([low, high, 0, 0]);
    }

    fn read(bytes: &[u8]) -> Option<Self> {
        let (start, rest) = bytes.split_first_chunk()?;
        let (source, rest) = rest.split_first_chunk()?;
        let (end, rest) = rest.split_first_chunk()?;
        let (copy_rev, rest) = rest.split_first_chunk()?;
        let (flags, _) = rest.split_first_chunk()?;
        Some(Self {
            start: u32::from_le_bytes(*start),
            source: u32::from_le_bytes(*source),
            end: u32::from_le_bytes(*end),
            copy_rev: u64::from_le_bytes(*copy_rev),
            flags: *flags,
        })
    }
}

/// Kinds in the low flags: what happened, and to what.
const fn kinds(kind: ChangeKind, node_kind: Option<NodeKind>) -> u8 {
    let kind = match kind {
        ChangeKind::Modify => 0,
        ChangeKind::Add => 1,
        ChangeKind::Delete => 2,
        ChangeKind::Replace => 3,
    };
    let node_kind = match node_kind {
        None => 0,
        Some(NodeKind::File) => 4,
        Some(NodeKind::Dir) => 8,
    };
    kind | node_kind
}

/// Modifications in the high flags.
const fn modifications(change: &ChangedPath<'_>) -> u8 {
    let text = if change.text_mod { 1 } else { 0 };
    let props = if change.prop_mod { 2 } else { 0 };
    let mergeinfo = match change.mergeinfo_mod {
        None => 0,
        Some(false) => 4,
        Some(true) => 8,
    };
    text | props | mergeinfo
}

impl ChangedPaths {
    /// How many paths changed.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Whether nothing changed.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The entries, in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = ChangedPath<'_>> + DoubleEndedIterator {
        let (records, text) = self.parts();
        // Each record is well formed: `build` made it so.
        records.chunks_exact(RECORD).map(move |record| {
            Record::read(record).and_then(|r| view(r, text)).unwrap_or(ChangedPath {
                path: FsPath::ROOT,
                kind: ChangeKind::Modify,
                node_kind: None,
                text_mod: false,
                prop_mod: false,
                mergeinfo_mod: None,
                copy_from: None,
            })
        })
    }

    /// The entry at place `at`.
    #[must_use]
    pub fn get(&self, at: usize) -> Option<ChangedPath<'_>> {
        let (records, text) = self.parts();
        let record = records.get(at.checked_mul(RECORD)?..)?;
        view(Record::read(record)?, text)
    }

    /// The entry of `path` itself.
    #[must_use]
    pub fn find(&self, path: &FsPath) -> Option<ChangedPath<'_>> {
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let middle = low.midpoint(high);
            let entry = self.get(middle)?;
            match sapwood_core::path::compare(entry.path, path) {
                Ordering::Less => low = middle.plus(1),
                Ordering::Greater => high = middle,
                Ordering::Equal => return Some(entry),
            }
        }
        None
    }

    /// Bytes that the list takes, for cache accounting.
    #[must_use]
    pub fn byte_len(&self) -> usize {
        self.data.len().plus(size_of::<Self>())
    }

    /// The records and the text.
    fn parts(&self) -> (&[u8], &[u8]) {
        let records = self.len.times(RECORD);
        (self.data.head(records), self.data.tail(records))
    }

    /// Collects entries in any order; of entries with the same path the last one stays. `None`
    /// when the paths together exceed 4 GiB.
    #[must_use]
    pub fn build<'a>(changes: impl Iterator<Item = ChangedPath<'a>>) -> Option<Self> {
        let mut changes: Vec<ChangedPath<'a>> = changes.collect();
        let in_order = |a: &ChangedPath<'_>, b: &ChangedPath<'_>| {
            sapwood_core::path::compare(a.path, b.path).is_lt()
        };
        if !changes.is_sorted_by(in_order) {
            changes.sort_by(|a, b| sapwood_core::path::compare(a.path, b.path));
            // Keep the last of equal paths.
            changes.reverse();
            changes.dedup_by(|a, b| a.path == b.path);
            changes.reverse();
        }
        let text_len = changes.iter().fold(0usize, |sum, change| {
            let source = change.copy_from.map_or(0, |(_, path)| path.len());
            sum.plus(change.path.len()).plus(source)
        });
        u32::try_from(text_len).ok()?;
        let records = changes.len().checked_mul(RECORD)?;
        let mut data = Vec::with_capacity(records.checked_add(text_len)?);
        let mut at = 0usize;
        for change in &changes {
            let start = u32::try_from(at).ok()?;
            at = at.checked_add(change.path.len())?;
            let source = u32::try_from(at).ok()?;
            at = at.checked_add(change.copy_from.map_or(0, |(_, path)| path.len()))?;
            let record = Record {
                start,
                source,
                end: u32::try_from(at).ok()?,
                copy_rev: change.copy_from.map_or(u64::MAX, |(revision, _)| revision.0),
                flags: [kinds(change.kind, change.node_kind), modifications(change)],
            };
            record.write(&mut data);
        }
        for change in &changes {
            data.extend_from_slice(change.path.as_bytes());
            if let Some((_, path)) = change.copy_from {
                data.extend_from_slice(path.as_bytes());
            }
        }
        Some(Self { data: data.into_boxed_slice(), len: changes.len() })
    }
}

fn view(record: Record, text: &[u8]) -> Option<ChangedPath<'_>> {
    let slice = |from: u32, to: u32| {
        let range = usize::try_from(from).ok()?..usize::try_from(to).ok()?;
        std::str::from_utf8(text.get(range)?).ok().map(FsPath::trusted)
    };
    let [low, high] = record.flags;
    let copy_from = match record.copy_rev {
        u64::MAX => None,
        revision => Some((Revnum(revision), slice(record.source, record.end)?)),
    };
    Some(ChangedPath {
        path: slice(record.start, record.source)?,
        kind: match low & 3 {
            0 => ChangeKind::Modify,
            1 => ChangeKind::Add,
            2 => ChangeKind::Delete,
            _ => ChangeKind::Replace,
        },
        node_kind: match low & 12 {
            4 => Some(NodeKind::File),
            8 => Some(NodeKind::Dir),
            _ => None,
        },
        text_mod: high & 1 != 0,
        prop_mod: high & 2 != 0,
        mergeinfo_mod: match high & 12 {
            4 => Some(false),
            8 => Some(true),
            _ => None,
        },
        copy_from,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use sapwood_testkit::fspath;

    fn change(n: usize, path: &FsPath) -> ChangedPath<'_> {
        let bit = |k: u32| (n >> k) & 1 == 1;
        ChangedPath {
            path,
            kind: [ChangeKind::Modify, ChangeKind::Add, ChangeKind::Delete, ChangeKind::Replace]
                [n & 3],
            node_kind: [None, Some(NodeKind::File), Some(NodeKind::Dir)][(n >> 2) % 3],
            text_mod: bit(4),
            prop_mod: bit(5),
            mergeinfo_mod: [None, Some(true), Some(false)][(n >> 6) % 3],
            copy_from: bit(8).then_some((Revnum(7), path)),
        }
    }

    proptest! {
        #[test]
        fn keeps_the_last_of_each_path(
            list in prop::collection::vec((0usize..512, "(/[a-c é]{1,2}){1,3}"), 0..20)
        ) {
            let built = ChangedPaths::build(list.iter().map(|(n, p)| change(*n, fspath(p)))).unwrap();
            let mut want: Vec<ChangedPath<'_>> = Vec::new();
            for (n, path) in &list {
                want.retain(|c| c.path != path);
                want.push(change(*n, fspath(path)));
            }
            want.sort_by(|a, b| sapwood_core::path::compare(a.path, b.path));
            prop_assert!(built.iter().eq(want.iter().copied()));
            for (at, c) in want.iter().enumerate() {
                prop_assert_eq!(built.get(at), Some(*c));
                prop_assert_eq!(built.find(c.path), Some(*c));
            }
            prop_assert_eq!(built.find(fspath("/nowhere")), None);
            prop_assert_eq!(built.get(want.len()), None);
        }
    }
}
