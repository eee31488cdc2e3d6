//! From (revision, item) to an offset in a file: through the indexes, or by adding.

use sapwood_core::Exact;
use std::sync::Arc;

use sapwood_core::{ErrorCode, Revnum};
use sapwood_fsfs_format as format;
use sapwood_fsfs_format::manifest::Manifest;
use sapwood_fsfs_format::{Footer, L2pHeader, L2pPage, NodeRevId, Trailer, limits};
use sapwood_store::{Key, Kind};

use crate::cache_kinds::{L2P_PAGE, MANIFEST, Number, TRAILER};
use crate::error::{Error, Result};
use crate::filesystem::Fs;
use crate::revfile::{Bytes, RevFile};
use crate::revision_store::{Object, gone_or};

/// The longest manifest of a pack that is read.
const MANIFEST_LEN: usize = 1 << 28;

/// The footer of a file with logical addressing: its indexes.
#[derive(Debug)]
pub(crate) struct FileIndex {
    pub(crate) footer: Footer,
    pub(crate) l2p: L2pHeader,
}

impl FileIndex {
    pub(crate) fn byte_len(&self) -> usize {
        self.l2p.byte_len().plus(size_of::<Footer>())
    }
}

/// Footer and index header of a file: revision or shard, 0 or 1 for a pack.
const FILE_INDEX: Kind<FileIndex> = Number::FileIndex.kind(FileIndex::byte_len).found_while_held();

impl Fs {
    fn file_key<T>(&self, kind: &Kind<T>, file: &RevFile, part: u64) -> Key<T> {
        kind.key(self.id, file.key.number, u64::from(file.key.packed), part)
    }

    /// The footer of a file with logical addressing.
    pub(crate) fn footer(&self, file: &RevFile) -> Result<Footer> {
        let len = self.file_len(file)?;
        let tail_len = sapwood_core::exact::len64(limits::FOOTER_LEN).min(len);
        let from = len.saturating_sub(tail_len);
        let tail = self.bytes(file, from, limits::FOOTER_LEN)?;
        // The reference seeks to before the start of the file.
        let before = tail.last().is_none_or(|last| u64::from(*last).saturating_add(1) > len);
        if before {
            let error = std::io::Error::from_raw_os_error(22);
            let path = self.rev_file_path(file.key);
            return Err(Error::io(error, "Can't set position pointer in file", &path));
        }
        Footer::parse(&tail, len, file.first)
            .map_err(|e| self.item_error(file, file.first, from, e))
    }

    /// An error of an index whose stream ends at `end`, as the reference reports it; but with the code of
    /// corruption, where the reference has 0, which is success.
    pub(crate) fn index_error(&self, file: &RevFile, end: u64, error: Error) -> Error {
        match error {
            Error::Item { error: format::Error::UnexpectedEnd(_), .. } => {
                Error::Svn(sapwood_core::SvnError::new(
                    ErrorCode::FS_CORRUPT,
                    format!(
                        "Unexpected end of index file {} at offset 0x{end:x}",
                        self.rev_file_path(file.key).display()
                    ),
                ))
            }
            other => other,
        }
    }

    /// The header of the log-to-phys index of a file with that footer.
    pub(crate) fn l2p_header(&self, file: &RevFile, footer: &Footer) -> Result<L2pHeader> {
        let len = footer.l2p_len();
        let limit = sapwood_core::exact::clamped(len);
        self.parse_at(file, file.first, footer.l2p_offset, limit, |bytes, _| {
            let bytes = bytes.get(..limit).unwrap_or(bytes);
            L2pHeader::parse(bytes, len, file.first, file.count)
        })
        .map_err(|error| self.index_error(file, footer.p2l_offset, error))
    }

    /// Footer and index header of a file with logical addressing.
    pub(crate) fn file_index(&self, file: &RevFile) -> Result<Arc<FileIndex>> {
        let key = self.file_key(&FILE_INDEX, file, 0);
        if let Some(index) = self.caches.get(key) {
            return Ok(index);
        }
        let footer = self.footer(file)?;
        let l2p = self.l2p_header(file, &footer)?;
        Ok(self.caches.put(key, FileIndex { footer, l2p }))
    }

    /// Where an item begins in a file.
    pub(crate) fn item_offset(&self, file: &RevFile, revision: Revnum, item: u64) -> Result<u64> {
        if !self.layout.is_logical() {
            if !file.key.packed {
                return Ok(item);
            }
            let manifest = self.manifest(file)?;
            let start = manifest.offset(revision.0.saturating_sub(file.first.0));
            return start.and_then(|start| start.checked_add(item)).ok_or_else(|| {
                Error::Corrupt(format!(
                    "Revision {revision} is not in the manifest of '{}'",
                    self.rev_file_path(file.key).display()
                ))
            });
        }
        let index = self.file_index(file)?;
        let fail = |e| self.item_error(file, revision, index.footer.l2p_offset, e);
        let slot = index.l2p.find(revision, item).map_err(fail)?;
        let key = self.file_key(&L2P_PAGE, file, u64::from(slot.page));
        let offset = match self.caches.get(key) {
            Some(page) => page.offset(&slot, revision, item),
            // A log needs nothing else of a revision: the page is not worth caching.
            None if item == format::l2p::ITEM_CHANGES => {
                let bytes = self.l2p_page_bytes(file, &index, &slot)?;
                L2pPage::find(&bytes, &slot, revision, item)
            }
            None => {
                let at = index.footer.l2p_offset.saturating_add(slot.info.offset);
                let bytes = self.l2p_page_bytes(file, &index, &slot)?;
                let page = L2pPage::parse(&bytes, &slot.info)
                    .map_err(|e| self.item_error(file, file.first, at, e))?;
                self.caches.put(key, page).offset(&slot, revision, item)
            }
        };
        match offset.map_err(fail)? {
            Some(offset) if offset < index.footer.l2p_offset => Ok(offset),
            _ => Err(Error::Svn(sapwood_core::SvnError::new(
                ErrorCode::FS_INDEX_CORRUPTION,
                format!("Item index {item} of revision {revision} is not used"),
            ))),
        }
    }

    fn l2p_page_bytes(
        &self,
        file: &RevFile,
        index: &FileIndex,
        slot: &format::l2p::L2pSlot,
    ) -> Result<Bytes> {
        let at = index.footer.l2p_offset.saturating_add(slot.info.offset);
        let len = sapwood_core::exact::clamped(slot.info.size);
        self.bytes(file, at, len)
    }

    /// The manifest of a pack with physical addressing.
    pub(crate) fn manifest(&self, file: &RevFile) -> Result<Arc<Manifest>> {
        let key = MANIFEST.key(self.id, file.key.number, 0, 0);
        if let Some(manifest) = self.caches.get(key) {
            return Ok(manifest);
        }
        let object = Object::PackManifest(file.key.number);
        let path = || self.revisions.place(object);
        let bytes = self.revisions.read(object, MANIFEST_LEN).map_err(|e| gone_or(e, path()))?;
        let manifest = Manifest::parse(&bytes, file.count)
            .map_err(|error| Error::File { path: path(), error })?;
        Ok(self.caches.put(key, manifest))
    }

    /// Where the data of a revision with physical addressing lies in its file: start and end.
    pub(crate) fn revision_range(&self, file: &RevFile, revision: Revnum) -> Result<(u64, u64)> {
        if !file.key.packed {
            return Ok((0, self.file_len(file)?));
        }
        let manifest = self.manifest(file)?;
        let place = revision.0.saturating_sub(file.first.0);
        let start = manifest.offset(place).unwrap_or(u64::MAX);
        match manifest.offset(place.saturating_add(1)) {
            Some(end) => Ok((start, end)),
            None => Ok((start, self.file_len(file)?)),
        }
    }

    /// The trailer of a revision with physical addressing.
    pub(crate) fn trailer(&self, revision: Revnum) -> Result<Arc<Trailer>> {
        let key = TRAILER.key(self.id, revision.0, 0, 0);
        if let Some(trailer) = self.caches.get(key) {
            return Ok(trailer);
        }
        let trailer = self.with_file(revision, |file| {
            let (start, end) = self.revision_range(file, revision)?;
            let most = sapwood_core::exact::len64(limits::TRAILER_LEN);
            let len = end.saturating_sub(start).min(most);
            let at = end.saturating_sub(len);
            let tail = self.bytes(file, at, usize::try_from(len).unwrap_or(0))?;
            let trailer = Trailer::parse(&tail, revision);
            let trailer = trailer.map_err(|e| self.item_error(file, revision, at, e))?;
            // What is wrong with the root itself shows when it is read.
            let root = self.some_bytes(file, start.saturating_add(trailer.root))?;
            match root_id(&root) {
                Some(id) if id.revision() != Some(revision) => {
                    Err(self.not_of(file, revision, &id))
                }
                _ => Ok(trailer),
            }
        })?;
        Ok(self.caches.put(key, trailer))
    }
}

/// The id in the first line of a node-revision, if it can be made out.
pub(crate) fn root_id(node: &[u8]) -> Option<NodeRevId> {
    let line = node.split(|byte| *byte == b'\n').next()?;
    NodeRevId::parse(line.strip_prefix(b"id: ")?).ok()
}
