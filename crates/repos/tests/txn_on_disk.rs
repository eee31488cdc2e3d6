//! Transactions on disk: made by us and seen by the reference's programs, made by the reference and
//! finished by us, and stopped at every operation.

use crate::common;

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use crate::common::crashing::CrashingStorage;
use crate::common::{losses, whole};
use sapwood_core::{ErrorCode, Revnum, SvnError};
use sapwood_fs::admin::CreateOptions;
use sapwood_fs::txn::{Txn, WriteOptions, Writer, flags};
use sapwood_fs::{Caches, Filesystem, OpenOptions};
use sapwood_repos::create::{RepositoryOptions, create};
use sapwood_testkit::fspath;

const FORMATS: [u32; 7] = [1, 2, 3, 4, 6, 7, 8];

struct Place {
    _dir: tempfile::TempDir,
    path: PathBuf,
}

impl Place {
    /// A repository with one revision: `/d/f`, `/d/g` and `/top`.
    fn new(format: u32) -> Self {
        let dir = common::memory();
        let path = dir.path().join("repo");
        let fs = CreateOptions { format, flush_to_disk: false, ..CreateOptions::default() };
        create(&path, &RepositoryOptions { fs, compatible_minor: None }).unwrap();
        let this = Self { _dir: dir, path };
        let mut txn = this.writer().begin(Revnum(0)).unwrap();
        txn.make_dir(fspath("/d")).unwrap();
        for (file, text) in [("/d/f", "one\n"), ("/d/g", "two\n"), ("/top", "three\n")] {
            txn.make_file(fspath(file)).unwrap();
            txn.set_text(fspath(file), &mut text.repeat(100).as_bytes(), None).unwrap();
        }
        txn.commit().unwrap();
        this
    }

    fn fs(&self) -> Filesystem {
        let (caches, options) = (Caches::new(4 << 20), OpenOptions::default());
        Filesystem::open(&self.path.join("db"), &caches, &options).unwrap()
    }

    fn writer(&self) -> Arc<Writer> {
        let options = WriteOptions { flush_to_disk: false, ..WriteOptions::default() };
        Writer::new(&self.fs(), options).unwrap()
    }

    /// What the reference's `program` says.
    fn reference(&self, program: &str, before: &[&str], after: &[&str]) -> String {
        let mut command = Command::new(program);
        command.args(before).arg(&self.path).args(after).env("LC_ALL", "C.UTF-8");
        let out = command.output().unwrap();
        assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
        String::from_utf8(out.stdout).unwrap()
    }

    /// Everything that transactions have on disk.
    fn left(&self) -> Vec<String> {
        let names = ["transactions", "txn-protorevs"].map(|n| self.path.join("db").join(n));
        let read = names.iter().filter_map(|dir| std::fs::read_dir(dir).ok()).flatten();
        read.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }

    fn verify(&self) {
        self.reference("svnadmin", &["verify", "-q"], &[]);
    }
}

/// Does some of everything.
fn change(txn: &mut Txn, fs: &Filesystem) {
    txn.props_mut().set("svn:log", "a message");
    txn.make_dir(fspath("/new")).unwrap();
    txn.make_file(fspath("/new/x")).unwrap();
    txn.set_text(fspath("/new/x"), &mut "new text\n".repeat(50).as_bytes(), None).unwrap();
    txn.copy(&fs.revision_root(Revnum(1)).unwrap(), fspath("/d"), fspath("/new/copy"), true)
        .unwrap();
    txn.set_text(fspath("/new/copy/f"), &mut "one\n".repeat(101).as_bytes(), None).unwrap();
    txn.change_prop(fspath("/d"), "p", Some(b"v")).unwrap();
    txn.delete(fspath("/d/g")).unwrap();
    txn.delete(fspath("/top")).unwrap();
    txn.make_dir(fspath("/top")).unwrap();
}

#[test]
fn the_reference_sees_ours() {
    for format in FORMATS {
        let place = Place::new(format);
        let fs = place.fs();
        let mut txn = place.writer().begin(Revnum(1)).unwrap();
        txn.publish().unwrap();
        let name = txn.name();
        let look = |command: &str, rest: &[&str]| {
            place.reference("svnlook", &[command, "-t", &name], rest)
        };
        assert_eq!(look("changed", &[]), "");
        change(&mut txn, &fs);
        txn.publish().unwrap();
        assert_eq!(look("log", &[]), "a message\n");
        let changed =
            "_U  d/\nD   d/g\nA   new/\nA   new/copy/\nU   new/copy/f\nA   new/x\nR   top/\n";
        let seen = look("changed", &[]).replace("    (from d:r1)\n", "");
        assert_eq!(seen.replace("D   top\nA   top/\n", "R   top/\n"), changed, "format {format}");
        assert_eq!(look("cat", &["new/x"]), "new text\n".repeat(50));
        assert_eq!(look("cat", &["new/copy/f"]), "one\n".repeat(101));
        assert_eq!(look("propget", &["p", "d"]), "v");
        assert_eq!(look("tree", &["new"]), "new/\n copy/\n  f\n  g\n x\n");
        assert_eq!(place.reference("svnadmin", &["lstxns"], &[]), format!("{name}\n"));

        assert_eq!(txn.commit().unwrap(), Revnum(2));
        assert!(place.left().is_empty(), "{:?}", place.left());
        place.verify();
    }
}

#[test]
fn given_up_and_removed() {
    for format in [2, 8] {
        let place = Place::new(format);
        let (fs, writer) = (place.fs(), place.writer());
        let mut txn = writer.begin(Revnum(1)).unwrap();
        txn.publish().unwrap();
        change(&mut txn, &fs);
        txn.publish().unwrap();
        drop(txn);
        assert!(place.left().is_empty(), "{:?}", place.left());

        let leave = || {
            let mut txn = writer.begin(Revnum(1)).unwrap();
            change(&mut txn, &fs);
            txn.suspend().unwrap()
        };
        let name = leave();
        place.reference("svnadmin", &["rmtxns", "-q"], &[&name]);
        assert!(place.left().is_empty(), "{:?}", place.left());
        let name = leave();
        writer.purge_txn(&name).unwrap();
        assert!(place.left().is_empty(), "{:?}", place.left());
        let error = SvnError::from(writer.purge_txn(&name).unwrap_err());
        assert_eq!(error.code(), ErrorCode::FS_NO_SUCH_TRANSACTION);
        let name = leave();
        writer.open_txn(&name).unwrap().abort().unwrap();
        assert!(place.left().is_empty(), "{:?}", place.left());
    }
}

#[test]
fn properties_and_dates() {
    let place = Place::new(8);
    let writer = place.writer();
    let mut txn = writer.begin(Revnum(1)).unwrap();
    txn.make_dir(fspath("/x")).unwrap();
    txn.props_mut().set(flags::CHECK_LOCKS, "true");
    txn.publish().unwrap();
    let name = txn.name();
    let log: &[(&str, Option<&[u8]>)] = &[("svn:log", Some(b"from outside")), ("gone", None)];
    writer.change_txn_props(&name, log).unwrap();
    assert_eq!(place.reference("svnlook", &["log", "-t", &name], &[]), "from outside\n");
    // One writer has its prototype: no other may.
    let keeper = writer.open_txn(&name).unwrap();
    let error = SvnError::from(writer.open_txn(&name).unwrap_err());
    assert_eq!(error.code(), ErrorCode::FS_REP_BEING_WRITTEN);
    drop(keeper);
    txn.refresh().unwrap();
    assert_eq!(txn.props().get("svn:log"), Some(&b"from outside"[..]));
    let revision = txn.commit().unwrap();
    let props = place.fs().revprops(revision).unwrap();
    let names: Vec<&str> = props.iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["svn:date", "svn:log"]);

    // A date that the client sets where it may is kept; others are not.
    for (may, kept) in [(Some("0"), true), (None, false)] {
        let mut txn = writer.begin(Revnum(2)).unwrap();
        if let Some(may) = may {
            txn.props_mut().set(flags::CLIENT_DATE, may);
        }
        let name = txn.suspend().unwrap();
        let date: &[u8] = b"2001-01-01T00:00:00.000000Z";
        writer.change_txn_props(&name, &[("svn:date", Some(date))]).unwrap();
        let revision = writer.open_txn(&name).unwrap().commit().unwrap();
        let props = place.fs().revprops(revision).unwrap();
        assert_eq!(props.get("svn:date") == Some(date), kept);
        assert_eq!(props.get(flags::CLIENT_DATE), None);
    }
}

/// Stops a commit of the reference in its hook, where it copies the repository.
fn of_the_reference(place: &Place) -> String {
    let hook = place.path.join("hooks/pre-commit");
    let script = "#!/bin/sh\ncp -a \"$1/db/.\" \"$1/stopped\"\necho \"$2\" > \"$1/txn\"\nexit 1\n";
    std::fs::write(&hook, script).unwrap();
    std::fs::set_permissions(&hook, std::fs::Permissions::from_mode(0o755)).unwrap();
    let text = place.path.join("text");
    std::fs::write(&text, "from the reference\n".repeat(300)).unwrap();
    let url = format!("file://{}", place.path.display());
    let mut command = Command::new("svnmucc");
    command.args(["-m", "unfinished", "-U", &url, "mkdir", "m", "put"]).arg(&text).arg("m/text");
    command.args(["put"]).arg(&text).arg("m/same").args(["cp", "1", "d", "m/d", "rm", "m/d/g"]);
    command.args(["propset", "q", "w", "top", "rm", "d/f", "put"]).arg(&text).arg("d/f");
    assert!(!command.output().unwrap().status.success());
    std::fs::remove_file(&hook).unwrap();
    std::fs::remove_dir_all(place.path.join("db")).unwrap();
    std::fs::rename(place.path.join("stopped"), place.path.join("db")).unwrap();
    std::fs::read_to_string(place.path.join("txn")).unwrap().trim().to_owned()
}

#[test]
fn the_references_are_finished() {
    for format in FORMATS {
        let place = Place::new(format);
        let name = of_the_reference(&place);
        let writer = place.writer();
        let mut txn = writer.open_txn(&name).unwrap();
        let line = "from the reference\n";
        txn.set_text(fspath("/m/text"), &mut line.repeat(299).as_bytes(), None).unwrap();
        txn.make_file(fspath("/m/ours")).unwrap();
        txn.set_text(fspath("/m/ours"), &mut line.repeat(300).as_bytes(), None).unwrap();
        txn.copy(
            &place.fs().revision_root(Revnum(1)).unwrap(),
            fspath("/d/g"),
            fspath("/m/d/h"),
            true,
        )
        .unwrap();
        txn.delete(fspath("/d/f")).unwrap();
        assert_eq!(txn.commit().unwrap(), Revnum(2));
        assert!(place.left().is_empty(), "{:?}", place.left());
        place.verify();
        let look = |command: &str, rest: &[&str]| place.reference("svnlook", &[command], rest);
        let changed = "D   d/f\nA   m/\nA   m/d/\nD   m/d/g\nA   m/d/h\nA   m/ours\nA   m/same\nA   m/text\n_U  top\n";
        assert_eq!(look("changed", &[]), changed, "format {format}");
        assert_eq!(look("log", &[]), "unfinished\n");
        for (file, lines) in [("m/text", 299), ("m/ours", 300), ("m/same", 300)] {
            assert_eq!(look("cat", &[file]), line.repeat(lines), "format {format}: {file}");
        }
    }
}

#[test]
fn stopped_at_every_operation() {
    let place = Place::new(8);
    let mut refused = 0;
    for operations in 0.. {
        let mut stopped = false;
        for (turn, loss) in losses(operations).into_iter().enumerate() {
            let before = place.fs().youngest().unwrap();
            let storage = CrashingStorage::after(operations);
            let writer = common::writer(&place.path, Arc::new(storage.clone())).unwrap();
            let file = format!("/f{operations}-{turn}");
            let run = || -> Result<Revnum, sapwood_fs::Error> {
                let mut txn = writer.begin(before)?;
                txn.publish()?;
                txn.make_file(fspath(&file))?;
                txn.change_prop(fspath("/d"), "n", Some(operations.to_string().as_bytes()))?;
                txn.publish()?;
                let name = txn.suspend()?;
                let mut txn = writer.open_txn(&name)?;
                txn.set_text(fspath(&file), &mut &b"text"[..], None)?;
                txn.commit()
            };
            let done = run();
            stopped = storage.crash(loss);
            let after = place.fs().youngest().unwrap();
            match done {
                Ok(revision) => assert_eq!(revision, after),
                Err(_) => refused += 1,
            }
            // What is left is a transaction that can be removed, or nothing.
            for name in place.fs().transactions().unwrap() {
                place.writer().purge_txn(&name).unwrap();
            }
            whole(&place.path);
        }
        if !stopped {
            break;
        }
    }
    assert!(refused > 40, "{refused}");
    place.verify();
}

#[test]
fn large_ones_are_found() {
    let place = Place::new(8);
    let writer = place.writer();
    let mut txn = writer.begin(Revnum(1)).unwrap();
    txn.make_file(fspath("/large")).unwrap();
    let text: Vec<u8> =
        (0u32..2_000_000).flat_map(|n| n.wrapping_mul(0x9e37_79b9).to_le_bytes()).collect();
    txn.set_text(fspath("/large"), &mut text.as_slice(), None).unwrap();
    assert_eq!(place.fs().transactions().unwrap(), [txn.name()]);
    txn.props_mut().set("svn:log", "large");
    txn.publish().unwrap();
    let revision = txn.commit().unwrap();
    assert!(place.left().is_empty(), "{:?}", place.left());
    assert_eq!(place.fs().revprops(revision).unwrap().get("svn:log"), Some(&b"large"[..]));
    place.verify();
    // Of one whose process was killed, all is removed.
    let mut txn = writer.begin(revision).unwrap();
    txn.make_file(fspath("/again")).unwrap();
    txn.set_text(
        fspath("/again"),
        &mut text.iter().rev().copied().collect::<Vec<_>>().as_slice(),
        None,
    )
    .unwrap();
    let name = txn.name();
    std::mem::forget(txn);
    place.reference("svnadmin", &["rmtxns", "-q"], &[&name]);
    assert!(place.left().is_empty(), "{:?}", place.left());
}

/// The folder of a transaction is as the reference would have it: the same files.
#[test]
fn the_same_files() {
    let list = |path: &Path, name: &str| {
        let dir = path.join("db/transactions").join(format!("{name}.txn"));
        let mut names: Vec<String> = std::fs::read_dir(dir)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    };
    for format in FORMATS {
        let place = Place::new(format);
        let name = of_the_reference(&place);
        let theirs = list(&place.path, &name);
        let mut txn = place.writer().open_txn(&name).unwrap();
        std::fs::read_dir(place.path.join("db/transactions").join(format!("{name}.txn")))
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .filter(|path| !["props", "rev", "rev-lock"].iter().any(|name| path.ends_with(name)))
            .for_each(|path| std::fs::remove_file(path).unwrap());
        txn.publish().unwrap();
        assert_eq!(list(&place.path, &name), theirs, "format {format}");
    }
}
