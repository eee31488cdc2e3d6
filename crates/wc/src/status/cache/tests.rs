//! The cache, compared with the result of a walk.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use sapwood_core::paths::{RelPath, RelPathBuf};
use sapwood_core::{Depth, Revnum, Sha1};

use super::super::table::Scope;
use super::*;
use crate::base::Bump;
use crate::db::{Kind, NodeRow, Presence};
use crate::error::{Error, Result};
use crate::view::FileStat;

struct Fixture {
    folder: tempfile::TempDir,
    root: PathBuf,
}

impl Fixture {
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
            let mut row = NodeRow::new(RelPath::trusted(path), 0, Presence::Normal, kind);
            row.repos_id = Some(repos);
            row.repos_path = Some(RelPath::trusted(path).to_owned());
            row.properties = Some(b"()".to_vec());
            row.revision = Some(Revnum(1));
            row.depth = (kind == Kind::Dir).then_some(Depth::Infinity);
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
        self.status_at(RelPath::ROOT, &Options::default())
    }

    /// A failure is a line, too.
    fn status_at(&self, relpath: &RelPath, options: &Options) -> Vec<String> {
        let wc = WorkingCopy::open_root(&self.root, crate::Options::default()).unwrap();
        let mut all = Vec::new();
        let reported = wc.status(relpath, options, &mut |status| {
            all.push(format!("{status:?}"));
            Ok(())
        });
        all.extend(reported.err().map(|error| format!("{error:?}")));
        all
    }

    /// One of the statuses of parts, such as commits and diffs ask for, too.
    fn part(&self, (path, how): (&str, u8)) -> Vec<String> {
        let usual = Options::default();
        let quiet = || Options { unversioned: false, ..Options::default() };
        match how {
            0 => self.status_at(RelPath::trusted(path), &usual),
            1 => self.status_at(RelPath::trusted(path), &quiet()),
            _ => self.status_at(
                RelPath::trusted(path),
                &Options { layers: true, no_ignore: true, ..quiet() },
            ),
        }
    }

    fn file(&self) -> PathBuf {
        self.root.join(".svn/sapwood/status")
    }

    /// As long as the file is there: what it says is as good as what a walk says.
    fn agree(&self, what: &str) -> Vec<String> {
        let quick = self.status();
        let paths = ["", "a", "a/b", "a/b/c", "a/b/three", "d", "d/six", "e", "e/new", "none"];
        let asked: Vec<_> =
            paths.into_iter().flat_map(|path| (0..3).map(move |how| (path, how))).collect();
        let parts: Vec<_> = asked.iter().map(|one| (one, self.part(*one))).collect();
        let files = [self.file(), change_journal::notes_place(&layout::adm(&self.root))];
        let kept = files.each_ref().map(|file| (file, fs::read(file)));
        let _ = fs::remove_file(self.file());
        assert_eq!(quick, self.status(), "{what}");
        for (one, part) in parts {
            // A status of everything made it again.
            let _ = fs::remove_file(self.file());
            assert_eq!(part, self.part(*one), "{what}: {one:?}");
        }
        for (file, bytes) in kept {
            if let Ok(bytes) = bytes {
                fs::write(file, bytes).unwrap();
            }
        }
        quick
    }
}

/// What a user may do, the path that status reports then, and how it is undone.
#[test]
fn what_changes_is_reported() {
    let place = Fixture::new();
    let root = &place.root;
    std::thread::sleep(Duration::from_millis(40));
    assert!(place.status().is_empty());
    let remembered = fs::read(place.file()).unwrap();
    assert!(place.agree("nothing").is_empty());
    let wc = WorkingCopy::open_root(root, crate::Options::default()).unwrap();
    let dirs = || load(&wc, RelPath::ROOT, &Options::default(), RelPath::ROOT).changed.unwrap();
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

    wc.db()
        .put_node(&NodeRow::new(RelPath::trusted("d/six"), 2, Presence::BaseDeleted, Kind::File))
        .unwrap();
    assert!(dirs().contains("d"), "what this connection changes counts at once: {:?}", dirs());
    drop(wc);
    let reported = place.agree("a file is deleted");
    assert!(reported.iter().any(|status| status.contains("d/six")), "{reported:?}");
}

/// A change that leaves no trace in sizes and times, which only a monitor can know of.
#[test]
fn a_monitor_is_asked_in_place_of_the_disk() {
    let place = Fixture::new();
    let socket = place.folder.path().join("own/watch.socket");
    let mut monitor = sapwood_watch::monitor::Monitor::new(&socket).unwrap();
    monitor.add(&place.root).unwrap();
    let running = std::thread::spawn(move || monitor.run(&|| false).unwrap());
    std::thread::sleep(Duration::from_millis(40));
    let watched = crate::Options { monitor: Some(socket.clone()), ..crate::Options::default() };
    let wc = WorkingCopy::open_root(&place.root, watched).unwrap();
    wc.status(RelPath::ROOT, &Options::default(), &mut |_| Ok(())).unwrap();
    let dirs = |wc: &WorkingCopy| {
        load(wc, RelPath::ROOT, &Options::default(), RelPath::ROOT).changed.unwrap()
    };
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
    let place = Fixture::new();
    std::thread::sleep(Duration::from_millis(40));
    place.status();
    let good = fs::read(place.file()).unwrap();
    let wc = WorkingCopy::open_root(&place.root, crate::Options::default()).unwrap();
    let usable = || load(&wc, RelPath::ROOT, &Options::default(), RelPath::ROOT).changed.is_some();
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
    assert!(load(&wc, RelPath::ROOT, &other, RelPath::ROOT).changed.is_none(), "other patterns");
    let copy = layout::db(&place.root).with_extension("copy");
    fs::copy(layout::db(&place.root), &copy).unwrap();
    fs::rename(copy, layout::db(&place.root)).unwrap();
    assert!(!usable(), "another file with the same contents");
}

impl Fixture {
    fn open(&self) -> WorkingCopy {
        WorkingCopy::open_root(&self.root, crate::Options::default()).unwrap()
    }

    /// The directories that must be looked at; `None` when all must.
    fn dirs(&self) -> Option<Vec<RelPathBuf>> {
        let wc = self.open();
        let known = wc
            .db()
            .read(|_| Ok(load(&wc, RelPath::ROOT, &Options::default(), RelPath::ROOT)))
            .unwrap();
        known.changed.map(|dirs| dirs.into_iter().collect())
    }
}

/// Tests our own changes, what must be looked at after them, and that a status is the same with and
/// without the cache.
#[test]
fn our_own_changes_are_noted() {
    let place = Fixture::new();
    std::thread::sleep(Duration::from_millis(40));
    assert!(place.status().is_empty());
    let row = |path: &str, layer, presence, kind| {
        NodeRow::new(RelPath::trusted(path), layer, presence, kind)
    };
    let deleted = row("d/six", 2, Presence::BaseDeleted, Kind::File);
    place.open().db().put_node(&deleted).unwrap();
    assert_eq!(place.dirs().unwrap(), ["d"], "a file is deleted");
    assert_eq!(place.agree("a file is deleted").len(), 1);
    assert_eq!(place.dirs().unwrap(), ["d"], "it is not in order");
    place.open().db().remove_node(RelPath::trusted("d/six"), 2).unwrap();
    assert!(place.agree("and is back").is_empty());
    assert!(place.dirs().unwrap().is_empty(), "what was found there is noted");

    fs::create_dir(place.root.join("e/new")).unwrap();
    place.open().db().put_node(&row("e/new", 2, Presence::Normal, Kind::Dir)).unwrap();
    assert_eq!(place.dirs().unwrap(), ["e", "e/new"], "a directory is added");
    place.agree("a directory is added");
    place.open().db().remove_node(RelPath::trusted("e/new"), 2).unwrap();
    fs::remove_dir(place.root.join("e/new")).unwrap();
    assert!(place.agree("a directory is gone").is_empty());
    std::thread::sleep(Duration::from_millis(40));
    assert!(place.agree("a directory is gone for long").is_empty());
    assert!(place.dirs().unwrap().is_empty(), "it is forgotten");

    let root = |props: &[u8]| {
        let wc = place.open();
        let mut base = wc.db().base(RelPath::ROOT).unwrap().unwrap();
        base.properties = Some(props.to_vec());
        wc.db().put_node(&base).unwrap();
    };
    root(b"(1 a 1 b)");
    assert_eq!(place.dirs().unwrap(), [""], "the root");
    assert!(place.agree("the root").is_empty());
    root(b"(18 svn:global-ignores 3 *.x)");
    assert!(place.dirs().is_none(), "patterns for everything");
    place.status();
    root(b"(18 svn:global-ignores 3 *.x)");
    assert!(place.dirs().is_some(), "the same patterns");
}

/// What must not be carried on: others wrote in between, or the process was killed.
#[test]
fn changes_of_others_are_not_noted() {
    let place = Fixture::new();
    std::thread::sleep(Duration::from_millis(40));
    assert!(place.status().is_empty());
    let deleted =
        |path: &str| NodeRow::new(RelPath::trusted(path), 2, Presence::BaseDeleted, Kind::File);
    let changed = |wc: &WorkingCopy, path: &str| wc.db().put_node(&deleted(path)).unwrap();
    let (one, other) = (place.open(), place.open());
    changed(&one, "d/six");
    changed(&other, "a/two");
    changed(&one, "d/five");
    drop(one);
    drop(other);
    assert!(place.dirs().is_none(), "two programs at a time");
    assert_eq!(place.agree("two programs at a time").len(), 3);
    place.status();
    let killed = place.open();
    changed(&killed, "one");
    // A program that is killed says nothing.
    std::mem::forget(killed.clone());
    assert!(place.dirs().is_none(), "a program that was killed");
    place.status();
    assert!(place.dirs().is_some());
    place
        .open()
        .db()
        .put_lock(&crate::db::LockRow {
            repos_id: 1,
            repos_relpath: RelPathBuf::trusted("d/six".to_owned()),
            token: "t".to_owned(),
            owner: None,
            comment: None,
            date: None,
        })
        .unwrap();
    assert!(place.dirs().is_none(), "a lock");
}

/// Notes that are cut off or changed are of no use, and do no harm.
#[test]
fn damaged_notes_are_not_used() {
    let place = Fixture::new();
    std::thread::sleep(Duration::from_millis(40));
    place.status();
    let deleted = NodeRow::new(RelPath::trusted("d/six"), 2, Presence::BaseDeleted, Kind::File);
    place.open().db().put_node(&deleted).unwrap();
    let file = change_journal::notes_place(&layout::adm(&place.root));
    let good = fs::read(&file).unwrap();
    assert!(place.dirs().is_some());
    for at in 0..good.len() {
        let mut bad = good.clone();
        bad[at] ^= 0x10;
        fs::write(&file, &bad).unwrap();
        assert!(place.dirs().is_none(), "byte {at}");
        fs::write(&file, &good[..at]).unwrap();
        assert!(place.dirs().is_none(), "{at} bytes");
    }
    // A writer that goes on after a damaged note does so in vain.
    fs::write(&file, [&good[..good.len() - 1], &good].concat()).unwrap();
    assert!(place.dirs().is_none());
}

/// Many changes, each with a status after it: the notes are joined with the file.
#[test]
fn notes_do_not_grow_without_end() {
    let place = Fixture::new();
    std::thread::sleep(Duration::from_millis(40));
    place.status();
    let notes = change_journal::notes_place(&layout::adm(&place.root));
    let mut longest = 0;
    for _ in 0..200 {
        let wc = place.open();
        wc.db()
            .put_node(&NodeRow::new(
                RelPath::trusted("d/six"),
                2,
                Presence::BaseDeleted,
                Kind::File,
            ))
            .unwrap();
        wc.status(RelPath::ROOT, &Options::default(), &mut |_| Ok(())).unwrap();
        let length = fs::metadata(&notes).map_or(0, |found| found.len());
        longest = longest.max(length);
        wc.db().remove_node(RelPath::trusted("d/six"), 2).unwrap();
    }
    assert!(longest < 80_000, "{longest} bytes");
    assert!(place.dirs().is_some());
}

/// Notes are of the whole working copy: one folder after the other does not read long ones.
#[test]
fn long_notes_are_read_for_the_root_alone() {
    let place = Fixture::new();
    std::thread::sleep(Duration::from_millis(40));
    place.status();
    let is_known = |dir: &str| {
        let wc = place.open();
        let known = load(&wc, RelPath::trusted(dir), &Options::default(), RelPath::ROOT);
        known.changed.is_some()
    };
    assert!(is_known("a"));
    let notes = change_journal::notes_place(&layout::adm(&place.root));
    let long = format!("d/{}", "x".repeat(4000));
    let row = NodeRow::new(RelPath::trusted(&long), 2, Presence::BaseDeleted, Kind::File);
    while fs::metadata(&notes).map_or(0, |found| found.len()) <= NOTES_BELOW {
        assert!(is_known("a"));
        place.open().db().put_node(&row).unwrap();
        place.open().db().remove_node(RelPath::trusted(&long), 2).unwrap();
    }
    assert!(is_known("") && !is_known("a"));
    assert!(place.agree("after long notes").is_empty());
}

impl Fixture {
    /// What is known of all of BASE, held against what its rows say: whatever is different is named.
    fn even(&self, what: &str) -> Option<UniformBase> {
        let wc = self.open();
        let known = wc.even();
        if let Some(known) = &known {
            let table = Table::read(wc.db(), Scope::Subtree(RelPath::ROOT)).unwrap();
            for node in table.nodes.iter().filter(|node| !node.relpath.is_empty()) {
                let named = known.odd.contains(&*node.relpath);
                assert!(named || known.has(node), "{what}: {} is not as {known:?}", node.relpath);
            }
        }
        known
    }

    fn bump(&self, target: &RelPath, revision: u64) {
        let wc = self.open();
        let (skipped, inherited) = (HashSet::new(), HashMap::new());
        let to = Bump {
            revision: Revnum(revision),
            repos: None,
            skipped: &skipped,
            inherited: &inherited,
        };
        wc.db().write(|db| db.bump(target, Depth::Infinity, &to)).unwrap();
    }
}

/// What all rows say, through changes of all kinds.
#[test]
fn what_all_rows_say_is_carried_on() {
    let place = Fixture::new();
    std::thread::sleep(Duration::from_millis(40));
    assert!(place.even("nothing is remembered").is_none());
    place.status();
    let known = place.even("at first").unwrap();
    assert_eq!((known.revision, known.odd.len()), (Revnum(1), 0));
    let odd = |what: &str| place.even(what).unwrap().odd.into_iter().collect::<Vec<_>>();

    let mut file = place.open().db().base(RelPath::trusted("d/six")).unwrap().unwrap();
    file.revision = Some(Revnum(2));
    place.open().db().put_node(&file).unwrap();
    assert_eq!(odd("a commit of a file"), ["d/six"]);
    place.bump(RelPath::trusted("a"), 3);
    assert_eq!(odd("an update of a directory").len(), 7);
    place.bump(RelPath::ROOT, 4);
    let known = place.even("an update of everything").unwrap();
    assert_eq!(known.revision, Revnum(4));
    place.bump(RelPath::ROOT, 4);
    assert_eq!(place.even("and again").unwrap(), known);

    let added = NodeRow::new(RelPath::trusted("e/new"), 2, Presence::Normal, Kind::File);
    place.open().db().put_node(&added).unwrap();
    assert!(odd("an addition").contains(&RelPathBuf::trusted("e/new".to_owned())));
    let gone = NodeRow::new(RelPath::trusted("e/gone"), 0, Presence::NotPresent, Kind::File);
    place.open().db().put_node(&gone).unwrap();
    assert!(odd("a child that is not there").contains(&RelPathBuf::trusted("e/gone".to_owned())));
    let shallow = "UPDATE nodes SET depth = 'files' WHERE wc_id = ?1 AND local_relpath = 'd'";
    place.open().db().execute(shallow, [1]).unwrap();
    assert!(odd("a shallow directory").contains(&RelPathBuf::trusted("d".to_owned())));

    // A change that is taken back says nothing.
    let wc = place.open();
    let failed: Result<()> = wc.db().write(|db| {
        db.bump_all(9, "UPDATE nodes SET revision = 9 WHERE wc_id = ?1 AND op_depth = 0", [1])?;
        Err(Error::Cancelled)
    });
    failed.unwrap_err();
    drop(wc);
    assert_eq!(place.even("a failure").unwrap().revision, Revnum(4));

    // What another program changes is not known.
    let other = rusqlite::Connection::open(layout::db(&place.root)).unwrap();
    other.execute("UPDATE nodes SET revision = 8 WHERE local_relpath = 'one'", []).unwrap();
    assert!(place.even("another program").is_none());
}

/// The directories that a revert must look at, with a monitor or without: permission bits of files and
/// administrative directories, which a status does not report, count too.
#[test]
fn reverts_look_where_something_may_have_changed() {
    let mode = |path: &Path, mode: u32| {
        fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(mode)).unwrap();
    };
    for watched in [false, true] {
        let place = Fixture::new();
        let socket = place.folder.path().join("own/watch.socket");
        let mut monitor = sapwood_watch::monitor::Monitor::new(&socket).unwrap();
        monitor.add(&place.root).unwrap();
        let running = std::thread::spawn(move || monitor.run(&|| false).unwrap());
        let options = crate::Options {
            monitor: watched.then(|| socket.clone()),
            ..crate::Options::default()
        };
        let wc = WorkingCopy::open_root(&place.root, options).unwrap();
        let look = || {
            std::thread::sleep(Duration::from_millis(40));
            wc.status(RelPath::ROOT, &Options::default(), &mut |_| Ok(())).unwrap();
        };
        let dirs = || restless(&wc, RelPath::ROOT).map(|dirs| dirs.into_iter().collect::<Vec<_>>());
        assert_eq!(dirs(), None, "there was no status yet");
        look();
        assert_eq!(dirs().unwrap(), [""; 0]);
        let file = place.root.join("a/b/three");
        mode(&file, 0o755);
        assert_eq!(dirs().unwrap(), ["a", "a/b"], "it can be run now");
        look();
        assert_eq!(dirs().unwrap(), ["a", "a/b"], "what a status found, it does not forget");
        mode(&file, 0o444);
        assert_eq!(dirs().unwrap(), ["a", "a/b"]);
        mode(&file, 0o644);
        let _ = fs::remove_file(place.file());
        look();
        assert_eq!(dirs().unwrap(), [""; 0]);
        fs::create_dir(place.root.join("d/.svn")).unwrap();
        assert_eq!(dirs().unwrap(), ["", "d"], "another working copy, perhaps");
        let _ = fs::remove_file(place.file());
        look();
        assert_eq!(dirs().unwrap(), ["", "d"]);
        fs::remove_dir(place.root.join("d/.svn")).unwrap();
        let _ = fs::remove_file(place.file());
        look();
        assert_eq!(restless(&wc, RelPath::trusted("a/b")).unwrap().len(), 0);
        assert_eq!(restless(&wc, RelPath::trusted("a/b/three")), None, "not of a directory");
        fs::write(place.root.join("a/b/c/four"), "longer").unwrap();
        assert_eq!(dirs().unwrap(), ["a/b", "a/b/c"]);
        assert_eq!(restless(&wc, RelPath::trusted("d")).unwrap().len(), 0, "not below");
        wc.db()
            .put_node(&NodeRow::new(
                RelPath::trusted("d/six"),
                2,
                Presence::BaseDeleted,
                Kind::File,
            ))
            .unwrap();
        assert!(
            dirs().unwrap().iter().any(|dir| *dir == *"d"),
            "what this connection changes counts at once"
        );
        sapwood_watch::ask::stop(&socket).unwrap();
        running.join().unwrap();
    }
}

/// When a status finds a monitor that has just started, it keeps the cache, from the monitor's token on;
/// earlier changes are looked at until they are found clean.
#[test]
fn a_monitor_that_comes_later_is_asked_from_the_next_status_on() {
    let place = Fixture::new();
    std::thread::sleep(Duration::from_millis(40));
    assert_eq!(place.status(), [""; 0], "remembered without a monitor");
    fs::write(place.root.join("a/b/three"), "longer").unwrap();
    let socket = place.folder.path().join("own/watch.socket");
    let mut monitor = sapwood_watch::monitor::Monitor::new(&socket).unwrap();
    monitor.add(&place.root).unwrap();
    let running = std::thread::spawn(move || monitor.run(&|| false).unwrap());
    let options = crate::Options { monitor: Some(socket.clone()), ..crate::Options::default() };
    let wc = WorkingCopy::open_root(&place.root, options).unwrap();
    let token = || {
        let (file, notes) = read_both(wc.disk()).unwrap();
        let since = wc.db().since().unwrap();
        Memory::read(&file, &notes, &since, CacheQuery::Any).unwrap().token
    };
    let look = || {
        let mut found = Vec::new();
        let mut visit = |status: super::super::Status| {
            found.push(status.relpath.to_string());
            Ok(())
        };
        wc.status(RelPath::ROOT, &Options::default(), &mut visit).unwrap();
        found
    };
    assert_eq!(token(), Token::default());
    assert_eq!(look(), ["a/b/three"]);
    let renewed = token();
    assert_ne!(renewed, Token::default());
    assert_eq!(look(), ["a/b/three"], "changed before the monitor came");
    assert_eq!(token(), renewed, "written once");
    fs::write(place.root.join("a/b/c/four"), "longer, too").unwrap();
    assert_eq!(look(), ["a/b/c/four", "a/b/three"], "told by the monitor");
    sapwood_watch::ask::stop(&socket).unwrap();
    running.join().unwrap();
}
