//! What the resolver asks of a repository, each question once: histories of nodes, how they were deleted or moved,
//! and which revisions deleted and copied paths.

use std::cell::{OnceCell, RefCell};
use std::collections::HashMap;
use std::hash::Hash;
use std::rc::Rc;

use sapwood_core::paths::{RelPath, RelPathBuf, UrlBuf};
use sapwood_core::props::names;
use sapwood_core::{ErrorCode, NodeKind, Revnum, RevpropSelection, SvnError, SvnResult, path};
use sapwood_ra::{LogChange, LogRequest, Session};

use super::moves::{CopiedPath, DeletedPath, Revision, before};
use crate::caching_session::{History, SessionWithCache};
use crate::context::Context;
use crate::mergeinfo::place::{History as Line, RepoLocation};

/// The author that is shown for a revision without one.
const NOBODY: &str = "unknown author";

/// One more question that is answered only once.
type Memo<K, V> = RefCell<HashMap<K, V>>;

/// Takes a revision of a log: its number, its author and what changed.
pub(super) type OfRevision<'r> = dyn FnMut(u64, String, &[LogChange<'_>]) -> SvnResult<()> + 'r;

/// The answers of a repository so far.
pub(super) struct Repository {
    /// `None` when the conflict does not say it.
    root: Option<UrlBuf>,
    uuid: String,
    session: OnceCell<Rc<dyn Session>>,
    history: Rc<History>,
    histories: Memo<(RelPathBuf, u64), Option<Rc<Line>>>,
    ancestries: Memo<(RelPathBuf, u64, RelPathBuf, u64, bool), bool>,
    scans: Memo<(RelPathBuf, u64, u64), Rc<Vec<Revision>>>,
}

/// The answer to a question: the known one, or what `ask` finds out.
fn once<K: Eq + Hash, V: Clone>(
    known: &Memo<K, V>,
    key: K,
    ask: impl FnOnce() -> SvnResult<V>,
) -> SvnResult<V> {
    if let Some(answer) = known.borrow().get(&key) {
        return Ok(answer.clone());
    }
    let answer = ask()?;
    known.borrow_mut().insert(key, answer.clone());
    Ok(answer)
}

/// `None` in place of the error that a node is not there.
fn found_or_none<T>(result: SvnResult<T>) -> SvnResult<Option<T>> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(error) if error.is_no_node() => Ok(None),
        Err(error) => Err(error),
    }
}

fn author(value: Option<&[u8]>) -> String {
    value.map_or_else(|| NOBODY.to_owned(), |name| sapwood_core::ascii::readable(name).into_owned())
}

impl Repository {
    /// Nothing is known but what is kept beside a working copy.
    pub(super) fn new(root: Option<UrlBuf>, uuid: &str, history: Rc<History>) -> Self {
        Self {
            history,
            root,
            uuid: uuid.to_owned(),
            session: OnceCell::new(),
            histories: RefCell::default(),
            ancestries: RefCell::default(),
            scans: RefCell::default(),
        }
    }

    /// The repository's UUID.
    pub(super) fn uuid(&self) -> &str {
        &self.uuid
    }

    /// The repository's URL, empty when it is not known.
    pub(super) fn root(&self) -> &str {
        self.root.as_ref().map_or("", |root| root.as_str())
    }

    fn known_root(&self) -> SvnResult<&UrlBuf> {
        let unknown = || sapwood_ra::Error::IllegalUrl(String::new()).into();
        self.root.as_ref().ok_or_else(unknown)
    }

    /// A URL of the repository.
    pub(super) fn url(&self, relpath: &RelPath) -> SvnResult<UrlBuf> {
        Ok(self.known_root()?.join(relpath))
    }

    /// A session that a path is at or below, and the path from there.
    fn session_for<'s>(
        &'s self,
        ctx: &Context,
        relpath: &RelPath,
    ) -> SvnResult<(&'s dyn Session, RelPathBuf)> {
        let session = match self.session.get() {
            Some(session) => session,
            None => {
                let session = Rc::from(ctx.open_following(&self.url(relpath.parent())?)?);
                let session = SessionWithCache::wrap(session, &self.history, None);
                self.session.get_or_init(|| session)
            }
        };
        let url = self.url(relpath)?;
        if let Some(below) = url.below(&session.url()) {
            return Ok((session.as_ref(), below));
        }
        session.reparent(&self.url(relpath.parent())?)?;
        let below = url.below(&session.url()).ok_or_else(|| {
            SvnError::new(ErrorCode::RA_ILLEGAL_URL, format!("'{url}' is not in the repository"))
        })?;
        Ok((session.as_ref(), below))
    }

    /// The kind of the node at a path.
    pub(super) fn kind(
        &self,
        ctx: &Context,
        relpath: &RelPath,
        revision: u64,
    ) -> SvnResult<Option<NodeKind>> {
        let (session, below) = self.session_for(ctx, relpath)?;
        session.check_path(&below, Some(Revnum(revision)))
    }

    /// The youngest revision.
    pub(super) fn youngest(&self, ctx: &Context, relpath: &RelPath) -> SvnResult<u64> {
        Ok(self.session_for(ctx, relpath)?.0.latest_revnum()?.0)
    }

    /// The revision after `peg` that deleted a node, if one did up to `end`.
    pub(super) fn deleted_after(
        &self,
        ctx: &Context,
        relpath: &RelPath,
        peg: u64,
        end: u64,
    ) -> SvnResult<Option<u64>> {
        let (session, below) = self.session_for(ctx, relpath)?;
        let found = session.deleted_rev(&below, Revnum(peg), Revnum(end))?;
        Ok(found.map(|revision| revision.0))
    }

    /// The author of a revision.
    pub(super) fn author(
        &self,
        ctx: &Context,
        relpath: &RelPath,
        revision: u64,
    ) -> SvnResult<String> {
        let (session, _) = self.session_for(ctx, relpath)?;
        Ok(author(session.rev_prop(Revnum(revision), names::AUTHOR)?.as_deref()))
    }

    /// Fetches a file into `to`, and returns its properties.
    pub(super) fn file(
        &self,
        ctx: &Context,
        relpath: &RelPath,
        revision: u64,
        to: &mut dyn std::io::Write,
    ) -> SvnResult<sapwood_core::PropList> {
        let (session, below) = self.session_for(ctx, relpath)?;
        Ok(session.get_file(&below, Some(Revnum(revision)), Some(to), true)?.props)
    }

    /// The locations that a node was at between two revisions, the youngest first: first
    /// revision and path. Gaps are left out.
    pub(super) fn segments(
        &self,
        ctx: &Context,
        relpath: &RelPath,
        peg: u64,
        oldest: u64,
        progress: &dyn Fn(u64),
    ) -> SvnResult<Vec<(u64, RelPathBuf)>> {
        let (session, below) = self.session_for(ctx, relpath)?;
        let mut places = Vec::new();
        let (peg, oldest) = (Some(Revnum(peg)), Some(Revnum(oldest)));
        session.location_segments(&below, peg, peg, oldest, &mut |segment| {
            progress(segment.start.0);
            if let Some(path) = &segment.path {
                places.push((segment.start.0, path.clone()));
            }
            Ok(())
        })?;
        places.sort_by_key(|place| std::cmp::Reverse(place.0));
        Ok(places)
    }

    /// The whole history of a node; `None` when there is no such node.
    fn history(&self, ctx: &Context, relpath: &RelPath, peg: u64) -> SvnResult<Option<Rc<Line>>> {
        once(&self.histories, (relpath.to_owned(), peg), || {
            let (session, below) = self.session_for(ctx, relpath)?;
            let mut segments = Vec::new();
            let revision = Some(Revnum(peg));
            let asked = session.location_segments(
                &below,
                revision,
                revision,
                Some(Revnum::ZERO),
                &mut |segment| {
                    segments.push(segment.clone());
                    Ok(())
                },
            );
            let place = RepoLocation {
                root: self.known_root()?.clone(),
                uuid: self.uuid.clone(),
                relpath: relpath.to_owned(),
                revision: peg,
            };
            Ok(found_or_none(asked)?.map(|()| Rc::new(Line::of_segments(&place, segments))))
        })
    }

    /// The revision of the youngest node that two nodes are both descended from.
    pub(super) fn meeting(
        &self,
        ctx: &Context,
        one: (&RelPath, u64),
        other: (&RelPath, u64),
    ) -> SvnResult<Option<u64>> {
        let (Some(one), Some(other)) =
            (self.history(ctx, one.0, one.1)?, self.history(ctx, other.0, other.1)?)
        else {
            return Ok(None);
        };
        Ok(one.meet(&other).map(|place| place.revision))
    }

    /// The same of the nearest parents that have one: a guess where two branches parted.
    pub(super) fn nearest_meeting(
        &self,
        ctx: &Context,
        one: (&RelPath, u64),
        other: (&RelPath, u64),
    ) -> SvnResult<Option<u64>> {
        for above in parents(one.0) {
            for other_above in parents(other.0) {
                let met = self.meeting(ctx, (above, one.1), (other_above, other.1))?;
                if met.is_some() {
                    return Ok(met);
                }
            }
        }
        Ok(None)
    }

    /// Whether a node that a revision deleted was at `from` in an earlier revision. With `latest`, it
    /// must not have changed since.
    pub(super) fn was_at(
        &self,
        ctx: &Context,
        (deleted, in_revision): (&RelPath, u64),
        (from, revision): (&RelPath, u64),
        latest: bool,
    ) -> SvnResult<bool> {
        let key = (deleted.to_owned(), in_revision, from.to_owned(), revision, latest);
        once(&self.ancestries, key, || {
            let (session, below) = self.session_for(ctx, deleted)?;
            let peg = Revnum(before(in_revision));
            let Some(places) = found_or_none(session.locations(&below, peg, &[Revnum(revision)]))?
            else {
                return Ok(false);
            };
            let place = places.iter().find(|(at, _)| at.0 == revision);
            if place.is_none_or(|(_, at)| *from != *path::to_relpath(at)) {
                return Ok(false);
            }
            if !latest {
                return Ok(true);
            }
            let node = session.stat(&below, Some(peg))?;
            Ok(node.is_some_and(|node| revision >= node.created_rev.0))
        })
    }

    /// The deletions and copies in the revisions of a path, the youngest first.
    pub(super) fn scan(
        &self,
        ctx: &Context,
        relpath: &RelPath,
        youngest: u64,
        oldest: u64,
    ) -> SvnResult<Rc<Vec<Revision>>> {
        once(&self.scans, (relpath.to_owned(), youngest, oldest), || {
            let mut revisions = Vec::new();
            self.log(ctx, relpath, youngest, oldest, &mut |revision, author, changes| {
                revisions.push(Revision::new(
                    revision,
                    author,
                    changes.iter().filter_map(deleted_path).collect(),
                    changes.iter().filter_map(copied).collect(),
                ));
                ctx.check_cancel()
            })?;
            Ok(Rc::new(revisions))
        })
    }

    /// Reports the log of a path: revision, author and what changed.
    pub(super) fn log(
        &self,
        ctx: &Context,
        relpath: &RelPath,
        start: u64,
        end: u64,
        receiver: &mut OfRevision<'_>,
    ) -> SvnResult<()> {
        let (session, below) = self.session_for(ctx, relpath)?;
        let paths = [below.as_path()];
        let author_only = RevpropSelection::Names(&[names::AUTHOR]);
        let whole = LogRequest::whole(&paths, (start, end), author_only);
        let request = LogRequest { changed_paths: true, ..whole };
        session.log(&request, &mut |entry| {
            let Some(revision) = entry.revision else { return Ok(()) };
            receiver(revision.0, author(entry.revprop(names::AUTHOR)), &entry.changes)
        })
    }
}

/// A path and those above it, but for the root.
fn parents(relpath: &RelPath) -> impl Iterator<Item = &RelPath> {
    std::iter::successors(Some(relpath), |at| Some(at.parent())).take_while(|at| !at.is_empty())
}

fn deleted_path(change: &LogChange<'_>) -> Option<DeletedPath> {
    matches!(change.action, b'D' | b'R').then(|| DeletedPath {
        path: RelPathBuf::canonicalize(change.path),
        replaced_by: change.kind.filter(|_| change.action == b'R'),
    })
}

fn copied(change: &LogChange<'_>) -> Option<CopiedPath> {
    let (from, revision) = change.copy_from?;
    (change.action == b'A').then(|| CopiedPath {
        from: RelPathBuf::canonicalize(from),
        from_revision: revision.0,
        to: RelPathBuf::canonicalize(change.path),
        kind: change.kind,
    })
}
