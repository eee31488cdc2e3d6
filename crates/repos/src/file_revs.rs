//! The revisions of one file with the deltas between them (blame).

use sapwood_core::{CancelToken, PropList, Revnum, SvnResult};
use sapwood_delta::TextDelta;

use crate::authorizer::PathAuthorizer;
use crate::error::Result;
use crate::repository::Repository;

/// Which file, which revisions.
#[derive(Clone, Copy, Debug)]
pub struct FileRevsRequest<'a> {
    /// The fspath of the file in the younger of `start` and `end`.
    pub path: &'a str,
    /// First revision (`None`: youngest). Younger than `end` for the reverse order.
    pub start: Option<Revnum>,
    /// Last revision (`None`: youngest).
    pub end: Option<Revnum>,
    /// Whether to tell revisions that were merged into the file.
    pub include_merged_revisions: bool,
}

/// One revision of a file.
#[derive(Clone, Copy, Debug)]
pub struct FileRev<'a> {
    /// The file's fspath there.
    pub path: &'a str,
    /// The revision.
    pub revision: Revnum,
    /// The revision properties that may be read.
    pub revprops: &'a PropList,
    /// Whether the revision came by a merge.
    pub merged_revision: bool,
    /// How the file's properties differ from the revision told before.
    pub prop_changes: &'a [(String, Option<Vec<u8>>)],
}

/// Takes the revisions of a file, one after the other.
pub trait FileRevReceiver {
    /// The next revision. `delta` leads from the text of the revision told before (nothing, at
    /// first) to this one's; `None` when the text did not change. The receiver pulls all of it.
    ///
    /// # Errors
    /// Whatever the receiver meets; ends the whole request.
    fn file_rev(&mut self, rev: &FileRev<'_>, delta: Option<&mut dyn TextDelta>) -> SvnResult<()>;
}

/// Tells `receiver` the revisions of a file in which its text or properties changed.
///
/// # Errors
/// E160017 when the path is no file, E160013 when there is nothing; what the receiver returns;
/// corruption and system errors.
#[allow(unused_variables)]
pub fn file_revs(
    repository: &Repository,
    request: &FileRevsRequest<'_>,
    authorizer: &dyn PathAuthorizer,
    cancel: &CancelToken,
    receiver: &mut dyn FileRevReceiver,
) -> Result<()> {
    todo!()
}
