//! The repository's files beside revisions, as copies in the folder: hooks, configuration, locks on paths, `format`, `uuid`, `fsfs.conf`.
//!
//! `db/store-files` says which files the folder has from the store, and of which entry: a line with the number of entries, then for
//! each file its sum, `x` if it can be executed, else `-`, and its path. It is written after them, under the lock of
//! `db/store-files.lock`, by all processes that use the folder.
//!
//! Invariants: the files follow the log forwards only; a file that was changed here is left alone until the store has another.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use parking_lot::Mutex;
use sapwood_repo_log::entry::Item;
use sapwood_repo_log::{Digest, File};
use sapwood_store::WriteStorage;
use sapwood_store::write::{create_beside, lock_or_create};

use super::LogRevisions;
use super::overlay::FileChanges;
use crate::error::{Error, Result};

/// What the folder has from the store.
const LIST: &str = "store-files";
/// The lock of that.
const LOCK: &str = "store-files.lock";
/// The longest list.
const LIST_LEN: usize = 1 << 28;
/// Files that are no copies: what says where the store is, and what belongs to one machine.
const OWN: [&str; 5] =
    ["db/fs-type", "db/txn-current", "db/txn-current-lock", "db/write-lock", "db/pack-lock"];

/// Sums of files and whether they can be executed, by path.
type FileSums = BTreeMap<String, (Digest, bool)>;

/// The copies.
#[derive(Debug)]
pub(super) struct Mirror {
    /// The repository's folder.
    root: PathBuf,
    list: PathBuf,
    lock: PathBuf,
    /// What the folder is known to have, or to have had, and of how many entries.
    known: Mutex<(u64, Option<FileSums>)>,
}

impl Mirror {
    pub(super) fn new(db: &Path) -> Self {
        Self {
            root: db.parent().unwrap_or(db).to_owned(),
            list: db.join(LIST),
            lock: db.join(LOCK),
            known: Mutex::default(),
        }
    }

    /// The repository's folder.
    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    /// The list, and how many entries it is of.
    fn read_list(&self, storage: &dyn WriteStorage) -> Result<(u64, FileSums)> {
        let bytes = match storage.read(&self.list, LIST_LEN) {
            Err(e) if e.kind() == ErrorKind::NotFound => return Ok((0, FileSums::new())),
            read => read.map_err(|e| Error::io(e, "Can't open file", &self.list))?,
        };
        parse_list(&bytes).ok_or_else(|| {
            Error::Corrupt(format!(
                "'{}' does not list files; without it they come anew",
                self.list.display()
            ))
        })
    }

    /// Writes a file in one step, in a folder that need not be there yet.
    fn write(
        &self,
        storage: &dyn WriteStorage,
        path: &str,
        bytes: &[u8],
        executable: bool,
    ) -> Result<()> {
        let path = self.root.join(path);
        let written = || -> io::Result<()> {
            let (beside, mut file) = match create_beside(storage, &path) {
                Err(e) if e.kind() == ErrorKind::NotFound => {
                    self.make_folders(storage, &path)?;
                    create_beside(storage, &path)?
                }
                made => made?,
            };
            // Whom people have shut out of a file stays shut out of the one that takes its place.
            let mode = storage.mode(&path).or_else(|_| storage.mode(&beside))?;
            let readers = mode & 0o444;
            // Those may execute it who may read it.
            file.set_mode(if executable { mode | (readers >> 2) } else { mode & !0o111 })?;
            file.append(bytes)?;
            storage.rename(&beside, &path, false)
        };
        written().map_err(|e| Error::io(e, "Can't write to file", &path))
    }

    fn make_folders(&self, storage: &dyn WriteStorage, path: &Path) -> io::Result<()> {
        let below = path.ancestors().skip(1).take_while(|folder| **folder != *self.root);
        for folder in below.collect::<Vec<_>>().into_iter().rev() {
            match storage.create_dir(folder, false) {
                Err(e) if e.kind() != ErrorKind::AlreadyExists => return Err(e),
                _ => {}
            }
        }
        Ok(())
    }
}

/// The list, if it is one.
fn parse_list(bytes: &[u8]) -> Option<(u64, FileSums)> {
    let mut lines = str::from_utf8(bytes).ok()?.lines();
    let entries = lines.next()?.parse().ok()?;
    let known = lines.map(|line| {
        let (digest, rest) = line.split_once(' ')?;
        let (mode, path) = rest.split_once(' ')?;
        let executable = matches!(mode, "x").then_some(true).or((mode == "-").then_some(false))?;
        Some((path.to_owned(), (Digest::parse(digest)?, executable)))
    });
    Some((entries, known.collect::<Option<FileSums>>()?))
}

fn write_list(entries: u64, known: &FileSums) -> String {
    let mut text = format!("{entries}\n");
    for (path, (digest, executable)) in known {
        // Writing to a text cannot fail.
        let _ = writeln!(text, "{digest} {} {path}", if *executable { 'x' } else { '-' });
    }
    text
}

impl LogRevisions {
    /// Brings the folder's files to the state of the log. `at_hand` is the entry that changed them, if it is known.
    pub(super) fn bring_files(&self, at_hand: &[Item<'_>]) -> Result<()> {
        let mirror = &self.mirror;
        let Some((entries, wanted)) = self.changed_files() else { return Ok(()) };
        let sums: FileSums = wanted
            .iter()
            .map(|(path, file)| (path.clone(), (file.bytes.digest, file.executable)))
            .collect();
        {
            let mut known = mirror.known.lock();
            if known.1.as_ref() == Some(&sums) {
                known.0 = known.0.max(entries);
                return Ok(());
            }
        }
        let storage = &*self.storage;
        let fail = |e| Error::locking(e, &mirror.lock);
        let _lock = lock_or_create(storage, &mirror.lock).map_err(fail)?;
        let (there, had) = mirror.read_list(storage)?;
        // Another process of this machine knows more of the log.
        if there > entries {
            return Ok(());
        }
        for (path, file) in &wanted {
            if had.get(path) != sums.get(path) {
                let bytes = match bytes_in(at_hand, path) {
                    Some(bytes) => bytes.to_vec(),
                    None => {
                        let fail = |e| Error::io(e, "Can't read", Path::new(path));
                        self.read_at_location(&file.bytes).map_err(fail)?
                    }
                };
                mirror.write(storage, path, &bytes, file.executable)?;
            }
        }
        for path in had.keys().filter(|path| !wanted.contains_key(*path)) {
            let path = mirror.root.join(path);
            match storage.remove_file(&path) {
                Err(e) if e.kind() != ErrorKind::NotFound => {
                    return Err(Error::io(e, "Can't remove file", &path));
                }
                _ => {}
            }
        }
        if had != sums {
            let text = write_list(entries, &sums);
            let written = storage.replace(&mirror.list, text.as_bytes(), None, false);
            written.map_err(|e| Error::replacing(e, &mirror.list))?;
        }
        *mirror.known.lock() = (entries, Some(sums));
        Ok(())
    }

    /// The number of the log's entries, and the files that it says are in the folder; `None` where the folder is known to be
    /// that far.
    fn changed_files(&self) -> Option<(u64, BTreeMap<String, File>)> {
        let log = self.log.read();
        if self.mirror.known.lock().0 == log.entries() {
            return None;
        }
        let files = log.state().files.iter().filter(|(path, _)| !OWN.contains(&path.as_str()));
        Some((log.entries(), files.map(|(path, file)| (path.clone(), *file)).collect()))
    }

    /// Begins changes of files beside revisions, on the newest state.
    pub(crate) fn begin_files(&self) -> Result<FileChanges> {
        let _flight = self.flight();
        self.catch_up()?;
        let entries = self.log.read().entries();
        Ok(FileChanges::new(std::sync::Arc::clone(&self.storage), entries))
    }

    /// Replaces one file beside revisions, whatever it is now.
    pub(crate) fn replace_file(&self, path: &Path, contents: &[u8]) -> Result<()> {
        loop {
            let changes = self.begin_files()?;
            let replaced = changes.replace(path, contents, None, false);
            replaced.map_err(|e| Error::replacing(e, path))?;
            match self.publish_files(&changes) {
                Err(Error::Overtaken) => {}
                done => return done,
            }
        }
    }

    /// Adds what was changed to the log, and then to the folder.
    ///
    /// # Errors
    /// [`Error::Overtaken`] when another server was quicker: nothing was changed, and all is to be looked at again.
    pub(crate) fn publish_files(&self, changes: &FileChanges) -> Result<()> {
        let mut items = Vec::new();
        for (path, bytes) in changes.changed() {
            let below = path.strip_prefix(&self.mirror.root).ok().and_then(Path::to_str);
            let path = below.ok_or_else(|| Error::internal("a file that is not in the folder"))?;
            items.push(match bytes {
                Some(bytes) => Item::File {
                    path: path.to_owned().into(),
                    executable: false,
                    bytes: bytes.into(),
                },
                None => Item::Gone { path: path.to_owned().into() },
            });
        }
        if items.is_empty() {
            return Ok(());
        }
        let _flight = self.flight();
        self.claim(changes.slot, &items)?;
        self.bring_files(&items)
    }
}

/// The bytes that an entry gives a file.
fn bytes_in<'a>(items: &'a [Item<'_>], wanted: &str) -> Option<&'a [u8]> {
    items.iter().find_map(|item| match item {
        Item::File { path, bytes, .. } if path == wanted => Some(bytes.as_ref()),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_document_shows_one() {
        let page = include_str!("../../../../../docs/formats/store-folder.md");
        let (_, example) = page.split_once("```\n17\n").unwrap();
        let (example, _) = example.split_once("```").unwrap();
        let example = format!("17\n{example}");
        let (entries, known) = parse_list(example.as_bytes()).unwrap();
        assert_eq!(write_list(entries, &known), example);
    }

    #[test]
    fn lists_are_read_as_they_are_written() {
        let known: FileSums = [
            ("conf/authz".to_owned(), (Digest::of(b"a"), false)),
            ("hooks/a name with blanks".to_owned(), (Digest::of(b"b"), true)),
        ]
        .into();
        let text = write_list(12, &known);
        assert_eq!(parse_list(text.as_bytes()), Some((12, known)));
        for bad in ["", "x\n", "1\nx - a\n", "1\nrest\n", &text.replace(" x ", " y ")] {
            assert_eq!(parse_list(bad.as_bytes()), None, "{bad:?}");
        }
    }
}
