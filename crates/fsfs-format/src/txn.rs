//! Small files of a transaction's folder.

use crate::error::Result;
use crate::id::{NodeRevId, TxnId};

/// What `next-ids` says: the next temporary node id and copy id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NextIds {
    /// The next node id.
    pub node: u64,
    /// The next copy id.
    pub copy: u64,
}

#[allow(clippy::missing_errors_doc, unused_variables)]
impl NextIds {
    /// Parses `next-ids`.
    pub fn parse(bytes: &[u8]) -> Result<Self> {
        todo!()
    }
    /// Appends the line.
    pub fn write(&self, out: &mut Vec<u8>) {
        todo!()
    }
}

/// The transaction that a folder's name in `transactions` stands for, `None` for other names.
#[must_use]
pub fn txn_of_folder_name(name: &str) -> Option<TxnId> {
    let _ = name;
    todo!()
}

/// The name of a node-revision's file in the transaction's folder: `node.NODE.COPY`.
#[must_use]
pub fn node_file_name(id: &NodeRevId) -> String {
    format!("node.{}.{}", id.node, id.copy)
}
