//! A revision or pack file: where its items are, and their bytes, whose checksums are compared.

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sapwood_core::exact::clamped;
use sapwood_core::{Cut, Exact, Revnum, len64};
use sapwood_fsfs_format::Footer;
use sapwood_fsfs_format::fnv::Fnv1a32x4;
use sapwood_fsx_format::layout::Layout;
use sapwood_fsx_format::p2l::{Entry, ItemType};
use sapwood_fsx_format::{ChangeSet, Error as FormatError, Id, NodeRev, l2p, p2l};
use sapwood_store::{StoredFile, WriteStorage};

use crate::error::{Error, Result};
use crate::recent::Recent;

/// Bytes at the end of a file in which its footer lies.
const FOOTER: u64 = 256;
/// The longest header or page of an index.
const INDEX: u64 = 1 << 28;
/// The longest item that is read whole.
const ITEM: u64 = 1 << 28;
/// The longest file that is read whole when it is opened.
const SMALL_FILE: u64 = 64 << 10;

/// A revision or pack file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FileKey {
    Revision(Revnum),
    Pack(u64),
}

/// An opened file with the headers of its indexes.
#[derive(Debug)]
pub(crate) struct RevFile {
    pub(crate) path: PathBuf,
    pub(crate) file: Arc<dyn StoredFile>,
    /// The same when it is in memory.
    whole: Option<Arc<InMemory>>,
    pub(crate) footer: Footer,
    pub(crate) l2p: l2p::Header,
    pub(crate) p2l: p2l::Header,
    /// How many revisions it holds.
    revisions: u64,
    /// Pages of both indexes by their offsets: neighbours are looked up one after the other.
    l2p_pages: Recent<u64, Vec<Option<l2p::Location>>>,
    p2l_pages: Recent<u64, Vec<Entry>>,
}

/// Where an item is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Item {
    pub(crate) offset: u64,
    /// Bytes.
    pub(crate) size: u64,
    pub(crate) kind: ItemType,
    checksum: u32,
    /// Its position in the container at the offset; 0 for an item by itself.
    pub(crate) sub_item: usize,
}

impl Item {
    /// What an entry of the index by offsets describes.
    pub(crate) const fn of(entry: &Entry, sub_item: usize) -> Self {
        let Entry { offset, size, kind, checksum, .. } = *entry;
        Self { offset, size, kind, checksum, sub_item }
    }

    /// FNV-1a 32x4 of its bytes, as the index says.
    pub(crate) const fn checksum(&self) -> u32 {
        self.checksum
    }
}

/// Pages of each index that are kept.
const PAGES: usize = 8;
/// Bytes of an index that are read for its header, in the first place.
const HEADER: u64 = 64 << 10;

impl RevFile {
    /// Opens a file of the folder `db`, and reads the headers of its indexes.
    pub(crate) fn open(
        storage: &dyn WriteStorage,
        db: &Path,
        layout: Layout,
        key: FileKey,
    ) -> Result<Self> {
        let (name, first, revisions) = match key {
            FileKey::Revision(revision) => (layout.revision(revision), revision, 1),
            FileKey::Pack(shard) => {
                let size = layout.0.shard_size;
                (layout.pack(shard), Revnum(shard.saturating_mul(size)), size)
            }
        };
        let path = db.join(name);
        let io = |error| Error::io("Can't open file", &path, error);
        let file = sapwood_store::Storage::open(storage, &path).map_err(io)?;
        let len = file.len().map_err(io)?;
        let whole = match len <= SMALL_FILE {
            true => Some(Arc::new(InMemory(read_at(&*file, &path, 0, len)?))),
            false => None,
        };
        let file: Arc<dyn StoredFile> = match &whole {
            Some(whole) => Arc::<InMemory>::clone(whole),
            None => file,
        };
        let tail = read_at(&*file, &path, len.saturating_sub(FOOTER), len.min(FOOTER))?;
        let footer = Footer::parse(&tail, len, first).map_err(|error| Error::Svn(error.into()))?;
        let (l2p_len, p2l_len) = (footer.l2p_len(), footer.p2l_len());
        let l2p = header(&*file, &path, (footer.l2p_offset, l2p_len), |bytes| {
            l2p::Header::parse(bytes, l2p_len, first, revisions)
        })?;
        let p2l = header(&*file, &path, (footer.p2l_offset, p2l_len), |bytes| {
            p2l::Header::parse(bytes, p2l_len, first)
        })?;
        if p2l.data_len != footer.l2p_offset {
            let error = FormatError::index("P2L index of a file of another length");
            return Err(Error::Item { path, offset: footer.p2l_offset, error });
        }
        let (l2p_pages, p2l_pages) = (Recent::new(PAGES), Recent::new(PAGES));
        Ok(Self { path, file, whole, footer, l2p, p2l, revisions, l2p_pages, p2l_pages })
    }

    /// Whether all of it was read.
    pub(crate) const fn is_in_memory(&self) -> bool {
        self.whole.is_some()
    }

    /// Bytes that it takes in memory, about: the file, and as much again for what was parsed of its indexes.
    pub(crate) fn byte_len(&self) -> usize {
        let len = clamped(self.footer.footer_offset).min(usize::MAX / 4);
        len.times(2).plus(size_of::<Self>())
    }

    /// An error of an item of this file.
    pub(crate) fn wrong(&self, offset: u64, error: FormatError) -> Error {
        Error::Item { path: self.path.clone(), offset, error }
    }

    /// Looks up an item in both indexes, which must agree about it.
    pub(crate) fn find(&self, revision: Revnum, number: u64) -> Result<Item> {
        let wrong = |error| self.wrong(self.footer.l2p_offset, error);
        let (page, at) = self.l2p.page(revision, number).map_err(wrong)?;
        let items = self.l2p_page(&page)?;
        let at = usize::try_from(at).ok().and_then(|at| items.get(at).copied().flatten());
        let Some(location) = at else {
            let message = format!("Item index {number} of revision {revision} is not used");
            return Err(wrong(FormatError::IndexOverflow(message.into())));
        };
        let (page, at) = self.entry(location.offset)?;
        let entry = page.get(at);
        let sub_item = usize::try_from(location.sub_item).ok();
        let found = entry.zip(sub_item).filter(|(entry, at)| {
            let id = Id { change_set: ChangeSet::Revision(revision), number };
            entry.items.get(*at) == Some(&id)
        });
        let Some((entry, sub_item)) = found else {
            let message = format!("Indexes disagree about item {number} of revision {revision}");
            return Err(wrong(FormatError::index(message)));
        };
        Ok(Item::of(entry, sub_item))
    }

    /// The page and the position in it of what begins at an offset. An item is described in the page in which it ends.
    fn entry(&self, offset: u64) -> Result<(Arc<Vec<Entry>>, usize)> {
        let first =
            offset.checked_div(self.p2l.page_size).and_then(|page| usize::try_from(page).ok());
        let pages = first.and_then(|first| self.p2l.pages.get(first..)).unwrap_or_default();
        for (start, len) in pages.iter().filter(|(_, len)| *len > 0) {
            let entries = self.p2l_page(*start, *len)?;
            if let Ok(at) = entries.binary_search_by_key(&offset, |entry| entry.offset) {
                return Ok((entries, at));
            }
            if entries.first().is_some_and(|entry| entry.offset > offset) {
                break;
            }
        }
        let error = FormatError::index(format!("No item begins at offset {offset}"));
        Err(self.wrong(self.footer.p2l_offset, error))
    }

    /// The revisions that it holds.
    pub(crate) fn revisions(&self) -> impl Iterator<Item = Revnum> + use<> {
        let first = self.l2p.first.0;
        (first..first.saturating_add(self.revisions)).map(Revnum)
    }

    /// A page of the index by numbers.
    pub(crate) fn l2p_page(&self, page: &l2p::Page) -> Result<Arc<Vec<Option<l2p::Location>>>> {
        self.l2p_pages.get_or(page.offset, || {
            let offset = self.footer.l2p_offset.saturating_add(page.offset);
            let bytes = self.slice(offset, page.len)?;
            l2p::parse_page(&bytes, page.entries)
                .map_err(|error| self.wrong(self.footer.l2p_offset, error))
        })
    }

    /// A page of the index by offsets: where it begins in the index, and its length.
    pub(crate) fn p2l_page(&self, start: u64, len: u64) -> Result<Arc<Vec<Entry>>> {
        self.p2l_pages.get_or(start, || {
            let offset = self.footer.p2l_offset.saturating_add(start);
            let bytes = self.slice(offset, len)?;
            p2l::parse_page(&bytes, self.p2l.first)
                .map_err(|error| self.wrong(self.footer.p2l_offset, error))
        })
    }

    /// Bytes of the file, which are copied only if it is not in memory.
    pub(crate) fn slice(&self, offset: u64, len: u64) -> Result<Cow<'_, [u8]>> {
        let whole = self.whole.as_ref();
        let bytes = whole.and_then(|whole| whole.0.get(clamped(offset)..)?.get(..clamped(len)));
        match bytes {
            Some(bytes) => Ok(Cow::Borrowed(bytes)),
            None => Ok(Cow::Owned(read_at(&*self.file, &self.path, offset, len)?)),
        }
    }

    /// Everything in the file, in its order: a page at a time is read.
    pub(crate) fn for_each_entry(&self, each: &mut dyn FnMut(&Entry) -> Result<()>) -> Result<()> {
        for (start, len) in self.p2l.pages.iter().filter(|(_, len)| *len > 0) {
            let at = self.footer.p2l_offset.saturating_add(*start);
            let bytes = self.slice(at, *len)?;
            let entries = p2l::parse_page(&bytes, self.p2l.first);
            let entries = entries.map_err(|error| self.wrong(at, error))?;
            entries.iter().try_for_each(&mut *each)?;
        }
        Ok(())
    }

    /// A node-revision that is an item by itself.
    pub(crate) fn node_rev(&self, item: &Item) -> Result<NodeRev> {
        let parsed = NodeRev::parse(&self.bytes(item, ItemType::NodeRev)?);
        Ok(parsed.map_err(|error| self.wrong(item.offset, error))?.0)
    }

    /// The bytes of an item, which must have the kind `kind`, and whose checksum is compared.
    pub(crate) fn bytes(&self, item: &Item, kind: ItemType) -> Result<Cow<'_, [u8]>> {
        if item.kind != kind {
            let message = format!("Item of type {:?} where {kind:?} is expected", item.kind);
            return Err(self.wrong(item.offset, FormatError::index(message)));
        }
        let end = item.offset.checked_add(item.size);
        if end.is_none_or(|end| end > self.p2l.data_len) || item.size > ITEM {
            let error = FormatError::index("Item beyond the items of its file");
            return Err(self.wrong(item.offset, error));
        }
        let bytes = self.slice(item.offset, item.size)?;
        let (expected, actual) = (item.checksum, Fnv1a32x4::of(&bytes));
        if expected == actual {
            return Ok(bytes);
        }
        let error = FormatError::Checksum { what: "item", expected, actual };
        Err(self.wrong(item.offset, error))
    }
}

/// A file that was read whole: it does not change.
#[derive(Debug)]
struct InMemory(Vec<u8>);

impl StoredFile for InMemory {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> std::io::Result<usize> {
        let rest = self.0.tail(clamped(offset));
        let len = rest.len().min(buf.len());
        if let Some(to) = buf.get_mut(..len) {
            to.copy_from_slice(rest.head(len));
        }
        Ok(len)
    }

    fn len(&self) -> std::io::Result<u64> {
        Ok(len64(self.0.len()))
    }
}

/// The header of an index, at an offset and of a length: as much of it is read as the header needs.
fn header<T>(
    file: &dyn StoredFile,
    path: &std::path::Path,
    (offset, len): (u64, u64),
    parse: impl Fn(&[u8]) -> sapwood_fsx_format::Result<T>,
) -> Result<T> {
    let mut read = HEADER.min(len);
    loop {
        match parse(&read_at(file, path, offset, read)?) {
            Err(FormatError::UnexpectedEnd(_)) if read < len => {
                read = read.times(8).min(len);
            }
            parsed => {
                return parsed.map_err(|error| Error::Item {
                    path: path.to_owned(),
                    offset,
                    error,
                });
            }
        }
    }
}

/// Reads exactly `len` bytes.
pub(crate) fn read_at(
    file: &dyn StoredFile,
    path: &std::path::Path,
    offset: u64,
    len: u64,
) -> Result<Vec<u8>> {
    let wrong = |error| Error::Item { path: path.to_owned(), offset, error };
    if len > INDEX {
        let error = FormatError::TooLarge { what: "part of a file", size: len, limit: INDEX };
        return Err(wrong(error));
    }
    let mut bytes = vec![0; usize::try_from(len).unwrap_or_default()];
    let mut done = 0usize;
    while done < bytes.len() {
        let at = offset.saturating_add(len64(done));
        let rest = bytes.get_mut(done..).unwrap_or_default();
        let read = file.read_at(rest, at);
        match read.map_err(|error| Error::io("Can't read file", path, error))? {
            0 => return Err(wrong(FormatError::UnexpectedEnd("revision file"))),
            read => done = done.plus(read),
        }
    }
    debug_assert_eq!(bytes.tail(done).len(), 0);
    Ok(bytes)
}
