//! One working copy, or a part of it, is brought to a revision.

use std::fs;
use std::path::Path;

use sapwood_core::notify::{Action, Notify};
use sapwood_core::paths::{RelPath, RelPathBuf, UrlBuf};
use sapwood_core::{Depth, Revnum, SvnResult};
use sapwood_ra::{ReportKind, Session};
use sapwood_wc::WorkingCopy;
use sapwood_wc::conflict::Conflict;
use sapwood_wc::db::{Kind, Presence};

use super::wanted::inherited_props;
use super::{BroughtTree, EditOptions, SharedSessionSlot, WantedTree, check_uuid, ensure_session};
use crate::context::Context;
use crate::open::number_of;
use crate::relocate::relocate;
use crate::revision::Revision;
use crate::working;

/// How targets are updated.
#[derive(Clone, Copy, Debug)]
pub struct Update {
    /// To which revision; unspecified is HEAD.
    pub revision: Revision,
    /// How deep.
    pub depth: Depth,
    /// Whether targets keep that depth (`--set-depth`).
    pub depth_is_sticky: bool,
    /// Whether externals stay as they are.
    pub ignore_externals: bool,
    /// Whether unversioned files and directories may be taken for those that are added.
    pub allow_obstructions: bool,
    /// Whether local additions are taken for changes of what the update adds.
    pub adds_as_modification: bool,
    /// Whether missing parents are added too.
    pub parents: bool,
}

impl Default for Update {
    fn default() -> Self {
        Self {
            revision: Revision::Unspecified,
            depth: Depth::Unknown,
            depth_is_sticky: false,
            ignore_externals: false,
            allow_obstructions: false,
            adds_as_modification: false,
            parents: false,
        }
    }
}

/// Whether there is a directory that can be cropped.
fn is_present_dir(wc: &WorkingCopy, relpath: &RelPath) -> SvnResult<bool> {
    Ok(wc.db().top(relpath)?.is_some_and(|row| {
        row.kind == Kind::Dir && !matches!(row.presence, Presence::Excluded | Presence::NotPresent)
    }))
}

/// Where the anchor is: the URLs of the repository and of the anchor. When the session was sent on, the working copy is
/// relocated first.
fn follow(
    ctx: &Context,
    wc: &WorkingCopy,
    (root, anchor_url): (UrlBuf, UrlBuf),
    session: &dyn Session,
    how: &Update,
) -> SvnResult<(UrlBuf, UrlBuf)> {
    if anchor_url.below(&session.root_url()).is_some() {
        return Ok((root, anchor_url));
    }
    let (to, url) = (session.root_url(), session.url());
    relocate(ctx, &wc.root().to_string_lossy(), &root, &to, how.ignore_externals)?;
    Ok((to, url))
}

fn wanted_revision(
    ctx: &Context,
    path: &Path,
    session: &dyn Session,
    wanted: Revision,
) -> SvnResult<Revnum> {
    match wanted {
        Revision::Unspecified => number_of(session, Revision::Head),
        Revision::Base | Revision::Committed | Revision::Previous | Revision::Working => {
            working::Node::find(ctx, &path.to_string_lossy())?.number_of(wanted)
        }
        other => number_of(session, other),
    }
}

/// Key and root of the repository of an update, and the anchor's path in it. `None`, which is reported, where there is
/// nothing to update, or a conflict.
fn location_to_update(
    ctx: &Context,
    wc: &WorkingCopy,
    relpath: &RelPath,
    anchor: &RelPath,
) -> SvnResult<Option<(i64, UrlBuf, RelPathBuf)>> {
    let shown = wc.abspath(relpath);
    let base = wc.db().base(anchor)?.filter(|row| row.presence.is_there());
    let location = base.and_then(|row| Some((row.repos_id?, row.repos_path?)));
    if location.is_none() {
        ctx.notify_path(&shown, Action::UpdateSkipWorkingOnly, None);
        return Ok(None);
    }
    if has_conflict(wc, relpath)? {
        ctx.notify_path(&shown, Action::SkipConflicted, None);
        return Ok(None);
    }
    let Some((repos_id, repos_path)) = location else { return Ok(None) };
    Ok(Some((repos_id, wc.db().repository(repos_id)?.root, repos_path)))
}

/// Updates what is below a locked anchor. With a `summary`, its begin is reported; the caller reports its end.
pub(crate) fn update_locked(
    ctx: &Context,
    wc: &WorkingCopy,
    relpath: &RelPath,
    anchor: &RelPath,
    how: &Update,
    summary: bool,
    session: &mut SharedSessionSlot,
) -> SvnResult<BroughtTree> {
    let depth = how.depth;
    let sticky = how.depth_is_sticky && depth != Depth::Unknown;
    let shown = wc.abspath(relpath);
    let found = wc.db().questions(|| location_to_update(ctx, wc, relpath, anchor))?;
    let Some((repos_id, root, repos_path)) = found else { return Ok(BroughtTree::default()) };
    let anchor_url = root.join(&repos_path);
    let notify = |value: &Notify<'_>| ctx.notify(value);
    let cropping = sticky && depth < Depth::Infinity;
    if cropping && depth == Depth::Exclude {
        wc.exclude(relpath, Some(&notify), ctx.cancel())?;
        if how.ignore_externals {
            return Ok(BroughtTree::default());
        }
        ensure_session(ctx, session, &anchor_url)?;
        return Ok(BroughtTree { reached: None, externals_of: Some(root) });
    }
    if cropping && is_present_dir(wc, relpath)? {
        wc.crop(relpath, depth, Some(&notify), ctx.cancel())?;
    }
    let clean_checkout = is_empty(&shown, relpath == anchor);
    if summary {
        ctx.notify_path(&shown, Action::UpdateStarted, None);
    }
    let open = ensure_session(ctx, session, &anchor_url)?;
    let (root, anchor_url) = follow(ctx, wc, (root, anchor_url), open, how)?;
    check_uuid(wc, repos_id, open)?;
    let revision = wanted_revision(ctx, &shown, open, how.revision)?;
    let inherited = inherited_props(wc, relpath, depth, open, revision)?;
    let wanted = WantedTree { relpath, anchor, anchor_url: &anchor_url, depth, sticky, revision };
    let edit = EditOptions {
        switch_to: None,
        allow_obstructions: how.allow_obstructions,
        adds_as_modification: how.adds_as_modification,
        clean_checkout,
        inherited,
    };
    let kind = ReportKind::Update { send_copyfrom: false, ignore_ancestry: false };
    let reached = wanted.bring(ctx, wc, open, kind, edit)?;
    let recursive = matches!(depth, Depth::Infinity | Depth::Unknown);
    let with_externals = (recursive || cropping) && !how.ignore_externals;
    Ok(BroughtTree { reached: Some(reached), externals_of: with_externals.then_some(root) })
}

/// Whether a text or property conflict of the target itself keeps it from being updated.
fn has_conflict(wc: &WorkingCopy, relpath: &RelPath) -> SvnResult<bool> {
    let Some(actual) = wc.db().actual(relpath)? else { return Ok(false) };
    let Some(bytes) = actual.conflict_data else { return Ok(false) };
    Ok(wc.is_still_conflicted(&Conflict::parse(&bytes)?))
}

/// Whether a directory has nothing in it (but the administrative folder).
fn is_empty(dir: &Path, is_root: bool) -> bool {
    match fs::read_dir(dir) {
        Ok(entries) => entries
            .filter_map(Result::ok)
            .all(|entry| is_root && entry.file_name() == sapwood_wc::layout::ADM),
        Err(e) => e.kind() == std::io::ErrorKind::NotFound,
    }
}
