//! Where a representation's data begin, and reading them.

use sapwood_core::Exact;
use std::sync::Arc;

use sapwood_core::{ErrorCode, Revnum, len64};
use sapwood_fsfs_format::{RepHeader, RepLocation, TxnId, limits};
use sapwood_store::{Block, Key, Kind, StoredFile};

use crate::cache_kinds::{self, Number, RAW_REP, RawRep};
use crate::error::{Error, Result};
use crate::filesystem::Fs;
use crate::revfile::{Bytes, RevFile};

/// The stored bytes of representations up to one so many-th of the caches are kept in pieces.
const LONGEST_SHARE: u64 = 32;

/// What a representation begins with.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RepStart {
    pub(crate) header: RepHeader,
    /// Bytes of the header line.
    pub(crate) len: u64,
    /// Where the data begin; `None` in a prototype revision file.
    at: Option<(RevFile, u64)>,
}

/// Where a representation's data begin, and what it is a delta against: revision, item.
pub(crate) const REP_START: Kind<RepStart> =
    Number::RepStart.kind(|_: &RepStart| size_of::<RepStart>());

/// Where a representation's bytes are read from.
#[derive(Clone, Debug)]
pub(crate) enum RepSource {
    /// An item of a revision.
    Rev { revision: Revnum, item: u64 },
    /// A prototype revision file, at an offset.
    Proto { file: Arc<dyn StoredFile>, offset: u64, path: Arc<std::path::Path> },
}

impl RepSource {
    /// Revision and item for cache keys; `None` in a transaction.
    pub(crate) const fn ids(&self) -> Option<(Revnum, u64)> {
        match self {
            Self::Rev { revision, item } => Some((*revision, *item)),
            Self::Proto { .. } => None,
        }
    }

    /// An error about this representation.
    pub(crate) fn error(&self, code: ErrorCode, message: impl Into<String>) -> Error {
        let (revision, item) = self.ids().unwrap_or_default();
        Error::Rep { revision, item, message: message.into(), code }
    }
}

/// The bytes of one representation, header line not counted.
#[derive(Clone, Debug)]
pub(crate) struct RepData {
    pub(crate) place: RepSource,
    /// How many bytes there are.
    pub(crate) size: u64,
    pub(crate) start: RepStart,
    /// The block that was read last, with its number: what is read next is mostly in it too.
    block: Option<(u64, Arc<Block>)>,
}

fn rep_start_key(fs: &Fs, revision: Revnum, item: u64) -> Key<RepStart> {
    cache_kinds::item(&REP_START, fs.id, revision, item)
}

impl Fs {
    /// What the representation that is item `item` of a revision begins with.
    pub(crate) fn rep_start(&self, revision: Revnum, item: u64) -> Result<RepStart> {
        let key = rep_start_key(self, revision, item);
        if let Some(start) = self.caches.get(key) {
            return Ok(*start);
        }
        let start = self.with_file(revision, |file| {
            let at = self.item_offset(file, revision, item)?;
            self.parse_at(file, revision, at, limits::REP_HEADER_LEN, |bytes, _| {
                let (header, len) = RepHeader::parse(bytes)?;
                let len = len64(len);
                Ok(RepStart { header, len, at: Some((*file, at.saturating_add(len))) })
            })
        })?;
        Ok(*self.caches.put(key, start))
    }

    /// Opens a committed representation of `size` stored bytes.
    pub(crate) fn rep_data(&self, revision: Revnum, item: u64, size: u64) -> Result<RepData> {
        let start = self.rep_start(revision, item)?;
        Ok(RepData { place: RepSource::Rev { revision, item }, size, start, block: None })
    }

    /// Opens a representation in a transaction's prototype revision file.
    pub(crate) fn proto_rep_data(&self, txn: &TxnId, item: u64, size: u64) -> Result<RepData> {
        let path = self.file(&self.layout.proto_rev_file(txn));
        let file = self.storage.open(&path).map_err(|e| Error::io(e, "Can't open file", &path))?;
        let offset = self.proto_offset(txn, item)?;
        let place = RepSource::Proto { file, offset, path: path.into() };
        let line = place.read(self, 0, limits::REP_HEADER_LEN)?;
        let (header, len) =
            RepHeader::parse(&line).map_err(|e| place.error(e.code(), e.to_string()))?;
        let start = RepStart { header, len: len64(len), at: None };
        Ok(RepData { place, size, start, block: None })
    }

    /// Where an item is in a prototype revision file.
    fn proto_offset(&self, txn: &TxnId, item: u64) -> Result<u64> {
        if !self.layout.is_logical() {
            return Ok(item);
        }
        use sapwood_fsfs_format::layout::names;
        let path = self.file(&format!("{}/{}", self.layout.txn_dir(txn), names::TXN_L2P));
        let bytes = self
            .storage
            .read(&path, 1 << 28)
            .map_err(|e| Error::io(e, "Can't open file", &path))?;
        let found = sapwood_fsfs_format::l2p::find_in_proto_index(&bytes, item)
            .map_err(|error| Error::File { path: path.clone(), error })?;
        found.ok_or_else(|| {
            Error::Corrupt(format!("Item index {item} is not in '{}'", path.display()))
        })
    }
}

impl RepSource {
    /// Reads from a prototype revision file, `at` bytes behind the representation's start.
    fn read(&self, fs: &Fs, at: u64, len: usize) -> Result<Bytes> {
        let Self::Proto { file, offset, path } = self else {
            return Ok(Bytes::Own(Vec::new()));
        };
        let mut out = Vec::new();
        while out.len() < len {
            let have = out.len();
            let step = len.saturating_sub(have).min(fs.block_size);
            out.resize(have.plus(step), 0);
            let from = offset.saturating_add(at).saturating_add(len64(have));
            let read = file
                .read_at(out.get_mut(have..).unwrap_or_default(), from)
                .map_err(|e| Error::io(e, "Can't read file", path))?;
            out.truncate(have.plus(read));
            if read == 0 {
                break;
            }
        }
        Ok(Bytes::Own(out))
    }
}

impl RepData {
    /// Opens the representation of a node-revision. `txn` is the transaction that the
    /// node-revision is in.
    pub(crate) fn open(
        fs: &Fs,
        rep: &sapwood_fsfs_format::Representation,
        txn: Option<TxnId>,
    ) -> Result<Self> {
        match (rep.location, txn) {
            (RepLocation::Rev { revision, item }, _) => fs.rep_data(revision, item, rep.size),
            (RepLocation::ProtoRev { item }, Some(txn)) => fs.proto_rep_data(&txn, item, rep.size),
            _ => Err(Error::Corrupt("A representation is in no file that can be read".into())),
        }
    }

    /// What the delta is against; `None` for a text that needs nothing else.
    pub(crate) const fn base(&self) -> Option<(Revnum, u64, u64)> {
        match self.start.header {
            RepHeader::Delta { revision, item, length } => Some((revision, item, length)),
            _ => None,
        }
    }

    pub(crate) const fn is_plain(&self) -> bool {
        matches!(self.start.header, RepHeader::Plain)
    }

    /// The bytes at `pos`: `len` of them, fewer at the end of the representation.
    pub(crate) fn read(&mut self, fs: &Fs, pos: u64, len: usize) -> Result<Bytes> {
        let left = sapwood_core::exact::clamped(self.size.saturating_sub(pos));
        let len = len.min(left);
        if len == 0 {
            return Ok(Bytes::Own(Vec::new()));
        }
        let (RepSource::Rev { revision, item }, Some((file, at))) = (&self.place, self.start.at)
        else {
            return self.place.read(fs, self.start.len.saturating_add(pos), len);
        };
        match fs.bytes_near(&file, at.saturating_add(pos), len, &mut self.block) {
            Err(Error::FileGone { .. }) => {}
            other => return other,
        }
        // The shard was packed since: look again.
        let (revision, item) = (*revision, *item);
        self.block = None;
        let bytes = fs.with_file(revision, |file| {
            let at = fs.item_offset(file, revision, item)?.saturating_add(self.start.len);
            self.start.at = Some((*file, at));
            fs.bytes(file, at.saturating_add(pos), len)
        })?;
        fs.caches.put(rep_start_key(fs, revision, item), self.start);
        Ok(bytes)
    }

    /// Some of the bytes at `pos`, at most `len` of them. They end too early when the file does.
    pub(crate) fn read_some(&mut self, fs: &Fs, pos: u64, len: usize) -> Result<Bytes> {
        let bytes = self.read(fs, pos, len)?;
        if bytes.is_empty() {
            return Err(self.place.error(
                ErrorCode::FS_CORRUPT,
                "Reading one svndiff window read beyond the end of the representation",
            ));
        }
        Ok(bytes)
    }

    /// As [`RepData::read_some`], by way of the item cache unless the representation would fill
    /// much of it. `pos` is the sum of the lengths of the pieces before, read with the same `len`.
    pub(crate) fn piece(&mut self, fs: &Fs, pos: u64, len: usize) -> Result<Arc<RawRep>> {
        let share = fs.caches.capacity().checked_div(LONGEST_SHARE).unwrap_or(0);
        let key = self
            .place
            .ids()
            .filter(|_| self.size <= share)
            .map(|(revision, item)| RAW_REP.key(fs.id, revision.0, item, pos));
        if let Some(piece) = key.and_then(|key| fs.caches.get(key)) {
            return Ok(piece);
        }
        let piece = RawRep(self.read_some(fs, pos, len)?.to_vec().into_boxed_slice());
        Ok(match key {
            Some(key) => fs.caches.put(key, piece),
            None => Arc::new(piece),
        })
    }
}
