//! Searches for nodes when a conflict is resolved: by their name, or by where they come from.

use std::fs::File;
use std::io;

use rusqlite::params;
use sapwood_core::NodeKind;
use sapwood_core::paths::{RelPath, RelPathBuf};

use crate::db::{Db, Paths};
use crate::error::{Error, Result};
use crate::root::WorkingCopy;
use crate::translate::{Direction, TranslatedReader, special};

/// The word that the database has for a kind.
fn word(kind: Option<NodeKind>) -> &'static str {
    kind.map_or("unknown", NodeKind::word)
}

/// As [`WorkingCopy::nodes_named`].
pub(crate) fn nodes_named(db: &Db, name: &str, kind: Option<NodeKind>) -> Result<Vec<RelPathBuf>> {
    db.all(
        "SELECT local_relpath FROM nodes n WHERE wc_id = ?1 AND local_relpath = CASE parent_relpath \
         WHEN '' THEN ?2 ELSE parent_relpath || '/' || ?2 END AND kind = ?3 AND presence IN \
         ('normal', 'incomplete') AND op_depth = (SELECT MAX(op_depth) FROM nodes w WHERE w.wc_id = \
         ?1 AND w.local_relpath = n.local_relpath) ORDER BY local_relpath",
        params![db.wc_id(), name, word(kind)],
        |row| row.relpath(0),
    )
}

/// As [`WorkingCopy::copies_of`].
pub(crate) fn copies_of(
    db: &Db,
    repos_path: &RelPath,
    kind: Option<NodeKind>,
) -> Result<Vec<RelPathBuf>> {
    db.all(
        "SELECT local_relpath FROM nodes n WHERE wc_id = ?1 AND repos_path = ?2 AND kind = ?3 AND \
         presence = 'normal' AND op_depth = (SELECT MAX(op_depth) FROM nodes w WHERE w.wc_id = ?1 \
         AND w.local_relpath = n.local_relpath) ORDER BY local_relpath",
        params![db.wc_id(), repos_path.as_str(), word(kind)],
        |row| row.relpath(0),
    )
}

/// As [`WorkingCopy::nodes_from`].
pub(crate) fn nodes_from(db: &Db, repos_path: &RelPath) -> Result<Vec<RelPathBuf>> {
    db.all(
        "SELECT local_relpath FROM nodes n WHERE wc_id = ?1 AND repos_path = ?2 AND op_depth = \
         (SELECT MAX(op_depth) FROM nodes w WHERE w.wc_id = ?1 AND w.local_relpath = \
         n.local_relpath) ORDER BY local_relpath",
        params![db.wc_id(), repos_path.as_str()],
        |row| row.relpath(0),
    )
}

/// As [`WorkingCopy::copy_in_normal_form`].
pub(crate) fn copy_in_normal_form(
    wc: &WorkingCopy,
    relpath: &RelPath,
    to: &mut File,
) -> Result<()> {
    let from = wc.abspath(relpath);
    let failed = |e| Error::io(e, "Can't copy file", &from);
    let props = wc.require_view(relpath)?.props()?;
    let how = wc.translation(relpath, &props)?;
    let is_link = std::fs::symlink_metadata(&from).is_ok_and(|found| found.is_symlink());
    if is_link || how.special {
        io::copy(&mut special::read_normal(&from).map_err(failed)?, to).map_err(failed)?;
        return Ok(());
    }
    let file = File::open(&from).map_err(failed)?;
    let translator = how.translator(Direction::ToNormal, true)?;
    io::copy(&mut TranslatedReader::new(file, translator), to).map_err(failed)?;
    Ok(())
}
