//! Missing files that a report finds are written again, many of them together.
//!
//! Invariant: they are written, and reported, in the order in which they were found; a directory is there before what is
//! below it is looked at.

use sapwood_core::notify::{Action, Notify};
use sapwood_core::paths::{RelPath, RelPathBuf};
use sapwood_core::{CancelToken, NodeKind};

use crate::conflict::Conflict;
use crate::db::Kind;
use crate::error::Result;
use crate::root::WorkingCopy;
use crate::view::{Status, View};
use crate::work_item::WorkItem;

/// How many files are written together.
const TOGETHER: usize = 1000;

/// Nodes that are missing on disk, and wait to be written again.
pub(super) struct Restorer<'a> {
    pub(super) wc: &'a WorkingCopy,
    /// Called for each of them.
    pub(super) notify: Option<&'a dyn Fn(&Notify<'_>)>,
    /// In the order in which they were found.
    waiting: Vec<RelPathBuf>,
}

impl<'a> Restorer<'a> {
    pub(super) const fn new(wc: &'a WorkingCopy, notify: Option<&'a dyn Fn(&Notify<'_>)>) -> Self {
        Self { wc, notify, waiting: Vec::new() }
    }

    /// Adds a file, which may wait for others.
    pub(super) fn file(&mut self, relpath: &RelPath) -> Result<()> {
        self.waiting.push(relpath.to_owned());
        if self.waiting.len() < TOGETHER { Ok(()) } else { self.flush() }
    }

    /// Writes a node after all that was found before it: a directory is looked into next.
    pub(super) fn at_once(&mut self, relpath: &RelPath) -> Result<()> {
        self.waiting.push(relpath.to_owned());
        self.flush()
    }

    /// Writes all that wait, unless the user has deleted them.
    pub(super) fn flush(&mut self) -> Result<()> {
        if self.waiting.is_empty() {
            return Ok(());
        }
        let waiting = std::mem::take(&mut self.waiting);
        let db = self.wc.db();
        let views: Vec<Option<View>> =
            db.questions(|| waiting.iter().map(|relpath| self.wc.view(relpath)).collect())?;
        let wanted: Vec<View> = views.into_iter().flatten().filter(is_wanted).collect();
        for view in wanted.iter().filter(|view| view.top().kind == Kind::Dir) {
            crate::files::ensure_directory(&self.wc.abspath(&view.top().relpath))?;
        }
        let files = || wanted.iter().filter(|view| view.top().kind != Kind::Dir);
        if files().next().is_some() {
            db.write(|db| files().try_for_each(|view| db.add_work(&self.install(view)).map(drop)))?;
            self.wc.run_queue(&CancelToken::new())?;
        }
        files().try_for_each(|view| self.resolve_text(view))?;
        wanted.iter().for_each(|view| self.report(view));
        Ok(())
    }

    fn install(&self, view: &View) -> WorkItem {
        WorkItem::install(view.top().relpath.clone(), self.wc.options().use_commit_times)
    }

    /// A file that was removed with a text conflict and comes back has none.
    fn resolve_text(&self, view: &View) -> Result<()> {
        let Some(actual) = &view.actual else { return Ok(()) };
        let Some(bytes) = &actual.conflict_data else { return Ok(()) };
        let mut conflict = Conflict::parse(bytes)?;
        let Some(text) = conflict.text.take() else { return Ok(()) };
        let mut row = actual.clone();
        row.conflict_data = (!conflict.is_resolved()).then(|| conflict.write());
        self.wc.db().write(|db| {
            db.put_actual(&row)?;
            for relpath in [text.old, text.mine, text.theirs].into_iter().flatten() {
                db.add_work(&WorkItem::FileRemove { relpath })?;
            }
            Ok(())
        })?;
        self.wc.run_queue(&CancelToken::new())
    }

    fn report(&self, view: &View) {
        let Some(notify) = self.notify else { return };
        let path = self.wc.abspath(&view.top().relpath);
        let path = path.to_string_lossy();
        let mut value = Notify::new(Action::Restore, &path);
        value.kind = Some(NodeKind::File);
        notify(&value);
    }
}

/// Whether a missing node is to be written again.
fn is_wanted(view: &View) -> bool {
    let there = matches!(view.status(), Status::Normal | Status::Added | Status::Incomplete);
    there && (view.top().kind == Kind::Dir || view.top().checksum.is_some())
}
