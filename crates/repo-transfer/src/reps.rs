//! Representations, by which equal texts are found: the rows of a folder's `rep-cache.db` become a table in the store, and the other way.
//!
//! Invariant: no row names a revision that is not there. Rows that are missing cost space, nothing else.

use std::path::Path;
use std::sync::Arc;

use sapwood_core::exact::Exact as _;
use sapwood_core::{CancelToken, Revnum};
use sapwood_fs_common::rep_cache::{NAME, RepCache, Row, Schema};
use sapwood_repo_log::entry::Rep;
use sapwood_repo_log::{AllReps, RepositoryLog, TableWriter, WrittenTable, note_damage};
use sapwood_store::LocalStorage;

use crate::error::{Error, Result};

/// Rows that are read or written at once.
const PAGE: usize = 4096;

/// Writes a table of the rows of the database below `db` that are of revisions from `from` on, and of those of the log that are in none;
/// `None` when there is nothing.
pub(crate) fn table(
    log: &RepositoryLog,
    db: &Path,
    from: u64,
    cancel: &CancelToken,
) -> Result<Option<WrittenTable>> {
    let state = log.state();
    let path = db.join(NAME);
    if from >= state.revisions || !path.exists() {
        return Ok(None);
    }
    let reps = RepCache::open_read_only(path).map_err(Error::Reps)?;
    let mut table = TableWriter::new(&**log.store());
    let mut known = state.reps.rows().map(|(_, rep)| *rep).peekable();
    let mut brought = 0_u64;
    let mut last = None;
    loop {
        cancel.check().map_err(Error::Stopped)?;
        let page = reps.rows_after(last, PAGE).map_err(Error::Reps)?;
        for row in &page {
            if (from..state.revisions).contains(&row.revision.0) {
                // Of equal texts the first counts.
                while let Some(rep) = known.next_if(|rep| rep.sha1 <= row.sha1) {
                    table.add(&rep)?;
                }
                table.add(&rep(row))?;
                brought.tally(1);
            }
        }
        last = page.last().map(|row| row.sha1);
        if page.len() < PAGE {
            break;
        }
    }
    if brought == 0 {
        return Ok(None);
    }
    known.try_for_each(|rep| table.add(&rep))?;
    Ok(table.finish(state.reps.tabled(), log.entries())?)
}

/// Writes all rows to a database below `db`, if there are any. Damaged tables leave some out, which is passed on as a trouble.
pub(crate) fn database(log: &RepositoryLog, db: &Path, cancel: &CancelToken) -> Result<()> {
    let index = &log.state().reps;
    if index.tabled() == 0 && index.rows().len() == 0 {
        return Ok(());
    }
    let mut reps = AllReps::of(&Arc::clone(log.store()), index)?;
    let mut database = RepCache::open(db, &LocalStorage, Schema::V2).map_err(Error::Reps)?;
    let mut rows = Vec::new();
    while let Some(rep) = reps.next()? {
        if rep.revision < log.state().revisions {
            rows.push(row(&rep));
        }
        if rows.len() >= PAGE {
            cancel.check().map_err(Error::Stopped)?;
            database.add(&std::mem::take(&mut rows)).map_err(Error::Reps)?;
        }
    }
    note_damage(log.address(), reps.damaged());
    database.add(&rows).map_err(Error::Reps)
}

fn rep(row: &Row) -> Rep {
    let Row { sha1, revision, item, size, expanded_size } = *row;
    Rep { sha1, revision: revision.0, item, size, expanded: expanded_size }
}

/// The other way.
fn row(rep: &Rep) -> Row {
    let Rep { sha1, revision, item, size, expanded } = *rep;
    Row { sha1, revision: Revnum(revision), item, size, expanded_size: expanded }
}
