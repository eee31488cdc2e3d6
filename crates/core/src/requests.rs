//! Requests to a repository: the same types for clients of a session and for a server that reads the repository itself.
//!
//! `P` is the kind of path that the one who is asked understands: relpaths below the session's URL where a session is
//! asked, fspaths where a repository is. Each of them has a name for its own form of these types.
//! `None` for a revision means the youngest.

use crate::depth::Depth;
use crate::paths::{RelPathBuf, Url};
use crate::props::PropList;
use crate::revnum::Revnum;
use crate::values::{DirentFields, Inherit, RevpropSelection};

/// Requests are copied whatever kind of path they have; a derived `Copy` would want paths that can be copied.
macro_rules! copied {
    ($($name:ident),*) => {
        $(
            impl<P: ?Sized> Clone for $name<'_, P> {
                fn clone(&self) -> Self {
                    *self
                }
            }

            impl<P: ?Sized> Copy for $name<'_, P> {}
        )*
    };
}

copied!(LogRequest, FileRevsRequest, MergeinfoRequest, ListRequest);

/// What to log.
#[derive(Debug)]
pub struct LogRequest<'a, P: ?Sized> {
    /// None for the whole repository; an empty relpath for the session's URL.
    pub paths: &'a [&'a P],
    /// First revision to send.
    pub start: Option<Revnum>,
    /// Last revision to send; older than `start` for youngest first.
    pub end: Option<Revnum>,
    /// At most so many revisions (merged ones not counted); 0 for all.
    pub limit: u64,
    /// Whether changed paths are wanted.
    pub changed_paths: bool,
    /// Whether to stop at copies.
    pub strict_node_history: bool,
    /// Whether to send merged revisions below the merging one.
    pub include_merged_revisions: bool,
    /// Which revision properties are wanted.
    pub revprops: RevpropSelection<'a>,
}

impl<'a, P: ?Sized> LogRequest<'a, P> {
    /// The whole log of paths from one revision to another, across copies, without changed paths.
    #[must_use]
    pub fn whole(
        paths: &'a [&'a P],
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
#[derive(Debug)]
pub struct FileRevsRequest<'a, P: ?Sized> {
    /// The file, as of the younger of `start` and `end`.
    pub path: &'a P,
    /// First revision; younger than `end` for the reverse order.
    pub start: Option<Revnum>,
    /// Last revision.
    pub end: Option<Revnum>,
    /// Whether to send revisions that were merged into the file.
    pub include_merged_revisions: bool,
}

/// Whose mergeinfo is wanted.
#[derive(Debug)]
pub struct MergeinfoRequest<'a, P: ?Sized> {
    /// The paths.
    pub paths: &'a [&'a P],
    /// The revision that they are in.
    pub revision: Option<Revnum>,
    /// Where it may come from.
    pub inherit: Inherit,
    /// Whether to send the mergeinfo of what is below the paths, too.
    pub include_descendants: bool,
}

/// What to list.
#[derive(Debug)]
pub struct ListRequest<'a, P: ?Sized> {
    /// Where to start.
    pub path: &'a P,
    /// The revision.
    pub revision: Option<Revnum>,
    /// Glob patterns; a node is sent when its last name matches one of them. `None`: all nodes.
    pub patterns: Option<&'a [&'a str]>,
    /// How deep.
    pub depth: Depth,
    /// What to send of each node.
    pub fields: DirentFields,
}

/// How to replay a revision as it was committed. The part of the repository is an argument beside it: a session sends
/// what is below its URL.
#[derive(Clone, Copy, Debug)]
pub struct ReplayRequest {
    /// Copies from revisions before this one are sent as additions; 0 for no limit.
    pub low_water_mark: Revnum,
    /// Whether texts and property values are wanted (else that they changed).
    pub send_deltas: bool,
}

/// A commit that is wanted.
#[derive(Clone, Copy, Debug)]
pub struct CommitRequest<'a> {
    /// The new revision's properties, `svn:log` among them.
    pub revprops: &'a PropList,
    /// Paths below the session's URL with the tokens of their locks.
    pub lock_tokens: &'a [(RelPathBuf, String)],
    /// Whether locks stay.
    pub keep_locks: bool,
}

/// What an edit from the other side is about.
#[derive(Clone, Copy, Debug)]
pub enum ReportKind<'a> {
    /// Brings what is reported to a revision.
    Update {
        /// Whether additions may be sent as copies.
        send_copyfrom: bool,
        /// Whether unrelated nodes count as changes of one another.
        ignore_ancestry: bool,
    },
    /// Brings what is reported to another URL of the repository.
    Switch {
        /// The URL.
        url: &'a Url,
        /// As in `Update`.
        send_copyfrom: bool,
        /// As in `Update`.
        ignore_ancestry: bool,
    },
    /// Like an update, without texts.
    Status,
    /// Compares what is reported with a URL.
    Diff {
        /// The URL.
        versus_url: &'a Url,
        /// As in `Update`.
        ignore_ancestry: bool,
        /// Whether texts are wanted.
        text_deltas: bool,
    },
}

/// An edit that is wanted from the other side.
#[derive(Clone, Copy, Debug)]
pub struct ReportRequest<'a> {
    /// The revision to come to.
    pub revision: Option<Revnum>,
    /// One name below the session's URL, or empty.
    pub target: &'a str,
    /// How deep.
    pub depth: Depth,
    /// What for.
    pub kind: ReportKind<'a>,
}

impl<'a, P: ?Sized> LogRequest<'a, P> {
    /// The same of other paths.
    #[must_use]
    pub fn of<'b, Q: ?Sized>(&self, paths: &'b [&'b Q]) -> LogRequest<'b, Q>
    where
        'a: 'b,
    {
        LogRequest {
            paths,
            start: self.start,
            end: self.end,
            limit: self.limit,
            changed_paths: self.changed_paths,
            strict_node_history: self.strict_node_history,
            include_merged_revisions: self.include_merged_revisions,
            revprops: self.revprops,
        }
    }
}

impl<'a, P: ?Sized> FileRevsRequest<'a, P> {
    /// The same of other paths.
    #[must_use]
    pub fn of<'b, Q: ?Sized>(&self, path: &'b Q) -> FileRevsRequest<'b, Q>
    where
        'a: 'b,
    {
        FileRevsRequest {
            path,
            start: self.start,
            end: self.end,
            include_merged_revisions: self.include_merged_revisions,
        }
    }
}

impl<'a, P: ?Sized> MergeinfoRequest<'a, P> {
    /// The same of other paths.
    #[must_use]
    pub fn of<'b, Q: ?Sized>(&self, paths: &'b [&'b Q]) -> MergeinfoRequest<'b, Q>
    where
        'a: 'b,
    {
        MergeinfoRequest {
            paths,
            revision: self.revision,
            inherit: self.inherit,
            include_descendants: self.include_descendants,
        }
    }
}

impl<'a, P: ?Sized> ListRequest<'a, P> {
    /// The same of other paths.
    #[must_use]
    pub fn of<'b, Q: ?Sized>(&self, path: &'b Q) -> ListRequest<'b, Q>
    where
        'a: 'b,
    {
        ListRequest {
            path,
            revision: self.revision,
            patterns: self.patterns,
            depth: self.depth,
            fields: self.fields,
        }
    }
}
