//! Where the files of revisions are, and those of packed shards.

use std::path::Path;

use sapwood_core::Revnum;
use sapwood_fs_common::hotcopy::{Copier, Order, Result, RevisionFiles};
use sapwood_fsfs_format::revprops::RevpropManifest;
use sapwood_fsfs_format::since;

use super::copy_error;
use crate::error::Error;
use crate::filesystem::SharedState;

/// The source.
pub(super) struct Revisions<'a>(pub(super) &'a SharedState);

impl RevisionFiles for Revisions<'_> {
    fn shard_size(&self) -> Option<u64> {
        self.0.layout.format.shard_size
    }

    fn min_unpacked(&self) -> Result<Revnum> {
        self.0.refresh_min_unpacked().map_err(copy_error)
    }

    fn files(&self, revision: Revnum) -> Vec<String> {
        vec![self.0.layout.rev_file(revision), self.0.layout.revprops_file(revision)]
    }

    fn packed_shard(&self, copier: &Copier<'_>, first: Revnum, size: u64) -> Result<bool> {
        let layout = &self.0.layout;
        let shard = first.0.checked_div(size).unwrap_or(0);
        let is_new = copier.is_new_pack(first);
        let pack = layout.pack_dir(shard);
        let to = copier.target(&pack);
        if is_new {
            copier.remove_tree(&to)?;
        }
        let mut any = copier.copy_dir(&copier.source(&pack), &to, Order::Any)?;
        if layout.format.number < since::REVPROP_PACKING {
            let end = first.0.saturating_add(size);
            copier.make_dir(&copier.target(&layout.revprops_dir(first)))?;
            for revision in (first.0..end).map(Revnum) {
                any |= copier.copy_of_revision(&layout.revprops_file(revision), revision)?;
            }
            return Ok(any);
        }
        if shard == 0 {
            copier.make_dir(&copier.target(&layout.revprops_dir(Revnum::ZERO)))?;
            any |= copier.copy_of_revision(&layout.revprops_file(Revnum::ZERO), Revnum::ZERO)?;
        }
        let dir = layout.revprops_pack_dir(shard);
        if is_new {
            copier.remove_tree(&copier.target(&dir))?;
        }
        let parse = |manifest: &[u8], path: &Path| {
            let manifest = RevpropManifest::parse(manifest, first, size)
                .map_err(|error| copy_error(Error::File { path: path.to_owned(), error }))?;
            Ok(manifest.packs().map(|(name, _)| name.into()).collect())
        };
        Ok(copier.copy_with_manifest(&dir, first, is_new, &parse)? || any)
    }
}
