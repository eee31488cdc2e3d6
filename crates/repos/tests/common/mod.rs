//! What tests of faults share: a storage that stops working, and the question whether what is left
//! is a whole repository.

#![allow(dead_code, unreachable_pub, reason = "each test uses some of it")]

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::SystemTime;

use crashing::{CrashingStorage, Loss};
use sapwood_core::{CancelToken, NodeKind, Revnum};
use sapwood_fs::admin::{CreateOptions, NewFilesystem};
use sapwood_fs::txn::{WriteOptions, Writer};
use sapwood_fs::{Caches, Filesystem, LocalStorage, OpenOptions, WriteStorage};
use sapwood_repos::Repository;
use sapwood_repos::create::create_of;
use sapwood_repos::verify::{VerifyNotice, VerifyOptions, verify};
pub use sapwood_testkit::crashing::{self, memory};
use sapwood_testkit::fspath;

/// A new repository, of some engine.
#[derive(Debug)]
pub struct Place {
    /// `None` for one that is in memory.
    dir: Option<tempfile::TempDir>,
    pub repository: Repository,
}

impl Place {
    /// One of each engine.
    pub fn each() -> [Self; 3] {
        let kinds = [NewFilesystem::Fsfs(CreateOptions::default()), NewFilesystem::fsx()];
        let [fsfs, fsx] = kinds.map(|kind| {
            let dir = memory();
            let path = dir.path().join("repo");
            create_of(&path, &kind, None).unwrap();
            Self { repository: repository(&path), dir: Some(dir) }
        });
        let fs = Filesystem::in_memory(&Caches::new(4 << 20));
        let repository = Repository::of_filesystem(Path::new("/in/memory"), fs);
        [fsfs, fsx, Self { dir: None, repository }]
    }

    pub fn fs(&self) -> &Filesystem {
        self.repository.fs()
    }

    pub fn writer(&self) -> Arc<Writer> {
        let options = WriteOptions { flush_to_disk: false, ..WriteOptions::default() };
        Writer::new(self.fs(), options).unwrap()
    }

    /// What it says of itself, and for one on disk what the reference says.
    #[track_caller]
    pub fn verify(&self) {
        let cancel = CancelToken::new();
        for revision in 0..=self.fs().youngest().unwrap().0 {
            self.fs().verify_revision(Revnum(revision), &cancel).unwrap();
        }
        if self.dir.is_some() {
            reference_verifies(self.repository.path());
        }
    }

    /// The same with caches of its own.
    pub fn fresh(&self) -> Filesystem {
        self.dir.as_ref().map_or_else(|| self.fs().clone(), |dir| open(&dir.path().join("repo")))
    }
}

/// Opens with caches of its own, as another process does.
pub fn open(path: &Path) -> Filesystem {
    Filesystem::open(&path.join("db"), &Caches::new(4 << 20), &OpenOptions::default()).unwrap()
}

/// Opens with caches of its own, as another process does.
pub fn repository(path: &Path) -> Repository {
    Repository::open(path, &Caches::new(4 << 20), &OpenOptions::default()).unwrap()
}

/// What opens on a storage.
pub fn on(storage: Arc<dyn WriteStorage>) -> OpenOptions {
    OpenOptions { storage: Some(storage), ..OpenOptions::default() }
}

/// As [`open`], on a storage.
pub fn open_on(path: &Path, storage: Arc<dyn WriteStorage>) -> sapwood_fs::Result<Filesystem> {
    Filesystem::open(&path.join("db"), &Caches::new(4 << 20), &on(storage))
}

/// As [`repository`], on a storage.
pub fn repository_on(path: &Path, storage: Arc<dyn WriteStorage>) -> Repository {
    Repository::open(path, &Caches::new(4 << 20), &on(storage)).unwrap()
}

/// Writes through a storage.
pub fn writer(path: &Path, storage: Arc<dyn WriteStorage>) -> sapwood_fs::Result<Arc<Writer>> {
    Writer::new(&open_on(path, storage)?, WriteOptions::default())
}

/// Commits a new file and a change of the root's properties.
pub fn commit(path: &Path) -> Revnum {
    commit_to(path, Arc::new(LocalStorage)).unwrap()
}

/// As [`commit`], through a storage.
pub fn commit_to(path: &Path, storage: Arc<dyn WriteStorage>) -> sapwood_fs::Result<Revnum> {
    let writer = writer(path, storage)?;
    let base = writer.fs().youngest()?;
    let mut txn = writer.begin(base)?;
    let file = format!("/f{base}");
    txn.make_file(fspath(&file))?;
    txn.set_text(fspath(&file), &mut format!("text {base} ").repeat(200).as_bytes(), None)?;
    txn.change_prop(fspath("/"), "p", Some(format!("{base} ").repeat(50).as_bytes()))?;
    txn.commit()
}

/// Reads everything of all revisions: how many nodes.
pub fn read_all(path: &Path) -> (Revnum, usize) {
    let fs = open(path);
    let youngest = fs.youngest().unwrap();
    let mut count = 0;
    for revision in (0..=youngest.0).map(Revnum) {
        fs.revprops(revision).unwrap();
        fs.changed_paths(revision).unwrap();
        let mut todo = vec![fs.revision_root(revision).unwrap().node(fspath("/")).unwrap()];
        while let Some(node) = todo.pop() {
            count += 1;
            node.props().unwrap();
            if node.kind() == NodeKind::File {
                std::io::copy(&mut node.contents().unwrap(), &mut std::io::sink()).unwrap();
            } else {
                for entry in node.entries().unwrap().iter() {
                    todo.push(node.child(entry.name).unwrap().unwrap());
                }
            }
        }
    }
    (youngest, count)
}

/// Our own verification.
#[track_caller]
pub fn whole(path: &Path) {
    let cancel = CancelToken::new();
    let options = VerifyOptions {
        start: None,
        end: None,
        check_normalization: false,
        metadata_only: false,
        notices: false,
        cancel: &cancel,
        threads: 0,
    };
    let done = verify(&repository(path), &options, &mut |notice| match notice {
        VerifyNotice::Error(_, error) => Err(error),
        _ => Ok(()),
    });
    if let Err(error) = done {
        panic!("{}: {error}", path.display());
    }
}

/// The reference's verification.
#[track_caller]
pub fn reference_verifies(path: &Path) {
    let verified = Command::new("svnadmin").args(["verify", "-q"]).arg(path).output().unwrap();
    assert!(verified.status.success(), "{}", String::from_utf8_lossy(&verified.stderr));
}

/// The reference commits a new folder.
#[track_caller]
pub fn reference_commits(path: &Path) {
    let url = format!("file://{}", path.display()).replace(' ', "%20");
    let mut mucc = Command::new("svnmucc");
    let done = mucc.args(["-m", "m", "-U", &url, "mkdir", "by-another"]).output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
}

pub fn copy_tree(from: &Path, to: &Path) {
    let copied = Command::new("cp").arg("-a").args([from, to]).status().unwrap();
    assert!(copied.success());
}

/// The losses to try at operation `number`: all kinds in long tests, else each in turn.
pub fn losses(number: u64) -> Vec<Loss> {
    if sapwood_testkit::long() {
        let some = (0..4).flat_map(|n| [Loss::Some(number * 4 + n), Loss::Since(number * 31 + n)]);
        [Loss::Nothing, Loss::Contents, Loss::Everything].into_iter().chain(some).collect()
    } else {
        let all =
            [Loss::Some(number / 4), Loss::Everything, Loss::Contents, Loss::Since(number * 31)];
        vec![all[usize::try_from(number % 4).unwrap()]]
    }
}

/// What is stopped: a repository, and the storage to do it with.
pub type Work<'a> = dyn Fn(&Path, Arc<dyn WriteStorage>) -> Result<(), String> + 'a;

/// What a crash left in a folder: names, kinds, contents, permissions and, of files that are older than
/// `since`, times. Younger ones count as equally young, so that what a stop at one operation leaves
/// can be known again after a stop at another.
fn state_of(folder: &Path, since: SystemTime) -> u64 {
    let mut state = DefaultHasher::new();
    let mut todo = vec![folder.to_owned()];
    while let Some(path) = todo.pop() {
        path.strip_prefix(folder).unwrap().hash(&mut state);
        let meta = std::fs::symlink_metadata(&path).unwrap();
        meta.mode().hash(&mut state);
        if meta.is_dir() {
            let entries = std::fs::read_dir(&path).unwrap();
            let mut entries: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
            entries.sort();
            todo.append(&mut entries);
        } else if meta.is_symlink() {
            std::fs::read_link(&path).unwrap().hash(&mut state);
        } else {
            std::fs::read(&path).unwrap().hash(&mut state);
            Some(meta.modified().unwrap()).filter(|time| *time < since).hash(&mut state);
        }
    }
    state.finish()
}

/// Runs `work` on copies of `original`, stopped after each number of operations, with a crash of the
/// machine after each, and once more without stopping, after which the machine crashes too. `check`
/// looks at what is left and hears whether the work was done. Then the work is done again, without
/// a crash, and followed by a commit. What an earlier crash left just so is not looked at again. How
/// many operations there were.
pub fn everywhere(original: &Path, work: &Work<'_>, check: &dyn Fn(&Path, bool)) -> u64 {
    let dir = memory();
    let start = SystemTime::now();
    let (mut seen, mut turns) = (HashSet::new(), 0);
    for operations in 0.. {
        let mut stopped = false;
        for loss in losses(operations) {
            let path = dir.path().join(format!("{operations} {loss:?}"));
            copy_tree(original, &path);
            let storage = CrashingStorage::after(operations);
            let done = work(&path, Arc::new(storage.clone()));
            stopped = storage.crash(loss);
            assert_eq!(done.is_err(), stopped, "{operations}: {done:?}");
            turns += 1;
            if seen.insert((stopped, state_of(&path, start))) {
                check(&path, !stopped);
                work(&path, Arc::new(LocalStorage)).unwrap();
                check(&path, true);
                commit(&path);
                whole(&path);
            }
            std::fs::remove_dir_all(&path).unwrap();
        }
        if !stopped {
            println!("{operations} operations, {turns} crashes, {} states", seen.len());
            return operations;
        }
    }
    0
}

/// A repository that work is stopped in again and again, so that each time it has what earlier
/// crashes left; from time to time it is what it was at first, so that looking at all of it does not
/// take longer and longer.
#[derive(Debug)]
pub struct Growing {
    path: PathBuf,
    original: PathBuf,
}

impl Growing {
    /// Begins with what is at `path`.
    pub fn new(path: &Path) -> Self {
        let original = path.with_extension("original");
        copy_tree(path, &original);
        Self { path: path.to_owned(), original }
    }

    /// Begins again if there are more than 60 revisions.
    #[track_caller]
    pub fn renew(&self) {
        if open(&self.path).youngest().unwrap() > Revnum(60) {
            self.end();
            std::fs::remove_dir_all(&self.path).unwrap();
            copy_tree(&self.original, &self.path);
        }
    }

    /// Looks at all of it, and has the reference do so.
    #[track_caller]
    pub fn end(&self) {
        reference_verifies(&self.path);
        read_all(&self.path);
    }
}

pub fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}
