//! Fixtures that are made once and kept below cargo's target folder.
//!
//! Invariant: a fixture's folder appears under its name only when it is complete, and its name
//! holds a checksum of all that it was made from, so a stale one is never used. Test processes
//! that want the same fixture at the same time wait for the one that makes it.

use crate::compare::Output;
use sapwood_core::Md5;
use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};

/// The folder of all fixtures.
#[must_use]
pub fn folder() -> PathBuf {
    let exe = std::env::current_exe().expect("our own path");
    let target = exe.ancestors().find(|d| d.join("CACHEDIR.TAG").is_file());
    let folder = match target {
        Some(target) => target.join("testkit"),
        None => std::env::temp_dir().join("sapwood-testkit"),
    };
    fs::create_dir_all(&folder).expect("a folder for fixtures");
    folder
}

/// The fixture `name`, made by `make` in an empty folder if it is not there yet. It is shared: do
/// not change it.
pub fn shared(name: &str, make: impl FnOnce(&Path)) -> PathBuf {
    let folder = folder();
    let done = folder.join(name);
    if done.is_dir() {
        return done;
    }
    let lock = File::create(folder.join(format!("{name}.lock"))).expect("a lock file");
    lock.lock().expect("a lock");
    if !done.is_dir() {
        let work = folder.join(format!("{name}.new"));
        let _ = fs::remove_dir_all(&work);
        fs::create_dir_all(&work).expect("a folder for a fixture");
        make(&work);
        fs::rename(&work, &done).expect("the fixture's name");
    }
    done
}

/// What a program of the reference answered to `args` about the fixture `about`: kept in a file, so
/// that it is asked once.
pub fn answer(about: &str, args: &[&str], ask: impl FnOnce() -> Output) -> Output {
    let name = Md5::of(args.join("\0").as_bytes()).to_hex();
    let dir = folder().join("answers").join(about);
    let path = dir.join(name);
    if let Ok(kept) = fs::read(&path) {
        let (head, body) = kept.split_at(20);
        let number = |text: &[u8]| std::str::from_utf8(text).expect("a head").trim().to_owned();
        let (stdout, stderr) = body.split_at(number(&head[10..]).parse().expect("a length"));
        return Output {
            code: number(&head[..10]).parse().expect("an exit code"),
            stdout: stdout.to_vec(),
            stderr: stderr.to_vec(),
        };
    }
    let out = ask();
    fs::create_dir_all(&dir).expect("a folder for answers");
    let head = format!("{:10}{:10}", out.code, out.stdout.len());
    let mut new = tempfile::NamedTempFile::new_in(&dir).expect("a file for an answer");
    new.write_all(&[head.as_bytes(), &out.stdout, &out.stderr].concat()).expect("an answer");
    new.persist(&path).expect("the answer's name");
    out
}

/// Copies a folder with all it holds.
pub fn copy_tree(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap_or_else(|e| panic!("{}: {e}", to.display()));
    for entry in fs::read_dir(from).unwrap_or_else(|e| panic!("{}: {e}", from.display())) {
        let entry = entry.expect("an entry");
        let (source, target) = (entry.path(), to.join(entry.file_name()));
        let kind = entry.file_type().expect("a kind");
        if kind.is_dir() {
            copy_tree(&source, &target);
        } else if kind.is_symlink() {
            let link = fs::read_link(&source).expect("a link");
            std::os::unix::fs::symlink(link, &target).expect("a link");
        } else {
            fs::copy(&source, &target).unwrap_or_else(|e| panic!("{}: {e}", source.display()));
        }
    }
}
