//! `svn info` of a working copy alone.

use sapwood_core::paths::{RelPath, RelPathBuf};
use sapwood_core::{Depth, ErrorCode, Revnum, SvnError, SvnResult, path};
use sapwood_ra::Lock;
use sapwood_wc::WorkingCopy;
use sapwood_wc::db::{Kind, NodeRow, Presence};
use sapwood_wc::node::prefix;
use sapwood_wc::view::{Status, View};

use crate::conflict_info::ConflictInfo;
use crate::context::Context;
use crate::info::{Info, Receiver, Schedule, WorkingInfo};

/// How many nodes are read under one lock of wc.db.
const BATCH: usize = 256;

/// Reports what the working copy knows of a local path and what is below it, and tree conflicts
/// on paths without a node. With changelists, only the nodes in one of them.
///
/// # Errors
/// E155007 and E155010 for what is not under version control; those of `receiver`.
pub fn info(
    ctx: &Context,
    target: &str,
    depth: Depth,
    changelists: &[String],
    receiver: Receiver<'_>,
) -> SvnResult<()> {
    let abspath = ctx.absolute(target);
    let (wc, relpath) = ctx.working_copy(&abspath)?;
    let mut waiting: Vec<(String, Info)> = Vec::new();
    let found = wc.db().questions(|| {
        info_at(ctx, &wc, &abspath, &relpath, depth, changelists, &mut |path, info| {
            waiting.push((path.to_owned(), info.clone()));
            if waiting.len() < BATCH {
                return Ok(());
            }
            wc.db().released(|| pass_on(&mut waiting, receiver))
        })
    });
    found.and(pass_on(&mut waiting, receiver))
}

/// Passes on what was found. The receiver may wait, as a pager does: wc.db must not be locked meanwhile.
fn pass_on(waiting: &mut Vec<(String, Info)>, receiver: Receiver<'_>) -> SvnResult<()> {
    waiting.drain(..).try_for_each(|(path, info)| receiver(&path, &info))
}

fn info_at(
    ctx: &Context,
    wc: &WorkingCopy,
    abspath: &std::path::Path,
    relpath: &RelPath,
    depth: Depth,
    changelists: &[String],
    receiver: Receiver<'_>,
) -> SvnResult<()> {
    let not_found = || sapwood_wc::Error::NodeNotFound(abspath.to_owned());
    let view = wc.view(relpath)?;
    let only_conflict = wc.db().actual(relpath)?.is_some_and(|a| a.conflict_data.is_some());
    let hidden = |view: &View| matches!(view.status(), Status::NotPresent | Status::ServerExcluded);
    match view.filter(|view| !hidden(view)) {
        Some(view) => {
            one(ctx, wc, &view, depth, changelists, receiver)?;
            let present =
                matches!(view.status(), Status::Normal | Status::Incomplete | Status::Added);
            if present && view.top().kind == Kind::Unknown {
                let shown = wc.abspath(view.relpath());
                let message = format!("'{}' has an unrecognized node kind", shown.display());
                return Err(SvnError::new(ErrorCode::NODE_UNKNOWN_KIND, message));
            }
            if depth <= Depth::Empty || !changelists.is_empty() {
                return Ok(());
            }
            // Then what is nothing but a tree conflict.
            for actual in wc.db().actual_subtree(relpath)? {
                let below = path::rest_below(relpath, &actual.relpath)?;
                let too_deep = depth != Depth::Infinity && below.contains('/');
                if actual.conflict_data.is_none() || below.is_empty() || too_deep {
                    continue;
                }
                if wc.view(&actual.relpath)?.is_none_or(|view| hidden(&view)) {
                    victim(wc, &actual.relpath, receiver)?;
                }
            }
            Ok(())
        }
        None if only_conflict => victim(wc, relpath, receiver),
        None => Err(not_found().into()),
    }
}

/// Reports a path without a node that is in a tree conflict.
fn victim(wc: &WorkingCopy, relpath: &RelPath, receiver: Receiver<'_>) -> SvnResult<()> {
    let conflicts = ConflictInfo::of(wc, relpath, None)?;
    let (id, _) = wc.repos_location(relpath.parent())?;
    let repository = wc.db().repository(id)?;
    let info = Info {
        is_missing: true,
        root_url: Some(repository.root),
        uuid: Some(repository.uuid),
        // 1.14 does not report the working copy's root for unversioned paths.
        working: Some(WorkingInfo { conflicts, ..WorkingInfo::default() }),
        ..Info::default()
    };
    receiver(&wc.abspath(relpath).to_string_lossy(), &info)
}

fn one(
    ctx: &Context,
    wc: &WorkingCopy,
    view: &View,
    depth: Depth,
    changelists: &[String],
    receiver: Receiver<'_>,
) -> SvnResult<()> {
    ctx.check_cancel()?;
    let on_list = |name: &str| changelists.iter().any(|list| list == name);
    if changelists.is_empty() || view.changelist().is_some_and(on_list) {
        let path = wc.abspath(view.relpath());
        receiver(&path.to_string_lossy(), &info_of(wc, view)?)?;
    }
    if depth <= Depth::Empty || !view.is_dir() || view.status() == Status::Excluded {
        return Ok(());
    }
    let below = if depth == Depth::Infinity { depth } else { Depth::Empty };
    for child in wc.children(view.relpath())? {
        let hidden = matches!(child.status(), Status::NotPresent | Status::ServerExcluded);
        let left_out = hidden || (depth == Depth::Files && child.is_dir());
        if !left_out {
            one(ctx, wc, &child, below, changelists, receiver)?;
        }
    }
    Ok(())
}

/// The information about one node.
fn info_of(wc: &WorkingCopy, view: &View) -> SvnResult<Info> {
    let relpath = view.relpath();
    let top = view.top();
    let shown: &NodeRow = match view.status() {
        Status::Deleted => view.pristine_row().unwrap_or(top),
        _ => top,
    };
    let deleted = deleted_from(wc, view, shown)?;
    let (id, repos_path) = match &deleted {
        Some(place) => (place.repos_id, place.repos_path.clone()),
        None => wc.repos_location(relpath)?,
    };
    let repository = wc.db().repository(id)?;
    // A copy may lack what its source has: nothing more is known than that.
    let unknown = view.status() == Status::Deleted && shown.presence == Presence::NotPresent;
    let mut working = WorkingInfo {
        root: wc.root().to_string_lossy().into_owned(),
        settings: wc.db().settings(),
        schedule: schedule_of(view),
        depth: match view.status() {
            Status::Excluded => Some(Depth::Exclude),
            _ if unknown => Some(Depth::Exclude),
            _ if top.kind == Kind::Dir => Some(shown.depth.unwrap_or(Depth::Unknown)),
            _ => None,
        },
        text_time: top.last_mod_time.map(sapwood_core::date::Timestamp),
        checksum: shown.checksum,
        changelist: view.changelist().map(str::to_owned),
        conflicts: ConflictInfo::of(wc, relpath, view.kind())?,
        ..WorkingInfo::default()
    };
    // A node that was deleted from a copy has no revision of its own.
    let in_copy = view.status() == Status::Deleted && shown.op_depth > 0;
    let revision = shown.revision.filter(|_| !in_copy);
    let mut revision = deleted.map_or(revision, |place| place.revision);
    if view.status() == Status::Added {
        revision = add_origin(wc, view, &mut working)?;
    }
    if view.status() == Status::Deleted {
        working.moved_to = wc.moved_to(view)?.map(|(to, _)| absolute(wc, to));
    }
    Ok(Info {
        url: Some(repository.root.join(&repos_path)),
        revision,
        kind: view.kind().filter(|_| !unknown),
        root_url: Some(repository.root),
        uuid: Some(repository.uuid),
        changed_revision: shown.changed_revision,
        changed_date: shown.changed_date,
        changed_author: shown.changed_author.clone(),
        lock: lock_of(wc, view)?,
        working: Some(working),
        ..Info::default()
    })
}

fn absolute(wc: &WorkingCopy, relpath: RelPathBuf) -> String {
    wc.abspath(&relpath).to_string_lossy().into_owned()
}

/// Adds where an added node was copied or moved from; the revision is returned.
fn add_origin(
    wc: &WorkingCopy,
    view: &View,
    working: &mut WorkingInfo,
) -> SvnResult<Option<Revnum>> {
    let origin = wc.origin(view)?;
    let revision = origin.as_ref().map(|origin| origin.revision);
    if view.is_op_root() {
        if let Some(origin) = origin {
            let root = wc.db().repository(origin.repos_id)?.root;
            working.copied_from = Some((root.join(&origin.repos_path), origin.revision));
        }
        working.moved_from = wc.moved_from(view)?.map(|(from, _)| absolute(wc, from));
    }
    Ok(revision)
}

/// Where a node was that is deleted from BASE: as the reference has it, where it is below the root of
/// the deletion, and of the revision of that, even if BASE has the node itself from another place.
struct DeletedFrom {
    repos_id: i64,
    repos_path: RelPathBuf,
    revision: Option<Revnum>,
}

fn deleted_from(wc: &WorkingCopy, view: &View, shown: &NodeRow) -> SvnResult<Option<DeletedFrom>> {
    if view.status() != Status::Deleted || shown.op_depth > 0 {
        return Ok(None);
    }
    let root = prefix(view.relpath(), view.top().op_depth);
    let at_root = wc.view(root)?;
    let place = at_root
        .as_ref()
        .and_then(View::base)
        .and_then(|base| Some((base.repos_id?, base.repos_path.as_deref()?, base.revision)));
    let Some((repos_id, above, revision)) = place else {
        return Err(sapwood_wc::Error::NodeNotFound(wc.abspath(root)).into());
    };
    let repos_path = above.join(view.relpath().rest_below(root)?);
    Ok(Some(DeletedFrom { repos_id, repos_path, revision }))
}

fn schedule_of(view: &View) -> Schedule {
    match view.status() {
        Status::Deleted => Schedule::Delete,
        Status::Added if view.is_op_root() => {
            let below = view.below().map(sapwood_wc::view::status_of);
            match below {
                None | Some(Status::NotPresent | Status::Deleted) => Schedule::Add,
                Some(_) => Schedule::Replace,
            }
        }
        _ => Schedule::Normal,
    }
}

fn lock_of(wc: &WorkingCopy, view: &View) -> SvnResult<Option<Lock>> {
    let Some(base) = view.base() else { return Ok(None) };
    Ok(wc.lock_of(base)?.map(|row| Lock {
        path: base.repos_path.clone().unwrap_or_default().to_fspath(),
        token: row.token,
        owner: row.owner.unwrap_or_default(),
        comment: row.comment,
        created: row.date.map_or(0, |date| date.0),
        expires: None,
        is_dav_comment: false,
    }))
}
