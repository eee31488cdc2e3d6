//! Digest files in `locks`: the lock on a path, and which paths below it are locked.

use sapwood_core::Md5;

use crate::error::Result;

/// A lock as stored; times in microseconds since 1970.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredLock {
    /// The locked fspath.
    pub path: String,
    /// `opaquelocktoken:` and a UUID.
    pub token: String,
    /// Who holds it.
    pub owner: String,
    /// Why.
    pub comment: String,
    /// Whether the comment is a DAV client's XML.
    pub is_dav_comment: bool,
    /// When it was made.
    pub created: i64,
    /// When it ends, `None` for never.
    pub expires: Option<i64>,
}

/// What a digest file says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DigestFile {
    /// The lock on this very path.
    pub lock: Option<StoredLock>,
    /// Digests of locked paths below this one.
    pub children: Vec<Md5>,
}

#[allow(clippy::missing_errors_doc, unused_variables)]
impl DigestFile {
    /// Parses the file; `path` (the file's) is for error sentences.
    pub fn parse(bytes: &[u8], path: &str) -> Result<Self> {
        todo!()
    }
    /// Appends the file's contents.
    pub fn write(&self, out: &mut Vec<u8>) {
        todo!()
    }
}

/// The digest of an fspath, which names its file.
#[must_use]
pub fn digest_of(fspath: &str) -> Md5 {
    Md5::of(fspath.as_bytes())
}
