//! Names of files below `db`.

use sapwood_core::Revnum;
use sapwood_fsfs_format::base36::Base36;

use crate::format_file::FormatFile;

/// Names of files that are there once.
pub mod names {
    /// The youngest revision.
    pub const CURRENT: &str = "current";
    /// The future `current`, while a commit is finished.
    pub const NEXT: &str = "next";
    /// Format and shard size.
    pub const FORMAT: &str = "format";
    /// The kind of filesystem: `fsx`.
    pub const FS_TYPE: &str = "fs-type";
    /// Options.
    pub const CONFIG: &str = "fsx.conf";
    /// UUID of the repository, and that of this copy of it.
    pub const UUID: &str = "uuid";
    /// The first revision that is not packed.
    pub const MIN_UNPACKED: &str = "min-unpacked-rev";
    /// A number that grows by two with each change of revision properties, odd during the change.
    pub const REVPROP_GENERATION: &str = "revprop-generation";
    /// The number of the next transaction, in base 36.
    pub const TXN_CURRENT: &str = "txn-current";
    /// Who takes numbers from that holds this.
    pub const TXN_CURRENT_LOCK: &str = "txn-current-lock";
    /// The right to make revisions and to change their properties.
    pub const WRITE_LOCK: &str = "write-lock";
    /// The right to pack.
    pub const PACK_LOCK: &str = "pack-lock";
    /// The folder of shards.
    pub const REVS: &str = "revs";
    /// The folder of transactions.
    pub const TRANSACTIONS: &str = "transactions";
    /// The folder of prototypes of revision files.
    pub const TXN_PROTOREVS: &str = "txn-protorevs";
    /// Where equal texts are found: a database.
    pub const REP_CACHE: &str = "rep-cache.db";
    /// In the folder of a transaction: its properties.
    pub const TXN_PROPS: &str = "props";
    /// Its changed paths.
    pub const TXN_CHANGES: &str = "changes";
    /// The next numbers of nodes and copies.
    pub const TXN_NEXT_IDS: &str = "next-ids";
    /// The next item number.
    pub const TXN_ITEM_INDEX: &str = "itemidx";
    /// Where the items of its prototype are.
    pub const TXN_L2P: &str = "index.l2p";
    /// What the parts of its prototype are.
    pub const TXN_P2L: &str = "index.p2l";
}

/// Names of files of revisions.
#[derive(Clone, Copy, Debug)]
pub struct Layout(pub FormatFile);

impl Layout {
    /// The file of a revision that is not packed.
    #[must_use]
    pub fn revision(&self, revision: Revnum) -> String {
        format!("revs/{}/r{revision}", self.0.shard(revision))
    }

    /// The file of the revision properties of a revision that is not packed, and of revision 0 always.
    #[must_use]
    pub fn revprops(&self, revision: Revnum, is_packed: bool) -> String {
        let pack = if is_packed { ".pack" } else { "" };
        format!("revs/{}{pack}/p{revision}", self.0.shard(revision))
    }

    /// The folder of a shard that is not packed.
    #[must_use]
    pub fn shard_dir(&self, shard: u64) -> String {
        format!("{}/{shard}", names::REVS)
    }

    /// The folder of a packed shard.
    #[must_use]
    pub fn pack_dir(&self, shard: u64) -> String {
        format!("{}/{shard}.pack", names::REVS)
    }

    /// The folder of a transaction, by its number.
    #[must_use]
    pub fn txn_dir(txn: u64) -> String {
        format!("{}/{}.txn", names::TRANSACTIONS, Base36(txn))
    }

    /// The prototype of its revision file.
    #[must_use]
    pub fn proto_rev(txn: u64) -> String {
        format!("{}/{}.rev", names::TXN_PROTOREVS, Base36(txn))
    }

    /// The lock file of that.
    #[must_use]
    pub fn proto_rev_lock(txn: u64) -> String {
        format!("{}/{}.rev-lock", names::TXN_PROTOREVS, Base36(txn))
    }

    /// The file of all revisions of a packed shard.
    #[must_use]
    pub fn pack(&self, shard: u64) -> String {
        format!("revs/{shard}.pack/pack")
    }

    /// The manifest of the revision properties of a packed shard.
    #[must_use]
    pub fn manifest(&self, shard: u64) -> String {
        format!("revs/{shard}.pack/manifest")
    }

    /// A pack of revision properties, by its entry in the manifest.
    #[must_use]
    pub fn revprop_pack(&self, shard: u64, entry: crate::revprops::ManifestEntry) -> String {
        format!("revs/{shard}.pack/{}.{}", entry.start, entry.tag)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_files() {
        let layout = Layout(FormatFile { number: 2, shard_size: 20 });
        assert_eq!(layout.revision(Revnum(41)), "revs/2/r41");
        assert_eq!(layout.revprops(Revnum(0), true), "revs/0.pack/p0");
        let entry = crate::revprops::ManifestEntry { start: Revnum(20), tag: 3 };
        assert_eq!(layout.revprop_pack(1, entry), "revs/1.pack/20.3");
    }
}
