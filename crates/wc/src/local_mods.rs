//! Whether anything at and below a path differs from BASE.

use sapwood_core::paths::{RelPath, RelPathBuf};

use crate::conflict::Conflict;
use crate::db::{Kind, NodeRow, Presence};
use crate::error::Result;
use crate::root::{Disk, WorkingCopy};
use crate::view::stat_file;

/// As [`WorkingCopy::has_local_changes`].
pub(crate) fn has_local_changes(wc: &WorkingCopy, relpath: &RelPath) -> Result<bool> {
    let mut found = false;
    let mut names: Vec<RelPathBuf> = Vec::new();
    let mut files: Vec<NodeRow> = Vec::new();
    wc.db().each_in_subtree(relpath, |row| {
        if names.last().is_some_and(|last| *last == row.relpath) {
            return Ok(());
        }
        names.push(row.relpath.clone());
        match (row.op_depth, row.presence) {
            (0, Presence::Normal | Presence::Incomplete) if row.kind == Kind::Dir => {
                let missing =
                    !wc.abspath(&row.relpath).symlink_metadata().is_ok_and(|m| m.is_dir());
                found |= missing && row.presence == Presence::Normal;
            }
            (0, Presence::Normal) if !row.file_external => files.push(row),
            (0, _) => {}
            (_, Presence::Excluded | Presence::ServerExcluded) => {}
            _ => found = true,
        }
        Ok(())
    })?;
    if found || wc.db().has_changed_props(relpath)? {
        return Ok(true);
    }
    for row in files {
        let Some(stat) = stat_file(&wc.abspath(&row.relpath))? else { return Ok(true) };
        // As it was recorded: nothing more need be asked.
        if stat.file && row.checksum.is_some() && stat.is_recorded_in(&row) {
            continue;
        }
        if let Some(view) = wc.view(&row.relpath)?
            && wc.file_modified(&view)?
        {
            return Ok(true);
        }
    }
    Ok(false)
}

/// As [`WorkingCopy::is_still_conflicted`].
#[must_use]
pub(crate) fn is_still_conflicted(disk: &Disk, conflict: &Conflict) -> bool {
    let there = |path: &RelPathBuf| crate::files::is_leftover(&disk.abspath(path));
    let text = conflict.text.as_ref().is_some_and(|text| {
        let mut files = [&text.mine, &text.theirs, &text.old].into_iter().flatten().peekable();
        files.peek().is_none() || files.any(there)
    });
    let prop = conflict.prop.as_ref().is_some_and(|p| p.marker.as_ref().is_none_or(there));
    text || prop
}

/// The properties that matter for how a working file looks.
pub(crate) fn is_magic(name: &str) -> bool {
    use sapwood_core::props::names::{EOL_STYLE, EXECUTABLE, KEYWORDS, SPECIAL};
    [EOL_STYLE, EXECUTABLE, KEYWORDS, SPECIAL, "svn:needs-lock"].contains(&name)
}
