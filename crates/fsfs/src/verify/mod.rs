//! Whether what is on disk is whole: indexes, checksums, trees, revision properties, rep-cache.
//!
//! Two layers, as in the reference: [`Filesystem::verify_metadata`] looks at files and indexes
//! (`svn_fs_verify`), [`Root::verify`] at one tree (`svn_fs_verify_root`).
//! [`Filesystem::verify_revision`] reads all that a revision brought, with every checksum.

use sapwood_core::{CancelToken, Revnum};
use sapwood_fsfs_format::layout::since;

use crate::error::{Error, Result};
use crate::filesystem::Filesystem;

mod files;
mod rep_cache;
mod revision;
mod tree;

/// How often a file is checked again because its shard was packed meanwhile.
const RETRIES: u32 = 10;

#[allow(clippy::missing_errors_doc)]
impl Filesystem {
    /// Checks indexes against each other, their checksums and the items they describe, revision
    /// properties, and the rep-cache, for all files that hold revisions from `start` (0 when
    /// `None`) to `end` (the youngest). Stops at the first thing that is wrong.
    ///
    /// `progress` is called with the first revision of each shard, and with `None` when the
    /// rep-cache is begun, just as the reference reports "Verifying metadata at revision N" and
    /// "Verifying repository metadata". Physically addressed filesystems have no indexes.
    pub fn verify_metadata(
        &self,
        start: Option<Revnum>,
        end: Option<Revnum>,
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
            self.verify_files(start, end, cancel, progress)?;
        }
        if self.fs.layout.format.number >= since::PACKING {
            rep_cache::verify(self, start, end, cancel, progress)?;
        }
        Ok(())
    }

    fn verify_files(
        &self,
        start: Revnum,
        end: Revnum,
        cancel: &CancelToken,
        progress: &mut dyn FnMut(Option<Revnum>),
    ) -> Result<()> {
        let shard_size = self.fs.layout.format.shard_size.unwrap_or(1);
        let mut revision = start;
        let mut retries = 0;
        while revision <= end {
            let file = self.fs.rev_file(revision);
            if file.first.0.is_multiple_of(shard_size) {
                progress(Some(file.first));
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

/// Corruption in the reference's words.
fn corrupt(message: impl Into<String>) -> Error {
    Error::Corrupt(message.into())
}
