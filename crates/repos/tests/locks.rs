//! Locks on paths: tokens and expiry, many at once, several programs at once, and stopped at every
//! single file operation.

use crate::common;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use crate::common::crashing::{CrashingStorage, Loss};
use sapwood_core::{CancelToken, Depth, SvnError};
use sapwood_fs::admin::pack::PackOptions;
use sapwood_fs::admin::{CreateOptions, FsxOptions, NewFilesystem};
use sapwood_fs::txn::{WriteOptions, Writer};
use sapwood_fs::{
    Caches, Filesystem, LockOptions, LockTarget, OpenOptions, UnlockTarget, WriteStorage,
};
use sapwood_repos::create::{RepositoryOptions, create, create_of};
use sapwood_testkit::fspath;

const OPTIONS: LockOptions<'_> =
    LockOptions { user: "ann", comment: None, is_dav_comment: false, expires: None, steal: false };

fn target(path: &str) -> LockTarget {
    LockTarget { path: fspath(path).to_owned(), token: None, revision: None }
}

fn open(path: &Path, open: &OpenOptions, options: WriteOptions) -> Arc<Writer> {
    let fs = Filesystem::open(&path.join("db"), &Caches::new(4 << 20), open);
    Writer::new(&fs.unwrap(), options).unwrap()
}

/// A writer that makes durable what it does.
fn writer(path: &Path, storage: Arc<dyn WriteStorage>) -> Arc<Writer> {
    open(
        path,
        &OpenOptions { storage: Some(storage), ..OpenOptions::default() },
        WriteOptions::default(),
    )
}

/// A writer that does not wait for the disk.
fn quick(path: &Path) -> Arc<Writer> {
    open(
        path,
        &OpenOptions::default(),
        WriteOptions { flush_to_disk: false, ..WriteOptions::default() },
    )
}

/// A repository with these files.
fn repository(folder: &Path, files: &[String]) -> (PathBuf, Arc<Writer>) {
    let path = folder.join("repo");
    create(&path, &RepositoryOptions::default()).unwrap();
    let writer = quick(&path);
    let mut txn = writer.begin(sapwood_core::Revnum(0)).unwrap();
    for file in files {
        for (at, _) in file.match_indices('/').skip(1) {
            if txn.kind(fspath(&file[..at])).unwrap().is_none() {
                txn.make_dir(fspath(&file[..at])).unwrap();
            }
        }
        txn.make_file(fspath(file)).unwrap();
    }
    txn.commit().unwrap();
    (path, writer)
}

fn digest_files(path: &Path) -> usize {
    let folders = std::fs::read_dir(path.join("db/locks")).unwrap();
    let files = folders.flat_map(|folder| std::fs::read_dir(folder.unwrap().path()).unwrap());
    files.filter(|file| !file.as_ref().unwrap().file_name().to_str().unwrap().contains('.')).count()
}

fn code(error: sapwood_fs::Error) -> u32 {
    SvnError::from(error).code().0
}

#[test]
fn locks_that_have_expired_are_none() {
    let dir = common::memory();
    let (path, writer) = repository(dir.path(), &["/d/f".into(), "/d/g".into()]);
    let past = LockOptions { expires: Some(1), comment: Some("c"), ..OPTIONS };
    let future = LockOptions { expires: Some(i64::MAX), ..OPTIONS };
    let lock = |options: &LockOptions<'_>| {
        let mut done = writer.lock_paths(&[target("/d/f")], options);
        assert!(done.failure.is_none());
        done.each.pop().unwrap().1
    };
    let unlock = |token: &str| {
        let wanted = UnlockTarget { path: fspath("/d/f").to_owned(), token: token.into() };
        writer.unlock_paths(&[wanted], Some("ann"), false).each.pop().unwrap().1
    };
    lock(&past).unwrap();
    assert_eq!(writer.fs().lock(fspath("/d/f")).unwrap(), None);
    assert_eq!(writer.fs().locks(fspath("/"), Depth::Infinity).unwrap(), []);
    // The path is free, whichever user had it; its file is written over.
    let held = lock(&LockOptions { user: "bob", ..future }).unwrap();
    assert_eq!(held.expires, Some(i64::MAX));
    assert_eq!(code(lock(&OPTIONS).unwrap_err()), 160_035);
    assert_eq!(code(unlock(&held.token).unwrap_err()), 160_039);
    assert_eq!(code(unlock("opaquelocktoken:other").unwrap_err()), 160_040);
    let stolen = lock(&LockOptions { steal: true, ..past }).unwrap();
    // The user who unlocks hears that it has expired, and it is gone.
    assert_eq!(code(unlock(&stolen.token).unwrap_err()), 160_041);
    assert_eq!(digest_files(&path), 0);
    assert_eq!(code(unlock(&stolen.token).unwrap_err()), 160_040);
    let negative = LockOptions { expires: Some(-1), ..OPTIONS };
    let refused = writer.lock_paths(&[target("/d/f")], &negative);
    assert_eq!(code(refused.failure.unwrap()), 200_004);
    assert!(writer.unlock_paths(&[], None, true).failure.is_some(), "a user is needed always");
}

/// The file whose permissions a lock gets goes while the shard of revision 0 is packed, which a writer notices when it misses it.
#[test]
fn the_first_shard_may_be_packed_meanwhile() {
    let NewFilesystem::Fsx(fsx) = NewFilesystem::fsx() else { unreachable!() };
    let fsfs = CreateOptions { shard_size: 2, ..CreateOptions::default() };
    for kind in [NewFilesystem::Fsfs(fsfs), NewFilesystem::Fsx(FsxOptions { shard_size: 2, ..fsx })]
    {
        let dir = common::memory();
        let path = dir.path().join("repo");
        create_of(&path, &kind, None).unwrap();
        let committer = quick(&path);
        for base in 0..4 {
            let mut txn = committer.begin(sapwood_core::Revnum(base)).unwrap();
            txn.make_file(fspath(&format!("/{base}"))).unwrap();
            txn.commit().unwrap();
        }
        let [locker, unlocker] = [(); 2].map(|()| quick(&path));
        assert!(path.join("db/revs/0").exists());
        let packed =
            committer.fs().pack(&PackOptions::default(), &CancelToken::new(), &mut |_| Ok(()));
        packed.unwrap();
        assert!(!path.join("db/revs/0").exists());
        let mut done = locker.lock_paths(&[target("/3")], &OPTIONS);
        assert!(done.failure.is_none(), "{:?}", done.failure);
        let token = done.each.pop().unwrap().1.unwrap().token;
        let wanted = UnlockTarget { path: fspath("/3").to_owned(), token };
        let done = unlocker.unlock_paths(&[wanted], Some("ann"), false);
        assert!(done.failure.is_none(), "{:?}", done.failure);
        assert_eq!(digest_files(&path), 0);
    }
}

#[test]
fn one_result_a_path() {
    let dir = common::memory();
    let (path, writer) = repository(dir.path(), &["/f".into(), "/g".into()]);
    let with_token =
        |path: &str, token: &str| LockTarget { token: Some(token.to_owned()), ..target(path) };
    let token = "opaquelocktoken:here";
    let wanted = [
        target("/g"),
        target("/f"),
        with_token("/f", token),
        with_token("/x", "urn:x"),
        target("/h"),
    ];
    let done = writer.lock_paths(&wanted, &OPTIONS);
    assert!(done.failure.is_none());
    let shown: Vec<_> = done
        .each
        .into_iter()
        .map(|(path, result)| (path, result.map(|lock| lock.token == token).map_err(code)))
        .collect();
    let expected: [(&str, Result<bool, u32>); 4] =
        [("/x", Err(160_037)), ("/f", Ok(true)), ("/g", Ok(false)), ("/h", Err(160_013))];
    assert_eq!(shown, expected.map(|(path, result)| (fspath(path).to_owned(), result)));
    let unlock = |path: &str, token: &str| UnlockTarget {
        path: fspath(path).to_owned(),
        token: token.into(),
    };
    let done = writer.unlock_paths(
        &[unlock("/h", ""), unlock("/g", ""), unlock("/f", ""), unlock("/f", "x")],
        Some("bob"),
        true,
    );
    assert!(done.failure.is_none());
    assert_eq!(done.each.iter().filter(|(_, result)| result.is_ok()).count(), 2);
    assert_eq!(digest_files(&path), 0);
}

#[test]
fn many_at_once_with_other_programs() {
    let dir = common::memory();
    let files: Vec<String> = (0..200).map(|n| format!("/d{}/e/f{n}", n % 7)).collect();
    let (path, all) = repository(dir.path(), &files);
    // Two of our threads and the reference's client lock and unlock different files.
    let url = format!("file://{}", path.display());
    std::thread::scope(|scope| {
        for ours in files[..100].chunks(50) {
            let path = &path;
            scope.spawn(move || {
                let writer = quick(path);
                for files in ours.chunks(10) {
                    let targets: Vec<_> = files.iter().map(|file| target(file)).collect();
                    let done = writer.lock_paths(&targets, &OPTIONS);
                    assert!(done.failure.is_none());
                    let locked = done
                        .each
                        .into_iter()
                        .map(|(path, lock)| UnlockTarget { path, token: lock.unwrap().token });
                    // The last of ten stays.
                    let locked: Vec<_> = locked.filter(|lock| !lock.path.ends_with('9')).collect();
                    let done = writer.unlock_paths(&locked, Some("ann"), false);
                    assert!(done.failure.is_none() && done.each.iter().all(|(_, r)| r.is_ok()));
                }
            });
        }
        for _ in 0..2 {
            for command in ["lock", "unlock"] {
                let urls = files[100..].iter().map(|file| format!("{url}{file}"));
                let mut svn = Command::new("svn");
                let done = svn.args([command, "-q", "--username", "ann"]).args(urls).output();
                let done = done.unwrap();
                assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
            }
        }
    });
    let mut left: Vec<_> = all
        .fs()
        .locks(fspath("/"), Depth::Infinity)
        .unwrap()
        .into_iter()
        .map(|lock| lock.path)
        .collect();
    let mut below: Vec<String> = Vec::new();
    for n in 0..7 {
        let locks = all.fs().locks(fspath(&format!("/d{n}")), Depth::Infinity).unwrap();
        below.extend(locks.into_iter().map(|lock| lock.path.into_string()));
    }
    let mut expected: Vec<_> = files[..100].iter().filter(|f| f.ends_with('9')).cloned().collect();
    left.sort();
    below.sort();
    expected.sort();
    assert_eq!(left, expected);
    assert_eq!(below, expected);
    // More than are synced.
    let targets: Vec<_> = files.iter().map(|file| target(file)).collect();
    let done = all.lock_paths(&targets, &LockOptions { steal: true, ..OPTIONS });
    assert!(done.each.iter().all(|(_, result)| result.is_ok()));
    let targets: Vec<_> = done
        .each
        .into_iter()
        .map(|(path, lock)| UnlockTarget { path, token: lock.unwrap().token })
        .collect();
    drop(all.unlock_paths(&targets, Some("ann"), false));
    assert_eq!(digest_files(&path), 0);
}

/// What is locked; fails if a lock is not listed in every directory above it.
fn locked(path: &Path) -> Vec<String> {
    let fs = quick(path).fs().clone();
    let mut found = Vec::new();
    for file in ["/d/e/f", "/d/g"] {
        if fs.lock(fspath(file)).unwrap().is_none() {
            continue;
        }
        found.push(file.to_owned());
        let mut folder = file;
        while folder != "/" {
            folder = sapwood_core::path::dirname(folder);
            let below = fs.locks(fspath(folder), Depth::Infinity).unwrap();
            assert!(below.iter().any(|lock| lock.path == file), "{file} is not listed in {folder}");
        }
    }
    found
}

#[test]
fn stopped_at_every_operation() {
    let dir = common::memory();
    let (path, healthy) = repository(dir.path(), &["/d/e/f".into(), "/d/g".into()]);
    let targets = [target("/d/e/f"), target("/d/g")];
    let unlock = targets
        .each_ref()
        .map(|target| UnlockTarget { path: target.path.clone(), token: String::new() });
    let mut refused = [0, 0];
    for operations in 0.. {
        let mut stopped = false;
        // File systems keep the order of moves: names are not left each as it may be.
        let moments = [operations * 3, operations * 5, operations * 7].map(Loss::Since);
        for loss in [Loss::Nothing, Loss::Contents, Loss::Everything].into_iter().chain(moments) {
            let storage = CrashingStorage::after(operations);
            let done = writer(&path, Arc::new(storage.clone())).lock_paths(&targets, &OPTIONS);
            let told: Vec<_> =
                done.each.iter().filter(|(_, r)| r.is_ok()).map(|(p, _)| p.as_str()).collect();
            stopped = storage.crash(loss);
            let there = locked(&path);
            let what = format!("{loss:?} after {operations}");
            // Neither we nor the reference make the names durable.
            let kept = matches!(loss, Loss::Nothing | Loss::Contents);
            let lost = told.iter().any(|path| !there.iter().any(|at| at == path));
            assert!(!lost || !kept, "locked and lost: {what}");
            refused[0] += usize::from(stopped);

            // Whatever is there now, it can be locked, and unlocked with a stop on the way.
            let done = healthy.lock_paths(&targets, &LockOptions { steal: true, ..OPTIONS });
            assert!(done.failure.is_none() && done.each.iter().all(|(_, result)| result.is_ok()));
            assert_eq!(locked(&path).len(), 2);
            let storage = CrashingStorage::after(operations);
            let writer = writer(&path, Arc::new(storage.clone()));
            let done = writer.unlock_paths(&unlock, Some("ann"), true);
            let told: Vec<_> =
                done.each.iter().filter(|(_, r)| r.is_ok()).map(|(p, _)| p.as_str()).collect();
            let stopped_too = storage.crash(loss);
            let there = locked(&path);
            let back = told.iter().any(|path| there.iter().any(|at| at == path));
            assert!(!back || !kept, "unlocked and there: {what}");
            refused[1] += usize::from(stopped_too);
            stopped |= stopped_too;

            // And the rest can be cleared.
            drop(healthy.lock_paths(&targets, &LockOptions { steal: true, ..OPTIONS }));
            drop(healthy.unlock_paths(&unlock, Some("ann"), true));
            assert_eq!(digest_files(&path), 0);
        }
        if !stopped {
            break;
        }
    }
    // Five files to create, write, sync, give permissions and move; five to remove.
    assert!(refused[0] >= 25 && refused[1] >= 5, "{refused:?}");
}
