//! Where externals are defined, and removing their working copies.

use std::collections::BTreeSet;

use rusqlite::params;
use sapwood_core::paths::{RelPath, RelPathBuf};
use sapwood_core::props::names;
use sapwood_core::{CancelToken, Depth, Revnum};

use crate::db::{Kind, Paths, Presence, depth_of};
use crate::error::Result;
use crate::pristine::remove_file;
use crate::root::WorkingCopy;
use crate::view::Status;
use crate::{files, layout};

/// As [`WorkingCopy::externals_definitions`].
pub(crate) fn externals_definitions(
    wc: &WorkingCopy,
    relpath: &RelPath,
    depth: Depth,
) -> Result<Vec<(RelPathBuf, Depth, String)>> {
    let found = externals_owners(wc, relpath, depth)?;
    let mut definitions = Vec::new();
    let level = depth_of(relpath);
    for owner in found {
        let below = depth_of(&owner) - level;
        let inside = match depth {
            Depth::Infinity | Depth::Unknown => true,
            Depth::Immediates => below <= 1,
            _ => below == 0,
        };
        let Some(view) = wc.view(&owner)?.filter(|_| inside) else { continue };
        let there = matches!(view.status(), Status::Normal | Status::Incomplete | Status::Added);
        if !there || view.top().kind != Kind::Dir {
            continue;
        }
        if let Some(value) = view.props()?.get(names::EXTERNALS) {
            let value = String::from_utf8_lossy(value).into_owned();
            definitions.push((owner, view.top().depth_or_infinity(), value));
        }
    }
    Ok(definitions)
}

/// Where there may be definitions: all places that have some are among them, in the order of paths.
fn externals_owners(wc: &WorkingCopy, relpath: &RelPath, depth: Depth) -> Result<Vec<RelPathBuf>> {
    let (above, end) = crate::db::below(relpath);
    let name = names::EXTERNALS.as_bytes();
    let everything = relpath.is_empty() && matches!(depth, Depth::Infinity | Depth::Unknown);
    if everything && let Some(even) = wc.even() {
        let mut owners: BTreeSet<RelPathBuf> = even.odd;
        owners.insert(RelPathBuf::default());
        let local = "SELECT local_relpath FROM actual_node WHERE wc_id = ?1 AND local_relpath > ?2 \
                     AND local_relpath < ?3 AND instr(properties, ?4) > 0";
        let params = params![wc.db().wc_id(), above, end, name];
        owners.extend(wc.db().all(local, params, |row| row.relpath(0))?);
        return Ok(owners.into_iter().collect());
    }
    // The name is looked for in the skels: few rows have it, and most have no such property.
    let sql = "SELECT local_relpath FROM nodes WHERE wc_id = ?1 AND (local_relpath = ?2 OR \
         (local_relpath > ?3 AND local_relpath < ?4)) AND kind = 'dir' AND \
         instr(properties, ?5) > 0 UNION SELECT local_relpath FROM actual_node WHERE wc_id = ?1 \
         AND (local_relpath = ?2 OR (local_relpath > ?3 AND local_relpath < ?4)) AND \
         instr(properties, ?5) > 0 ORDER BY 1";
    wc.db().all(sql, params![wc.db().wc_id(), relpath.as_str(), above, end, name], |row| {
        row.relpath(0)
    })
}

/// As [`WorkingCopy::remove_file_external`].
pub(crate) fn remove_file_external(
    wc: &WorkingCopy,
    relpath: &RelPath,
    cancel: &CancelToken,
) -> Result<()> {
    let Some(view) = wc.view(relpath)? else { return Ok(()) };
    if !view.base().is_some_and(|base| base.file_external) {
        return Ok(());
    }
    let modified = wc.file_modified(&view)?;
    wc.db().write(|db| {
        db.remove_node(relpath, 0)?;
        db.remove_actual(relpath)?;
        // The repository may have a node of that name, which updates have skipped: the next one
        // has to request it.
        if let Some(external) = view.base() {
            db.put_marker(external, Presence::NotPresent, Some(Revnum::ZERO))?;
        }
        Ok(())
    })?;
    if !modified {
        remove_file(&wc.abspath(relpath))?;
    }
    wc.run_queue(cancel)
}

/// What became of a working copy that was to be removed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Dismantling {
    /// Nothing is left of it.
    Gone,
    /// Its administrative directory is gone; what is not under version control, or was added, is still there.
    Left,
    /// It is as it was: this file has local changes, or is in conflict.
    Modified(RelPathBuf),
}

/// As [`WorkingCopy::dismantle`].
pub(crate) fn dismantle(wc: &WorkingCopy) -> Result<Dismantling> {
    let (mut dirs, mut files) = (Vec::new(), Vec::new());
    let mut rows = Vec::new();
    wc.db().each_in_subtree(RelPath::ROOT, |row| {
        rows.push(row);
        Ok(())
    })?;
    rows.dedup_by(|lower, higher| lower.relpath == higher.relpath);
    for row in rows {
        if !matches!(row.presence, Presence::Normal | Presence::Incomplete) {
            continue;
        }
        if row.kind == Kind::Dir {
            dirs.push(row.relpath);
            continue;
        }
        let Some(view) = wc.view(&row.relpath)? else { continue };
        if view.is_conflicted() || (row.checksum.is_some() && wc.file_modified(&view)?) {
            return Ok(Dismantling::Modified(row.relpath));
        }
        if row.op_depth == 0 {
            files.push(row.relpath);
        }
    }
    for file in files {
        remove_file(&wc.abspath(&file))?;
    }
    files::remove_tree(&layout::adm(wc.root()))?;
    for dir in dirs.iter().rev() {
        files::remove_empty(&wc.abspath(dir))?;
    }
    let is_gone = wc.root().symlink_metadata().is_err();
    Ok(if is_gone { Dismantling::Gone } else { Dismantling::Left })
}
