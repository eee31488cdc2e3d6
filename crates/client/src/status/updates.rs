//! `svn status -u`: the local status beside what the repository has in a revision.
//!
//! What BASE has is reported, the other side says what differs, its locks are fetched, and only then
//! the working copy is walked: no lock of wc.db is held while the network is waited for.

use sapwood_core::notify::{Action, Notify};
use sapwood_core::paths::{RelPath, RelPathBuf, UrlBuf};
use sapwood_core::{Depth, ErrorCode, Revnum, SvnError, SvnResult};
use sapwood_delta::ReportEntry;
use sapwood_ra::{Report, ReportKind, ReportRequest, Session};
use sapwood_wc::WorkingCopy;
use sapwood_wc::db::{Kind, NodeRow, Presence};
use sapwood_wc::report::Crawl;
use sapwood_wc::status::{IncomingChanges, LockInfo, State, StatusEditor};

use super::{StatusOptions, StatusTarget, Visit, externals, not_working_copy, show, walk_options};
use crate::context::Context;
use crate::open::number_at;
use crate::revision::Revision;
use crate::tree::check_uuid;
use crate::working::Node;

/// Walks a target, and returns the revision that it was compared with.
///
/// # Errors
/// As [`super::status`], and those of the session.
pub(super) fn status(
    ctx: &Context,
    target: &str,
    revision: Revision,
    options: &StatusOptions,
    visit: &mut Visit<'_>,
) -> SvnResult<Option<Revnum>> {
    let abspath = ctx.absolute(target);
    let (wc, relpath) = ctx.working_copy(&abspath).map_err(|e| not_working_copy(e, &abspath))?;
    let asked = UpdateQuery::find(&wc, &relpath, target, options.depth)?;
    let shown_anchor = wc.abspath(&asked.anchor);
    let url = Node::find(ctx, &shown_anchor.to_string_lossy())?.url()?;
    let session = sapwood_ra::open(&url, &ctx.ra)?;
    check_uuid(&wc, wc.repos_location(&asked.anchor)?.0, session.as_ref())?;
    let there = session.check_path(RelPath::ROOT, None)?.is_some();
    let incoming = if there {
        let number = match revision {
            Revision::Head | Revision::Unspecified => None,
            other => Some(number_at(ctx, session.as_ref(), target, other)?),
        };
        ask(&wc, &asked, number, session.as_ref())?
    } else {
        IncomingChanges::default()
    };
    let added = |row: NodeRow| {
        row.op_depth > 0 && matches!(row.presence, Presence::Normal | Presence::Incomplete)
    };
    let gone = !there && !wc.db().top(&asked.anchor)?.is_some_and(added);
    let mut walk = walk_options(ctx, options);
    walk.depth = asked.depth;
    let at = StatusTarget { wc: &wc, shown: target, relpath: &relpath };
    wc.status_against(
        &asked.anchor,
        RelPath::new(asked.name)?,
        &walk,
        &incoming,
        &mut |mut status| {
            if gone {
                status.remote.node = State::Deleted;
            }
            show(&at, status, options, visit).map_err(Into::into)
        },
    )?;
    let compared = incoming.revision;
    let shown = abspath.to_string_lossy();
    ctx.notify(&Notify { revision: compared, ..Notify::new(Action::StatusCompleted, &shown) });
    if matches!(asked.depth, Depth::Infinity | Depth::Unknown) && !options.ignore_externals {
        externals(ctx, target, &wc, &relpath, options, visit)?;
    }
    Ok(compared)
}

/// The scope of the request: a directory, or a name in one.
struct UpdateQuery<'a> {
    anchor: RelPathBuf,
    name: &'a str,
    relpath: &'a RelPath,
    depth: Depth,
}

impl<'a> UpdateQuery<'a> {
    fn find(wc: &WorkingCopy, relpath: &'a RelPath, shown: &str, depth: Depth) -> SvnResult<Self> {
        let kind = visible_kind(wc, relpath, true)?;
        if kind == Some(Kind::Dir) {
            return Ok(Self { anchor: relpath.to_owned(), name: "", relpath, depth });
        }
        let (anchor, name) = relpath.parent_and_name();
        let no_dir = || visible_kind(wc, anchor, false).map(|kind| kind != Some(Kind::Dir));
        if relpath.is_empty() || (kind.is_none() && no_dir()?) {
            let message = format!("'{shown}' is not a working copy");
            return Err(SvnError::new(ErrorCode::WC_NOT_WORKING_COPY, message));
        }
        let depth = match depth {
            Depth::Empty if kind.is_some() => Depth::Files,
            depth => depth,
        };
        Ok(Self { anchor: anchor.to_owned(), name, relpath, depth })
    }
}

/// What kind of node the user sees at a path, or (with `deleted`) has deleted.
fn visible_kind(wc: &WorkingCopy, relpath: &RelPath, deleted: bool) -> SvnResult<Option<Kind>> {
    let Some(top) = wc.db().top(relpath)? else { return Ok(None) };
    let in_work = top.op_depth > 0;
    let there = match top.presence {
        Presence::Normal | Presence::Incomplete => true,
        Presence::BaseDeleted => deleted,
        Presence::NotPresent => in_work && deleted,
        Presence::Excluded | Presence::ServerExcluded => false,
    };
    Ok(there.then_some(top.kind))
}

/// Reports BASE and takes down what the other side says, with its locks.
fn ask(
    wc: &WorkingCopy,
    asked: &UpdateQuery<'_>,
    revision: Option<Revnum>,
    session: &dyn Session,
) -> SvnResult<IncomingChanges> {
    let request = ReportRequest {
        revision,
        target: asked.name,
        depth: Depth::Unknown,
        kind: ReportKind::Status,
    };
    let crawl = Crawl {
        target: asked.relpath,
        depth: asked.depth,
        honor_depth_exclude: true,
        restore: false,
        notify: None,
    };
    let url = session.url();
    let mut editor = StatusEditor::new(&asked.anchor, !asked.name.is_empty());
    let mut report = session.report(&request, &mut editor)?;
    let depth = if asked.depth == Depth::Unknown { Depth::Infinity } else { asked.depth };
    let mut watched = AncestorReport { report: report.as_mut(), ancestor: url, depth };
    let result = wc.report(&crawl, &mut watched);
    let AncestorReport { ancestor, depth, .. } = watched;
    if let Err(error) = result {
        let _ = report.abort();
        return Err(error.into());
    }
    report.finish()?;
    let mut incoming = editor.finish();
    session.reparent(&ancestor)?;
    let locks = match session.get_locks(RelPath::ROOT, depth) {
        Err(error) if error.is_not_implemented() => Vec::new(),
        found => found?,
    };
    incoming.locks.extend(locks.into_iter().map(|lock| {
        let info = LockInfo {
            token: lock.token,
            owner: Some(lock.owner),
            comment: lock.comment,
            date: lock.created,
        };
        (lock.path, info)
    }));
    Ok(incoming)
}

/// A report that keeps the common URL of everything in it.
struct AncestorReport<'r> {
    report: &'r mut dyn Report,
    ancestor: UrlBuf,
    /// How deep below that.
    depth: Depth,
}

impl Report for AncestorReport<'_> {
    fn entry(&mut self, entry: &ReportEntry<'_>) -> SvnResult<()> {
        if let Some(url) = entry.link
            && url.below(&self.ancestor).is_none()
        {
            if let Some(common) = self.ancestor.common_ancestor(url) {
                self.ancestor = common.to_owned();
            }
            self.depth = Depth::Infinity;
        }
        self.report.entry(entry)
    }

    fn delete_path(&mut self, path: &RelPath) -> SvnResult<()> {
        self.report.delete_path(path)
    }

    fn finish(self: Box<Self>) -> SvnResult<()> {
        Ok(())
    }

    fn abort(self: Box<Self>) -> SvnResult<()> {
        Ok(())
    }
}
