//! The bytes of a checkpoint: the state after an entry. `docs/formats/repository-log.md` has the format.
//!
//! Invariant: the bytes follow from the log alone, so that all writers of a checkpoint of an entry write the same bytes; what is
//! read is written back the same, byte for byte.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use sapwood_core::exact::Exact as _;
use sapwood_core::len64;

use crate::digest::Digest;
use crate::lines::{
    Reader, close, digest, field, number, numbers, object, path_of, shown, token, unknown,
};
use crate::rep_index::RepTable;
use crate::reps::Rep;
use crate::state::{EntrySegment, File, Location, PackedShard, RevisionData, State, segment_end};
use crate::table::Form;

/// The first line.
const MAGIC: &str = "sapwood-checkpoint 2";

/// The state after an entry, and what the chain goes on from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checkpoint {
    /// The number of the entry.
    pub slot: u64,
    /// The sum of the entry as it is stored.
    pub last: Digest,
    /// What the entries up to it say.
    pub state: State,
}

/// The bytes of the checkpoint of an entry.
#[must_use]
pub fn write(slot: u64, last: Digest, state: &State) -> Vec<u8> {
    let State { repository, revisions, files, packs, data, props, segments, segmented, reps } =
        state;
    let mut out = format!(
        "{MAGIC}\nslot {slot}\nrepository {repository}\nlast {last}\nrevisions {revisions}\n\
         segmented {segmented}\n"
    );
    for (path, File { executable, bytes }) in files {
        let word = if *executable { "program" } else { "file" };
        let _ = writeln!(out, "{word} {} {path}", located(bytes));
    }
    for (first, PackedShard { count, data, props, slot }) in packs {
        let _ = writeln!(out, "pack {first} {count} {slot} {} {}", shown(data), shown(props));
    }
    for (revision, data) in data {
        let _ = match data {
            RevisionData::Inline(location) => {
                writeln!(out, "revision {revision} {}", located(location))
            }
            RevisionData::Big(object, slot) => {
                writeln!(out, "big {revision} {slot} {}", shown(object))
            }
        };
    }
    for (revision, location) in props {
        let _ = writeln!(out, "props {revision} {}", located(location));
    }
    for (first, EntrySegment { lens, data, slot }) in segments {
        let _ = writeln!(out, "seg {first} {slot} {} {}", shown(data), numbers(lens));
    }
    for (first, RepTable { end, form, data, slot }) in reps.tables() {
        let _ = writeln!(out, "table {first} {end} {slot} {} {}", form.rows(), shown(data));
    }
    for (slot, rep) in reps.rows() {
        let _ = writeln!(out, "rep {slot} {}", rep.shown());
    }
    let mut out = out.into_bytes();
    close(&mut out);
    out
}

fn located(Location { slot, at, len, digest }: &Location) -> String {
    format!("{slot} {at} {len} {digest}")
}

/// Parses a checkpoint.
///
/// # Errors
/// What is wrong, as the end of a sentence about it.
pub fn parse(bytes: &[u8]) -> Result<Checkpoint, String> {
    let mut reader = Reader::new(bytes)?;
    if reader.line()? != MAGIC {
        return Err("has a format that is not known".to_owned());
    }
    let slot = number(field(reader.line()?, "slot")?)?;
    let mut state = State::new(token(field(reader.line()?, "repository")?)?);
    let last = digest(field(reader.line()?, "last")?)?;
    state.revisions = number(field(reader.line()?, "revisions")?)?;
    state.segmented = earlier(field(reader.line()?, "segmented")?, slot)?;
    let mut order = Order::default();
    while !reader.is_at_end() {
        let line = reader.line()?;
        add(&mut state, &mut order, slot, line)?;
    }
    Ok(Checkpoint { slot, last, state })
}

/// How far a checkpoint was read: its lines have one order.
#[derive(Default)]
struct Order {
    kind: u8,
}

impl Order {
    /// Goes on to a line of a kind.
    fn reach(&mut self, kind: u8, line: &str) -> Result<(), String> {
        if kind < self.kind {
            return Err(unknown(line));
        }
        self.kind = kind;
        Ok(())
    }
}

/// Adds what a line says.
fn add(state: &mut State, order: &mut Order, newest: u64, line: &str) -> Result<(), String> {
    let fields: Vec<&str> = line.split(' ').collect();
    let at = |slot: &str, at: &str, len: &str, sum: &str| -> Result<Location, String> {
        let slot = earlier(slot, newest)?;
        let (at, len) = (number(at)?, number(len)?);
        let short = |number: u64| usize::try_from(number).map_err(|_| unknown(line));
        at.checked_add(len).ok_or_else(|| unknown(line))?;
        Ok(Location { slot, at: short(at)?, len: short(len)?, digest: digest(sum)? })
    };
    match fields.as_slice() {
        [word @ ("file" | "program"), slot, begin, len, sum, ..] => {
            order.reach(0, line)?;
            let path = path_of(line.splitn(6, ' ').last().unwrap_or(""))?.into_owned();
            let bytes = at(slot, begin, len, sum)?;
            insert(&mut state.files, path, File { executable: *word == "program", bytes }, line)
        }
        ["pack", first, count, slot, a, b, c, d, e, f] => {
            order.reach(1, line)?;
            let (first, count) = (number(first)?, number(count)?);
            let end = first.checked_add(count).filter(|end| *end <= state.revisions && count > 0);
            let before = state.packs.last_key_value();
            let apart = before.is_none_or(|(at, pack)| at.plus(pack.count) <= first);
            end.filter(|_| apart).ok_or_else(|| unknown(line))?;
            let (data, props) = (object(a, b, c)?, object(d, e, f)?);
            let slot = earlier(slot, newest)?;
            insert(&mut state.packs, first, PackedShard { count, data, props, slot }, line)
        }
        ["revision", revision, slot, begin, len, sum] => {
            order.reach(2, line)?;
            let data = RevisionData::Inline(at(slot, begin, len, sum)?);
            insert(&mut state.data, known(revision, state.revisions)?, data, line)
        }
        ["big", revision, slot, name, len, sum] => {
            order.reach(2, line)?;
            let data = RevisionData::Big(object(name, len, sum)?, earlier(slot, newest)?);
            insert(&mut state.data, known(revision, state.revisions)?, data, line)
        }
        ["props", revision, slot, begin, len, sum] => {
            order.reach(3, line)?;
            let location = at(slot, begin, len, sum)?;
            insert(&mut state.props, known(revision, state.revisions)?, location, line)
        }
        ["seg", first, slot, name, len, sum, lens @ ..] => {
            order.reach(4, line)?;
            let first = number(first)?;
            let lens = lens.iter().map(|len| number(len)).collect::<Result<Vec<_>, _>>()?;
            let data = object(name, len, sum)?;
            let end = segment_end(first, &lens, &data).filter(|end| *end <= state.segmented);
            let before = state.segments.last_key_value();
            let apart = before.is_none_or(|(at, s)| at.plus(len64(s.lens.len())) <= first);
            end.filter(|_| apart).ok_or_else(|| unknown(line))?;
            let slot = earlier(slot, newest)?;
            insert(&mut state.segments, first, EntrySegment { lens, data, slot }, line)
        }
        fields => add_representations(state, order, newest, fields, line),
    }
}

/// Adds what a line says of representations: a table of them, or one that is in no table.
fn add_representations(
    state: &mut State,
    order: &mut Order,
    newest: u64,
    fields: &[&str],
    line: &str,
) -> Result<(), String> {
    match fields {
        ["table", first, end, slot, rows, name, len, sum] => {
            order.reach(5, line)?;
            let (first, end, slot) = (number(first)?, number(end)?, earlier(slot, newest)?);
            let form = Form::new(number(rows)?).ok_or_else(|| unknown(line))?;
            let table = RepTable { end, form, data: object(name, len, sum)?, slot };
            let follows = first == state.reps.tabled() && state.reps.fits(slot, first, &table);
            follows.then(|| state.reps.put_table(first, table)).ok_or_else(|| unknown(line))
        }
        ["rep", slot, row] => {
            order.reach(6, line)?;
            let slot = earlier(slot, newest)?;
            let rep = Rep::parse_shown(row).filter(|rep| rep.revision < state.revisions);
            let rep = rep.ok_or_else(|| unknown(line))?;
            let fits = slot >= state.reps.tabled() && state.reps.comes_last(&rep);
            fits.then(|| state.reps.add(slot, &[rep])).ok_or_else(|| unknown(line))
        }
        _ => Err(unknown(line)),
    }
}

/// Adds what must come after all that is there.
fn insert<K: Ord, V>(map: &mut BTreeMap<K, V>, key: K, value: V, line: &str) -> Result<(), String> {
    if map.last_key_value().is_some_and(|(last, _)| *last >= key) {
        return Err(unknown(line));
    }
    map.insert(key, value);
    Ok(())
}

/// The number of an entry that is not behind the checkpoint's.
fn earlier(text: &str, newest: u64) -> Result<u64, String> {
    let slot = number(text)?;
    if slot > newest {
        return Err(format!("names entry {text}, which comes after it"));
    }
    Ok(slot)
}

/// The number of a revision that is there.
fn known(text: &str, revisions: u64) -> Result<u64, String> {
    let revision = number(text)?;
    if revision >= revisions {
        return Err(format!("names revision {text}, which is not there"));
    }
    Ok(revision)
}

/// The bytes of a hint.
#[must_use]
pub fn write_hint(slot: u64) -> Vec<u8> {
    format!("{slot}\n").into_bytes()
}

/// What a hint says, if it says anything.
#[must_use]
pub fn parse_hint(bytes: &[u8]) -> Option<u64> {
    number(str::from_utf8(bytes).ok()?.strip_suffix('\n')?).ok()
}

/// When the next checkpoint is due: how much came since the newest that is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Due {
    /// Entries since then.
    pub(crate) entries: u64,
    /// Their bytes.
    pub(crate) bytes: u64,
    /// The length of that checkpoint.
    pub(crate) len: u64,
}

/// Entries after which a checkpoint is due that is not long.
pub(crate) const ENTRIES: u64 = 256;
/// Bytes of entries after which it is, if it is not longer than that.
const BYTES: u64 = 1 << 20;
/// Bytes of a checkpoint by which that number of entries grows.
const LONG: u64 = 4 << 20;

impl Due {
    /// Entries after which a checkpoint is due. The longer a checkpoint is, the rarer it is written: it is read at each
    /// start, and so many entries more cost a start nothing that counts beside it.
    pub(crate) fn entries_between(&self) -> u64 {
        ENTRIES.times((self.len / LONG).plus(1))
    }

    pub(crate) fn is_due(&self) -> bool {
        self.entries >= self.entries_between() || self.bytes >= BYTES.max(self.len)
    }

    /// One more entry.
    pub(crate) fn count(&mut self, stored: &[u8]) {
        self.entries.tally(1);
        self.bytes.tally(len64(stored.len()));
    }
}
