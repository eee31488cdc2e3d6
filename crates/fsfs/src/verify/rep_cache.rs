//! The rep-cache: each row must name a representation that is there.

use sapwood_core::Exact;
use std::collections::HashMap;
use std::sync::Arc;

use sapwood_core::{CancelToken, Revnum};
use sapwood_fsfs_format::layout::names;
use sapwood_fsfs_format::{ItemType, P2lPage};

use super::corrupt;
use crate::dump_index::{P2lIndex, check};
use crate::error::Result;
use crate::filesystem::Filesystem;
use crate::revfile::RevFile;
use sapwood_fs_common::rep_cache::RepCache;

/// Progress is reported after so many rows.
const ROWS: u32 = 1000;
/// Progress is reported after so many files.
const FILES: u32 = 16;

/// How many indexes and pages of indexes are kept at hand.
const PAGES: usize = 256;

/// What is checked of a row.
#[derive(Clone, Copy, Debug)]
struct Row {
    revision: Revnum,
    item: u64,
}

/// When the reference reports progress: it counts rows, and files that it opens for them.
#[derive(Default)]
struct Pace {
    rows: u32,
    files: u32,
    /// The first revision of the file that is open.
    open: Option<Revnum>,
    reported: Option<Revnum>,
}

pub(super) fn verify(
    fs: &Filesystem,
    start: Revnum,
    end: Revnum,
    cancel: &CancelToken,
    progress: &mut dyn FnMut(Option<Revnum>),
) -> Result<()> {
    if let Some(log) = fs.fs.revisions.as_log() {
        progress(None);
        let mut rows = Vec::new();
        log.each_rep(&mut |row| {
            check(cancel)?;
            if start == Revnum::ZERO {
                fs.fs.ensure_exists(row.revision)?;
            }
            if (start..=end).contains(&row.revision) {
                rows.push(Row { revision: row.revision, item: row.item });
            }
            Ok(())
        })?;
        return check_rows(fs, &rows, cancel, progress);
    }
    let path = fs.fs.file(names::REP_CACHE);
    if fs.fs.storage.stamp(&path).is_err() {
        return Ok(());
    }
    progress(None);
    let cache = RepCache::open_read_only(path)?;
    if start == Revnum::ZERO
        && let Some(max) = cache.youngest()?
    {
        fs.fs.ensure_exists(max)?;
    }
    // All rows first: checking takes long, and a reader keeps others from writing.
    let mut rows = Vec::new();
    cache.rows(start, end, &mut |row| {
        check(cancel)?;
        rows.push(Row { revision: row.revision, item: row.item });
        Ok(())
    })?;
    drop(cache);
    check_rows(fs, &rows, cancel, progress)
}

fn check_rows(
    fs: &Filesystem,
    rows: &[Row],
    cancel: &CancelToken,
    progress: &mut dyn FnMut(Option<Revnum>),
) -> Result<()> {
    let mut pace = Pace::default();
    let mut lookup = Lookup::default();
    for row in rows {
        check(cancel)?;
        pace.row(fs, row, progress);
        lookup.check(fs, row)?;
    }
    Ok(())
}

impl Pace {
    fn row(&mut self, fs: &Filesystem, row: &Row, progress: &mut dyn FnMut(Option<Revnum>)) {
        if self.rows > ROWS || self.files > FILES {
            if self.reported != Some(row.revision) {
                progress(Some(row.revision));
                self.reported = Some(row.revision);
            }
            *self = Self { reported: self.reported, ..Self::default() };
        }
        let file = fs.fs.rev_file(row.revision);
        // With physical addressing only packs are kept open.
        let again = self.open == Some(file.first) && (fs.fs.layout.is_logical() || file.key.packed);
        self.open = Some(file.first);
        self.rows.tally(1);
        self.files.tally(u32::from(!again));
    }
}

/// Indexes and pages of indexes that were looked at last: rows come in the order of their hashes.
#[derive(Default)]
struct Lookup {
    indexes: HashMap<Revnum, Arc<P2lIndex>>,
    pages: HashMap<(Revnum, u64), Arc<P2lPage>>,
}

impl Lookup {
    fn check(&mut self, fs: &Filesystem, row: &Row) -> Result<()> {
        let Row { revision, item } = *row;
        if !fs.fs.layout.is_logical() {
            return fs.fs.rep_start(revision, item).map(|_| ());
        }
        let mut file_before = None;
        fs.fs.with_file(revision, |file| {
            // Another file than before: the shard was packed.
            if file_before.replace(*file).is_some() {
                *self = Self::default();
            }
            let offset = fs.fs.item_offset(file, revision, item)?;
            let found = match self.page(fs, file, offset)? {
                Some(page) => page.find(offset).map(|entry| entry.item_type),
                None => None,
            };
            match found {
                Some(
                    ItemType::FileRep | ItemType::DirRep | ItemType::FileProps | ItemType::DirProps,
                ) => Ok(()),
                _ => Err(corrupt(format!(
                    "No representation found at offset {offset} for item {item} in revision \
                     {revision}"
                ))),
            }
        })
    }

    fn page(
        &mut self,
        fs: &Filesystem,
        file: &RevFile,
        offset: u64,
    ) -> Result<Option<Arc<P2lPage>>> {
        if self.indexes.len() > PAGES || self.pages.len() > PAGES {
            *self = Self::default();
        }
        let index = match self.indexes.get(&file.first) {
            Some(index) => Arc::clone(index),
            None => {
                let index = Arc::new(P2lIndex::open(&fs.fs, file)?);
                self.indexes.insert(file.first, Arc::clone(&index));
                index
            }
        };
        let Some(number) = index.header.page_at(offset) else { return Ok(None) };
        if let Some(page) = self.pages.get(&(file.first, number)) {
            return Ok(Some(Arc::clone(page)));
        }
        let page = Arc::new(index.page(&fs.fs, file, number)?);
        self.pages.insert((file.first, number), Arc::clone(&page));
        Ok(Some(page))
    }
}
