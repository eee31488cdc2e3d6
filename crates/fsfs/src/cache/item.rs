//! What the caches hold: keys, and one enum of shared values.

use std::sync::{Arc, OnceLock, Weak};

use sapwood_core::{Md5, PropList, Revnum};
use sapwood_fsfs_format::manifest::Manifest;
use sapwood_fsfs_format::revprops::{RevpropManifest, RevpropPack};
use sapwood_fsfs_format::{Directory, L2pPage, NodeRev, Trailer};

use crate::changes::ChangedPaths;
use crate::credits::CreditBlock;
use crate::deletion::Deletion;
use crate::family::Family;
use crate::index::FileIndex;
use crate::listing::Listing;
use crate::log_blocks::EncodedEntries;
use crate::rep::header::RepStart;
use crate::verify::summary::DirSummary;

/// The name of a cached item. The kind of item is part of the name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Key {
    /// The filesystem's number in the caches.
    pub(crate) fs: u32,
    pub(crate) kind: Kind,
    /// Mostly a revision.
    pub(crate) a: u64,
    /// Mostly an item index.
    pub(crate) b: u64,
    /// Number of a window, block or page.
    pub(crate) part: u64,
}

impl Kind {
    /// Whether a value of this kind may stand for thousands of others, so that whoever goes
    /// through those asks for it again and again.
    pub(crate) const fn is_asked_for_again(self) -> bool {
        matches!(
            self,
            Self::Dir
                | Self::Props
                | Self::Changes
                | Self::Manifest
                | Self::Index
                | Self::Page
                | Self::Family
                | Self::RevpropManifest
                | Self::RevpropPack
        )
    }
}

impl Key {
    /// A well-mixed hash: folded multiplication with odd constants, which is enough for numbers
    /// that the repository, not a client, chooses. What a log reads of sixteen neighbouring
    /// revisions gets neighbouring hashes, so that it lies together in the table, and differs in
    /// the highest bits, by which the table tells neighbours apart.
    pub(crate) fn hash64(&self) -> u64 {
        let near = match self.kind {
            Kind::Changes | Kind::Revprops | Kind::LogEntries => self.a & 15,
            _ => 0,
        };
        let head = (u64::from(self.fs) << 8) ^ u64::from(self.kind.number());
        let h = fold(head ^ 0x9e37_79b9_7f4a_7c15 ^ self.a ^ near, 0xbf58_476d_1ce4_e5b9);
        let h = fold(h ^ self.b ^ self.part.rotate_left(32), 0x94d0_49bb_1331_11eb);
        match self.kind {
            Kind::Changes | Kind::Revprops | Kind::LogEntries => ((h & !15) | near) ^ (near << 58),
            _ => h,
        }
    }
}

/// The two halves of a 128-bit product, mixed.
#[allow(clippy::as_conversions, reason = "each half is wanted alone")]
fn fold(x: u64, by: u64) -> u64 {
    let wide = u128::from(x).wrapping_mul(u128::from(by));
    (wide as u64) ^ ((wide >> 64) as u64)
}

/// A type of value that the caches hold.
pub(crate) trait Cached: Sized {
    /// Which kind of key goes with it.
    const KIND: Kind;
    /// Bytes of memory that the value takes.
    fn weight(&self) -> usize;
    /// Into the enum.
    fn wrap(value: Arc<Self>) -> Item;
    /// Out of the enum.
    fn unwrap(item: Item) -> Option<Arc<Self>>;
}

macro_rules! items {
    ($($(#[$doc:meta])* $name:ident($type:ty) = $number:literal, $weight:expr;)*) => {
        /// What kind of item a [`Key`] names.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub(crate) enum Kind {
            $($(#[$doc])* $name,)*
            /// Revision properties, a [`PropList`] as well: revision, generation of the shard.
            Revprops,
        }

        impl Kind {
            const fn number(self) -> u8 {
                match self { $(Self::$name => $number,)* Self::Revprops => 255 }
            }
        }

        /// One shared value.
        #[derive(Clone, Debug)]
        pub(crate) enum Item { $($name(Arc<$type>)),* }

        /// A reference to a shared value that does not keep it alive.
        #[derive(Clone, Debug)]
        pub(crate) enum Alive { $($name(Weak<$type>)),* }

        impl Item {
            /// A reference that does not keep the value alive.
            pub(crate) fn downgrade(&self) -> Alive {
                match self { $(Self::$name(value) => Alive::$name(Arc::downgrade(value))),* }
            }
        }

        impl Alive {
            /// The value, if it is held anywhere.
            pub(crate) fn upgrade(&self) -> Option<Item> {
                match self { $(Self::$name(value) => value.upgrade().map(Item::$name)),* }
            }

            /// Whether the value is held anywhere.
            pub(crate) fn is_held(&self) -> bool {
                match self { $(Self::$name(value) => value.strong_count() > 0),* }
            }
        }

        $(impl Cached for $type {
            const KIND: Kind = Kind::$name;
            fn weight(&self) -> usize {
                let weight: fn(&Self) -> usize = $weight;
                weight(self)
            }
            fn wrap(value: Arc<Self>) -> Item { Item::$name(value) }
            fn unwrap(item: Item) -> Option<Arc<Self>> {
                match item { Item::$name(value) => Some(value), _ => None }
            }
        })*
    };
}

/// A block of a revision file.
#[derive(Debug)]
pub(crate) struct Block(pub(crate) Box<[u8]>);

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
pub(crate) struct Encoded {
    /// Revision and item of the text that it applies to; `None` for the empty text.
    pub(crate) source: Option<(Revnum, u64)>,
    pub(crate) bytes: Box<[u8]>,
}

items! {
    /// A block: 0 or 1 for a pack, revision or shard, block.
    Block(Block) = 0, |v| v.0.len();
    /// A node-revision: revision, item.
    Node(NodeRev) = 1, NodeRev::byte_len;
    /// A directory by its text representation: revision, item.
    Dir(Directory) = 2, Directory::byte_len;
    /// Node properties by their representation: revision, item.
    Props(PropList) = 3, |v| v.byte_len().saturating_add(size_of::<PropList>());
    /// Changed paths: revision.
    Changes(ChangedPaths) = 4, ChangedPaths::byte_len;
    /// Offsets in a pack with physical addressing: shard.
    Manifest(Manifest) = 6, |v| v.len().saturating_mul(8);
    /// Footer and index header of a file: 0 or 1 for a pack, revision or shard.
    Index(FileIndex) = 7, FileIndex::byte_len;
    /// A page of an index: 0 or 1 for a pack, revision or shard, page.
    Page(L2pPage) = 8, L2pPage::byte_len;
    /// Expanded windows of a representation: revision, item, window.
    Text(Text) = 9, |v| v.bytes.len();
    /// Where a representation's data begin, and what it is a delta against: revision, item.
    RepStart(RepStart) = 10, |_| size_of::<RepStart>();
    /// Stored bytes of a long representation: revision, item, where the piece begins.
    RawRep(RawRep) = 11, |v| v.0.len();
    /// Deltas between texts: revision and item of the target, a mixture of source and svndiff
    /// version.
    Encoded(Encoded) = 15, |v| v.bytes.len();
    /// Where root and changed paths are with physical addressing: revision.
    Trailer(Trailer) = 14, |_| size_of::<Trailer>();
    /// What a directory's entries add up to, by its text representation: revision, item.
    DirSummary(DirSummary) = 16, |_| size_of::<DirSummary>();
    /// Encoded log entries: first revision, form, generation of the shard.
    LogEntries(EncodedEntries) = 17, EncodedEntries::weight;
    /// Date and author of neighbouring revisions: first revision, generation of the shard.
    Credits(CreditBlock) = 18, CreditBlock::weight;
    /// Encoded listings by the directory's representation: revision, item, path and form mixed.
    Listing(Listing) = 19, Listing::weight;
    /// The node-revisions of a directory's entries, by its representation: revision, item.
    Family(Family) = 20, Family::weight;
    /// When a path was deleted: first and last revision, path mixed.
    Deletion(Deletion) = 21, Deletion::weight;
    /// Manifest of packed revision properties: shard.
    RevpropManifest(RevpropManifest) = 12, RevpropManifest::byte_len;
    /// A file of packed revision properties: first revision, generation of the shard.
    RevpropPack(RevpropPack) = 13, |v| {
        v.len().saturating_mul(v.get(v.first_revision()).map_or(64, <[u8]>::len).max(256))
    };
}
