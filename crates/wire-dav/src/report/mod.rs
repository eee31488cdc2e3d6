//! REPORTs: the requests and the replies.
//!
//! * [`request`]: the bodies of all but the update report as the server reads them; [`ask`] writes them.
//! * [`update`]: the update report: the request and what the client has, and the editor that
//!   answers it.
//! * [`replay`]: the editor of a replayed revision.
//! * [`log`], [`reply`]: the other replies; [`answer`] reads them.
//! * [`drive`]: the client's side of an update report and of a replay: the reply drives an editor.

pub mod answer;
pub mod ask;
pub mod drive;
pub mod log;
pub mod replay;
pub mod reply;
pub mod request;
pub mod update;

use sapwood_core::SvnResult;

/// The twelve reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Trees: checkout, update, switch, status, diff.
    Update,
    /// Log messages.
    Log,
    /// The revision at a date.
    DatedRev,
    /// Where a node was in other revisions.
    Locations,
    /// Where a node was through a range of revisions.
    LocationSegments,
    /// All revisions of a file.
    FileRevs,
    /// Locks at and below a path.
    Locks,
    /// A revision as it was committed.
    Replay,
    /// Merge history.
    Mergeinfo,
    /// The revision in which a path was deleted.
    DeletedRev,
    /// Properties of parents.
    InheritedProps,
    /// A listing.
    List,
}

impl Kind {
    /// All of them with the names of their root elements.
    pub const ALL: [(Self, &'static str); 12] = [
        (Self::Update, "update-report"),
        (Self::Log, "log-report"),
        (Self::DatedRev, "dated-rev-report"),
        (Self::Locations, "get-locations"),
        (Self::LocationSegments, "get-location-segments"),
        (Self::FileRevs, "file-revs-report"),
        (Self::Locks, "get-locks-report"),
        (Self::Replay, "replay-report"),
        (Self::Mergeinfo, "mergeinfo-report"),
        (Self::DeletedRev, "get-deleted-rev-report"),
        (Self::InheritedProps, "inherited-props-report"),
        (Self::List, "list-report"),
    ];

    /// The name of its root element.
    #[must_use]
    pub fn name(self) -> &'static str {
        // The table has all of them.
        Self::ALL.iter().find(|(kind, _)| *kind == self).map_or("", |(_, name)| name)
    }

    /// The report whose root element has this name (in the namespace `svn:`).
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(_, n)| *n == name).map(|(kind, _)| *kind)
    }
}

/// The destination of a reply that may be long.
#[allow(clippy::missing_errors_doc, reason = "all: errors of the connection")]
pub trait Sink {
    /// The bytes that were written and not sent yet.
    fn buffer(&mut self) -> &mut Vec<u8>;

    /// Sends the bytes if there are many.
    fn flush_if_large(&mut self) -> SvnResult<()>;
}

impl<S: Sink + ?Sized> Sink for &mut S {
    fn buffer(&mut self) -> &mut Vec<u8> {
        (**self).buffer()
    }

    fn flush_if_large(&mut self) -> SvnResult<()> {
        (**self).flush_if_large()
    }
}

/// A sink that keeps everything, for tests and short replies.
impl Sink for Vec<u8> {
    fn buffer(&mut self) -> &mut Vec<u8> {
        self
    }

    fn flush_if_large(&mut self) -> SvnResult<()> {
        Ok(())
    }
}
