//! Reverting local changes: first the rows, then the files on disk.
//!
//! The removed rows are kept ([`RemovedRows`]). From them and from the new state of the database follows
//! what must happen on disk: copied files are removed, missing or modified files are written again,
//! and permission flags are corrected. Below a directory, nodes that are known to be
//! [unmodified](super::settled) are skipped.

use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use rusqlite::params;
use sapwood_core::notify::Action;
use sapwood_core::paths::{RelPath, RelPathBuf};
use sapwood_core::props::names;
use sapwood_core::{CancelToken, Depth, ErrorCode};

use super::settled::{add_with_parents, unsettled};
use super::{Notifier, SubtreeSql, subtree};
use crate::base::MovedSource;
use crate::conflict::{Conflict, Operation, Reason};
use crate::db::{Db, Kind, Paths, Presence, at_and_below, depth_of, parent_of};
use crate::error::{Error, Result};
use crate::files;
use crate::gather::GatheredChanges;
use crate::local::resolve_tree::raise_moves;
use crate::pristine::at_hand;
use crate::props::matches_changelist;
use crate::props::rules::NEEDS_LOCK;
use crate::root::{Disk, WorkingCopy};
use crate::text_base::TextBase;
use crate::translate::{Direction, TranslatedReader, special};
use crate::view::{FileStat, Status, View, may_record, stat_file};
use crate::work_item::WorkItem;

/// How to revert.
#[derive(Clone, Debug, Default)]
pub struct RevertOptions {
    /// Takes nodes off their changelists, too.
    pub clear_changelists: bool,
    /// Leaves the disk alone.
    pub metadata_only: bool,
    /// Removes what was added from disk.
    pub remove_added: bool,
    /// Only nodes on one of these changelists, when there are some.
    pub changelists: HashSet<String>,
    /// Asks to stop.
    pub cancel: CancelToken,
}

/// What was removed of one path.
#[derive(Debug, Default)]
struct Row {
    /// The highest layer: its number, whether it was a copy, its kind.
    layer: Option<(i64, bool, Kind)>,
    /// Whether local properties were removed, or the whole row of ACTUAL_NODE.
    notify: bool,
    /// The record of a conflict.
    conflict: Option<Vec<u8>>,
    /// Whether there is a new tree conflict.
    raised: bool,
}

/// The rows that a revert removed, by path, until they are reported.
#[derive(Debug, Default)]
struct RemovedRows(BTreeMap<RelPathBuf, Row>);

impl RemovedRows {
    /// Keeps the layers from `op_depth` of a path, and of what is below if `deep`.
    fn layers(&mut self, db: &Db, relpath: &RelPath, op_depth: i64, deep: bool) -> Result<()> {
        let (lo, hi) = subtree(relpath);
        // The index has the layers: no other row is read.
        let below =
            if deep { "OR (local_relpath > ?3 AND local_relpath < ?4)" } else { "AND ?3 < ?4" };
        db.each(
            &format!(
                "SELECT local_relpath, op_depth, repos_id IS NOT NULL, kind FROM nodes WHERE wc_id = \
                 ?1 AND (local_relpath = ?2 {below}) AND op_depth >= ?5"
            ),
            params![db.wc_id(), relpath.as_str(), lo, hi, op_depth],
            |row| {
                let (relpath, op_depth) = (row.relpath(0)?, row.get(1)?);
                let layer = (op_depth, row.get::<_, i64>(2)? != 0, row.get(3)?);
                let highest = &mut self.0.entry(relpath).or_default().layer;
                if highest.is_none_or(|(other, ..)| other < op_depth) {
                    *highest = Some(layer);
                }
                Ok(())
            },
        )
    }

    /// Keeps which local properties and conflicts there are; the layers are removed already.
    fn actual(&mut self, db: &Db, relpath: &RelPath, deep: bool) -> Result<()> {
        let (lo, hi) = subtree(relpath);
        let rows = match deep {
            true => at_and_below(relpath),
            false => "wc_id = ?1 AND local_relpath = ?2 AND ?3 < ?4",
        };
        db.each(
            &format!(
                "SELECT local_relpath, properties IS NOT NULL OR NOT EXISTS (SELECT 1 FROM nodes n \
                 WHERE n.wc_id = ?1 AND n.local_relpath = a.local_relpath), conflict_data FROM \
                 actual_node a WHERE {rows}"
            ),
            params![db.wc_id(), relpath.as_str(), lo, hi],
            |row| {
                let (notify, conflict) = (row.get(1)?, row.get::<_, Option<Vec<u8>>>(2)?);
                if notify || conflict.is_some() {
                    let kept = self.0.entry(row.relpath(0)?).or_default();
                    (kept.notify, kept.conflict) = (notify, conflict);
                }
                Ok(())
            },
        )
    }

    /// Copied nodes below a path, that went.
    fn copied_below(&self, relpath: &RelPath) -> Vec<(RelPathBuf, Kind)> {
        let depth = depth_of(relpath);
        self.0
            .iter()
            .filter(|(at, _)| *at != relpath && at.is_at_or_below(relpath))
            .filter_map(|(at, row)| match row.layer {
                Some((op_depth, true, kind)) if op_depth >= depth => Some((at.clone(), kind)),
                _ => None,
            })
            .collect()
    }

    /// Reports what is left at and below a path.
    fn notify(&mut self, wc: &WorkingCopy, relpath: &RelPath, notify: &Notifier<'_>) {
        let here: Vec<RelPathBuf> =
            self.0.keys().filter(|at| at.is_at_or_below(relpath)).cloned().collect();
        for at in here {
            let Some(row) = self.0.remove(&at) else { continue };
            if row.raised {
                super::notify_path(wc.disk(), notify, Action::TreeConflict, &at);
            } else if row.layer.is_some() || row.notify {
                super::notify_path(wc.disk(), notify, Action::Revert, &at);
            }
        }
    }
}

/// As [`WorkingCopy::revert`].
pub(crate) fn revert(
    wc: &WorkingCopy,
    relpath: &RelPath,
    depth: Depth,
    options: &RevertOptions,
    notify: &Notifier<'_>,
) -> Result<()> {
    wc.gather(&options.cancel, notify, |gathered| {
        wc.revert_among(relpath, depth, options, gathered)
    })
}

/// As [`WorkingCopy::revert_among`].
pub(crate) fn revert_among(
    wc: &WorkingCopy,
    relpath: &RelPath,
    depth: Depth,
    options: &RevertOptions,
    gathered: &GatheredChanges<'_>,
) -> Result<()> {
    gathered.lock(parent_of(relpath).unwrap_or(RelPath::ROOT))?;
    if !options.changelists.is_empty() {
        revert_changelists(wc, relpath, depth, options, gathered)?;
    } else {
        match depth {
            Depth::Empty => revert_tree(wc, relpath, false, options, gathered)?,
            Depth::Infinity => revert_tree(wc, relpath, true, options, gathered)?,
            Depth::Files | Depth::Immediates => {
                revert_tree(wc, relpath, false, options, gathered)?;
                for child in known_children(wc.db(), relpath)? {
                    let view = wc.view(&child)?;
                    let file = view.as_ref().is_some_and(|v| v.top().kind == Kind::File);
                    if depth == Depth::Immediates || file {
                        revert_tree(wc, &child, false, options, gathered)?;
                    }
                }
            }
            Depth::Unknown | Depth::Exclude => {
                return Err(Error::new(ErrorCode::WC_INVALID_OPERATION_DEPTH, ""));
            }
        }
    }
    Ok(())
}

/// The children that the highest layer of a directory has, and those that only have conflicts.
fn known_children(db: &Db, relpath: &RelPath) -> Result<Vec<RelPathBuf>> {
    let nodes = db.children(relpath)?;
    Ok(nodes.into_iter().map(|view| view.relpath().to_owned()).collect())
}

fn revert_changelists(
    wc: &WorkingCopy,
    relpath: &RelPath,
    depth: Depth,
    options: &RevertOptions,
    gathered: &GatheredChanges<'_>,
) -> Result<()> {
    gathered.step()?;
    let view = wc.view(relpath)?;
    if view.as_ref().is_some_and(|v| matches_changelist(v, &options.changelists)) {
        revert_tree(wc, relpath, false, options, gathered)?;
    }
    let deeper = match depth {
        Depth::Empty => return Ok(()),
        Depth::Files | Depth::Immediates => Depth::Empty,
        depth => depth,
    };
    for child in known_children(wc.db(), relpath)? {
        revert_changelists(wc, &child, deeper, options, gathered)?;
    }
    Ok(())
}

fn revert_tree(
    wc: &WorkingCopy,
    relpath: &RelPath,
    deep: bool,
    options: &RevertOptions,
    gathered: &GatheredChanges<'_>,
) -> Result<()> {
    let mut gone = RemovedRows::default();
    wc.db().write(|db| {
        if deep {
            revert_rows_below(wc.disk(), db, relpath, options, &mut gone)
        } else {
            revert_row(db, wc.disk(), relpath, options, &mut gone)
        }
    })?;
    let mut todo = None;
    if deep && !options.metadata_only {
        // What was seen before is compared with what is committed.
        gathered.commit_now()?;
        let mut paths = unsettled(wc, relpath)?;
        for parent in gone.0.keys().filter_map(|path| parent_of(path)) {
            add_with_parents(&mut paths, parent);
        }
        todo = Some(paths);
    }
    let mut restore = Restore { wc, options, gathered, gone, todo };
    let view = wc.view(relpath)?;
    restore.node(relpath, view.as_ref(), deep, true)
}

/// Reverts the rows of one path.
fn revert_row(
    db: &Db,
    disk: &Disk,
    relpath: &RelPath,
    options: &RevertOptions,
    gone: &mut RemovedRows,
) -> Result<()> {
    let children = || {
        Error::new(
            ErrorCode::WC_INVALID_OPERATION_DEPTH,
            format!(
                "Can't revert '{}' without reverting children",
                disk.abspath(relpath).display()
            ),
        )
    };
    let Some(top) = db.top(relpath)? else {
        gone.actual(db, relpath, false)?;
        if !db.remove_actual(relpath)? {
            return Err(Error::NodeNotFound(disk.abspath(relpath)));
        }
        return if db.actual_children(relpath)?.is_empty() { Ok(()) } else { Err(children()) };
    };
    let op_depth = top.op_depth;
    if let Some(to) = &top.moved_to {
        let source = MovedSource { relpath: relpath.to_owned(), op_depth, moved_to: to.clone() };
        db.break_move(&source)?;
    }
    if op_depth > 0 && op_depth == depth_of(relpath) {
        let (lo, hi) = subtree(relpath);
        let id = db.wc_id();
        if has_own_children(db, relpath, op_depth)? {
            return Err(children());
        }
        let deepened = db.execute(
            "UPDATE nodes SET op_depth = ?3 + 1 WHERE wc_id = ?1 AND local_relpath > ?4 AND \
             local_relpath < ?5 AND op_depth = ?3 AND ?2 = ?2",
            params![id, relpath.as_str(), op_depth, lo, hi],
        )?;
        gone.layers(db, relpath, op_depth, false)?;
        db.remove_node(relpath, op_depth)?;
        if db.top(relpath)?.is_none() {
            db.remove_wc_lock(relpath)?;
        }
        if top.moved_here {
            clear_moved_to(db, relpath)?;
        }
        if deepened > 0 && top.moved_to.is_none() {
            for raised in raise_moves_of_revert(db, disk, relpath)? {
                gone.0.entry(raised).or_default().raised = true;
            }
        }
    }
    gone.actual(db, relpath, false)?;
    db.clear_actual(relpath, options.clear_changelists)
}

/// When a deletion goes that is in conflict with an update: what was moved away from below it is in
/// conflict now. Returns where.
fn raise_moves_of_revert(db: &Db, disk: &Disk, relpath: &RelPath) -> Result<Vec<RelPathBuf>> {
    let Some(record) = db.actual(relpath)?.and_then(|a| a.conflict_data) else {
        return Ok(Vec::new());
    };
    let conflict = Conflict::parse(&record)?;
    let gone = conflict
        .tree
        .as_ref()
        .is_some_and(|tree| matches!(tree.reason, Reason::Deleted | Reason::Replaced));
    let operation =
        conflict.operation.filter(|o| gone && matches!(o, Operation::Update | Operation::Switch));
    let under = db.top(relpath)?.map(|row| row.op_depth);
    let (Some(operation), Some(under)) = (operation, under) else { return Ok(Vec::new()) };
    let raised = raise_moves(db, disk, relpath, under, &conflict, operation)?;
    Ok(raised.into_iter().map(|(relpath, _)| relpath).collect())
}

/// Reverts the rows of a path and all below.
fn revert_rows_below(
    disk: &Disk,
    db: &Db,
    relpath: &RelPath,
    options: &RevertOptions,
    gone: &mut RemovedRows,
) -> Result<()> {
    let Some(top) = db.top(relpath)? else {
        gone.actual(db, relpath, false)?;
        if db.remove_actual(relpath)? {
            return Ok(());
        }
        return Err(Error::NodeNotFound(disk.abspath(relpath)));
    };
    let op_depth = top.op_depth;
    if op_depth > 0 && op_depth != depth_of(relpath) {
        return Err(Error::new(
            ErrorCode::WC_INVALID_OPERATION_DEPTH,
            format!("Can't revert '{}' without reverting parent", disk.abspath(relpath).display()),
        ));
    }
    let (lo, hi) = subtree(relpath);
    let outside = db.all(
        "SELECT local_relpath, op_depth, moved_to FROM nodes WHERE wc_id = ?1 AND (local_relpath \
         = ?2 OR (local_relpath > ?3 AND local_relpath < ?4)) AND op_depth >= ?5 AND moved_to IS \
         NOT NULL AND NOT (moved_to > ?3 AND moved_to < ?4)",
        params![db.wc_id(), relpath.as_str(), lo, hi, op_depth],
        |row| {
            let (relpath, op_depth) = (row.relpath(0)?, row.get(1)?);
            Ok(MovedSource { relpath, op_depth, moved_to: row.relpath(2)? })
        },
    )?;
    for source in outside {
        db.break_move(&source)?;
    }
    let from = op_depth.max(1);
    gone.layers(db, relpath, from, true)?;
    db.remove_layers_from(relpath, from)?;
    gone.actual(db, relpath, true)?;
    db.clear_actual_below(relpath, options.clear_changelists)?;
    db.remove_orphan_locks(relpath)?;
    db.execute(
        "UPDATE nodes SET moved_to = NULL WHERE wc_id = ?1 AND op_depth > 0 AND moved_to > ?2 AND \
         moved_to < ?3",
        params![db.wc_id(), lo, hi],
    )?;
    if op_depth > 0 && top.moved_here {
        clear_moved_to(db, relpath)?;
    }
    Ok(())
}

/// Whether a file differs in any way from what a checkout would write.
fn differs_exactly(wc: &WorkingCopy, view: &View) -> Result<bool> {
    let relpath = view.relpath();
    let path = wc.abspath(relpath);
    let Some(sum) = view.top().checksum else { return Ok(true) };
    let form = wc.translation(relpath, &view.props()?)?;
    let failed = |e| Error::io(e, "Can't read file", &path);
    if form.special {
        let Some(pristine) = at_hand(wc.db(), wc.disk(), &sum)? else {
            return wc.file_modified(view);
        };
        let working = special::read_normal(&path).map_err(failed)?;
        return files::same_contents(working, pristine).map(|same| !same).map_err(failed);
    }
    let pristine = match at_hand(wc.db(), wc.disk(), &sum)? {
        Some(file) => TextBase::Kept(file),
        None if wc.file_modified(view)? => return Ok(true),
        // The same text may have another form on disk than a checkout would give it.
        None => TextBase::Working(form.normal_form(&path, true)?),
    };
    let working = fs::File::open(&path).map_err(failed)?;
    let same = if form.is_needed() {
        let translator = form.translator(Direction::ToWorking, false)?;
        files::same_contents(TranslatedReader::new(pristine, translator), working)
    } else {
        files::same_contents(pristine, working)
    };
    same.map(|same| !same).map_err(failed)
}

/// Whether there are children that a revert of a directory alone would take the ground from: changed ones, those of its own
/// layer, or conflicts without a node.
fn has_own_children(db: &Db, relpath: &RelPath, op_depth: i64) -> Result<bool> {
    let found: Option<i64> = db.first(
        "SELECT 1 FROM nodes WHERE wc_id = ?1 AND parent_relpath = ?2 AND (op_depth > ?3 OR \
         (op_depth = ?3 AND presence IN ('normal', 'incomplete'))) UNION ALL SELECT 1 FROM \
         actual_node a WHERE wc_id = ?1 AND parent_relpath = ?2 AND NOT EXISTS (SELECT 1 FROM \
         nodes n WHERE wc_id = ?1 AND n.local_relpath = a.local_relpath)",
        params![db.wc_id(), relpath.as_str(), op_depth],
        |row| row.get(0),
    )?;
    Ok(found.is_some())
}

fn clear_moved_to(db: &Db, relpath: &RelPath) -> Result<()> {
    db.execute(
        "UPDATE nodes SET moved_to = NULL WHERE wc_id = ?1 AND moved_to = ?2 AND op_depth > 0",
        params![db.wc_id(), relpath.as_str()],
    )?;
    Ok(())
}

/// What is on disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OnDisk {
    Nothing,
    File,
    Dir,
    Other,
}

impl OnDisk {
    /// What is at a path, by what the file system says of it as a file.
    fn at(path: &Path, stat: Option<FileStat>) -> Self {
        let is_dir = || fs::symlink_metadata(path).is_ok_and(|m| m.is_dir());
        match stat {
            Some(stat) if stat.file || stat.link => Self::File,
            _ if is_dir() => Self::Dir,
            Some(_) => Self::Other,
            None => Self::Nothing,
        }
    }
}

/// The part of a revert that works on the disk.
struct Restore<'r> {
    wc: &'r WorkingCopy,
    options: &'r RevertOptions,
    gathered: &'r GatheredChanges<'r>,
    gone: RemovedRows,
    /// The only paths below the target that need a look, beside those of `gone`; `None` for all.
    todo: Option<HashSet<RelPathBuf>>,
}

/// What is to be on disk in the place of a path.
struct ExpectedOnDisk<'w> {
    view: Option<&'w View>,
    kind: Kind,
    /// Whether a node is there for the user.
    there: bool,
}

impl Restore<'_> {
    fn node(
        &mut self,
        relpath: &RelPath,
        view: Option<&View>,
        deep: bool,
        target: bool,
    ) -> Result<()> {
        self.gathered.step()?;
        if !target && self.wc.abspath(relpath).join(".svn").is_dir() {
            self.report(Action::UpdateSkipObstruction, relpath);
            return Ok(());
        }
        let row = self.gone.0.remove(relpath);
        let mut changed = row.as_ref().is_some_and(|r| r.layer.is_some() || r.notify);
        let layer = row.as_ref().and_then(|r| r.layer);
        let copied =
            layer.is_some_and(|(op_depth, copied, _)| copied && op_depth == depth_of(relpath));
        let wanted = match view {
            Some(view) => {
                ExpectedOnDisk { view: Some(view), kind: view.top().kind, there: is_there(view) }
            }
            None if !self.options.remove_added && !copied => {
                if changed {
                    self.report(Action::Revert, relpath);
                }
                self.gone.notify(self.wc, relpath, &|value| self.gathered.notify(value));
                return Ok(());
            }
            None => ExpectedOnDisk { view: None, kind: Kind::Unknown, there: false },
        };
        let is_dir = wanted.view.is_some() && wanted.kind == Kind::Dir;
        if !self.options.metadata_only {
            let was = copied.then(|| layer.map(|(_, _, kind)| kind)).flatten();
            self.on_disk(relpath, &wanted, was, &mut changed)?;
        }
        if let Some(conflict) = row.as_ref().and_then(|r| r.conflict.as_deref()) {
            for file in crate::status::markers(conflict)? {
                changed |= fs::remove_file(self.wc.abspath(&file)).is_ok();
            }
        }
        if changed {
            self.report(Action::Revert, relpath);
        }
        if deep && is_dir {
            self.below(relpath)?;
        }
        if target || is_dir {
            self.gone.notify(self.wc, relpath, &|value| self.gathered.notify(value));
        }
        Ok(())
    }

    /// What is below a directory.
    fn below(&mut self, relpath: &RelPath) -> Result<()> {
        self.remove_copies(relpath)?;
        let children = match &self.todo {
            Some(todo) if !todo.contains(relpath) => Vec::new(),
            _ => self.wc.children(relpath)?,
        };
        for child in children {
            if self.needs_look(child.relpath()) {
                self.node(child.relpath(), Some(&child), true, false)?;
            }
        }
        Ok(())
    }

    fn needs_look(&self, relpath: &RelPath) -> bool {
        let todo = self.todo.as_ref();
        todo.is_none_or(|todo| todo.contains(relpath) || self.gone.0.contains_key(relpath))
    }

    fn report(&self, action: Action, relpath: &RelPath) {
        super::notify_path(self.wc.disk(), &|value| self.gathered.notify(value), action, relpath);
    }

    /// Removes copies below a directory that are gone from the database: files, and directories that
    /// are empty then.
    fn remove_copies(&self, relpath: &RelPath) -> Result<()> {
        let copied = self.gone.copied_below(relpath);
        for (at, kind) in &copied {
            let path = self.wc.abspath(at);
            let is_file = || fs::symlink_metadata(&path).is_ok_and(|m| !m.is_dir());
            if *kind == Kind::File && is_file() {
                fs::remove_file(&path).map_err(|e| Error::io(e, "Can't remove file", &path))?;
            }
        }
        for (at, _) in copied.iter().rev().filter(|(_, kind)| *kind == Kind::Dir) {
            remove_if_empty(&self.wc.abspath(at))?;
        }
        Ok(())
    }

    fn on_disk(
        &mut self,
        relpath: &RelPath,
        wanted: &ExpectedOnDisk<'_>,
        copied: Option<Kind>,
        changed: &mut bool,
    ) -> Result<()> {
        let path = self.wc.abspath(relpath);
        let stat = stat_file(&path)?;
        let mut found = OnDisk::at(&path, stat);
        let gone = |e| Error::io(e, "Can't remove file", &path);
        match (copied, found) {
            (Some(Kind::File), OnDisk::File) => {
                fs::remove_file(&path).map_err(gone)?;
                found = OnDisk::Nothing;
            }
            (Some(Kind::Dir), OnDisk::Dir) => {
                self.remove_copies(relpath)?;
                if remove_if_empty(&path)? {
                    found = OnDisk::Nothing;
                }
            }
            _ => {}
        }
        match found {
            OnDisk::Dir if wanted.kind != Kind::Dir => {
                fs::remove_dir_all(&path).map_err(gone)?;
                found = OnDisk::Nothing;
            }
            OnDisk::File if wanted.kind != Kind::File => {
                let link = stat.is_some_and(|s| s.link);
                if !(link && wanted.kind == Kind::Dir) {
                    fs::remove_file(&path).map_err(gone)?;
                    found = OnDisk::Nothing;
                }
            }
            OnDisk::File if wanted.there => {
                if let (Some(view), Some(stat)) = (wanted.view, stat)
                    && self.file(view, &path, stat, changed)?
                {
                    found = OnDisk::Nothing;
                }
            }
            _ => {}
        }
        if found == OnDisk::Nothing && wanted.there {
            self.put_there(relpath, &path, wanted.kind)?;
            *changed = true;
        }
        Ok(())
    }

    /// Makes a directory; a file is written when the work that waits is done.
    fn put_there(&self, relpath: &RelPath, path: &Path, kind: Kind) -> Result<()> {
        match kind {
            Kind::Dir => {
                fs::create_dir(path).map_err(|e| Error::io(e, "Can't create directory", path))
            }
            Kind::File => self
                .wc
                .db()
                .add_work(&WorkItem::FileInstall {
                    relpath: relpath.to_owned(),
                    use_commit_times: self.wc.options().use_commit_times,
                    record_fileinfo: true,
                    source: None,
                })
                .map(|_| ()),
            Kind::Symlink | Kind::Unknown => Ok(()),
        }
    }

    /// Handles an existing file: returns whether it must be written again. Otherwise its permission
    /// bits are corrected.
    fn file(&self, view: &View, path: &Path, stat: FileStat, changed: &mut bool) -> Result<bool> {
        let props = view.pristine_props()?;
        if props.get(names::SPECIAL).is_some() != stat.link {
            fs::remove_file(path).map_err(|e| Error::io(e, "Can't remove file", path))?;
            return Ok(true);
        }
        let row = view.top();
        if !(stat.is_recorded_in(row) && stat.mtime != 0) {
            let may_record = may_record(self.wc, &stat);
            if differs_exactly(self.wc, view)? {
                return Ok(true);
            }
            if may_record {
                self.wc.db().record_fileinfo(view.relpath(), stat.size, stat.mtime)?;
            }
        }
        if stat.link {
            return Ok(false);
        }
        let failed = |e| Error::io(e, "Can't set permissions", path);
        let mode = fs::metadata(path).map_err(failed)?.permissions().mode();
        let mut wanted = mode;
        if view.status() == Status::Normal {
            let read_only = mode & 0o200 == 0;
            if props.get(NEEDS_LOCK).is_some() && !read_only {
                wanted &= !0o222;
            } else if props.get(NEEDS_LOCK).is_none() && read_only {
                wanted |= 0o200;
            }
        }
        match (props.get(names::EXECUTABLE).is_some(), mode & 0o100 != 0) {
            (true, false) => wanted |= (mode & 0o444) >> 2,
            (false, true) => wanted &= !0o111,
            _ => {}
        }
        if wanted != mode {
            fs::set_permissions(path, fs::Permissions::from_mode(wanted)).map_err(failed)?;
            *changed = true;
        }
        Ok(false)
    }
}

/// Whether a node is to be on disk.
fn is_there(view: &View) -> bool {
    matches!(view.status(), Status::Normal | Status::Incomplete | Status::Added)
        && view.top().presence != Presence::BaseDeleted
}

/// Removes a directory if there is nothing in it; whether it is gone.
fn remove_if_empty(path: &Path) -> Result<bool> {
    match fs::remove_dir(path) {
        Ok(()) => Ok(true),
        Err(e) if crate::status::is_missing(&e) => Ok(true),
        Err(e) if e.kind() == std::io::ErrorKind::DirectoryNotEmpty => Ok(false),
        Err(e) => Err(Error::io(e, "Can't remove directory", path)),
    }
}
