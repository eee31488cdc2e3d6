//! Directories: a hash dump of names to `file ID` or `dir ID`, and the incremental form that
//! transactions append changes in.

use sapwood_core::{Cut, Exact, len64};
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
        Error::corrupt(format!(
            "Directory entry with the malformed name '{}'",
            text::printable(name)
        ))
    })
}

/// About how many bytes an entry takes in a hash dump, and how large a part of them the name is:
/// where allocations begin.
const ENTRY_LEN: usize = 48;
const NAME_SHARE: usize = 3;

/// A whole directory in two allocations, sorted bytewise by name. It may know where its entries
/// are in the hash dump that it was parsed from.
#[derive(Clone, Debug, Default)]
pub struct Directory {
    names: Box<str>,
    entries: Box<[Slot]>,
    /// Where the entries of the hash dump end, if it is known where they begin.
    text_end: Option<u32>,
}

impl PartialEq for Directory {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len() && self.iter().eq(other.iter())
    }
}

impl Eq for Directory {}

#[derive(Clone, Copy, Debug)]
struct Slot {
    start: u32,
    len: u32,
    /// Where the entry begins in the hash dump.
    text: u32,
    kind: NodeKind,
    id: NodeRevId,
}

#[allow(clippy::missing_errors_doc, reason = "all: `Error` says what is wrong with the bytes")]
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
        let mut reader = DirEntries { names: spelling, ..DirEntries::new(bytes) };
        let mut at = 0;
        while let Some(entry) = reader.next() {
            let entry = entry?;
            if entry.name <= before {
                return Ok(None);
            }
            before = entry.name;
            entries.push(Self::slot(&entry, at, &mut names)?);
            at = bytes.len().minus(reader.entries.rest().len());
        }
        // Names that had to be spelt are not those of the text.
        let text_end = u32::try_from(at).ok().filter(|_| spelling == Names::Plain);
        let (names, entries) = (names.into_boxed_str(), entries.into_boxed_slice());
        Ok(Some(Self { names, entries, text_end }))
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

    /// Puts the name of an entry, which begins at `text`, behind the others.
    fn slot(entry: &DirEntryRef<'_>, text: usize, names: &mut String) -> Result<Slot> {
        let (start, len) = (fits(names.len())?, fits(entry.name.len())?);
        names.push_str(entry.name);
        Ok(Slot { start, len, text: fits(text)?, kind: entry.kind, id: entry.id })
    }

    /// What becomes of this directory by some changes, in the order of their names, and its hash
    /// dump: `text` is the present one, of which is taken over what stays. `None` when it is not
    /// known where the entries are in it.
    pub fn change<'a>(
        &self,
        text: &[u8],
        changes: impl Iterator<Item = (&'a str, Option<(NodeKind, NodeRevId)>)>,
    ) -> Result<Option<(Self, Vec<u8>)>> {
        let end = self.text_end.and_then(|end| usize::try_from(end).ok());
        let Some(text) = end.and_then(|end| {
            let (entries, terminator) = text.split_at_checked(end)?;
            (terminator == TERMINATOR).then_some(entries)
        }) else {
            return Ok(None);
        };
        let mut new = DirectoryUpdate::new(self, text);
        for (name, now) in changes {
            new.change(name, now)?;
        }
        new.finish().map(Some)
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

    /// As [`Directory::find`] for a caller that goes through names in order: `hint` is where the name
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
        *hint += 1;
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
        let end = usize::try_from(slot.len).unwrap_or(0).plus(start);
        self.names.piece(start..end)
    }

    fn view(&self, slot: &Slot) -> DirEntryRef<'_> {
        DirEntryRef { name: self.name(slot), kind: slot.kind, id: slot.id }
    }
}

/// The last line of a hash dump.
const TERMINATOR: &[u8] = b"END\n";
/// Room for what comes to a directory.
const NEW_TEXT: usize = 256;

fn fits(n: usize) -> Result<u32> {
    u32::try_from(n).map_err(|_| Error::TooLarge {
        what: "directory",
        size: len64(n),
        limit: u64::from(u32::MAX),
    })
}

/// A directory and its hash dump while they are made from those before.
struct DirectoryUpdate<'a> {
    old: &'a Directory,
    old_text: &'a [u8],
    /// So many of the old entries are dealt with.
    done: usize,
    names: String,
    entries: Vec<Slot>,
    text: Vec<u8>,
    value: Vec<u8>,
}

impl<'a> DirectoryUpdate<'a> {
    fn new(old: &'a Directory, old_text: &'a [u8]) -> Self {
        Self {
            old,
            old_text,
            done: 0,
            names: String::with_capacity(old.names.len().plus(NEW_TEXT / 4)),
            entries: Vec::with_capacity(old.len().plus(1)),
            text: Vec::with_capacity(old_text.len().plus(NEW_TEXT)),
            value: Vec::new(),
        }
    }

    fn change(&mut self, name: &str, now: Option<(NodeKind, NodeRevId)>) -> Result<()> {
        let left = self.old.entries.tail(self.done);
        let (before, there) = match left.binary_search_by(|slot| self.old.name(slot).cmp(name)) {
            Ok(at) => (at, true),
            Err(at) => (at, false),
        };
        self.keep_to(self.done.plus(before))?;
        self.done = self.done.plus(usize::from(there));
        if let Some((kind, id)) = now {
            let entry = DirEntryRef { name, kind, id };
            self.entries.push(Directory::slot(&entry, self.text.len(), &mut self.names)?);
            entry.write(&mut self.text, &mut self.value);
        }
        Ok(())
    }

    /// Takes over the old entries before number `end`.
    fn keep_to(&mut self, end: usize) -> Result<()> {
        let kept = self.old.entries.piece(self.done..end);
        let Some(first) = kept.first() else { return Ok(()) };
        let place = |n: u32| sapwood_core::exact::clamped(n);
        let (names_end, text_end) = match self.old.entries.get(end) {
            Some(next) => (place(next.start), place(next.text)),
            None => (self.old.names.len(), self.old_text.len()),
        };
        let names = self.old.names.get(place(first.start)..names_end);
        let text = self.old_text.get(place(first.text)..text_end);
        let (Some(names), Some(text)) = (names, text) else {
            return Err(Error::corrupt("Directory entry corrupt"));
        };
        // What moved by so many bytes, perhaps to the front, is within what fits.
        let names_by = fits(self.names.len())?.wrapping_sub(first.start);
        let text_by = fits(self.text.len())?.wrapping_sub(first.text);
        self.names.push_str(names);
        self.text.extend_from_slice(text);
        fits(self.names.len())?;
        fits(self.text.len())?;
        self.entries.extend(kept.iter().map(|slot| Slot {
            start: slot.start.wrapping_add(names_by),
            text: slot.text.wrapping_add(text_by),
            ..*slot
        }));
        self.done = end;
        Ok(())
    }

    fn finish(mut self) -> Result<(Directory, Vec<u8>)> {
        self.keep_to(self.old.len())?;
        let text_end = Some(fits(self.text.len())?);
        self.text.extend_from_slice(TERMINATOR);
        let (names, entries) = (self.names.into_boxed_str(), self.entries.into_boxed_slice());
        Ok((Directory { names, entries, text_end }, self.text))
    }
}

/// Makes a directory of entries that come in the order of their names.
#[derive(Debug)]
pub struct DirectoryBuilder {
    names: String,
    entries: Vec<Slot>,
    text_end: Option<u32>,
}

#[allow(clippy::missing_errors_doc, reason = "all: `Error` says what is wrong with the bytes")]
impl DirectoryBuilder {
    /// For about so many entries, and so many bytes of names.
    #[must_use]
    pub fn new(entries: usize, names: usize) -> Self {
        let names = String::with_capacity(names);
        Self { names, entries: Vec::with_capacity(entries), text_end: None }
    }

    /// Adds an entry, whose name must come after the names before.
    pub fn push(&mut self, entry: &DirEntryRef<'_>) -> Result<()> {
        self.entries.push(Directory::slot(entry, 0, &mut self.names)?);
        Ok(())
    }

    /// Adds an entry, whose name must come after the names before, and appends it to the hash dump
    /// `text` that holds those and nothing else. `value` is scratch space.
    pub fn write(
        &mut self,
        entry: &DirEntryRef<'_>,
        text: &mut Vec<u8>,
        value: &mut Vec<u8>,
    ) -> Result<()> {
        self.entries.push(Directory::slot(entry, text.len(), &mut self.names)?);
        entry.write(text, value);
        self.text_end = Some(fits(text.len())?);
        Ok(())
    }

    /// The directory.
    #[must_use]
    pub fn finish(self) -> Directory {
        let (names, entries) = (self.names.into_boxed_str(), self.entries.into_boxed_slice());
        Directory { names, entries, text_end: self.text_end }
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

    /// Changing a directory with its text makes what writing all entries makes.
    #[test]
    fn changes_of_directory_and_text() {
        let id = |n: u64| NodeRevId {
            node: crate::IdPart::new(sapwood_core::Revnum(n), n * 7),
            copy: crate::IdPart::ROOT,
            location: crate::Location::Rev { revision: sapwood_core::Revnum(n), item: n % 5 },
        };
        let mut all: BTreeMap<String, (NodeKind, NodeRevId)> = BTreeMap::new();
        let mut dir = Directory::default();
        let mut text = b"END\n".to_vec();
        assert!(dir.change(&text, std::iter::empty()).unwrap().is_none());
        dir = Directory::parse(&text).unwrap();
        for round in 0..400u64 {
            let mut changes = BTreeMap::new();
            for n in 0..round % 4 {
                let name = format!("n{}", (round * 31 + n * 17) % 40 * 997);
                let now = (round * 5 + n) % 7 > 1;
                changes.insert(name, now.then(|| (NodeKind::File, id(round * round))));
            }
            for (name, now) in &changes {
                match now {
                    Some(now) => drop(all.insert(name.clone(), *now)),
                    None => drop(all.remove(name)),
                }
            }
            let list = changes.iter().map(|(name, now)| (name.as_str(), *now));
            (dir, text) = dir.change(&text, list).unwrap().unwrap();
            let (mut written, mut value) = (Vec::new(), Vec::new());
            let mut builder = DirectoryBuilder::new(0, 0);
            for (name, (kind, id)) in &all {
                let entry = DirEntryRef { name, kind: *kind, id: *id };
                builder.write(&entry, &mut written, &mut value).unwrap();
            }
            hashdump::write_terminator(&mut written, END);
            assert_eq!(text, written);
            assert_eq!(dir, Directory::parse(&text).unwrap());
            let built = builder.finish();
            assert_eq!((&built, built.text_end.unwrap_or(0)), (&dir, dir.text_end.unwrap()));
            assert!(dir.change(&text[1..], std::iter::empty()).unwrap().is_none());
        }
        // Texts in another order are read all the same, but not known by their places.
        let two = "K 1\nb\nV 13\nfile 2.0.r9/8\nK 1\na\nV 13\nfile 2.0.r9/8\nEND\n";
        let dir = Directory::parse(two.as_bytes()).unwrap();
        assert!(dir.change(two.as_bytes(), std::iter::empty()).unwrap().is_none());
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
