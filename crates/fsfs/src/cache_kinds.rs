//! The kinds of values that this engine caches: a number for each kind, and the kinds whose types
//! have no module of their own here.
//!
//! The other kinds stand beside their types, with a number from the same list: so the list knows no
//! type, and no type knows another's.

use sapwood_core::Exact;
use std::sync::OnceLock;

use sapwood_core::{Md5, PropList, Revnum};
use sapwood_fsfs_format::manifest::Manifest;
use sapwood_fsfs_format::revprops::{RevpropManifest, RevpropPack};
use sapwood_fsfs_format::{Directory, L2pPage, NodeRev, Trailer};
use sapwood_store::{Key, Kind};

/// The numbers of this engine's kinds; 0 is that of raw blocks, and those from 200 on are for kinds above engines.
#[derive(Clone, Copy)]
#[repr(u8)]
pub(crate) enum Number {
    NodeRev = 1,
    Directory,
    Props,
    Changes,
    Manifest,
    FileIndex,
    L2pPage,
    Text,
    RepStart,
    RawRep,
    RevpropManifest,
    RevpropPack,
    Trailer,
    Encoded,
    DirSummary,
    ChildNodes,
    Revprops,
}

impl Number {
    /// The kind of values that has this number.
    pub(crate) const fn kind<T>(self, weight: fn(&T) -> usize) -> Kind<T> {
        #[allow(clippy::as_conversions, reason = "this is how an enum gives its number")]
        Kind::new(self as u8, weight)
    }
}

/// The expanded text of one window of a representation.
#[derive(Debug)]
pub(crate) struct Text {
    pub(crate) bytes: Box<[u8]>,
    /// The MD5, when this is a whole text that was found to have the checksum its
    /// node-revision records. Another node-revision may share the text and record another.
    pub(crate) verified: OnceLock<Md5>,
}

/// A piece of the stored bytes of a long representation.
#[derive(Debug)]
pub(crate) struct RawRep(pub(crate) Box<[u8]>);

/// A delta between two texts as svndiff, whether it is stored or was made.
#[derive(Debug)]
pub(crate) struct CachedDelta {
    /// Revision and item of the text that it applies to; `None` for the empty text.
    pub(crate) source: Option<(Revnum, u64)>,
    pub(crate) bytes: Box<[u8]>,
}

/// Node-revisions: revision, item.
pub(crate) const NODE_REV: Kind<NodeRev> = Number::NodeRev.kind(NodeRev::byte_len);
/// Directories by their text representation: revision, item.
pub(crate) const DIRECTORY: Kind<Directory> =
    Number::Directory.kind(Directory::byte_len).found_while_held();
/// Node properties by their representation: revision, item.
pub(crate) const PROPS: Kind<PropList> = Number::Props.kind(props_len).found_while_held();
/// Revision properties: revision, nothing, version of the shard.
pub(crate) const REVPROPS: Kind<PropList> = Number::Revprops.kind(props_len).of_neighbours();
/// Offsets in a pack with physical addressing: shard.
pub(crate) const MANIFEST: Kind<Manifest> =
    Number::Manifest.kind(|v: &Manifest| v.len().times(8)).found_while_held();
/// A page of an index: revision or shard, 0 or 1 for a pack, page.
pub(crate) const L2P_PAGE: Kind<L2pPage> =
    Number::L2pPage.kind(L2pPage::byte_len).found_while_held();
/// Expanded windows of a representation: revision, item, window.
pub(crate) const TEXT: Kind<Text> = Number::Text.kind(|v: &Text| v.bytes.len());
/// Stored bytes of a long representation: revision, item, where the piece begins.
pub(crate) const RAW_REP: Kind<RawRep> = Number::RawRep.kind(|v: &RawRep| v.0.len());
/// Deltas between texts: revision and item of the target, a mixture of source and svndiff version.
pub(crate) const ENCODED: Kind<CachedDelta> = Number::Encoded.kind(|v: &CachedDelta| v.bytes.len());
/// Where root and changed paths are with physical addressing: revision.
pub(crate) const TRAILER: Kind<Trailer> = Number::Trailer.kind(|_: &Trailer| size_of::<Trailer>());
/// Manifest of packed revision properties: shard, version of the shard.
pub(crate) const REVPROP_MANIFEST: Kind<RevpropManifest> =
    Number::RevpropManifest.kind(RevpropManifest::byte_len).found_while_held();
/// A file of packed revision properties: first revision, version of the shard.
pub(crate) const REVPROP_PACK: Kind<RevpropPack> =
    Number::RevpropPack.kind(revprop_pack_len).found_while_held();

fn props_len(props: &PropList) -> usize {
    props.byte_len().plus(size_of::<PropList>())
}

fn revprop_pack_len(pack: &RevpropPack) -> usize {
    pack.len().times(pack.get(pack.first_revision()).map_or(64, <[u8]>::len).max(256))
}

/// The cache key of a value for item `item` of a revision.
pub(crate) fn item<T>(kind: &Kind<T>, fs: u32, revision: Revnum, item: u64) -> Key<T> {
    kind.key(fs, revision.0, item, 0)
}
