//! A summary of a working copy in one line: its revisions, and whether it has changes or is
//! switched.

use rusqlite::params;
use sapwood_core::paths::RelPath;
use sapwood_core::{CancelToken, Depth, Revnum};

use crate::db::Db;
use crate::error::{Error, Result};
use crate::local::subtree;
use crate::root::WorkingCopy;
use crate::status::{Options, State};

/// What `svnversion` prints.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// The lowest and the highest revision; `None` of what was never committed.
    pub revisions: Option<(Revnum, Revnum)>,
    /// Whether something is modified.
    pub modified: bool,
    /// Whether something is switched.
    pub switched: bool,
    /// Whether something is left out.
    pub sparse: bool,
}

/// As [`WorkingCopy::summary`].
pub(crate) fn summary(
    wc: &WorkingCopy,
    relpath: &RelPath,
    trail: Option<&str>,
    committed: bool,
    cancel: &CancelToken,
) -> Result<Summary> {
    let db = wc.db();
    if db.top(relpath)?.is_none() {
        return Err(Error::NodeNotFound(wc.abspath(relpath)));
    }
    let (lo, hi) = subtree(relpath);
    let id = db.wc_id();
    let column = if committed { "changed_revision" } else { "revision" };
    let number = |n: Option<i64>| n.and_then(|n| u64::try_from(n).ok()).map(Revnum);
    let range = db.first(
        &format!(
            "SELECT MIN({column}), MAX({column}) FROM nodes WHERE wc_id = ?1 AND (local_relpath = \
             ?2 OR (local_relpath > ?3 AND local_relpath < ?4)) AND presence IN ('normal', \
             'incomplete') AND file_external IS NULL AND op_depth = 0"
        ),
        params![id, relpath.as_str(), lo, hi],
        |row| Ok((number(row.get(0)?), number(row.get(1)?))),
    )?;
    let revisions = range.and_then(|(min, max)| min.zip(max));
    let any = |condition: &str| -> Result<bool> {
        let found: Option<i64> = db.first(
            &format!(
                "SELECT 1 FROM nodes WHERE wc_id = ?1 AND (local_relpath = ?2 OR (local_relpath > \
                 ?3 AND local_relpath < ?4)) AND {condition} LIMIT 1"
            ),
            params![id, relpath.as_str(), lo, hi],
            |row| row.get(0),
        )?;
        Ok(found.is_some())
    };
    let sparse =
        any("op_depth = 0 AND file_external IS NULL AND (presence IN ('server-excluded', \
         'excluded') OR depth NOT IN ('infinity', 'unknown'))")?;
    let switched = wc.has_switched(relpath, trail)?;
    let modified = any("op_depth > 0")?
        || db.has_changed_props(relpath)?
        || has_modified_texts(wc, relpath, cancel)?;
    Ok(Summary { revisions, modified, switched, sparse })
}

/// As [`WorkingCopy::has_switched`].
pub(crate) fn has_switched(db: &Db, relpath: &RelPath, trail: Option<&str>) -> Result<bool> {
    let Some(base) = db.base(relpath)? else { return Ok(false) };
    let (Some(repos), Some(path)) = (base.repos_id, &base.repos_path) else {
        return Ok(false);
    };
    if let Some(trail) = trail {
        let url = sapwood_core::uri::join(&db.repository(repos)?.root, path);
        if !url.ends_with(trail) {
            return Ok(true);
        }
    }
    let (lo, hi) = subtree(relpath);
    let found: Option<i64> = db.first(
        "SELECT 1 FROM nodes n WHERE wc_id = ?1 AND local_relpath > ?2 AND local_relpath < ?3 AND \
         op_depth = 0 AND file_external IS NULL AND presence IN ('normal', 'incomplete') AND \
         repos_path != CASE WHEN ?4 = '' THEN '' ELSE ?4 || '/' END || substr(local_relpath, \
         CASE WHEN ?5 = '' THEN 1 ELSE length(?5) + 2 END) LIMIT 1",
        params![db.wc_id(), lo, hi, path.as_str(), relpath.as_str()],
        |row| row.get(0),
    )?;
    Ok(found.is_some())
}

fn has_modified_texts(wc: &WorkingCopy, relpath: &RelPath, cancel: &CancelToken) -> Result<bool> {
    let options = Options {
        depth: Depth::Infinity,
        unversioned: false,
        cancel: cancel.clone(),
        ..Options::default()
    };
    let mut modified = false;
    wc.status(relpath, &options, &mut |status| {
        let missing = matches!(status.node, State::Missing | State::Incomplete);
        modified |= !status.file_external
            && (status.text == State::Modified
                || status.text == State::Conflicted
                || missing
                || status.node == State::Obstructed);
        Ok(())
    })?;
    Ok(modified)
}
