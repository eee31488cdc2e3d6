//! Changelists: a name that a file carries until it is committed.

use std::collections::HashSet;

use sapwood_core::notify::{Action, Notify};
use sapwood_core::paths::RelPath;
use sapwood_core::{CancelToken, Depth};

use super::Tell;
use crate::db::ActualRow;
use crate::error::{Error, Result};
use crate::props::matches_changelist;
use crate::root::WorkingCopy;
use crate::view::View;

impl WorkingCopy {
    /// Puts the files of a target on a changelist, or takes them off theirs. Only files on one of
    /// `filter` count, when there are some.
    ///
    /// # Errors
    /// E155010 for what is not known; those of the database.
    pub fn set_changelist(
        &self,
        relpath: &RelPath,
        name: Option<&str>,
        depth: Depth,
        filter: &HashSet<String>,
        cancel: &CancelToken,
        tell: &Tell<'_>,
    ) -> Result<()> {
        self.walk_nodes(relpath, depth, &mut |view| {
            if cancel.is_cancelled() {
                return Err(Error::Cancelled);
            }
            if !matches_changelist(view, filter) {
                return Ok(());
            }
            if view.is_dir() {
                // Directories cannot be on changelists.
                if name.is_some() {
                    super::notify_path(self, tell, Action::Skip, view.relpath());
                }
                return Ok(());
            }
            self.set_one_changelist(view, name, tell)
        })
    }

    fn set_one_changelist(&self, view: &View, name: Option<&str>, tell: &Tell<'_>) -> Result<()> {
        let old = view.changelist();
        if old == name {
            return Ok(());
        }
        self.db().write(|db| {
            let relpath = view.relpath();
            let row = db.actual(relpath)?;
            let mut row = row.unwrap_or_else(|| ActualRow {
                relpath: relpath.to_owned(),
                ..ActualRow::default()
            });
            row.changelist = name.map(str::to_owned);
            db.put_actual(&row)
        })?;
        let path = self.abspath(view.relpath());
        let shown = path.to_string_lossy();
        if let Some(old) = old {
            tell(&Notify { changelist: Some(old), ..Notify::new(Action::ChangelistClear, &shown) });
        }
        if let Some(name) = name {
            tell(&Notify { changelist: Some(name), ..Notify::new(Action::ChangelistSet, &shown) });
        }
        Ok(())
    }
}
