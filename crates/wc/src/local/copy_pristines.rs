//! Pristine texts that go from one working copy's store to another's.

use std::io;

use rusqlite::params;

use super::subtree;
use crate::db::{Paths, parse_md5, parse_sha1};
use crate::error::{Error, Result};
use crate::layout;
use crate::root::WorkingCopy;
use sapwood_core::paths::{RelPath, RelPathBuf};

impl WorkingCopy {
    /// Takes over the texts that the nodes at and below a path of another working copy have.
    ///
    /// # Errors
    /// That a text cannot be read or written; SQLite's.
    pub(super) fn take_pristines(&self, source: &Self, from: &RelPath) -> Result<()> {
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
            if self.db().pristine(&sha1)?.is_some_and(|known| known.md5 == md5) {
                continue;
            }
            let path = layout::pristine(source.root(), &sha1);
            let failed = |e| Error::io(e, "Can't read file", &path);
            let mut text = match source.open_text_base(&relpath, &sha1) {
                // What neither has is fetched when it is needed, if it may be missing here.
                Err(e) if is_missing(&e) && !self.stores_pristines() => {
                    self.db().add_missing_pristine(&sha1, &md5, size)?;
                    continue;
                }
                other => other?,
            };
            let mut copy = self.write_pristine()?;
            io::copy(&mut text, &mut copy).map_err(failed)?;
            self.install_pristine(copy.finish())?;
        }
        Ok(())
    }
}

fn is_missing(error: &Error) -> bool {
    matches!(error, Error::NoText(_))
}
