//! The update editor: brings a working copy to the state that the other side of an edit sends, for
//! checkout, update and switch.
//!
//! BASE takes every change. Where the user has changed, moved or deleted a node or put something in
//! its place, the change is merged, or shadowed (BASE changes below the user's layer), or a conflict
//! is recorded; the user's data is never overwritten. Directories are marked incomplete in BASE from
//! when they are opened until they are closed, so that an update that was interrupted can continue.
//!
//! | file | holds |
//! | --- | --- |
//! | `batch` | steps that are written together |
//! | `writers` | threads that write files meanwhile |
//! | `node` | what is known of an open node, and what directories and files do alike |
//! | `dirs`, `files` | what only an open directory or file has, and what closing it does |
//! | `opening` | what is decided when a node is opened, added, deleted or absent |
//! | `conflicts` | tree conflicts |
//! | `text` | receiving texts |

mod batch;
mod conflicts;
mod dirs;
mod files;
mod node;
mod opening;
mod text;
mod writers;
use std::collections::{HashMap, HashSet};

use batch::{Batch, Step};
use dirs::Dir;
use files::OpenFile;
use sapwood_core::exact::Exact;
use sapwood_core::notify::{Action, Notify};
use sapwood_core::paths::{RelPath, RelPathBuf};
use sapwood_core::props::names;
use sapwood_core::{CancelToken, Depth, ErrorCode, NodeKind, PropList, Revnum, SvnResult};
use sapwood_delta::{EditStep, Handle, StepEditor};

use crate::base::follow::bump_moved_away;
use crate::base::{Bump, Removal};
use crate::conflict::PropChange;
use crate::db::{InheritedProps, Presence, depth_of};
use crate::error::{Error, Result};
use crate::root::WorkingCopy;
use crate::work_item::WorkItem;
pub(crate) use node::LastChange;

/// The target and the options of an update.
pub struct Params<'a> {
    /// The directory that the edit is anchored at, below the working copy's root.
    pub anchor: RelPathBuf,
    /// The name in it that the edit is about; empty for the anchor itself.
    pub target: RelPathBuf,
    /// With a switch: the new path of the target in the repository.
    pub switch_to: Option<RelPathBuf>,
    /// The depth.
    pub depth: Depth,
    /// Whether the target's depth is changed to that one.
    pub depth_is_sticky: bool,
    /// Whether existing unversioned files and directories may become the added nodes.
    pub allow_obstructions: bool,
    /// Whether local additions are treated as changes of nodes that the update adds.
    pub adds_as_modification: bool,
    /// Whether the target was made by this checkout: nothing can be in the way.
    pub clean_checkout: bool,
    /// Properties that roots and switched nodes inherit, by path.
    pub inherited: HashMap<RelPathBuf, InheritedProps>,
    /// What directories that an update of less depth leaves incomplete hold in the repository, by
    /// their paths in it.
    pub children: HashMap<RelPathBuf, Vec<(String, NodeKind)>>,
    /// Called for everything that happens.
    pub notify: Option<&'a dyn Fn(&Notify<'_>)>,
    /// Asks to stop.
    pub cancel: CancelToken,
    /// `diff3-cmd`.
    pub diff3: Option<crate::conflict::ExternalMerge<'a>>,
}

/// An update in progress.
pub struct UpdateEditor<'a> {
    wc: WorkingCopy,
    params: Params<'a>,
    /// The target, below the root.
    target: RelPathBuf,
    repos_id: i64,
    repos_root: String,
    repos_uuid: String,
    revision: Option<Revnum>,
    root_opened: bool,
    target_deleted: bool,
    edited: bool,
    skipped: HashSet<RelPathBuf>,
    batch: Batch,
    dirs: HashMap<u64, Dir>,
    files: HashMap<u64, OpenFile>,
    next: u64,
    /// The target is a file external: it has a name of its own, and nothing else changes.
    file_external: bool,
    /// Whether a file was closed that was not skipped.
    file_closed: bool,
    /// Whether the directory for temporary files was checked.
    temporary_seen: bool,
}

impl std::fmt::Debug for UpdateEditor<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("UpdateEditor").field("target", &self.target).finish_non_exhaustive()
    }
}

impl<'a> UpdateEditor<'a> {
    /// Begins an update. The caller holds a lock over the anchor.
    ///
    /// # Errors
    /// That the anchor is not in BASE; SQLite's.
    pub fn new(wc: &WorkingCopy, params: Params<'a>) -> Result<Self> {
        let repos_id = match wc.db().base(&params.anchor)? {
            Some(anchor) => anchor.repos_id.ok_or_else(|| Error::Corrupt {
                path: wc.abspath(&params.anchor),
                what: "a BASE node has no repository".to_owned(),
            })?,
            // File externals may be in directories that are not committed.
            // A file external may lie in a folder that is not versioned.
            None => {
                let mut at = params.anchor.as_path();
                while !at.is_empty() && wc.db().top(at)?.is_none() {
                    at = at.parent();
                }
                wc.repos_location(at)?.0
            }
        };
        let repos = wc.db().repository(repos_id)?;
        wc.db().expect_changes()?;
        let mut params = params;
        if params.depth == Depth::Unknown {
            params.depth_is_sticky = false;
        }
        Ok(Self {
            target: params.anchor.join(&params.target),
            wc: wc.clone(),
            params,
            repos_id,
            repos_root: repos.root.into_string(),
            repos_uuid: repos.uuid,
            revision: None,
            root_opened: false,
            target_deleted: false,
            edited: false,
            skipped: HashSet::new(),
            batch: Batch::default(),
            dirs: HashMap::new(),
            files: HashMap::new(),
            next: 0,
            file_external: false,
            file_closed: false,
            temporary_seen: false,
        })
    }

    /// Says that the target is a file external.
    pub const fn for_file_external(&mut self) {
        self.file_external = true;
    }

    /// The revision that was reached.
    #[must_use]
    pub const fn revision(&self) -> Option<Revnum> {
        self.revision
    }

    fn to_revision(&self) -> Result<Revnum> {
        self.revision.ok_or_else(|| protocol("No target revision was set"))
    }

    fn is_switch(&self) -> bool {
        self.params.switch_to.is_some()
    }

    fn handle(&mut self) -> u64 {
        self.next = self.next.plus(1);
        self.next
    }

    fn dir(&self, handle: u64) -> Result<&Dir> {
        self.dirs.get(&handle).ok_or_else(|| protocol("A directory that is not open was named"))
    }

    fn dir_mut(&mut self, handle: u64) -> Result<&mut Dir> {
        self.dirs.get_mut(&handle).ok_or_else(|| protocol("A directory that is not open was named"))
    }

    fn file_mut(&mut self, handle: u64) -> Result<&mut OpenFile> {
        self.files.get_mut(&handle).ok_or_else(|| protocol("A file that is not open was named"))
    }

    /// Adds a step, and writes the batch when it is time.
    fn step(&mut self, step: Step) -> Result<()> {
        self.batch.add(step);
        if self.batch.is_full() { self.batch.flush(&self.wc) } else { Ok(()) }
    }

    /// Writes everything that is pending, including the last working file.
    fn flush(&mut self) -> Result<()> {
        self.batch.flush(&self.wc)?;
        self.batch.wait(&self.wc)
    }

    /// Runs a step with several database queries under one lock.
    fn ask<T>(&mut self, step: impl FnOnce(&mut Self) -> Result<T>) -> SvnResult<T> {
        let wc = self.wc.clone();
        Ok(wc.db().questions(|| step(self))?)
    }

    /// Called before a query about a path: writes the pending steps, if they are about that path.
    fn flush_if_touched(&mut self, relpath: &RelPath) -> Result<()> {
        if self.batch.touches(relpath) { self.flush() } else { Ok(()) }
    }

    fn check_cancel(&self) -> Result<()> {
        if self.params.cancel.is_cancelled() { Err(Error::Cancelled) } else { Ok(()) }
    }

    fn skip(&mut self, relpath: &RelPath) {
        self.skipped.insert(relpath.to_owned());
    }

    fn notify(&self, relpath: &RelPath, action: Action, kind: Option<NodeKind>) {
        self.notify_value(relpath, Notify { kind, ..Notify::new(action, "") });
    }

    /// Reports a value with the path filled in.
    fn notify_value(&self, relpath: &RelPath, value: Notify<'_>) {
        if let Some(notify) = self.params.notify {
            let path = self.wc.abspath(relpath);
            let path = path.to_string_lossy();
            notify(&Notify { path: &path, ..value });
        }
    }

    /// Whether a path is the root of another working copy (an external, or put there by the user).
    fn is_other_root(&self, relpath: &RelPath) -> bool {
        !relpath.is_empty()
            && crate::layout::db(&self.wc.abspath(relpath)).symlink_metadata().is_ok()
    }

    /// The end of the edit: everything that was not skipped is at the new revision.
    fn finish(&mut self) -> Result<()> {
        self.flush()?;
        let revision = self.to_revision()?;
        let target = self.target.clone();
        if !self.root_opened && self.params.target.is_empty() {
            self.wc.db().end_directory(&self.params.anchor)?;
        }
        // A file external that came anew has its row as it should be.
        let whole = self.file_external && self.file_closed;
        if !self.target_deleted && !whole {
            let bump = Bump {
                revision,
                repos: self.params.switch_to.as_deref().map(|path| (self.repos_id, path)),
                skipped: &self.skipped,
                inherited: &self.params.inherited,
            };
            let depth = self.params.depth;
            let moved = self.wc.db().write(|db| {
                let everything = target.is_empty()
                    && matches!(depth, Depth::Infinity | Depth::Unknown)
                    && bump.skipped.is_empty()
                    && bump.repos.is_none();
                match everything.then(|| self.wc.even()).flatten() {
                    Some(even) => db.bump_even(&even, &bump)?,
                    None => db.bump(&target, depth, &bump)?,
                }
                let moved = if self.skipped.contains(&target) {
                    Vec::new()
                } else {
                    bump_moved_away(&self.wc, &target, depth)?
                };
                if !self.params.target.is_empty()
                    && db.base(&target)?.is_some_and(|b| b.presence == Presence::Excluded)
                {
                    let how = Removal { keep_as_working: true, ..Removal::default() };
                    db.remove_base(&target, &how)?;
                }
                Ok(moved)
            })?;
            for (relpath, kind) in moved {
                self.notify(&relpath, Action::TreeConflict, kind);
            }
        }
        if self.is_switch() && !self.file_external {
            self.install_keywords_again(&target)?;
        }
        self.batch.finish(&self.wc)?;
        self.wc.run_queue(&self.params.cancel)
    }

    /// After a switch URLs have changed: files that show theirs are written anew.
    fn install_keywords_again(&mut self, target: &RelPath) -> Result<()> {
        let depth = match self.params.depth {
            Depth::Unknown | Depth::Exclude | Depth::Empty => Depth::Infinity,
            other => other,
        };
        let level = depth_of(target);
        for relpath in self.wc.db().files_with_property(target, names::KEYWORDS)? {
            let below = depth_of(&relpath) - level;
            if depth != Depth::Infinity && below > 1 {
                continue;
            }
            let Some(view) = self.wc.view(&relpath)? else { continue };
            let row = view.top();
            if row.kind != crate::db::Kind::File || !row.presence.is_there() {
                continue;
            }
            if view.props()?.get(names::KEYWORDS).is_none() {
                continue;
            }
            if crate::view::stat_file(&self.wc.abspath(&row.relpath))?.is_none() {
                continue;
            }
            let modified = self.wc.file_modified(&view)?;
            let source = if modified {
                let temporary = self.wc.temporary();
                let from = self.wc.abspath(&row.relpath);
                std::fs::copy(&from, &temporary).map_err(|e| Error::io(e, "Can't copy", &from))?;
                Some(self.wc.relpath(&temporary)?)
            } else {
                None
            };
            self.wc.db().write(|db| {
                db.add_work(&WorkItem::FileInstall {
                    relpath: row.relpath.clone(),
                    use_commit_times: self.wc.options().use_commit_times,
                    record_fileinfo: !modified,
                    source: source.clone(),
                })?;
                if let Some(relpath) = source {
                    db.add_work(&WorkItem::FileRemove { relpath })?;
                }
                Ok(())
            })?;
        }
        Ok(())
    }
}

/// An error for input that no server sends.
fn protocol(what: &str) -> Error {
    Error::new(ErrorCode::INCOMPLETE_DATA, what)
}

/// Sorts the changes into versioned properties and those of the last change.
pub(crate) struct SortedChanges {
    pub(crate) regular: Vec<PropChange>,
    pub(crate) dav: Vec<PropChange>,
    pub(crate) entry: Vec<PropChange>,
}

fn sort_changes(changes: Vec<PropChange>) -> SortedChanges {
    let mut sorted = SortedChanges { regular: Vec::new(), dav: Vec::new(), entry: Vec::new() };
    for change in changes {
        if change.0.starts_with(names::ENTRY_PREFIX) {
            sorted.entry.push(change);
        } else if change.0.starts_with(names::WC_PREFIX) {
            sorted.dav.push(change);
        } else {
            sorted.regular.push(change);
        }
    }
    sorted
}

/// Splits the properties that a repository sent: the versioned ones, and what the others say about
/// the last change.
pub(crate) fn split_props(props: &PropList) -> (PropList, LastChange) {
    let all = props.iter().map(|(name, value)| (name.to_owned(), Some(value.to_vec())));
    let sorted = sort_changes(all.collect());
    let mut changed = LastChange::default();
    changed.take_entry_props(&sorted.entry);
    let mut regular = PropList::new();
    for (name, value) in sorted.regular {
        regular.set(&name, value.unwrap_or_default());
    }
    (regular, changed)
}

fn is_regular(name: &str) -> bool {
    !name.starts_with(names::ENTRY_PREFIX) && !name.starts_with(names::WC_PREFIX)
}

impl UpdateEditor<'_> {
    /// Gives the edit up. Texts that were received whole are kept: the next update need not fetch them again.
    fn abort(&mut self) -> SvnResult<()> {
        self.flush()?;
        Ok(self.batch.finish(&self.wc)?)
    }
}

impl StepEditor for UpdateEditor<'_> {
    fn step(&mut self, step: EditStep<'_>) -> SvnResult<Handle> {
        use NodeKind::{Dir, File};
        match step {
            EditStep::TargetRevision(revision) => self.revision = Some(revision),
            EditStep::OpenRoot(_) => return self.ask(Self::begin_root).map(Handle),
            EditStep::Add { kind, path, parent, .. } => {
                let begin = if kind == Dir { Self::begin_new_dir } else { Self::begin_new_file };
                return self.ask(|this| begin(this, path, parent.0)).map(Handle);
            }
            EditStep::Open { kind, path, parent, .. } => {
                let begin = if kind == Dir { Self::begin_dir } else { Self::begin_file };
                return self.ask(|this| begin(this, path, parent.0)).map(Handle);
            }
            EditStep::Delete { path, parent, .. } => {
                self.ask(|this| this.delete(path, parent.0))?;
            }
            EditStep::Absent { kind, path, parent } => {
                self.ask(|this| this.absent(path, kind, parent.0))?;
            }
            EditStep::Prop { kind: Dir, node, name, value } => {
                self.change_prop(node.0, name, value)?;
            }
            EditStep::Prop { kind: File, node, name, value } => {
                self.change_file(node.0, name, value)?;
            }
            EditStep::Text { file, base, delta } => self.receive_text(file.0, base, delta)?,
            EditStep::CloseDirectory(dir) => self.ask(|this| this.end_dir(dir.0))?,
            EditStep::CloseFile { file, text } => {
                self.check_cancel()?;
                self.ask(|this| this.end_file(file.0, text))?;
            }
            EditStep::CloseEdit => self.finish()?,
            EditStep::AbortEdit => self.abort()?,
        }
        Ok(Handle::NONE)
    }
}
