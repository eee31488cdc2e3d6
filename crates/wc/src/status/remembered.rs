//! What the last full status found to be in order, kept in `.svn/sapwood/status`: while the database and
//! a directory have not changed since, looks at the directory and its files are all that is needed.
//!
//! The file is good for one state of wc.db, told by its inode, its length and the counter that every
//! change of it raises; any other state makes it worthless, and so does any doubt about its own bytes.
//! It only ever says of a directory that there was nothing to tell of it. Everything else, and every
//! directory that is not as it was, is looked at as if there were no such file. It may be deleted at any
//! moment.
//!
//! Where a monitor watches the working copy (`sapwood-watch`), it is asked in place of the disk: the file
//! holds the token of the moment before the walk.
//!
//! A directory is remembered when all that BASE has in it is there with recorded size and time, nothing
//! but ignored names lies beside it, and it had not changed within the clock's last steps. Its time tells
//! whether names came or went since.

use std::collections::{BTreeSet, HashMap};
use std::ffi::{CStr, CString};
use std::fs::{self, File};
use std::io::Write as _;
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use sapwood_watch::protocol::{Changed, Token};

use super::listing::{Look, OpenDir, Stamp};
use super::table::{Node, Table};
use super::value::DiskKind;
use super::{Options, fan_out};
use crate::layout;
use crate::root::WorkingCopy;

/// What the file begins with; another number for another form.
const MAGIC: &[u8; 8] = b"sapstat2";
/// Where SQLite keeps the counter of changes in a database.
const COUNTER: u64 = 24;
/// Directories that changed within so many nanoseconds before the walk are not remembered: the next
/// change might get the same time.
const TOO_YOUNG: i64 = 20_000_000;

/// Which state of the database, and of the configuration, something was found for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Key {
    device: u64,
    inode: u64,
    length: u64,
    counter: u32,
    ignores: u64,
}

impl Key {
    fn of(wc: &WorkingCopy, options: &Options) -> Option<Self> {
        let file = database(&layout::db(wc.root()))?;
        let found = file.metadata().ok()?;
        // Another file may have come in its place since it was opened.
        let now = fs::metadata(layout::db(wc.root())).ok()?;
        if (now.dev(), now.ino()) != (found.dev(), found.ino()) {
            return None;
        }
        let mut counter = [0; 4];
        file.read_exact_at(&mut counter, COUNTER).ok()?;
        Some(Self {
            device: found.dev(),
            inode: found.ino(),
            length: found.len(),
            counter: u32::from_be_bytes(counter),
            ignores: sum(format!("{:?}", options.ignores).as_bytes()),
        })
    }

    fn write(&self, out: &mut Vec<u8>) {
        for number in [self.device, self.inode, self.length, self.counter.into(), self.ignores] {
            out.extend(number.to_le_bytes());
        }
    }
}

/// The database's file, for reading beside SQLite. It is never closed: closing it would take away
/// the locks that SQLite holds on the same file in this process.
fn database(path: &Path) -> Option<Arc<File>> {
    static OPEN: Mutex<Option<HashMap<PathBuf, Arc<File>>>> = Mutex::new(None);
    let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
    let open = open.get_or_insert_default();
    if let Some(file) = open.get(path) {
        return Some(Arc::clone(file));
    }
    let file = Arc::new(File::open(path).ok()?);
    open.insert(path.to_owned(), Arc::clone(&file));
    Some(file)
}

/// A number that bytes hardly share with others: finds damage, not ill will.
fn sum(bytes: &[u8]) -> u64 {
    let mut sum = 0xcbf2_9ce4_8422_2325_u64;
    let mut words = bytes.chunks_exact(8);
    for word in &mut words {
        let word = word.try_into().map_or(0, u64::from_le_bytes);
        sum = (sum ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(23);
    }
    for byte in words.remainder() {
        sum = (sum ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    }
    sum ^ u64::try_from(bytes.len()).unwrap_or(u64::MAX)
}

fn place(wc: &WorkingCopy) -> PathBuf {
    layout::adm(wc.root()).join("sapwood").join("status")
}

/// Whether a status of everything may use, and make, what is remembered.
pub(super) fn applies(wc: &WorkingCopy, options: &Options) -> bool {
    !options.all && !options.no_ignore && !wc.options().access.exclusive && !wc.db().is_writing()
}

/// Directories that a walk found in order, with what tells that they changed; `None` for others.
pub(super) type Found = Vec<(Box<str>, Option<Stamp>)>;

/// When a walk began.
#[derive(Clone, Copy, Debug)]
pub(super) struct Began {
    /// By the clock that stamps files, in nanoseconds.
    pub(super) clock: i64,
    /// By the monitor.
    pub(super) token: Token,
}

/// Writes down what a walk of everything found. That it cannot be written is no matter.
pub(super) fn keep(
    wc: &WorkingCopy,
    options: &Options,
    table: &Table,
    found: &mut Found,
    began: Began,
) {
    if !table.locks.is_empty() || !table.wc_locks.is_empty() || table.has_externals {
        return;
    }
    let Some(key) = Key::of(wc, options) else { return };
    let mut out = MAGIC.to_vec();
    key.write(&mut out);
    out.extend(began.token.watch.to_le_bytes());
    out.extend(began.token.at.to_le_bytes());
    found.sort_unstable_by(|a, b| a.0.cmp(&b.0));
    let young = began.clock.saturating_sub(TOO_YOUNG);
    for (dir, stamp) in found {
        let stamp = stamp.filter(|s| s.changed.max(s.written) < young);
        write_directory(&mut out, table, dir, stamp);
    }
    let end = sum(&out);
    out.extend(end.to_le_bytes());
    let place = place(wc);
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
    if written().is_err() {
        let _ = fs::remove_file(&temporary);
    }
}

fn write_name(out: &mut Vec<u8>, name: &str) {
    out.extend(u32::try_from(name.len()).unwrap_or(u32::MAX).to_le_bytes());
    out.extend(name.as_bytes());
}

fn write_directory(out: &mut Vec<u8>, table: &Table, dir: &str, stamp: Option<Stamp>) {
    write_name(out, dir);
    let stamp_or_none = stamp.unwrap_or_default();
    out.push(stamp.is_some().into());
    out.extend(stamp_or_none.inode.to_le_bytes());
    out.extend(stamp_or_none.changed.to_le_bytes());
    out.extend(stamp_or_none.written.to_le_bytes());
    let mut files = Vec::new();
    let nodes = table.children(dir).iter().filter_map(|at| table.node(*at));
    for node in nodes.filter(|_| stamp.is_some()) {
        let Some(base) = node.base.as_ref().filter(|b| b.kind != crate::db::Kind::Dir) else {
            continue;
        };
        write_name(&mut files, node.name());
        files.extend(base.size.unwrap_or(0).to_le_bytes());
        files.extend(base.time.to_le_bytes());
        files.push(base.special.into());
    }
    out.extend(u32::try_from(files.len()).unwrap_or(u32::MAX).to_le_bytes());
    out.append(&mut files);
}

/// Takes values off the front of bytes; nothing when they end too early.
struct Reader<'b>(&'b [u8]);

impl<'b> Reader<'b> {
    fn take(&mut self, len: usize) -> Option<&'b [u8]> {
        let (taken, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        Some(taken)
    }

    fn u32(&mut self) -> Option<u32> {
        Some(u32::from_le_bytes(self.take(4)?.try_into().ok()?))
    }

    fn u64(&mut self) -> Option<u64> {
        Some(u64::from_le_bytes(self.take(8)?.try_into().ok()?))
    }

    fn i64(&mut self) -> Option<i64> {
        Some(i64::from_le_bytes(self.take(8)?.try_into().ok()?))
    }

    fn flag(&mut self) -> Option<bool> {
        Some(*self.take(1)?.first()? != 0)
    }

    fn part(&mut self) -> Option<&'b [u8]> {
        let len = usize::try_from(self.u32()?).ok()?;
        self.take(len)
    }

    fn name(&mut self) -> Option<&'b str> {
        std::str::from_utf8(self.part()?).ok()
    }
}

/// A directory in the file.
struct Remembered<'b> {
    dir: &'b str,
    stamp: Option<Stamp>,
    files: &'b [u8],
}

/// The monitor's token, and the directories in the order of their paths.
fn parse(bytes: &[u8], key: Key) -> Option<(Token, Vec<Remembered<'_>>)> {
    let (body, end) = bytes.split_at_checked(bytes.len().checked_sub(8)?)?;
    let mut head = MAGIC.to_vec();
    key.write(&mut head);
    // The key first: the sum need not be made of what is of no use.
    let rest = body.strip_prefix(head.as_slice())?;
    if sum(body).to_le_bytes() != *end {
        return None;
    }
    let mut reader = Reader(rest);
    let token = Token { watch: reader.u64()?, at: reader.u64()? };
    let mut all = Vec::new();
    while !reader.0.is_empty() {
        let dir = reader.name()?;
        let known = reader.flag()?;
        let stamp = Stamp { inode: reader.u64()?, changed: reader.i64()?, written: reader.i64()? };
        all.push(Remembered { dir, stamp: known.then_some(stamp), files: reader.part()? });
    }
    Some((token, all))
}

/// What is known before a status of everything begins.
#[derive(Debug, Default)]
pub(super) struct Known {
    /// The directories that must be looked at; `None` when everything must.
    pub(super) changed: Option<BTreeSet<String>>,
    /// The monitor's token of now.
    pub(super) token: Token,
}

/// Asks the file, and the monitor or the disk.
pub(super) fn known(wc: &WorkingCopy, options: &Options) -> Known {
    let bytes = fs::read(place(wc)).unwrap_or_default();
    let parsed = Key::of(wc, options).and_then(|key| parse(&bytes, key));
    let (since, all) = match parsed {
        Some((token, all)) => (token, Some(all)),
        None => (Token::default(), None),
    };
    let monitor = wc.options().monitor.as_deref();
    let told = monitor.and_then(|socket| sapwood_watch::ask::since(socket, wc.root(), since));
    let (told, token) = told.unwrap_or_default();
    let Some(all) = all else { return Known { changed: None, token } };
    let limit = (all.len() >> 3).saturating_add(8);
    // What is known to need a look already costs nothing more to find.
    let mut found: BTreeSet<String> =
        all.iter().filter(|one| one.stamp.is_none()).map(|one| one.dir.to_owned()).collect();
    if found.len() > limit {
        return Known { changed: None, token };
    }
    match told {
        Some(told) => found.extend(told.iter().flat_map(|one| remembered_of(&all, one))),
        None => found = changed_on_disk(wc, &all),
    }
    Known { changed: (found.len() <= limit).then_some(found), token }
}

/// What the monitor told of, as far as it is remembered: other directories are not versioned.
fn remembered_of(all: &[Remembered<'_>], told: &Changed) -> Vec<String> {
    let mut found = Vec::new();
    if let Ok(at) = all.binary_search_by(|one| one.dir.cmp(&told.dir)) {
        found.extend(all.get(at).map(|one| one.dir.to_owned()));
    }
    if told.below {
        let below = match told.dir.is_empty() {
            true => String::new(),
            false => format!("{}/", told.dir),
        };
        let first = all.partition_point(|one| one.dir < below.as_str());
        let later = all.iter().skip(first).take_while(|one| one.dir.starts_with(&below));
        found.extend(later.map(|one| one.dir.to_owned()));
    }
    found
}

/// The directories that are not as they were, by a look at each and at its files.
fn changed_on_disk(wc: &WorkingCopy, all: &[Remembered<'_>]) -> BTreeSet<String> {
    let Ok(Some(root)) = OpenDir::open(wc.root()) else {
        return all.iter().map(|one| one.dir.to_owned()).collect();
    };
    let found = fan_out::over(all, |one, _, found| {
        if !is_as_it_was(&root, one) {
            found.push(one.dir.to_owned());
        }
    });
    found.into_iter().collect()
}

fn is_as_it_was(root: &OpenDir, one: &Remembered<'_>) -> bool {
    let Some(stamp) = one.stamp else { return false };
    let Ok(own) = CString::new(one.dir) else { return false };
    if root.stamp(&own) != Some(stamp) {
        return false;
    }
    let mut path = Vec::with_capacity(256);
    if !one.dir.is_empty() {
        path.extend(one.dir.as_bytes());
        path.push(b'/');
    }
    let length = path.len();
    let mut files = Reader(one.files);
    while !files.0.is_empty() {
        path.truncate(length);
        let fields = (|| Some((files.part()?, files.u64()?, files.i64()?, files.flag()?)))();
        let Some((name, size, mtime, special)) = fields else { return false };
        path.extend(name);
        path.push(0);
        let wanted = if special { DiskKind::Special } else { DiskKind::File };
        match CStr::from_bytes_with_nul(&path).ok().map(|name| root.look(name)) {
            Some(Ok(Some(Look { kind, size: now, mtime: time, .. })))
                if kind == wanted && now == size && time == mtime => {}
            _ => return false,
        }
    }
    true
}

/// Whether there is nothing to say of a node, whatever its directory says, but for what is on disk.
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
mod tests {
    use std::time::Duration;

    use sapwood_core::Sha1;

    use super::*;
    use crate::db::{Kind, NodeRow, Presence};
    use crate::view::FileStat;

    struct Place {
        folder: tempfile::TempDir,
        root: PathBuf,
    }

    impl Place {
        /// A working copy with some files, all as they were checked out.
        fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            let root = folder.path().join("wc");
            fs::create_dir(&root).unwrap();
            let wc = WorkingCopy::create(&root, crate::Options::default()).unwrap();
            let repos = wc.db().repository_id("file:///r", "uuid").unwrap();
            let sum = Sha1::of(b"text");
            wc.db().add_pristine(&sum, &sapwood_core::Md5::of(b"text"), 4).unwrap();
            let put = |path: &str, kind| {
                let mut row = NodeRow::new(path, 0, Presence::Normal, kind);
                row.repos_id = Some(repos);
                row.repos_path = Some(path.to_owned());
                row.properties = Some(b"()".to_vec());
                if kind == Kind::File {
                    fs::write(root.join(path), "text").unwrap();
                    let stat = FileStat::of(&fs::metadata(root.join(path)).unwrap());
                    row.checksum = Some(sum);
                    row.translated_size = Some(stat.size);
                    row.last_mod_time = Some(stat.mtime);
                } else {
                    fs::create_dir_all(root.join(path)).unwrap();
                }
                wc.db().put_node(&row).unwrap();
            };
            for dir in ["", "a", "a/b", "a/b/c", "d", "e"] {
                put(dir, Kind::Dir);
            }
            for file in ["one", "a/two", "a/b/three", "a/b/c/four", "d/five", "d/six"] {
                put(file, Kind::File);
            }
            let pristine = layout::pristine(&root, &sum);
            fs::create_dir_all(pristine.parent().unwrap()).unwrap();
            fs::write(pristine, "text").unwrap();
            Self { folder, root }
        }

        fn status(&self) -> Vec<String> {
            let wc = WorkingCopy::open_root(&self.root, crate::Options::default()).unwrap();
            let mut all = Vec::new();
            wc.status("", &Options::default(), &mut |status| {
                all.push(format!("{status:?}"));
                Ok(())
            })
            .unwrap();
            all
        }

        fn file(&self) -> PathBuf {
            self.root.join(".svn/sapwood/status")
        }

        /// As long as the file is there: what it says is as good as what a walk says.
        fn agree(&self, what: &str) -> Vec<String> {
            let kept = fs::read(self.file()).ok();
            let quick = self.status();
            let _ = fs::remove_file(self.file());
            assert_eq!(quick, self.status(), "{what}");
            if let Some(kept) = kept {
                fs::write(self.file(), kept).unwrap();
            }
            quick
        }
    }

    /// What a user may do, the path that status tells of then, and how it is undone.
    #[test]
    fn what_changes_is_told() {
        let place = Place::new();
        let root = &place.root;
        std::thread::sleep(Duration::from_millis(40));
        assert!(place.status().is_empty());
        let remembered = fs::read(place.file()).unwrap();
        assert!(place.agree("nothing").is_empty());
        let wc = WorkingCopy::open_root(root, crate::Options::default()).unwrap();
        let dirs = || known(&wc, &Options::default()).changed.unwrap();
        assert!(dirs().is_empty(), "all is remembered as in order: {:?}", dirs());

        fs::write(root.join("a/b/three"), "longer text").unwrap();
        assert_eq!(place.agree("a file is modified").len(), 1);
        assert_eq!(dirs().into_iter().collect::<Vec<_>>(), ["a/b"]);
        fs::write(root.join("d/new"), "").unwrap();
        assert_eq!(place.agree("a name is unversioned").len(), 2);
        fs::remove_file(root.join("one")).unwrap();
        assert_eq!(place.agree("a file is missing").len(), 3);
        fs::remove_dir_all(root.join("a/b/c")).unwrap();
        fs::write(root.join("a/b/c"), "").unwrap();
        place.agree("a directory is obstructed");
        fs::remove_dir(root.join("e")).unwrap();
        place.agree("an empty directory is missing");
        assert_eq!(fs::read(place.file()).unwrap(), remembered, "it was in use all the time");

        wc.db().put_node(&NodeRow::new("d/six", 2, Presence::BaseDeleted, Kind::File)).unwrap();
        assert!(known(&wc, &Options::default()).changed.is_none(), "the database changed");
        let told = place.agree("a file is deleted");
        assert!(told.iter().any(|status| status.contains("d/six")), "{told:?}");
    }

    /// A change that leaves no trace in sizes and times, which only a monitor can know of.
    #[test]
    fn a_monitor_is_asked_in_place_of_the_disk() {
        let place = Place::new();
        let socket = place.folder.path().join("own/watch.socket");
        let mut monitor = sapwood_watch::monitor::Monitor::new(&socket).unwrap();
        monitor.add(&place.root).unwrap();
        let running = std::thread::spawn(move || monitor.run(&|| false).unwrap());
        std::thread::sleep(Duration::from_millis(40));
        let watched = crate::Options { monitor: Some(socket.clone()), ..crate::Options::default() };
        let wc = WorkingCopy::open_root(&place.root, watched).unwrap();
        wc.status("", &Options::default(), &mut |_| Ok(())).unwrap();
        let dirs = |wc: &WorkingCopy| known(wc, &Options::default()).changed.unwrap();
        assert!(dirs(&wc).is_empty(), "{:?}", dirs(&wc));
        let file = place.root.join("a/b/three");
        let before = fs::metadata(&file).unwrap().modified().unwrap();
        fs::write(&file, "TEXT").unwrap();
        let opened = File::options().write(true).open(&file).unwrap();
        opened.set_modified(before).unwrap();
        assert_eq!(dirs(&wc).into_iter().collect::<Vec<_>>(), ["a/b"]);
        let unwatched = WorkingCopy::open_root(&place.root, crate::Options::default()).unwrap();
        assert!(dirs(&unwatched).is_empty(), "{:?}", dirs(&unwatched));
        sapwood_watch::ask::stop(&socket).unwrap();
        running.join().unwrap();
        assert!(dirs(&wc).is_empty(), "without the monitor the disk is asked");
    }

    #[test]
    fn what_is_damaged_or_of_another_place_is_not_used() {
        let place = Place::new();
        std::thread::sleep(Duration::from_millis(40));
        place.status();
        let good = fs::read(place.file()).unwrap();
        let wc = WorkingCopy::open_root(&place.root, crate::Options::default()).unwrap();
        let usable = || known(&wc, &Options::default()).changed.is_some();
        assert!(usable());
        for at in 0..good.len() {
            let mut bad = good.clone();
            bad[at] ^= 0x10;
            fs::write(place.file(), &bad).unwrap();
            assert!(!usable(), "byte {at}");
        }
        for len in 0..good.len() {
            fs::write(place.file(), &good[..len]).unwrap();
            assert!(!usable(), "{len} bytes");
        }
        fs::write(place.file(), &good).unwrap();
        let ignores = crate::ignore::Patterns::of_config("*.x");
        let other = Options { ignores, ..Options::default() };
        assert!(known(&wc, &other).changed.is_none(), "other patterns");
        let copy = layout::db(&place.root).with_extension("copy");
        fs::copy(layout::db(&place.root), &copy).unwrap();
        fs::rename(copy, layout::db(&place.root)).unwrap();
        assert!(!usable(), "another file with the same contents");
    }
}
