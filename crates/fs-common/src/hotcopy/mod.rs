//! What the engines have in common when they copy a filesystem that may be in use.
//!
//! A [`Copier`] copies files and folders into one `db` folder (`files`), follows the revisions of the source while another
//! program packs them (`revisions`), copies folders whose files a
//! manifest names (`packs`), and lets the readers of a copy see what is new (`publish`). What there is to
//! copy, and in which order, the engine says.
//!
//! What readers of the copy may look at is only replaced whole, and is durable before it gets its name.

mod files;
mod packs;
mod publish;
mod rest;
mod revisions;

use std::io;
use std::path::{Path, PathBuf};

use sapwood_core::{CancelToken, ErrorCode, Revnum, SvnError};
use sapwood_store::WriteStorage;
use sapwood_store::write::replace_failure;

pub use self::files::Order;
pub use self::packs::ParseManifest;
pub use self::publish::NewState;
pub use self::revisions::RevisionFiles;

/// How to copy.
#[derive(Clone, Debug)]
pub struct HotcopyOptions {
    /// Whether the copy is made durable before it counts.
    pub flush_to_disk: bool,
    /// Copy only what an earlier copy lacks.
    pub incremental: bool,
    /// Whether files are copied by two threads.
    pub threads: bool,
}

impl Default for HotcopyOptions {
    fn default() -> Self {
        Self { flush_to_disk: true, incremental: false, threads: true }
    }
}

/// What can go wrong.
#[derive(Debug)]
pub enum CopyError {
    /// A file operation failed. `what` is the reference's sentence without the system's words.
    Io {
        /// What was tried.
        what: String,
        /// What the system said.
        error: io::Error,
    },
    /// An error that has its E-code.
    Svn(SvnError),
}

/// Results of copying.
pub type Result<T> = std::result::Result<T, CopyError>;

impl CopyError {
    /// A file operation on `path`.
    #[must_use]
    pub fn io(error: io::Error, verb: &str, path: &Path) -> Self {
        Self::Io { what: format!("{verb} '{}'", path.display()), error }
    }

    /// A small file that could not be replaced.
    #[must_use]
    pub fn replacing(error: io::Error, path: &Path) -> Self {
        Self::Io { what: replace_failure(&error, path), error }
    }

    /// Whether a file is missing, which may be because its shard was packed.
    #[must_use]
    pub fn is_missing_file(&self) -> bool {
        matches!(self, Self::Io { error, .. } if error.kind() == io::ErrorKind::NotFound)
    }
}

impl From<SvnError> for CopyError {
    fn from(error: SvnError) -> Self {
        Self::Svn(error)
    }
}

impl From<CopyError> for SvnError {
    fn from(error: CopyError) -> Self {
        match error {
            CopyError::Io { what, error } => Self::io(&error, what),
            CopyError::Svn(error) => error,
        }
    }
}

/// What an incremental copy compares of source and destination.
#[derive(Clone, Copy, Debug)]
pub struct Kind<'a> {
    /// The engine's name, as sentences have it.
    pub engine: &'a str,
    /// The format number.
    pub format: u32,
    /// The repository's UUID.
    pub uuid: &'a str,
    /// Revisions a shard.
    pub shard_size: Option<u64>,
}

impl Kind<'_> {
    /// An incremental copy goes only to what was made as a copy of the same filesystem.
    ///
    /// # Errors
    /// E200007 and E170009 when `target` was not.
    pub fn check(&self, target: &Kind<'_>) -> Result<()> {
        let unsupported = |text: String| Err(error(ErrorCode::UNSUPPORTED_FEATURE, text));
        if self.format != target.format {
            let engine = self.engine;
            return unsupported(format!(
                "The {engine} format ({}) of the hotcopy source does not match the {engine} format ({}) of \
                 the hotcopy destination; please upgrade both repositories to the same format",
                self.format, target.format
            ));
        }
        if self.uuid != target.uuid {
            return Err(error(
                ErrorCode::RA_UUID_MISMATCH,
                "The UUID of the hotcopy source does not match the UUID of the hotcopy destination",
            ));
        }
        if self.shard_size != target.shard_size {
            return unsupported(
                "The sharding layout configuration of the hotcopy source does not match the sharding \
                 layout configuration of the hotcopy destination"
                    .into(),
            );
        }
        Ok(())
    }
}

/// How far a filesystem goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// Its youngest revision.
    pub youngest: Revnum,
    /// The first revision that is not packed.
    pub unpacked: Revnum,
}

impl Extent {
    /// A destination must not go further than its source.
    ///
    /// # Errors
    /// E200007 when `target` does.
    pub fn check(&self, target: &Extent) -> Result<()> {
        let unsupported = |text: String| Err(error(ErrorCode::UNSUPPORTED_FEATURE, text));
        if self.youngest < target.youngest {
            return unsupported(format!(
                "The hotcopy destination already contains more revisions ({}) than the hotcopy source \
                 contains ({}); are source and destination swapped?",
                target.youngest, self.youngest
            ));
        }
        if self.unpacked < target.unpacked {
            return unsupported(format!(
                "The hotcopy destination already contains more packed revisions ({}) than the hotcopy \
                 source contains ({})",
                target.unpacked.0.wrapping_sub(1),
                self.unpacked.0.wrapping_sub(1).cast_signed(),
            ));
        }
        Ok(())
    }
}

fn error(code: ErrorCode, text: impl Into<String>) -> CopyError {
    CopyError::Svn(SvnError::new(code, text.into()))
}

/// Copies files into one `db` folder.
#[derive(Clone, Copy, Debug)]
pub struct Copier<'a> {
    /// Where the files of both are.
    pub storage: &'a dyn WriteStorage,
    /// The folder that is copied.
    pub from: &'a Path,
    /// The folder of the copy.
    pub to: &'a Path,
    /// How to copy.
    pub options: &'a HotcopyOptions,
    /// Asked before each file.
    pub cancel: &'a CancelToken,
    /// How far the destination goes; `None` when it is no filesystem yet, and without readers.
    pub known: Option<Extent>,
}

impl Copier<'_> {
    /// Whether an incremental copy is wanted, and there is one to go on from: `format` is the file that a filesystem has.
    ///
    /// # Errors
    /// When that cannot be found out.
    pub fn follows_earlier_copy(&self, format: &str) -> Result<bool> {
        if !self.options.incremental {
            return Ok(false);
        }
        let file = self.to.join(format);
        match self.storage.stamp(&file) {
            Ok(_) => Ok(true),
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(e) => Err(CopyError::io(e, "Can't check path", &file)),
        }
    }

    /// A file of the source.
    #[must_use]
    pub fn source(&self, name: &str) -> PathBuf {
        self.from.join(name)
    }

    /// A file of the copy.
    #[must_use]
    pub fn target(&self, name: &str) -> PathBuf {
        self.to.join(name)
    }

    /// Whether the destination is a filesystem already, which may have readers.
    #[must_use]
    pub const fn in_use(&self) -> bool {
        self.known.is_some()
    }

    fn check(&self) -> Result<()> {
        if self.cancel.is_cancelled() {
            return Err(error(ErrorCode::CANCELLED, "Caught signal"));
        }
        Ok(())
    }
}
