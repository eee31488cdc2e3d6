//! The part of an index about lines that were ever there: rows of the files that each revision changed.
//!
//! New revisions are added as they come, older ones step by step from the youngest down, until the first one is there or the file has its
//! greatest size; then the oldest rows make room for new ones. Invariant: the rows of all revisions from [`Index::history`] on are there,
//! and no others.

use rusqlite::params;
use sapwood_core::exact::{Exact as _, len64, signed};
use sapwood_core::{CancelToken, Revnum};
use sapwood_repos::Repository;

use crate::changes::{ChangedFile, ChangedLines, changed_files};
use crate::error::Result;
use crate::index::{Index, State};
use crate::scope::Scope;

/// Rows of one revision: if it changed more files, a row has several.
pub(crate) const ROWS: u64 = 64;
/// Revisions that one step adds.
const REVISIONS: u64 = 64;
/// Bytes of the lines of one revision; what is more cannot be found.
const BYTES: usize = 4 << 20;

/// How many files of a revision are in each of its rows.
fn files_of_row(files: usize) -> usize {
    files.div_ceil(sapwood_core::exact::clamped(ROWS)).max(1)
}

/// The positions of the files of a row.
#[must_use]
pub fn positions(row: u64, files: usize) -> std::ops::Range<usize> {
    let each = files_of_row(files);
    let first = sapwood_core::exact::clamped(row).times(each).min(files);
    first..first.plus(each).min(files)
}

/// The row of a file.
#[must_use]
pub fn row_of(position: usize, files: usize) -> u64 {
    len64(position / files_of_row(files))
}

impl Index {
    /// The oldest revision whose changed lines can be found; `None` while there is none.
    ///
    /// # Errors
    /// Of the database.
    pub fn history(&self) -> Result<Option<Revnum>> {
        let (from, tree) = (self.revision(State::History)?, self.revision(State::Tree)?);
        Ok(from.filter(|from| tree.is_some_and(|tree| *from <= tree)))
    }

    /// Adds some older revisions; `false` when there are no more, or no room for them.
    ///
    /// # Errors
    /// Of the database and the repository; cancellation.
    pub fn older(
        &mut self,
        repository: &Repository,
        scope: &Scope,
        cancel: &CancelToken,
    ) -> Result<bool> {
        let from = self.revision(State::History)?.filter(|from| *from > Revnum(1));
        let Some(from) = from.filter(|_| !self.is_full().unwrap_or(true)) else { return Ok(false) };
        let first = from.0.minus(from.0.min(REVISIONS)).max(1);
        self.transaction(|index| {
            for revision in (first..from.0).map(Revnum) {
                index.put_changes(repository, scope, revision, cancel)?;
            }
            index.set(State::History, &first.to_string())
        })?;
        Ok(first > 1)
    }

    /// Whether the file has its greatest size.
    fn is_full(&self) -> Result<bool> {
        let pages = |name: &str| -> Result<i64> {
            self.run(|connection| connection.pragma_query_value(None, name, |row| row.get(0)))
        };
        let used = pages("page_count")?.checked_sub(pages("freelist_count")?);
        let size = pages("page_size")?;
        let bytes = used.and_then(|used| u64::try_from(used.checked_mul(size)?).ok());
        Ok(bytes.is_some_and(|bytes| bytes >= self.most_bytes))
    }

    /// Adds a new revision; where there is no room, in place of the oldest one.
    pub(crate) fn put_new_changes(
        &self,
        repository: &Repository,
        scope: &Scope,
        revision: Revnum,
        cancel: &CancelToken,
    ) -> Result<()> {
        self.put_changes(repository, scope, revision, cancel)?;
        let from = self.revision(State::History)?;
        if let Some(from) = from.filter(|from| *from < revision)
            && self.is_full()?
        {
            let last = signed(from.next().0.times(ROWS));
            self.run(|connection| {
                let sql = "DELETE FROM change_grams WHERE rowid < ?1";
                connection.prepare_cached(sql)?.execute([last])
            })?;
            self.set(State::History, &from.next().to_string())?;
        }
        Ok(())
    }

    fn put_changes(
        &self,
        repository: &Repository,
        scope: &Scope,
        revision: Revnum,
        cancel: &CancelToken,
    ) -> Result<()> {
        let files = changed_files(repository, scope, revision, cancel)?;
        let mut left = BYTES;
        for row in 0..ROWS {
            let mut text = String::new();
            for file in files.get(positions(row, files.len())).unwrap_or(&[]) {
                cancel.check()?;
                if text.len() < left {
                    text.push_str(&lines(repository, revision, file)?.text());
                }
            }
            left = left.minus(text.len().min(left));
            if text.is_empty() {
                continue;
            }
            let key = signed(revision.0.times(ROWS).plus(row));
            self.run(|connection| {
                let sql = "INSERT INTO change_grams (rowid, grams) VALUES (?1, ?2)";
                connection.prepare_cached(sql)?.execute(params![key, text])
            })?;
        }
        Ok(())
    }
}

/// The lines of a file that a revision changed, for one who may read everything.
fn lines(repository: &Repository, revision: Revnum, file: &ChangedFile) -> Result<ChangedLines> {
    let fs = repository.fs();
    if file.is_deleted {
        let Some(before) = revision.prev() else { return Ok(ChangedLines::default()) };
        let old = fs.revision_root(before)?.find(&file.path)?;
        return ChangedLines::of(old.as_ref(), None);
    }
    let new = fs.revision_root(revision)?.node(&file.path)?;
    let old = new.predecessor()?;
    ChangedLines::of(old.as_ref(), Some(&new))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_file_has_one_row() {
        for files in [0, 1, 63, 64, 65, 1_000, 20_000] {
            let mut seen = Vec::new();
            for row in 0..ROWS {
                let of_row = positions(row, files);
                assert!(of_row.clone().all(|position| row_of(position, files) == row), "{files}");
                seen.extend(of_row);
            }
            assert_eq!(seen, (0..files).collect::<Vec<_>>());
        }
    }
}
