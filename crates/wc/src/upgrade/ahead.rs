//! Reads the directories of an old working copy in threads, ahead of the one that writes the rows: their
//! entries and properties, and their base texts, which are put into the new store on the way.
//!
//! Reading and writing take about as long, so [`READERS`] threads keep two processors busy.
//!
//! Nothing is decided here. An error in a directory is reported when its turn comes, so that a failure is
//! the same as if one directory were read after the other; directories that were read in vain are dropped.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::Scope;

use sapwood_core::paths::{RelPath, RelPathBuf};
use sapwood_core::{ErrorCode, PropList, SvnError};

use super::entry::Entries;
use super::read::{self, Props};
use super::texts::{DirTexts, Texts};
use super::{FIRST_WITH_DATABASE, wipe};
use crate::error::{Error, Result};
use crate::layout;

/// So many directories are asked for ahead.
pub(super) const AHEAD: usize = 16;

/// So many threads read.
const READERS: usize = 2;

/// What the files of a directory contain beside its entries.
pub(super) struct Files {
    pub(super) format: i64,
    pub(super) texts: DirTexts,
    /// The directory's own properties.
    pub(super) own: Props,
    pub(super) props: HashMap<String, Props>,
    pub(super) cached: HashMap<String, PropList>,
}

/// A directory that was read: its entries, and the rest.
pub(super) type Directory = (Entries, Result<Files>);
/// None for what is not there, or another working copy's.
type Answer = Result<Option<Directory>>;

/// Lock files that were made.
#[derive(Debug, Default)]
pub(super) struct LockFiles(Mutex<Vec<PathBuf>>);

impl LockFiles {
    fn add(&self, path: PathBuf) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(path);
    }

    /// Removes them.
    pub(super) fn remove(&self) {
        for lock in self.0.lock().unwrap_or_else(PoisonError::into_inner).drain(..) {
            let _none = fs::remove_file(lock);
        }
    }
}

/// Where a directory is.
pub(super) fn at(root: &Path, relpath: &RelPath) -> PathBuf {
    if relpath.is_empty() { root.to_owned() } else { root.join(relpath.as_str()) }
}

/// Asks the threads that read.
pub(super) struct EntriesReader {
    asked: Sender<RelPathBuf>,
    answers: Receiver<(RelPathBuf, Answer)>,
    /// What was asked for and not taken yet, with the answer once it is here.
    waiting: HashMap<RelPathBuf, Option<Answer>>,
}

impl EntriesReader {
    /// Starts the threads: they end with this value.
    pub(super) fn start<'s, 'e: 's>(
        scope: &'s Scope<'s, 'e>,
        root: &'e Path,
        workshop: &'e Path,
        locked: &'e LockFiles,
    ) -> Self {
        let (asked, questions) = channel::<RelPathBuf>();
        let (answer, answers) = channel();
        let questions = Arc::new(Mutex::new(questions));
        for number in 0..READERS {
            let (questions, answer) = (Arc::clone(&questions), answer.clone());
            let mut reader = Reader { root, locked, texts: Texts::new(workshop, number) };
            scope.spawn(move || {
                let next = || questions.lock().unwrap_or_else(PoisonError::into_inner).recv().ok();
                while let Some(relpath) = next() {
                    let read = reader.read(&relpath);
                    if answer.send((relpath, read)).is_err() {
                        return;
                    }
                }
            });
        }
        Self { asked, answers, waiting: HashMap::new() }
    }

    /// Asks for a directory, once.
    pub(super) fn ask(&mut self, relpath: &RelPath) -> Result<()> {
        if !self.waiting.contains_key(relpath) {
            self.waiting.insert(relpath.to_owned(), None);
            self.asked.send(relpath.to_owned()).map_err(|_| reader_gone())?;
        }
        Ok(())
    }

    /// What a directory contains.
    pub(super) fn take(&mut self, relpath: &RelPath) -> Answer {
        self.ask(relpath)?;
        loop {
            if let Some(Some(answer)) = self.waiting.get_mut(relpath).map(Option::take) {
                self.waiting.remove(relpath);
                return answer;
            }
            let (of, answer) = self.answers.recv().map_err(|_| reader_gone())?;
            self.waiting.insert(of, Some(answer));
        }
    }
}

/// The threads ended though they were asked.
fn reader_gone() -> Error {
    Error::Svn(SvnError::internal("threads that read directories"))
}

/// Reads.
struct Reader<'r> {
    root: &'r Path,
    locked: &'r LockFiles,
    texts: Texts<'r>,
}

impl Reader<'_> {
    fn read(&mut self, relpath: &RelPath) -> Answer {
        let dir = at(self.root, relpath);
        if !relpath.is_empty() && !wipe::is_old_directory(&dir) {
            return Ok(None);
        }
        let Some(format) = layout::old_format(&dir) else { return Ok(None) };
        if format >= FIRST_WITH_DATABASE {
            return Ok(None);
        }
        if layout::adm(&dir).join("log").is_file() {
            return Err(Error::new(
                ErrorCode::WC_UNSUPPORTED_FORMAT,
                "Cannot upgrade with existing logs; run a cleanup operation on this working copy \
                 using a client version which is compatible with this working copy's format (such \
                 as the version you are upgrading from), then retry the upgrade with the current \
                 version",
            ));
        }
        self.lock(&dir)?;
        match read::entries(&dir) {
            Err(error) if read::is_missing(&error) => Ok(None),
            other => other.map(|entries| Some((entries, self.files(&dir, format)))),
        }
    }

    /// Keeps old programs out; a lock that is there already is taken over.
    fn lock(&self, dir: &Path) -> Result<()> {
        let path = layout::adm(dir).join("lock");
        match fs::OpenOptions::new().write(true).create_new(true).open(&path) {
            Ok(_) => self.locked.add(path),
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
            Err(e) => return Err(Error::io(e, "Can't create file", &path)),
        }
        Ok(())
    }

    fn files(&mut self, dir: &Path, format: i64) -> Result<Files> {
        Ok(Files {
            format,
            texts: self.texts.bring(dir)?,
            own: read::props_of_dir(dir)?,
            props: read::props_of_files(dir)?,
            cached: read::wcprops(dir, format)?.into_iter().collect(),
        })
    }
}
