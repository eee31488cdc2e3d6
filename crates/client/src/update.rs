//! `svn update`: brings working copies to a revision.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use sapwood_core::notify::{Action, Notify};
use sapwood_core::paths::{RelPath, RelPathBuf, Url, UrlBuf};
use sapwood_core::{Depth, ErrorCode, NodeKind, Revnum, SvnError, SvnResult};
use sapwood_ra::{DirentFields, ReportKind, ReportRequest, Session};
use sapwood_wc::WorkingCopy;
use sapwood_wc::conflict::Conflict;
use sapwood_wc::db::{InheritedProps, Kind, Presence};
use sapwood_wc::locks::Lock;
use sapwood_wc::report::Crawl;
use sapwood_wc::update::{Params, UpdateEditor};

use crate::context::Context;
use crate::open::number_of;
use crate::relocate::relocate;
use crate::revision::Revision;
use crate::text_base::{TextNotices, with_text_bases};
use crate::{externals, working};

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

/// A session that the targets of one operation share.
pub(crate) type SharedSessionSlot = Option<Box<dyn Session>>;

/// Updates paths. Returns the revision that each came to; `None` where it was skipped.
///
/// # Errors
/// E155007 when none of the paths is in a working copy.
pub fn update(ctx: &Context, paths: &[&str], how: &Update) -> SvnResult<Vec<Option<Revnum>>> {
    let mut reached = Vec::new();
    let mut found = false;
    let mut changed = false;
    for target in paths {
        ctx.check_cancel()?;
        let abspath = ctx.absolute(target);
        let mut session = None;
        match update_one(ctx, &abspath, how, true, &mut session) {
            Ok(revision) => {
                found = true;
                changed |= revision.is_some();
                reached.push(revision);
            }
            Err(error) if error.is_no_working_copy() => {
                reached.push(None);
                ctx.notify(&Notify::new(Action::Skip, &abspath.to_string_lossy()));
            }
            Err(error) => {
                wait_for_clock(ctx);
                return Err(error);
            }
        }
    }
    if changed {
        wait_for_clock(ctx);
    }
    if !found {
        return Err(SvnError::new(
            ErrorCode::WC_NOT_WORKING_COPY,
            "None of the targets are working copies",
        ));
    }
    Ok(reached)
}

/// Waits until files that are changed from now on get other times than those that were recorded.
pub(crate) fn wait_for_clock(ctx: &Context) {
    if ctx.wc.wait_for_tick {
        ctx.wc.recorded.wait();
    }
}

/// Locks what an update or switch of a target needs: its parent, where the report starts, or for roots
/// and switched directories the target itself. Returns the anchor.
pub(crate) fn lock_anchor(
    wc: &WorkingCopy,
    relpath: &RelPath,
    with_parent: bool,
) -> SvnResult<(Lock, RelPathBuf)> {
    let base = wc.db().base(relpath)?;
    let there = base.as_ref().is_some_and(|row| row.presence.is_there());
    let is_dir = base.as_ref().is_some_and(|row| row.kind == Kind::Dir);
    let alone =
        relpath.is_empty() || (there && is_dir && (!with_parent || wc.is_switched(relpath)?));
    let anchor = if alone { relpath } else { relpath.parent() };
    let known = wc
        .db()
        .top(anchor)?
        .is_some_and(|row| row.presence.is_there() || row.presence == Presence::BaseDeleted);
    if !anchor.is_empty() && !known {
        let shown = wc.abspath(anchor);
        return Err(SvnError::new(
            ErrorCode::WC_NOT_WORKING_COPY,
            format!("'{}' is not a working copy", shown.display()),
        ));
    }
    Ok((wc.lock(anchor, -1)?, anchor.to_owned()))
}

/// Updates one path.
pub(crate) fn update_one(
    ctx: &Context,
    abspath: &Path,
    how: &Update,
    with_parent: bool,
    session: &mut SharedSessionSlot,
) -> SvnResult<Option<Revnum>> {
    let mut how = *how;
    let mut missing: Vec<PathBuf> = Vec::new();
    let (wc, relpath, (lock, mut anchor)) = loop {
        let at = missing.last().map_or(abspath, PathBuf::as_path);
        let found = ctx
            .working_copy(at)
            .and_then(|(wc, rel)| lock_anchor(&wc, &rel, with_parent).map(|l| (wc, rel, l)));
        match found {
            Ok((wc, _, lock)) => {
                let relpath = wc.relpath(abspath)?;
                break (wc, relpath, lock);
            }
            Err(error) if how.parents && error.is_no_working_copy() && at.parent().is_some() => {
                missing.push(at.parent().unwrap_or(at).to_owned());
            }
            Err(error) => return Err(error),
        }
    };
    for parent in missing.iter().rev() {
        let relpath = wc.relpath(parent)?;
        let quiet = Update { depth: Depth::Empty, depth_is_sticky: false, parents: false, ..how };
        let reached = update_locked(ctx, &wc, &relpath, &anchor, &quiet, false, session)?;
        if let Some(revision) = reached {
            how.revision = Revision::Number(revision);
        }
        anchor = relpath;
    }
    let result = with_text_bases(ctx, (&wc, &relpath), TextNotices::Yes, || {
        update_locked(ctx, &wc, &relpath, &anchor, &how, true, session)
    });
    lock.release().map_err(SvnError::from).and(result)
}

/// A value about a path with nothing but an action.
pub(crate) fn notify_path(ctx: &Context, path: &Path, action: Action, revision: Option<Revnum>) {
    let path = path.to_string_lossy();
    ctx.notify(&Notify { revision, ..Notify::new(action, &path) });
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

/// What of a working copy an update or a switch brings to a revision.
pub(crate) struct WantedTree<'t> {
    pub(crate) relpath: &'t RelPath,
    /// Its name below the anchor; empty for the anchor itself.
    pub(crate) target: &'t RelPath,
    pub(crate) depth: Depth,
    /// Whether the depth becomes that of the working copy.
    pub(crate) sticky: bool,
    pub(crate) revision: Revnum,
}

impl WantedTree<'_> {
    /// Reports what the working copy has, and has the editor take the changes.
    pub(crate) fn bring(
        &self,
        wc: &WorkingCopy,
        session: &dyn Session,
        kind: ReportKind<'_>,
        notify: Option<&dyn Fn(&Notify<'_>)>,
        editor: &mut UpdateEditor<'_>,
    ) -> SvnResult<()> {
        let request = ReportRequest {
            revision: Some(self.revision),
            target: self.target,
            depth: if self.sticky { self.depth } else { Depth::Unknown },
            kind,
        };
        let crawl = Crawl {
            target: self.relpath,
            depth: self.depth,
            honor_depth_exclude: !self.sticky,
            restore: true,
            notify,
        };
        drive(wc, session, &request, &crawl, editor)
    }
}

/// Repository and path of the anchor of an update. `None`, which is reported, where there is nothing to update, or a conflict.
fn location_to_update(
    ctx: &Context,
    wc: &WorkingCopy,
    relpath: &RelPath,
    anchor: &RelPath,
) -> SvnResult<Option<(i64, RelPathBuf)>> {
    let shown = wc.abspath(relpath);
    let base = wc.db().base(anchor)?.filter(|row| row.presence.is_there());
    let location = base.and_then(|row| Some((row.repos_id?, row.repos_path?)));
    if location.is_none() {
        notify_path(ctx, &shown, Action::UpdateSkipWorkingOnly, None);
        return Ok(None);
    }
    if has_conflict(wc, relpath)? {
        notify_path(ctx, &shown, Action::SkipConflicted, None);
        return Ok(None);
    }
    Ok(location)
}

fn update_locked(
    ctx: &Context,
    wc: &WorkingCopy,
    relpath: &RelPath,
    anchor: &RelPath,
    how: &Update,
    summary: bool,
    session: &mut SharedSessionSlot,
) -> SvnResult<Option<Revnum>> {
    let depth = how.depth;
    let sticky = how.depth_is_sticky && depth != Depth::Unknown;
    let target = if relpath == anchor { RelPath::ROOT } else { RelPath::new(relpath.name())? };
    let shown = wc.abspath(relpath);
    let Some((repos_id, repos_path)) = location_to_update(ctx, wc, relpath, anchor)? else {
        return Ok(None);
    };
    let root = wc.db().repository(repos_id)?.root;
    let anchor_url = root.join(&repos_path);
    let notify = |value: &Notify<'_>| ctx.notify(value);
    let cropping = sticky && depth < Depth::Infinity;
    if cropping && depth == Depth::Exclude {
        wc.exclude(relpath, Some(&notify), ctx.cancel())?;
        if !how.ignore_externals {
            ensure_session(ctx, session, &anchor_url)?;
            externals::handle(ctx, wc, relpath, depth, &root, session)?;
        }
        return Ok(None);
    }
    if cropping && is_present_dir(wc, relpath)? {
        wc.crop(relpath, depth, Some(&notify), ctx.cancel())?;
    }
    let clean_checkout = is_empty(&shown, relpath == anchor);
    if summary {
        notify_path(ctx, &shown, Action::UpdateStarted, None);
    }
    let open = ensure_session(ctx, session, &anchor_url)?;
    let (root, anchor_url) = follow(ctx, wc, (root, anchor_url), open, how)?;
    check_uuid(wc, repos_id, open)?;
    let revision = wanted_revision(ctx, &shown, open, how.revision)?;
    let inherited = inherited_props(wc, relpath, depth, open, revision)?;
    open.reparent(&anchor_url)?;
    let children = if sticky {
        HashMap::new()
    } else {
        children_of(wc, relpath, depth, None, open, &anchor_url, revision)?
    };
    let mut editor = UpdateEditor::new(
        wc,
        Params {
            anchor: anchor.to_owned(),
            target: target.to_owned(),
            switch_to: None,
            depth,
            depth_is_sticky: sticky,
            allow_obstructions: how.allow_obstructions,
            adds_as_modification: how.adds_as_modification,
            clean_checkout,
            inherited,
            children,
            notify: Some(&notify),
            cancel: ctx.cancel().clone(),
            diff3: ctx.merge_text.as_deref(),
        },
    )?;
    let kind = ReportKind::Update { send_copyfrom: false, ignore_ancestry: false };
    let wanted = WantedTree { relpath, target, depth, sticky, revision };
    wanted.bring(wc, open, kind, Some(&notify), &mut editor)?;
    let reached = editor.revision().unwrap_or(revision);
    drop(editor);
    let recursive = matches!(depth, Depth::Infinity | Depth::Unknown);
    if (recursive || cropping) && !how.ignore_externals {
        externals::handle(ctx, wc, relpath, depth, &root, session)?;
    }
    if summary {
        notify_path(ctx, &shown, Action::UpdateCompleted, Some(reached));
    }
    Ok(Some(reached))
}

/// E170009 when the repository at a URL is not the one that the working copy comes from.
pub(crate) fn check_uuid(wc: &WorkingCopy, repos_id: i64, session: &dyn Session) -> SvnResult<()> {
    let expected = wc.db().repository(repos_id)?.uuid;
    let found = session.uuid();
    if expected == found {
        return Ok(());
    }
    Err(SvnError::new(
        ErrorCode::RA_UUID_MISMATCH,
        format!("Repository UUID '{found}' doesn't match expected UUID '{expected}'"),
    ))
}

/// Reports the working copy's state and has the editor driven.
fn drive(
    wc: &WorkingCopy,
    session: &dyn Session,
    request: &ReportRequest<'_>,
    crawl: &Crawl<'_>,
    editor: &mut UpdateEditor<'_>,
) -> SvnResult<()> {
    let result = (|| {
        let mut report = session.report(request, &mut *editor)?;
        if let Err(error) = wc.report(crawl, report.as_mut()) {
            let _ = report.abort();
            return Err(SvnError::from(error));
        }
        report.finish()
    })();
    if result.is_err() {
        // Complete files are kept, whatever stopped the rest.
        let _ = sapwood_delta::Editor::abort_edit(editor);
    }
    result
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

/// The session, at a URL.
pub(crate) fn ensure_session<'s>(
    ctx: &Context,
    session: &'s mut SharedSessionSlot,
    url: &Url,
) -> SvnResult<&'s dyn Session> {
    let usable = match session.as_ref() {
        Some(open) => match open.reparent(url) {
            Ok(()) => true,
            Err(error) if error.is_no_repository() => false,
            Err(error) => return Err(error),
        },
        None => false,
    };
    if !usable {
        *session = Some(ctx.open_following(url)?);
    }
    session.as_deref().ok_or_else(|| {
        SvnError::new(ErrorCode::ASSERTION_FAIL, "a session was opened and is not there")
    })
}

/// The properties that roots and switched nodes at and below a target inherit in the repository.
pub(crate) fn inherited_props(
    wc: &WorkingCopy,
    relpath: &RelPath,
    depth: Depth,
    session: &dyn Session,
    revision: Revnum,
) -> SvnResult<HashMap<RelPathBuf, InheritedProps>> {
    let mut wanted = wc.with_inherited_props(relpath, depth)?;
    if let Some(base) = wc.db().base(relpath)?.filter(|row| row.presence.is_there())
        && (relpath.is_empty() || wc.is_switched(relpath)?)
        && base.repos_path.as_deref().is_some_and(|path| !path.is_empty())
        && !wanted.contains(&base.relpath)
    {
        wanted.push(base.relpath);
    }
    let mut found = HashMap::new();
    for node in wanted {
        let Some(base) = wc.db().base(&node)? else { continue };
        let (Some(id), Some(path)) = (base.repos_id, base.repos_path) else { continue };
        if path.is_empty() {
            continue;
        }
        session.reparent(&wc.db().repository(id)?.root.join(&path))?;
        match session.inherited_props(RelPath::ROOT, Some(revision)) {
            Ok(list) => drop(found.insert(node, list)),
            Err(error) if error.is_no_node() => {}
            Err(error) => return Err(error),
        }
    }
    Ok(found)
}

/// What directories hold in the repository that an update of less depth than theirs leaves
/// incomplete, by their paths in it.
pub(crate) fn children_of(
    wc: &WorkingCopy,
    relpath: &RelPath,
    depth: Depth,
    switch_to: Option<&RelPath>,
    session: &dyn Session,
    anchor_url: &Url,
    revision: Revnum,
) -> SvnResult<HashMap<RelPathBuf, Vec<(String, NodeKind)>>> {
    let mut found = HashMap::new();
    if !matches!(depth, Depth::Empty | Depth::Files | Depth::Immediates) {
        return Ok(found);
    }
    let Some(base) = wc
        .db()
        .base(relpath)?
        .filter(|row| row.kind == Kind::Dir && row.presence == Presence::Normal)
    else {
        return Ok(found);
    };
    let mut wanted = Vec::new();
    let own = switch_to.map(RelPath::to_owned).or(base.repos_path.clone());
    if base.depth_or_infinity() > depth {
        wanted.extend(own.clone());
    }
    if depth == Depth::Immediates {
        for child in wc.db().children_at(relpath, 0)? {
            let deep = child.kind == Kind::Dir
                && child.presence == Presence::Normal
                && child.depth_or_infinity() > Depth::Empty;
            if deep {
                let place = match switch_to {
                    Some(to) => Some(to.child(child.name())),
                    None => child.repos_path.clone(),
                };
                wanted.extend(place);
            }
        }
    }
    let root = session.root_url();
    let kinds = DirentFields { kind: true, ..DirentFields::default() };
    for place in wanted {
        session.reparent(&root.join(&place))?;
        if session.check_path(RelPath::ROOT, Some(revision))? != Some(NodeKind::Dir) {
            continue;
        }
        let dir = session.get_dir(RelPath::ROOT, Some(revision), Some(kinds), false)?;
        let children = dir.entries.into_iter().filter_map(|(name, d)| Some((name, d.kind?)));
        found.insert(place, children.collect());
    }
    session.reparent(anchor_url)?;
    Ok(found)
}
