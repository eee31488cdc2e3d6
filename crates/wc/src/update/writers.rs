//! Threads that write files while the update goes on: the files of pristine texts while the database's rows
//! are written, in the transaction that holds its lock; and working files while the next batch gathers.
//!
//! The queue in the database has an item for each working file until it is written and recorded, so that a
//! kill in between has the same effect as without threads.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use sapwood_core::paths::RelPathBuf;
use sapwood_core::{Sha1, SvnError};

use crate::error::{Error, Result};
use crate::files::{self, Form};
use crate::queue::RecordedStat;

/// Fewer files than this are written faster than a thread starts.
const FEW: usize = 8;

/// A file of the pristine store.
#[derive(Debug)]
pub(super) struct NewFile {
    pub(super) path: PathBuf,
    pub(super) text: Arc<Vec<u8>>,
}

/// A working file.
#[derive(Debug)]
pub(super) struct Install {
    /// Its item in the queue.
    pub(super) id: i64,
    pub(super) relpath: RelPathBuf,
    pub(super) path: PathBuf,
    pub(super) form: Form,
    pub(super) text: Arc<Vec<u8>>,
    /// Where it is written first when another file is in its place.
    pub(super) temporary: Option<PathBuf>,
}

/// Writes files of the pristine store while `rows` runs.
pub(super) fn write_beside(files: Vec<NewFile>, rows: impl FnOnce() -> Result<()>) -> Result<()> {
    let write = || files.iter().try_for_each(place);
    if files.len() < FEW {
        return write().and_then(|()| rows());
    }
    thread::scope(|scope| {
        let writer = scope.spawn(write);
        let rows = rows();
        let written = writer.join().map_err(|_| stopped())?;
        written.and(rows)
    })
}

fn stopped() -> Error {
    Error::Svn(SvnError::internal("a thread that writes files"))
}

fn place(file: &NewFile) -> Result<()> {
    let path = &file.path;
    match write_new(path, &file.text) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => {
            if let Some(dir) = path.parent() {
                files::ensure_directory(dir)?;
            }
            write_new(path, &file.text)
        }
        // A file without a row, left by a kill.
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {
            std::fs::remove_file(path).and_then(|()| write_new(path, &file.text))
        }
        other => other,
    }
    .map_err(|e| Error::io(e, "Can't write to file", path))
}

fn write_new(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o444).open(path)?;
    file.write_all(bytes)
}

/// What a thread wrote.
#[derive(Debug, Default)]
pub(super) struct WriterResult {
    /// The items that are done, and what to record.
    pub(super) done: Vec<(i64, Option<RecordedStat>)>,
    /// A file that could not be made, and those after it.
    pub(super) left: Vec<Install>,
    /// Texts that only these files needed.
    pub(super) passing: Vec<Sha1>,
}

/// Working files that are being written.
#[derive(Debug)]
pub(super) struct RunningWriter(JoinHandle<WriterResult>);

impl RunningWriter {
    /// Whether so many files are worth a thread.
    pub(super) const fn pays(files: usize) -> bool {
        files >= FEW
    }

    /// Begins to write files.
    pub(super) fn begin(files: Vec<Install>, passing: Vec<Sha1>) -> Self {
        let all = WriterResult { left: files, passing, ..WriterResult::default() };
        Self(thread::spawn(|| write(all)))
    }

    /// Waits until they are written.
    pub(super) fn wait(self) -> Result<WriterResult> {
        self.0.join().map_err(|_| stopped())
    }
}

/// Writes until one fails.
fn write(all: WriterResult) -> WriterResult {
    let WriterResult { mut done, left, passing } = all;
    let mut left = left.into_iter();
    while let Some(one) = left.next() {
        let made = match &one.temporary {
            Some(temporary) => files::replace_whole(&one.path, temporary, &one.text, &one.form),
            None => files::create_whole(&one.path, &one.text, &one.form),
        };
        match made {
            Ok(stat) => done.push((one.id, stat.map(|stat| (one.relpath, stat)))),
            Err(_) => {
                return WriterResult {
                    done,
                    left: std::iter::once(one).chain(left).collect(),
                    passing,
                };
            }
        }
    }
    WriterResult { done, left: Vec::new(), passing }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn install(folder: &Path, id: i64) -> Install {
        let name = format!("file{id}");
        let path = folder.join(&name);
        let text = Arc::new(name.clone().into_bytes());
        let relpath = RelPathBuf::trusted(name);
        Install { id, relpath, path, form: Form::default(), text, temporary: None }
    }

    #[test]
    fn what_is_in_the_way_is_left_with_all_after_it() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("file7"), "the user's").unwrap();
        let files = (0..20).map(|id| install(folder.path(), id)).collect();
        let written = RunningWriter::begin(files, Vec::new()).wait().unwrap();
        let done: Vec<i64> = written.done.iter().map(|(id, _)| *id).collect();
        assert_eq!(done, (0..7).collect::<Vec<_>>());
        assert!(written.done.iter().all(|(_, recorded)| recorded.is_some()));
        let left: Vec<i64> = written.left.iter().map(|one| one.id).collect();
        assert_eq!(left, (7..20).collect::<Vec<_>>());
        assert_eq!(std::fs::read(folder.path().join("file6")).unwrap(), b"file6");
        assert_eq!(std::fs::read(folder.path().join("file7")).unwrap(), b"the user's");
    }

    #[test]
    fn a_file_takes_the_place_of_another() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("file1"), "before").unwrap();
        let mut one = install(folder.path(), 1);
        one.temporary = Some(folder.path().join("temporary"));
        let written = RunningWriter::begin(vec![one], Vec::new()).wait().unwrap();
        assert_eq!((written.done.len(), written.left.len()), (1, 0));
        assert_eq!(std::fs::read(folder.path().join("file1")).unwrap(), b"file1");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn texts_are_written_beside_the_rows_or_it_fails() {
        let folder = tempfile::tempdir().unwrap();
        let files = |below: &str| -> Vec<NewFile> {
            let one = |at: i32| NewFile {
                path: folder.path().join(below).join(at.to_string()),
                text: Arc::new(vec![b'x'; 10]),
            };
            (0..20).map(one).collect()
        };
        std::fs::create_dir(folder.path().join("made")).unwrap();
        std::fs::write(folder.path().join("made/3"), "left by a kill").unwrap();
        let mut ran = false;
        write_beside(files("made"), || {
            ran = true;
            Ok(())
        })
        .unwrap();
        assert!(ran);
        assert_eq!(std::fs::read(folder.path().join("made/3")).unwrap(), b"xxxxxxxxxx");
        write_beside(files("new"), || Ok(())).unwrap();
        assert!(write_beside(files("rows"), || Err(Error::Cancelled)).is_err());
        std::fs::write(folder.path().join("blocked"), "").unwrap();
        assert!(write_beside(files("blocked"), || Ok(())).is_err());
    }
}
