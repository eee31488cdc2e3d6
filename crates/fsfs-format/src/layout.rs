//! Where everything is in the `db` folder. Paths are relative to it, with `/`.

use sapwood_core::Exact;
use sapwood_core::{Md5, Revnum};

use crate::base36::Base36;
use crate::format_file::{Addressing, FormatFile};
use crate::id::{IdPart, NodeRevId, TxnId};
use crate::since;

/// Names of files and folders, and constants of formats.
pub mod names {
    /// Number and options of the format.
    pub const FORMAT: &str = "format";
    /// `fsfs`.
    pub const FS_TYPE: &str = "fs-type";
    /// The repository's UUID, and from format 7 the instance's.
    pub const UUID: &str = "uuid";
    /// The youngest revision.
    pub const CURRENT: &str = "current";
    /// Locked by writers.
    pub const WRITE_LOCK: &str = "write-lock";
    /// Locked while packing (format 7 and later).
    pub const PACK_LOCK: &str = "pack-lock";
    /// Revisions.
    pub const REVS: &str = "revs";
    /// Revision properties.
    pub const REVPROPS: &str = "revprops";
    /// Transactions.
    pub const TRANSACTIONS: &str = "transactions";
    /// Prototype revision files.
    pub const TXN_PROTOREVS: &str = "txn-protorevs";
    /// The number of the next transaction.
    pub const TXN_CURRENT: &str = "txn-current";
    /// Locked while that changes.
    pub const TXN_CURRENT_LOCK: &str = "txn-current-lock";
    /// Locks on paths.
    pub const LOCKS: &str = "locks";
    /// Origins of nodes with old ids.
    pub const NODE_ORIGINS: &str = "node-origins";
    /// The first revision that is not packed.
    pub const MIN_UNPACKED_REV: &str = "min-unpacked-rev";
    /// Configuration.
    pub const CONFIG: &str = "fsfs.conf";
    /// Sharing of representations.
    pub const REP_CACHE: &str = "rep-cache.db";
    /// Manifests of packed shards.
    pub const MANIFEST: &str = "manifest";
    /// The pack file of a shard.
    pub const PACK: &str = "pack";
    /// Written by 1.8 beside packed revprops, and ignored.
    pub const REVPROP_GENERATION: &str = "revprop-generation";
    /// A transaction's properties.
    pub const TXN_PROPS: &str = "props";
    /// A transaction's properties while it is being committed.
    pub const TXN_PROPS_FINAL: &str = "props-final";
    /// A transaction's changed paths.
    pub const TXN_CHANGES: &str = "changes";
    /// A transaction's next ids.
    pub const TXN_NEXT_IDS: &str = "next-ids";
    /// A transaction's next item index.
    pub const TXN_ITEM_INDEX: &str = "itemidx";
    /// A transaction's log-to-phys index.
    pub const TXN_L2P: &str = "index.l2p";
    /// A transaction's phys-to-log index.
    pub const TXN_P2L: &str = "index.p2l";
}

/// The naming rules of one filesystem.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// What `format` says.
    pub format: FormatFile,
}

impl Layout {
    /// The rules of a format.
    #[must_use]
    pub const fn new(format: FormatFile) -> Self {
        Self { format }
    }
    /// Whether items are addressed logically.
    #[must_use]
    pub const fn is_logical(&self) -> bool {
        matches!(self.format.addressing, Addressing::Logical)
    }
    /// The shard of a revision, `None` in the linear layout.
    #[must_use]
    pub fn shard(&self, revision: Revnum) -> Option<u64> {
        self.format.shard_size.and_then(|size| revision.0.checked_div(size))
    }
    /// The first revision of the file that holds `revision`: of its shard when packed.
    #[must_use]
    pub fn base_revision(&self, revision: Revnum, min_unpacked: Revnum) -> Revnum {
        match self.format.shard_size {
            Some(size) if revision < min_unpacked && size > 0 => {
                Revnum(revision.0.minus(revision.0 % size))
            }
            _ => revision,
        }
    }
    /// The file of an unpacked revision.
    #[must_use]
    pub fn rev_file(&self, revision: Revnum) -> String {
        self.in_shard(names::REVS, revision)
    }
    /// The folder of a packed shard.
    #[must_use]
    pub fn pack_dir(&self, shard: u64) -> String {
        format!("{}/{shard}.pack", names::REVS)
    }
    /// The pack file of a shard.
    #[must_use]
    pub fn pack_file(&self, shard: u64) -> String {
        format!("{}/{shard}.pack/{}", names::REVS, names::PACK)
    }
    /// The manifest of a packed shard (physical addressing).
    #[must_use]
    pub fn pack_manifest(&self, shard: u64) -> String {
        format!("{}/{shard}.pack/{}", names::REVS, names::MANIFEST)
    }
    /// The file of unpacked revision properties.
    #[must_use]
    pub fn revprops_file(&self, revision: Revnum) -> String {
        self.in_shard(names::REVPROPS, revision)
    }
    /// The folder of unpacked revision properties: a shard's, or all.
    #[must_use]
    pub fn revprops_dir(&self, revision: Revnum) -> String {
        match self.shard(revision) {
            Some(shard) => format!("{}/{shard}", names::REVPROPS),
            None => names::REVPROPS.to_owned(),
        }
    }
    /// The folder of a shard's packed revision properties.
    #[must_use]
    pub fn revprops_pack_dir(&self, shard: u64) -> String {
        format!("{}/{shard}.pack", names::REVPROPS)
    }
    /// Whether the properties of a revision are packed.
    #[must_use]
    pub fn is_revprop_packed(&self, revision: Revnum, min_unpacked: Revnum) -> bool {
        self.format.number >= since::REVPROP_PACKING && revision.0 != 0 && revision < min_unpacked
    }
    /// The folder of a transaction.
    #[must_use]
    pub fn txn_dir(&self, txn: &TxnId) -> String {
        format!("{}/{txn}.txn", names::TRANSACTIONS)
    }
    /// A node-revision's file in its transaction.
    #[must_use]
    pub fn txn_node_file(&self, txn: &TxnId, id: &NodeRevId) -> String {
        format!("{}/{}", self.txn_dir(txn), crate::txn::node_file_name(id))
    }
    /// The prototype revision file of a transaction.
    #[must_use]
    pub fn proto_rev_file(&self, txn: &TxnId) -> String {
        match self.format.number {
            since::LAYOUT.. => format!("{}/{txn}.rev", names::TXN_PROTOREVS),
            _ => format!("{}/rev", self.txn_dir(txn)),
        }
    }
    /// The write lock of that.
    #[must_use]
    pub fn proto_rev_lock(&self, txn: &TxnId) -> String {
        match self.format.number {
            since::LAYOUT.. => format!("{}/{txn}.rev-lock", names::TXN_PROTOREVS),
            _ => format!("{}/rev-lock", self.txn_dir(txn)),
        }
    }
    /// The digest file of a path.
    #[must_use]
    pub fn lock_file(digest: &Md5) -> String {
        let digest = digest.to_hex();
        format!("{}/{}/{digest}", names::LOCKS, digest.get(..3).unwrap_or_default())
    }
    /// The node-origins file of a node with an old id.
    #[must_use]
    pub fn node_origins_file(node: IdPart) -> String {
        let mut name = Base36(node.number()).to_string();
        if name.len() > 1 {
            name.pop();
        }
        format!("{}/{name}", names::NODE_ORIGINS)
    }

    fn in_shard(&self, top: &str, revision: Revnum) -> String {
        match self.shard(revision) {
            Some(shard) => format!("{top}/{shard}/{revision}"),
            None => format!("{top}/{revision}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(text: &str) -> Layout {
        Layout::new(FormatFile::parse(text.as_bytes(), "format").unwrap())
    }

    #[test]
    fn linear_and_old() {
        let old = layout("2\n");
        let txn = TxnId::parse(b"14-1").unwrap();
        assert_eq!(old.rev_file(Revnum(1234)), "revs/1234");
        assert_eq!(old.revprops_file(Revnum(1234)), "revprops/1234");
        assert_eq!(old.revprops_dir(Revnum(1234)), "revprops");
        assert_eq!(old.proto_rev_file(&txn), "transactions/14-1.txn/rev");
        assert_eq!(old.proto_rev_lock(&txn), "transactions/14-1.txn/rev-lock");
        assert_eq!(old.base_revision(Revnum(1234), Revnum(2000)), Revnum(1234));
    }

    #[test]
    fn sharded_and_packed() {
        let new = layout("8\nlayout sharded 1000\naddressing logical\n");
        let txn = TxnId::parse(b"14-g").unwrap();
        let id = NodeRevId::parse(b"_3.0.t14-g").unwrap();
        assert_eq!(new.rev_file(Revnum(1234)), "revs/1/1234");
        assert_eq!(new.revprops_file(Revnum(999)), "revprops/0/999");
        assert_eq!(new.pack_file(1), "revs/1.pack/pack");
        assert_eq!(new.pack_manifest(1), "revs/1.pack/manifest");
        assert_eq!(new.revprops_pack_dir(1), "revprops/1.pack");
        assert_eq!(new.proto_rev_file(&txn), "txn-protorevs/14-g.rev");
        assert_eq!(new.txn_node_file(&txn, &id), "transactions/14-g.txn/node._3.0");
        assert_eq!(new.base_revision(Revnum(1234), Revnum(2000)), Revnum(1000));
        assert_eq!(new.base_revision(Revnum(2234), Revnum(2000)), Revnum(2234));
        assert!(new.is_revprop_packed(Revnum(1), Revnum(1000)));
        assert!(!new.is_revprop_packed(Revnum(0), Revnum(1000)));
        assert!(!layout("4\nlayout sharded 10\n").is_revprop_packed(Revnum(1), Revnum(10)));
    }

    #[test]
    fn digests_and_origins() {
        let path = Layout::lock_file(&Md5::of(b"/"));
        assert_eq!(path, "locks/666/6666cd76f96956469e7be39d750cc7d9");
        let node = |n| IdPart::new(Revnum(0), n);
        assert_eq!(Layout::node_origins_file(node(5)), "node-origins/5");
        assert_eq!(Layout::node_origins_file(node(71)), "node-origins/1");
    }
}
