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

/// What the file begins with; another number for another form.
const MAGIC: &[u8; 8] = b"sapstat6";
/// The first byte of a note with what a status found.
const FOUND: u8 = 2;
/// The flag of a directory that is clean.
const IN_ORDER: u8 = 1;
/// It is none any longer.
const GONE: u8 = 2;
/// It is in order, and a revert would do nothing in it.
const CALM: u8 = 3;
/// What is added for a directory some of whose files have names elsewhere too.
const HAS_LINKS: u8 = 0x10;
/// What is said of a file: it is a link or the like.
pub(super) const SPECIAL: u8 = 1;
/// It is to be read-only.
pub(super) const NEEDS_LOCK: u8 = 2;
/// It can be run.
pub(super) const EXECUTABLE: u8 = 4;

/// A directory in the file.
#[derive(Clone, Copy, Debug)]
pub(super) struct CachedDir<'b> {
    pub(super) dir: &'b RelPath,
    /// Of a directory in order.
    pub(super) stamp: Option<Stamp>,
    /// Whether a revert would have done nothing in it.
    pub(super) is_calm: bool,
    /// Whether some of its files have names elsewhere too, through which they change unseen by a monitor.
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
    /// Whether that was known once, and is no longer.
    pub(super) lost_even: bool,
}

/// What a note says of a directory.
#[derive(Clone, Copy)]
enum DirNote<'b> {
    /// It must be looked at.
    Touched,
    /// It was looked at.
    Found(CachedDir<'b>),
    /// It is no versioned directory any longer.
    Gone,
}

impl<'b> Memory<'b> {
    /// What the file and the notes say of one state of the database, and what was touched since; nothing
    /// if they do not lead there, speak of another context, or when anything about them is doubtful.
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
        // The states first: the sum need not be made of what is of no use.
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

/// What notes say of directories, and whether each may be one.
type AllNoted<'b> = BTreeMap<&'b RelPath, (DirNote<'b>, bool)>;

/// What the notes say on the way from one state to another.
#[derive(Default)]
struct Way<'b> {
    noted: AllNoted<'b>,
    /// The changes, one after the other.
    changes: Vec<Changes<&'b RelPath>>,
}

impl<'b> Way<'b> {
    /// Notes that paths were touched: each and its parent must be looked at.
    fn touched(&mut self, paths: impl Iterator<Item = (&'b RelPath, bool)>) {
        for (path, is_dir) in paths {
            if let Some(parent) = crate::db::parent_of(path) {
                self.noted.insert(parent, (DirNote::Touched, true));
            }
            // What is below made it a directory already.
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

/// The next directory, and whether there is no such directory any longer.
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

/// The file up to its directories.
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

/// A note of what a status found, up to its directories.
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

/// A directory that is none any longer.
pub(super) fn write_gone(out: &mut Vec<u8>, dir: &RelPath) {
    write_entry(out, dir, GONE, None, &[]);
}

/// A directory as it was found: with a stamp when it is in order and may be believed, and calm when a revert would
/// do nothing in it.
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
