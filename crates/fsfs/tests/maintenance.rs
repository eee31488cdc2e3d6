//! Verification, index dumps, sizes, locks and transactions on repositories that the reference
//! made, compared with what the reference's programs say.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::as_conversions,
    reason = "a test on input of our own"
)]

use std::fs;
use std::path::Path;

use sapwood_core::{CancelToken, Depth, NodeKind, Revnum};
use sapwood_fsfs::{Caches, Filesystem, OpenOptions};
use sapwood_testkit::fspath;
use sapwood_testkit::{Output, Programs, Repository, Shape};

fn open(repository: &Path) -> Filesystem {
    let caches = Caches::new(16 << 20);
    Filesystem::open(&repository.join("db"), &caches, &OpenOptions::default()).unwrap()
}

/// Verifies all; the progress that was reported.
fn verify(fs: &Filesystem) -> Vec<Option<Revnum>> {
    let cancel = CancelToken::new();
    let mut seen = Vec::new();
    fs.verify_metadata(None, None, 2, &cancel, &mut |at| seen.push(at)).unwrap();
    for revision in 0..=fs.youngest().unwrap().0 {
        fs.revision_root(Revnum(revision)).unwrap().verify().unwrap();
        fs.verify_revision(Revnum(revision), &cancel).unwrap();
    }
    seen
}

/// What the reference's `svnadmin verify` reports of metadata.
fn reference_progress(repository: &Repository) -> Vec<Option<Revnum>> {
    let printed = Programs::reference().run("svnadmin", ["verify", &repository.arg()]);
    let metadata = |line: &str| {
        let line = line.strip_prefix("* Verifying ")?;
        if line.starts_with("repository metadata") {
            return Some(None);
        }
        let number = line.strip_prefix("metadata at revision ")?.strip_suffix(" ...")?;
        Some(Some(Revnum(number.parse().unwrap())))
    };
    printed.stdout_text().lines().filter_map(metadata).collect()
}

fn dump_index(fs: &Filesystem, revision: Revnum) -> Option<String> {
    let mut dump = String::from("       Start       Length Type   Revision     Item Checksum\n");
    let kinds = ["none ", "frep ", "drep ", "fprop", "dprop", "node ", "chgs "];
    let done = fs.dump_index(revision, &CancelToken::new(), &mut |e| {
        let kind = kinds[e.item_type.number() as usize];
        let (offset, size, fnv1) = (e.offset, e.size, e.fnv1);
        let (revision, item) = (e.revision.0, e.item);
        dump += &format!("{offset:12x} {size:12x} {kind} {revision:9} {item:8} {fnv1:08x}\n");
        Ok(())
    });
    done.ok().map(|()| dump)
}

/// What the reference's own verification finds wrong: with small blocks its packing may lose
/// items (1.14.2; seen with `p2l-page-size` and `block-size` of 4 KiB).
fn broken_by_the_reference(repository: &Repository) -> Option<String> {
    let output = Programs::reference().run("svnadmin", ["verify", "-q", &repository.arg()]);
    (output.code != 0).then(|| output.stderr_text())
}

fn check(repository: &Repository) {
    let fs = open(&repository.path());
    let (name, path) = (repository.name(), repository.arg());
    if let Some(said) = broken_by_the_reference(repository) {
        let error =
            fs.verify_metadata(None, None, 2, &CancelToken::new(), &mut |_| {}).unwrap_err();
        assert!(said.contains(&error.to_string()), "{name}: {said}{error}");
        return;
    }
    assert_eq!(verify(&fs), reference_progress(repository), "{name}");
    let youngest = fs.youngest().unwrap().0;
    let reference = Programs::reference();
    for revision in [0, 1, youngest / 2, youngest] {
        let r = revision.to_string();
        let size = reference.run("svnadmin", ["rev-size", &path, "-q", "-r", &r]);
        let ours = fs.revision_size(Revnum(revision)).unwrap().to_string();
        assert_eq!(ours, size.stdout_text().trim(), "{name} r{revision}");
        let dump = dump_index(&fs, Revnum(revision));
        assert_eq!(dump.is_some(), fs.format().logical_addressing);
        if let Some(dump) = dump {
            let theirs = reference.run("svnfsfs", ["dump-index", &path, "-r", &r]);
            assert_eq!(dump, theirs.stdout_text(), "{name} r{revision}");
        }
    }
}

#[test]
fn everything_that_the_reference_made_is_whole() {
    for shape in Shape::few() {
        check(&Repository::scripted(&shape));
    }
}

#[test]
#[ignore = "long: all shapes"]
fn random_histories_in_all_shapes_are_whole() {
    for shape in Shape::all() {
        check(&Repository::random(&shape, 5, 40));
    }
}

#[test]
fn a_rep_cache_that_is_wrong() {
    for shape in [Shape::new("1.8"), Shape::new("1.10")] {
        let repository = Repository::scripted(&shape);
        let path = repository.path().join("db/rep-cache.db");
        let whole = fs::read(&path).unwrap();
        let verify = || {
            let fs = open(&repository.path());
            fs.verify_metadata(None, None, 2, &CancelToken::new(), &mut |_| {})
        };
        verify().unwrap();
        // A database that is cut short, none at all, and one that has lost its table's name.
        for damaged in [whole[..whole.len() / 2].to_vec(), b"nothing".to_vec()] {
            fs::write(&path, damaged).unwrap();
            assert!(verify().is_err());
        }
        let text = String::from_utf8_lossy(&whole).into_owned();
        assert!(text.contains("rep_cache"));
        let other = sapwood_testkit::compare::replace(&whole, b"rep_cache", b"pre_cache");
        fs::write(&path, other).unwrap();
        assert!(verify().is_err());
        fs::remove_file(&path).unwrap();
        verify().unwrap();
    }
}

/// Paths of files in the youngest revision.
fn some_files(fs: &Filesystem) -> Vec<String> {
    let root = fs.revision_root(fs.youngest().unwrap()).unwrap();
    let mut files = Vec::new();
    let mut todo = vec![root.node(fspath("/")).unwrap()];
    while let Some(node) = todo.pop() {
        for entry in node.entries().unwrap().iter() {
            let child = node.child(entry.name).unwrap().unwrap();
            match entry.kind {
                NodeKind::Dir => todo.push(child),
                NodeKind::File => files.push(child.path().as_str().to_owned()),
            }
        }
    }
    files.truncate(6);
    files.sort();
    files
}

#[test]
fn locks_are_those_of_the_reference() {
    let repository = Repository::scripted(&Shape::new("1.8"));
    let reference = Programs::reference();
    let fs = open(&repository.path());
    assert_eq!(fs.lock_files().locks(fspath("/"), Depth::Infinity).unwrap(), []);
    let files = some_files(&fs);
    for path in &files {
        let comment = repository.parent().join("comment");
        fs::write(&comment, format!("why {path}\n")).unwrap();
        let mut run = reference.command("svnadmin");
        run.args(["lock", &repository.arg(), path, "j. random"]).arg(&comment);
        Output::of(&mut run).expect_success("lock");
    }
    let mut locks = fs.lock_files().locks(fspath("/"), Depth::Infinity).unwrap();
    locks.sort_by(|a, b| a.path.cmp(&b.path));
    assert_eq!(locks.iter().map(|l| l.path.clone()).collect::<Vec<_>>(), files);
    let listed = reference.run("svnadmin", ["lslocks", &repository.arg()]).stdout_text();
    for lock in &locks {
        assert_eq!(lock.comment, Some(format!("why {}\n", lock.path)));
        assert_eq!(lock.owner, "j. random");
        assert!(listed.contains(&lock.token));
        assert_eq!(fs.lock_files().lock(&lock.path).unwrap().as_ref(), Some(lock));
        let parent = sapwood_core::path::dirname(&lock.path);
        assert!(fs.lock_files().locks(fspath(parent), Depth::Files).unwrap().contains(lock));
        assert!(!fs.lock_files().locks(fspath(parent), Depth::Empty).unwrap().contains(lock));
        assert_eq!(
            fs.lock_files().locks(&lock.path, Depth::Empty).unwrap(),
            std::slice::from_ref(lock)
        );
    }
    assert_eq!(fs.lock_files().lock(fspath("/")).unwrap(), None);
}

const KEEP: &str = "#!/bin/sh
cp -a \"$1/db/transactions/$2.txn\" \"$1/kept\"
test -d \"$1/db/txn-protorevs\" && cp -a \"$1/db/txn-protorevs/$2.rev\" \"$1/proto\"
printf %s \"$2\" > \"$1/name\"
exit 1
";

/// Has the reference begin a transaction, and keeps it; its name.
fn begin_txn(repository: &Repository) -> String {
    let dir = repository.path();
    let hook = dir.join("hooks/pre-commit");
    fs::write(&hook, KEEP).unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(&hook, mode).unwrap();
    let file = repository.parent().join("new.txt");
    fs::write(&file, "text\nof the new file\n").unwrap();
    let mut run = Programs::reference().command("svnmucc");
    run.args(["-U", &repository.url(), "-m", "not to be", "--non-interactive"]);
    run.args(["mkdir", "new dir", "put", file.to_str().unwrap(), "new dir/f"]);
    run.args(["propset", "p", "v", "new dir", "rm", "trunk"]);
    Output::of(&mut run);
    let name = fs::read_to_string(dir.join("name")).unwrap();
    // The client aborted the transaction: what the hook kept stands for it.
    let txn = dir.join(format!("db/transactions/{name}.txn"));
    fs::rename(dir.join("kept"), txn).unwrap();
    if dir.join("proto").exists() {
        let proto = dir.join(format!("db/txn-protorevs/{name}.rev"));
        fs::rename(dir.join("proto"), proto).unwrap();
    }
    name
}

#[test]
fn transactions_of_the_reference() {
    for shape in Shape::few() {
        let repository = Repository::scripted(&shape);
        let name = begin_txn(&repository);
        let fs = open(&repository.path());
        let label = repository.name();
        assert_eq!(fs.transactions().unwrap(), [name.as_str()], "{label}");
        let props = fs.txn_props(&name).unwrap();
        assert_eq!(props.get_str("svn:log"), Some("not to be"), "{label}");
        let root = fs.txn_root(&name).unwrap();
        root.verify().unwrap();
        assert_eq!(root.base_revision(), fs.youngest().unwrap());
        assert!(root.find(fspath("/trunk")).unwrap().is_none());
        let node = root.node(fspath("/new dir")).unwrap();
        assert_eq!(node.props().unwrap().get_str("p"), Some("v"));
        let mut text = String::new();
        let mut contents = root.node(fspath("/new dir/f")).unwrap().contents().unwrap();
        std::io::Read::read_to_string(&mut contents, &mut text).unwrap();
        assert_eq!(text, "text\nof the new file\n", "{label}");
        let changes = root.changed_paths().unwrap();
        let changed: Vec<_> = changes.iter().map(|c| format!("{:?} {}", c.kind, c.path)).collect();
        assert_eq!(changed, ["Add /new dir", "Add /new dir/f", "Delete /trunk"], "{label}");
        assert!(fs.txn_props("77-7").is_err());
        assert!(fs.txn_root("77-7").is_err());
    }
}
