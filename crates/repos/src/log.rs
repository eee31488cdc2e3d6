//! Log messages and changed paths.
//!
//! A [`LogRevision`] is borrowed from the caches: lists of changed paths and of revision properties
//! are shared, and what authz hides is marked beside them, so that sending a revision allocates
//! nothing in the common case.
//!
//! The whole-repository log is a plain loop. Logs of paths walk the histories of all paths
//! together, youngest first ([`search`]); with merged revisions, searches nest on an explicit
//! stack, so that no history can exhaust the thread's stack ([`merged`]).

mod changes;
mod entry_maker;
mod merged;
mod search;
mod spans;

use sapwood_core::Exact;
use sapwood_core::FsPath;
use sapwood_core::paths::FsPathBuf;
use std::sync::Arc;

use sapwood_core::props::names;
use sapwood_core::{
    CancelToken, ChangedPath, ErrorCode, LogEntry, NodeKind, PropList, Revnum, RevpropSelection,
    SvnError, SvnResult,
};
use sapwood_fs::read_ahead::LogNeeds;
use sapwood_fs::{ChangedPaths, EncodedEntries, Filesystem, RevpropsSnapshot};

use crate::access::RevisionAccess;
use crate::authorizer::PathAuthorizer;
use crate::error::Result;
use crate::forms::{Protocol, Viewer};
use crate::repository::Repository;

/// The request for a log, with its repository.
pub type LogRequest<'a> = sapwood_core::LogRequest<'a, FsPath>;

/// One revision of a log, borrowed from the caches: a [`LogEntry`] without lists of its own, since servers write it
/// piece by piece.
#[derive(Clone, Copy, Debug)]
pub struct LogRevision<'a> {
    /// The revision; `None` for the entry that ends a list of merged revisions.
    pub revision: Option<Revnum>,
    /// Whether merged revisions follow, ended by an entry without revision.
    pub has_children: bool,
    /// Whether this revision was merged by being taken away (a reverse merge).
    pub subtractive_merge: bool,
    changes: &'a ChangedPaths,
    // What authz leaves of each change, and kinds that old revisions do not record; empty when `changes`
    // can be sent as they are.
    marks: &'a [Mark],
    // Changes of merged revisions that were not sent themselves: see `LogRun::carried`.
    carried: &'a [ReadableChanges],
    revprops: Option<&'a PropList>,
    selection: RevpropSelection<'a>,
    restricted: bool,
}

/// What differs between a change as it is stored and as it is sent.
#[derive(Clone, Copy, Debug, Default)]
struct Mark {
    hidden: bool,
    hide_copy: bool,
    node_kind: Option<NodeKind>,
}

impl Mark {
    /// The mark of a change that lacks one by an error: nothing is shown.
    const HIDDEN: Self = Self { hidden: true, hide_copy: true, node_kind: None };
}

#[derive(Debug)]
struct ReadableChanges {
    changes: Arc<ChangedPaths>,
    marks: Vec<Mark>,
}

fn readable<'a>(
    changes: &'a ChangedPaths,
    marks: &'a [Mark],
) -> impl Iterator<Item = ChangedPath<'a>> + use<'a> {
    changes.iter().enumerate().filter_map(move |(at, change)| {
        // There is a mark for each change, or none at all.
        let all_open = marks.is_empty().then(Mark::default);
        let mark = marks.get(at).copied().or(all_open).unwrap_or(Mark::HIDDEN);
        (!mark.hidden).then_some(ChangedPath {
            path: change.path,
            action: change.kind.letter(),
            kind: change.node_kind.or(mark.node_kind),
            text_mod: change.text_mod,
            prop_mod: change.prop_mod,
            copy_from: change.copy_from.filter(|_| !mark.hide_copy).map(|(rev, path)| (path, rev)),
        })
    })
}

impl<'a> LogRevision<'a> {
    /// The same with lists of its own.
    #[must_use]
    pub fn entry(&self) -> LogEntry<'a> {
        LogEntry {
            revision: self.revision,
            has_children: self.has_children,
            subtractive_merge: self.subtractive_merge,
            changes: self.changes().collect(),
            revprops: self.revprops().collect(),
        }
    }

    /// The changed paths that were requested and may be read.
    pub fn changes(&self) -> impl Iterator<Item = ChangedPath<'a>> + use<'a> {
        let carried = self.carried;
        let carried = carried.iter().flat_map(|c| readable(&c.changes, &c.marks));
        carried.chain(readable(self.changes, self.marks))
    }

    /// The revision properties that were requested and may be read.
    pub fn revprops(&self) -> impl Iterator<Item = (&'a str, &'a [u8])> + use<'a> {
        let (selection, restricted) = (self.selection, self.restricted);
        self.revprops.into_iter().flat_map(PropList::iter).filter(move |(name, _)| {
            let asked = match selection {
                RevpropSelection::All => true,
                RevpropSelection::Names(names) => names.contains(name),
            };
            asked && (!restricted || *name == names::AUTHOR || *name == names::DATE)
        })
    }

    /// One revision property, if it was requested and may be read.
    #[must_use]
    pub fn revprop(&self, name: &str) -> Option<&'a [u8]> {
        let asked = match self.selection {
            RevpropSelection::All => true,
            RevpropSelection::Names(names) => names.contains(&name),
        };
        let open = !self.restricted || name == names::AUTHOR || name == names::DATE;
        self.revprops.filter(|_| asked && open).and_then(|props| props.get(name))
    }
}

/// Takes the revisions of a log. Every `FnMut(&LogRevision)` is a receiver.
#[allow(clippy::missing_errors_doc, reason = "all: errors of the receiver, which end the log")]
pub trait LogReceiver {
    /// The next entry.
    fn entry(&mut self, entry: &LogRevision<'_>) -> SvnResult<()>;

    /// How entries are encoded, for a receiver that prefers to get many of them at once, ready
    /// made: then [`LogReceiver::encoded`] may be called in place of [`LogReceiver::entry`] for
    /// entries that are neither in a list of merged revisions nor begin one.
    fn encoder(&self) -> Option<LogEncoder> {
        None
    }

    /// Whether ends of lists are sent even where no list is open. Subversion's log has such ends
    /// (a merged revision that was sent elsewhere ends the list that it did not begin); `svnserve`
    /// drops them, sessions in the same process do not.
    fn takes_all_ends(&self) -> bool {
        false
    }

    /// The next entries, encoded.
    fn encoded(&mut self, entries: &[u8]) -> SvnResult<()> {
        let _ = entries;
        Ok(())
    }

    /// The next entries, encoded, as they are cached: for a receiver that can share them.
    fn encoded_entries(
        &mut self,
        entries: &Arc<EncodedEntries>,
        youngest_first: bool,
    ) -> SvnResult<()> {
        entries.pieces(youngest_first).try_for_each(|piece| self.encoded(piece))
    }
}

impl<F: FnMut(&LogRevision<'_>) -> SvnResult<()>> LogReceiver for F {
    fn entry(&mut self, entry: &LogRevision<'_>) -> SvnResult<()> {
        self(entry)
    }
}

/// How a receiver encodes entries.
#[derive(Clone, Copy, Debug)]
pub struct LogEncoder {
    /// The protocol: encoders of one protocol make the same bytes.
    pub protocol: Protocol,
    /// Appends an entry. The bytes depend on nothing but the entry.
    pub encode: fn(&LogRevision<'_>, &mut Vec<u8>),
}

/// Sends `receiver` the revisions that changed the requested paths.
///
/// Entries without a revision end the list of merged revisions that the last entry with
/// `has_children` began; they come only while such a list is open, unless the receiver
/// [takes all](LogReceiver::takes_all_ends).
///
/// # Errors
/// E160006 for revisions younger than the youngest, E160013 for paths that do not exist, E220001
/// for paths that may not be read; what the receiver returns; corruption and system errors.
pub fn log(
    repository: &Repository,
    request: &LogRequest<'_>,
    authorizer: &dyn PathAuthorizer,
    cancel: &CancelToken,
    mut receiver: &mut dyn FnMut(&LogRevision<'_>) -> SvnResult<()>,
) -> Result<()> {
    log_to(repository, request, authorizer, cancel, &mut receiver)
}

/// [`log`] for any kind of receiver.
///
/// # Errors
/// As [`log`].
pub fn log_to(
    repository: &Repository,
    request: &LogRequest<'_>,
    authorizer: &dyn PathAuthorizer,
    cancel: &CancelToken,
    receiver: &mut dyn LogReceiver,
) -> Result<()> {
    let fs = repository.fs();
    let revprops = fs.revprops_snapshot();
    let head = fs.youngest()?;
    let start = request.start.unwrap_or(head);
    let end = request.end.unwrap_or(head);
    if let Some(missing) = [start, end].into_iter().find(|r| *r > head) {
        return Err(sapwood_fs::Error::NoSuchRevision(missing).into());
    }
    let descending = start >= end;
    let (oldest, youngest) = if descending { (end, start) } else { (start, end) };
    let mut run = LogRun {
        repository,
        fs,
        request,
        authorizer,
        cancel,
        receiver,
        revprops,
        no_changes: ChangedPaths::default(),
        marks: Vec::new(),
        refused: None,
        viewer: Viewer::of(authorizer),
        carried: Vec::new(),
        open_lists: 0,
    };
    let whole = match request.paths {
        [] => true,
        [path] => path.is_root(),
        _ => false,
    };
    if whole && !request.include_merged_revisions {
        run.everything(oldest, youngest, descending)
    } else {
        run.paths(oldest, youngest, descending)
    }
}

pub(crate) fn unreadable() -> crate::Error {
    SvnError::new(ErrorCode::AUTHZ_UNREADABLE, "").into()
}

/// One running log request.
struct LogRun<'a> {
    repository: &'a Repository,
    fs: &'a Filesystem,
    request: &'a LogRequest<'a>,
    authorizer: &'a dyn PathAuthorizer,
    cancel: &'a CancelToken,
    receiver: &'a mut dyn LogReceiver,
    revprops: RevpropsSnapshot,
    no_changes: ChangedPaths,
    /// Reused for every revision.
    marks: Vec<Mark>,
    /// The paths that were refused, while entries are made that are to be cached with them.
    refused: Option<Vec<FsPathBuf>>,
    /// The users that may share the replies: this decides what may be cached.
    viewer: Viewer,
    /// Changed paths of merged revisions that turned out to be sent elsewhere. The reference hands
    /// changed paths on before it decides that, so they end up with the next entry that is sent;
    /// clients that compare outputs would see the difference, so this does the same.
    carried: Vec<ReadableChanges>,
    /// How many lists of merged revisions the receiver has open.
    open_lists: u64,
}

/// How a revision came into the log.
#[derive(Clone, Copy, Debug, Default)]
struct Origin {
    has_children: bool,
    subtractive: bool,
}

impl LogRun<'_> {
    /// Every revision of a range.
    fn everything(&mut self, oldest: Revnum, youngest: Revnum, descending: bool) -> Result<()> {
        if !self.authorizer.readable(FsPath::ROOT)? {
            return Err(unreadable());
        }
        let mut count = youngest.0.minus(oldest.0).plus(1);
        if self.request.limit > 0 {
            count = count.min(self.request.limit);
        }
        let nth = |n: u64| {
            Revnum(if descending {
                youngest.0.saturating_sub(n)
            } else {
                oldest.0.saturating_add(n)
            })
        };
        let last = nth(count.saturating_sub(1));
        let mut ahead =
            self.fs.prefetch_revisions(nth(0), last, self.wanted(), self.span_encoder());
        let mut n = 0;
        while n < count {
            let revision = nth(n);
            ahead.at(n);
            match self.span(revision, last)? {
                Some(span) => n = n.plus(self.send_span(&span, revision, Some((&mut ahead, n)))?),
                None => {
                    self.send(revision, Origin::default())?;
                    n += 1;
                }
            }
        }
        Ok(())
    }

    /// What the request reads of each revision.
    fn wanted(&self) -> LogNeeds {
        LogNeeds {
            changes: self.wants_changes(),
            revprops: self.request.revprops != RevpropSelection::Names(&[]),
        }
    }

    /// Whether changed paths are needed: to be sent, or to decide what may be sent.
    fn wants_changes(&self) -> bool {
        self.request.changed_paths || !self.authorizer.everything_readable()
    }

    /// Reads what a revision changed: returns the list, and leaves the marks in `self.marks`.
    fn look(&mut self, revision: Revnum) -> Result<(Arc<ChangedPaths>, RevisionAccess)> {
        let list = self.fs.changed_paths(revision)?;
        let access = changes::mark(
            self.fs,
            revision,
            &list,
            self.authorizer,
            self.request.changed_paths,
            &mut self.marks,
            self.refused.as_mut(),
        )?;
        Ok((list, access))
    }

    /// Sends a revision of the requested paths themselves.
    fn send(&mut self, revision: Revnum, origin: Origin) -> Result<()> {
        let is_plain = !origin.has_children && !origin.subtractive && self.carried.is_empty();
        if is_plain && self.open_lists == 0 && self.send_encoded(revision)? {
            return Ok(());
        }
        let (list, access) = self.look_if_wanted(revision)?;
        self.send_entry(revision, list.as_ref(), access, origin)
    }

    /// As [`LogRun::look`], where there are changes and they are wanted.
    fn look_if_wanted(
        &mut self,
        revision: Revnum,
    ) -> Result<(Option<Arc<ChangedPaths>>, RevisionAccess)> {
        self.marks.clear();
        if self.wants_changes() && revision > Revnum::ZERO {
            let (list, access) = self.look(revision)?;
            return Ok((Some(list), access));
        }
        Ok((None, RevisionAccess::Full))
    }

    fn send_entry(
        &mut self,
        revision: Revnum,
        list: Option<&Arc<ChangedPaths>>,
        access: RevisionAccess,
        origin: Origin,
    ) -> Result<()> {
        self.with_entry(revision, list, access, origin, |receiver, entry| receiver.entry(entry))?;
        self.carried.clear();
        if origin.has_children {
            self.open_lists += 1;
        }
        Ok(())
    }

    /// Builds the entry of a revision.
    fn with_entry(
        &mut self,
        revision: Revnum,
        list: Option<&Arc<ChangedPaths>>,
        access: RevisionAccess,
        origin: Origin,
        send: impl FnOnce(&mut dyn LogReceiver, &LogRevision<'_>) -> SvnResult<()>,
    ) -> Result<()> {
        if self.cancel.is_cancelled() {
            return Err(SvnError::new(ErrorCode::CANCELLED, "").into());
        }
        let wants_props = self.request.revprops != RevpropSelection::Names(&[]);
        let revprops = if wants_props && access != RevisionAccess::None {
            Some(self.revprops.get(revision)?)
        } else {
            None
        };
        let changes = match list {
            Some(list) if self.request.changed_paths => list.as_ref(),
            _ => &self.no_changes,
        };
        let entry = LogRevision {
            revision: Some(revision),
            has_children: origin.has_children,
            subtractive_merge: origin.subtractive,
            changes,
            marks: &self.marks,
            carried: &self.carried,
            revprops: revprops.as_deref(),
            selection: self.request.revprops,
            restricted: access == RevisionAccess::Partial,
        };
        Ok(send(self.receiver, &entry)?)
    }

    /// Sends the end of a list of merged revisions, if the receiver has one open or asks for all
    /// ends.
    fn send_end(&mut self) -> Result<()> {
        if self.open_lists == 0 && !self.receiver.takes_all_ends() {
            return Ok(());
        }
        self.open_lists = self.open_lists.saturating_sub(1);
        let entry = LogRevision {
            revision: None,
            has_children: false,
            subtractive_merge: false,
            changes: &self.no_changes,
            marks: &[],
            carried: &self.carried,
            revprops: None,
            selection: self.request.revprops,
            restricted: false,
        };
        self.receiver.entry(&entry)?;
        self.carried.clear();
        Ok(())
    }
}
