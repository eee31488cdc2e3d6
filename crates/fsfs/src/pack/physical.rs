//! Packing with physical addressing: revisions one after the other, and a manifest that says
//! where each begins.

use sapwood_core::Exact;
use sapwood_core::{CancelToken, Revnum, len64};
use sapwood_fsfs_format::manifest::Manifest;

use super::build_queue::ShardFiles;
use super::output::Output;
use super::source::Sources;
use crate::dump_index::check;
use crate::error::{Error, Result};
use crate::filesystem::SharedState;

/// Larger revisions are copied in pieces of this many bytes.
const PIECE: u64 = 1 << 20;

pub(super) fn build(shared: &SharedState, shard: u64, cancel: &CancelToken) -> Result<ShardFiles> {
    let (storage, layout) = (&*shared.storage, &shared.layout);
    let size = layout.format.shard_size.unwrap_or(1);
    let first = shard.saturating_mul(size);
    let mut pack = Output::create(storage, shared.file(&layout.pack_file(shard)))?;
    let piece = sapwood_core::exact::clamped(PIECE);
    let mut sources = Sources::new(&*shared.revisions, piece);
    let mut offsets = Vec::new();
    for revision in first..first.saturating_add(size) {
        check(cancel)?;
        offsets.push(pack.len());
        let source = sources.add(Revnum(revision))?;
        let len = sources.len(source);
        let mut at = 0;
        while at < len {
            let bytes = sources.bytes(source, at, PIECE)?;
            if bytes.is_empty() {
                let what = format!("Revision file of r{revision} became shorter");
                return Err(Error::Corrupt(what));
            }
            at = at.plus(len64(bytes.len()));
            pack.append(&bytes)?;
        }
        sources.clear(piece);
    }
    let mut manifest = Output::create(storage, shared.file(&layout.pack_manifest(shard)))?;
    let mut text = Vec::new();
    Manifest::from_iter(offsets).write(&mut text);
    manifest.append(&text)?;
    let mut built = ShardFiles::default();
    manifest.finish(&mut built)?;
    pack.finish(&mut built)?;
    Ok(built)
}
