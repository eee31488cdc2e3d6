//! Patch files: unified diffs as `diff`, git and svn write them.
//!
//! A [`PatchFile`] gives one [`Patch`] after the other: which file it is about, what is done to it as a
//! whole ([`header`]), its hunks ([`hunk`]), those of its properties, a binary text ([`binary`]). Of the
//! texts of hunks only their places in the patch file are kept; [`PatchFile::line`] reads them one by one.
//!
//! What stands between patches is skipped, and what 1.14 puts up with is put up with: wrong numbers of lines in
//! hunk headers (for a penalty), empty lines whose space was cut off, a last line that is not ended.

mod binary;
mod header;
mod hunk;
mod source;

use std::collections::BTreeMap;
use std::io::{self, Read, Seek};

use sapwood_core::{ErrorCode, SvnError, SvnResult};

pub use hunk::{Cursor, Hunk, Side, Text, Which};
pub use source::{LineEnd, Read1, Source};

/// What is done to a file as a whole, or to a property.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Operation {
    /// Nothing is said.
    #[default]
    Unchanged,
    /// Its contents change.
    Modified,
    /// It is new.
    Added,
    /// It goes.
    Deleted,
    /// It is a copy.
    Copied,
    /// It is moved.
    Moved,
}

impl Operation {
    const fn reversed(self) -> Self {
        match self {
            Self::Added => Self::Deleted,
            Self::Deleted => Self::Added,
            other => other,
        }
    }
}

/// The bits that git keeps of a file, as far as they are said.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Mode {
    /// Whether it can be executed.
    pub executable: Option<bool>,
    /// Whether it is a symbolic link.
    pub symlink: Option<bool>,
}

/// What happens to a property.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PropPatch {
    /// As a whole.
    pub operation: Operation,
    /// In lines.
    pub hunks: Vec<Hunk>,
}

/// A text in base 85, by its place in the patch file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Literal {
    start: u64,
    end: u64,
    /// How long the text is.
    pub size: u64,
}

/// Both texts of a binary file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BinaryPatch {
    /// The one before.
    pub before: Literal,
    /// The one after.
    pub after: Literal,
}

/// What a patch file says of one file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Patch {
    /// Its name before.
    pub old_name: String,
    /// Its name after.
    pub new_name: String,
    /// As a whole.
    pub operation: Operation,
    /// Its bits before.
    pub old_mode: Mode,
    /// Its bits after.
    pub new_mode: Mode,
    /// Changes of its text, by the line where they begin.
    pub hunks: Vec<Hunk>,
    /// Changes of its properties.
    pub props: BTreeMap<String, PropPatch>,
    /// A change of a text that has no lines.
    pub binary: Option<BinaryPatch>,
}

/// How a patch file is read.
#[derive(Clone, Copy, Debug, Default)]
pub struct How {
    /// Backwards: what is said to be after is before.
    pub reverse: bool,
    /// Lines that begin with none of the marks are context.
    pub ignore_whitespace: bool,
}

/// A patch file.
#[derive(Debug)]
pub struct PatchFile<R> {
    source: Source<R>,
    /// Where the next patch is looked for.
    at: u64,
    how: How,
    /// What ends the first line, if that was asked.
    first_end: Option<LineEnd>,
}

impl<R: Read + Seek> PatchFile<R> {
    /// Nothing is read yet.
    pub const fn new(file: R, how: How) -> Self {
        Self { source: Source::new(file), at: 0, how, first_end: None }
    }

    /// The next patch; `None` when there is none, or no sense in what comes.
    ///
    /// # Errors
    /// A name that is not UTF-8, a mode that is no number; those of the file.
    pub fn next_patch(&mut self) -> SvnResult<Option<Patch>> {
        let Some((mut patch, binary)) = self.header()? else { return Ok(None) };
        if binary {
            patch.binary = self.binary_patch()?;
        }
        self.hunks(&mut patch)?;
        if self.how.reverse {
            patch.reverse();
        }
        Ok(Some(patch))
    }

    fn line_at(&mut self, at: u64, text: &mut Vec<u8>) -> SvnResult<Read1> {
        self.source.line(at, u64::MAX, text).map_err(failed)
    }

    /// What ends the first line of the file: what lines of it that are not ended are taken to end with.
    fn usual_end(&mut self) -> SvnResult<LineEnd> {
        if self.first_end.is_none() {
            self.first_end = Some(self.line_at(0, &mut Vec::new())?.end);
        }
        Ok(self.first_end.unwrap_or_default())
    }
}

impl Patch {
    fn reverse(&mut self) {
        std::mem::swap(&mut self.old_name, &mut self.new_name);
        std::mem::swap(&mut self.old_mode, &mut self.new_mode);
        self.operation = self.operation.reversed();
        self.hunks.iter_mut().for_each(Hunk::reverse);
        for prop in self.props.values_mut() {
            prop.operation = prop.operation.reversed();
            prop.hunks.iter_mut().for_each(Hunk::reverse);
        }
        if let Some(binary) = &mut self.binary {
            std::mem::swap(&mut binary.before, &mut binary.after);
        }
    }
}

fn failed(error: io::Error) -> SvnError {
    SvnError::io(&error, "Can't read the patch file")
}

/// What is wrong with a binary text.
fn unexpected(what: &str) -> SvnError {
    SvnError::new(ErrorCode::DIFF_UNEXPECTED_DATA, what)
}
