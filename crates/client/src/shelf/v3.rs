//! Shelves of store `v3`: a version is a working copy of its own, of the youngest revision of the same URL, with the
//! changes in it. Whatever can be committed can be put aside.
//!
//! Where another user changed a node since it was updated, that node of the version is taken back to the revision
//! that the change was made to: the change is shelved, and not what undoes the other one.

use std::collections::HashSet;
use std::rc::Rc;

use sapwood_core::paths::{RelPath, RelPathBuf};
use sapwood_core::{Depth, ErrorCode, NodeKind, SvnError, SvnResult};
use sapwood_wc::WorkingCopy;
use sapwood_wc::commit::Item;
use sapwood_wc::db::FORMAT;
use sapwood_wc::local;
use sapwood_wc::local::RevertOptions;
use sapwood_wc::shelf::{Shelf, Version};
use sapwood_wc::status::{State, Status};

use super::replay::{How, Replay, harvest, not_among};
use super::{Save, SaveResult};
use crate::checkout::{Checkout, Form, checkout_to};
use crate::context::Context;
use crate::externals::update_one;
use crate::revision::Revision;
use crate::shelved::{open, statuses};
use crate::target::Target;
use crate::text_base::{TextNotices, with_text_bases};
use crate::tree::update::Update;

/// Puts changes aside.
pub(super) fn save(
    ctx: &Context,
    shelf: &mut Shelf,
    places: &[RelPathBuf],
    what: &Save<'_>,
) -> SvnResult<SaveResult> {
    let wc = shelf.wc().clone();
    if what.dry_run {
        let items = harvest(ctx, &wc, places, what.depth, what.changelists)?;
        let replay = Replay {
            ctx,
            from_root: RelPath::ROOT,
            to: &wc,
            to_root: RelPath::ROOT,
            how: How::Exact,
            dry_run: true,
        };
        replay.run(&items)?;
        return Ok(SaveResult { shelved: items.len(), ..SaveResult::default() });
    }
    let place = shelf.next_place()?;
    let made = fill(ctx, &wc, &place, places, what);
    let shelved = match made {
        Ok(0) | Err(_) => {
            ctx.forget(&place);
            // The first error says more than a failure of the removal would.
            let _removed = std::fs::remove_dir_all(&place);
            made?
        }
        Ok(count) => count,
    };
    let version = if shelved == 0 { None } else { Some(shelf.complete()?) };
    Ok(SaveResult { version, shelved, refused: 0 })
}

/// Makes the working copy of a new version; how many changes are in it.
fn fill(
    ctx: &Context,
    wc: &WorkingCopy,
    place: &std::path::Path,
    places: &[RelPathBuf],
    what: &Save<'_>,
) -> SvnResult<usize> {
    let source = Target { text: wc.url(RelPath::ROOT)?.into_string(), peg: Revision::Head };
    let how = Checkout {
        revision: Revision::Head,
        depth: Depth::Infinity,
        ignore_externals: true,
        allow_obstructions: false,
        // One that 1.14 knows, whatever the user's own are like.
        form: Form { format: Some(FORMAT), store_pristine: Some(true) },
    };
    checkout_to(ctx, &source, place, &how, &mut None)?;
    let to = ctx.working_copy(place)?.0;
    with_text_bases(ctx, (wc, RelPath::ROOT), TextNotices::Yes, || {
        let items = harvest(ctx, wc, places, what.depth, what.changelists)?;
        check_loss(ctx, wc, &items)?;
        for item in &items {
            same_base(ctx, &to, item)?;
        }
        let lock = to.lock(RelPath::ROOT, -1)?;
        let replay = Replay {
            ctx,
            from_root: RelPath::ROOT,
            to: &to,
            to_root: RelPath::ROOT,
            how: How::Exact,
            dry_run: false,
        };
        replay.run(&items)?;
        lock.release()?;
        Ok(items.len())
    })
}

/// Refuses what would be lost with a folder that was added and is put aside: changes below it that are not.
fn check_loss(ctx: &Context, wc: &WorkingCopy, items: &[Item]) -> SvnResult<()> {
    let shelved: HashSet<RelPathBuf> = items.iter().map(|item| item.relpath.clone()).collect();
    let mut seen: Option<&RelPath> = None;
    for item in items {
        let whole = item.changes.add && item.kind == Some(NodeKind::Dir);
        if !whole || seen.is_some_and(|seen| item.relpath.is_at_or_below(seen)) {
            continue;
        }
        seen = Some(&item.relpath);
        if let Some(other) = not_among(ctx, wc, &item.relpath, &shelved)? {
            let (whole, other) = (item.abspath(), wc.abspath(&other));
            return Err(SvnError::new(
                ErrorCode::ILLEGAL_TARGET,
                format!(
                    "Cannot shelve '{}' without '{}' below it",
                    whole.display(),
                    other.display()
                ),
            ));
        }
    }
    Ok(())
}

/// Takes a node back to the revision that it was changed in, where the youngest has another text or other properties.
fn same_base(ctx: &Context, to: &WorkingCopy, item: &Item) -> SvnResult<()> {
    // Nodes below a copy come with it.
    let Some(revision) = item.revision.filter(|_| !item.changes.add) else { return Ok(()) };
    if !(item.changes.text || item.changes.props) {
        return Ok(());
    }
    let (theirs, ours) = (to.require_view(&item.relpath)?, item.wc.require_view(&item.relpath)?);
    if theirs.top().checksum == ours.top().checksum
        && theirs.pristine_props()? == ours.pristine_props()?
    {
        return Ok(());
    }
    let quiet = ctx.with_notify(Rc::new(|_| {}));
    let update = Update {
        revision: Revision::Number(revision),
        depth: Depth::Empty,
        depth_is_sticky: false,
        ignore_externals: true,
        allow_obstructions: false,
        adds_as_modification: true,
        parents: false,
    };
    update_one(&quiet, &to.abspath(&item.relpath), &update, true, &mut None).map(drop)
}

/// Reverts what was put aside.
pub(super) fn take_out(ctx: &Context, shelf: &Shelf, version: &Version) -> SvnResult<()> {
    let wc = shelf.wc();
    let options = RevertOptions {
        remove_added: true,
        cancel: ctx.cancel().clone(),
        ..RevertOptions::default()
    };
    let quiet: &local::Notifier<'_> = &|_| {};
    let (added, others): (Vec<Status>, Vec<Status>) = statuses(ctx, version, RelPath::ROOT)?
        .into_iter()
        .partition(|status| status.node == State::Added);
    // What was added into a folder goes before the folder itself.
    let order = added.iter().rev().chain(&others);
    with_text_bases(ctx, (wc, RelPath::ROOT), TextNotices::No, || {
        let lock = wc.lock(RelPath::ROOT, -1)?;
        for status in order {
            ctx.check_cancel()?;
            let whole = matches!(status.node, State::Deleted | State::Replaced | State::Added);
            let depth = if whole { Depth::Infinity } else { Depth::Empty };
            match wc.revert(&status.relpath, depth, &options, quiet).map_err(SvnError::from) {
                // Gone with what was above it.
                Err(e) if e.is_no_wc_node() => {}
                other => other?,
            }
        }
        Ok(lock.release()?)
    })
}

/// Brings changes back.
pub(super) fn bring_back(
    ctx: &Context,
    shelf: &Shelf,
    version: &Version,
    dry_run: bool,
) -> SvnResult<bool> {
    let from = open(ctx, version)?;
    copy_changes(ctx, (&from, RelPath::ROOT), (shelf.wc(), RelPath::ROOT), dry_run)
}

/// Does in one working copy what was done in another.
pub(super) fn copy_changes(
    ctx: &Context,
    (from, from_root): (&WorkingCopy, &RelPath),
    (to, to_root): (&WorkingCopy, &RelPath),
    dry_run: bool,
) -> SvnResult<bool> {
    let uuid = |wc: &WorkingCopy, relpath| -> SvnResult<String> {
        let (id, _) = wc.repos_location(relpath)?;
        Ok(wc.db().repository(id)?.uuid)
    };
    if uuid(from, from_root)? != uuid(to, to_root)? {
        let message = format!(
            "'{}' and '{}' are not of the same repository",
            from.root().display(),
            to.root().display()
        );
        return Err(SvnError::new(ErrorCode::ILLEGAL_TARGET, message));
    }
    with_text_bases(ctx, (from, from_root), TextNotices::No, || {
        let places = [from_root.to_owned()];
        let items = harvest(ctx, from, &places, Depth::Infinity, &[])?;
        let lock = if dry_run { None } else { Some(to.lock(to_root, -1)?) };
        let replay = Replay { ctx, from_root, to, to_root, how: How::Merge, dry_run };
        let conflicts = replay.run(&items)?;
        if let Some(lock) = lock {
            lock.release()?;
        }
        Ok(conflicts)
    })
}
