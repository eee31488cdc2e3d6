//! One working copy, or a part of it, is brought to another URL of its repository.

use std::collections::HashMap;

use sapwood_core::notify::Notify;
use sapwood_core::paths::{RelPath, RelPathBuf, Url, UrlBuf};
use sapwood_core::{Depth, ErrorCode, Revnum, SvnError, SvnResult};
use sapwood_ra::{ReportKind, Session};
use sapwood_wc::WorkingCopy;
use sapwood_wc::db::{Kind, NodeRow, Presence};

use super::{BroughtTree, EditOptions, WantedTree, check_uuid};
use crate::context::Context;
use crate::open::locate_following;
use crate::revision::Revision;
use crate::target::Target;

/// How a path is switched.
#[derive(Clone, Copy, Debug)]
pub struct Switch {
    /// To which revision; unspecified is that of the peg, or HEAD.
    pub revision: Revision,
    /// How deep.
    pub depth: Depth,
    /// Whether the target keeps that depth.
    pub depth_is_sticky: bool,
    /// Whether externals stay as they are.
    pub ignore_externals: bool,
    /// Whether unversioned files and directories may be taken for those that are added.
    pub allow_obstructions: bool,
    /// Whether the URL may be that of an unrelated node.
    pub ignore_ancestry: bool,
}

/// Whether the caller knows that something is at the URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Existence {
    Known,
    Unknown,
}

/// The top row of what is to be switched.
///
/// # Errors
/// E200007 and E155010 when it cannot be switched.
fn switchable(wc: &WorkingCopy, relpath: &RelPath, depth: Depth) -> SvnResult<NodeRow> {
    let refuse = |message: String| Err(SvnError::new(ErrorCode::UNSUPPORTED_FEATURE, message));
    if depth == Depth::Exclude {
        return refuse("Cannot both exclude and switch a path".to_owned());
    }
    let abspath = wc.abspath(relpath);
    let shown = abspath.display();
    let Some(top) = wc.db().top(relpath)? else {
        let message = format!("The node '{shown}' was not found.");
        return Err(SvnError::new(ErrorCode::WC_PATH_NOT_FOUND, message));
    };
    if top.op_depth > 0 {
        return refuse(format!("Cannot switch '{shown}' because it is not in the repository yet"));
    }
    Ok(top)
}

/// The URL that a node has when it is not switched; `None` for the root of a working copy.
fn unswitched_url(wc: &WorkingCopy, relpath: &RelPath) -> SvnResult<Option<UrlBuf>> {
    if relpath.is_empty() {
        return Ok(None);
    }
    Ok(Some(wc.url(relpath.parent())?.child(relpath.name())))
}

/// Switches what is below a locked anchor. Returns the session that it opened, too.
pub(crate) fn switch_locked(
    ctx: &Context,
    wc: &WorkingCopy,
    relpath: &RelPath,
    anchor: &RelPath,
    (to, existence): (&Target, Existence),
    how: &Switch,
) -> SvnResult<(BroughtTree, Box<dyn Session>)> {
    let depth = how.depth;
    let sticky = how.depth_is_sticky && depth != Depth::Unknown;
    let top = switchable(wc, relpath, depth)?;
    let anchor_url = wc.url(anchor)?;
    let notify = |value: &Notify<'_>| ctx.notify(value);
    if sticky && depth < Depth::Infinity && top.kind == Kind::Dir {
        wc.crop(relpath, depth, Some(&notify), ctx.cancel())?;
    }
    let located = locate_following(ctx, to, how.revision)?;
    let (session, revision) = (located.session, located.revision);
    let (url, root) = (session.url(), session.root_url());
    check_uuid(wc, wc.repos_location(anchor)?.0, session.as_ref())?;
    check_repository(&anchor_url, &root)?;
    let place = url.relpath(&root)?;
    if !how.ignore_ancestry && !is_related(wc, relpath, session.as_ref(), &place, revision)? {
        return Err(unrelated(wc, relpath, to));
    }
    let mut inherited = HashMap::new();
    if url != root && unswitched_url(wc, relpath)?.as_ref() != Some(&url) {
        // Relatives were found only where something is. A report of nothing would remove the target.
        if how.ignore_ancestry && existence == Existence::Unknown {
            check_there(session.as_ref(), &place, revision)?;
        }
        let list = session.inherited_props(RelPath::ROOT, Some(revision))?;
        inherited.insert(relpath.to_owned(), list);
    }
    let wanted = WantedTree { relpath, anchor, anchor_url: &anchor_url, depth, sticky, revision };
    let edit = EditOptions {
        switch_to: Some(place),
        allow_obstructions: how.allow_obstructions,
        adds_as_modification: false,
        clean_checkout: false,
        inherited,
    };
    let kind = ReportKind::Switch {
        url: &url,
        send_copyfrom: false,
        ignore_ancestry: how.ignore_ancestry,
    };
    let reached = wanted.bring(ctx, wc, session.as_ref(), kind, edit)?;
    let with_externals = matches!(depth, Depth::Infinity | Depth::Unknown) && !how.ignore_externals;
    let brought =
        BroughtTree { reached: Some(reached), externals_of: with_externals.then_some(root) };
    Ok((brought, session))
}

/// E155025 when a working copy is to be switched to another repository.
fn check_repository(anchor_url: &Url, root: &Url) -> SvnResult<()> {
    if anchor_url.below(root).is_some() {
        return Ok(());
    }
    let message = format!("'{anchor_url}'\nis not the same repository as\n'{root}'");
    Err(SvnError::new(ErrorCode::WC_INVALID_SWITCH, message))
}

/// E195012 for a target without an ancestor that the node has too.
fn unrelated(wc: &WorkingCopy, relpath: &RelPath, to: &Target) -> SvnError {
    let shown = wc.abspath(relpath);
    let message = format!("'{}' shares no common ancestry with '{}'", to.text, shown.display());
    SvnError::new(ErrorCode::CLIENT_UNRELATED_RESOURCES, message)
}

/// E160013 when nothing is at the session's URL.
fn check_there(session: &dyn Session, place: &RelPath, revision: Revnum) -> SvnResult<()> {
    match session.check_path(RelPath::ROOT, Some(revision))? {
        Some(_) => Ok(()),
        None => {
            let message = format!("'/{place}' path not found");
            Err(SvnError::new(ErrorCode::FS_NOT_FOUND, message))
        }
    }
}

/// Whether a node of BASE and a location in the repository have an ancestor in common.
fn is_related(
    wc: &WorkingCopy,
    relpath: &RelPath,
    session: &dyn Session,
    place: &RelPath,
    revision: Revnum,
) -> SvnResult<bool> {
    let Some(base) = wc.db().base(relpath)?.filter(|b| b.presence != Presence::NotPresent) else {
        return Ok(false);
    };
    let (Some(path), Some(at)) = (base.repos_path, base.revision) else { return Ok(false) };
    let root = session.root_url();
    let url = session.url();
    let history =
        |path: &RelPath, at: Revnum| -> SvnResult<Vec<(Option<RelPathBuf>, Revnum, Revnum)>> {
            session.reparent(&root.join(path))?;
            let mut segments = Vec::new();
            session.location_segments(
                RelPath::ROOT,
                Some(at),
                Some(at),
                Some(Revnum::ZERO),
                &mut |segment| {
                    segments.push((segment.path.clone(), segment.start, segment.end));
                    Ok(())
                },
            )?;
            Ok(segments)
        };
    let ours = history(&path, at)?;
    let theirs = history(place, revision)?;
    session.reparent(&url)?;
    // Two histories meet where both have one path in one revision.
    let meet = ours.iter().any(|(path, start, end)| {
        path.is_some()
            && theirs.iter().any(|(other, from, to)| other == path && from <= end && start <= to)
    });
    // The root of a repository is every node's ancestor in revision 0.
    Ok(meet)
}
