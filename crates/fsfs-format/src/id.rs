//! Node-revision ids: `NODE.COPY.rREV/ITEM` in revisions, `NODE.COPY.tTXN` in transactions.
//!
//! Ids are plain `Copy` values, compared and hashed without touching strings.

use sapwood_core::Exact;
use std::fmt;

use sapwood_core::Revnum;

use crate::base36::{self, Base36};
use crate::error::{Error, Result};
use crate::text;

/// A node id or a copy id.
///
/// Three forms exist: `_N` (made in a transaction), `N-REV` (format 3 and later), and `N` (the
/// global counters of formats 1 and 2, and `0` for the root everywhere).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct IdPart {
    /// One more than the revision, which is 0 for the global form; 0 while in a transaction.
    /// Directories keep many of these, so they are small.
    after: u64,
    number: u64,
}

impl IdPart {
    /// `0`, the root directory's.
    pub const ROOT: Self = Self { after: 1, number: 0 };

    /// `N-REV`, or `N` for revision 0.
    #[must_use]
    pub const fn new(revision: Revnum, number: u64) -> Self {
        Self { after: revision.0.saturating_add(1), number }
    }
    /// `_N`.
    #[must_use]
    pub const fn in_txn(number: u64) -> Self {
        Self { after: 0, number }
    }
    /// The revision it was made in: `None` in a transaction, revision 0 for the global form.
    #[must_use]
    pub const fn revision(self) -> Option<Revnum> {
        match self.after.checked_sub(1) {
            Some(revision) => Some(Revnum(revision)),
            None => None,
        }
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
        self.after == 0
    }
    /// Parses a whole slice.
    #[must_use]
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        Self::take(bytes).filter(|(_, rest)| rest.is_empty()).map(|(part, _)| part)
    }

    /// Takes an id from the start of `bytes`: the id, and what follows.
    fn take(bytes: &[u8]) -> Option<(Self, &[u8])> {
        if let [b'_', number @ ..] = bytes {
            let (number, len) = base36::take(number)?;
            return Some((Self::in_txn(number), bytes.get(len.plus(1)..)?));
        }
        let (number, len) = base36::take(bytes)?;
        match bytes.split_at_checked(len)?.1 {
            [b'-', rest @ ..] => {
                let len = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
                let (revision, rest) = rest.split_at_checked(len)?;
                Some((Self::new(Revnum(text::number(revision)?), number), rest))
            }
            rest => Some((Self::new(Revnum(0), number), rest)),
        }
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

#[allow(clippy::missing_errors_doc, reason = "all: `Error` says what is wrong with the bytes")]
impl TxnId {
    /// Parses a transaction's name; E160053 when malformed.
    pub fn parse(name: &[u8]) -> Result<Self> {
        Self::try_parse(name).ok_or_else(|| Error::MalformedTxnId(text::printable(name)))
    }

    fn try_parse(name: &[u8]) -> Option<Self> {
        let dash = memchr::memchr(b'-', name)?;
        let base = Revnum(text::number(name.get(..dash)?)?);
        let number = base36::parse(name.get(dash.checked_add(1)?..)?)?;
        Some(Self { base, number })
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

#[allow(clippy::missing_errors_doc, reason = "all: `Error` says what is wrong with the bytes")]
impl NodeRevId {
    /// That of the root directory of a revision in which items are addressed by number.
    #[must_use]
    pub const fn root_of(revision: Revnum) -> Self {
        let location = Location::Rev { revision, item: crate::l2p::ITEM_ROOT };
        Self { node: IdPart::ROOT, copy: IdPart::ROOT, location }
    }

    /// Parses a whole slice; E160062 when malformed.
    pub fn parse(bytes: &[u8]) -> Result<Self> {
        Self::try_parse(bytes).ok_or_else(|| Error::MalformedNodeRevId(text::printable(bytes)))
    }

    fn try_parse(bytes: &[u8]) -> Option<Self> {
        let (node, rest) = IdPart::take(bytes)?;
        let (copy, rest) = IdPart::take(rest.strip_prefix(b".")?)?;
        let location = match rest.strip_prefix(b".")? {
            [b'r', at @ ..] => {
                let slash = at.iter().position(|byte| *byte == b'/')?;
                let revision = Revnum(text::number(at.get(..slash)?)?);
                let item = text::number(at.get(slash.checked_add(1)?..)?)?;
                Location::Rev { revision, item }
            }
            [b't', txn @ ..] => Location::Txn(TxnId::try_parse(txn)?),
            _ => return None,
        };
        Some(Self { node, copy, location })
    }
    /// Appends the text form, as `Display` writes it, but faster: directories hold many ids.
    pub fn write(&self, out: &mut Vec<u8>) {
        for part in [self.node, self.copy] {
            if part.is_txn() {
                out.push(b'_');
            }
            base36::push(part.number, out);
            if let Some(revision) = part.revision().filter(|r| r.0 > 0) {
                out.push(b'-');
                text::push_number(revision.0, out);
            }
            out.push(b'.');
        }
        match self.location {
            Location::Rev { revision, item } => {
                out.push(b'r');
                text::push_number(revision.0, out);
                out.push(b'/');
                text::push_number(item, out);
            }
            Location::Txn(txn) => {
                out.push(b't');
                text::push_number(txn.base.0, out);
                out.push(b'-');
                base36::push(txn.number, out);
            }
        }
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
    /// Whether both are committed revisions of one node on one branch, so that one of them is an
    /// earlier state of the other at the same place.
    #[must_use]
    pub fn same_line(&self, other: &Self) -> bool {
        !self.node.is_txn()
            && !self.copy.is_txn()
            && self.node == other.node
            && self.copy == other.copy
            && self.revision().is_some()
            && other.revision().is_some()
    }
}

impl fmt::Display for IdPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number = Base36(self.number);
        match self.revision() {
            None => write!(f, "_{number}"),
            Some(Revnum(0)) => write!(f, "{number}"),
            Some(revision) => write!(f, "{number}-{revision}"),
        }
    }
}

impl fmt::Display for TxnId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.base, Base36(self.number))
    }
}

impl fmt::Display for NodeRevId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{:?}", self.node, self.copy, self.location)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_forms_round_trip() {
        for id in [
            "0.0.r0/17",
            "0.0.r3/2",
            "2.0.r47/1103",
            "j5.v.r359/0",
            "1-12.0.r12/5",
            "1-12.3-9.r14/9223372036854775807",
            "_0.0.t14-g",
            "_1._0.t0-1",
            "0.0.t5-zz",
        ] {
            let parsed = NodeRevId::parse(id.as_bytes()).unwrap();
            assert_eq!(parsed.to_string(), id);
            let mut out = Vec::new();
            parsed.write(&mut out);
            assert_eq!(String::from_utf8(out).unwrap(), id);
        }
    }

    #[test]
    fn refuses() {
        for bad in [
            "",
            "0",
            "0.0",
            "0.0.",
            "0.0.x",
            "0.0.r",
            "0.0.r1",
            "0.0.r1/",
            "0.0.r/1",
            "0.0.r1/2.3",
            "0.0.r-1/2",
            "0.0.r1/9223372036854775808",
            "A.0.r1/2",
            "_.0.r1/2",
            "0-.0.r1/2",
            "0.0.t1",
            "0.0.t1-",
            "0.0.t-1",
            "0.0.t1-A",
            " 0.0.r1/2",
            "1-1x.0.r1/2",
        ] {
            assert!(NodeRevId::parse(bad.as_bytes()).is_err(), "{bad}");
        }
    }

    #[test]
    fn relation_of_temporary_nodes_stays_in_their_transaction() {
        let id = |s: &str| NodeRevId::parse(s.as_bytes()).unwrap();
        assert!(id("1.0.r1/2").is_related(&id("1.2.r5/3")));
        assert!(id("1.0.r1/2").is_related(&id("1.0.t5-3")));
        assert!(!id("_1.0.t5-3").is_related(&id("_1.0.t5-4")));
        assert!(id("_1.0.t5-3").is_related(&id("_1._0.t5-3")));
    }
}
