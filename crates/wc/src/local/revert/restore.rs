//! The part of a revert that works on the disk, when the rows are as they are to be.
//!
//! Invariant: of what is not versioned, only what stands in the place of a node is removed.

use std::collections::HashSet;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use sapwood_core::notify::Action;
use sapwood_core::paths::{RelPath, RelPathBuf};
use sapwood_core::props::names;

use super::RevertOptions;
use super::removed_rows::RemovedRows;
use crate::db::{Kind, Presence, depth_of};
use crate::error::{Error, Result};
use crate::files;
use crate::gather::GatheredChanges;
use crate::pristine::at_hand;
use crate::props::rules::NEEDS_LOCK;
use crate::root::WorkingCopy;
use crate::text_base::TextBase;
use crate::translate::{Direction, TranslatedReader, special};
use crate::view::{FileStat, Status, View, may_record, stat_file};
use crate::work_item::WorkItem;

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
pub(super) struct Restore<'r> {
    pub(super) wc: &'r WorkingCopy,
    pub(super) options: &'r RevertOptions,
    pub(super) gathered: &'r GatheredChanges<'r>,
    pub(super) gone: RemovedRows,
    /// The only paths below the target that need a look, beside those of `gone`; `None` for all.
    pub(super) todo: Option<HashSet<RelPathBuf>>,
}

/// What is to be on disk in the place of a path.
struct ExpectedOnDisk<'w> {
    view: Option<&'w View>,
    kind: Kind,
    /// Whether a node is there for the user.
    there: bool,
}

impl Restore<'_> {
    /// Brings a path to what the database says, and with `deep` what is below it. `target` is the path that the revert is of.
    pub(super) fn node(
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
        let row = self.gone.take(relpath);
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
        todo.is_none_or(|todo| todo.contains(relpath) || self.gone.has(relpath))
    }

    fn report(&self, action: Action, relpath: &RelPath) {
        crate::local::notify_path(
            self.wc.disk(),
            &|value| self.gathered.notify(value),
            action,
            relpath,
        );
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
                .add_work(&WorkItem::install(
                    relpath.to_owned(),
                    self.wc.options().use_commit_times,
                ))
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
