//! What is compared: nodes on the left and on the right, and what takes the comparisons.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use sapwood_core::paths::{RelPath, RelPathBuf};
use sapwood_core::{PropList, Revnum, SvnError, SvnResult};
use sapwood_diff::LargeText;
use sapwood_wc::text_base::TextBaseFile;
use tempfile::TempPath;

/// A text in normal form.
#[derive(Clone, Debug)]
pub enum Text {
    /// Nothing.
    Empty,
    /// A file that is not removed with this value.
    File(PathBuf),
    /// A file that goes when this value does.
    Temporary(Rc<TempPath>),
    /// A text base of a working copy.
    Base(Rc<TextBaseFile>),
}

impl Text {
    /// The file; `None` for nothing.
    #[must_use]
    pub fn path(&self) -> Option<&Path> {
        match self {
            Self::Empty => None,
            Self::File(path) => Some(path),
            Self::Temporary(path) => Some(path),
            Self::Base(file) => Some(file.path()),
        }
    }

    /// All of it.
    ///
    /// # Errors
    /// That it cannot be read.
    pub fn read(&self) -> SvnResult<Vec<u8>> {
        let Some(path) = self.path() else { return Ok(Vec::new()) };
        std::fs::read(path)
            .map_err(|e| SvnError::io(&e, format_args!("Can't read file '{}'", path.display())))
    }
}

impl LargeText for Text {
    fn len(&self) -> u64 {
        let found = self.path().and_then(|path| std::fs::metadata(path).ok());
        found.map_or(0, |found| found.len())
    }

    fn open(&self) -> io::Result<Box<dyn Read + '_>> {
        Ok(match self.path() {
            None => Box::new(io::empty()),
            Some(path) => Box::new(File::open(path)?),
        })
    }
}

/// A file on one side. No revision is the working copy.
#[derive(Clone, Debug)]
pub struct FileSide {
    /// The revision.
    pub revision: Option<Revnum>,
    /// The text; nothing where it is not known or did not change.
    pub text: Text,
    /// The properties.
    pub props: PropList,
}

/// A directory on one side.
#[derive(Clone, Debug)]
pub struct DirSide {
    /// The revision.
    pub revision: Option<Revnum>,
    /// The properties.
    pub props: PropList,
}

/// Where an added node was copied from.
#[derive(Clone, Debug)]
pub struct CopySource {
    /// The revision.
    pub revision: Option<Revnum>,
    /// The path in the repository.
    pub repos_relpath: RelPathBuf,
    /// With a move: the path that it was moved from, below the anchor.
    pub moved_from: Option<RelPathBuf>,
    /// The text of a file.
    pub text: Text,
    /// The properties.
    pub props: PropList,
}

/// Takes comparisons. Paths are below what is compared, empty for that itself; a directory comes
/// after what is below it.
#[allow(clippy::missing_errors_doc)] // All: what the taker meets.
pub trait Processor {
    /// A file that only the right side has.
    fn file_added(
        &mut self,
        path: &RelPath,
        source: Option<&CopySource>,
        right: &FileSide,
    ) -> SvnResult<()>;
    /// A file that only the left side has.
    fn file_deleted(&mut self, path: &RelPath, left: &FileSide) -> SvnResult<()>;
    /// A file that both sides have, and `text` says whether its text differs.
    fn file_changed(
        &mut self,
        path: &RelPath,
        left: &FileSide,
        right: &FileSide,
        text: bool,
    ) -> SvnResult<()>;
    /// A directory that only the right side has.
    fn dir_added(
        &mut self,
        path: &RelPath,
        source: Option<&CopySource>,
        right: &DirSide,
    ) -> SvnResult<()>;
    /// A directory that only the left side has.
    fn dir_deleted(&mut self, path: &RelPath, left: &DirSide) -> SvnResult<()>;
    /// A directory whose properties differ.
    fn dir_changed(&mut self, path: &RelPath, left: &DirSide, right: &DirSide) -> SvnResult<()>;
}

/// Tells another processor everything the other way round.
pub struct Reversed<'a>(pub &'a mut dyn Processor);

impl Processor for Reversed<'_> {
    fn file_added(
        &mut self,
        path: &RelPath,
        _: Option<&CopySource>,
        right: &FileSide,
    ) -> SvnResult<()> {
        self.0.file_deleted(path, right)
    }

    fn file_deleted(&mut self, path: &RelPath, left: &FileSide) -> SvnResult<()> {
        self.0.file_added(path, None, left)
    }

    fn file_changed(
        &mut self,
        path: &RelPath,
        left: &FileSide,
        right: &FileSide,
        text: bool,
    ) -> SvnResult<()> {
        self.0.file_changed(path, right, left, text)
    }

    fn dir_added(
        &mut self,
        path: &RelPath,
        _: Option<&CopySource>,
        right: &DirSide,
    ) -> SvnResult<()> {
        self.0.dir_deleted(path, right)
    }

    fn dir_deleted(&mut self, path: &RelPath, left: &DirSide) -> SvnResult<()> {
        self.0.dir_added(path, None, left)
    }

    fn dir_changed(&mut self, path: &RelPath, left: &DirSide, right: &DirSide) -> SvnResult<()> {
        self.0.dir_changed(path, right, left)
    }
}

/// Passes on what is at or below one path, and calls that path the start.
pub struct Below<'a> {
    /// The path.
    pub root: RelPathBuf,
    /// Gets it.
    pub inner: &'a mut dyn Processor,
}

impl Below<'_> {
    fn at<'p>(&self, path: &'p RelPath) -> Option<&'p RelPath> {
        path.below(&self.root)
    }
}

impl Processor for Below<'_> {
    fn file_added(
        &mut self,
        path: &RelPath,
        source: Option<&CopySource>,
        right: &FileSide,
    ) -> SvnResult<()> {
        self.at(path).map_or(Ok(()), |path| self.inner.file_added(path, source, right))
    }

    fn file_deleted(&mut self, path: &RelPath, left: &FileSide) -> SvnResult<()> {
        self.at(path).map_or(Ok(()), |path| self.inner.file_deleted(path, left))
    }

    fn file_changed(
        &mut self,
        path: &RelPath,
        left: &FileSide,
        right: &FileSide,
        text: bool,
    ) -> SvnResult<()> {
        self.at(path).map_or(Ok(()), |path| self.inner.file_changed(path, left, right, text))
    }

    fn dir_added(
        &mut self,
        path: &RelPath,
        source: Option<&CopySource>,
        right: &DirSide,
    ) -> SvnResult<()> {
        self.at(path).map_or(Ok(()), |path| self.inner.dir_added(path, source, right))
    }

    fn dir_deleted(&mut self, path: &RelPath, left: &DirSide) -> SvnResult<()> {
        self.at(path).map_or(Ok(()), |path| self.inner.dir_deleted(path, left))
    }

    fn dir_changed(&mut self, path: &RelPath, left: &DirSide, right: &DirSide) -> SvnResult<()> {
        self.at(path).map_or(Ok(()), |path| self.inner.dir_changed(path, left, right))
    }
}
