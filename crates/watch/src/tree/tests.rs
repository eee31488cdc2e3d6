//! Each kind of change, by what is reported of it.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a failure is a failed test")]

use super::*;
use crate::trees::Trees;

/// Begins to watch a working copy.
fn watch(trees: &mut Trees, root: &Path, most: usize) -> Result<()> {
    trees.add(root, identity(root), most)
}

fn identity(root: &Path) -> Identity {
    Identity::from(&fs::metadata(root).unwrap())
}

struct Fixture {
    folder: tempfile::TempDir,
    trees: Trees,
}

impl Fixture {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        for dir in [".svn/pristine", "wc", "wc/.svn/pristine/00", "wc/a/b/c", "wc/d"] {
            fs::create_dir_all(folder.path().join(dir)).unwrap();
        }
        fs::write(folder.path().join("wc/a/b/file"), "text").unwrap();
        let mut trees = Trees::new().unwrap();
        watch(&mut trees, &folder.path().join("wc"), usize::MAX).unwrap();
        Self { folder, trees }
    }

    fn root(&self) -> PathBuf {
        self.folder.path().join("wc")
    }

    fn token(&mut self) -> Token {
        self.ask(Token::default()).unwrap().1
    }

    /// What the only working copy says; `None` when it is watched no longer.
    fn ask(&mut self, token: Token) -> Option<(Option<Vec<ChangedDir>>, Token)> {
        let identity = self.trees.iter().next()?.identity();
        self.trees.since(identity, token).unwrap()
    }

    fn directories(&self) -> usize {
        self.trees.iter().map(Tree::directories).sum()
    }

    /// The directories that changed since, with a star where all below counts.
    fn since(&mut self, token: Token) -> Option<Vec<String>> {
        let (changed, _) = self.ask(token).unwrap();
        let shown = |one: ChangedDir| format!("{}{}", one.dir, if one.below { "*" } else { "" });
        let mut all: Vec<String> = changed?.into_iter().map(shown).collect();
        all.sort();
        Some(all)
    }
}

#[test]
fn each_kind_of_change_is_reported_once_it_is_done() {
    let mut place = Fixture::new();
    let root = place.root();
    assert_eq!(place.directories(), 5, "administrative folders are not watched");
    let begin = place.token();
    assert_eq!(place.since(begin).unwrap(), Vec::<String>::new());
    fs::write(root.join("a/b/file"), "TEXT").unwrap();
    assert_eq!(place.since(begin).unwrap(), ["a/b"]);
    let later = place.token();
    fs::set_permissions(root.join("a/b/file"), std::os::unix::fs::PermissionsExt::from_mode(0o600))
        .unwrap();
    assert_eq!(place.since(later).unwrap(), ["a/b"]);
    let later = place.token();
    fs::rename(root.join("a/b/file"), root.join("d/file")).unwrap();
    assert_eq!(place.since(later).unwrap(), ["a/b", "d"]);
    let later = place.token();
    fs::remove_file(root.join("d/file")).unwrap();
    assert_eq!(place.since(later).unwrap(), ["d"]);
    let later = place.token();
    fs::write(root.join(".svn/wc.db"), "").unwrap();
    assert_eq!(place.since(later).unwrap(), Vec::<String>::new());
    assert_eq!(place.since(begin).unwrap(), ["a/b", "d"]);
}

#[test]
fn directories_that_come_and_go() {
    let mut place = Fixture::new();
    let root = place.root();
    let begin = place.token();
    fs::create_dir_all(root.join("new/deep/deeper")).unwrap();
    fs::write(root.join("new/deep/deeper/x"), "").unwrap();
    assert!(place.since(begin).unwrap().starts_with(&["".to_owned(), "new*".to_owned()]));
    let later = place.token();
    fs::write(root.join("new/deep/deeper/x"), "more").unwrap();
    assert_eq!(place.since(later).unwrap(), ["new/deep/deeper"]);
    let later = place.token();
    fs::rename(root.join("a"), root.join("d/a")).unwrap();
    let changed = place.since(later).unwrap();
    for dir in ["", "a*", "d", "d/a*"] {
        assert!(changed.iter().any(|t| t == dir), "{dir} in {changed:?}");
    }
    let later = place.token();
    fs::write(root.join("d/a/b/file"), "moved").unwrap();
    assert_eq!(place.since(later).unwrap(), ["d/a/b"], "it is watched at its new place");
    fs::remove_dir_all(root.join("d/a")).unwrap();
    assert!(place.since(later).unwrap().contains(&"d/a*".to_owned()));
    assert_eq!(place.directories(), 5, "what is left is watched, and nothing else");
}

#[test]
fn what_is_not_known_is_said() {
    let mut place = Fixture::new();
    let now = place.token();
    assert!(place.since(Token { watch: now.watch ^ 1, at: 0 }).is_none(), "another watch");
    assert!(place.since(Token { at: now.at + 1, ..now }).is_none(), "of the future");
    place.trees.begin_again();
    assert!(place.since(now).is_none(), "begun again");
    assert_eq!(place.directories(), 5);
    let elsewhere = place.folder.path().join("elsewhere");
    fs::rename(place.root(), &elsewhere).unwrap();
    assert!(place.ask(now).is_none(), "the root was moved");
    assert!(watch(&mut place.trees, &elsewhere.join("d"), usize::MAX).is_err(), "not a root");
}

/// The kernel's queue has an end; here it is filled.
#[test]
fn a_queue_that_overflows_is_noticed() {
    let mut place = Fixture::new();
    let root = place.root();
    let limit = fs::read_to_string("/proc/sys/fs/inotify/max_queued_events").unwrap();
    let limit: usize = limit.trim().parse().unwrap();
    assert!(
        limit <= 1 << 20,
        "fs.inotify.max_queued_events is {limit}: too many to fill the queue"
    );
    let now = place.token();
    for _ in 0..limit.div_ceil(2) {
        // Two events of two names each: equal events in a row would be made one.
        for name in ["a/x", "d/x"] {
            fs::write(root.join(name), "").unwrap();
        }
    }
    assert!(place.since(now).is_none());
    let later = place.token();
    fs::write(root.join("a/x"), "again").unwrap();
    assert_eq!(place.since(later).unwrap(), ["a"]);
}

#[test]
fn what_is_mounted_below_makes_all_unknown() {
    let mut place = Fixture::new();
    let list = place.folder.path().join("mountinfo");
    let root = fs::canonicalize(place.root()).unwrap();
    let line = format!("30 1 0:9 / {}/a rw - tmpfs tmpfs rw\n", root.display());
    fs::write(&list, "29 1 0:8 / / rw - ext4 x rw\n").unwrap();
    place.trees.only().mountinfo = list.clone();
    let begin = place.token();
    assert_eq!(place.since(begin).unwrap(), [""; 0], "mounts elsewhere do not matter");
    fs::write(&list, &line).unwrap();
    assert_eq!(place.since(begin), None);
    let covered = place.token();
    assert_eq!(place.since(covered), None, "as long as it is mounted");
    fs::write(&list, "").unwrap();
    assert_eq!(place.since(covered), None, "what was looked at is not what is there now");
    assert_eq!(place.since(begin), None);
    let after = place.token();
    assert_eq!(place.since(after).unwrap(), [""; 0]);
    fs::remove_file(&list).unwrap();
    assert!(place.ask(after).is_none(), "nothing is known without the list");
}

/// A mount of its own, taken away at the end.
struct Mount(PathBuf);

impl Mount {
    fn new(at: PathBuf) -> Self {
        let done =
            std::process::Command::new("mount").args(["-t", "tmpfs", "none"]).arg(&at).status();
        assert!(done.unwrap().success(), "root can mount");
        Self(at)
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        let _ = std::process::Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

/// Of a mount that came and went the list itself says nothing any more.
#[test]
fn mounts_that_came_and_went_are_noticed_as_root() {
    if !rustix::process::geteuid().is_root() {
        // Only root can mount, as the name says.
        return;
    }
    let mut place = Fixture::new();
    let before = place.token();
    // Other tests mount, too: only once all is quiet is there something to see.
    drop(Mount::new(place.root().join("a")));
    assert_eq!(place.since(before), None);
    let during = place.token();
    let mounted = Mount::new(place.root().join("a"));
    assert_eq!(place.since(during), None);
    drop(mounted);
    assert_eq!(place.since(during), None, "what was looked at is not what is there now");
    let quiet = (0..100).any(|_| {
        let now = place.token();
        place.since(now).is_some_and(|changed| changed.is_empty())
    });
    assert!(quiet, "after that all is known again");
}

#[test]
fn more_directories_than_may_be_are_refused() {
    let mut place = Fixture::new();
    let root = place.root();
    assert!(watch(&mut place.trees, &root, 5).is_ok());
    let refused = watch(&mut place.trees, &root, 4).unwrap_err().to_string();
    assert!(refused.contains("too many directories"), "{refused}");
    assert_eq!(place.trees.iter().count(), 0, "nor is it watched as before");
    watch(&mut place.trees, &root, 5).unwrap();
    let token = place.token();
    fs::create_dir(root.join("d/more")).unwrap();
    assert!(place.ask(token).is_none(), "one that came later");
}

#[test]
fn many_working_copies_share_one_instance_and_those_that_are_gone_are_dropped() {
    let folder = tempfile::tempdir().unwrap();
    let mut trees = Trees::new().unwrap();
    let root = |number: usize| folder.path().join(format!("wc{number}"));
    for number in 0..300 {
        fs::create_dir_all(root(number).join(".svn")).unwrap();
        fs::create_dir_all(root(number).join("a/b")).unwrap();
        watch(&mut trees, &root(number), usize::MAX).unwrap();
        if number % 3 != 0 {
            fs::remove_dir_all(root(number)).unwrap();
        }
        if number % 50 == 0 {
            trees.catch_up().unwrap();
        }
    }
    trees.catch_up().unwrap();
    assert_eq!(trees.iter().count(), 100, "those that are there");
    let one = identity(&root(3));
    let (_, token) = trees.since(one, Token::default()).unwrap().unwrap();
    fs::write(root(3).join("a/b/x"), "").unwrap();
    fs::write(root(6).join("a/b/x"), "").unwrap();
    let (changed, _) = trees.since(one, token).unwrap().unwrap();
    assert_eq!(changed.unwrap(), [ChangedDir { dir: "a/b".to_owned(), below: false }]);
    let watched = fs::read_to_string(format!("/proc/self/fdinfo/{}", trees.events().as_raw_fd()));
    let watched = watched.unwrap().lines().filter(|line| line.starts_with("inotify ")).count();
    assert_eq!(watched, 300, "three directories each");
}

#[test]
fn a_working_copy_within_another_and_its_own_watch_do_not_disturb_each_other() {
    let mut place = Fixture::new();
    let (outer, inner) = (place.root(), place.root().join("a/inner"));
    fs::create_dir_all(inner.join(".svn")).unwrap();
    fs::create_dir_all(inner.join("deep")).unwrap();
    watch(&mut place.trees, &inner, usize::MAX).unwrap();
    let mut token =
        |root: &Path| place.trees.since(identity(root), Token::default()).unwrap().unwrap().1;
    let (before, before_inner) = (token(&outer), token(&inner));
    fs::write(inner.join("x"), "").unwrap();
    let changed = |place: &mut Fixture, root: &Path, token: Token| {
        let (changed, _) = place.trees.since(identity(root), token).unwrap().unwrap();
        changed.unwrap().into_iter().map(|one| one.dir).collect::<Vec<_>>()
    };
    assert_eq!(changed(&mut place, &outer, before), ["a/inner"]);
    assert_eq!(changed(&mut place, &inner, before_inner), [""]);
    assert!(place.trees.remove(identity(&inner)));
    place.trees.catch_up().unwrap();
    let again = place.trees.since(identity(&outer), before).unwrap().unwrap().1;
    fs::write(inner.join("y"), "").unwrap();
    assert_eq!(changed(&mut place, &outer, again), ["a/inner"], "its own watch is still there");
}

#[test]
fn a_large_one_that_is_forgotten_does_not_fill_the_queue_of_others() {
    let mut place = Fixture::new();
    let large = place.folder.path().join("large");
    fs::create_dir_all(large.join(".svn")).unwrap();
    for number in 0..20_000 {
        fs::create_dir(large.join(format!("d{number}"))).unwrap();
    }
    watch(&mut place.trees, &large, usize::MAX).unwrap();
    place.trees.catch_up().unwrap();
    assert!(place.trees.remove(identity(&large)));
    place.trees.catch_up().unwrap();
    // Not what the other one says: where another test mounts something, that says nothing of a queue.
    assert_eq!(place.trees.overflows, 0, "no event of others was lost");
}
