//! Small repositories for the targets that write: made once, copied for every input, and judged
//! afterwards. Whatever was sent, a repository must stay whole.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use sapwood_core::{CancelToken, ErrorCode};
use sapwood_fs::admin::CreateOptions;
use sapwood_fs::{Caches, OpenOptions};
use sapwood_repos::Repository;
use sapwood_repos::create::{RepositoryOptions, create};
use sapwood_repos::load::{LoadOptions, load};
use sapwood_repos::verify::{VerifyNotice, VerifyOptions, verify};
use tempfile::TempDir;

/// Formats and shard sizes of the repositories.
const KINDS: [(u32, u64); 4] = [(8, 3), (6, 1), (7, 1000), (1, 0)];

/// What is in them: two folders, files, a copy and a property, in three revisions.
const SEED: &[u8] = include_bytes!("../kept/load/seed-history");

/// In memory where the system has such a place: nothing here shall last.
fn scratch() -> TempDir {
    let shm = Path::new("/dev/shm");
    let made = if shm.is_dir() { TempDir::new_in(shm) } else { TempDir::new() };
    made.expect("a scratch folder")
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir(to).expect("a folder");
    for entry in fs::read_dir(from).expect("a folder") {
        let entry = entry.expect("an entry");
        let target = to.join(entry.file_name());
        if entry.file_type().expect("a kind").is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), &target).expect("a copy");
        }
    }
}

/// A repository that goes when it is dropped.
pub struct Fixture {
    folder: TempDir,
}

impl Fixture {
    /// A copy of one of the repositories, with or without its three revisions.
    pub fn new(kind: u8, seeded: bool) -> Self {
        static MADE: OnceLock<TempDir> = OnceLock::new();
        let all = MADE.get_or_init(|| {
            let dir = scratch();
            for (n, (format, shard_size)) in KINDS.into_iter().enumerate() {
                for seeded in [false, true] {
                    let path = dir.path().join(format!("{n}{seeded}"));
                    let fs = CreateOptions {
                        format,
                        shard_size,
                        logical_addressing: format >= 7,
                        flush_to_disk: false,
                    };
                    let options = RepositoryOptions { fs, compatible_minor: None };
                    create(&path, &options).expect("a repository");
                    // Each file costs each input: leave what no check reads.
                    fs::remove_dir_all(path.join("hooks")).expect("hooks");
                    fs::create_dir(path.join("hooks")).expect("hooks");
                    fs::remove_dir_all(path.join("conf")).expect("conf");
                    fs::create_dir(path.join("conf")).expect("conf");
                    if seeded {
                        let fixture = open(&path);
                        let options = LoadOptions { no_flush: true, ..LoadOptions::default() };
                        let cancel = CancelToken::new();
                        load(&fixture, Box::new(SEED), options, &mut |_| Ok(()), &cancel)
                            .expect("the seed");
                    }
                }
            }
            dir
        });
        let folder = scratch();
        let from = all.path().join(format!("{}{seeded}", usize::from(kind) % KINDS.len()));
        copy(&from, &folder.path().join("repo"));
        Self { folder }
    }

    /// Where it is.
    pub fn path(&self) -> PathBuf {
        self.folder.path().join("repo")
    }

    /// Opens it, as a program that knows nothing of it yet.
    pub fn open(&self) -> Repository {
        open(&self.path())
    }

    /// Verifies it, as another program would. With `any_date`, dates may be none: the writer that loads
    /// without validation gets what the stream says.
    pub fn assert_whole(&self, any_date: bool) {
        let cancel = CancelToken::new();
        let options = VerifyOptions {
            start: None,
            end: None,
            check_normalization: false,
            metadata_only: false,
            notices: true,
            threads: 1,
            cancel: &cancel,
        };
        verify(&self.open(), &options, &mut |notice| {
            match &notice {
                VerifyNotice::Error(_, error)
                    if any_date && error.code() == ErrorCode::BAD_DATE => {}
                VerifyNotice::Error(..) => panic!("not whole: {notice:?}"),
                _ => {}
            }
            Ok(())
        })
        .expect("a repository that can be verified");
    }
}

fn open(path: &Path) -> Repository {
    let caches: Arc<Caches> = Caches::new(4 << 20);
    Repository::open(path, &caches, &OpenOptions::default()).expect("a repository")
}
