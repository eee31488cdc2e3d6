//! The pack file: containers of change lists, of properties, and by path of node-revisions and texts; large texts as they
//! were; and the indexes.
//!
//! A text goes into a container when it is not over twice the block size; there it is whole, so that deltas to it are short
//! ways. Texts that nothing refers to stay as they were too.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread::available_parallelism;

use sapwood_core::exact::clamped;
use sapwood_core::{CancelToken, Cut, ErrorCode, Exact, Revnum, len64};
use sapwood_fsfs_format::fnv::Fnv1a32x4;
use sapwood_fsx_format::changes_container::ChangesContainer;
use sapwood_fsx_format::l2p::Location;
use sapwood_fsx_format::p2l::{Entry, ItemType};
use sapwood_fsx_format::{ChangeSet, Id, noderevs_container};
use sapwood_store::NewFile;
use sapwood_store::ordered::{self, Outlet};

use super::Shard;
use super::gather::{PathItems, RepItem};
use super::texts::Texts;
use crate::error::{Error, Result};
use crate::items::CHANGES;
use crate::revfile::read_at;
use crate::short::Text;
use crate::txn::write_indexes;

/// Bytes that a changed path takes in a container, about.
const CHANGE_LEN: usize = 8;
/// Bytes that a node-revision takes in a container before compression, about.
const NODE_LEN: u64 = 64;
/// Texts of one path that are read at once. None is longer than two blocks.
const READ_AT_ONCE: usize = 32;
/// Bytes of a large item that are copied at once.
const PIECE: u64 = 256 << 10;

/// Bytes of the whole texts that one thread takes at once: what it makes of them waits as a few containers.
const TEXTS_AT_ONCE: u64 = 4 << 20;

/// Threads that make containers, at most.
const MOST_THREADS: usize = 8;

/// Neighbours that are written together.
enum Job {
    Nodes(Vec<Id>),
    Texts(Vec<RepItem>),
}

/// What comes next in a pack file.
enum Piece {
    Container(ItemType, Vec<u8>, Vec<Id>),
    /// A large text, which is copied.
    AsItWas(RepItem),
}

/// Takes what comes next.
type Send<'a> = dyn Fn(Piece) -> Result<()> + 'a;

/// A pack file that is being written.
struct Output {
    file: Box<dyn NewFile>,
    path: PathBuf,
    first: Revnum,
    len: u64,
    offsets: Vec<Vec<Option<Location>>>,
    entries: Vec<Entry>,
}

impl Output {
    fn append(&mut self, bytes: &[u8]) -> Result<()> {
        let written = self.file.append(bytes);
        written.map_err(|error| Error::io("Can't write to file", &self.path, error))?;
        self.len = self.len.plus(len64(bytes.len()));
        Ok(())
    }

    /// Notes what was written from an offset on.
    fn end(&mut self, kind: ItemType, offset: u64, checksum: u32, items: Vec<Id>) -> Result<()> {
        for (sub_item, id) in (0u64..).zip(&items) {
            let wrong = || Error::Corrupt(format!("Item '{id}' is not in its shard"));
            let revision = id.change_set.revision().ok_or_else(wrong)?;
            let at = revision.0.checked_sub(self.first.0).and_then(|at| usize::try_from(at).ok());
            let numbers = at.and_then(|at| self.offsets.get_mut(at)).ok_or_else(wrong)?;
            let number = usize::try_from(id.number).map_err(|_| wrong())?;
            if numbers.len() <= number {
                numbers.resize(number.plus(1), None);
            }
            if let Some(slot) = numbers.get_mut(number) {
                *slot = Some(Location { offset, sub_item });
            }
        }
        let size = self.len.minus(offset);
        self.entries.push(Entry { offset, size, kind, checksum, items });
        Ok(())
    }

    /// Writes a container.
    fn container(&mut self, kind: ItemType, bytes: &[u8], items: Vec<Id>) -> Result<()> {
        let offset = self.len;
        self.append(bytes)?;
        self.end(kind, offset, Fnv1a32x4::of(bytes), items)
    }
}

/// Appends jobs of texts: those of one path stay together.
fn push_texts(texts: Vec<RepItem>, jobs: &mut Vec<Job>) {
    let mut rest = &*texts;
    while !rest.is_empty() {
        let mut len = 0u64;
        let last = rest.windows(2).position(|two| {
            let [item, next] = two else { return true };
            len = len.plus(item.rep.map_or(0, |rep| rep.expanded_size));
            len >= TEXTS_AT_ONCE && item.group != next.group
        });
        let count = last.map_or(rest.len(), |last| last.plus(1));
        jobs.push(Job::Texts(rest.head(count).to_vec()));
        rest = rest.tail(count);
    }
}

impl Shard<'_> {
    /// Writes the pack file.
    pub(super) fn build(&self, cancel: &CancelToken) -> Result<()> {
        let fs = &self.writer.fs.0;
        let items = self.gather(cancel)?;
        let path = fs.file(&fs.layout.pack(self.number));
        let file = self.writer.storage.create(&path);
        let file = file.map_err(|error| Error::io("Can't create file", &path, error))?;
        let count = usize::try_from(fs.layout.0.shard_size);
        let count = count.map_err(|_| Error::internal("a shard that does not fit memory"))?;
        let mut out = Output {
            file,
            path,
            first: self.first(),
            len: 0,
            offsets: vec![Vec::new(); count],
            entries: Vec::new(),
        };
        self.write_changes(&mut out)?;
        let jobs = self.jobs(items.paths, items.file_props, items.dir_props);
        let work = |job: Job, outlet: &Outlet<'_, Result<Piece>>| {
            let gone = |_| Error::new(ErrorCode::CANCELLED, "The pack is not written any more");
            let done = self.work(&job, cancel, &|piece| outlet.send(Ok(piece)).map_err(gone));
            done.or_else(|error| outlet.send(Err(error)))
        };
        let threads = available_parallelism().map_or(1, usize::from).min(MOST_THREADS);
        ordered::run(jobs.into_iter(), threads, &work, &mut |piece| match piece? {
            Piece::Container(kind, bytes, items) => out.container(kind, &bytes, items),
            Piece::AsItWas(item) => self.copy_item(&mut out, &item),
        })?;
        for item in &items.others {
            self.copy_item(&mut out, item)?;
        }
        let mut indexes = Vec::new();
        let config = &self.writer.config;
        write_indexes(out.first, &out.offsets, &out.entries, out.len, config, &mut indexes)?;
        out.append(&indexes)?;
        let synced = if self.writer.flush { out.file.sync() } else { Ok(()) };
        let like = fs.file(&fs.layout.revision(out.first));
        let done = synced.and_then(|()| self.writer.storage.copy_permissions(&like, &out.path));
        done.map_err(|error| Error::io("Can't write to file", &out.path, error))
    }

    /// What is to be written, in order: the properties; then by path, node-revisions and texts of neighbours together.
    fn jobs(
        &self,
        paths: Vec<PathItems>,
        file_props: Vec<RepItem>,
        dir_props: Vec<RepItem>,
    ) -> Vec<Job> {
        let mut jobs = Vec::new();
        push_texts(file_props, &mut jobs);
        push_texts(dir_props, &mut jobs);
        let (mut nodes, mut texts) = (Vec::new(), Vec::new());
        let most = self.nodes_at_once();
        for path in paths {
            nodes.extend(path.nodes);
            texts.extend(path.texts);
            if nodes.len() >= most {
                jobs.push(Job::Nodes(std::mem::take(&mut nodes)));
                push_texts(std::mem::take(&mut texts), &mut jobs);
            }
        }
        jobs.push(Job::Nodes(nodes));
        push_texts(texts, &mut jobs);
        jobs
    }

    fn work(&self, job: &Job, cancel: &CancelToken, send: &Send<'_>) -> Result<()> {
        match job {
            Job::Nodes(nodes) => self.write_nodes(nodes, cancel, send),
            Job::Texts(texts) => self.write_texts(texts, cancel, send),
        }
    }

    /// How many node-revisions a container takes, and are written before their texts.
    fn nodes_at_once(&self) -> usize {
        clamped(self.writer.config.block_size.checked_div(NODE_LEN / 4).unwrap_or(1).max(1))
    }

    /// The change lists, the youngest first.
    fn write_changes(&self, out: &mut Output) -> Result<()> {
        let limit = clamped(self.writer.config.block_size);
        let (mut lists, mut items, mut len) = (Vec::new(), Vec::new(), 0usize);
        let write = |out: &mut Output, lists: &mut Vec<_>, items: &mut Vec<Id>| {
            let mut bytes = Vec::new();
            ChangesContainer::write(lists, &mut bytes)?;
            lists.clear();
            out.container(ItemType::ChangesContainer, &bytes, std::mem::take(items))
        };
        for revision in self.revisions() {
            let list = self.writer.fs.changes(revision)?;
            let sizes = list.iter().map(|change| CHANGE_LEN.plus(change.path.len()));
            len = len.plus(sizes.sum::<usize>()).plus(CHANGE_LEN);
            lists.push(list);
            items.push(Id { change_set: ChangeSet::Revision(revision), number: CHANGES });
            if len >= limit {
                write(out, &mut lists, &mut items)?;
                len = 0;
            }
        }
        if lists.is_empty() { Ok(()) } else { write(out, &mut lists, &mut items) }
    }

    /// Node-revisions, in containers that are not too long.
    fn write_nodes(&self, ids: &[Id], cancel: &CancelToken, send: &Send<'_>) -> Result<()> {
        for ids in ids.chunks(self.nodes_at_once()) {
            cancel.check()?;
            let mut builder = noderevs_container::Builder::default();
            for id in ids {
                builder.push(&self.writer.fs.0.noderev(*id)?)?;
            }
            let mut bytes = Vec::new();
            let written = builder.write(&mut bytes);
            let path = || self.writer.fs.0.file(&self.writer.fs.0.layout.pack(self.number));
            written.map_err(|error| Error::io("Can't compress", &path(), error))?;
            send(Piece::Container(ItemType::NodeRevsContainer, bytes, ids.to_vec()))?;
        }
        Ok(())
    }

    /// Representations: small ones in containers, and then the large ones.
    fn write_texts(&self, reps: &[RepItem], cancel: &CancelToken, send: &Send<'_>) -> Result<()> {
        let block = self.writer.config.block_size;
        let is_small =
            |item: &&RepItem| item.rep.is_some_and(|rep| rep.expanded_size <= block.times(2));
        let (mut texts, mut items) = (Texts::default(), Vec::new());
        let write = |texts: &mut Texts, items: &mut Vec<Id>| {
            let mut bytes = Vec::new();
            std::mem::take(texts).builder.write(&mut bytes)?;
            send(Piece::Container(ItemType::RepsContainer, bytes, std::mem::take(items)))
        };
        let small: Vec<&RepItem> = reps.iter().filter(is_small).collect();
        let mut rest = &*small;
        while let Some(first) = rest.first() {
            cancel.check()?;
            let of_path = rest.iter().position(|item| item.group != first.group);
            let many = of_path.unwrap_or(rest.len()).min(READ_AT_ONCE);
            let (now, later) = rest.split_at_checked(many).unwrap_or((rest, &[]));
            for (item, text) in now.iter().zip(self.read_texts(now, block.times(2))?) {
                texts.push(&text);
                items.push(item.id);
                if texts.is_full(block, false) {
                    write(&mut texts, &mut items)?;
                }
            }
            rest = later;
            let is_end_of_path = rest.first().is_none_or(|next| next.group != first.group);
            if is_end_of_path {
                if texts.is_full(block, true) {
                    write(&mut texts, &mut items)?;
                }
                texts.begin_path();
            }
        }
        if !items.is_empty() {
            write(&mut texts, &mut items)?;
        }
        for item in reps.iter().filter(|item| !is_small(item)) {
            cancel.check()?;
            send(Piece::AsItWas(*item))?;
        }
        Ok(())
    }

    /// Reads texts that follow one another, the youngest first. They are read from the oldest on, because the others are deltas to
    /// those before them, which are known then.
    fn read_texts(&self, items: &[&RepItem], limit: u64) -> Result<Vec<Text>> {
        let fs = &self.writer.fs;
        let mut known = HashMap::new();
        let mut texts = Vec::with_capacity(items.len());
        for item in items.iter().rev() {
            let short = item.rep.map(|rep| fs.copied_text(&rep, &known)).transpose()?.flatten();
            texts.push(match short {
                Some(text) => {
                    known.insert(item.id, Arc::clone(&text));
                    Text::Kept(text)
                }
                None => fs.whole(item.rep, limit)?,
            });
        }
        texts.reverse();
        Ok(texts)
    }

    /// Copies a representation as it is.
    fn copy_item(&self, out: &mut Output, item: &RepItem) -> Result<()> {
        let revision = item.id.change_set.revision();
        let revision = revision.ok_or_else(|| Error::internal("an item outside of revisions"))?;
        let file = self.file(revision)?;
        let found = file.find(revision, item.id.number)?;
        let (offset, mut done) = (out.len, 0u64);
        let mut fnv = Fnv1a32x4::new();
        while done < found.size {
            let len = PIECE.min(found.size.minus(done));
            let bytes = read_at(&*file.file, &file.path, found.offset.saturating_add(done), len)?;
            fnv.update(&bytes);
            out.append(&bytes)?;
            done = done.plus(len);
        }
        let checksum = fnv.finish();
        if checksum != found.checksum() {
            let message = format!("Checksum mismatch in item '{}'", item.id);
            return Err(Error::Corrupt(message));
        }
        out.end(item.kind, offset, checksum, vec![item.id])
    }
}
