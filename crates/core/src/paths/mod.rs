//! The four kinds of path as types that cannot be taken for one another.
//!
//! | type | example | canonical when |
//! |---|---|---|
//! | [`RelPath`] | `trunk/a b`, empty for the root | no slash at either end, no empty component |
//! | [`FsPath`] | `/trunk/a b`, `/` for the root | one leading slash, none at the end |
//! | [`Url`] | `svn://host/r/a%20b` | as [`crate::uri::canonicalize`] leaves it, escaped |
//! | [`LocalPath`] | `/home/jo/wc` | absolute, no empty, `.` or `..` component, UTF-8 |
//!
//! Each is a wrapper around `str`, borrowed as `&RelPath` and owned as `RelPathBuf`, as `str` and
//! `String` are. Invariant: the text inside is canonical; the only ways in are constructors that
//! check it, make it so, or (`trusted`) take it from a place that did. What may stand in a *name* is
//! another question (a repository may hold a file called `..`), which is asked where names are made.
//!
//! A path reads as text wherever text is asked for (`Deref`); the way back is a constructor. Two
//! different kinds do not compare, do not join, and cannot be handed over for one another:
//!
//! ```compile_fail
//! use sapwood_core::paths::{FsPath, RelPath};
//! let below = RelPath::new("a").unwrap();
//! let whole = FsPath::new("/a").unwrap();
//! assert!(below == whole);
//! ```
//!
//! ```compile_fail
//! use sapwood_core::paths::{LocalPath, Url};
//! fn open(_: &Url) {}
//! open(LocalPath::new("/srv/repo").unwrap());
//! ```
//!
//! ```compile_fail
//! use sapwood_core::paths::RelPath;
//! fn node(_: &RelPath) {}
//! node("/a");
//! ```

mod kinds;
mod local;
mod relative;
mod url;

use thiserror::Error;

use crate::error::{ErrorCode, SvnError};

pub use kinds::{
    FsPath, FsPathBuf, LocalPath, LocalPathBuf, RelPath, RelPathBuf, SharedFsPath, Url, UrlBuf,
};
pub use local::{absolute, absolute_from};

/// The text is not a canonical path of the kind that it should be.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("'{text}' is not a canonical {kind}")]
pub struct NotCanonical {
    /// The text.
    pub text: String,
    /// `relpath`, `repository path`, `URL` or `absolute path`.
    pub kind: &'static str,
}

impl From<NotCanonical> for SvnError {
    fn from(error: NotCanonical) -> Self {
        Self::new(ErrorCode::CANONICALIZATION_FAILED, error.to_string())
    }
}
