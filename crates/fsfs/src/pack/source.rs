//! The revision files that are packed: whole in memory as long as there is room, else on disk.

use sapwood_core::{Cut, Exact, len64};
use std::borrow::Cow;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sapwood_core::Revnum;

use crate::error::{Error, Result};
use crate::revision_store::{Object, RevisionStore};
use sapwood_store::StoredFile;
use sapwood_store::{FileKey, FileTable};

/// Files that are open at once.
const OPEN_FILES: usize = 64;

/// Where bytes of revision files come from.
#[derive(Debug)]
pub(super) struct Sources<'a> {
    revisions: &'a dyn RevisionStore,
    files: FileTable,
    all: Vec<Source>,
    /// Bytes that may still be held in memory.
    room: usize,
}

#[derive(Debug)]
struct Source {
    object: Object<'static>,
    path: PathBuf,
    /// The contents, when there was room.
    whole: Option<Vec<u8>>,
    len: u64,
}

impl<'a> Sources<'a> {
    pub(super) fn new(revisions: &'a dyn RevisionStore, room: usize) -> Self {
        Self { revisions, files: FileTable::new(OPEN_FILES), all: Vec::new(), room }
    }

    /// Adds the file of a revision: its number.
    pub(super) fn add(&mut self, revision: Revnum) -> Result<usize> {
        let (number, object) = (self.all.len(), Object::Revision(revision));
        let path = self.revisions.place(object);
        let (whole, len) = match self.revisions.read(object, self.room) {
            Ok(bytes) => {
                self.room = self.room.saturating_sub(bytes.len());
                let len = len64(bytes.len());
                (Some(bytes), len)
            }
            Err(e) if e.kind() == ErrorKind::FileTooLarge => {
                let file = self.open(number, object, &path)?;
                let len = file.len().map_err(|e| Error::io(e, "Can't read file", &path))?;
                (None, len)
            }
            Err(e) => return Err(Error::io(e, "Can't open file", &path)),
        };
        self.all.push(Source { object, path, whole, len });
        Ok(number)
    }

    /// Drops all files, which frees their memory.
    pub(super) fn clear(&mut self, room: usize) {
        self.all.clear();
        self.files = FileTable::new(OPEN_FILES);
        self.room = room;
    }

    /// The length of a file.
    pub(super) fn len(&self, number: usize) -> u64 {
        self.all.get(number).map_or(0, |source| source.len)
    }

    /// The path of a file.
    pub(super) fn path(&self, number: usize) -> &Path {
        self.all.get(number).map_or(Path::new(""), |source| &source.path)
    }

    /// The `len` bytes at `offset` of a file; fewer where it ends.
    pub(super) fn bytes(&self, number: usize, offset: u64, len: u64) -> Result<Cow<'_, [u8]>> {
        let Some(source) = self.all.get(number) else { return Ok(Cow::Borrowed(&[])) };
        let end = offset.saturating_add(len).min(source.len);
        let start = offset.min(end);
        let place = |n: u64| sapwood_core::exact::clamped(n);
        if let Some(whole) = &source.whole {
            let bytes = whole.piece(place(start)..place(end));
            return Ok(Cow::Borrowed(bytes));
        }
        let file = self.open(number, source.object, &source.path)?;
        let mut bytes = vec![0; place(end.saturating_sub(start))];
        let mut have = 0usize;
        while let Some(rest) = bytes.get_mut(have..).filter(|rest| !rest.is_empty()) {
            let at = start.plus(len64(have));
            match file.read_at(rest, at) {
                Ok(0) => break,
                Ok(n) => have = have.plus(n),
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) => return Err(Error::io(e, "Can't read file", &source.path)),
            }
        }
        bytes.truncate(have);
        Ok(Cow::Owned(bytes))
    }

    fn open(&self, number: usize, object: Object<'_>, path: &Path) -> Result<Arc<dyn StoredFile>> {
        let number = len64(number);
        self.files
            .get(FileKey { fs: 0, packed: false, number }, || self.revisions.open(object))
            .map_err(|e| Error::io(e, "Can't open file", path))
    }
}
