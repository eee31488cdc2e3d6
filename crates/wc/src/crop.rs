//! Making a working copy shallower: nodes that the user no longer wants leave it.

use sapwood_core::notify::{Action, Notify};
use sapwood_core::paths::{RelPath, RelPathBuf};
use sapwood_core::{CancelToken, Depth, ErrorCode};

use crate::base::Removal;
use crate::db::{Db, Kind, Paths, Presence, parent_of};
use crate::error::{Error, Result};
use crate::gather::GatheredChanges;
use crate::local::subtree;
use crate::root::{Disk, WorkingCopy};
use crate::status::{Options, State};
use crate::view::{Status, View};

/// Called for each node that is removed.
pub(crate) type Notifier<'a> = Option<&'a dyn Fn(&Notify<'_>)>;

/// As [`WorkingCopy::is_switched`].
pub(crate) fn is_switched(db: &Db, relpath: &RelPath) -> Result<bool> {
    let Some(parent) = parent_of(relpath) else { return Ok(false) };
    let (Some(base), Some(parent)) = (db.base(relpath)?, db.base(parent)?) else {
        return Ok(false);
    };
    let (Some(own), Some(above)) = (&base.repos_path, &parent.repos_path) else {
        return Ok(false);
    };
    let expected = above.child(base.name());
    Ok(base.repos_id != parent.repos_id || *own != expected)
}

/// As [`WorkingCopy::excluded_below`].
pub(crate) fn excluded_below(db: &Db, relpath: &RelPath) -> Result<Vec<RelPathBuf>> {
    let (above, end) = subtree(relpath);
    db.all(
        "SELECT local_relpath FROM nodes WHERE wc_id = ?1 AND local_relpath > ?2 AND \
         local_relpath < ?3 AND op_depth = 0 AND presence IN ('server-excluded', 'excluded') \
         ORDER BY local_relpath",
        rusqlite::params![db.wc_id(), above, end],
        |row| row.relpath(0),
    )
}

/// As [`WorkingCopy::exclude`].
pub(crate) fn exclude(
    wc: &WorkingCopy,
    relpath: &RelPath,
    notify: Notifier<'_>,
    cancel: &CancelToken,
) -> Result<()> {
    let shown = wc.abspath(relpath);
    let shown = shown.display();
    let refuse = |why: &str| {
        let message = format!("Cannot exclude '{shown}': {why}");
        Err(Error::new(ErrorCode::UNSUPPORTED_FEATURE, message))
    };
    if relpath.is_empty() {
        return refuse("it is a working copy root");
    }
    if wc.is_switched(relpath)? {
        return refuse("it is a switched path");
    }
    let view = present(wc.db(), wc.disk(), relpath)?;
    match view.status() {
        Status::Added => {
            return refuse("it is to be added to the repository. Try commit instead");
        }
        Status::Deleted => {
            return refuse("it is to be deleted from the repository. Try commit instead");
        }
        _ => {}
    }
    let depth = view.top().depth_or_infinity();
    if holds_changes(wc, relpath, cancel)? {
        return crop_below(wc, relpath, (depth, Depth::Empty), notify, cancel);
    }
    let how = Removal {
        marker: Some(Presence::Excluded),
        marker_revision: view.top().revision,
        ..Removal::default()
    };
    wc.db().write(|db| db.remove_base(relpath, &how))?;
    wc.run_queue(cancel)?;
    if let Some(notify) = notify {
        notify(&Notify::new(Action::Exclude, &wc.abspath(relpath).to_string_lossy()));
    }
    Ok(())
}

/// As [`WorkingCopy::crop`].
pub(crate) fn crop(
    wc: &WorkingCopy,
    relpath: &RelPath,
    depth: Depth,
    notify: Notifier<'_>,
    cancel: &CancelToken,
) -> Result<()> {
    let shown = wc.abspath(relpath);
    let shown = shown.display();
    let refuse = |why: &str| {
        let message = format!("Cannot crop '{shown}': {why}");
        Err(Error::new(ErrorCode::UNSUPPORTED_FEATURE, message))
    };
    let view = wc.view(relpath)?.ok_or_else(|| Error::NodeNotFound(wc.abspath(relpath)))?;
    match view.status() {
        Status::NotPresent | Status::ServerExcluded => {
            return Err(Error::NodeNotFound(wc.abspath(relpath)));
        }
        Status::Deleted => {
            return refuse("it is going to be removed from repository. Try commit instead");
        }
        Status::Added => {
            return refuse("it is to be added to the repository. Try commit instead");
        }
        Status::Excluded => return Ok(()),
        Status::Normal | Status::Incomplete => {}
    }
    crop_below(wc, relpath, (view.top().depth_or_infinity(), depth), notify, cancel)
}

/// Makes a directory shallower, in few transactions.
fn crop_below(
    wc: &WorkingCopy,
    relpath: &RelPath,
    depths: (Depth, Depth),
    notify: Notifier<'_>,
    cancel: &CancelToken,
) -> Result<()> {
    let notify = notify.unwrap_or(&|_| {});
    wc.gather(cancel, notify, |gathered| crop_children(gathered, relpath, depths, cancel))?;
    wc.run_queue(cancel)
}

fn crop_children(
    gathered: &GatheredChanges<'_>,
    relpath: &RelPath,
    (old, new): (Depth, Depth),
    cancel: &CancelToken,
) -> Result<()> {
    let wc = gathered.wc();
    if old > new
        && let Some(mut row) = wc.db().base(relpath)?
    {
        row.depth = Some(new);
        wc.db().put_node(&row)?;
    }
    for child in wc.db().children_at(relpath, 0)? {
        gathered.step()?;
        if child.file_external {
            continue;
        }
        let Some(view) = wc.view(&child.relpath)? else { continue };
        if view.has_work()
            && (view.status() != Status::Deleted || holds_changes(wc, &child.relpath, cancel)?)
        {
            continue;
        }
        let kind = view.top().kind;
        let needs = if kind == Kind::Dir { Depth::Immediates } else { Depth::Files };
        if !view.status().is_present() {
            if new < needs {
                wc.db().write(|db| db.remove_base(&child.relpath, &Removal::default()))?;
            }
            continue;
        }
        if new < needs && !holds_changes(wc, &child.relpath, cancel)? {
            wc.db().write(|db| db.remove_base(&child.relpath, &Removal::default()))?;
            let path = wc.abspath(&child.relpath);
            gathered.notify(&Notify::new(Action::Delete, &path.to_string_lossy()));
            continue;
        }
        if kind == Kind::Dir {
            let depth = view.top().depth_or_infinity();
            crop_children(gathered, &child.relpath, (depth, Depth::Empty), cancel)?;
        }
    }
    Ok(())
}

/// Whether more than deletions would be lost with a tree: changes, and what is not versioned.
fn holds_changes(wc: &WorkingCopy, relpath: &RelPath, cancel: &CancelToken) -> Result<bool> {
    let mut found = false;
    let options = Options { cancel: cancel.clone(), ..Options::default() };
    wc.status(relpath, &options, &mut |status| {
        let plain = |state| matches!(state, State::None | State::Normal);
        found |= match status.node {
            State::None | State::Normal | State::Ignored | State::External => false,
            State::Incomplete => !plain(status.text) || !plain(status.props),
            State::Deleted => status.actual_kind.is_some(),
            _ => true,
        };
        Ok(())
    })?;
    Ok(found)
}

fn present(db: &Db, disk: &Disk, relpath: &RelPath) -> Result<View> {
    db.view(relpath)?
        .filter(|view| view.status().is_present())
        .ok_or_else(|| Error::NodeNotFound(disk.abspath(relpath)))
}
