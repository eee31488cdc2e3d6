//! The footer of a revision or pack file with logical addressing, which says where the indexes
//! are.

use sapwood_core::{Md5, Revnum};

use crate::error::Result;

/// Offsets are from the start of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Footer {
    /// Where the log-to-phys index begins, which is where the items end.
    pub l2p_offset: u64,
    /// MD5 of that index.
    pub l2p_md5: Md5,
    /// Where the phys-to-log index begins, which is where the log-to-phys index ends.
    pub p2l_offset: u64,
    /// MD5 of that index.
    pub p2l_md5: Md5,
    /// Where the footer begins, which is where the phys-to-log index ends.
    pub footer_offset: u64,
}

#[allow(clippy::missing_errors_doc, unused_variables)]
impl Footer {
    /// Parses the footer at the end of `tail`, the last bytes (at least the last
    /// [`crate::limits::FOOTER_LEN`], or all) of a file of `file_len` bytes. `revision` is for
    /// error sentences.
    pub fn parse(tail: &[u8], file_len: u64, revision: Revnum) -> Result<Self> {
        todo!()
    }
    /// Appends the footer with its length byte.
    pub fn write(&self, out: &mut Vec<u8>) {
        todo!()
    }
}
