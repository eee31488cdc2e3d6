//! Changelists: a name that a file carries until it is committed.

use std::collections::HashSet;

use sapwood_core::Depth;
use sapwood_core::notify::{Action, Notify};
use sapwood_core::paths::RelPath;

use crate::db::{ActualRow, Db};
use crate::error::Result;
use crate::gather::GatheredChanges;
use crate::props::matches_changelist;
use crate::root::{Disk, WorkingCopy};
use crate::view::View;

/// As [`WorkingCopy::set_changelist`].
pub(crate) fn set_changelist(
    wc: &WorkingCopy,
    relpath: &RelPath,
    name: Option<&str>,
    depth: Depth,
    filter: &HashSet<String>,
    gathered: &GatheredChanges<'_>,
) -> Result<()> {
    wc.walk_nodes(relpath, depth, &mut |view| {
        gathered.step()?;
        if !matches_changelist(view, filter) {
            return Ok(());
        }
        if view.is_dir() {
            // Directories cannot be on changelists.
            if name.is_some() {
                super::notify_path(
                    wc.disk(),
                    &|value| gathered.notify(value),
                    Action::Skip,
                    view.relpath(),
                );
            }
            return Ok(());
        }
        set_one_changelist(wc.db(), wc.disk(), view, name, gathered)
    })
}

fn set_one_changelist(
    db: &Db,
    disk: &Disk,
    view: &View,
    name: Option<&str>,
    gathered: &GatheredChanges<'_>,
) -> Result<()> {
    let old = view.changelist();
    if old == name {
        return Ok(());
    }
    let plain = || ActualRow { relpath: view.relpath().to_owned(), ..ActualRow::default() };
    let mut row = view.actual.clone().unwrap_or_else(plain);
    row.changelist = name.map(str::to_owned);
    db.put_actual(&row)?;
    let path = disk.abspath(view.relpath());
    let shown = path.to_string_lossy();
    if let Some(old) = old {
        gathered.notify(&Notify {
            changelist: Some(old),
            ..Notify::new(Action::ChangelistClear, &shown)
        });
    }
    if let Some(name) = name {
        gathered.notify(&Notify {
            changelist: Some(name),
            ..Notify::new(Action::ChangelistSet, &shown)
        });
    }
    Ok(())
}
