//! One revision or pack file with logical addressing: its indexes and the bytes that they
//! describe. Nothing here goes through the item cache, so what is checked is what is on disk.

use std::collections::HashMap;
use std::sync::Arc;

use sapwood_core::checksum::Md5Hasher;
use sapwood_core::date::Timestamp;
use sapwood_core::props::names::DATE;
use sapwood_core::{CancelToken, ErrorCode, Md5, Revnum, SvnError, len64};
use sapwood_fsfs_format::fnv::Fnv1a32x4;
use sapwood_fsfs_format::l2p::ITEM_CHANGES;
use sapwood_fsfs_format::{Footer, ItemType, L2pHeader, L2pPage, P2lEntry, P2lPage};

use super::corrupt;
use crate::dump_index::{P2lIndex, check};
use crate::error::{Error, Result};
use crate::filesystem::{Filesystem, Fs};
use crate::revfile::RevFile;

/// How many parsed pages of an index are kept at hand.
const PAGES: usize = 256;

fn inconsistent(message: String) -> Error {
    Error::Svn(SvnError::new(ErrorCode::FS_INDEX_INCONSISTENT, message))
}

/// Checks one file.
pub(super) fn check_file(fs: &Filesystem, file: &RevFile, cancel: &CancelToken) -> Result<()> {
    let mut checker = Checker::open(&fs.fs, file, cancel)
        .map_err(|error| error.missing_instead_of_gone(file.first))?;
    checker.checksums()?;
    checker.open_headers()?;
    checker.l2p_against_p2l()?;
    checker.p2l_against_l2p()?;
    checker.p2l_against_data()
}

/// Checks that the properties of all revisions of a file are there and can be parsed, and that
/// `svn:date` is a date.
pub(super) fn check_revprops(fs: &Filesystem, file: &RevFile, cancel: &CancelToken) -> Result<()> {
    for revision in file.first.0..file.first.0.saturating_add(file.count) {
        let props = fs.revprops(Revnum(revision))?;
        if let Some(date) = props.get(DATE) {
            Timestamp::parse(date).map_err(|e| Error::Svn(e.into()))?;
        }
        check(cancel)?;
    }
    Ok(())
}

struct Checker<'a> {
    fs: &'a Fs,
    file: &'a RevFile,
    cancel: &'a CancelToken,
    footer: Footer,
    l2p: Option<L2pHeader>,
    p2l: Option<P2lIndex>,
    l2p_pages: HashMap<u32, Arc<L2pPage>>,
    p2l_pages: HashMap<u64, Arc<P2lPage>>,
}

impl<'a> Checker<'a> {
    fn open(fs: &'a Fs, file: &'a RevFile, cancel: &'a CancelToken) -> Result<Self> {
        Ok(Self {
            fs,
            file,
            cancel,
            footer: fs.footer(file)?,
            l2p: None,
            p2l: None,
            l2p_pages: HashMap::new(),
            p2l_pages: HashMap::new(),
        })
    }

    /// Shows the bytes of a range to `each`, block by block.
    fn stream(&self, start: u64, end: u64, mut each: impl FnMut(u64, &[u8])) -> Result<()> {
        let mut at = start;
        while at < end {
            let bytes = self.fs.some_bytes(self.file, at)?;
            let left = sapwood_core::exact::clamped(end.saturating_sub(at));
            let bytes = bytes.get(..left).unwrap_or(&bytes);
            if bytes.is_empty() {
                return Err(corrupt(format!("Unexpected end of file '{}'", self.path())));
            }
            each(at, bytes);
            at = at.saturating_add(len64(bytes.len()));
            check(self.cancel)?;
        }
        Ok(())
    }

    fn path(&self) -> String {
        self.fs.rev_file_path(self.file.key).display().to_string()
    }

    /// The MD5 of both indexes.
    fn checksums(&self) -> Result<()> {
        let Footer { l2p_offset, p2l_offset, footer_offset, .. } = self.footer;
        self.checksum("L2P index", l2p_offset, p2l_offset, self.footer.l2p_md5)?;
        self.checksum("P2L index", p2l_offset, footer_offset, self.footer.p2l_md5)
    }

    fn checksum(&self, name: &str, start: u64, end: u64, expected: Md5) -> Result<()> {
        let mut md5 = Md5Hasher::new();
        self.stream(start, end, |_, bytes| md5.update(bytes))?;
        let actual = md5.finish();
        if actual == expected || expected.0 == [0; 16] {
            return Ok(());
        }
        let path = self.path();
        Err(Error::Svn(SvnError::new(
            ErrorCode::CHECKSUM_MISMATCH,
            format!(
                "{name} checksum mismatch in file {path}:\n   expected:  {expected}\n     \
                 actual:  {actual}\n"
            ),
        )))
    }

    fn open_headers(&mut self) -> Result<()> {
        let (fs, file, footer) = (self.fs, self.file, self.footer);
        self.l2p = Some(fs.l2p_header(file, &footer)?);
        let p2l = P2lIndex::open(fs, file)?;
        if p2l.header.file_size() != footer.l2p_offset {
            return Err(inconsistent(format!(
                "File size of {} for revision r{} does not match p2l index size of {}",
                footer.l2p_offset,
                file.first,
                p2l.header.file_size()
            )));
        }
        self.p2l = Some(p2l);
        Ok(())
    }

    /// Where an item begins by the log-to-phys index; `None` when unused.
    fn l2p_offset(&mut self, revision: Revnum, item: u64) -> Result<Option<u64>> {
        let (fs, file, start) = (self.fs, self.file, self.footer.l2p_offset);
        let fail = |e| fs.item_error(file, revision, start, e);
        let Some(header) = &self.l2p else { return Ok(None) };
        let slot = header.find(revision, item).map_err(fail)?;
        if self.l2p_pages.len() > PAGES {
            self.l2p_pages.clear();
        }
        let page = match self.l2p_pages.get(&slot.page) {
            Some(page) => Arc::clone(page),
            None => {
                let at = start.saturating_add(slot.info.offset);
                let len = sapwood_core::exact::clamped(slot.info.size);
                let page = L2pPage::parse(&fs.bytes(file, at, len)?, &slot.info).map_err(fail)?;
                let page = Arc::new(page);
                self.l2p_pages.insert(slot.page, Arc::clone(&page));
                page
            }
        };
        page.offset(&slot, revision, item).map_err(fail)
    }

    /// The entry that begins at an offset by the phys-to-log index.
    fn p2l_entry(&mut self, offset: u64) -> Result<Option<P2lEntry>> {
        let Some(index) = &self.p2l else { return Ok(None) };
        let Some(number) = index.header.page_at(offset) else {
            let message = format!(
                "Offset {} too large in revision {}",
                offset.cast_signed(),
                self.file.first
            );
            return Err(Error::Svn(SvnError::new(ErrorCode::FS_INDEX_OVERFLOW, message)));
        };
        if self.p2l_pages.len() > PAGES {
            self.p2l_pages.clear();
        }
        let page = match self.p2l_pages.get(&number) {
            Some(page) => Arc::clone(page),
            None => {
                let page = Arc::new(index.page(self.fs, self.file, number)?);
                self.p2l_pages.insert(number, Arc::clone(&page));
                page
            }
        };
        Ok(page.find(offset).copied())
    }

    fn l2p_against_p2l(&mut self) -> Result<()> {
        let (first, count) = (self.file.first.0, self.file.count);
        for revision in (first..first.saturating_add(count)).map(Revnum) {
            let items = match &self.l2p {
                Some(header) => header.item_count(revision).map_err(|e| Error::Svn(e.into()))?,
                None => 0,
            };
            for item in 0..items {
                let Some(offset) = self.l2p_offset(revision, item)? else { continue };
                let Some(entry) = self.p2l_entry(offset)? else {
                    return Err(inconsistent(format!(
                        "p2l index entry not found for PHYS {offset} returned by l2p index for \
                         LOG r{revision}:i{item}"
                    )));
                };
                if entry.item != item || entry.revision != revision {
                    return Err(inconsistent(format!(
                        "p2l index info LOG r{}:i{} does not match l2p index for LOG \
                         r{revision}:i{item}",
                        entry.revision.0.cast_signed(),
                        entry.item
                    )));
                }
            }
            check(self.cancel)?;
        }
        Ok(())
    }

    fn p2l_against_l2p(&mut self) -> Result<()> {
        let Some(index) = self.p2l.take() else { return Ok(()) };
        let (first, count) = (self.file.first.0, self.file.count);
        let end = first.saturating_add(count);
        let (fs, file) = (self.fs, self.file);
        let mut each = |entry: &P2lEntry| {
            let P2lEntry { offset, revision, item, .. } = *entry;
            if entry.item_type == ItemType::Unused {
                if !(first..end).contains(&revision.0) {
                    return Err(inconsistent(format!(
                        "Empty P2L entry for PHYS {offset} refers to revision {revision} outside \
                         the rev / pack file ({first}-{})",
                        end.saturating_sub(1)
                    )));
                }
                return check(self.cancel);
            }
            let found = self.l2p_offset(revision, item)?;
            if found != Some(offset) {
                let found = found.map_or_else(|| "-1".to_owned(), |found| found.to_string());
                return Err(inconsistent(format!(
                    "l2p index entry PHYS {found}does not match p2l index value LOG \
                     r{revision}:i{item} for PHYS {offset}"
                )));
            }
            check(self.cancel)
        };
        index.walk(fs, file, &mut each)?;
        // What fills the last page up is no item.
        if let Some(last) = index.header.page_count().checked_sub(1) {
            let size = index.header.file_size();
            let page = index.page(fs, file, last)?;
            page.entries().iter().filter(|entry| entry.offset >= size).try_for_each(each)?;
        }
        self.p2l = Some(index);
        Ok(())
    }

    fn p2l_against_data(&self) -> Result<()> {
        let Some(index) = &self.p2l else { return Ok(()) };
        let mut last = 0;
        index.walk(self.fs, self.file, &mut |entry| {
            let P2lEntry { offset, size, item_type, revision, item, .. } = *entry;
            last = entry.end();
            if (item_type == ItemType::Changes) != (item == ITEM_CHANGES) {
                return Err(Error::Svn(SvnError::new(
                    ErrorCode::FS_INDEX_CORRUPTION,
                    format!(
                        "p2l index entry for changes in revision r{revision} is item {item} of \
                         type {} at offset {offset}",
                        item_type.number()
                    ),
                )));
            }
            if item_type == ItemType::Unused {
                return self.is_empty(offset, entry.end());
            }
            let mut sum = Fnv1a32x4::new();
            self.stream(offset, entry.end(), |_, bytes| sum.update(bytes))?;
            if size > 0 && sum.finish() != entry.fnv1 {
                return Err(corrupt(format!(
                    "Checksum mismatch in item at offset {offset} of length {size} bytes in file \
                     {}",
                    self.path()
                )));
            }
            Ok(())
        })?;
        if last < index.header.file_size() {
            return Err(Error::Svn(SvnError::new(
                ErrorCode::FS_INDEX_CORRUPTION,
                format!("p2l does not cover offset {last} for revision {}", self.file.first),
            )));
        }
        Ok(())
    }

    /// Unused sections hold NUL bytes only.
    fn is_empty(&self, start: u64, end: u64) -> Result<()> {
        let mut odd = None;
        self.stream(start, end, |at, bytes| {
            if let (None, Some(place)) = (odd, bytes.iter().position(|b| *b != 0)) {
                odd = Some(at.saturating_add(u64::try_from(place).unwrap_or(0)));
            }
        })?;
        match odd {
            None => Ok(()),
            Some(offset) => Err(corrupt(format!(
                "Empty section in file {} contains non-NUL data at offset {offset}",
                self.path()
            ))),
        }
    }
}
