//! Node-revision ids: `NODE.COPY.rREV/ITEM` in revisions, `NODE.COPY.tTXN` in transactions.
//!
//! Ids are plain `Copy` values, compared and hashed without touching strings.

use std::fmt;

use sapwood_core::Revnum;

use crate::error::Result;

/// A node id or a copy id.
///
/// Three forms exist: `_N` (made in a transaction), `N-REV` (format 3 and later), and `N` (the
/// global counters of formats 1 and 2, and `0` for the root everywhere).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct IdPart {
    /// `None` while in a transaction; 0 for the global form.
    revision: Option<Revnum>,
    number: u64,
}

#[allow(unused_variables)]
impl IdPart {
    /// `0`, the root directory's.
    pub const ROOT: Self = Self { revision: Some(Revnum(0)), number: 0 };

    /// `N-REV`, or `N` for revision 0.
    #[must_use]
    pub const fn new(revision: Revnum, number: u64) -> Self {
        Self { revision: Some(revision), number }
    }
    /// `_N`.
    #[must_use]
    pub const fn in_txn(number: u64) -> Self {
        Self { revision: None, number }
    }
    /// The revision it was made in: `None` in a transaction, revision 0 for the global form.
    #[must_use]
    pub const fn revision(self) -> Option<Revnum> {
        self.revision
    }
    /// The number, unique within the revision or transaction, or globally.
    #[must_use]
    pub const fn number(self) -> u64 {
        self.number
    }
    /// Whether it is `0`.
    #[must_use]
    pub fn is_root(self) -> bool {
        self == Self::ROOT
    }
    /// Whether it was made in a transaction.
    #[must_use]
    pub const fn is_txn(self) -> bool {
        self.revision.is_none()
    }
    /// Parses a whole slice.
    #[must_use]
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        todo!()
    }
}

/// The name of a transaction: the revision it is based on, and a number (`14-g`).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TxnId {
    /// The revision the transaction was based on when it began.
    pub base: Revnum,
    /// The number, unique among transactions of the filesystem (from format 3 on, for ever).
    pub number: u64,
}

#[allow(clippy::missing_errors_doc, unused_variables)]
impl TxnId {
    /// Parses a transaction's name; E160053 when malformed.
    pub fn parse(name: &[u8]) -> Result<Self> {
        todo!()
    }
}

/// Where a node-revision is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Location {
    /// In a revision: the item's index (logical addressing) or its offset from the start of the
    /// revision's data (physical addressing).
    Rev {
        /// The revision.
        revision: Revnum,
        /// Item index or offset.
        item: u64,
    },
    /// In a transaction.
    Txn(TxnId),
}

/// The identity of a node-revision. `Display` is the reference's text form.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeRevId {
    /// Which node: the same in all its revisions.
    pub node: IdPart,
    /// Which line of copies.
    pub copy: IdPart,
    /// Which revision of it.
    pub location: Location,
}

#[allow(clippy::missing_errors_doc, unused_variables)]
impl NodeRevId {
    /// Parses a whole slice; E160062 when malformed.
    pub fn parse(bytes: &[u8]) -> Result<Self> {
        todo!()
    }
    /// The revision, `None` in a transaction.
    #[must_use]
    pub const fn revision(&self) -> Option<Revnum> {
        match self.location {
            Location::Rev { revision, .. } => Some(revision),
            Location::Txn(_) => None,
        }
    }
    /// The item index or offset, `None` in a transaction.
    #[must_use]
    pub const fn item(&self) -> Option<u64> {
        match self.location {
            Location::Rev { item, .. } => Some(item),
            Location::Txn(_) => None,
        }
    }
    /// The transaction, `None` in a revision.
    #[must_use]
    pub const fn txn(&self) -> Option<TxnId> {
        match self.location {
            Location::Rev { .. } => None,
            Location::Txn(txn) => Some(txn),
        }
    }
    /// Whether both are revisions of one node. Temporary node ids of different transactions are
    /// never related.
    #[must_use]
    pub fn is_related(&self, other: &Self) -> bool {
        if self.node.is_txn() && other.node.is_txn() && self.txn() != other.txn() {
            return false;
        }
        self.node == other.node
    }
}

impl fmt::Display for IdPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        todo!()
    }
}

impl fmt::Display for TxnId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        todo!()
    }
}

impl fmt::Display for NodeRevId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        todo!()
    }
}

macro_rules! debug_as_display {
    ($($name:ident)*) => {$(
        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }
    )*};
}
debug_as_display!(IdPart TxnId NodeRevId);

impl fmt::Debug for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rev { revision, item } => write!(f, "r{revision}/{item}"),
            Self::Txn(txn) => write!(f, "t{txn}"),
        }
    }
}
