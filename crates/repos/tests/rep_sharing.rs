//! Texts that are shared with earlier revisions through `rep-cache.db`: with the reference's
//! programs at work in the same repository.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use sapwood_core::{ErrorCode, Revnum, SvnError};
use sapwood_fs::admin::CreateOptions;
use sapwood_fs::txn::{WriteOptions, Writer};
use sapwood_fs::{Caches, Filesystem, OpenOptions};
use sapwood_repos::create::{RepositoryOptions, create};
use sapwood_testkit::fspath;

/// A text that compresses badly: its size shows whether it is stored again.
fn noise(seed: u32, len: usize) -> Vec<u8> {
    let mut state = seed.wrapping_mul(2_654_435_761) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        state.to_le_bytes()[1]
    };
    (0..len).map(|_| next()).collect()
}

const LEN: usize = 20_000;

struct Repo {
    _dir: tempfile::TempDir,
    path: PathBuf,
    writer: Arc<Writer>,
}

fn open(path: &Path) -> Arc<Writer> {
    let fs = Filesystem::open(&path.join("db"), &Caches::new(4 << 20), &OpenOptions::default());
    let options = WriteOptions { flush_to_disk: false, ..WriteOptions::default() };
    Writer::new(&fs.unwrap(), options).unwrap()
}

impl Repo {
    fn new(format: u32) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("repo");
        let fs = CreateOptions { format, flush_to_disk: false, ..CreateOptions::default() };
        create(&path, &RepositoryOptions { fs, compatible_minor: None }).unwrap();
        let writer = open(&path);
        Self { _dir: dir, path, writer }
    }

    /// Commits a new file with our code.
    fn ours(&self, name: &str, text: &[u8]) -> Result<Revnum, SvnError> {
        let base = self.writer.fs().youngest()?;
        let mut txn = self.writer.begin(base)?;
        txn.make_file(fspath(name))?;
        txn.set_text(fspath(name), &mut &*text, None)?;
        Ok(txn.commit()?)
    }

    /// Commits a new file with the reference's.
    fn theirs(&self, name: &str, text: &[u8]) {
        let file = self.path.with_extension("text");
        std::fs::write(&file, text).unwrap();
        let url = format!("file://{}", self.path.display());
        run(Command::new("svnmucc").args(["-m", "m", "-U", &url, "put"]).arg(file).arg(&name[1..]));
    }

    fn size(&self, revision: u64) -> u64 {
        std::fs::metadata(self.path.join(format!("db/revs/0/{revision}"))).unwrap().len()
    }

    fn verify(&self) {
        run(Command::new("svnadmin").args(["verify", "-q"]).arg(&self.path));
        let fs = self.writer.fs();
        fs.verify_metadata(None, None, 2, &sapwood_core::CancelToken::default(), &mut |_| ())
            .unwrap();
    }
}

fn run(command: &mut Command) {
    let done = command.output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
}

#[test]
fn both_share_what_both_wrote() {
    for format in [4, 6, 7, 8] {
        let repo = Repo::new(format);
        let (one, two) = (noise(1, LEN), noise(2, LEN));
        repo.ours("/a", &one).unwrap();
        assert!(repo.size(1) > 10_000);
        repo.ours("/b", &one).unwrap();
        repo.theirs("/c", &one);
        repo.theirs("/d", &two);
        assert!(repo.size(4) > 10_000);
        repo.ours("/e", &two).unwrap();
        repo.theirs("/f", &two);
        for revision in [2, 3, 5, 6] {
            assert!(repo.size(revision) < 3000, "format {format}, r{revision}");
        }
        assert!(repo.writer.take_error_after_commit().is_none());
        repo.verify();
    }
}

#[test]
fn off_means_off() {
    let repo = Repo::new(8);
    std::fs::write(repo.path.join("db/fsfs.conf"), "[rep-sharing]\nenable-rep-sharing = false\n")
        .unwrap();
    let repo = Repo { writer: open(&repo.path), ..repo };
    repo.ours("/a", &noise(1, LEN)).unwrap();
    repo.ours("/b", &noise(1, LEN)).unwrap();
    assert!(repo.size(2) > 10_000);
    assert!(!repo.path.join("db/rep-cache.db").exists());
    // Formats before 4 know nothing of it.
    let old = Repo::new(3);
    old.ours("/a", &noise(1, LEN)).unwrap();
    assert!(!old.path.join("db/rep-cache.db").exists());
}

#[test]
fn a_cache_that_was_removed_or_is_none_stops_nobody() {
    let repo = Repo::new(8);
    let cache = repo.path.join("db/rep-cache.db");
    let text = noise(3, LEN);
    repo.ours("/a", &text).unwrap();
    std::fs::remove_file(&cache).unwrap();
    repo.ours("/b", &text).unwrap();
    assert!(repo.size(2) > 10_000);
    repo.ours("/c", &text).unwrap();
    assert!(repo.size(3) < 3000);
    repo.verify();
    std::fs::remove_file(&cache).unwrap();
    std::fs::write(&cache, "this is no database, but it is long enough to be one".repeat(100))
        .unwrap();
    repo.ours("/d", &text).unwrap();
    assert!(repo.size(4) > 10_000);
    assert!(repo.writer.take_error_after_commit().is_some());
}

/// Runs SQL on the cache, by the reference's SQLite's successor: our own.
fn change(repo: &Repo, sql: &str) {
    let connection = rusqlite::Connection::open(repo.path.join("db/rep-cache.db")).unwrap();
    assert_eq!(connection.execute(sql, []).unwrap(), 1);
}

#[test]
fn wrong_rows_do_no_harm() {
    let (one, two) = (noise(4, LEN), noise(5, LEN));
    // A revision that is not there.
    let repo = Repo::new(8);
    repo.ours("/a", &one).unwrap();
    change(&repo, "UPDATE rep_cache SET revision = 7");
    let error = repo.ours("/b", &one).unwrap_err();
    assert_eq!(error.code(), ErrorCode::FS_CORRUPT);
    assert!(error.message().ends_with("in rep-cache is beyond HEAD"), "{}", error.message());
    repo.writer.forget_younger_reps(Revnum(1)).unwrap();
    repo.ours("/b", &one).unwrap();
    repo.verify();

    // Another length: not shared.
    let repo = Repo::new(8);
    repo.ours("/a", &one).unwrap();
    change(&repo, "UPDATE rep_cache SET expanded_size = 5");
    repo.ours("/b", &one).unwrap();
    assert!(repo.size(2) > 10_000);

    // Another text of the same length.
    let repo = Repo::new(8);
    repo.ours("/a", &one).unwrap();
    let sql = format!("UPDATE rep_cache SET hash = '{}'", sapwood_core::Sha1::of(&two));
    change(&repo, &sql);
    let error = repo.ours("/b", &two).unwrap_err();
    assert_eq!(error.code(), ErrorCode::FS_AMBIGUOUS_CHECKSUM_REP);
    assert_eq!(repo.writer.fs().youngest().unwrap(), Revnum(1));
}

#[test]
fn committing_beside_the_reference() {
    let repo = Repo::new(8);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for n in 0..15 {
                repo.theirs(&format!("/t{n}"), &noise(n % 5, LEN));
            }
        });
        scope.spawn(|| {
            for n in 0..60 {
                repo.ours(&format!("/o{n}"), &noise(n % 5, LEN)).unwrap();
            }
        });
    });
    assert!(repo.writer.take_error_after_commit().is_none());
    assert_eq!(repo.writer.fs().youngest().unwrap(), Revnum(75));
    repo.verify();
    // Five texts, each written twice at the most, when both met it at once.
    let large = (1..=75).filter(|revision| repo.size(*revision) > 15_000).count();
    assert!((5..=10).contains(&large), "{large}");
}
