//! Copies of nodes of a working copy, of this one or of another: rows in a new layer that say where
//! they come from, and the files beside them.
//!
//! A node that comes from elsewhere than its parent's copy says (another revision, switched, copied
//! itself) gets a layer of its own; what the parent's copy would have had there is not present.

use std::fs;
use std::path::Path;

use rusqlite::params;
use sapwood_core::notify::{Action, Notify};
use sapwood_core::paths::{RelPath, RelPathBuf};
use sapwood_core::{CancelToken, ErrorCode, NodeKind, Revnum, path};

use super::Notifier;
use crate::conflict::Conflict;
use crate::db::{Db, Kind, NodeRow, Presence, at_and_below, depth_of, parent_of};
use crate::error::{Error, Result};
use crate::gather::Gathered;
use crate::root::WorkingCopy;
use crate::view::{Addition, Status, View, operation_root};
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

/// Where a copied node comes from in the repository.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct From {
    pub(crate) repos_id: Option<i64>,
    pub(crate) path: Option<RelPathBuf>,
    pub(crate) revision: Option<Revnum>,
}

/// What a copied node is, as far as a copy wants to know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Is {
    Normal,
    Added,
    Copied,
    MovedHere,
    Deleted,
    NotPresent,
    Excluded,
}

/// The layers of a destination.
pub(crate) struct Depths {
    /// The layer of the copy.
    pub(crate) op_depth: i64,
    /// The layer that gets a row "not present", where the copy starts a layer of its own.
    pub(crate) not_present: Option<i64>,
    /// The layer of the parent.
    parent: i64,
}

impl WorkingCopy {
    /// Copies a node of `source`, this or another working copy of the same repository, to a path that
    /// is free. Needs a lock on the destination's parent.
    ///
    /// # Errors
    /// What is wrong with source or destination.
    pub fn copy(
        &self,
        source: &Self,
        from: &RelPath,
        to: &RelPath,
        metadata_only: bool,
        cancel: &CancelToken,
        notify: Option<&Notifier<'_>>,
    ) -> Result<()> {
        self.check_copy(source, from, to, metadata_only)?;
        let how = Copy { source, root: to, metadata_only, is_move: false };
        // What was copied before something could not be is whole.
        self.copy_gathered(from, to, how, cancel, notify)
    }

    /// Whether this is the same working copy as another handle's.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        self.root() == other.root()
    }

    /// Copies a node that may be copied there; the rows of many nodes are one change.
    pub(super) fn copy_gathered(
        &self,
        from: &RelPath,
        to: &RelPath,
        how: Copy<'_>,
        cancel: &CancelToken,
        notify: Option<&Notifier<'_>>,
    ) -> Result<()> {
        self.gather(cancel, notify.unwrap_or(&|_| ()), |gathered| {
            self.copy_tree(from, to, how, notify.is_some(), gathered)
        })
    }

    fn copy_tree(
        &self,
        from: &RelPath,
        to: &RelPath,
        how: Copy<'_>,
        notify: bool,
        gathered: &Gathered<'_>,
    ) -> Result<()> {
        let source = how.source.require_view(from)?;
        if !self.is_same(how.source) {
            self.take_pristines(how.source, from)?;
        }
        if source.is_dir() {
            self.copy_dir(&source, to, how, notify, gathered)
        } else {
            self.copy_file(&source, to, how, notify, gathered)
        }
    }

    /// Refuses what cannot be copied.
    fn check_copied(&self, from: &RelPath) -> Result<()> {
        let shown = || self.abspath(from).display().to_string();
        let node = self.view(from)?.ok_or_else(|| {
            let cause = sapwood_core::SvnError::from(Error::NodeNotFound(self.abspath(from)));
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
        &self,
        source: &Self,
        from: &RelPath,
        to: &RelPath,
        metadata_only: bool,
    ) -> Result<()> {
        source.check_copied(from)?;
        let shown = |relpath: &RelPath| self.abspath(relpath).display().to_string();
        let error = |code, text: String| Err(Error::new(code, text));
        let parent = parent_of(to).unwrap_or(RelPath::ROOT);
        let dir = self.view(parent)?;
        self.check_same_repository(source, from, to)?;
        if dir.as_ref().is_some_and(|d| d.status() == Status::Deleted) {
            return error(
                ErrorCode::WC_INVALID_SCHEDULE,
                format!("Cannot copy to '{}' as it is scheduled for deletion", shown(to)),
            );
        }
        if let Some(target) = self.view(to)? {
            match target.status() {
                Status::Excluded => {
                    return error(
                        ErrorCode::ENTRY_EXISTS,
                        format!(
                            "'{}' is already under version control but is excluded.",
                            shown(to)
                        ),
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
        if !metadata_only && fs::symlink_metadata(self.abspath(to)).is_ok() {
            return error(
                ErrorCode::ENTRY_EXISTS,
                format!("'{}' already exists and is in the way", shown(to)),
            );
        }
        Ok(())
    }

    /// Refuses copies between repositories.
    fn check_same_repository(&self, source: &Self, from: &RelPath, to: &RelPath) -> Result<()> {
        if self.is_same(source) {
            return Ok(());
        }
        let (from_id, _) = source.repos_location(from)?;
        let (to_id, _) = self.repos_location(parent_of(to).unwrap_or(RelPath::ROOT))?;
        let (theirs, ours) = (source.db().repository(from_id)?, self.db().repository(to_id)?);
        if theirs.root == ours.root && theirs.uuid == ours.uuid {
            return Ok(());
        }
        let shown = self.abspath(to);
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
        &self,
        source: &View,
        to: &RelPath,
        how: Copy<'_>,
        notify: bool,
        gathered: &Gathered<'_>,
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
            self.copy_on_disk(how.source, source, (&from, to), as_it_is, &mut work)?;
        }
        self.copy_rows(source, to, how, &work)?;
        if notify {
            self.notify_copied(to, NodeKind::File, gathered);
        }
        Ok(())
    }

    fn notify_copied(&self, to: &RelPath, kind: NodeKind, gathered: &Gathered<'_>) {
        let path = self.abspath(to);
        let shown = path.to_string_lossy();
        gathered.notify(&Notify { kind: Some(kind), ..Notify::new(Action::Add, &shown) });
    }

    /// What puts a file in its place: its pristine text, or a copy of the modified one.
    fn copy_on_disk(
        &self,
        wc: &Self,
        source: &View,
        (from, to): (&RelPath, &RelPath),
        as_it_is: bool,
        work: &mut Vec<WorkItem>,
    ) -> Result<()> {
        let path = wc.abspath(from);
        let found = match fs::symlink_metadata(&path) {
            Ok(found) => found,
            Err(e) if crate::status::is_missing(&e) => return Ok(()),
            Err(e) => return Err(Error::io(e, "Can't check path", &path)),
        };
        if !as_it_is
            && let Some(sha1) = source.top().checksum
            && !wc.file_modified(source)?
        {
            // The copy's text base is not to be had from the store, if that does not keep all of them.
            let text = match self.stores_pristines() {
                true => None,
                false => Some(self.set_aside(&mut wc.open_text_base(from, &sha1)?)?),
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
        let temporary = self.temporary();
        copy_any(&path, &temporary, &found)?;
        if found.is_file() {
            make_writable(&temporary)?;
        }
        work.push(WorkItem::FileMove { from: self.relpath(&temporary)?, to: to.to_owned() });
        Ok(())
    }

    fn copy_dir(
        &self,
        source: &View,
        to: &RelPath,
        how: Copy<'_>,
        notify: bool,
        gathered: &Gathered<'_>,
    ) -> Result<()> {
        gathered.step()?;
        let from = source.relpath();
        let on_disk = !how.metadata_only && how.source.abspath(from).is_dir();
        let work: Vec<WorkItem> =
            on_disk.then(|| WorkItem::DirInstall { relpath: to.to_owned() }).into_iter().collect();
        self.copy_rows(source, to, how, &work)?;
        if notify {
            self.notify_copied(to, NodeKind::Dir, gathered);
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
                self.copy_shadowed(how.source, child.relpath(), &target, how.is_move)?;
            }
            match child.status() {
                Status::Normal | Status::Added => {
                    if child.is_dir() {
                        self.copy_dir(&child, &target, how, false, gathered)?;
                    } else if child.top().kind == Kind::Unknown {
                        let shown = how.source.abspath(child.relpath());
                        let text = format!("cannot handle node kind for '{}'", shown.display());
                        return Err(Error::new(ErrorCode::NODE_UNEXPECTED_KIND, text));
                    } else if !child.base().is_some_and(|b| b.file_external) || child.has_work() {
                        self.copy_file(&child, &target, how, false, gathered)?;
                    }
                    names.retain(|n| n.to_str() != Some(name));
                }
                Status::Deleted | Status::NotPresent | Status::Excluded => {
                    self.copy_rows(&child, &target, how, &[])?;
                }
                Status::Incomplete => return Err(how.source.cannot_handle(child.relpath())),
                Status::ServerExcluded => {
                    return Err(how.source.excluded_by_server(child.relpath()));
                }
            }
        }
        if names.is_empty() {
            return Ok(());
        }
        self.copy_unversioned(how.source, from, to, &names)
    }

    fn copy_unversioned(
        &self,
        source: &Self,
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
            let found =
                fs::symlink_metadata(&path).map_err(|e| Error::io(e, "Can't stat", &path))?;
            let temporary = self.temporary();
            copy_any(&path, &temporary, &found)?;
            let target = to.child(path::basename(&relpath));
            work.push(WorkItem::FileMove { from: self.relpath(&temporary)?, to: target });
        }
        self.db().write(|db| work.iter().try_for_each(|item| db.add_work(item).map(|_| ())))
    }

    fn cannot_handle(&self, relpath: &RelPath) -> Error {
        let text = format!("Cannot handle status of '{}'", self.abspath(relpath).display());
        Error::new(ErrorCode::WC_PATH_UNEXPECTED_STATUS, text)
    }

    pub(super) fn excluded_by_server(&self, relpath: &RelPath) -> Error {
        let text = format!("Cannot copy '{}' excluded by server", self.abspath(relpath).display());
        Error::new(ErrorCode::WC_PATH_UNEXPECTED_STATUS, text)
    }

    /// The rows of one copied node.
    fn copy_rows(
        &self,
        source: &View,
        to: &RelPath,
        how: Copy<'_>,
        work: &[WorkItem],
    ) -> Result<()> {
        self.db().write(|db| {
            let move_depth = if how.is_move { depth_of(how.root) } else { 0 };
            self.insert_copy(how.source, source, to, move_depth)?;
            work.iter().try_for_each(|item| db.add_work(item).map(|_| ()))
        })
    }

    /// Where a node comes from, and what it is, for a copy of it.
    fn origin_for_copy(&self, node: &View) -> Result<(From, Is)> {
        let top = node.top();
        let own =
            From { repos_id: top.repos_id, path: top.repos_path.clone(), revision: top.revision };
        Ok(match node.status() {
            Status::Excluded => {
                let parent =
                    self.require_view(parent_of(node.relpath()).unwrap_or(RelPath::ROOT))?;
                let (mut from, _) = self.origin_for_copy(&parent)?;
                let name = path::basename(node.relpath());
                from.path = from.path.map(|above| above.child(name));
                (from, Is::Excluded)
            }
            Status::Added => {
                let is = match self.addition(top)? {
                    Addition::Added => Is::Added,
                    Addition::Copied => Is::Copied,
                    Addition::MovedHere => Is::MovedHere,
                };
                (own, is)
            }
            Status::Deleted if node.is_op_root() => (self.origin_of_deleted(node)?, Is::Deleted),
            Status::Deleted => (own, Is::Deleted),
            Status::NotPresent => (own, Is::NotPresent),
            Status::ServerExcluded => return Err(self.excluded_by_server(node.relpath())),
            Status::Incomplete => return Err(self.cannot_handle(node.relpath())),
            Status::Normal => (own, Is::Normal),
        })
    }

    /// Where the node came from that a deletion is of.
    fn origin_of_deleted(&self, node: &View) -> Result<From> {
        let relpath = node.relpath();
        let parent = parent_of(relpath).unwrap_or(RelPath::ROOT);
        let above = self.require_view(parent)?;
        if above.has_work() || node.top().presence == Presence::NotPresent {
            let holder = if node.top().presence == Presence::NotPresent
                && node.top().op_depth < depth_of(relpath)
            {
                node.top().op_depth
            } else {
                above.top().op_depth
            };
            let root = operation_root(parent, holder);
            let top = self.db().node(root, holder)?;
            let below = relpath.rest_below(root)?;
            return Ok(top.map_or_else(From::default, |top| From {
                repos_id: top.repos_id,
                path: top.repos_path.map(|path| path.join(below)),
                revision: top.revision,
            }));
        }
        Ok(node.base().map_or_else(From::default, |base| From {
            repos_id: base.repos_id,
            path: base.repos_path.clone(),
            revision: base.revision,
        }))
    }

    /// The same place, with this working copy's number of the repository.
    pub(super) fn own_place(&self, source: &Self, mut place: From) -> Result<From> {
        if let Some(id) = place.repos_id.filter(|_| !self.is_same(source)) {
            let repository = source.db().repository(id)?;
            place.repos_id = Some(self.db().repository_id(&repository.root, &repository.uuid)?);
        }
        Ok(place)
    }

    fn insert_copy(&self, wc: &Self, source: &View, to: &RelPath, move_depth: i64) -> Result<()> {
        let db = self.db();
        let (from, is) = wc.origin_for_copy(source)?;
        let from = self.own_place(wc, from)?;
        let mut depths = depths_for_copy(self.db(), &from, to)?;
        let op_root = source.is_op_root();
        let presence = match is {
            Is::Normal | Is::Added | Is::Copied | Is::MovedHere => Presence::Normal,
            Is::Deleted if op_root => {
                if self.view(to)?.is_some_and(|v| v.status() == Status::Deleted) {
                    return Ok(());
                }
                Presence::NotPresent
            }
            // A deletion of a lower layer is not copied.
            Is::Deleted if from.path.is_none() => return Ok(()),
            Is::Deleted | Is::NotPresent => Presence::NotPresent,
            Is::Excluded => Presence::Excluded,
        };
        if presence != Presence::Normal
            && let Some(depth) = depths.not_present.take()
        {
            depths.op_depth = depth;
        }
        let top = source.top();
        let mut row = NodeRow {
            relpath: to.to_owned(),
            op_depth: depths.op_depth,
            presence,
            moved_here: is_moved_here(self.db(), source, to, is, move_depth, &depths)?,
            moved_to: db.node(to, depths.op_depth)?.and_then(|old| old.moved_to),
            dav_cache: None,
            file_external: false,
            inherited_props: None,
            ..top.clone()
        };
        if !self.is_same(wc) {
            make_foreign(&mut row, source, &from)?;
        }
        db.put_node(&row)?;
        copy_actual(self.db(), source, to)?;
        if let Some(depth) = depths.not_present {
            put_not_present(self.db(), to, depth, top.kind, &from)?;
        }
        if top.kind == Kind::Dir && presence == Presence::Normal {
            insert_incomplete_children(self.db(), wc, source, to, &from, depths.op_depth)?;
        }
        Ok(())
    }

    /// The lowest and highest revision of BASE at and below a path.
    ///
    /// # Errors
    /// Those of the database.
    pub fn revision_range(&self, relpath: &RelPath) -> Result<Option<(Revnum, Revnum)>> {
        let (rows, (lo, hi)) = (at_and_below(relpath), super::subtree(relpath));
        let found: Option<(Option<u64>, Option<u64>)> = self.db().first(
            &format!(
                "SELECT MIN(revision), MAX(revision) FROM nodes WHERE {rows} AND presence IN \
                 ('normal', 'incomplete') AND file_external IS NULL AND op_depth = 0"
            ),
            params![self.db().wc_id(), relpath.as_str(), lo, hi],
            |row| {
                let number = |n: Option<i64>| n.and_then(|n| u64::try_from(n).ok());
                Ok((number(row.get(0)?), number(row.get(1)?)))
            },
        )?;
        Ok(found.and_then(|(min, max)| Some((Revnum(min?), Revnum(max?)))))
    }
}

/// Which layers a copy goes to.
pub(crate) fn depths_for_copy(db: &Db, from: &From, to: &RelPath) -> Result<Depths> {
    let parent = parent_of(to).unwrap_or(RelPath::ROOT);
    let mut depths = Depths { op_depth: depth_of(to), not_present: None, parent: depth_of(parent) };
    let Some(copied_path) = &from.path else { return Ok(depths) };
    let own = db.top(to)?.filter(|row| row.op_depth > 0);
    let least = own.as_ref().map_or(1, |row| row.op_depth);
    let incomplete = own.filter(|row| row.presence == Presence::Incomplete).map(|row| row.op_depth);
    let Some(above) = db.top(parent)?.filter(|row| row.op_depth > 0) else {
        return Ok(depths);
    };
    depths.parent = above.op_depth;
    if above.op_depth < least {
        return Ok(depths);
    }
    if incomplete.is_none_or(|depth| depth == above.op_depth) && above.repos_id == from.repos_id {
        let implied = above.repos_path.as_ref().map(|path| path.child(path::basename(to)));
        if from.revision == above.revision && implied.as_ref() == Some(copied_path) {
            depths.op_depth = above.op_depth;
        } else {
            depths.not_present = incomplete;
        }
    }
    Ok(depths)
}

/// Says that a layer has nothing at a path where the copy that it is of had something.
pub(crate) fn put_not_present(
    db: &Db,
    relpath: &RelPath,
    op_depth: i64,
    kind: Kind,
    from: &From,
) -> Result<()> {
    let mut marker = NodeRow::new(relpath, op_depth, Presence::NotPresent, kind);
    marker.repos_id = from.repos_id;
    marker.repos_path.clone_from(&from.path);
    marker.revision = from.revision;
    db.put_node(&marker)
}

fn is_moved_here(
    db: &Db,
    source: &View,
    to: &RelPath,
    is: Is,
    move_depth: i64,
    depths: &Depths,
) -> Result<bool> {
    if move_depth == 0 {
        return Ok(false);
    }
    if depth_of(to) == move_depth {
        // What was added, or is the root of a copy, has no place that it was moved from.
        return Ok(!(is == Is::Added || (is == Is::Copied && source.is_op_root())));
    }
    let parent = db.top(parent_of(to).unwrap_or(RelPath::ROOT))?;
    if parent.is_some_and(|p| p.moved_here) && depths.op_depth == depths.parent {
        return Ok(true);
    }
    Ok(source.top().moved_here)
}

fn insert_incomplete_children(
    db: &Db,
    wc: &WorkingCopy,
    source: &View,
    to: &RelPath,
    from: &From,
    op_depth: i64,
) -> Result<()> {
    for child in copied_children(wc.db(), source.relpath(), source.top().op_depth)? {
        let name = path::basename(&child.relpath);
        let target = to.child(name);
        let mut row = NodeRow::new(target.as_path(), op_depth, Presence::Incomplete, Kind::Unknown);
        row.repos_id = from.repos_id;
        row.repos_path = from.path.as_ref().map(|path| path.child(name));
        row.revision = from.revision;
        row.moved_to = db.node(&target, op_depth)?.and_then(|old| old.moved_to);
        db.put_node(&row)?;
    }
    Ok(())
}

/// The children that one layer of a directory has, but for deletions and file externals.
pub(super) fn copied_children(db: &Db, relpath: &RelPath, op_depth: i64) -> Result<Vec<NodeRow>> {
    let mut rows = db.children_at(relpath, op_depth)?;
    rows.retain(|row| row.presence != Presence::BaseDeleted && !row.file_external);
    Ok(rows)
}

/// Local properties and the changelist go along.
fn copy_actual(db: &Db, source: &View, to: &RelPath) -> Result<()> {
    let Some(actual) = &source.actual else { return Ok(()) };
    if actual.changelist.is_none() && actual.properties.is_none() {
        return Ok(());
    }
    db.put_actual(&crate::db::ActualRow {
        relpath: to.to_owned(),
        properties: actual.properties.clone(),
        changelist: actual.changelist.clone(),
        ..crate::db::ActualRow::default()
    })
}

/// Makes the row of a copy one of another database, where some things are not known.
fn make_foreign(row: &mut NodeRow, source: &View, from: &From) -> Result<()> {
    let normal = row.presence == Presence::Normal;
    row.repos_id = from.path.as_ref().and(from.repos_id);
    row.repos_path.clone_from(&from.path);
    row.revision = from.path.as_ref().and(from.revision);
    row.properties = None;
    if normal && from.path.is_some() {
        row.properties = Some(crate::db::write_props(&source.pristine_props()?));
    }
    if row.kind == Kind::Dir && normal {
        row.depth = Some(row.depth_or_infinity());
    } else {
        row.depth = None;
    }
    row.checksum = row.checksum.filter(|_| normal);
    row.moved_here = false;
    row.translated_size = None;
    row.last_mod_time = None;
    Ok(())
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
