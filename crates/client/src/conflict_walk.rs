//! Walks the nodes in conflict, so that a conflict which appears while others are being resolved is not
//! missed.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::rc::Rc;

use sapwood_core::notify::{Action, State};
use sapwood_core::paths::{RelPath, RelPathBuf};
use sapwood_core::{Depth, ErrorCode, SvnResult, path};
use sapwood_wc::WorkingCopy;
use sapwood_wc::conflict::Conflict;
use sapwood_wc::status::Options;

use crate::context::Context;

/// Handles a node in conflict: its working copy, its path there, and its record. Notifications go through
/// the context that comes with it.
pub type Visit<'v> = dyn FnMut(&Context, &WorkingCopy, &RelPath, &Conflict) -> SvnResult<()> + 'v;

/// Gives the nodes in conflict at and below a path to `visit`. What comes into conflict meanwhile, and
/// tree conflicts that another one was in the way of, follow.
///
/// # Errors
/// Those of `visit`; E155027 for a conflict that stays in the way.
pub fn walk(
    ctx: &Context,
    wc: &WorkingCopy,
    relpath: &RelPath,
    depth: Depth,
    visit: &mut Visit<'_>,
) -> SvnResult<()> {
    if depth == Depth::Empty {
        let found = wc.db().questions(|| {
            let found = record(wc, relpath)?;
            if found.is_none() {
                wc.require_view(relpath)?;
            }
            SvnResult::Ok(found)
        })?;
        let Some(conflict) = found else { return Ok(()) };
        return wc.db().released(|| visit(ctx, wc, relpath, &conflict));
    }
    let later = Later::default();
    let inner = noting_conflicts(ctx, &later);
    let mut left = conflicted(ctx, wc, relpath, depth)?;
    left.reverse();
    while let Some(path) = left.pop() {
        attempt(&inner, wc, &path, &later, visit)?;
        if later.borrow().is_empty() {
            continue;
        }
        // The walk comes by what is new in directories that it has not entered yet.
        for new in later.borrow().iter() {
            if let Ok(new) = wc.relpath(new)
                && path::is_ancestor(relpath, &new)
                && path::compare(&new, &path).is_gt()
                && !path::is_ancestor(path::dirname(&new), path::dirname(&path))
                && !left.contains(&new)
            {
                left.push(new);
            }
        }
        left.sort_by(|a, b| path::compare(b, a));
    }
    visit_later(ctx, &inner, &later, visit)
}

/// Paths of conflicts that came while others were visited.
type Later = Rc<RefCell<BTreeSet<PathBuf>>>;

/// The context with notices that also add what comes into conflict to `later`.
fn noting_conflicts(ctx: &Context, later: &Later) -> Context {
    let (noted, outer) = (Rc::clone(later), ctx.notify.clone());
    ctx.with_notify(Rc::new(move |notice| {
        if let Some(notify) = &outer {
            notify(notice);
        }
        let conflicts = notice.action == Action::TreeConflict
            || notice.props == State::Conflicted
            || notice.content == State::Conflicted;
        if conflicts {
            noted.borrow_mut().insert(PathBuf::from(notice.path));
        }
    }))
}

/// Visits what came into conflict meanwhile, and what that leaves, as long as one of them is resolved.
fn visit_later(
    ctx: &Context,
    inner: &Context,
    later: &Later,
    visit: &mut Visit<'_>,
) -> SvnResult<()> {
    loop {
        let left = std::mem::take(&mut *later.borrow_mut());
        let Some(last) = left.last().cloned() else { return Ok(()) };
        let mut resolved = false;
        for path in &left {
            let (wc, relpath) = ctx.working_copy(path)?;
            resolved |= attempt(inner, &wc, &relpath, later, visit)?;
        }
        if !resolved && !later.borrow().is_empty() {
            // Once more, to see why.
            let (wc, relpath) = ctx.working_copy(&last)?;
            let Some(conflict) = record(&wc, &relpath)? else { return Ok(()) };
            return visit(inner, &wc, &relpath, &conflict).map_err(|error| {
                let text = format!("Unable to resolve pending conflict on '{}'", last.display());
                error.wrap(ErrorCode::WC_CONFLICT_RESOLVER_FAILURE, text)
            });
        }
    }
}

fn record(wc: &WorkingCopy, relpath: &RelPath) -> SvnResult<Option<Conflict>> {
    let data = wc.db().actual(relpath)?.and_then(|actual| actual.conflict_data);
    Ok(data.map(|bytes| Conflict::parse(&bytes)).transpose()?)
}

/// Visits one node. Returns whether its tree conflict was resolved. A node that is blocked by another
/// conflict is visited later.
fn attempt(
    ctx: &Context,
    wc: &WorkingCopy,
    relpath: &RelPath,
    later: &RefCell<BTreeSet<PathBuf>>,
    visit: &mut Visit<'_>,
) -> SvnResult<bool> {
    ctx.check_cancel()?;
    let Some(conflict) = record(wc, relpath)? else { return Ok(false) };
    let tree = conflict.tree.is_some();
    match visit(ctx, wc, relpath, &conflict) {
        Err(error) if tree && is_obstruction(error.code()) => {
            later.borrow_mut().insert(wc.abspath(relpath));
            return Ok(false);
        }
        other => other?,
    }
    Ok(tree && record(wc, relpath)?.is_none_or(|now| now.tree.is_none()))
}

fn is_obstruction(code: ErrorCode) -> bool {
    [ErrorCode::WC_OBSTRUCTED_UPDATE, ErrorCode::WC_FOUND_CONFLICT].contains(&code)
}

/// Paths in conflict at and below a path, in order.
pub(crate) fn conflicted(
    ctx: &Context,
    wc: &WorkingCopy,
    relpath: &RelPath,
    depth: Depth,
) -> SvnResult<Vec<RelPathBuf>> {
    if wc.view(relpath)?.is_some_and(|view| view.status().is_present())
        && !wc.has_conflicts(relpath)?
    {
        // No file need be looked at.
        return Ok(Vec::new());
    }
    let options =
        Options { depth, unversioned: false, cancel: ctx.cancel().clone(), ..Options::default() };
    let mut found = Vec::new();
    wc.status(relpath, &options, &mut |status| {
        if status.conflicted {
            found.push(status.relpath);
        }
        Ok(())
    })?;
    Ok(found)
}
