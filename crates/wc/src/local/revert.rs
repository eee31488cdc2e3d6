//! Reverting local changes: first the rows, then the files on disk.
//!
//! The removed rows are kept ([`removed_rows`]). From them and from the new state of the database follows
//! what must happen on disk: copied files are removed, missing or modified files are written again,
//! and permission flags are corrected. Below a directory, nodes that are known to be
//! [unmodified](super::settled) are skipped.

mod removed_rows;
mod restore;
mod rows;

use std::collections::HashSet;

use sapwood_core::paths::{RelPath, RelPathBuf};
use sapwood_core::{CancelToken, Depth, ErrorCode};

use self::removed_rows::RemovedRows;
use self::restore::Restore;
use self::rows::{revert_row, revert_rows_below};
use super::Notifier;
use super::settled::{add_with_parents, unsettled};
use crate::db::{Db, Kind, parent_of};
use crate::error::{Error, Result};
use crate::gather::GatheredChanges;
use crate::props::matches_changelist;
use crate::root::WorkingCopy;

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
        for parent in gone.paths().filter_map(|path| parent_of(path)) {
            add_with_parents(&mut paths, parent);
        }
        todo = Some(paths);
    }
    let mut restore = Restore { wc, options, gathered, gone, todo };
    let view = wc.view(relpath)?;
    restore.node(relpath, view.as_ref(), deep, true)
}
