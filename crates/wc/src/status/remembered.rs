//! What the last full status found to be in order, kept in `.svn/sapwood/status`: while the database and
//! a directory have not changed since, looks at the directory and its files are all that is needed.
//!
//! The file is good for one state of wc.db, told by its inode, its length and the counter that every
//! change of it raises; any other state makes it worthless, and so does any doubt about its own bytes.
//! It only ever says of a directory that there was nothing to tell of it. Everything else, and every
//! directory that is not as it was, is looked at as if there were no such file. It may be deleted at any
//! moment.
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

use super::listing::{Look, OpenDir, Stamp};
use super::table::{Node, Table};
use super::value::DiskKind;
use super::{Options, fan_out};
use crate::layout;
use crate::root::WorkingCopy;

/// What the file begins with; another number for another form.
const MAGIC: &[u8; 8] = b"sapstat1";
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

/// Writes down what a walk of everything found. That it cannot be written is no matter.
pub(super) fn keep(wc: &WorkingCopy, options: &Options, table: &Table, found: &Found, began: i64) {
    if !table.locks.is_empty() || !table.wc_locks.is_empty() || table.has_externals {
        return;
    }
    let Some(key) = Key::of(wc, options) else { return };
    let mut out = MAGIC.to_vec();
    key.write(&mut out);
    for (dir, stamp) in found {
        let stamp = stamp.filter(|s| s.changed.max(s.written) < began.saturating_sub(TOO_YOUNG));
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

fn parse(bytes: &[u8], key: Key) -> Option<Vec<Remembered<'_>>> {
    let (body, end) = bytes.split_at_checked(bytes.len().checked_sub(8)?)?;
    let mut head = MAGIC.to_vec();
    key.write(&mut head);
    // The key first: the sum need not be made of what is of no use.
    let rest = body.strip_prefix(head.as_slice())?;
    if sum(body).to_le_bytes() != *end {
        return None;
    }
    let mut reader = Reader(rest);
    let mut all = Vec::new();
    while !reader.0.is_empty() {
        let dir = reader.name()?;
        let known = reader.flag()?;
        let stamp = Stamp { inode: reader.u64()?, changed: reader.i64()?, written: reader.i64()? };
        all.push(Remembered { dir, stamp: known.then_some(stamp), files: reader.part()? });
    }
    Some(all)
}

/// The directories that must be looked at; `None` when everything must.
pub(super) fn changed(wc: &WorkingCopy, options: &Options) -> Option<BTreeSet<String>> {
    let bytes = fs::read(place(wc)).ok()?;
    let all = parse(&bytes, Key::of(wc, options)?)?;
    let root = OpenDir::open(wc.root()).ok()??;
    let limit = (all.len() >> 3).saturating_add(8);
    // What is known to need a look already costs nothing more to find.
    let known = all.iter().filter(|one| one.stamp.is_none()).count();
    if known > limit {
        return None;
    }
    let found = fan_out::over(&all, |one, _, found| {
        if !is_as_it_was(&root, one) {
            found.push(one.dir.to_owned());
        }
    });
    (found.len() <= limit).then(|| found.into_iter().collect())
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
        _folder: tempfile::TempDir,
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
            Self { _folder: folder, root }
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
        let dirs = || changed(&wc, &Options::default()).unwrap();
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
        assert!(changed(&wc, &Options::default()).is_none(), "the database changed");
        let told = place.agree("a file is deleted");
        assert!(told.iter().any(|status| status.contains("d/six")), "{told:?}");
    }

    #[test]
    fn what_is_damaged_or_of_another_place_is_not_used() {
        let place = Place::new();
        std::thread::sleep(Duration::from_millis(40));
        place.status();
        let good = fs::read(place.file()).unwrap();
        let wc = WorkingCopy::open_root(&place.root, crate::Options::default()).unwrap();
        let usable = || changed(&wc, &Options::default()).is_some();
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
        assert!(changed(&wc, &other).is_none(), "other patterns");
        let copy = layout::db(&place.root).with_extension("copy");
        fs::copy(layout::db(&place.root), &copy).unwrap();
        fs::rename(copy, layout::db(&place.root)).unwrap();
        assert!(!usable(), "another file with the same contents");
    }
}
