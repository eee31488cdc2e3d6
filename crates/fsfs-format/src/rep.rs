//! Representations: the reference to one in a node-revision, and the line that one begins with.

use sapwood_core::{Md5, Revnum, Sha1};

use crate::error::Result;
use crate::id::TxnId;

/// Where a representation is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RepLocation {
    /// In a revision: item index (logical addressing) or offset (physical addressing).
    Rev {
        /// The revision.
        revision: Revnum,
        /// Item index or offset.
        item: u64,
    },
    /// In the prototype revision file of the transaction (`-1 ITEM LEN ...`).
    ProtoRev {
        /// Item index or offset.
        item: u64,
    },
    /// In a file beside the node-revision's, in the transaction's folder (`-1` alone).
    TxnFile,
}

/// What keeps representations apart that share one text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Uniquifier {
    /// The transaction of the node-revision.
    pub txn: TxnId,
    /// A number unique in it.
    pub number: u64,
}

/// The value of a node-revision's `text` or `props` header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Representation {
    /// Where it is.
    pub location: RepLocation,
    /// Bytes on disk, without the header line and the trailing `ENDREP`.
    pub size: u64,
    /// Bytes of the expanded text as written. May be 0 although the text is not empty (legal for
    /// PLAIN property and directory representations, and for DELTA ones written by 1.8.0-1.8.11):
    /// then it is [`Representation::size`] unless the MD5 is that of the empty text.
    pub expanded_size: u64,
    /// MD5 of the expanded text; all zeros when unknown.
    pub md5: Md5,
    /// SHA-1 of the expanded text, where recorded.
    pub sha1: Option<Sha1>,
    /// See [`Uniquifier`].
    pub uniquifier: Option<Uniquifier>,
}

#[allow(clippy::missing_errors_doc, unused_variables)]
impl Representation {
    /// Parses the whole value of a `text` or `props` header.
    pub fn parse(value: &[u8]) -> Result<Self> {
        todo!()
    }
    /// The revision, `None` in a transaction.
    #[must_use]
    pub const fn revision(&self) -> Option<Revnum> {
        match self.location {
            RepLocation::Rev { revision, .. } => Some(revision),
            _ => None,
        }
    }
    /// The MD5, `None` when it is not known.
    #[must_use]
    pub fn known_md5(&self) -> Option<Md5> {
        (self.md5.0 != [0; 16]).then_some(self.md5)
    }
    /// Appends the text form for a filesystem of `format`. A representation in a transaction's
    /// file is `-1`.
    pub fn write(&self, format: u32, out: &mut Vec<u8>) {
        todo!()
    }
}

/// The first line of a representation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RepHeader {
    /// The text follows as it is.
    Plain,
    /// Svndiff against the empty text follows.
    SelfDelta,
    /// Svndiff against another representation follows.
    Delta {
        /// The base's revision.
        revision: Revnum,
        /// The base's item index or offset.
        item: u64,
        /// The base's [`Representation::size`].
        length: u64,
    },
}

/// What a representation ends with, directly after its data.
pub const ENDREP: &[u8] = b"ENDREP\n";

#[allow(clippy::missing_errors_doc, unused_variables)]
impl RepHeader {
    /// Parses the line that `bytes` begin with; also the line's length with its newline.
    /// [`crate::limits::REP_HEADER_LEN`] bytes are always enough.
    pub fn parse(bytes: &[u8]) -> Result<(Self, usize)> {
        todo!()
    }
    /// Appends the line.
    pub fn write(&self, out: &mut Vec<u8>) {
        todo!()
    }
}
