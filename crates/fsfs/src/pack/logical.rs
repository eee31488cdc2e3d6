//! Packing with logical addressing: all items of a shard in an order that serves readers, with
//! new indexes.
//!
//! An item keeps its number and its bytes; only its place in the file changes, and only the
//! indexes know places. The order is: changed paths, properties of files, properties of
//! directories, each newest first; then node-revisions and texts as [`super::order`] has them.
//! Small items do not cross the borders of blocks, unless that would waste too much.
//!
//! Every item of the revisions is in the pack, whether anything refers to it or not.

use sapwood_core::Exact;
use std::collections::HashMap;
use std::ops::Range;

use sapwood_core::{CancelToken, ErrorCode, Revnum, len64};
use sapwood_fsfs_format::index_write::{ItemOffsets, write_indexes};
use sapwood_fsfs_format::{
    Footer, ItemType, L2pHeader, NodeRev, P2lEntry, P2lHeader, P2lPage, RepHeader, RepLocation,
    limits,
};

use super::build_queue::ShardFiles;
use super::order::{ItemId, PlacedNode, order, sort_path};
use super::output::Output;
use super::source::Sources;
use super::{PackConfig, PackOptions};
use crate::dump_index::check;
use crate::error::{Error, Result};
use crate::filesystem::SharedState;

/// Items that are placed together. More are placed in ranges of revisions, to bound memory.
const ITEMS: u64 = 310_000;
/// Room behind a node-revision in its block: readers that go by lines look ahead.
const LOOK_AHEAD: u64 = 80;

/// What is known of the file of one revision.
struct RevisionFile {
    source: usize,
    footer: Footer,
}

/// A pack while it is made.
struct Packer<'a> {
    options: &'a PackOptions,
    config: PackConfig,
    cancel: &'a CancelToken,
    sources: Sources<'a>,
    first: Revnum,
    output: Output<'a>,
    /// For each revision of the shard where its items are in the pack.
    offsets: Vec<ItemOffsets>,
    /// What lies where in the pack.
    entries: Vec<P2lEntry>,
}

/// The items of a range of revisions.
#[derive(Default)]
struct Items {
    /// Entries of the revisions' own indexes, with the number of the file.
    all: Vec<(P2lEntry, usize)>,
    /// Places in `all`.
    by_id: HashMap<ItemId, usize>,
    nodes: Vec<PlacedNode>,
    bases: HashMap<ItemId, ItemId>,
}

pub(super) fn build(
    shared: &SharedState,
    options: &PackOptions,
    config: PackConfig,
    shard: u64,
    cancel: &CancelToken,
) -> Result<ShardFiles> {
    let size = shared.layout.format.shard_size.unwrap_or(1);
    let first = shard.saturating_mul(size);
    let storage = &*shared.storage;
    let count = sapwood_core::exact::clamped(size);
    let mut packer = Packer {
        options,
        config,
        cancel,
        sources: Sources::new(&*shared.revisions, options.memory),
        first: Revnum(first),
        output: Output::create(storage, shared.file(&shared.layout.pack_file(shard)))?,
        offsets: vec![ItemOffsets::new(); count],
        entries: Vec::new(),
    };
    let mut waiting = 0;
    let mut files: Vec<(Revnum, RevisionFile)> = Vec::new();
    for revision in (first..first.saturating_add(size)).map(Revnum) {
        check(cancel)?;
        let mut file = packer.open(revision)?;
        let items = packer.item_count(revision, &file)?;
        if items > ITEMS.saturating_sub(waiting) {
            packer.place(&std::mem::take(&mut files))?;
            waiting = 0;
            packer.sources.clear(options.memory);
            file = packer.open(revision)?;
            if items > ITEMS {
                packer.append_whole(revision, &file)?;
                continue;
            }
        }
        waiting = waiting.plus(items);
        files.push((revision, file));
    }
    packer.place(&files)?;
    packer.finish()
}

impl<'a> Packer<'a> {
    fn fail(&self, source: usize, revision: Revnum, offset: u64) -> impl Fn(FormatError) -> Error {
        let path = self.sources.path(source).to_owned();
        move |error| Error::Item { path: path.clone(), revision, offset, error }
    }

    fn open(&mut self, revision: Revnum) -> Result<RevisionFile> {
        let source = self.sources.add(revision)?;
        let len = self.sources.len(source);
        let tail_len = len64(limits::FOOTER_LEN);
        let from = len.saturating_sub(tail_len);
        let tail = self.sources.bytes(source, from, tail_len)?;
        let footer =
            Footer::parse(&tail, len, revision).map_err(self.fail(source, revision, from))?;
        drop(tail);
        Ok(RevisionFile { source, footer })
    }

    fn item_count(&self, revision: Revnum, file: &RevisionFile) -> Result<u64> {
        let RevisionFile { source, footer } = file;
        let bytes = self.sources.bytes(*source, footer.l2p_offset, footer.l2p_len())?;
        L2pHeader::parse(&bytes, footer.l2p_len(), revision, 1)
            .and_then(|header| header.item_count(revision))
            .map_err(self.fail(*source, revision, footer.l2p_offset))
    }

    /// Calls `found` with what is in the file of a revision, in the order of offsets.
    fn walk(
        &self,
        revision: Revnum,
        file: &RevisionFile,
        found: &mut dyn FnMut(&P2lEntry) -> Result<()>,
    ) -> Result<()> {
        let RevisionFile { source, footer } = file;
        let fail = self.fail(*source, revision, footer.p2l_offset);
        let index = self.sources.bytes(*source, footer.p2l_offset, footer.p2l_len())?;
        let header = P2lHeader::parse(&index, footer.p2l_len(), revision, footer.l2p_offset)
            .map_err(&fail)?;
        let corrupt = || {
            Error::new(
                ErrorCode::FS_INDEX_CORRUPTION,
                format!("p2l index of revision r{revision} does not describe its items"),
            )
        };
        let mut end = 0;
        for number in 0..header.page_count() {
            let range = header.page(number, footer.p2l_len()).ok_or_else(corrupt)?;
            let place = |n: u64| sapwood_core::exact::clamped(n);
            let bytes = index.get(place(range.start)..place(range.end)).ok_or_else(corrupt)?;
            let page = P2lPage::parse(bytes, &header, number).map_err(&fail)?;
            for entry in page.entries() {
                if entry.offset < end || entry.offset >= footer.l2p_offset {
                    continue;
                }
                if entry.offset != end || entry.end() > footer.l2p_offset {
                    return Err(corrupt());
                }
                end = entry.end();
                if entry.item_type != ItemType::Unused && entry.revision != revision {
                    return Err(corrupt());
                }
                found(entry)?;
            }
        }
        if end == footer.l2p_offset { Ok(()) } else { Err(corrupt()) }
    }

    /// Places all items of consecutive revisions, and lets go of their files.
    fn place(&mut self, files: &[(Revnum, RevisionFile)]) -> Result<()> {
        let Some((start, _)) = files.first() else { return Ok(()) };
        let mut items = Items::default();
        for (revision, file) in files {
            check(self.cancel)?;
            self.walk(*revision, file, &mut |entry| self.gather(&mut items, entry, file, *start))?;
        }
        for kind in [ItemType::Changes, ItemType::FileProps, ItemType::DirProps] {
            let mut ids: Vec<ItemId> = items
                .all
                .iter()
                .filter(|(entry, _)| entry.item_type == kind)
                .map(|(entry, _)| (entry.revision, entry.item))
                .collect();
            ids.sort_unstable_by(|a, b| b.cmp(a));
            self.store_all(&mut items, &ids)?;
        }
        let nodes = std::mem::take(&mut items.nodes);
        let linear = self.config.write.max_linear_deltification;
        let ids = order(nodes, &items.bases, linear);
        self.store_all(&mut items, &ids)?;
        // What nothing refers to: left by changes that were changed again in their transaction.
        let mut left: Vec<ItemId> = items.by_id.keys().copied().collect();
        left.sort_unstable();
        self.store_all(&mut items, &left)?;
        self.sources.clear(self.options.memory);
        Ok(())
    }

    /// Notes an item, and what decides on its place.
    fn gather(
        &self,
        items: &mut Items,
        entry: &P2lEntry,
        file: &RevisionFile,
        start: Revnum,
    ) -> Result<()> {
        let id = (entry.revision, entry.item);
        let fail = self.fail(file.source, entry.revision, entry.offset);
        match entry.item_type {
            ItemType::Unused => return Ok(()),
            ItemType::NodeRev => {
                let bytes = self.sources.bytes(file.source, entry.offset, entry.size)?;
                let (node, _) = NodeRev::parse(&bytes).map_err(fail)?;
                let rep = node.text.and_then(|rep| match rep.location {
                    RepLocation::Rev { revision, item } if revision >= start => {
                        Some((revision, item))
                    }
                    _ => None,
                });
                items.nodes.push(PlacedNode {
                    path: sort_path(node.created_path()),
                    node: node.id.node,
                    predecessor_count: node.predecessor_count,
                    id,
                    rep,
                });
            }
            ItemType::FileRep | ItemType::DirRep => {
                let most = len64(limits::REP_HEADER_LEN);
                let bytes = self.sources.bytes(file.source, entry.offset, entry.size.min(most))?;
                let (header, _) = RepHeader::parse(&bytes).map_err(fail)?;
                if let RepHeader::Delta { revision, item, .. } = header
                    && revision >= start
                {
                    items.bases.insert(id, (revision, item));
                }
            }
            ItemType::Changes | ItemType::FileProps | ItemType::DirProps => {}
        }
        if items.by_id.insert(id, items.all.len()).is_some() {
            return Err(Error::new(
                ErrorCode::FS_INDEX_CORRUPTION,
                format!("Item index {} of revision r{} is used twice", entry.item, entry.revision),
            ));
        }
        items.all.push((*entry, file.source));
        Ok(())
    }

    /// Stores items that are not stored yet.
    fn store_all(&mut self, items: &mut Items, ids: &[ItemId]) -> Result<()> {
        for id in ids {
            if let Some(at) = items.by_id.remove(id)
                && let Some((entry, source)) = items.all.get(at)
            {
                self.store(entry, *source)?;
            }
        }
        Ok(())
    }

    fn store(&mut self, entry: &P2lEntry, source: usize) -> Result<()> {
        let ahead = if entry.item_type == ItemType::NodeRev { LOOK_AHEAD } else { 0 };
        self.align(entry.size.saturating_add(ahead))?;
        let offset = self.output.len();
        copy(&self.sources, source, entry.offset..entry.end(), &mut self.output)?;
        self.note(P2lEntry { offset, ..*entry })
    }

    /// Begins a new block if the present one has no room for `size` bytes, and little is lost.
    fn align(&mut self, size: u64) -> Result<()> {
        let block = self.config.block_size;
        let used = self.output.len().checked_rem(block).unwrap_or(0);
        let left = block.saturating_sub(used);
        if left < size && left < (block / 50).max(512) {
            self.entries.push(P2lEntry {
                offset: self.output.len(),
                size: left,
                item_type: ItemType::Unused,
                fnv1: 0,
                revision: self.first,
                item: 0,
            });
            self.output.pad(left)?;
        }
        Ok(())
    }

    /// Enters an item into both indexes.
    fn note(&mut self, entry: P2lEntry) -> Result<()> {
        let place = usize::try_from(entry.revision.0.minus(self.first.0));
        let offsets = place.ok().and_then(|place| self.offsets.get_mut(place));
        if entry.item_type != ItemType::Unused
            && !offsets.is_some_and(|offsets| offsets.set(entry.item, entry.offset))
        {
            return Err(Error::new(
                ErrorCode::FS_INDEX_OVERFLOW,
                format!("Item index {} too large in revision {}", entry.item, entry.revision),
            ));
        }
        self.entries.push(entry);
        Ok(())
    }

    /// Appends a revision that has too many items to be placed one by one.
    fn append_whole(&mut self, revision: Revnum, file: &RevisionFile) -> Result<()> {
        let start = self.output.len();
        let mut found = Vec::new();
        self.walk(revision, file, &mut |entry| {
            found.push(P2lEntry { offset: start.saturating_add(entry.offset), ..*entry });
            Ok(())
        })?;
        copy(&self.sources, file.source, 0..file.footer.l2p_offset, &mut self.output)?;
        for entry in found {
            self.note(entry)?;
        }
        self.sources.clear(self.options.memory);
        Ok(())
    }

    fn finish(mut self) -> Result<ShardFiles> {
        let write = &self.config.write;
        let mut indexes = Vec::new();
        write_indexes(
            self.first,
            self.output.len(),
            &self.offsets,
            write.l2p_page_size,
            &self.entries,
            write.p2l_page_size,
            &mut indexes,
        );
        self.output.append(&indexes)?;
        let mut built = ShardFiles::default();
        self.output.finish(&mut built)?;
        Ok(built)
    }
}

type FormatError = sapwood_fsfs_format::Error;

/// Copies a part of a revision file to the end of the pack.
fn copy(
    sources: &Sources<'_>,
    source: usize,
    range: Range<u64>,
    output: &mut Output<'_>,
) -> Result<()> {
    const PIECE: u64 = 1 << 20;
    let mut at = range.start;
    while at < range.end {
        let bytes = sources.bytes(source, at, range.end.saturating_sub(at).min(PIECE))?;
        if bytes.is_empty() {
            let path = sources.path(source).display();
            return Err(Error::Corrupt(format!("Revision file '{path}' became shorter")));
        }
        at = at.plus(len64(bytes.len()));
        output.append(&bytes)?;
    }
    Ok(())
}
