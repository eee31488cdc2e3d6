//! Whether what is on disk is whole: indexes, checksums, trees, revision properties, rep-cache.
//!
//! Two layers, as in the reference: [`Filesystem::verify_metadata`] looks at files and indexes
//! (`svn_fs_verify`), [`crate::Root::verify`] at one tree (`svn_fs_verify_root`).
//! [`Filesystem::verify_revision`] reads all that a revision brought, with every checksum.

use sapwood_core::{CancelToken, Revnum};
use sapwood_fsfs_format::since;

use crate::error::{Error, Result};
use crate::filesystem::Filesystem;
use sapwood_store::ordered::{self, Outlet};

mod files;
mod rep_cache;
mod revision;
pub(crate) mod summary;
mod tree;

/// How often a file is checked again because its shard was packed meanwhile.
const RETRIES: u32 = 10;
/// How many revisions of a linear layout are looked at in one job.
const LINEAR: u64 = 1000;
/// How many revisions that are not packed are one job.
const PART: u64 = 100;

#[allow(clippy::missing_errors_doc, reason = "all: `Error` says what its variants mean")]
impl Filesystem {
    /// Checks indexes against each other, their checksums and the items they describe, revision
    /// properties, and the rep-cache, for all files that hold revisions from `start` (0 when
    /// `None`) to `end` (the youngest). Stops at the first thing that is wrong.
    ///
    /// `progress` is called with the first revision of each shard, and with `None` when the
    /// rep-cache is begun, just as the reference reports "Verifying metadata at revision N" and
    /// "Verifying repository metadata". Physically addressed filesystems have no indexes.
    ///
    /// Up to `threads` threads look at several shards at once; the reports and the error are
    /// those of one thread.
    pub fn verify_metadata(
        &self,
        start: Option<Revnum>,
        end: Option<Revnum>,
        threads: usize,
        cancel: &CancelToken,
        progress: &mut dyn FnMut(Option<Revnum>),
    ) -> Result<()> {
        let start = start.unwrap_or(Revnum::ZERO);
        let end = match end {
            Some(end) => end,
            None => self.youngest()?,
        };
        self.fs.refresh_min_unpacked()?;
        self.fs.ensure_exists(start)?;
        self.fs.ensure_exists(end)?;
        if self.fs.layout.is_logical() {
            let work = |(first, last), to: &Outlet<'_, Message>| {
                let result = self.verify_files(first, last, cancel, &mut |revision| {
                    // When there is no receiver, the result will not be heard either.
                    let _ = to.send(Message::Shard(revision));
                });
                to.send(Message::Done(result))
            };
            ordered::run(self.shards(start, end), threads, &work, &mut |message| -> Result<()> {
                match message {
                    Message::Shard(revision) => progress(Some(revision)),
                    Message::Done(result) => result?,
                }
                Ok(())
            })?;
        }
        if self.fs.layout.format.number >= since::PACKING {
            rep_cache::verify(self, start, end, cancel, progress)?;
        }
        Ok(())
    }

    /// Cuts a range of revisions where shards begin, and what is not packed into smaller parts,
    /// so that every thread has something to do.
    fn shards(&self, start: Revnum, end: Revnum) -> impl Iterator<Item = (Revnum, Revnum)> {
        let size = self.fs.layout.format.shard_size.filter(|size| *size > 1).unwrap_or(LINEAR);
        let mut next = Some(start.0);
        let unpacked = self.fs.min_unpacked();
        std::iter::from_fn(move || {
            let first = next.filter(|first| *first <= end.0)?;
            let shard = first.checked_div(size)?.saturating_add(1);
            let mut after = shard.saturating_mul(size);
            if first >= unpacked.0 {
                after = after.min(first.saturating_add(PART));
            }
            next = Some(after);
            Some((Revnum(first), Revnum(after.saturating_sub(1)).min(end)))
        })
    }

    fn verify_files(
        &self,
        start: Revnum,
        end: Revnum,
        cancel: &CancelToken,
        progress: &mut dyn FnMut(Revnum),
    ) -> Result<()> {
        let shard_size = self.fs.layout.format.shard_size.unwrap_or(1);
        let mut revision = start;
        let mut retries = 0;
        while revision <= end {
            let file = self.fs.rev_file(revision);
            if file.first.0.is_multiple_of(shard_size) {
                progress(file.first);
            }
            let checked = files::check_file(self, &file, cancel)
                .and_then(|()| files::check_revprops(self, &file, cancel));
            if let Err(error) = checked {
                // Another program may have packed the shard: then it is looked at again.
                self.fs.refresh_min_unpacked()?;
                retries += 1;
                if self.fs.rev_file(revision) == file || retries > RETRIES {
                    return Err(error);
                }
                revision = self.fs.rev_file(revision).first;
                continue;
            }
            revision = Revnum(file.first.0.saturating_add(file.count));
        }
        Ok(())
    }
}

/// What a thread reports of the files that it checks.
enum Message {
    /// A shard is begun.
    Shard(Revnum),
    /// All of a job's files were looked at, or one is not whole.
    Done(Result<()>),
}

/// Corruption in the reference's words.
fn corrupt(message: impl Into<String>) -> Error {
    Error::Corrupt(message.into())
}
