//! Revision properties out of a store, past all caches: manifests, packs, single ones.

use std::io::ErrorKind;
use std::path::PathBuf;

use sapwood_core::hashdump;
use sapwood_core::{ErrorCode, PropList, Revnum, SvnError};
use sapwood_fsfs_format::Layout;
use sapwood_fsfs_format::revprops::{RevpropManifest, RevpropPack};
use sapwood_fsfs_format::since;

use super::{Object, RevisionStore};
use crate::error::{Error, Result};

/// The longest manifest of packed properties that is read, and the longest file of properties of one revision.
pub(super) const FILE_LEN: usize = 1 << 28;

/// [`Error::FileGone`] when a file is not there.
pub(crate) fn gone_or(error: std::io::Error, path: PathBuf) -> Error {
    if error.kind() == ErrorKind::NotFound {
        Error::FileGone { path }
    } else {
        Error::io(error, "Can't open file", &path)
    }
}

/// The error for properties that are nowhere; they were looked for in `path`.
pub(crate) fn missing(layout: &Layout, revision: Revnum, path: PathBuf) -> Error {
    if layout.format.number < since::REVPROP_PACKING {
        return Error::io(ErrorKind::NotFound.into(), "Can't open file", &path);
    }
    Error::new(ErrorCode::FS_NO_SUCH_REVISION, format!("No such packed revision {revision}"))
}

/// The error for properties that their manifest names no pack for.
pub(crate) fn not_named(revision: Revnum) -> Error {
    Error::new(
        ErrorCode::FS_CORRUPT_REVPROP_MANIFEST,
        format!("Packed revprop manifest for r{revision} too small"),
    )
}

/// The error for properties that are not in the pack that is named for them.
pub(crate) fn not_in_pack(revision: Revnum) -> Error {
    Error::Corrupt(format!("Revprop pack for revision r{revision} does not contain it"))
}

/// The error for packed properties whose files are gone, however often they are looked for.
pub(crate) fn unreadable(revision: Revnum) -> Error {
    Error::new(
        ErrorCode::FS_PACKED_REVPROP_READ_FAILURE,
        format!("Failed to read revprop pack file for r{revision}"),
    )
}

/// Reads the manifest of a packed shard.
pub(crate) fn read_manifest(
    store: &dyn RevisionStore,
    layout: &Layout,
    shard: u64,
) -> Result<RevpropManifest> {
    let object = Object::PropsManifest(shard);
    let bytes = store.read(object, FILE_LEN).map_err(|e| gone_or(e, store.place(object)))?;
    let size = layout.format.shard_size.unwrap_or(1);
    let start = Revnum(shard.saturating_mul(size));
    RevpropManifest::parse(&bytes, start, size)
        .map_err(|error| Error::File { path: store.place(object), error })
}

/// Reads the pack `name` of a shard, in which `revision` is.
pub(crate) fn read_pack(
    store: &dyn RevisionStore,
    (shard, name): (u64, &str),
    revision: Revnum,
) -> Result<RevpropPack> {
    let limit = sapwood_fsfs_format::limits::REVPROP_PACK_LEN;
    let limit = sapwood_core::exact::clamped(limit);
    let object = Object::PropsPack(shard, name);
    let bytes = store.read(object, limit).map_err(|e| gone_or(e, store.place(object)))?;
    RevpropPack::parse(&bytes).map_err(|e| {
        Error::Svn(
            SvnError::from(e).wrap(
                ErrorCode::FS_CORRUPT,
                format!("Revprop pack file for r{revision} is corrupt"),
            ),
        )
    })
}

/// The properties of a revision, from how they are stored.
pub(crate) fn parse(bytes: &[u8], revision: Revnum) -> Result<PropList> {
    hashdump::parse(bytes, Some(hashdump::END)).map_err(|e| {
        let sentence = format!("Failed to parse revprops for r{revision}.");
        Error::Svn(SvnError::from(e).context(sentence))
    })
}
