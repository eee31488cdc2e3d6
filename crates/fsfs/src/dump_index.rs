//! The contents of the phys-to-log index (`svnfsfs dump-index`), and sizes of revisions
//! (`svnadmin rev-size`).

use sapwood_core::{CancelToken, ErrorCode, Revnum, SvnError, len64};
use sapwood_fsfs_format::{P2lEntry, P2lHeader, P2lPage};

use crate::error::{Error, Result};
use crate::filesystem::{Filesystem, Fs};
use crate::revfile::RevFile;
use crate::revision_store::Object;

/// A phys-to-log index that is read page by page, outside the caches: only maintenance reads it.
#[derive(Debug)]
pub(crate) struct P2lIndex {
    pub(crate) header: P2lHeader,
    /// Where the index begins in the file.
    start: u64,
    len: u64,
}

impl P2lIndex {
    pub(crate) fn open(fs: &Fs, file: &RevFile) -> Result<Self> {
        let footer = fs.footer(file)?;
        let (start, len) = (footer.p2l_offset, footer.p2l_len());
        let limit = sapwood_core::exact::clamped(len);
        let header = fs.parse_at(file, file.first, start, limit, |bytes, _| {
            let bytes = bytes.get(..limit).unwrap_or(bytes);
            P2lHeader::parse(bytes, len, file.first, footer.l2p_offset)
        });
        let header = header.map_err(|error| fs.index_error(file, footer.footer_offset, error))?;
        Ok(Self { header, start, len })
    }

    pub(crate) fn page(&self, fs: &Fs, file: &RevFile, page: u64) -> Result<P2lPage> {
        let range = self.header.page(page, self.len).ok_or_else(|| {
            Error::Svn(SvnError::new(
                ErrorCode::FS_INDEX_CORRUPTION,
                format!("P2L index of r{} has no page {page}", file.first),
            ))
        })?;
        let at = self.start.saturating_add(range.start);
        let len = sapwood_core::exact::clamped(range.end.saturating_sub(range.start));
        let bytes = fs.bytes(file, at, len)?;
        P2lPage::parse(&bytes, &self.header, page)
            .map_err(|e| fs.item_error(file, file.first, at, e))
            .map_err(|error| fs.index_error(file, self.start.saturating_add(self.len), error))
    }

    /// Calls `found` with all entries, in the order of offsets, each once. The filler behind the
    /// last item, which no bytes belong to, is left out.
    pub(crate) fn walk(
        &self,
        fs: &Fs,
        file: &RevFile,
        found: &mut dyn FnMut(&P2lEntry) -> Result<()>,
    ) -> Result<()> {
        let mut offset = 0;
        for page in 0..self.header.page_count() {
            let entries = self.page(fs, file, page)?;
            for entry in entries.entries() {
                if entry.offset >= offset && entry.offset < self.header.file_size() {
                    if entry.offset != offset {
                        return Err(Error::Svn(SvnError::new(
                            ErrorCode::FS_INDEX_INCONSISTENT,
                            format!(
                                "p2l index entry for revision r{} is non-contiguous between \
                                 offsets  {offset} and {}",
                                file.first, entry.offset
                            ),
                        )));
                    }
                    found(entry)?;
                    offset = entry.end();
                }
            }
        }
        Ok(())
    }
}

/// E200015 when the work was asked to stop.
pub(crate) fn check(cancel: &CancelToken) -> Result<()> {
    if cancel.is_cancelled() {
        return Err(Error::Svn(SvnError::new(ErrorCode::CANCELLED, "Caught signal")));
    }
    Ok(())
}

#[allow(clippy::missing_errors_doc, reason = "all: `Error` says what its variants mean")]
impl Filesystem {
    /// Calls `found` with every entry of the phys-to-log index of the file that holds `revision`,
    /// in the order of offsets. E160043 when the filesystem addresses items physically.
    ///
    /// When the shard is packed by another program meanwhile, the walk is an error, for entries
    /// of the vanished file were already handed out.
    pub fn dump_index(
        &self,
        revision: Revnum,
        cancel: &CancelToken,
        found: &mut dyn FnMut(&P2lEntry) -> Result<()>,
    ) -> Result<()> {
        if !self.fs.layout.is_logical() {
            return Err(Error::new(ErrorCode::FS_UNSUPPORTED_FORMAT, ""));
        }
        self.fs.refresh_min_unpacked()?;
        self.fs.ensure_exists(revision)?;
        let (file, index) =
            self.fs.with_file(revision, |file| Ok((*file, P2lIndex::open(&self.fs, file)?)))?;
        index.walk(&self.fs, &file, &mut |entry| {
            check(cancel)?;
            found(entry)
        })
    }

    /// The bytes on disk of a revision's data and properties.
    pub fn revision_size(&self, revision: Revnum) -> Result<u64> {
        self.fs.refresh_min_unpacked()?;
        self.fs.ensure_exists(revision)?;
        let data = if self.fs.layout.is_logical() {
            let mut sum = 0u64;
            self.dump_index(revision, &CancelToken::new(), &mut |entry| {
                if entry.revision == revision {
                    sum = sum.saturating_add(entry.size);
                }
                Ok(())
            })?;
            sum
        } else {
            self.fs.with_file(revision, |file| {
                let (start, end) = self.fs.revision_range(file, revision)?;
                Ok(end.saturating_sub(start))
            })?
        };
        Ok(data.saturating_add(self.fs.revprops_size(revision)?))
    }
}

impl Fs {
    /// The bytes of a revision's serialised properties.
    fn revprops_size(&self, revision: Revnum) -> Result<u64> {
        use sapwood_fsfs_format::revprops::{RevpropManifest, RevpropPack};
        let place = |object| self.revisions.place(object);
        let read = |object| {
            let read = self.revisions.read(object, 1 << 30);
            read.map_err(|e| Error::io(e, "Can't open file", &place(object)))
        };
        let size = |bytes: &[u8]| len64(bytes.len());
        let packed = self.layout.is_revprop_packed(revision, self.min_unpacked());
        if !packed {
            return read(Object::Props(revision)).map(|b| size(&b));
        }
        let shard = self.layout.shard(revision).unwrap_or(0);
        let shard_size = self.layout.format.shard_size.unwrap_or(1);
        let fail = |object, error| Error::File { path: place(object), error };
        let object = Object::PropsManifest(shard);
        let manifest = read(object)?;
        let first = Revnum(shard.saturating_mul(shard_size));
        let manifest =
            RevpropManifest::parse(&manifest, first, shard_size).map_err(|e| fail(object, e))?;
        let missing =
            || Error::Corrupt(format!("Failed to read revprop pack file for r{revision}"));
        let (name, _) = manifest.find(revision).ok_or_else(missing)?;
        let object = Object::PropsPack(shard, name);
        let pack = read(object)?;
        let pack = RevpropPack::parse(&pack).map_err(|e| fail(object, e))?;
        pack.get(revision).map(size).ok_or_else(missing)
    }
}
