//! An old working copy, directory by directory, into a new database.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use sapwood_core::exact::Exact;
use sapwood_core::paths::{RelPath, RelPathBuf};
use sapwood_core::{ErrorCode, Md5, Sha1, SvnError, path, uri};

use super::ahead::{self, AHEAD, Directory, EntriesReader, Files, LockFiles};
use super::conflicts;
use super::entry::{Entries, Entry, corrupt};
use super::layers::{self, DirEntryContext, Layers, Texts};
use super::read::{self, Props};
use super::{AskRepository, Caller, UpgradeNotice};
use crate::conflict::Conflict;
use crate::db::{ActualRow, Db, Kind, LockRow, NodeRow, write_props};
use crate::error::{Error, Result};
use crate::files;
use crate::layout;
use crate::work_item::WorkItem;

/// Refuses a directory that is part of the working copy around it.
///
/// # Errors
/// E155019, with the root.
pub(super) fn check_root(dir: &Path) -> Result<()> {
    let belongs = |dir: &Path| -> Option<bool> {
        let (parent, name) = (dir.parent()?, dir.file_name()?.to_str()?);
        let entries = read::entries(parent).ok()?;
        let entry = entries.child(name)?;
        Some(!entry.is_hidden().unwrap_or(true))
    };
    let root = dir.ancestors().find(|at| belongs(at) != Some(true)).unwrap_or(dir);
    if root == dir {
        return Ok(());
    }
    let (shown, root) = (dir.display(), root.display());
    let text =
        format!("Can't upgrade '{shown}' as it is not a working copy root, the root is '{root}'");
    Err(Error::new(ErrorCode::WC_INVALID_OP_ON_CWD, text))
}

/// Makes a new working copy of an old one.
///
/// # Errors
/// Those of [`super::upgrade`].
pub(super) fn upgrade(root: &Path, entries: &Entries, caller: &mut Caller<'_>) -> Result<()> {
    prepare(root, entries, caller)?;
    let (from, to) = (layout::db(&super::workshop(root)), layout::db(root));
    fs::rename(&from, &to).map_err(|e| Error::io(e, "Can't move", &from))?;
    super::finish(root, caller)
}

/// Prepares everything in the temporary directory, without touching the old working copy except for
/// locks. When that fails, it is removed.
pub(super) fn prepare(root: &Path, entries: &Entries, caller: &mut Caller<'_>) -> Result<()> {
    let mut known = Vec::new();
    let mut this = entries.this.clone();
    find_repository(&mut this, root, &mut known, caller.ask)?;
    let workshop = super::workshop(root);
    files::remove_tree(&workshop)?;
    let pristine = layout::adm(&workshop).join(layout::PRISTINE);
    fs::create_dir_all(&pristine).map_err(|e| Error::io(e, "Can't create directory", &pristine))?;
    let locked = LockFiles::default();
    let made = std::thread::scope(|scope| {
        let mut ahead = EntriesReader::start(scope, root, &workshop, &locked);
        make((root, &workshop), known, caller, &mut ahead)
    });
    made.inspect_err(|_| {
        locked.remove();
        let _none = files::remove_tree(&workshop);
    })
}

/// The page cache of the new database (KiB): it holds all of one with 100,000 nodes, so that each page is
/// written once.
const CACHE: &str = "PRAGMA cache_size = -65536";

/// Fills a new database, in one transaction.
fn make(
    (root, workshop): (&Path, &Path),
    known: Vec<(String, String)>,
    caller: &mut Caller<'_>,
    ahead: &mut EntriesReader,
) -> Result<()> {
    let mut db = Db::create(&layout::db(workshop), caller.access)?;
    db.note_times_at(caller.recorded.clock(&layout::tmp(root)));
    db.connection().execute_batch(CACHE)?;
    db.write(|db| {
        let Some((url, uuid)) = known.first() else {
            return Err(corrupt(format!("No repository for '{}'", root.display())));
        };
        let repos_id = db.repository_id(url, uuid)?;
        let (known, counts) = (known.clone(), Counts::default());
        let mut walk = Walk { db, root, repos_id, known, caller, ahead, counts };
        db.without_counting(|| {
            walk.run()?;
            walk.write_texts()
        })?;
        let pristine = |adm: &str| RelPathBuf::trusted(format!("{adm}/{}", layout::PRISTINE));
        db.add_work(&WorkItem::FileMove {
            from: pristine(&format!("{}/{}/wcng/{}", layout::ADM, layout::TMP, layout::ADM)),
            to: pristine(layout::ADM),
        })?;
        db.add_work(&WorkItem::Postupgrade)?;
        Ok(())
    })
}

/// Finds the repository of a directory whose entry does not have it.
fn find_repository(
    this: &mut Entry,
    dir: &Path,
    known: &mut Vec<(String, String)>,
    ask: &mut AskRepository<'_>,
) -> Result<()> {
    if this.repos.is_none() || this.uuid.is_none() {
        let shown = dir.display();
        let Some(url) = &this.url else {
            let text =
                format!("Working copy '{shown}' can't be upgraded because it doesn't have a url");
            return Err(Error::new(ErrorCode::WC_UNSUPPORTED_FORMAT, text));
        };
        let near = known.iter().find(|(root, _)| uri::skip_ancestor(root, url).is_some());
        match near {
            Some((root, uuid)) => {
                this.repos.get_or_insert_with(|| root.clone());
                this.uuid.get_or_insert_with(|| uuid.clone());
            }
            None => {
                let (root, uuid) = ask(url)?;
                (this.repos, this.uuid) = (Some(root.into_string()), Some(uuid));
            }
        }
    }
    if let (Some(root), Some(uuid)) = (&this.repos, &this.uuid)
        && known.iter().all(|(other, _)| other != root)
    {
        known.push((root.clone(), uuid.clone()));
    }
    Ok(())
}

/// The path of a child that an entry names.
fn below_of(dir: &RelPath, name: &str) -> Result<RelPathBuf> {
    Ok(RelPathBuf::new(path::join(dir, name))?)
}

/// An upgrade in progress.
struct Walk<'a, 'c> {
    db: &'a Db,
    root: &'a Path,
    repos_id: i64,
    /// Roots and UUIDs of repositories.
    known: Vec<(String, String)>,
    caller: &'a mut Caller<'c>,
    /// Reads directories.
    ahead: &'a mut EntriesReader,
    counts: Counts,
}

/// The rows of PRISTINE, which are written in order at the end: written one by one, with a change of a row for
/// each node, they would take a third of the time.
#[derive(Debug, Default)]
struct Counts {
    texts: BTreeMap<Sha1, (Md5, u64)>,
    /// How many rows of NODES refer to a text.
    references: HashMap<Sha1, usize>,
}

impl Counts {
    fn add(&mut self, row: &NodeRow) {
        if let Some(sha1) = row.checksum {
            let count = self.references.entry(sha1).or_default();
            *count = count.plus(1);
        }
    }

    /// A row that was added is about to be written anew.
    fn take_back(&mut self, row: &NodeRow) {
        if let Some(count) = row.checksum.and_then(|sha1| self.references.get_mut(&sha1)) {
            *count = count.minus(1);
        }
    }
}

/// A directory that is still to be done.
struct Task {
    relpath: RelPathBuf,
    parent: Option<Rc<Layers>>,
}

/// What is broken in the entries cannot be helped.
fn hopeless(error: Error) -> Error {
    let error = SvnError::from(error);
    if error.code() != ErrorCode::WC_CORRUPT {
        return Error::Svn(error);
    }
    let text = "This working copy is corrupt and cannot be upgraded. Please check out a new working \
                copy.";
    Error::Svn(error.wrap(ErrorCode::WC_CORRUPT, text))
}

impl Walk<'_, '_> {
    fn run(&mut self) -> Result<()> {
        let mut tasks = vec![Task { relpath: RelPathBuf::default(), parent: None }];
        while let Some(task) = tasks.pop() {
            if self.caller.cancel.is_cancelled() {
                return Err(Error::Cancelled);
            }
            for next in std::iter::once(&task).chain(tasks.iter().rev().take(AHEAD)) {
                self.ahead.ask(&next.relpath)?;
            }
            let dir = self.at(&task.relpath);
            match self.ahead.take(&task.relpath)? {
                Some(directory) => {
                    let children = self.directory(&dir, &task, directory)?;
                    (self.caller.notify)(&dir, UpgradeNotice::Upgraded);
                    tasks.extend(children.into_iter().rev());
                }
                None => (self.caller.notify)(&dir, UpgradeNotice::Skipped),
            }
        }
        Ok(())
    }

    fn write_texts(&self) -> Result<()> {
        for (sha1, (md5, size)) in &self.counts.texts {
            let references = self.counts.references.get(sha1).map_or(0, |count| *count);
            self.db.add_counted_pristine(sha1, md5, *size, references)?;
        }
        Ok(())
    }

    fn at(&self, relpath: &RelPath) -> PathBuf {
        ahead::at(self.root, relpath)
    }

    /// Upgrades one directory. Returns those below it.
    fn directory(
        &mut self,
        dir: &Path,
        task: &Task,
        (mut entries, files): Directory,
    ) -> Result<Vec<Task>> {
        find_repository(&mut entries.this, dir, &mut self.known, self.caller.ask)?;
        let files = files?;
        for ((sha1, md5), size) in &files.texts.all {
            self.counts.texts.insert(*sha1, (*md5, *size));
        }
        let layers = self.entries(task, &entries, &files)?;
        let layers = Rc::new(layers);
        let mut below = Vec::new();
        for child in entries.children.iter().filter(|child| child.kind == Kind::Dir) {
            if !child.is_hidden()? {
                let relpath = below_of(&task.relpath, &child.name)?;
                below.push(Task { relpath, parent: Some(Rc::clone(&layers)) });
            }
        }
        Ok(below)
    }

    /// Writes the rows of a directory and its children.
    fn entries(&mut self, task: &Task, entries: &Entries, files: &Files) -> Result<Layers> {
        let shared =
            DirEntryContext { root: self.root, repos_id: self.repos_id, this: &entries.this };
        let parent = task.parent.as_deref();
        let relpath = &task.relpath;
        let (layers, rows) =
            layers::make(&shared, &entries.this, relpath, parent, Texts::default())
                .map_err(hopeless)?;
        self.write_this(task, &entries.this, rows, files)?;
        let mut conflicts = conflicts::of_children(&entries.this, relpath).map_err(hopeless)?;
        for child in &entries.children {
            let relpath = below_of(relpath, &child.name)?;
            let texts =
                files.texts.by_name.get(&child.name).map_or_else(Texts::default, |texts| *texts);
            let made = layers::make(&shared, child, &relpath, Some(&layers), texts);
            let (_, rows) = made.map_err(hopeless)?;
            self.write_child(child, &relpath, rows, files, &mut conflicts)?;
        }
        // Of nodes that are not there.
        for (relpath, conflict) in conflicts {
            let conflict_data = Some(conflict.write_upgraded());
            self.db.put_actual(&ActualRow { relpath, conflict_data, ..ActualRow::default() })?;
        }
        Ok(layers)
    }

    /// Writes the rows of the directory itself, over those that its parent's entries made.
    fn write_this(
        &mut self,
        task: &Task,
        entry: &Entry,
        made: Vec<NodeRow>,
        files: &Files,
    ) -> Result<()> {
        let relpath = &task.relpath;
        let mut rows = self.db.layers(relpath)?;
        rows.iter().for_each(|row| self.counts.take_back(row));
        rows.retain(|row| made.iter().all(|new| new.op_depth != row.op_depth));
        rows.extend(made);
        let working = self.complete(&mut rows, &files.own, files, "", relpath)?;
        let mut actual = self.db.actual(relpath)?.unwrap_or_default();
        actual.relpath.clone_from(relpath);
        actual.properties = working;
        if entry.changelist.is_some() {
            actual.changelist.clone_from(&entry.changelist);
        }
        if let Some(mut conflict) = conflicts::of_entry(entry, relpath)? {
            // The reference forgets the tree conflict; no user wants that.
            let older = actual.conflict_data.as_deref().map(Conflict::parse).transpose()?;
            if let Some(tree) = older {
                conflict.operation = tree.operation;
                conflict.locations = tree.locations;
                conflict.tree = tree.tree;
            }
            actual.conflict_data = Some(conflict.write_upgraded());
        }
        self.write_rows(&rows, &actual)
    }

    /// Writes the rows of a child: of a subdirectory what is known of it here.
    fn write_child(
        &mut self,
        entry: &Entry,
        relpath: &RelPath,
        mut rows: Vec<NodeRow>,
        files: &Files,
        conflicts: &mut BTreeMap<RelPathBuf, Conflict>,
    ) -> Result<()> {
        let mut working = None;
        if rows.iter().any(|row| row.kind == Kind::File) {
            let nothing = Props::default();
            let props = files.props.get(&entry.name).unwrap_or(&nothing);
            working = self.complete(&mut rows, props, files, &entry.name, relpath)?;
        }
        let mut conflict = conflicts::of_entry(entry, relpath)?;
        if let Some(mut tree) = conflicts.remove(relpath) {
            if let Some(files) = conflict {
                (tree.text, tree.prop) = (files.text, files.prop);
            }
            conflict = Some(tree);
        }
        let actual = ActualRow {
            relpath: relpath.to_owned(),
            properties: working,
            changelist: entry.changelist.clone(),
            conflict_data: conflict.map(|conflict| conflict.write_upgraded()),
            ..ActualRow::default()
        };
        self.write_rows(&rows, &actual)?;
        self.write_lock(entry, &rows)
    }

    /// Gives the rows of a node its properties and what a DAV server said; its local properties.
    fn complete(
        &self,
        rows: &mut [NodeRow],
        props: &Props,
        files: &Files,
        name: &str,
        relpath: &RelPath,
    ) -> Result<Option<Vec<u8>>> {
        rows.sort_by_key(|row| std::cmp::Reverse(row.op_depth));
        let base = rows.iter_mut().find(|row| row.op_depth == 0);
        if let (Some(base), Some(cached)) = (base, files.cached.get(name)) {
            base.dav_cache = Some(write_props(cached));
        }
        super::props::apply(rows, props, files.format, &self.at(relpath))
    }

    fn write_rows(&mut self, rows: &[NodeRow], actual: &ActualRow) -> Result<()> {
        for row in rows {
            self.db.put_node(row)?;
            self.counts.add(row);
        }
        if actual.is_empty() { Ok(()) } else { self.db.put_actual(actual) }
    }

    fn write_lock(&self, entry: &Entry, rows: &[NodeRow]) -> Result<()> {
        let base = rows.iter().find(|row| row.op_depth == 0);
        let (Some(base), Some(token)) = (base, &entry.lock_token) else { return Ok(()) };
        let (Some(repos_id), Some(place)) = (base.repos_id, &base.repos_path) else {
            return Ok(());
        };
        self.db.put_lock(&LockRow {
            repos_id,
            repos_relpath: place.clone(),
            token: token.clone(),
            owner: entry.lock_owner.clone(),
            comment: entry.lock_comment.clone(),
            date: Some(entry.lock_date).filter(|date| date.0 != 0),
        })
    }
}
