//! What is asked of a repository, alike by a client of a session and by a server of the repository itself.
//!
//! Paths are relpaths below the session's URL where a session is asked, and canonical fspaths where a repository is.
//! `None` for a revision means the youngest.

use crate::revnum::Revnum;
use crate::values::{Inherit, RevpropSelection};

/// What to log.
#[derive(Clone, Copy, Debug)]
pub struct LogRequest<'a> {
    /// None for the whole repository; an empty relpath for the session's URL.
    pub paths: &'a [&'a str],
    /// First revision to tell.
    pub start: Option<Revnum>,
    /// Last revision to tell; older than `start` for youngest first.
    pub end: Option<Revnum>,
    /// At most so many revisions (merged ones not counted); 0 for all.
    pub limit: u64,
    /// Whether changed paths are wanted.
    pub changed_paths: bool,
    /// Whether to stop at copies.
    pub strict_node_history: bool,
    /// Whether to tell merged revisions below the merging one.
    pub include_merged_revisions: bool,
    /// Which revision properties are wanted.
    pub revprops: RevpropSelection<'a>,
}

impl<'a> LogRequest<'a> {
    /// The whole log of paths from one revision to another, across copies, without changed paths.
    #[must_use]
    pub fn whole(
        paths: &'a [&'a str],
        (start, end): (u64, u64),
        revprops: RevpropSelection<'a>,
    ) -> Self {
        Self {
            paths,
            start: Some(Revnum(start)),
            end: Some(Revnum(end)),
            limit: 0,
            changed_paths: false,
            strict_node_history: false,
            include_merged_revisions: false,
            revprops,
        }
    }
}

/// Which file, which revisions.
#[derive(Clone, Copy, Debug)]
pub struct FileRevsRequest<'a> {
    /// The file, as of the younger of `start` and `end`.
    pub path: &'a str,
    /// First revision; younger than `end` for the reverse order.
    pub start: Option<Revnum>,
    /// Last revision.
    pub end: Option<Revnum>,
    /// Whether to tell revisions that were merged into the file.
    pub include_merged_revisions: bool,
}

/// Whose mergeinfo is wanted.
#[derive(Clone, Copy, Debug)]
pub struct MergeinfoRequest<'a> {
    /// The paths.
    pub paths: &'a [&'a str],
    /// The revision that they are in.
    pub revision: Option<Revnum>,
    /// Where it may come from.
    pub inherit: Inherit,
    /// Whether to tell that of what is below the paths, too.
    pub include_descendants: bool,
}
