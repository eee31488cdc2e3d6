//! Pristine texts that go from one working copy's store to another's.

use std::io;

use rusqlite::params;
use sapwood_core::paths::{RelPath, RelPathBuf};

use super::subtree;
use crate::db::{Db, Paths, parse_md5, parse_sha1};
use crate::error::{Error, Result};
use crate::layout;
use crate::pristine::{install_pristine, stores_pristines, write_pristine};
use crate::root::{Disk, WorkingCopy};

/// Takes over the texts that the nodes at and below a path of another working copy have.
///
/// # Errors
/// That a text cannot be read or written; SQLite's.
pub(super) fn take_pristines(
    db: &Db,
    disk: &Disk,
    source: &WorkingCopy,
    from: &RelPath,
) -> Result<()> {
    let (lo, hi) = subtree(from);
    let id = source.db().wc_id();
    let found: Vec<(String, String, RelPathBuf, i64)> = source.db().all(
        "SELECT p.checksum, p.md5_checksum, n.local_relpath, p.size FROM nodes n JOIN pristine p ON \
         p.checksum = n.checksum WHERE n.wc_id = ?1 AND (n.local_relpath = ?2 OR \
         (n.local_relpath > ?3 AND n.local_relpath < ?4)) AND n.op_depth >= (SELECT \
         MAX(op_depth) FROM nodes WHERE wc_id = ?1 AND local_relpath = ?2)",
        params![id, from.as_str(), lo, hi],
        |row| Ok((row.get(0)?, row.get(1)?, row.relpath(2)?, row.get(3)?)),
    )?;
    for (sha1, md5, relpath, size) in found {
        let (Some(sha1), Some(md5)) = (parse_sha1(&sha1), parse_md5(&md5)) else { continue };
        if db.pristine(&sha1)?.is_some_and(|known| known.md5 == md5) {
            continue;
        }
        let path = layout::pristine(source.root(), &sha1);
        let failed = |e| Error::io(e, "Can't read file", &path);
        let mut text = match source.open_text_base(&relpath, &sha1) {
            // What neither has is fetched when it is needed, if it may be missing here.
            Err(e) if is_missing(&e) && !stores_pristines(db) => {
                db.add_missing_pristine(&sha1, &md5, size)?;
                continue;
            }
            other => other?,
        };
        let mut copy = write_pristine(disk)?;
        io::copy(&mut text, &mut copy).map_err(failed)?;
        install_pristine(db, disk, copy.finish())?;
    }
    Ok(())
}

fn is_missing(error: &Error) -> bool {
    matches!(error, Error::NoText(_))
}
