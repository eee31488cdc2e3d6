//! Packing where the repository is in a store of objects: a pack is built on this server's disk, sent to the store, and announced by an
//! entry of the log.
//!
//! Any server may pack, and two may pack the same shard: the first entry counts, the other's objects are swept one day.
//!
//! Invariant: the properties in an announced pack are those of the state that the entry follows.

use std::collections::BTreeMap;

use sapwood_core::CancelToken;
use sapwood_fsfs_format::layout::names;

use super::{PackConfig, PackNotice, PackOptions, check, logical};
use crate::error::{Error, Result};
use crate::filesystem::SharedState;
use crate::revision_store::LogRevisions;
use crate::revprop_pack::remove_dir_all;

/// Packs all complete shards.
pub(super) fn pack(
    shared: &SharedState,
    log: &LogRevisions,
    options: &PackOptions,
    cancel: &CancelToken,
    notify: &mut dyn FnMut(PackNotice) -> Result<()>,
) -> Result<()> {
    let storage = &*shared.storage;
    let _lock = shared.lock_file(storage, names::PACK_LOCK)?;
    let config = PackConfig::read(shared, storage)?;
    let size = shared.layout.format.shard_size.unwrap_or(1);
    for shard in shared.unpacked_shards(size)? {
        check(cancel)?;
        notify(PackNotice::Start(shard))?;
        pack_shard(shared, log, (options, config), shard, cancel)?;
        notify(PackNotice::End(shard))?;
    }
    shared.refresh_min_unpacked()?;
    Ok(())
}

fn pack_shard(
    shared: &SharedState,
    log: &LogRevisions,
    (options, config): (&PackOptions, PackConfig),
    shard: u64,
    cancel: &CancelToken,
) -> Result<()> {
    let storage = &*shared.storage;
    let folder = shared.file(&shared.layout.pack_dir(shard));
    let fail = |e| Error::io(e, "Can't create directory", &folder);
    for made in [shared.file(names::REVS), folder.clone()] {
        remove_dir_all(storage, &folder, false)?;
        match storage.create_dir(&made, false) {
            Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => {}
            made => made.map_err(fail)?,
        }
    }
    logical::build(shared, options, config, shard, cancel)?;
    let data = log.send_file("pack", &shared.file(&shared.layout.pack_file(shard)))?;
    let announced = log.announce_pack(shard, data, &|| {
        let files = shared.packed_revprop_files(shard, config.revprops)?;
        Ok(files.into_iter().collect::<BTreeMap<_, _>>())
    });
    // What stays is removed by the next run.
    remove_dir_all(storage, &folder, false)?;
    announced
}
