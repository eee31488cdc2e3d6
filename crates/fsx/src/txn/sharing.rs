//! Sharing texts with earlier revisions, through `rep-cache.db`.
//!
//! Looking there is a hint: when the database cannot be read, the text is stored. What it finds is
//! only used after the old text was read and its checksum is the new one's.

use std::collections::HashSet;

use sapwood_core::{CancelToken, ErrorCode, Revnum, Sha1, SvnError};
use sapwood_fs_common::rep_cache::{RepCacheFile, Row, Schema};
use sapwood_fsx_format::{ChangeSet, Id, Representation};

use super::Writer;
use crate::error::{Error, Result};

/// Beginnings of SHA-1 that are kept, at most: some 30 MB.
const POSSIBLE_ROWS: usize = 1 << 20;

/// The first bytes of a SHA-1, which others hardly have.
fn beginning(sha1: &Sha1) -> u64 {
    sha1.0.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes))
}

impl Writer {
    /// An earlier revision's representation of the text that `rep`, which has a SHA-1, describes.
    pub(super) fn find_rep(&self, rep: &Representation) -> Result<Option<Representation>> {
        let Some(sha1) = rep.sha1 else { return Ok(None) };
        // Not to share is always safe.
        let Ok(Some(row)) = self.find_row(sha1) else { return Ok(None) };
        self.fs.ensure_exists(row.revision).map_err(|error| {
            let message = format!("Checksum '{sha1}' in rep-cache is beyond HEAD");
            Error::Svn(SvnError::from(error).wrap(ErrorCode::FS_CORRUPT, message))
        })?;
        if row.expanded_size != rep.expanded_size {
            return Ok(None);
        }
        let id = Id { change_set: ChangeSet::Revision(row.revision), number: row.item };
        let old = Representation { id, size: row.size, ..*rep };
        // The reader compares length and MD5 at the end of the text.
        let read = self.fs.contents(Some(old)).and_then(|mut text| {
            let read = std::io::copy(&mut text, &mut std::io::sink());
            read.map_err(|error| Error::Svn(SvnError::from_stream(error)))
        });
        read.map_err(|error| {
            let message = format!(
                "SHA1 of reps '{} {} {} {}' and '-1 0 {} {}' matches ({sha1}) but contents differ",
                row.revision, row.item, row.size, row.expanded_size, rep.size, rep.expanded_size
            );
            let code = ErrorCode::FS_AMBIGUOUS_CHECKSUM_REP;
            Error::Svn(SvnError::from(error).wrap(code, message))
        })?;
        Ok(Some(old))
    }

    fn find_row(&self, sha1: Sha1) -> Result<Option<Row>> {
        if let Some(row) = self.early_rows.lock().get(&sha1) {
            return Ok(Some(*row));
        }
        let beginning = beginning(&sha1);
        if self.possible_rows.lock().as_ref().is_some_and(|rows| !rows.contains(&beginning)) {
            return Ok(None);
        }
        Ok(self.rep_cache.lock().find(&self.rep_cache_file(), sha1)?)
    }

    fn rep_cache_file(&self) -> RepCacheFile<'_> {
        RepCacheFile { db: &self.fs.0.db, storage: &*self.storage, schema: Schema::V1 }
    }

    /// Says that there are no rows yet, of a filesystem without revisions: then only what is added by this writer is looked for in
    /// the database. What others add meanwhile is not shared, which does no harm.
    pub(super) fn begin_without_rows(&self) {
        *self.possible_rows.lock() = Some(HashSet::new());
    }

    /// Notes which rows there will be.
    pub(super) fn note_rows(&self, rows: &[Row]) {
        let mut possible = self.possible_rows.lock();
        if let Some(known) = &mut *possible {
            known.extend(rows.iter().map(|row| beginning(&row.sha1)));
            if known.len() > POSSIBLE_ROWS {
                *possible = None;
            }
        }
    }

    /// Lets later revisions share the representations that a committed revision brought. That some
    /// are not found later does no harm, so this does not fail the commit.
    pub(super) fn add_rows(&self, rows: &[Row]) {
        if let Err(error) = self.write_rows(rows) {
            self.error_after_commit.lock().get_or_insert(error.into());
        }
    }

    /// Writes rows, unless there are none.
    pub(super) fn write_rows(&self, rows: &[Row]) -> Result<()> {
        if rows.is_empty() {
            return Ok(());
        }
        self.note_rows(rows);
        Ok(self.rep_cache.lock().add(&self.rep_cache_file(), rows)?)
    }

    /// Packs complete shards after a commit. Like [`Self::add_rows`], this does not fail it.
    pub(super) fn pack_after_commit(&self) {
        let packed = self.fs.pack(self.flush, &CancelToken::default(), &mut |_| Ok(()));
        if let Err(error) = packed {
            self.error_after_commit.lock().get_or_insert(error.into());
        }
    }

    /// What failed after a commit, once: writing `rep-cache.db`, or packing. The revision is there all the same.
    #[must_use]
    pub fn take_error_after_commit(&self) -> Option<SvnError> {
        self.error_after_commit.lock().take()
    }

    /// Forgets the texts of revisions after `youngest`, which are gone: when the youngest revision
    /// becomes an older one, this must come first, whether texts are shared now or not.
    ///
    /// # Errors
    /// E200030 and kin, for what SQLite reports.
    pub fn forget_younger_reps(&self, youngest: Revnum) -> Result<()> {
        Ok(self.rep_cache.lock().remove_younger(&self.rep_cache_file(), youngest)?)
    }
}
