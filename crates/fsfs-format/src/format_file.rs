//! `format`: the number of the format, and its options.

use crate::error::Result;

/// How items are addressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Addressing {
    /// By offset from the start of the revision.
    Physical,
    /// By item index, through the indexes at the end of the file.
    Logical,
}

/// What `format` says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FormatFile {
    /// 1 to 4, or 6 to 8.
    pub number: u32,
    /// Revisions a shard; `None` for the linear layout.
    pub shard_size: Option<u64>,
    /// How items are addressed.
    pub addressing: Addressing,
}

#[allow(clippy::missing_errors_doc, unused_variables)]
impl FormatFile {
    /// What a missing file stands for.
    pub const MISSING: Self =
        Self { number: 1, shard_size: None, addressing: Addressing::Physical };

    /// Parses the file; `path` is for error sentences.
    pub fn parse(bytes: &[u8], path: &str) -> Result<Self> {
        todo!()
    }
    /// Appends the file's contents.
    pub fn write(&self, out: &mut Vec<u8>) {
        todo!()
    }
}
