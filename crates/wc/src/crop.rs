//! Making a working copy shallower: nodes that the user no longer wants leave it.

use sapwood_core::notify::{Action, Notify};
use sapwood_core::paths::{RelPath, RelPathBuf};
use sapwood_core::{CancelToken, Depth, ErrorCode};

use crate::base::Removal;
use crate::db::{Kind, Paths, Presence, parent_of};
use crate::error::{Error, Result};
use crate::local::subtree;
use crate::root::WorkingCopy;
use crate::status::{Options, State};
use crate::view::{Status, View};

/// Called for each node that is removed.
type Notifier<'a> = Option<&'a dyn Fn(&Notify<'_>)>;

impl WorkingCopy {
    /// Whether BASE has a node from another place in the repository than its parent's.
    ///
    /// # Errors
    /// SQLite's.
    pub fn is_switched(&self, relpath: &RelPath) -> Result<bool> {
        let Some(parent) = parent_of(relpath) else { return Ok(false) };
        let (Some(base), Some(parent)) = (self.db().base(relpath)?, self.db().base(parent)?) else {
            return Ok(false);
        };
        let (Some(own), Some(above)) = (&base.repos_path, &parent.repos_path) else {
            return Ok(false);
        };
        let expected = above.child(base.name());
        Ok(base.repos_id != parent.repos_id || *own != expected)
    }

    /// The nodes below a path that are left out, by the user or by the server, by path.
    ///
    /// # Errors
    /// SQLite's.
    pub fn excluded_below(&self, relpath: &RelPath) -> Result<Vec<RelPathBuf>> {
        let (above, end) = subtree(relpath);
        self.db().all(
            "SELECT local_relpath FROM nodes WHERE wc_id = ?1 AND local_relpath > ?2 AND \
             local_relpath < ?3 AND op_depth = 0 AND presence IN ('server-excluded', 'excluded') \
             ORDER BY local_relpath",
            rusqlite::params![self.db().wc_id(), above, end],
            |row| row.relpath(0),
        )
    }

    /// Removes a node from the working copy; its parent records that it is excluded. Nodes with
    /// local changes stay.
    ///
    /// # Errors
    /// E200007 for roots, switched and locally added or deleted nodes.
    pub fn exclude(
        &self,
        relpath: &RelPath,
        notify: Notifier<'_>,
        cancel: &CancelToken,
    ) -> Result<()> {
        let shown = self.abspath(relpath);
        let shown = shown.display();
        let refuse = |why: &str| {
            let message = format!("Cannot exclude '{shown}': {why}");
            Err(Error::new(ErrorCode::UNSUPPORTED_FEATURE, message))
        };
        if relpath.is_empty() {
            return refuse("it is a working copy root");
        }
        if self.is_switched(relpath)? {
            return refuse("it is a switched path");
        }
        let view = self.present(relpath)?;
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
        if self.holds_changes(relpath, cancel)? {
            self.crop_children(relpath, depth, Depth::Empty, notify, cancel)?;
            return self.run_queue(cancel);
        }
        let how = Removal {
            marker: Some(Presence::Excluded),
            marker_revision: view.top().revision,
            ..Removal::default()
        };
        self.db().write(|db| db.remove_base(relpath, &how))?;
        self.run_queue(cancel)?;
        self.notify_removed(relpath, Action::Exclude, notify);
        Ok(())
    }

    /// Makes a directory shallower.
    ///
    /// # Errors
    /// E200007 for locally added or deleted directories.
    pub fn crop(
        &self,
        relpath: &RelPath,
        depth: Depth,
        notify: Notifier<'_>,
        cancel: &CancelToken,
    ) -> Result<()> {
        let shown = self.abspath(relpath);
        let shown = shown.display();
        let refuse = |why: &str| {
            let message = format!("Cannot crop '{shown}': {why}");
            Err(Error::new(ErrorCode::UNSUPPORTED_FEATURE, message))
        };
        let view = self.view(relpath)?.ok_or_else(|| Error::NodeNotFound(self.abspath(relpath)))?;
        match view.status() {
            Status::NotPresent | Status::ServerExcluded => {
                return Err(Error::NodeNotFound(self.abspath(relpath)));
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
        self.crop_children(relpath, view.top().depth_or_infinity(), depth, notify, cancel)?;
        self.run_queue(cancel)
    }

    fn crop_children(
        &self,
        relpath: &RelPath,
        old: Depth,
        new: Depth,
        notify: Notifier<'_>,
        cancel: &CancelToken,
    ) -> Result<()> {
        if cancel.is_cancelled() {
            return Err(Error::Cancelled);
        }
        if old > new
            && let Some(mut row) = self.db().base(relpath)?
        {
            row.depth = Some(new);
            self.db().put_node(&row)?;
        }
        for child in self.db().children_at(relpath, 0)? {
            if child.file_external {
                continue;
            }
            let Some(view) = self.view(&child.relpath)? else { continue };
            if view.has_work()
                && (view.status() != Status::Deleted
                    || self.holds_changes(&child.relpath, cancel)?)
            {
                continue;
            }
            let kind = view.top().kind;
            let needs = if kind == Kind::Dir { Depth::Immediates } else { Depth::Files };
            if !view.status().is_present() {
                if new < needs {
                    self.db().write(|db| db.remove_base(&child.relpath, &Removal::default()))?;
                }
                continue;
            }
            if new < needs && !self.holds_changes(&child.relpath, cancel)? {
                self.db().write(|db| db.remove_base(&child.relpath, &Removal::default()))?;
                self.notify_removed(&child.relpath, Action::Delete, notify);
                continue;
            }
            if kind == Kind::Dir {
                let depth = view.top().depth_or_infinity();
                self.crop_children(&child.relpath, depth, Depth::Empty, notify, cancel)?;
            }
        }
        Ok(())
    }

    /// Whether more than deletions would be lost with a tree: changes, and what is not versioned.
    fn holds_changes(&self, relpath: &RelPath, cancel: &CancelToken) -> Result<bool> {
        let mut found = false;
        let options = Options { cancel: cancel.clone(), ..Options::default() };
        self.status(relpath, &options, &mut |status| {
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

    fn present(&self, relpath: &RelPath) -> Result<View> {
        self.view(relpath)?
            .filter(|view| view.status().is_present())
            .ok_or_else(|| Error::NodeNotFound(self.abspath(relpath)))
    }

    fn notify_removed(&self, relpath: &RelPath, action: Action, notify: Notifier<'_>) {
        if let Some(notify) = notify {
            let path = self.abspath(relpath);
            notify(&Notify::new(action, &path.to_string_lossy()));
        }
    }
}
