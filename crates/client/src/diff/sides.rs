//! The two sides of comparisons: nodes on the left and on the right, and the trait that takes the comparisons.

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use sapwood_core::paths::{RelPath, RelPathBuf};
use sapwood_core::{Exact, PropList, Revnum, SvnError, SvnResult, len64};
use sapwood_diff::LargeText;
use sapwood_wc::text_base::TextBaseFile;
use tempfile::TempPath;

use super::file_part::FilePart;

/// The longest text that is kept in memory when it does not come from a file.
pub(crate) const KEPT_IN_MEMORY: usize = 256 << 10;

/// A text in normal form.
#[derive(Clone, Debug)]
pub enum Text {
    /// Nothing.
    Empty,
    /// The whole text, in memory.
    Memory(Rc<[u8]>),
    /// A file that is not removed with this value.
    File(PathBuf),
    /// A file that goes when this value does.
    Temporary(Rc<TempPath>),
    /// A text base of a working copy.
    Base(Rc<TextBaseFile>),
    /// A part of a temporary file that many texts share.
    Part(FilePart),
}

/// A file that holds a text: its own, or one that goes when this value does.
#[derive(Debug)]
pub enum TextFile<'t> {
    /// The text's own.
    Own(&'t Path),
    /// Made from a text in memory.
    Made(TempPath),
}

impl TextFile<'_> {
    /// The file.
    #[must_use]
    pub fn path(&self) -> &Path {
        match self {
            Self::Own(path) => path,
            Self::Made(path) => path,
        }
    }
}

fn failed(error: &io::Error) -> SvnError {
    SvnError::io(error, "Can't create temporary file")
}

impl Text {
    /// Stores what is read: a short text in memory, a long one in a file.
    ///
    /// # Errors
    /// Those of the reader and of the disk.
    pub(crate) fn keep(from: &mut dyn Read) -> SvnResult<Self> {
        let mut kept = Keeper::default();
        io::copy(from, &mut kept).map_err(SvnError::from_stream)?;
        kept.finish()
    }

    /// The file with the text alone; `None` for an empty text, and for one in memory or in a file of many.
    pub(crate) fn path(&self) -> Option<&Path> {
        match self {
            Self::Empty | Self::Memory(_) | Self::Part(_) => None,
            Self::File(path) => Some(path),
            Self::Temporary(path) => Some(path),
            Self::Base(file) => Some(file.path()),
        }
    }

    /// A file with the text, for what works on files only.
    ///
    /// # Errors
    /// When none can be made.
    pub fn to_file(&self) -> SvnResult<TextFile<'_>> {
        if let Some(path) = self.path() {
            return Ok(TextFile::Own(path));
        }
        let mut file = tempfile::NamedTempFile::new().map_err(|e| failed(&e))?;
        file.write_all(&self.read()?).map_err(|e| failed(&e))?;
        Ok(TextFile::Made(file.into_temp_path()))
    }

    /// All of it.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn read(&self) -> SvnResult<Cow<'_, [u8]>> {
        if let Self::Memory(text) = self {
            return Ok(Cow::Borrowed(text));
        }
        if let Self::Part(part) = self {
            let mut text = Vec::new();
            part.reader().read_to_end(&mut text).map_err(|e| failed(&e))?;
            return Ok(Cow::Owned(text));
        }
        let Some(path) = self.path() else { return Ok(Cow::Borrowed(&[])) };
        let read = std::fs::read(path).map(Cow::Owned);
        read.map_err(|e| SvnError::io(&e, format_args!("Can't read file '{}'", path.display())))
    }

    /// A reader of it.
    ///
    /// # Errors
    /// When its file cannot be opened.
    pub(crate) fn reader(&self) -> SvnResult<Box<dyn Read + '_>> {
        self.open().map_err(|e| {
            let path = self.path().unwrap_or(Path::new(""));
            SvnError::io(&e, format_args!("Can't open file '{}'", path.display()))
        })
    }

    /// Whether another text is the same. Texts of different lengths are not read; others are read side by side, as far as
    /// they are equal.
    ///
    /// # Errors
    /// When one of them cannot be read.
    pub(crate) fn is_same(&self, other: &Self) -> SvnResult<bool> {
        if self.path().is_some() && self.path() == other.path() {
            return Ok(true);
        }
        if self.len() != other.len() {
            return Ok(false);
        }
        let (mut left, mut right) = (self.reader()?, other.reader()?);
        let mut pieces = [vec![0; PIECE], vec![0; PIECE]];
        loop {
            let [a, b] = &mut pieces;
            let (of_left, of_right) = (fill(&mut *left, a)?, fill(&mut *right, b)?);
            if a.get(..of_left) != b.get(..of_right) {
                return Ok(false);
            }
            if of_left == 0 {
                return Ok(true);
            }
        }
    }
}

/// Bytes that are compared at once.
const PIECE: usize = 64 << 10;

/// Reads until a piece is full, or to the end: how many bytes.
fn fill(from: &mut dyn Read, piece: &mut [u8]) -> SvnResult<usize> {
    let mut full = 0usize;
    while let Some(rest) = piece.get_mut(full..).filter(|rest| !rest.is_empty()) {
        match from.read(rest) {
            Ok(0) => break,
            Ok(read) => full = full.plus(read),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(SvnError::from_stream(error)),
        }
    }
    Ok(full)
}

impl LargeText for Text {
    fn len(&self) -> u64 {
        match self {
            Self::Memory(text) => return len64(text.len()),
            Self::Part(part) => return part.len,
            _ => {}
        }
        let found = self.path().and_then(|path| std::fs::metadata(path).ok());
        found.map_or(0, |found| found.len())
    }

    fn open(&self) -> io::Result<Box<dyn Read + '_>> {
        Ok(match (self, self.path()) {
            (Self::Memory(text), _) => Box::new(&text[..]),
            (Self::Part(part), _) => Box::new(part.reader()),
            (_, None) => Box::new(io::empty()),
            (_, Some(path)) => Box::new(File::open(path)?),
        })
    }
}

/// Keeps what is written as a [`Text`].
pub(crate) struct Keeper {
    memory: Vec<u8>,
    /// How long a text in memory may be.
    limit: usize,
    /// Where a long text goes, if not to the usual folder.
    folder: Option<PathBuf>,
    /// The file with the whole text, once it is too long for memory.
    file: Option<tempfile::NamedTempFile>,
}

impl Default for Keeper {
    fn default() -> Self {
        Self::up_to(KEPT_IN_MEMORY)
    }
}

impl Keeper {
    /// One that keeps texts of up to so many bytes in memory.
    pub(crate) const fn up_to(limit: usize) -> Self {
        Self { memory: Vec::new(), limit, folder: None, file: None }
    }

    /// One whose long texts are files of a folder.
    pub(crate) fn within(folder: PathBuf) -> Self {
        Self { folder: Some(folder), ..Self::default() }
    }

    /// The written text.
    ///
    /// # Errors
    /// Those of the disk.
    pub(crate) fn finish(self) -> SvnResult<Text> {
        match self.file {
            None => Ok(Text::Memory(self.memory.into())),
            Some(mut file) => {
                file.flush().map_err(|e| failed(&e))?;
                Ok(Text::Temporary(Rc::new(file.into_temp_path())))
            }
        }
    }
}

impl Write for Keeper {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if let Some(file) = &mut self.file {
            return file.write(bytes);
        }
        self.memory.extend_from_slice(bytes);
        if self.memory.len() > self.limit {
            let mut file = match &self.folder {
                Some(folder) => tempfile::NamedTempFile::new_in(folder)?,
                None => tempfile::NamedTempFile::new()?,
            };
            file.write_all(&std::mem::take(&mut self.memory))?;
            self.file = Some(file);
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
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

/// What differs at a path.
#[derive(Clone, Copy)]
pub enum Difference<'d> {
    /// A file that only the right side has, and what it was copied from.
    FileAdded(Option<&'d CopySource>, &'d FileSide),
    /// A file that only the left side has.
    FileDeleted(&'d FileSide),
    /// A file that both sides have, and `text` says whether its text differs.
    FileChanged {
        /// The left side.
        left: &'d FileSide,
        /// The right side.
        right: &'d FileSide,
        /// Whether the text differs.
        text: bool,
    },
    /// A directory that only the right side has, and what it was copied from.
    DirAdded(Option<&'d CopySource>, &'d DirSide),
    /// A directory that only the left side has.
    DirDeleted(&'d DirSide),
    /// A directory whose properties differ: left and right.
    DirChanged(&'d DirSide, &'d DirSide),
}

/// Takes comparisons.
pub trait Processor {
    /// Takes what differs at a path, which is below what is compared, and empty for that itself; a directory comes
    /// after what is below it.
    ///
    /// # Errors
    /// What the taker meets.
    fn take(&mut self, path: &RelPath, what: Difference<'_>) -> SvnResult<()>;
}

/// Passes everything to another processor with its sides swapped.
pub struct ReverseProcessor<'a>(pub &'a mut dyn Processor);

impl Processor for ReverseProcessor<'_> {
    fn take(&mut self, path: &RelPath, what: Difference<'_>) -> SvnResult<()> {
        let what = match what {
            Difference::FileAdded(_, right) => Difference::FileDeleted(right),
            Difference::FileDeleted(left) => Difference::FileAdded(None, left),
            Difference::FileChanged { left, right, text } => {
                Difference::FileChanged { left: right, right: left, text }
            }
            Difference::DirAdded(_, right) => Difference::DirDeleted(right),
            Difference::DirDeleted(left) => Difference::DirAdded(None, left),
            Difference::DirChanged(left, right) => Difference::DirChanged(right, left),
        };
        self.0.take(path, what)
    }
}

/// Passes on what is at or below one path, and calls that path the start.
pub struct Below<'a> {
    /// The path.
    pub root: RelPathBuf,
    /// Gets it.
    pub inner: &'a mut dyn Processor,
}

impl Processor for Below<'_> {
    fn take(&mut self, path: &RelPath, what: Difference<'_>) -> SvnResult<()> {
        path.below(&self.root).map_or(Ok(()), |path| self.inner.take(path, what))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_short_texts_are_kept_in_memory() {
        for (len, in_memory) in [(0, true), (KEPT_IN_MEMORY, true), (KEPT_IN_MEMORY + 1, false)] {
            let bytes = vec![b'x'; len];
            let text = Text::keep(&mut &bytes[..]).unwrap();
            assert_eq!(matches!(text, Text::Memory(_)), in_memory, "{len}");
            assert_eq!(*text.read().unwrap(), bytes);
            assert_eq!(LargeText::len(&text), u64::try_from(len).unwrap());
            assert_eq!(std::fs::read(text.to_file().unwrap().path()).unwrap(), bytes);
            let mut read = Vec::new();
            text.reader().unwrap().read_to_end(&mut read).unwrap();
            assert_eq!(read, bytes);
        }
    }

    #[test]
    fn texts_in_memory_are_compared() {
        let text = |bytes: &[u8]| Text::Memory(bytes.into());
        assert!(text(b"a").is_same(&text(b"a")).unwrap());
        assert!(!text(b"a").is_same(&text(b"b")).unwrap());
        assert!(!text(b"a").is_same(&Text::Empty).unwrap());
        assert!(text(b"").is_same(&Text::Empty).unwrap());
        let long = |last: u8| {
            let mut bytes = vec![7; PIECE * 2];
            bytes.push(last);
            text(&bytes)
        };
        assert!(long(1).is_same(&long(1)).unwrap());
        assert!(!long(1).is_same(&long(2)).unwrap());
    }
}
