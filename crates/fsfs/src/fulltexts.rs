//! Texts that are read whole: directories and property lists.

use std::sync::Arc;

use sapwood_core::{PropList, SvnError};
use sapwood_fsfs_format::layout::names;
use sapwood_fsfs_format::{Directory, NodeRev, RepLocation, Representation, TxnId, limits};

use crate::cache_kinds::{self, DIRECTORY, PROPS, TEXT, Text};
use crate::contents::TextReader;
use crate::error::{Error, Result};
use crate::filesystem::Fs;

/// The longest file of a transaction that is read whole.
const TXN_FILE_LEN: usize = 1 << 30;

impl Fs {
    /// Runs `parse` on the whole text of a representation.
    fn with_text<T>(
        &self,
        rep: &Representation,
        txn: Option<TxnId>,
        parse: impl FnOnce(&[u8]) -> Result<T>,
    ) -> Result<T> {
        if rep.expanded_size > limits::HASH_DUMP_LEN {
            return Err(Error::Corrupt(format!(
                "A directory or property list of {} bytes exceeds the limit of {}",
                rep.expanded_size,
                limits::HASH_DUMP_LEN
            )));
        }
        let mut reader = TextReader::new(Some(*rep), txn);
        let Some(first) = reader.next(self)? else { return parse(b"") };
        if reader.is_done() {
            return parse(&first.text.bytes);
        }
        // Memory is taken as bytes are found, not as the size field says.
        let mut whole = first.text.bytes.to_vec();
        while let Some(piece) = reader.next(self)? {
            whole.extend_from_slice(piece.bytes());
        }
        parse(&whole)
    }

    /// The whole text of a representation, if it is in the cache and known to be right.
    pub(crate) fn text_at_hand(&self, rep: &Representation) -> Option<Arc<Text>> {
        let RepLocation::Rev { revision, item } = rep.location else { return None };
        let key = cache_kinds::item(&TEXT, self.id, revision, item);
        let text = self.caches.get(key)?;
        let is_whole = u64::try_from(text.bytes.len()) == Ok(rep.expanded_size);
        (is_whole && text.verified.get() == Some(&rep.md5)).then_some(text)
    }

    /// The entries of a directory.
    pub(crate) fn directory(&self, node: &NodeRev) -> Result<Arc<Directory>> {
        let Some(rep) = &node.text else { return Ok(Arc::default()) };
        match rep.location {
            RepLocation::TxnFile => {
                let path = self.txn_file(node, ".children");
                let bytes = self.read_txn_file(&path)?;
                let dir = Directory::parse_incremental(&bytes)
                    .map_err(|error| Error::File { path, error })?;
                Ok(Arc::new(dir))
            }
            RepLocation::ProtoRev { .. } => {
                Err(Error::Corrupt(format!("Directory '{}' is in a prototype revision", node.id)))
            }
            RepLocation::Rev { revision, item } => {
                let key = cache_kinds::item(&DIRECTORY, self.id, revision, item);
                if let Some(dir) = self.caches.get(key) {
                    return Ok(dir);
                }
                self.work.note_made();
                let dir = self.with_text(rep, None, |text| {
                    Directory::parse(text).map_err(|e| {
                        let cause = SvnError::from(e);
                        Error::Svn(cause.wrap(
                            sapwood_core::ErrorCode::FS_CORRUPT,
                            format!("Directory entry corrupt in '{}'", node.id),
                        ))
                    })
                })?;
                Ok(self.caches.put(key, dir))
            }
        }
    }

    /// The properties of a node.
    pub(crate) fn props(&self, node: &NodeRev) -> Result<Arc<PropList>> {
        let Some(rep) = &node.props else { return Ok(Arc::default()) };
        let fail = |error: sapwood_core::hashdump::Error| {
            Error::Svn(SvnError::from(error).wrap(
                sapwood_core::ErrorCode::FS_CORRUPT_PROPLIST,
                format!(
                    "malformed property list for node-revision '{}' in '{}'",
                    node.id,
                    self.path.display()
                ),
            ))
        };
        let parse = |bytes: &[u8]| {
            sapwood_core::hashdump::parse(bytes, Some(sapwood_core::hashdump::END)).map_err(fail)
        };
        match rep.location {
            RepLocation::TxnFile => {
                let bytes = self.read_txn_file(&self.txn_file(node, ".props"))?;
                Ok(Arc::new(parse(&bytes)?))
            }
            RepLocation::ProtoRev { .. } => {
                Ok(Arc::new(self.with_text(rep, node.id.txn(), parse)?))
            }
            RepLocation::Rev { revision, item } => {
                let key = cache_kinds::item(&PROPS, self.id, revision, item);
                if let Some(props) = self.caches.get(key) {
                    return Ok(props);
                }
                let mut props = self.with_text(rep, None, parse)?;
                props.shrink_to_fit();
                Ok(self.caches.put(key, props))
            }
        }
    }

    /// A file beside a node-revision's file in its transaction.
    fn txn_file(&self, node: &NodeRev, suffix: &str) -> std::path::PathBuf {
        let name = node.id.txn().map(|txn| self.layout.txn_node_file(&txn, &node.id));
        self.file(&format!("{}{suffix}", name.unwrap_or_else(|| names::TRANSACTIONS.to_owned())))
    }

    fn read_txn_file(&self, path: &std::path::Path) -> Result<Vec<u8>> {
        self.storage.read(path, TXN_FILE_LEN).map_err(|e| Error::io(e, "Can't open file", path))
    }
}
