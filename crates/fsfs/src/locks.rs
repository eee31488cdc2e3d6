//! Path locks: `db/locks`.

use sapwood_core::Depth;

use crate::error::Result;
use crate::filesystem::Filesystem;

/// A lock on a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lock {
    /// The locked fspath.
    pub path: String,
    /// `opaquelocktoken:` and a UUID.
    pub token: String,
    /// Who holds it.
    pub owner: String,
    /// Why; `None` when nothing was said, which tools show differently from an empty text.
    pub comment: Option<String>,
    /// Whether the comment came from a DAV client's XML.
    pub is_dav_comment: bool,
    /// Microseconds since 1970.
    pub created: i64,
    /// Microseconds since 1970, `None` for a lock that does not end by itself.
    pub expires: Option<i64>,
}

#[allow(clippy::missing_errors_doc, unused_variables)]
impl Filesystem {
    /// The lock on `path`, if there is one that has not expired.
    pub fn lock(&self, path: &str) -> Result<Option<Lock>> {
        todo!()
    }

    /// All locks at and below `path`, as deep as `depth` says, in no particular order.
    pub fn locks(&self, path: &str, depth: Depth) -> Result<Vec<Lock>> {
        todo!()
    }
}
