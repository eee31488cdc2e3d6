//! Directories: a hash dump of names to `file ID` or `dir ID`, and the incremental form that
//! transactions append changes in.

use std::collections::BTreeMap;

use sapwood_core::NodeKind;
use sapwood_core::hashdump::{self, END, Entry, Reader};
use sapwood_core::rawname;

use crate::error::{Error, Result};
use crate::id::NodeRevId;
use crate::text;

/// One entry, borrowed from the bytes it was parsed from or from a [`Directory`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DirEntryRef<'a> {
    /// The name, one path component.
    pub name: &'a str,
    /// File or directory.
    pub kind: NodeKind,
    /// The entry's node-revision.
    pub id: NodeRevId,
}

impl<'a> DirEntryRef<'a> {
    fn parse(name: &'a [u8], value: &[u8], names: Names) -> Result<Self> {
        let corrupt = || Error::corrupt("Directory entry corrupt");
        let mut rest = value;
        let kind = text::word(&mut rest).and_then(NodeKind::from_word).ok_or_else(corrupt)?;
        let id = NodeRevId::parse(text::word(&mut rest).ok_or_else(corrupt)?)?;
        Ok(Self { name: component(name, names)?, kind, id })
    }

    /// Appends the entry's part of the hash dump. `value` is scratch space.
    pub fn write(&self, out: &mut Vec<u8>, value: &mut Vec<u8>) {
        value.clear();
        value.extend_from_slice(self.kind.word().as_bytes());
        value.push(b' ');
        self.id.write(value);
        hashdump::write_entry(out, &rawname::to_bytes(self.name), value);
    }
}

/// What to take for text: names as they are, or as [`rawname`] spells them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Names {
    Plain,
    Raw,
}

fn component(name: &[u8], names: Names) -> Result<&str> {
    let fits = match names {
        Names::Plain => memchr::memchr2(b'/', 0, name).is_none(),
        Names::Raw => memchr::memchr(b'/', name).is_none(),
    };
    let fits = fits && !name.is_empty();
    std::str::from_utf8(name).ok().filter(|_| fits).ok_or_else(|| {
        Error::corrupt(format!("Directory entry with the malformed name '{}'", text::shown(name)))
    })
}

/// About how many bytes an entry takes in a hash dump, and how large a part of them the name is:
/// where allocations begin.
const ENTRY_LEN: usize = 48;
const NAME_SHARE: usize = 3;

/// A whole directory in two allocations, sorted bytewise by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Directory {
    names: Box<str>,
    entries: Box<[Slot]>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Slot {
    start: u32,
    len: u32,
    kind: NodeKind,
    id: NodeRevId,
}

#[allow(clippy::missing_errors_doc)]
impl Directory {
    /// Parses the hash dump that is a committed directory's text. Duplicate names, or names that
    /// are not one path component, are corruption. Names that are not UTF-8 are spelt as
    /// [`rawname`] says.
    pub fn parse(bytes: &[u8]) -> Result<Self> {
        Self::parse_names(bytes, Names::Plain).or_else(|error| {
            let Some(bytes) = spell_names(Reader::new(bytes, Some(END)), false) else {
                return Err(error);
            };
            Self::parse_names(&bytes, Names::Raw)
        })
    }

    fn parse_names(bytes: &[u8], names: Names) -> Result<Self> {
        match Self::parse_sorted(bytes, names)? {
            Some(dir) => Ok(dir),
            None => Self::parse_unsorted(bytes, names),
        }
    }

    /// The usual case, in one pass; `None` when the names are not in order.
    fn parse_sorted(bytes: &[u8], spelling: Names) -> Result<Option<Self>> {
        let mut names = String::with_capacity(bytes.len().checked_div(NAME_SHARE).unwrap_or(0));
        let mut entries: Vec<Slot> =
            Vec::with_capacity(bytes.len().checked_div(ENTRY_LEN).unwrap_or(0));
        let mut before = "";
        for entry in (DirEntries { names: spelling, ..DirEntries::new(bytes) }) {
            let entry = entry?;
            if entry.name <= before {
                return Ok(None);
            }
            before = entry.name;
            entries.push(Self::slot(&entry, &mut names)?);
        }
        Ok(Some(Self { names: names.into_boxed_str(), entries: entries.into_boxed_slice() }))
    }

    fn parse_unsorted(bytes: &[u8], names: Names) -> Result<Self> {
        let mut all = DirEntries { names, ..DirEntries::new(bytes) }.collect::<Result<Vec<_>>>()?;
        all.sort_by(|a, b| a.name.cmp(b.name));
        if let Some(name) = all.array_windows().find(|[a, b]| a.name == b.name) {
            let [a, _] = name;
            return Err(Error::corrupt(format!("Directory has two entries named '{}'", a.name)));
        }
        Self::from_sorted(&all)
    }

    /// Puts the name of an entry behind the others.
    fn slot(entry: &DirEntryRef<'_>, names: &mut String) -> Result<Slot> {
        let fits = |n: usize| {
            u32::try_from(n).map_err(|_| Error::TooLarge {
                what: "directory",
                size: u64::try_from(n).unwrap_or(u64::MAX),
                limit: u64::from(u32::MAX),
            })
        };
        let (start, len) = (fits(names.len())?, fits(entry.name.len())?);
        names.push_str(entry.name);
        Ok(Slot { start, len, kind: entry.kind, id: entry.id })
    }

    /// Parses a transaction's `.children` file: a hash dump, then changes.
    pub fn parse_incremental(bytes: &[u8]) -> Result<Self> {
        Self::parse_changes(bytes, Names::Plain).or_else(|error| {
            let base = Reader::incremental(bytes, Some(END));
            let Some(bytes) = spell_names(base, true) else { return Err(error) };
            Self::parse_changes(&bytes, Names::Raw)
        })
    }

    fn parse_changes(bytes: &[u8], names: Names) -> Result<Self> {
        let mut all = BTreeMap::new();
        let mut base = Reader::incremental(bytes, Some(END));
        Self::apply(&mut all, &mut base, names)?;
        Self::apply(&mut all, &mut Reader::incremental(base.rest(), None), names)?;
        Self::from_sorted(&all.into_values().collect::<Vec<_>>())
    }

    fn apply<'a>(
        all: &mut BTreeMap<&'a str, DirEntryRef<'a>>,
        changes: &mut Reader<'a>,
        names: Names,
    ) -> Result<()> {
        while let Some(change) = changes.next_entry()? {
            match change {
                Entry::Set { name, value } => {
                    let entry = DirEntryRef::parse(name, value, names)?;
                    all.insert(entry.name, entry);
                }
                Entry::Delete { name } => {
                    all.remove(component(name, names)?);
                }
            }
        }
        Ok(())
    }

    fn from_sorted(all: &[DirEntryRef<'_>]) -> Result<Self> {
        let total = all.iter().map(|e| e.name.len()).sum::<usize>();
        let mut builder = DirectoryBuilder::new(all.len(), total);
        all.iter().try_for_each(|entry| builder.push(entry))?;
        Ok(builder.finish())
    }

    /// How many entries.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The entry at a position in the order of names.
    #[must_use]
    pub fn get(&self, at: usize) -> Option<DirEntryRef<'_>> {
        self.entries.get(at).map(|slot| self.view(slot))
    }

    /// The entry called `name`, by binary search.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<DirEntryRef<'_>> {
        self.get(self.entries.binary_search_by(|slot| self.name(slot).cmp(name)).ok()?)
    }

    /// As [`Directory::find`] for one who goes through names in order: `hint` is where the name
    /// may be, and is set to where the next one may be.
    #[must_use]
    pub fn find_next(&self, name: &str, hint: &mut usize) -> Option<DirEntryRef<'_>> {
        if self.entries.get(*hint).is_none_or(|slot| self.name(slot) != name) {
            match self.entries.binary_search_by(|slot| self.name(slot).cmp(name)) {
                Ok(at) => *hint = at,
                Err(at) => {
                    *hint = at;
                    return None;
                }
            }
        }
        let found = self.get(*hint);
        *hint = hint.saturating_add(1);
        found
    }

    /// The entries in the bytewise order of their names.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = DirEntryRef<'_>> + DoubleEndedIterator {
        self.entries.iter().map(|slot| self.view(slot))
    }

    /// Appends the hash dump.
    pub fn write(&self, out: &mut Vec<u8>) {
        let mut value = Vec::new();
        self.iter().for_each(|entry| entry.write(out, &mut value));
        hashdump::write_terminator(out, END);
    }

    /// Bytes of all names together.
    #[must_use]
    pub const fn names_len(&self) -> usize {
        self.names.len()
    }

    /// Bytes of memory it takes, for cache accounting.
    #[must_use]
    pub fn byte_len(&self) -> usize {
        size_of::<Self>() + self.names.len() + size_of_val(&*self.entries)
    }

    fn name(&self, slot: &Slot) -> &str {
        let start = usize::try_from(slot.start).unwrap_or(0);
        let end = usize::try_from(slot.len).unwrap_or(0).saturating_add(start);
        self.names.get(start..end).unwrap_or_default()
    }

    fn view(&self, slot: &Slot) -> DirEntryRef<'_> {
        DirEntryRef { name: self.name(slot), kind: slot.kind, id: slot.id }
    }
}

/// Makes a directory of entries that come in the order of their names.
#[derive(Debug)]
pub struct DirectoryBuilder {
    names: String,
    entries: Vec<Slot>,
}

#[allow(clippy::missing_errors_doc)]
impl DirectoryBuilder {
    /// For about so many entries, and so many bytes of names.
    #[must_use]
    pub fn new(entries: usize, names: usize) -> Self {
        Self { names: String::with_capacity(names), entries: Vec::with_capacity(entries) }
    }

    /// Adds an entry, whose name must come after the names before.
    pub fn push(&mut self, entry: &DirEntryRef<'_>) -> Result<()> {
        self.entries.push(Directory::slot(entry, &mut self.names)?);
        Ok(())
    }

    /// The directory.
    #[must_use]
    pub fn finish(self) -> Directory {
        Directory { names: self.names.into_boxed_str(), entries: self.entries.into_boxed_slice() }
    }
}

/// The entries of a directory's hash dump as they are stored, without allocating. Ends after an
/// error.
#[derive(Clone, Debug)]
pub struct DirEntries<'a> {
    entries: Reader<'a>,
    names: Names,
    failed: bool,
}

impl<'a> DirEntries<'a> {
    /// Reads the hash dump `bytes`.
    #[must_use]
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self { entries: Reader::new(bytes, Some(END)), names: Names::Plain, failed: false }
    }

    fn take(&mut self) -> Result<Option<DirEntryRef<'a>>> {
        match self.entries.next_entry()? {
            Some(Entry::Set { name, value }) => {
                DirEntryRef::parse(name, value, self.names).map(Some)
            }
            Some(Entry::Delete { .. }) | None => Ok(None),
        }
    }
}

impl<'a> Iterator for DirEntries<'a> {
    type Item = Result<DirEntryRef<'a>>;
    fn next(&mut self) -> Option<Self::Item> {
        if self.failed {
            return None;
        }
        let taken = self.take().transpose();
        self.failed = matches!(taken, Some(Err(_)));
        taken
    }
}

/// The hash dump that `base` reads, and (with `changes`) the changes that follow it, with names
/// that are not UTF-8 spelt as [`rawname`] says. `None` when there is no such name, or more wrong.
fn spell_names(mut base: Reader<'_>, changes: bool) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    let mut any = false;
    spell_part(&mut base, &mut out, &mut any)?;
    hashdump::write_terminator(&mut out, END);
    if changes {
        spell_part(&mut Reader::incremental(base.rest(), None), &mut out, &mut any)?;
    }
    any.then_some(out)
}

fn spell_part(part: &mut Reader<'_>, out: &mut Vec<u8>, any: &mut bool) -> Option<()> {
    while let Some(entry) = part.next_entry().ok()? {
        let (name, value) = match entry {
            Entry::Set { name, value } => (name, Some(value)),
            Entry::Delete { name } => (name, None),
        };
        let name = rawname::from_bytes(name)?;
        *any |= rawname::is_raw(&name);
        match value {
            Some(value) => hashdump::write_entry(out, name.as_bytes(), value),
            None => hashdump::write_deletion(out, name.as_bytes()),
        }
    }
    Some(())
}

/// Appends one change to a transaction's `.children` file: a new entry, or a deletion.
pub fn write_increment(name: &str, entry: Option<(NodeKind, NodeRevId)>, out: &mut Vec<u8>) {
    match entry {
        Some((kind, id)) => DirEntryRef { name, kind, id }.write(out, &mut Vec::new()),
        None => hashdump::write_deletion(out, &rawname::to_bytes(name)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAMPLE: &str = "K 1\nA\nV 14\ndir 0-1.0.r1/3\nK 7\na b.txt\nV 13\nfile 2.0.r9/8\nEND\n";

    #[test]
    fn sample_round_trips() {
        let dir = Directory::parse(SAMPLE.as_bytes()).unwrap();
        assert_eq!(dir.len(), 2);
        assert_eq!(dir.find("A").unwrap().kind, NodeKind::Dir);
        assert_eq!(dir.find("a b.txt").unwrap().id.to_string(), "2.0.r9/8");
        assert_eq!(dir.find("b"), None);
        let mut out = Vec::new();
        dir.write(&mut out);
        assert_eq!(String::from_utf8(out).unwrap(), SAMPLE);
        assert!(Directory::parse(b"END\n").unwrap().is_empty());
    }

    #[test]
    fn unsorted_input_is_sorted_and_duplicates_are_refused() {
        let two = |a: &str, b: &str| {
            format!("K 1\n{a}\nV 13\nfile 2.0.r9/8\nK 1\n{b}\nV 13\nfile 2.0.r9/8\nEND\n")
        };
        let dir = Directory::parse(two("b", "a").as_bytes()).unwrap();
        assert_eq!(dir.iter().map(|e| e.name).collect::<Vec<_>>(), ["a", "b"]);
        assert!(Directory::parse(two("a", "a").as_bytes()).is_err());
    }

    #[test]
    fn increments() {
        let mut bytes = SAMPLE.as_bytes().to_vec();
        let id = NodeRevId::parse(b"_0.0.t9-1").unwrap();
        write_increment("new", Some((NodeKind::File, id)), &mut bytes);
        write_increment("A", None, &mut bytes);
        write_increment("gone", None, &mut bytes);
        let dir = Directory::parse_incremental(&bytes).unwrap();
        assert_eq!(dir.iter().map(|e| e.name).collect::<Vec<_>>(), ["a b.txt", "new"]);
        assert!(Directory::parse(&bytes).is_ok_and(|d| d.len() == 2));
        assert!(Directory::parse_incremental(&bytes[..bytes.len() - 1]).is_err());
        assert!(Directory::parse_incremental(b"").is_err());
    }

    #[test]
    fn damage_is_an_error() {
        for len in 0..SAMPLE.len() - 1 {
            assert!(Directory::parse(&SAMPLE.as_bytes()[..len]).is_err(), "{len}");
        }
        for (from, to) in [
            ("dir 0", "die 0"),
            ("K 1\nA", "K 1\n/"),
            ("K 1\nA", "K 0\n"),
            ("K 1\nA", "K 9999999999999999999\nA"),
            ("V 14", "V 13"),
            ("V 14", "V -1"),
            ("V 14", "W 14"),
            ("0-1.0.r1/3", "0-1.0.r1.3"),
            ("K 7", "D 7"),
        ] {
            assert!(Directory::parse(SAMPLE.replacen(from, to, 1).as_bytes()).is_err(), "{to}");
        }
    }
}
