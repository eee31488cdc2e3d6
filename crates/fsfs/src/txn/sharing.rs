//! Sharing texts with earlier revisions, through `rep-cache.db`, or where revisions are in a store of objects through what its log says.
//!
//! Looking there is a hint: when it cannot be read, the text is stored. What it finds is
//! only used after the old text was read and its checksum is the new one's.

use sapwood_core::{CancelToken, ErrorCode, Revnum, Sha1, SvnError};
use sapwood_fsfs_format::layout::names;
use sapwood_fsfs_format::{RepHeader, RepLocation, Representation};

use super::Writer;
use super::rep_batch::Filter;
use crate::contents::TextReader;
use crate::error::{Error, Result};
use crate::pack::PackOptions;
use sapwood_fs_common::rep_cache::{RepCacheFile, Row};

impl Writer {
    /// An earlier revision's representation of the text that `rep`, which has a SHA-1, describes.
    pub(super) fn find_rep(&self, rep: &Representation) -> Result<Option<Representation>> {
        let Some(sha1) = rep.sha1 else { return Ok(None) };
        // Not to share is always safe.
        let Ok(Some(row)) = self.find_row(sha1) else { return Ok(None) };
        self.fs.fs.ensure_exists(row.revision).map_err(|e| {
            let message = format!("Checksum '{sha1}' in rep-cache is beyond HEAD");
            Error::Svn(SvnError::from(e).wrap(ErrorCode::FS_CORRUPT, message))
        })?;
        let header = self.fs.fs.rep_start(row.revision, row.item)?.header;
        let plain = row.expanded_size == 0 && header == RepHeader::Plain;
        let expanded_size = if plain { row.size } else { row.expanded_size };
        if expanded_size != rep.expanded_size {
            return Ok(None);
        }
        let old = Representation {
            location: RepLocation::Rev { revision: row.revision, item: row.item },
            size: row.size,
            ..*rep
        };
        self.check_equal(&old)?;
        Ok(Some(old))
    }

    fn find_row(&self, sha1: Sha1) -> Result<Option<Row>> {
        if let Some(log) = self.fs.fs.revisions.as_log() {
            return log.find_rep(sha1);
        }
        if !self.batch_reps {
            return self.ask_for_row(sha1);
        }
        let mut batch = self.batch.lock();
        if let Some(row) = batch.waiting(&sha1) {
            return Ok(Some(*row));
        }
        if !batch.may_have(&sha1) {
            return Ok(None);
        }
        let stamp = self.storage.stamp(&self.fs.fs.file(names::REP_CACHE)).ok();
        batch.is_for(stamp.map(|s| s.inode));
        if batch.wants_filter(stamp.map_or(0, |s| s.len)) {
            let mut filter = Filter::new();
            self.common.rep_cache.lock().each(&self.rep_cache_file(), &mut |row| {
                filter.add(&row.sha1);
                Ok(())
            })?;
            batch.set_filter(filter);
            if !batch.may_have(&sha1) {
                return Ok(None);
            }
        }
        drop(batch);
        self.ask_for_row(sha1)
    }

    fn rep_cache_file(&self) -> RepCacheFile<'_> {
        self.fs.fs.rep_cache_file(&*self.storage)
    }

    fn ask_for_row(&self, sha1: Sha1) -> Result<Option<Row>> {
        Ok(self.common.rep_cache.lock().find(&self.rep_cache_file(), sha1)?)
    }

    /// Reads the text of `old`, which must have its MD5.
    fn check_equal(&self, old: &Representation) -> Result<()> {
        let mut reader = TextReader::new(Some(*old), None);
        loop {
            match reader.next(&self.fs.fs) {
                Ok(None) => return Ok(()),
                Ok(Some(_)) => {}
                Err(e) => {
                    let (mut place, mut sha1) = (String::new(), String::new());
                    if let RepLocation::Rev { revision, item } = old.location {
                        place = format!("{revision} {item} {} {}", old.size, old.expanded_size);
                    }
                    if let Some(digest) = old.sha1 {
                        sha1 = digest.to_hex();
                    }
                    return Err(Error::Svn(SvnError::from(e).wrap(
                        ErrorCode::FS_AMBIGUOUS_CHECKSUM_REP,
                        format!(
                            "SHA1 of reps '{place}' and '-1 0 {} {}' matches ({sha1}) but \
                             contents differ",
                            old.size, old.expanded_size
                        ),
                    )));
                }
            }
        }
    }

    /// Keeps the rows of a revision that a bulk writer committed, and writes them when there are
    /// many.
    pub(super) fn keep_reps(&self, rows: &[Row]) {
        if !rows.is_empty() && self.batch.lock().add(rows) {
            self.flush_reps();
        }
    }

    /// Keeps the rows of a revision that is not there yet. No other process may hear of them before it
    /// is.
    pub(super) fn keep_early_reps(&self, rows: &[Row]) {
        if !rows.is_empty() {
            self.batch.lock().add(rows);
        }
    }

    /// Writes rows that were kept, when there are many, as far as their revisions are there: up to
    /// `youngest`.
    pub(super) fn flush_many_reps(&self, youngest: Revnum) {
        let rows = self.batch.lock().due(youngest);
        if rows.is_empty() {
            return;
        }
        // They are found here until they are there.
        if let Err(error) = self.write_rows(&rows) {
            self.fail_after_commit(error.into());
        }
        self.batch.lock().forget(&rows);
    }

    /// Forgets the rows of revisions after `youngest`, which are not to be.
    pub(super) fn drop_early_reps(&self, youngest: Revnum) {
        self.batch.lock().drop_after(youngest);
    }

    /// Writes the rows that a bulk writer has kept back: what it committed can be shared by other
    /// programs after this. Dropping the writer does it, too.
    pub fn flush_reps(&self) {
        let rows = self.batch.lock().take();
        if let Some(Err(error)) = (!rows.is_empty()).then(|| self.write_rows(&rows)) {
            self.fail_after_commit(error.into());
        }
    }

    /// Lets later revisions share the representations that committed revisions brought. That some
    /// are not found later does no harm, so this does not fail the commit.
    pub(super) fn write_rows(&self, rows: &[Row]) -> Result<()> {
        Ok(self.common.rep_cache.lock().add(&self.rep_cache_file(), rows)?)
    }

    /// Notes what went wrong after a revision was there.
    pub(super) fn fail_after_commit(&self, error: SvnError) {
        self.error_after_commit.lock().get_or_insert(error);
    }

    /// Packs full shards after a commit. Like [`Self::write_rows`], this does not fail it.
    pub(super) fn pack(&self) {
        let options = PackOptions { flush_to_disk: self.flush, ..PackOptions::default() };
        if let Err(e) = self.fs.pack(&options, &CancelToken::default(), &mut |_| Ok(())) {
            self.fail_after_commit(e.into());
        }
    }

    /// What failed after a commit, once: writing `rep-cache.db`, or packing. The revision is there
    /// all the same. The reference reports this as an error of what follows the commit.
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
        Ok(self.common.rep_cache.lock().remove_younger(&self.rep_cache_file(), youngest)?)
    }
}
