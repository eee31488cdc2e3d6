//! Externals are checkouts, updates and switches, which have externals: all that calls itself in that is in this file.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use sapwood_core::notify::Action;
use sapwood_core::paths::{RelPath, RelPathBuf, Url, UrlBuf};
use sapwood_core::props::names;
use sapwood_core::{Depth, ErrorCode, NodeKind, Revnum, SvnError, SvnResult, path};
use sapwood_ra::Session;
use sapwood_wc::WorkingCopy;
use sapwood_wc::db::{ExternalRow, Kind, Presence};
use sapwood_wc::externals::parse::{External, Revision as Spec};

use super::definition::{check_place, items, revisions, wrap};
use super::file::bring_file;
use super::removal::{inner_root, relegate, remove};
use super::target::{ExternalTarget, register};
use crate::context::Context;
use crate::open::move_to_target;
use crate::relocate::relocate;
use crate::revision::Revision;
use crate::target::Target;
use crate::text_base::{TextNotices, with_text_bases};
use crate::tree::create::{Area, Checkout, Form, prepare};
use crate::tree::switch::{Existence, Switch, switch_locked};
use crate::tree::update::{Update, update_locked};
use crate::tree::{BroughtTree, SharedSessionSlot, ensure_session, lock_anchor};

/// Updates one path, with its externals.
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
        if let Some(revision) = reached.reached {
            how.revision = Revision::Number(revision);
        }
        anchor = relpath;
    }
    let result = with_text_bases(ctx, (&wc, &relpath), TextNotices::Yes, || {
        let done = update_locked(ctx, &wc, &relpath, &anchor, &how, true, session)?;
        finish(ctx, &wc, (&relpath, how.depth), &relpath, done, session)
    });
    lock.release().map_err(SvnError::from).and(result)
}

pub(crate) fn switch_at(
    ctx: &Context,
    abspath: &Path,
    to: &Target,
    how: &Switch,
    existence: Existence,
) -> SvnResult<Option<Revnum>> {
    let (wc, relpath) = ctx.working_copy(abspath)?;
    let (lock, anchor) = lock_anchor(&wc, &relpath, true)?;
    let result = with_text_bases(ctx, (&wc, &relpath), TextNotices::Yes, || {
        let located = (to, existence);
        let (done, session) = switch_locked(ctx, &wc, &relpath, &anchor, located, how)?;
        finish(ctx, &wc, (&relpath, how.depth), &anchor, done, &mut Some(session))
    });
    lock.release().map_err(SvnError::from).and(result)
}

/// Checks the directory at the URL of the open session out, with its externals.
pub(crate) fn checkout_dir(
    ctx: &Context,
    revision: Revnum,
    abspath: &Path,
    how: &Checkout,
    session: &mut SharedSessionSlot,
) -> SvnResult<Option<Revnum>> {
    let open = session.as_deref().ok_or_else(|| SvnError::internal("no session is open"))?;
    let url = open.url();
    let (root, uuid) = (open.root_url(), open.uuid());
    let place = url.relpath(&root)?;
    prepare(
        ctx,
        abspath,
        &Area { root: &root, uuid: &uuid, place: &place, url: &url, revision },
        how,
    )?;
    let update = Update {
        revision: Revision::Number(revision),
        depth: how.depth,
        depth_is_sticky: true,
        ignore_externals: how.ignore_externals,
        allow_obstructions: how.allow_obstructions,
        adds_as_modification: true,
        parents: false,
    };
    update_one(ctx, abspath, &update, true, session)
}

/// Brings the externals of a tree that was brought, and reports that all is done, of a path.
fn finish(
    ctx: &Context,
    wc: &WorkingCopy,
    (relpath, depth): (&RelPath, Depth),
    completed: &RelPath,
    done: BroughtTree,
    session: &mut SharedSessionSlot,
) -> SvnResult<Option<Revnum>> {
    if let Some(root) = &done.externals_of {
        handle(ctx, wc, relpath, depth, root, session)?;
    }
    if let Some(reached) = done.reached {
        ctx.notify_path(&wc.abspath(completed), Action::UpdateCompleted, Some(reached));
    }
    Ok(done.reached)
}

/// Brings the externals that are defined at and below a target to what the properties say.
pub(crate) fn handle(
    ctx: &Context,
    wc: &WorkingCopy,
    relpath: &RelPath,
    depth: Depth,
    root: &Url,
    session: &mut SharedSessionSlot,
) -> SvnResult<()> {
    let mut old: BTreeMap<RelPathBuf, ExternalRow> = BTreeMap::new();
    let (rows, definitions) = wc.db().questions(|| {
        let rows = wc.db().externals(RelPath::ROOT)?;
        Ok::<_, SvnError>((rows, wc.externals_definitions(relpath, depth)?))
    })?;
    for row in rows {
        if path::is_ancestor(relpath, &row.def_relpath) {
            old.insert(row.relpath.clone(), row);
        }
    }
    let shallow = depth != Depth::Infinity && depth != Depth::Unknown;
    for (owner, ambient, value) in definitions {
        ctx.check_cancel()?;
        if shallow || (ambient < Depth::Infinity && depth < Depth::Infinity) {
            continue;
        }
        let shown = wc.abspath(&owner);
        let items = items(&value, &shown)?;
        for item in items {
            let place = ExternalTarget {
                root,
                owner: &owner,
                owner_url: &wc.url(&owner)?,
                relpath: owner.join(RelPath::new(&item.target)?),
            };
            let known = old.remove(&place.relpath).is_some();
            let done = bring(ctx, wc, &place, &item, known, session);
            wrap(ctx, &wc.abspath(&place.relpath), done)?;
        }
    }
    for row in old.into_values() {
        let at = wc.abspath(&row.relpath);
        let done = remove(ctx, wc, &row);
        wrap(ctx, &at, done)?;
        // Directories that were made for it go, if nothing else is in them.
        let mut parent = row.relpath.parent().to_owned();
        while !parent.is_empty() && parent != row.def_relpath && wc.db().top(&parent)?.is_none() {
            if fs::remove_dir(wc.abspath(&parent)).is_err() {
                break;
            }
            parent = parent.parent().to_owned();
        }
    }
    Ok(())
}

/// Moves a session, which is at the URL of an external, to what the external names: the revision, and what is there.
fn find(
    session: &dyn Session,
    url: String,
    item: &External,
) -> SvnResult<(Revnum, Option<NodeKind>)> {
    if (item.peg, item.revision) == (Spec::Head, Spec::Head) {
        return session.kind_at_head(RelPath::ROOT);
    }
    let (peg, wanted) = revisions(item);
    let (revision, _) = move_to_target(session, &Target { text: url, peg }, wanted)?;
    Ok((revision, session.check_path(RelPath::ROOT, Some(revision))?))
}

/// Brings one external.
fn bring(
    ctx: &Context,
    wc: &WorkingCopy,
    place: &ExternalTarget<'_>,
    item: &External,
    known: bool,
    session: &mut SharedSessionSlot,
) -> SvnResult<()> {
    check_place(&wc.abspath(place.owner), &item.target, known)?;
    let url = item.resolve(place.root, place.owner_url)?;
    let open = ensure_session(ctx, session, &url)?;
    let (revision, kind) = find(open, url.into_string(), item)?;
    let at = wc.abspath(&place.relpath);
    let url = open.url();
    let Some(kind) = kind else {
        let message = format!("URL '{url}' at revision {revision} doesn't exist");
        return Err(SvnError::new(ErrorCode::RA_ILLEGAL_URL, message));
    };
    ctx.notify_path(&at, Action::UpdateExternal, None);
    if !known && let Some(parent) = at.parent() {
        fs::create_dir_all(parent).map_err(|e| {
            SvnError::io(&e, format!("Can't create directory '{}'", parent.display()))
        })?;
    }
    match kind {
        NodeKind::Dir => {
            let found = FoundDir { root: open.root_url(), uuid: open.uuid(), url, revision };
            bring_dir(ctx, wc, place, item, &found, session)?;
            register(wc, place, item, Kind::Dir, (&found.root, &found.uuid), &found.url)
        }
        NodeKind::File => bring_file(ctx, wc, place, item, open, revision),
    }
}

/// The directory that an external names.
struct FoundDir {
    url: UrlBuf,
    revision: Revnum,
    /// Its repository.
    root: UrlBuf,
    uuid: String,
}

/// E155035 when a versioned node is where a directory external is to be.
fn check_unversioned(
    wc: &WorkingCopy,
    place: &ExternalTarget<'_>,
    item: &External,
) -> SvnResult<()> {
    let at = wc.abspath(&place.relpath);
    let top = wc.db().top(&place.relpath)?;
    let is_versioned =
        top.is_some_and(|row| row.presence.is_there() || row.presence == Presence::BaseDeleted);
    if !is_versioned {
        return Ok(());
    }
    // An external that was replaced by a node added here is no longer an external.
    if wc.db().base(&place.relpath)?.is_none() && at.is_dir() {
        wc.db().remove_external(&place.relpath)?;
    }
    let (owner, shown) = (wc.abspath(place.owner), at.display());
    let message = format!(
        "The external '{}' defined in {} at '{}' cannot be checked out because '{shown}' is \
         already a versioned path.",
        item.url,
        names::EXTERNALS,
        owner.display()
    );
    Err(SvnError::new(ErrorCode::WC_PATH_UNEXPECTED_STATUS, message))
}

fn bring_dir(
    ctx: &Context,
    wc: &WorkingCopy,
    place: &ExternalTarget<'_>,
    item: &External,
    found: &FoundDir,
    session: &mut SharedSessionSlot,
) -> SvnResult<()> {
    let at = wc.abspath(&place.relpath);
    let (url, revision) = (&found.url, found.revision);
    check_unversioned(wc, place, item)?;
    let fixed = Revision::Number(revision);
    let endless = ctx.nesting.check(url, fixed);
    let _inside = ctx.nesting.enter(url, fixed);
    if let Some(inner) = inner_root(ctx, &at) {
        let own = inner.url(RelPath::ROOT)?;
        if own == *url {
            let how = Update {
                revision: Revision::Number(revision),
                allow_obstructions: false,
                adds_as_modification: true,
                ..Update::default()
            };
            return update_one(ctx, &at, &how, false, session).map(drop);
        }
        let (id, _) = inner.repos_location(RelPath::ROOT)?;
        let inner_repos = inner.db().repository(id)?.root;
        let same = url.below(&inner_repos).is_some();
        // These open sessions of their own.
        drop(session.take());
        if same || has_moved(ctx, &at, &inner_repos, &found.root)? {
            let to = Target { text: url.to_string(), peg: Revision::Number(revision) };
            let how = Switch {
                revision: Revision::Number(revision),
                depth: Depth::Infinity,
                depth_is_sticky: true,
                ignore_externals: false,
                allow_obstructions: false,
                ignore_ancestry: true,
            };
            return switch_at(ctx, &at, &to, &how, Existence::Known).map(drop);
        }
        relegate(ctx, &inner)?;
    } else if at.is_dir() {
        let message = format!("Can't obtain lock on non-directory '{}'.", at.display());
        return Err(SvnError::new(ErrorCode::WC_NOT_WORKING_COPY, message));
    }
    endless?;
    // What keeps no text bases has externals that keep none.
    let settings = wc.db().settings();
    let how = Checkout {
        revision: Revision::Number(revision),
        depth: Depth::Infinity,
        ignore_externals: false,
        allow_obstructions: false,
        form: Form { format: Some(settings.format), store_pristine: Some(settings.store_pristine) },
    };
    ensure_session(ctx, session, url)?;
    checkout_dir(ctx, revision, &at, &how, session).map(drop)
}

/// Whether an external's working copy is of the same repository at another URL: it is relocated to the
/// new one.
fn has_moved(ctx: &Context, at: &Path, from: &str, to: &str) -> SvnResult<bool> {
    match relocate(ctx, &at.to_string_lossy(), from, to, false) {
        Ok(()) => Ok(true),
        Err(error)
            if matches!(
                error.code(),
                ErrorCode::WC_INVALID_RELOCATION | ErrorCode::CLIENT_INVALID_RELOCATION
            ) =>
        {
            Ok(false)
        }
        Err(error) => Err(error),
    }
}
