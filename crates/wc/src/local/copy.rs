//! Copies of nodes of a working copy, of this one or of another: rows in a new layer that say where
//! they come from, and the files beside them.
//!
//! A node that comes from elsewhere than its parent's copy says (another revision, switched, copied
//! itself) gets a layer of its own; what the parent's copy would have had there is not present.

use std::fs;
use std::path::Path;

use rusqlite::params;
use sapwood_core::notify::{Action, Notify};
use sapwood_core::paths::RelPath;
use sapwood_core::{CancelToken, ErrorCode, NodeKind, Revnum, path};

use super::Notifier;
use super::copy_origin::{cannot_handle, excluded_by_server, is_same};
use super::copy_rows::insert_copy;
use crate::conflict::Conflict;
use crate::db::{Db, Kind, at_and_below, depth_of, parent_of};
use crate::error::{Error, Result};
use crate::gather::GatheredChanges;
use crate::local::copy_pristines::take_pristines;
use crate::local::copy_shadow::copy_shadowed;
use crate::pristine::stores_pristines;
use crate::root::{Disk, WorkingCopy};
use crate::text_base::set_aside;
use crate::view::{Status, View, repos_location};
use crate::work_item::WorkItem;

/// What is copied to where, and how.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Copy<'c> {
    /// The working copy that is copied from.
    pub(crate) source: &'c WorkingCopy,
    /// The root of the destination.
    pub(crate) root: &'c RelPath,
    /// Leaves the disk alone.
    pub(crate) metadata_only: bool,
    /// Whether this is one half of a move.
    pub(crate) is_move: bool,
}

/// As [`WorkingCopy::copy`].
pub(crate) fn copy(
    wc: &WorkingCopy,
    source: &WorkingCopy,
    from: &RelPath,
    to: &RelPath,
    metadata_only: bool,
    cancel: &CancelToken,
    notify: Option<&Notifier<'_>>,
) -> Result<()> {
    check_copy(wc.db(), wc.disk(), source, from, to, metadata_only)?;
    let how = Copy { source, root: to, metadata_only, is_move: false };
    // What was copied before something could not be is whole.
    copy_gathered(wc, from, to, how, cancel, notify)
}

/// Copies a node that may be copied there; the rows of many nodes are one change.
pub(super) fn copy_gathered(
    wc: &WorkingCopy,
    from: &RelPath,
    to: &RelPath,
    how: Copy<'_>,
    cancel: &CancelToken,
    notify: Option<&Notifier<'_>>,
) -> Result<()> {
    wc.gather(cancel, notify.unwrap_or(&|_| ()), |gathered| {
        copy_tree(wc, from, to, how, notify.is_some(), gathered)
    })
}

fn copy_tree(
    wc: &WorkingCopy,
    from: &RelPath,
    to: &RelPath,
    how: Copy<'_>,
    notify: bool,
    gathered: &GatheredChanges<'_>,
) -> Result<()> {
    let source = how.source.require_view(from)?;
    if !is_same(wc.disk(), how.source) {
        take_pristines(wc.db(), wc.disk(), how.source, from)?;
    }
    if source.is_dir() {
        copy_dir(wc, &source, to, how, notify, gathered)
    } else {
        copy_file(wc.db(), wc.disk(), &source, to, how, notify, gathered)
    }
}

/// Refuses what cannot be copied.
fn check_copied(db: &Db, disk: &Disk, from: &RelPath) -> Result<()> {
    let shown = || disk.abspath(from).display().to_string();
    let node = db.view(from)?.ok_or_else(|| {
        let cause = sapwood_core::SvnError::from(Error::NodeNotFound(disk.abspath(from)));
        let text = format!("'{}' is not under version control", shown());
        let error = sapwood_core::SvnError::new(ErrorCode::ENTRY_NOT_FOUND, text);
        Error::Svn(error.with_cause(cause))
    })?;
    match node.status() {
        Status::Deleted => Err(Error::new(
            ErrorCode::WC_PATH_UNEXPECTED_STATUS,
            format!("Deleted node '{}' can't be copied.", shown()),
        )),
        Status::Excluded | Status::ServerExcluded | Status::NotPresent => Err(Error::new(
            ErrorCode::WC_PATH_NOT_FOUND,
            format!("The node '{}' was not found.", shown()),
        )),
        _ => Ok(()),
    }
}

/// Refuses what cannot be copied, and where nothing can be copied to.
pub(crate) fn check_copy(
    db: &Db,
    disk: &Disk,
    source: &WorkingCopy,
    from: &RelPath,
    to: &RelPath,
    metadata_only: bool,
) -> Result<()> {
    check_copied(source.db(), source.disk(), from)?;
    let shown = |relpath: &RelPath| disk.abspath(relpath).display().to_string();
    let error = |code, text: String| Err(Error::new(code, text));
    let parent = parent_of(to).unwrap_or(RelPath::ROOT);
    let dir = db.view(parent)?;
    check_same_repository(db, disk, source, from, to)?;
    if dir.as_ref().is_some_and(|d| d.status() == Status::Deleted) {
        return error(
            ErrorCode::WC_INVALID_SCHEDULE,
            format!("Cannot copy to '{}' as it is scheduled for deletion", shown(to)),
        );
    }
    if let Some(target) = db.view(to)? {
        match target.status() {
            Status::Excluded => {
                return error(
                    ErrorCode::ENTRY_EXISTS,
                    format!("'{}' is already under version control but is excluded.", shown(to)),
                );
            }
            Status::ServerExcluded => {
                return error(
                    ErrorCode::ENTRY_EXISTS,
                    format!("'{}' is already under version control", shown(to)),
                );
            }
            Status::Deleted | Status::NotPresent => {}
            _ if metadata_only => {}
            _ => {
                return error(
                    ErrorCode::ENTRY_EXISTS,
                    format!("There is already a versioned item '{}'", shown(to)),
                );
            }
        }
    }
    if !metadata_only && fs::symlink_metadata(disk.abspath(to)).is_ok() {
        return error(
            ErrorCode::ENTRY_EXISTS,
            format!("'{}' already exists and is in the way", shown(to)),
        );
    }
    Ok(())
}

/// Refuses copies between repositories.
fn check_same_repository(
    db: &Db,
    disk: &Disk,
    source: &WorkingCopy,
    from: &RelPath,
    to: &RelPath,
) -> Result<()> {
    if is_same(disk, source) {
        return Ok(());
    }
    let (from_id, _) = source.repos_location(from)?;
    let (to_id, _) = repos_location(db, disk, parent_of(to).unwrap_or(RelPath::ROOT))?;
    let (theirs, ours) = (source.db().repository(from_id)?, db.repository(to_id)?);
    if theirs.root == ours.root && theirs.uuid == ours.uuid {
        return Ok(());
    }
    let shown = disk.abspath(to);
    Err(Error::new(
        ErrorCode::WC_INVALID_SCHEDULE,
        format!(
            "Cannot copy to '{}', as it is not from repository '{}'; it is from '{}'",
            shown.display(),
            theirs.root,
            ours.root
        ),
    ))
}

fn copy_file(
    db: &Db,
    disk: &Disk,
    source: &View,
    to: &RelPath,
    how: Copy<'_>,
    notify: bool,
    gathered: &GatheredChanges<'_>,
) -> Result<()> {
    gathered.step()?;
    let mut work = Vec::new();
    if !how.metadata_only {
        let mut from = source.relpath().to_owned();
        let mut as_it_is = false;
        let conflict = source.conflict_data().map(Conflict::parse).transpose()?;
        if let Some(mine) = conflict.and_then(|c| c.text).and_then(|t| t.mine)
            && crate::files::is_leftover(&how.source.abspath(&mine))
        {
            from = mine;
            as_it_is = true;
        }
        copy_on_disk(db, disk, how.source, source, (&from, to), as_it_is, &mut work)?;
    }
    copy_rows(db, disk, source, to, how, &work)?;
    if notify {
        notify_copied(disk, to, NodeKind::File, gathered);
    }
    Ok(())
}

fn notify_copied(disk: &Disk, to: &RelPath, kind: NodeKind, gathered: &GatheredChanges<'_>) {
    let path = disk.abspath(to);
    let shown = path.to_string_lossy();
    gathered.notify(&Notify { kind: Some(kind), ..Notify::new(Action::Add, &shown) });
}

/// What puts a file in its place: its pristine text, or a copy of the modified one.
fn copy_on_disk(
    db: &Db,
    disk: &Disk,
    source_wc: &WorkingCopy,
    source: &View,
    (from, to): (&RelPath, &RelPath),
    as_it_is: bool,
    work: &mut Vec<WorkItem>,
) -> Result<()> {
    let path = source_wc.abspath(from);
    let found = match fs::symlink_metadata(&path) {
        Ok(found) => found,
        Err(e) if crate::status::is_missing(&e) => return Ok(()),
        Err(e) => return Err(Error::io(e, "Can't check path", &path)),
    };
    if !as_it_is
        && let Some(sha1) = source.top().checksum
        && !source_wc.file_modified(source)?
    {
        // The copy's text base is not to be had from the store, if that does not keep all of them.
        let text = match stores_pristines(db) {
            true => None,
            false => Some(set_aside(disk, &mut source_wc.open_text_base(from, &sha1)?)?),
        };
        work.push(WorkItem::FileInstall {
            relpath: to.to_owned(),
            use_commit_times: false,
            record_fileinfo: true,
            source: text.clone(),
        });
        work.extend(text.map(|relpath| WorkItem::FileRemove { relpath }));
        return Ok(());
    }
    let temporary = disk.temporary();
    copy_any(&path, &temporary, &found)?;
    if found.is_file() {
        make_writable(&temporary)?;
    }
    work.push(WorkItem::FileMove { from: disk.relpath(&temporary)?, to: to.to_owned() });
    Ok(())
}

fn copy_dir(
    wc: &WorkingCopy,
    source: &View,
    to: &RelPath,
    how: Copy<'_>,
    notify: bool,
    gathered: &GatheredChanges<'_>,
) -> Result<()> {
    gathered.step()?;
    let from = source.relpath();
    let on_disk = !how.metadata_only && how.source.abspath(from).is_dir();
    let work: Vec<WorkItem> =
        on_disk.then(|| WorkItem::DirInstall { relpath: to.to_owned() }).into_iter().collect();
    copy_rows(wc.db(), wc.disk(), source, to, how, &work)?;
    if notify {
        notify_copied(wc.disk(), to, NodeKind::Dir, gathered);
    }
    let mut names = Vec::new();
    if on_disk {
        let dir = how.source.abspath(from);
        let failed = |e| Error::io(e, "Can't open directory", &dir);
        for entry in fs::read_dir(&dir).map_err(failed)? {
            names.push(entry.map_err(failed)?.file_name());
        }
    }
    for child in how.source.children(from)? {
        let name = path::basename(child.relpath());
        let target = to.child(name);
        if child.is_op_root() {
            copy_shadowed(wc, how.source, child.relpath(), &target, how.is_move)?;
        }
        match child.status() {
            Status::Normal | Status::Added => {
                if child.is_dir() {
                    copy_dir(wc, &child, &target, how, false, gathered)?;
                } else if child.top().kind == Kind::Unknown {
                    let shown = how.source.abspath(child.relpath());
                    let text = format!("cannot handle node kind for '{}'", shown.display());
                    return Err(Error::new(ErrorCode::NODE_UNEXPECTED_KIND, text));
                } else if !child.base().is_some_and(|b| b.file_external) || child.has_work() {
                    copy_file(wc.db(), wc.disk(), &child, &target, how, false, gathered)?;
                }
                names.retain(|n| n.to_str() != Some(name));
            }
            Status::Deleted | Status::NotPresent | Status::Excluded => {
                copy_rows(wc.db(), wc.disk(), &child, &target, how, &[])?;
            }
            Status::Incomplete => return Err(cannot_handle(how.source.disk(), child.relpath())),
            Status::ServerExcluded => {
                return Err(excluded_by_server(how.source.disk(), child.relpath()));
            }
        }
    }
    if names.is_empty() {
        return Ok(());
    }
    copy_unversioned(wc.db(), wc.disk(), how.source, from, to, &names)
}

fn copy_unversioned(
    db: &Db,
    disk: &Disk,
    source: &WorkingCopy,
    from: &RelPath,
    to: &RelPath,
    names: &[std::ffi::OsString],
) -> Result<()> {
    let mut markers = Vec::new();
    for row in source.db().actual_children(from)? {
        if let Some(record) = &row.conflict_data {
            markers.extend(crate::status::markers(record)?);
        }
    }
    let mut work = Vec::new();
    for name in names.iter().filter(|name| *name != ".svn") {
        let path = source.abspath(from).join(name);
        let relpath = source.relpath(&path)?;
        if markers.contains(&relpath) {
            continue;
        }
        let found = fs::symlink_metadata(&path).map_err(|e| Error::io(e, "Can't stat", &path))?;
        let temporary = disk.temporary();
        copy_any(&path, &temporary, &found)?;
        let target = to.child(path::basename(&relpath));
        work.push(WorkItem::FileMove { from: disk.relpath(&temporary)?, to: target });
    }
    db.write(|db| work.iter().try_for_each(|item| db.add_work(item).map(|_| ())))
}

/// The rows of one copied node.
fn copy_rows(
    db: &Db,
    disk: &Disk,
    source: &View,
    to: &RelPath,
    how: Copy<'_>,
    work: &[WorkItem],
) -> Result<()> {
    db.write(|db| {
        let move_depth = if how.is_move { depth_of(how.root) } else { 0 };
        insert_copy(db, disk, how.source, source, to, move_depth)?;
        work.iter().try_for_each(|item| db.add_work(item).map(|_| ()))
    })
}

/// As [`WorkingCopy::revision_range`].
pub(crate) fn revision_range(db: &Db, relpath: &RelPath) -> Result<Option<(Revnum, Revnum)>> {
    let (rows, (lo, hi)) = (at_and_below(relpath), super::subtree(relpath));
    let found: Option<(Option<u64>, Option<u64>)> = db.first(
        &format!(
            "SELECT MIN(revision), MAX(revision) FROM nodes WHERE {rows} AND presence IN \
             ('normal', 'incomplete') AND file_external IS NULL AND op_depth = 0"
        ),
        params![db.wc_id(), relpath.as_str(), lo, hi],
        |row| {
            let number = |n: Option<i64>| n.and_then(|n| u64::try_from(n).ok());
            Ok((number(row.get(0)?), number(row.get(1)?)))
        },
    )?;
    Ok(found.and_then(|(min, max)| Some((Revnum(min?), Revnum(max?)))))
}

/// Copies a file, a link, or a directory with all that is in it.
fn copy_any(from: &Path, to: &Path, found: &fs::Metadata) -> Result<()> {
    let failed = |e| Error::io(e, "Can't copy", from);
    if found.is_symlink() {
        let target = fs::read_link(from).map_err(failed)?;
        return std::os::unix::fs::symlink(target, to).map_err(failed);
    }
    if !found.is_dir() {
        fs::copy(from, to).map_err(failed)?;
        return Ok(());
    }
    fs::create_dir(to).map_err(failed)?;
    for entry in fs::read_dir(from).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let below = entry.path();
        let found = fs::symlink_metadata(&below).map_err(failed)?;
        copy_any(&below, &to.join(entry.file_name()), &found)?;
    }
    Ok(())
}

fn make_writable(path: &Path) -> Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    let failed = |e| Error::io(e, "Can't set permissions", path);
    let mode = fs::metadata(path).map_err(failed)?.permissions().mode();
    if mode & 0o200 == 0 {
        fs::set_permissions(path, fs::Permissions::from_mode(mode | 0o200)).map_err(failed)?;
    }
    Ok(())
}
