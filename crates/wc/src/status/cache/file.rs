//! The file of a full status and the notes after it, read into one list of directories and written.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use sapwood_watch::protocol::Token;

use super::super::listing::Stamp;
use super::super::table::Table;
use super::even::{self, UniformBase};
use super::{CacheQuery, Context, FoundDir};
use crate::change_journal::{Changes, Reader, Since, State, notes, sum, touched, write_part};
use sapwood_core::paths::RelPath;

/// The magic of the file; its number changes with the format.
const MAGIC: &[u8; 8] = b"sapstat6";
/// The first byte of a note with what a status found.
const FOUND: u8 = 2;
/// The flag of a directory that is clean.
const IN_ORDER: u8 = 1;
/// The flag of a path that is not a directory any more.
const GONE: u8 = 2;
/// The flag of a directory that is clean, and in which a revert would change nothing.
const CALM: u8 = 3;
/// The flag of a directory with files that have several hard links.
const HAS_LINKS: u8 = 0x10;
/// The flag of a file that is special, such as a link.
pub(super) const SPECIAL: u8 = 1;
/// The flag of a file that must be read-only.
pub(super) const NEEDS_LOCK: u8 = 2;
/// The flag of a file that must be executable.
pub(super) const EXECUTABLE: u8 = 4;

/// A directory in the file.
#[derive(Clone, Copy, Debug)]
pub(super) struct CachedDir<'b> {
    pub(super) dir: &'b RelPath,
    /// The stamp of a clean directory.
    pub(super) stamp: Option<Stamp>,
    /// Whether a revert would have changed nothing in it.
    pub(super) is_calm: bool,
    /// Whether some of its files have several hard links, through which they can change without the
    /// monitor seeing it.
    pub(super) has_links: bool,
    pub(super) files: &'b [u8],
}

/// All that is cached.
#[derive(Debug)]
pub(super) struct Memory<'b> {
    pub(super) token: Token,
    /// In the order of their paths.
    pub(super) all: Vec<CachedDir<'b>>,
    /// Directories that our own changes touched, which no status has looked at since.
    pub(super) touched: Vec<&'b RelPath>,
    pub(super) even: Option<UniformBase>,
    /// Whether there was a summary once that is lost.
    pub(super) lost_even: bool,
}

/// The state of a directory in a note.
#[derive(Clone, Copy)]
enum DirNote<'b> {
    /// It must be looked at.
    Touched,
    /// It was looked at.
    Found(CachedDir<'b>),
    /// It is not a versioned directory any more.
    Gone,
}

impl<'b> Memory<'b> {
    /// Reads what the file and the notes say about one state of the database, and what was touched
    /// since; `None` if the notes do not lead to that state, belong to another context, or are damaged.
    pub(super) fn read(
        file: &'b [u8],
        notes: &'b [u8],
        since: &'b Since,
        wanted: CacheQuery,
    ) -> Option<Self> {
        let (body, end) = file.split_at_checked(file.len().checked_sub(8)?)?;
        let mut reader = Reader(body.strip_prefix(MAGIC)?);
        let state = State::read(&mut reader)?;
        let found_for = read_context(&mut reader)?;
        if !wanted.has(found_for) {
            return None;
        }
        // The states are compared first: for a file that is out of date the checksum need not be
        // computed.
        let mut way = Way::between(notes, state, since.state, found_for)?;
        way.touched(since.changes.touched.iter().map(|(path, is_dir)| (path.as_path(), *is_dir)));
        if sum(body).to_le_bytes() != *end {
            return None;
        }
        let token = Token { watch: reader.u64()?, at: reader.u64()? };
        let mut even = even::read(&mut reader)?;
        let was_even = even.is_some();
        for changes in &way.changes {
            even = even.and_then(|even| even.after(changes));
        }
        even = even.and_then(|even| even.after(&since.changes));
        let lost_even = was_even && even.is_none();
        let mut all = Vec::new();
        while !reader.0.is_empty() {
            all.push(entry(&mut reader)?.0);
        }
        let mut memory = Self { token, all, touched: Vec::new(), even, lost_even };
        memory.apply(way.noted);
        Some(memory)
    }

    /// Keeps only the entries at and below a directory, which must be in the cache.
    pub(super) fn below(mut self, dir: &RelPath) -> Option<Self> {
        if !dir.is_empty() {
            self.all.retain(|one| one.dir.is_at_or_below(dir));
            self.touched.retain(|at| at.is_at_or_below(dir));
            if self.all.first()?.dir != dir {
                return None;
            }
        }
        Some(self)
    }

    fn apply(&mut self, noted: AllNoted<'b>) {
        if noted.is_empty() {
            return;
        }
        let mut all = Vec::with_capacity(self.all.len());
        let mut old = std::mem::take(&mut self.all).into_iter().peekable();
        for (dir, (what, is_dir)) in noted {
            while let Some(before) = old.next_if(|one| one.dir < dir) {
                all.push(before);
            }
            let before = old.next_if(|one| one.dir == dir);
            match what {
                // Files were only named because they might have been directories.
                DirNote::Touched if is_dir || before.is_some() => {
                    let (stamp, is_calm, has_links) = (None, false, false);
                    all.push(CachedDir { dir, stamp, is_calm, has_links, files: &[] });
                    self.touched.push(dir);
                }
                DirNote::Found(found) => all.push(found),
                DirNote::Touched | DirNote::Gone => {}
            }
        }
        all.extend(old);
        self.all = all;
    }
}

/// The states of directories in the notes, and whether each path may be a directory.
type AllNoted<'b> = BTreeMap<&'b RelPath, (DirNote<'b>, bool)>;

/// Reads the notes that lead from one state to another.
#[derive(Default)]
struct Way<'b> {
    noted: AllNoted<'b>,
    /// Joins the changes of all notes.
    changes: Vec<Changes<&'b RelPath>>,
}

impl<'b> Way<'b> {
    /// Notes that paths were touched: each path and its parent must be looked at.
    fn touched(&mut self, paths: impl Iterator<Item = (&'b RelPath, bool)>) {
        for (path, is_dir) in paths {
            if let Some(parent) = crate::db::parent_of(path) {
                self.noted.insert(parent, (DirNote::Touched, true));
            }
            // A path with nodes below it is known to be a directory.
            match self.noted.entry(path) {
                Entry::Occupied(mut known) => {
                    let is_dir = is_dir || known.get().1;
                    known.insert((DirNote::Touched, is_dir));
                }
                Entry::Vacant(new) => drop(new.insert((DirNote::Touched, is_dir))),
            }
        }
    }

    fn between(bytes: &'b [u8], from: State, to: State, context: Context) -> Option<Self> {
        let (mut at, mut way) = (from, Self::default());
        if at == to {
            return Some(way);
        }
        for mut note in notes(bytes) {
            way.step(&mut at, &mut note, context)?;
        }
        (at == to).then_some(way)
    }

    fn step(&mut self, at: &mut State, note: &mut Reader<'b>, context: Context) -> Option<()> {
        match note.u8()? {
            touched::TOUCHED => {
                let note = touched::read(note)?;
                if note.from == *at {
                    *at = note.to;
                    self.touched(note.changes.touched.iter().copied());
                    self.changes.push(note.changes);
                }
            }
            FOUND if State::read(note)? == *at && read_context(note)? == context => {
                while !note.0.is_empty() {
                    let (found, gone) = entry(note)?;
                    let what = if gone { DirNote::Gone } else { DirNote::Found(found) };
                    self.noted.insert(found.dir, (what, !gone));
                }
            }
            _ => {}
        }
        Some(())
    }
}

/// The next directory, and whether it is not a directory any more.
fn entry<'b>(reader: &mut Reader<'b>) -> Option<(CachedDir<'b>, bool)> {
    let dir = reader.relpath()?;
    let known = reader.u8()?;
    let (known, has_links) = (known & !HAS_LINKS, known & HAS_LINKS != 0);
    let stamp = Stamp { inode: reader.u64()?, changed: reader.i64()?, written: reader.i64()? };
    let files = reader.part()?;
    let is_calm = known == CALM;
    let stamp = (is_calm || known == IN_ORDER).then_some(stamp);
    Some((CachedDir { dir, stamp, is_calm, has_links, files }, known == GONE))
}

fn read_context(reader: &mut Reader<'_>) -> Option<Context> {
    Some(Context { place: reader.u64()?, ignores: reader.u64()? })
}

fn write_context(out: &mut Vec<u8>, context: Context) {
    out.extend(context.place.to_le_bytes());
    out.extend(context.ignores.to_le_bytes());
}

/// Writes the file up to its directories.
pub(super) fn head(
    state: State,
    context: Context,
    token: Token,
    even: Option<&UniformBase>,
) -> Vec<u8> {
    let mut out = MAGIC.to_vec();
    state.write(&mut out);
    write_context(&mut out, context);
    out.extend(token.watch.to_le_bytes());
    out.extend(token.at.to_le_bytes());
    even::write(&mut out, even);
    out
}

/// Writes a note of what a status found, up to its directories.
pub(super) fn note_head(state: State, context: Context) -> Vec<u8> {
    let mut out = vec![FOUND];
    state.write(&mut out);
    write_context(&mut out, context);
    out
}

const fn what_is_known(stamp: Option<Stamp>, is_calm: bool, has_links: bool) -> u8 {
    let known = match stamp {
        Some(_) if is_calm => CALM,
        Some(_) => IN_ORDER,
        None => 0,
    };
    if has_links { known | HAS_LINKS } else { known }
}

fn write_entry(out: &mut Vec<u8>, dir: &RelPath, known: u8, stamp: Option<Stamp>, files: &[u8]) {
    let stamp = stamp.unwrap_or_default();
    write_part(out, dir.as_bytes());
    out.push(known);
    out.extend(stamp.inode.to_le_bytes());
    out.extend(stamp.changed.to_le_bytes());
    out.extend(stamp.written.to_le_bytes());
    write_part(out, files);
}

/// Writes a cached directory again.
pub(super) fn write_again(out: &mut Vec<u8>, one: &CachedDir<'_>) {
    let known = what_is_known(one.stamp, one.is_calm, one.has_links);
    write_entry(out, one.dir, known, one.stamp, one.files);
}

/// Writes a path that is not a directory any more.
pub(super) fn write_gone(out: &mut Vec<u8>, dir: &RelPath) {
    write_entry(out, dir, GONE, None, &[]);
}

/// Writes a directory as it was found: with a stamp when it is clean and the stamp is reliable, and as calm when a
/// revert would change nothing in it.
pub(super) fn write_found(
    out: &mut Vec<u8>,
    table: &Table,
    found: &FoundDir,
    stamp: Option<Stamp>,
) {
    let FoundDir { dir, is_calm, has_links, .. } = found;
    let mut files = Vec::new();
    let nodes = table.children(dir).iter().filter_map(|at| table.node(*at));
    for node in nodes.filter(|_| stamp.is_some()) {
        let Some(base) = node.base.as_ref().filter(|b| b.kind != crate::db::Kind::Dir) else {
            continue;
        };
        write_part(&mut files, node.name().as_bytes());
        files.extend(base.size.unwrap_or(0).to_le_bytes());
        files.extend(base.time.to_le_bytes());
        let flags =
            [(base.special, SPECIAL), (base.needs_lock, NEEDS_LOCK), (base.executable, EXECUTABLE)];
        files.push(flags.iter().filter(|(has, _)| *has).fold(0, |all, (_, flag)| all | flag));
    }
    write_entry(out, dir, what_is_known(stamp, *is_calm, *has_links), stamp, &files);
}
