//! Makes a new `current` from the revisions that are there.
//!
//! All that a crash of the machine can damage is the small files that say how far the filesystem is. A revision counts when its
//! file and its properties are there; revisions themselves are never touched. Transactions on disk do not survive it.

use std::io::ErrorKind;
use std::sync::atomic::Ordering;

use sapwood_core::{Exact, Revnum};
use sapwood_fs_common::leftovers::Leftovers;
use sapwood_fsx_format::layout::names;

use super::Writer;
use crate::error::{Error, Result};
use crate::filesystem::uuid_text;

impl Writer {
    /// Finds the youngest revision, and writes it to `current`. Removes transactions, and gives this copy of the repository a
    /// new identity. No other program may use the filesystem meanwhile; the locks see to that.
    ///
    /// # Errors
    /// E160004 when `current` names a revision that is not there, or properties are missing; system errors.
    pub fn recover(&self) -> Result<()> {
        let _pack = self.lock(names::PACK_LOCK)?;
        let _write = self.lock(names::WRITE_LOCK)?;
        let _numbers = self.lock(names::TXN_CURRENT_LOCK)?;
        let fs = &self.fs.0;
        self.put(names::REVPROP_GENERATION, b"0\n")?;
        let uuid = fs.file(names::UUID);
        let text = uuid_text(self.fs.uuid());
        let text = text.map_err(|error| Error::io("Can't write to file", &uuid, error))?;
        self.put(names::UUID, text.as_bytes())?;
        for name in self.fs.txn_names()? {
            self.purge_txn(&name)?;
        }
        self.put(names::TXN_CURRENT, b"0\n")?;
        let expected = match fs.number(names::CURRENT) {
            Err(Error::Io { error, .. }) if error.kind() == ErrorKind::NotFound => 0,
            number => number?,
        };
        let found = self.largest_revision(Revnum(expected))?;
        if expected > found.0 {
            let message = format!("Expected current rev to be <= {found} but found {expected}");
            return Err(Error::Corrupt(message));
        }
        if let Err(error) = fs.revprops(found) {
            let missing = error.is_missing_file();
            let message = format!("Revision {found} has a revs file but no revprops file");
            return Err(if missing { Error::Corrupt(message) } else { error });
        }
        // Rows of revisions that are gone would be taken for those of later ones.
        self.forget_younger_reps(found)?;
        self.put(names::CURRENT, format!("{found}\n").as_bytes())?;
        Ok(Leftovers { storage: &*self.storage, db: &fs.db, txns: &[] }.clear()?)
    }

    /// Replaces a small file that may be missing.
    fn put(&self, name: &str, contents: &[u8]) -> Result<()> {
        let path = self.fs.0.file(name);
        let like = self.fs.0.file(names::WRITE_LOCK);
        let like = if self.storage.stamp(&path).is_ok() { &path } else { &like };
        let done = self.storage.replace(&path, contents, Some(like), self.flush);
        done.map_err(|error| Error::io("Can't write to file", &path, error))
    }

    /// The last revision whose file, and those of all before it, are there. One after `expected` may be of a commit of another
    /// program that did not finish it: it counts if it is whole.
    fn largest_revision(&self, expected: Revnum) -> Result<Revnum> {
        let fs = &self.fs.0;
        let mut next = Revnum(fs.refresh_min_unpacked()?);
        loop {
            let path = fs.file(&fs.layout.revision(next));
            match self.storage.stamp(&path) {
                Ok(_) if next > expected && !self.is_whole(next) => break,
                Ok(_) => next = next.next(),
                Err(error) if error.kind() == ErrorKind::NotFound => break,
                Err(error) => return Err(Error::io("Can't stat", &path, error)),
            }
        }
        match next {
            Revnum(0) => Err(Error::Corrupt("There is no revision".into())),
            Revnum(next) => Ok(Revnum(next.minus(1))),
        }
    }

    /// Whether all of a revision can be read, items and properties, and has the right checksums.
    fn is_whole(&self, revision: Revnum) -> bool {
        let fs = &self.fs.0;
        // Revisions are only looked at that are known to be there.
        let before = fs.youngest.fetch_max(revision.0, Ordering::AcqRel);
        let checked = self.fs.verify_metadata(Some(revision), Some(revision), &mut |_| Ok(()));
        let is_whole = checked.is_ok()
            && self.fs.verify_revision(revision).is_ok()
            && fs.revprops(revision).is_ok();
        if !is_whole {
            fs.youngest.store(before, Ordering::Release);
            // A commit will make another file of it.
            fs.files.clear();
            fs.cached.forget();
            self.committed.clear();
        }
        is_whole
    }
}
