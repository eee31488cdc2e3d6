//! The directories that the last full status found clean, kept in `.svn/sapwood/status`: while the
//! database and a directory have not changed since, only the directory and its files need a `stat`.
//!
//! The file is valid for one state of wc.db, which is identified by its inode, its length and the counter
//! that every change increments. Any other state makes the file invalid, and so does damage to its own
//! bytes. Our own changes leave notes of what they touched ([`crate::change_journal::touched`]), which lead
//! from the file's state to the current one: then the touched paths are looked at, and a note with the
//! result is added. An entry can only say that there was nothing to report for a directory. Everything else,
//! and every directory that has changed, is looked at as if there were no such file. The file may be deleted
//! at any time.
//!
//! Where a monitor watches the working copy (`sapwood-watch`), it is asked instead of the disk: the file
//! holds the monitor's token from before the walk.
//!
//! A directory is cached when everything that BASE has in it is there with recorded size and time, only ignored names lie
//! beside it, and it had not changed within the last few ticks of the file system's clock. Its modification time shows
//! whether names were added or removed since.

mod even;
mod file;
use std::collections::{BTreeSet, HashMap};
use std::ffi::{CStr, CString};
use std::fs::{self, File};
use std::io::Write as _;

use sapwood_core::len64;
use sapwood_watch::protocol::{ChangedDir, Token};

use super::Options;
use super::listing::{Look, OpenDir, Stamp};
use super::table::{Node, Table, has_right_bits};
use super::value::DiskKind;
use crate::change_journal::{self, Changes, Reader, Since, State};
use crate::clock::is_old;
use crate::db::NodeRow;
use crate::root::{Disk, WorkingCopy};
use crate::{fan_out, layout};
pub(crate) use even::UniformBase;
use file::{CachedDir, Memory};
use sapwood_core::paths::{RelPath, RelPathBuf};

/// Numbers of file systems whose directories have no times that can be relied on: FAT and exFAT.
const UNDATED: [u32; 2] = [0x4d44, 0x2011_bab0];

/// Bytes that two or three files take in the cache.
const FEW_FILES: usize = 80;

/// Bytes of notes that a target below the root may always read.
const NOTES_BELOW: u64 = 32 << 10;

/// What else a cached result depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Context {
    /// A hash of the path of the working copy's root in the repository.
    place: u64,
    /// The patterns of the configuration, which decide which unversioned names are reported.
    ignores: u64,
}

impl Context {
    fn of(options: &Options, root_repos: &RelPath) -> Self {
        let ignores = change_journal::sum(format!("{:?}", options.ignores).as_bytes());
        Self { place: place_of(root_repos), ignores }
    }
}

fn place_of(root_repos: &RelPath) -> u64 {
    change_journal::sum(root_repos.as_bytes())
}

/// Which cached results may be used.
#[derive(Clone, Copy, Debug)]
enum CacheQuery {
    /// Those of one context.
    Of(Context),
    /// Those for one path of the root in the repository, whatever the patterns: unversioned names
    /// are not reported.
    At(u64),
    /// Any.
    Any,
}

impl CacheQuery {
    /// Those of a working copy whose root has this row.
    fn of_root(root: &NodeRow) -> Self {
        Self::At(place_of(root.repos_path.as_deref().unwrap_or(RelPath::ROOT)))
    }

    fn has(self, found: Context) -> bool {
        match self {
            Self::Of(context) => found == context,
            Self::At(place) => found.place == place,
            Self::Any => true,
        }
    }
}

/// Whether a status of a whole tree may use and write the cache.
pub(super) fn applies(wc: &WorkingCopy, options: &Options) -> bool {
    let reports_ignored = options.no_ignore && options.unversioned;
    !options.all && !reports_ignored && !wc.options().access.exclusive && !wc.db().is_writing()
}

/// A directory that a walk found.
#[derive(Debug)]
pub(super) struct FoundDir {
    pub(super) dir: RelPathBuf,
    /// The stamp that shows later changes, for a directory that is clean.
    pub(super) stamp: Option<Stamp>,
    /// Whether a revert would do nothing in it either: its files have the right bits, and it is no other working
    /// copy.
    pub(super) is_calm: bool,
    /// Whether some of its versioned files have names elsewhere too.
    pub(super) has_links: bool,
}

/// Directories that a walk found.
pub(super) type FoundDirs = Vec<FoundDir>;

/// The time when a walk began.
#[derive(Clone, Copy, Debug)]
pub(super) struct WalkStart {
    /// By the clock that stamps files, in nanoseconds since 1970; `None` where that is not known, and nothing
    /// may be cached.
    pub(super) clock: Option<i64>,
    /// By the monitor's token.
    pub(super) token: Token,
}

impl WalkStart {
    /// Whether a change from now on would show in a stamp.
    fn is_before(self, stamp: &Stamp) -> bool {
        let latest = stamp.changed.max(stamp.written);
        self.clock.is_some_and(|clock| is_old(latest, clock))
    }
}

/// Writes the result of a full walk to the cache. An error is ignored: the cache is then missing.
pub(super) fn keep(
    wc: &WorkingCopy,
    options: &Options,
    table: &Table,
    found: &mut FoundDirs,
    began: WalkStart,
) {
    if !is_simple(table) || !dates_directories(wc.disk()) {
        return;
    }
    let Some(state) = State::of(wc.db().path()) else { return };
    let context = Context::of(options, &table.root_repos);
    let mut out = file::head(state, context, began.token, UniformBase::of(table).as_ref());
    found.sort_unstable_by(|a, b| a.dir.cmp(&b.dir));
    for one in found {
        let stamp = one.stamp.filter(|stamp| began.is_before(stamp));
        file::write_found(&mut out, table, one, stamp);
    }
    write_file(wc.disk(), out);
}

/// Whether the times of directories show that names were added or removed. FAT has no time for its root
/// directory, and other systems that write to a FAT volume do not update those of directories.
fn dates_directories(disk: &Disk) -> bool {
    let kind = rustix::fs::statfs(disk.root()).ok().map(|found| found.f_type & 0xffff_ffff);
    kind.and_then(|kind| u32::try_from(kind).ok()).is_some_and(|kind| !UNDATED.contains(&kind))
}

/// Whether the status depends only on directories and their contents.
fn is_simple(table: &Table) -> bool {
    table.locks.is_empty() && table.wc_locks.is_empty() && !table.has_externals
}

fn write_file(disk: &Disk, mut out: Vec<u8>) {
    let end = change_journal::sum(&out);
    out.extend(end.to_le_bytes());
    let adm = layout::adm(disk.root());
    let place = change_journal::place(&adm);
    let temporary = place.with_extension(format!("{}.tmp", std::process::id()));
    let written = || {
        if let Some(folder) = place.parent() {
            match fs::create_dir(folder) {
                Err(e) if e.kind() != std::io::ErrorKind::AlreadyExists => return Err(e),
                _ => {}
            }
        }
        File::create(&temporary)?.write_all(&out)?;
        fs::rename(&temporary, &place)
    };
    match written() {
        Ok(()) => drop(fs::remove_file(change_journal::notes_place(&adm))),
        Err(_) => drop(fs::remove_file(&temporary)),
    }
}

/// Writes a note with what was found at the paths that our own changes touched.
pub(super) fn save_changes(
    wc: &WorkingCopy,
    options: &Options,
    table: &Table,
    found: &FoundDirs,
    known: &CachedStatus,
    began: WalkStart,
) {
    if known.touched.is_empty() || !is_simple(table) {
        return;
    }
    let Some(state) = State::of(wc.db().path()) else { return };
    let context = Context::of(options, &table.root_repos);
    let mut note = file::note_head(state, context);
    let empty = note.len();
    for dir in &known.touched {
        if table.find(dir).is_none_or(|node| !node.was_dir()) {
            file::write_gone(&mut note, dir);
            continue;
        }
        // A directory that changed too recently is looked at again later, and cached then.
        if let Some(one) = found.iter().find(|one| one.dir == *dir)
            && one.stamp.is_none_or(|stamp| began.is_before(&stamp))
        {
            // The root itself is reported where its directory is looked at.
            let quiet = !dir.is_empty() || table.find(dir).is_some_and(is_quiet);
            file::write_found(&mut note, table, one, one.stamp.filter(|_| quiet));
        }
    }
    if note.len() == empty {
        return;
    }
    let adm = layout::adm(wc.root());
    let Ok(length) = change_journal::append_note(&adm, &note) else { return };
    if length > (known.length >> 2).max(1 << 16) {
        join(wc, state, context, None);
    }
}

/// For a monitor that has watched since the file was written: its token, and the directories that changed
/// meanwhile.
type NewMonitor<'r> = (Token, &'r BTreeSet<RelPathBuf>);

/// Joins the file and its notes into one file.
fn join(wc: &WorkingCopy, state: State, context: Context, renewed: Option<NewMonitor<'_>>) {
    let Some((file, notes)) = read_both(wc.disk()) else { return };
    let now = Since { state, changes: Changes::none() };
    let Some(memory) = Memory::read(&file, &notes, &now, CacheQuery::Of(context)) else { return };
    if !memory.touched.is_empty() {
        return;
    }
    let even = memory.even.as_ref().map(|even| even.without_what_is_even(wc));
    let token = renewed.map_or(memory.token, |(token, _)| token);
    let mut out = file::head(state, context, token, even.as_ref());
    for one in &memory.all {
        // The monitor does not report changes from before it watched: such a directory is always looked at.
        match renewed {
            Some((_, changed)) if changed.contains(one.dir) => {
                file::write_again(&mut out, &CachedDir { stamp: None, is_calm: false, ..*one });
            }
            _ => file::write_again(&mut out, one),
        }
    }
    write_file(wc.disk(), out);
}

/// The file and the notes; the notes may be missing.
fn read_both(disk: &Disk) -> Option<(Vec<u8>, Vec<u8>)> {
    let adm = layout::adm(disk.root());
    let file = fs::read(change_journal::place(&adm)).ok()?;
    let notes = fs::read(change_journal::notes_place(&adm));
    Some((file, notes.unwrap_or_default()))
}

/// The same for a target, if it is worth it: the notes are of the whole working copy, and each of a command's targets reads
/// them. Below the root, long ones cost more than they save.
fn read_for(disk: &Disk, relpath: &RelPath) -> Option<(Vec<u8>, Vec<u8>)> {
    if !relpath.is_empty() {
        let adm = layout::adm(disk.root());
        let length = |place| fs::metadata(place).map_or(0, |found| found.len());
        let limit = (length(change_journal::place(&adm)) >> 4).max(NOTES_BELOW);
        if length(change_journal::notes_place(&adm)) > limit {
            return None;
        }
    }
    read_both(disk)
}

/// What is known before a status of a whole tree begins.
#[derive(Debug, Default)]
pub(super) struct CachedStatus {
    /// The directories that must be looked at; `None` when everything must.
    pub(super) changed: Option<BTreeSet<RelPathBuf>>,
    /// The monitor's current token.
    pub(super) token: Token,
    /// Those of them that our own changes touched.
    pub(super) touched: Vec<RelPathBuf>,
    /// Bytes in the file.
    length: u64,
}

/// Reads the file, and asks the monitor or the disk about what is at and below a directory.
pub(super) fn load(
    wc: &WorkingCopy,
    relpath: &RelPath,
    options: &Options,
    root_repos: &RelPath,
) -> CachedStatus {
    let both = read_for(wc.disk(), relpath);
    let context = Context::of(options, root_repos);
    let wanted = match options.unversioned {
        true => CacheQuery::Of(context),
        false => CacheQuery::At(context.place),
    };
    let since = both.as_ref().and_then(|_| wc.db().since());
    let memory = both.as_ref().zip(since.as_ref()).and_then(|((file, notes), since)| {
        Memory::read(file, notes, since, wanted)?.below(relpath)
    });
    let since = memory.as_ref().map_or_else(Token::default, |memory| memory.token);
    let (reported, token) = ask_monitor(wc, since);
    let unknown = CachedStatus { token, ..CachedStatus::default() };
    // A walk of everything computes a lost summary anew.
    let finds_out =
        |memory: &Memory<'_>| memory.lost_even && relpath.is_empty() && options.unversioned;
    let memory = memory.filter(|memory| !finds_out(memory));
    let Some(Memory { all, touched, .. }) = memory else { return unknown };
    let limit = most_to_look_at(&all);
    // Paths that must be looked at anyway are not checked here.
    let mut found: BTreeSet<RelPathBuf> =
        all.iter().filter(|one| one.stamp.is_none()).map(|one| one.dir.to_owned()).collect();
    if found.len() > limit {
        return unknown;
    }
    // A monitor that has only just started: the disk was checked after the monitor gave its token, so the
    // result is valid from that token on.
    let renews =
        reported.is_none() && token != Token::default() && relpath.is_root() && options.unversioned;
    match reported {
        Some(reported) => found.extend(changed_by_monitor(&all, &reported)),
        None => found = changed_on_disk(wc.disk(), &all, renews),
    }
    if found.len() > limit {
        return unknown;
    }
    if renews
        && touched.is_empty()
        && let Some(state) = State::of(wc.db().path())
    {
        join(wc, state, context, Some((token, &found)));
    }
    let touched = touched.into_iter().map(RelPath::to_owned).collect();
    let length = both.as_ref().map_or(0, |(file, _)| len64(file.len()));
    CachedStatus { changed: Some(found), token, touched, length }
}

/// What happened since the monitor gave a token, if there is a monitor that knows everything since then; and
/// its current token.
fn ask_monitor(wc: &WorkingCopy, since: Token) -> (Option<Vec<ChangedDir>>, Token) {
    let monitor = wc.options().monitor.as_deref();
    let reported = monitor.and_then(|socket| sapwood_watch::ask::since(socket, wc.root(), since));
    reported.unwrap_or_default()
}

/// When more directories than this changed, everything is looked at.
fn most_to_look_at(all: &[CachedDir<'_>]) -> usize {
    (all.len() >> 3).saturating_add(8)
}

/// What is known of a working copy before BASE is reported.
#[derive(Debug)]
pub(crate) struct Ground {
    pub(crate) even: UniformBase,
    /// Directories in which names may be missing that BASE has. All others have them: a status found them, and
    /// nothing has changed since.
    pub(crate) changed: BTreeSet<RelPathBuf>,
}

/// What is known of a working copy whose BASE is uniform except for some paths; `None` if it is not uniform,
/// or if the root differs, too. The disk is checked only if the caller asks for it.
pub(crate) fn ground(wc: &WorkingCopy, root: &NodeRow, disk: bool) -> Option<Ground> {
    let since = wc.db().since()?;
    let (file, notes) = read_both(wc.disk())?;
    let mut memory = Memory::read(&file, &notes, &since, CacheQuery::of_root(root))?;
    let even = memory.even.take().filter(|even| even.is_root(root))?;
    if !disk {
        return Some(Ground { even, changed: BTreeSet::new() });
    }
    let limit = most_to_look_at(&memory.all);
    let mut changed: BTreeSet<RelPathBuf> =
        memory.all.iter().filter(|one| one.stamp.is_none()).map(|one| one.dir.to_owned()).collect();
    if changed.len() > limit {
        return None;
    }
    let all = &memory.all;
    match ask_monitor(wc, memory.token).0 {
        Some(reported) => changed.extend(reported.iter().flat_map(|one| cached_dirs(all, one))),
        None => {
            let open = OpenDir::open(wc.root()).ok().flatten()?;
            changed.extend(fan_out::over(all, |one, _, found| {
                let own = || CString::new(one.dir.as_str()).ok();
                if one.stamp.is_none() || own().and_then(|own| open.stamp(&own)) != one.stamp {
                    found.push(one.dir.to_owned());
                }
            }));
        }
    }
    (changed.len() <= limit).then_some(Ground { even, changed })
}

impl WorkingCopy {
    /// What all rows of BASE except some paths and the root have in common, if that is known.
    pub(crate) fn even(&self) -> Option<UniformBase> {
        let root = self.db().base(RelPath::ROOT).ok()??;
        let since = self.db().since()?;
        let (file, notes) = read_both(self.disk())?;
        Memory::read(&file, &notes, &since, CacheQuery::of_root(&root))?.even
    }
}

/// Directories that have all names that BASE has in them: a status found them, and nothing has changed
/// since.
#[derive(Debug, Default)]
pub(crate) struct Whole {
    stamps: HashMap<RelPathBuf, Stamp>,
    root: Option<OpenDir>,
}

/// The bytes of the cache that are worth reading for a node, in place of listing its directory.
const BYTES_A_NODE: u64 = 128;

impl Whole {
    /// The cached directories, if no process but this one changed the database since; none when the cache is too long to
    /// be read for a table of so few nodes.
    pub(crate) fn cached_for(wc: &WorkingCopy, table: &Table) -> Self {
        let place = change_journal::place(&layout::adm(wc.root()));
        let limit = len64(table.len()).saturating_mul(BYTES_A_NODE);
        match fs::metadata(place) {
            Ok(found) if found.len() <= limit => Self::cached(wc),
            _ => Self::default(),
        }
    }

    fn cached(wc: &WorkingCopy) -> Self {
        let stamps = || {
            let since = wc.db().since()?;
            let (file, notes) = read_both(wc.disk())?;
            let memory = Memory::read(&file, &notes, &since, CacheQuery::Any)?;
            let stamp = |one: &CachedDir<'_>| Some((one.dir.into(), one.stamp?));
            Some(memory.all.iter().filter_map(stamp).collect())
        };
        let Some(stamps) = stamps() else { return Self::default() };
        Self { stamps, root: OpenDir::open(wc.root()).ok().flatten() }
    }

    /// Whether a directory is still in the cache and unchanged: one `stat`.
    pub(crate) fn has(&self, dir: &RelPath) -> bool {
        let look = || {
            let (stamp, root) = (self.stamps.get(dir)?, self.root.as_ref()?);
            Some(root.stamp(&CString::new(dir.as_str()).ok()?)? == *stamp)
        };
        look().unwrap_or(false)
    }
}

/// The directories that the monitor reported and that are in the cache: other directories are not
/// versioned.
fn cached_dirs(all: &[CachedDir<'_>], reported: &ChangedDir) -> Vec<RelPathBuf> {
    let mut found = Vec::new();
    if let Ok(at) = all.binary_search_by(|one| one.dir.as_str().cmp(&reported.dir)) {
        found.extend(all.get(at).map(|one| one.dir.to_owned()));
    }
    if reported.below {
        let below = match reported.dir.is_empty() {
            true => String::new(),
            false => format!("{}/", reported.dir),
        };
        let first = all.partition_point(|one| *one.dir.as_str() < *below);
        let later = all.iter().skip(first).take_while(|one| one.dir.starts_with(&below));
        found.extend(later.map(|one| one.dir.to_owned()));
    }
    found
}

/// The directories that may have changed according to a monitor, which does not see changes of a file through
/// another hard link.
fn changed_by_monitor<'a>(
    all: &'a [CachedDir<'_>],
    reported: &'a [ChangedDir],
) -> impl Iterator<Item = RelPathBuf> + 'a {
    let linked = all.iter().filter(|one| one.has_links).map(|one| one.dir.to_owned());
    reported.iter().flat_map(|one| cached_dirs(all, one)).chain(linked)
}

/// The directories at and below one in which a revert may have something to do: in all others the nodes are
/// in BASE alone, as they were checked out, with the right permission bits. `None` when that is not known.
pub(crate) fn restless(wc: &WorkingCopy, relpath: &RelPath) -> Option<BTreeSet<RelPathBuf>> {
    if wc.options().access.exclusive || wc.db().is_writing() {
        return None;
    }
    let root = wc.db().base(RelPath::ROOT).ok()??;
    let since = wc.db().since()?;
    let (file, notes) = read_for(wc.disk(), relpath)?;
    let memory = Memory::read(&file, &notes, &since, CacheQuery::of_root(&root))?.below(relpath)?;
    let all = &memory.all;
    let limit = most_to_look_at(all);
    let mut dirs: BTreeSet<RelPathBuf> =
        all.iter().filter(|one| !one.is_calm).map(|one| one.dir.to_owned()).collect();
    if all.is_empty() || dirs.len() > limit {
        return None;
    }
    match ask_monitor(wc, memory.token).0 {
        Some(reported) => dirs.extend(changed_by_monitor(all, &reported)),
        None => dirs.extend(changed_on_disk(wc.disk(), all, true)),
    }
    // Another working copy in place of a directory is found by looking at the parent directory,
    // too.
    let above = |dir: &RelPathBuf| (!dir.is_root()).then(|| dir.parent().to_owned());
    let above: Vec<RelPathBuf> =
        dirs.iter().filter(|dir| **dir != *relpath).filter_map(above).collect();
    dirs.extend(above);
    (dirs.len() <= limit).then_some(dirs)
}

/// The directories that have changed, found by a `stat` of each and of its files, including permission bits and,
/// if the caller asks for it, new hard links.
fn changed_on_disk(disk: &Disk, all: &[CachedDir<'_>], bits: bool) -> BTreeSet<RelPathBuf> {
    let Ok(Some(root)) = OpenDir::open(disk.root()) else {
        return all.iter().map(|one| one.dir.to_owned()).collect();
    };
    let found = fan_out::over(all, |one, _, found| {
        if !is_as_it_was(&root, one, bits) {
            found.push(one.dir.to_owned());
        }
    });
    found.into_iter().collect()
}

fn is_as_it_was(root: &OpenDir, one: &CachedDir<'_>, bits: bool) -> bool {
    let Some(stamp) = one.stamp else { return false };
    let Ok(own) = CString::new(one.dir.as_str()) else { return false };
    // From the root each `stat` would walk the whole path again; for a directory with very few files opening it
    // is not worth the two extra calls.
    let near = if one.files.len() < FEW_FILES { None } else { root.place(&own) };
    let dir = near.as_ref().unwrap_or(root);
    let mut path = Vec::with_capacity(256);
    if near.is_none() && !one.dir.is_empty() {
        path.extend(one.dir.as_bytes());
        path.push(b'/');
    }
    let found = if near.is_some() { dir.own_stamp() } else { root.stamp(&own) };
    if found != Some(stamp) {
        return false;
    }
    let length = path.len();
    let mut files = Reader(one.files);
    while !files.0.is_empty() {
        path.truncate(length);
        let fields = (|| Some((files.part()?, files.u64()?, files.i64()?, files.u8()?)))();
        let Some((name, size, mtime, flags)) = fields else { return false };
        let special = flags & file::SPECIAL != 0;
        let (lock, run) = (flags & file::NEEDS_LOCK != 0, flags & file::EXECUTABLE != 0);
        path.extend(name);
        path.push(0);
        let wanted = if special { DiskKind::Special } else { DiskKind::File };
        match CStr::from_bytes_with_nul(&path).ok().map(|name| dir.look(name)) {
            Some(Ok(Some(Look { kind, size: now, mtime: time, mode, is_linked })))
                if kind == wanted
                    && now == size
                    && time == mtime
                    && (!is_linked || one.has_links || !bits)
                    && (special || !bits || has_right_bits(mode, lock, run)) => {}
            _ => return false,
        }
    }
    true
}

/// Whether a node has nothing to report, whatever its directory has, except for what is on disk.
pub(super) fn is_quiet(node: &Node) -> bool {
    use crate::db::{Kind, Presence};
    let Some(base) = &node.base else { return false };
    node.work.is_empty()
        && node.actual.is_none()
        && base.presence == Presence::Normal
        && base.repos_path == super::table::ReposPath::Implied
        && !base.file_external
        && (base.kind == Kind::Dir || (base.has_checksum && base.size.is_some()))
}

#[cfg(test)]
mod tests;
