//! Copying revisions, from the first to the youngest, while another program may pack them.

use std::ops::Range;
use std::path::Path;

use sapwood_core::{ErrorCode, Revnum};

use super::{Copier, CopyError, Result, error};

/// Where the engine keeps the files of revisions.
pub trait RevisionFiles: Sync {
    /// Revisions a shard; `None` when there are no shards.
    fn shard_size(&self) -> Option<u64>;
    /// The first revision of the source that is not packed now.
    ///
    /// # Errors
    /// System errors.
    fn min_unpacked(&self) -> Result<Revnum>;
    /// The files of a revision that is not packed.
    fn files(&self, revision: Revnum) -> Vec<String>;
    /// Copies the packed shard that begins with a revision: whether there was anything to copy.
    ///
    /// # Errors
    /// System errors.
    fn packed_shard(&self, copier: &Copier<'_>, first: Revnum, size: u64) -> Result<bool>;
}

/// Fewer revisions than these are copied by one thread.
const FOR_THREADS: u64 = 16;

impl Copier<'_> {
    /// Copies all revisions up to `youngest` with their properties: the first that is not packed in the copy. `notify` is called with
    /// the first and the last of those that were copied together.
    ///
    /// # Errors
    /// System errors; those of `notify`.
    pub fn revisions<E: From<CopyError>>(
        &self,
        from: &dyn RevisionFiles,
        youngest: Revnum,
        notify: &mut dyn FnMut(Revnum, Revnum) -> std::result::Result<(), E>,
    ) -> std::result::Result<Revnum, E> {
        let size = from.shard_size().unwrap_or(0);
        let mut next = Revnum::ZERO;
        let mut packed = Revnum::ZERO;
        loop {
            self.check()?;
            // Another program may pack while we copy.
            if next < from.min_unpacked()? && size > 0 {
                // What was copied as it was before is copied once more: packs begin at the start.
                next = packed;
                let last = Revnum(next.0.saturating_add(size).saturating_sub(1));
                if from.packed_shard(self, next, size)? {
                    notify(next, last)?;
                }
                next = last.next();
                packed = next;
                continue;
            }
            if next > youngest {
                return Ok(packed);
            }
            let end = match size {
                0 => youngest.next(),
                size => youngest.next().min(Revnum(
                    next.0.checked_div(size).unwrap_or(0).saturating_add(1).saturating_mul(size),
                )),
            };
            match self.unpacked(from, next.0..end.0) {
                Ok(copied) => {
                    for revision in copied {
                        notify(revision, revision)?;
                    }
                    next = end;
                }
                // The pack of this shard is copied next, and the shard's unpacked files are removed.
                Err(error) if error.is_missing_file() && next < from.min_unpacked()? => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Copies revisions that are not packed: those that were not there, or changed.
    fn unpacked(&self, from: &dyn RevisionFiles, revisions: Range<u64>) -> Result<Vec<Revnum>> {
        if let Some(size) = from.shard_size()
            && revisions.start.checked_rem(size) == Some(0)
        {
            for file in from.files(Revnum(revisions.start)) {
                self.make_shard(&self.target(&file))?;
            }
        }
        let count = revisions.end.saturating_sub(revisions.start);
        if !self.options.threads || count < FOR_THREADS {
            return self.unpacked_part(from, revisions);
        }
        let middle = revisions.start.midpoint(revisions.end);
        std::thread::scope(|scope| {
            let helper = std::thread::Builder::new().name("hotcopy".into());
            let helper = helper
                .spawn_scoped(scope, || self.unpacked_part(from, middle..revisions.end))
                .map_err(|e| CopyError::io(e, "Can't start a thread for", self.to))?;
            let first = self.unpacked_part(from, revisions.start..middle);
            let second = helper.join().unwrap_or_else(|_| {
                Err(error(ErrorCode::FS_GENERAL, "A thread that copied files ended"))
            });
            let mut copied = first?;
            copied.extend(second?);
            Ok(copied)
        })
    }

    /// Makes the folder of a shard, in which `file` is to be, with the permissions of the folder of shards.
    fn make_shard(&self, file: &Path) -> Result<()> {
        let Some(dir) = file.parent() else { return Ok(()) };
        let Some(top) = dir.parent() else { return Ok(()) };
        self.make_dir(dir)?;
        let done = self.storage.copy_permissions(top, dir);
        done.map_err(|e| CopyError::io(e, "Can't set permissions on", dir))
    }

    fn unpacked_part(
        &self,
        from: &dyn RevisionFiles,
        revisions: Range<u64>,
    ) -> Result<Vec<Revnum>> {
        let mut copied = Vec::new();
        for revision in revisions.map(Revnum) {
            self.check()?;
            let mut any = false;
            for name in from.files(revision) {
                any |= self.copy_of_revision(&name, revision)?;
            }
            if any {
                copied.push(revision);
            }
        }
        Ok(copied)
    }

    /// Copies a file of a revision, unless the copy has it. Whether it did. What an interrupted run
    /// left of new revisions may not be whole.
    ///
    /// # Errors
    /// System errors.
    pub fn copy_of_revision(&self, name: &str, revision: Revnum) -> Result<bool> {
        let (from, to) = (self.source(name), self.target(name));
        if self.known.is_none_or(|known| revision > known.youngest) {
            self.copy_new(&from, &to)?;
            return Ok(true);
        }
        self.copy_changed(&from, &to, false)
    }

    /// Whether the packed shard that begins with a revision is new to the copy: what an interrupted run left of it is not
    /// trusted then, and no reader looks at it.
    #[must_use]
    pub fn is_new_pack(&self, first: Revnum) -> bool {
        self.known.is_none_or(|known| first >= known.unpacked)
    }
}
