//! Writing representations: choosing what to store a text as a delta to, writing it, and sharing
//! it with an equal one.

use sapwood_core::{Cut, Exact, len64};
use std::io::{self, Read};
use std::sync::OnceLock;

use sapwood_core::{Md5, Revnum, Sha1, SvnError};
use sapwood_delta::svndiff::Encoder;
use sapwood_delta::{ApplyReader, ComputedDelta, StoredDelta};
use sapwood_fs_common::hashed_text::{HashedText, Hashes, TextRead};
use sapwood_fsfs_format::rep::ENDREP;
use sapwood_fsfs_format::{
    ItemType, NodeRev, NodeRevId, RepHeader, RepLocation, Representation, limits,
};

use super::ancestry::Ancestor;
use super::known_text::{DeltaAhead, KnownText, header};
use super::{FRESH_CHAINS, FRESH_LEN, Txn, Writer};
use crate::cache_kinds::{self, TEXT, Text};
use crate::contents::TextReader;
use crate::error::{Error, Result};
use crate::filesystem::Filesystem;
use crate::rep::svndiff::WINDOW;

/// A base shorter than this saves less than the delta's own header takes.
const SHORTEST_BASE: u64 = 64;

/// Which text of a node a representation holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// File contents, or a directory's entries.
    Text,
    /// Properties.
    Props,
}

impl Part {
    const fn of(self, node: &NodeRev) -> Option<Representation> {
        match self {
            Self::Text => node.text,
            Self::Props => node.props,
        }
    }
}

/// A committed text as `io::Read`.
#[derive(Debug)]
struct RepReader {
    fs: Filesystem,
    reader: TextReader,
    piece: Option<crate::contents::Piece>,
    taken: usize,
}

impl RepReader {
    fn new(fs: &Filesystem, rep: Option<Representation>) -> Self {
        let reader = TextReader::new(rep, None);
        Self { fs: fs.clone(), reader, piece: None, taken: 0 }
    }
}

impl Read for RepReader {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        loop {
            let bytes = self.piece.as_ref().map(|p| p.bytes()).unwrap_or_default();
            let left = bytes.tail(self.taken);
            if !left.is_empty() || buf.is_empty() {
                let len = left.len().min(buf.len());
                if let (Some(to), Some(from)) = (buf.get_mut(..len), left.get(..len)) {
                    to.copy_from_slice(from);
                }
                self.taken = self.taken.plus(len);
                return Ok(len);
            }
            let next = self.reader.next(&self.fs.fs);
            self.piece = next.map_err(|e| io::Error::other(SvnError::from(e)))?;
            self.taken = 0;
            if self.piece.is_none() {
                return Ok(0);
            }
        }
    }
}

impl Txn {
    /// Writes the contents of a file of the transaction to the prototype revision, or finds them
    /// there or in the repository.
    /// `known` is what is known of it.
    pub(super) fn write_text(
        &mut self,
        at: usize,
        text: &mut dyn Read,
        known: Option<&KnownText>,
    ) -> Result<Representation> {
        let node = &self.tree.txn_node(at)?.node;
        let base = self.delta_base(node, Part::Text)?;
        let digests = known.map(|known| (known.md5, known.sha1));
        let ahead = known.and_then(|known| known.delta.as_ref());
        let mut rep = match (digests, ahead.filter(|delta| delta.is_to(base.as_ref()))) {
            (Some(digests), Some(delta)) => self.write_ahead(delta, text, digests)?,
            _ => self.write_delta(base, text, digests.map_or(Hashes::Both, Hashes::Known))?,
        };
        rep.uniquifier = self.take_uniquifier();
        self.share_or_end(rep, ItemType::FileRep)
    }

    /// Begins an item and writes a delta that was computed ahead into it. The item stays open.
    pub(super) fn write_ahead(
        &mut self,
        delta: &DeltaAhead,
        text: &mut dyn Read,
        (md5, sha1): (Md5, Sha1),
    ) -> Result<Representation> {
        self.proto.begin();
        let mut bytes = Vec::with_capacity(usize::try_from(delta.len).unwrap_or_default());
        let read = text.read_to_end(&mut bytes).map_err(sapwood_core::SvnError::from_stream);
        let write = read.map_err(Error::Svn).and_then(|_| {
            if u64::try_from(bytes.len()) != Ok(delta.len) {
                return Err(Error::Corrupt("A text changed while it was read".into()));
            }
            self.proto.append_with(|out| header(delta.base).write(out))?;
            let start = self.proto.len();
            self.proto.append(&delta.svndiff)?;
            self.show_large()?;
            Ok(start)
        });
        let start = write.inspect_err(|_| {
            // A text that failed half way leaves no trace. The first error counts.
            let _ = self.proto.take_back();
        })?;
        self.keep_text(bytes);
        self.open_base = delta.base;
        Ok(Representation {
            location: RepLocation::ProtoRev { item: 0 },
            size: self.proto.len().minus(start),
            expanded_size: delta.len,
            md5,
            sha1: Some(sha1),
            uniquifier: None,
        })
    }

    /// Begins an item and writes a text as a delta to `base` into it. The item stays open.
    pub(super) fn write_delta(
        &mut self,
        base: Option<Representation>,
        text: &mut dyn Read,
        hashes: Hashes,
    ) -> Result<Representation> {
        self.proto.begin();
        match self.write_delta_data(base, text, hashes) {
            Ok(rep) => Ok(rep),
            Err(error) => {
                // A text that failed half way leaves no trace. The first error counts.
                let _ = self.proto.take_back();
                Err(error)
            }
        }
    }

    fn write_delta_data(
        &mut self,
        base: Option<Representation>,
        text: &mut dyn Read,
        hashes: Hashes,
    ) -> Result<Representation> {
        let source = RepReader::new(&self.writer.fs, base);
        self.proto.append_with(|out| header(base).write(out))?;
        let start = self.proto.len();
        // A directory's text at hand is kept by its writer.
        let keep = self.fresh.bytes < FRESH_LEN && !matches!(hashes, Hashes::Md5);
        let mut target = HashedText::new(text, hashes, keep.then_some(WINDOW));
        let mut encoder = self.writer.encoder();
        let mut delta = ComputedDelta::new(source, &mut target);
        while let Some(window) = delta.next_view()? {
            self.proto.append_with(|out| encoder.encode(window, out))?;
            self.show_large()?;
        }
        self.proto.append_with(|out| encoder.finish(out))?;
        drop(delta);
        let TextRead { len, md5, sha1, text } = target.finish();
        self.open_text = text.filter(|_| len > 0);
        self.open_base = base;
        Ok(Representation {
            location: RepLocation::ProtoRev { item: 0 },
            size: self.proto.len().minus(start),
            expanded_size: len,
            md5,
            sha1,
            uniquifier: None,
        })
    }

    /// Keeps the text of the open item for the cache, unless it is too long.
    pub(super) fn keep_text(&mut self, text: Vec<u8>) {
        let keep = !text.is_empty() && text.len() <= WINDOW && self.fresh.bytes < FRESH_LEN;
        self.open_text = keep.then_some(text);
    }

    /// Begins an item and writes a text as it is into it. The item stays open.
    pub(super) fn write_plain(&mut self, text: &[u8], with_sha1: bool) -> Result<Representation> {
        (self.open_text, self.open_base) = (None, None);
        self.proto.begin();
        self.proto.append_with(|out| {
            RepHeader::Plain.write(out);
            out.extend_from_slice(text);
        })?;
        let size = len64(text.len());
        Ok(Representation {
            location: RepLocation::ProtoRev { item: 0 },
            size,
            expanded_size: size,
            md5: Md5::of(text),
            sha1: with_sha1.then(|| Sha1::of(text)),
            uniquifier: None,
        })
    }

    /// Ends the open item, which `rep` describes; or takes it back when there is an equal text.
    pub(super) fn share_or_end(
        &mut self,
        rep: Representation,
        item_type: ItemType,
    ) -> Result<Representation> {
        if let Some(shared) = self.equal_rep(&rep)? {
            self.proto.take_back()?;
            // The place is the old text's; the rest says that this is another use of it.
            return Ok(Representation {
                location: shared.location,
                size: shared.size,
                sha1: rep.sha1,
                ..rep
            });
        }
        let rep = self.end_rep(rep, item_type)?;
        if self.writer.config.rep_sharing
            && let Some(sha1) = rep.sha1
        {
            self.shared.insert(sha1, rep);
        }
        Ok(rep)
    }

    /// Ends the open item, which `rep` describes.
    pub(super) fn end_rep(
        &mut self,
        mut rep: Representation,
        item_type: ItemType,
    ) -> Result<Representation> {
        self.proto.append(ENDREP)?;
        let item = self.proto.end(item_type)?;
        rep.location = RepLocation::ProtoRev { item };
        if let Some(text) = self.open_text.take() {
            self.fresh.bytes = self.fresh.bytes.plus(text.len());
            self.fresh.texts.push((item, text.into_boxed_slice(), rep.md5));
        }
        if self.fresh.chains.len() < FRESH_CHAINS {
            let base = match self.open_base.take().map(|base| (base, base.location)) {
                Some((base, RepLocation::Rev { revision, .. })) => {
                    Some((self.writer.chain_length(&base)?, revision))
                }
                _ => None,
            };
            self.fresh.chains.push((item, base));
        }
        Ok(rep)
    }

    /// Puts what was written into the caches, as `revision`.
    pub(super) fn share_fresh(&mut self, revision: Revnum) {
        let fresh = std::mem::take(&mut self.fresh);
        let fs = &self.writer.fs.fs;
        for (item, bytes, md5) in fresh.texts {
            let text = Text { bytes, verified: OnceLock::from(md5) };
            let key = cache_kinds::item(&TEXT, fs.id, revision, item);
            fs.caches.put(key, text);
        }
        for (item, base) in fresh.chains {
            let chain = match base {
                None => (1, 1),
                Some(((length, shards), base)) => {
                    let shard = |revision| self.writer.shard_of(revision);
                    let more = u32::from(shard(base) != shard(revision));
                    (length.saturating_add(1), shards.saturating_add(more))
                }
            };
            self.writer.common.ancestry.add_chain(revision, item, chain);
        }
    }

    /// A representation of an equal text, in this transaction or before.
    fn equal_rep(&mut self, rep: &Representation) -> Result<Option<Representation>> {
        let Some(sha1) = rep.sha1.filter(|_| self.writer.config.rep_sharing) else {
            return Ok(None);
        };
        // Equal lengths and both checksums: texts that differ all the same cannot be made.
        let equal =
            |old: &&Representation| old.md5 == rep.md5 && old.expanded_size == rep.expanded_size;
        if let Some(found) = self.shared.get(&sha1) {
            return Ok(Some(found).filter(equal).copied());
        }
        let found = self.writer.find_rep(rep)?;
        if let Some(found) = found {
            self.shared.insert(sha1, found);
        }
        Ok(found)
    }

    /// What to store a text of `node`, which is a node-revision of this transaction, as a delta
    /// to: `None` for nothing.
    pub(super) fn delta_base(&self, node: &NodeRev, part: Part) -> Result<Option<Representation>> {
        self.writer.delta_base(node, part, self.tree.base)
    }

    /// The present text of a file, to be read from the start.
    pub(super) fn text_reader(&mut self, rep: Option<Representation>) -> Result<Box<dyn Read>> {
        let Some(RepLocation::ProtoRev { item }) = rep.map(|r| r.location) else {
            return Ok(Box::new(RepReader::new(&self.writer.fs, rep)));
        };
        let (Some(rep), Some(offset)) = (rep, self.proto.offset_of(item)) else {
            return Err(Error::Corrupt(format!("Item index {item} is not in the transaction")));
        };
        let line = self.proto.read_at(offset, limits::REP_HEADER_LEN)?;
        let (header, len) = RepHeader::parse(&line).map_err(|e| Error::Svn(e.into()))?;
        let start = offset.saturating_add(len64(len));
        let svndiff = self.proto.reader(start, rep.size)?;
        let source = match header {
            RepHeader::Plain => return Ok(Box::new(svndiff)),
            RepHeader::SelfDelta => None,
            // How long it is, its own data say.
            RepHeader::Delta { revision, item, length } => Some(Representation {
                location: RepLocation::Rev { revision, item },
                size: length,
                expanded_size: u64::MAX,
                ..Representation::in_txn_file()
            }),
        };
        let source = RepReader::new(&self.writer.fs, source);
        Ok(Box::new(ApplyReader::new(StoredDelta::new(svndiff), source)))
    }
}

impl Writer {
    /// What to store a text of `node`, a node-revision of a transaction based on `youngest`, as a
    /// delta to: `None` for nothing.
    ///
    /// Skip deltas: the number of predecessors with its lowest 1 bit cleared is how many
    /// predecessors the base has, so that a chain is as long as that number has 1 bits; but the
    /// last few steps go back one at a time, which makes smaller deltas.
    pub(super) fn delta_base(
        &self,
        node: &NodeRev,
        part: Part,
        youngest: Revnum,
    ) -> Result<Option<Representation>> {
        let config = &self.config;
        let total = node.predecessor_count;
        if total == 0 {
            return Ok(None);
        }
        let wanted = total & total.wrapping_sub(1);
        let walk = total.saturating_sub(wanted);
        if walk > config.max_deltification_walk {
            return Ok(None);
        }
        // The last step back first: most are no longer.
        let last = self.predecessor_id(node, node)?;
        let mut base = Ancestor { id: node.id, crossings: 0 };
        self.step(&mut base, last, youngest);
        if walk > 1 {
            self.walk_back(&mut base, walk.saturating_sub(1), node, youngest)?;
            // The steps must not open more shards than the skips would.
            if walk < config.max_linear_deltification
                && 1u64.checked_shl(base.crossings).is_some_and(|n| n <= walk)
            {
                base.id = last;
            }
        }
        let Some(rep) = part.of(&*self.fs.fs.node(&base.id)?) else { return Ok(None) };
        if rep.expanded_size < SHORTEST_BASE {
            return Ok(None);
        }
        // A shared representation has another chain than its node has predecessors.
        let (length, shards) = self.chain_length(&rep)?;
        let limit = config.max_linear_deltification.saturating_mul(2).saturating_add(2);
        let too_far =
            shards > 1 && 128u64.checked_shl(shards).is_none_or(|n| n >= rep.expanded_size);
        Ok(if length >= limit || too_far { None } else { Some(rep) })
    }

    /// What encodes deltas as `fsfs.conf` wants them.
    fn encoder(&self) -> Encoder {
        let level = u8::try_from(self.config.compression_level).unwrap_or(5);
        Encoder::new(self.config.svndiff, level)
    }

    /// How a text would be stored as that of `next`, which would follow in a revision after `youngest`; or as
    /// that of a new file.
    pub(crate) fn delta_of_next(
        &self,
        next: Option<(&NodeRev, Revnum)>,
        text: &[u8],
    ) -> Result<DeltaAhead> {
        let base = match next {
            Some((next, youngest)) => self.delta_base(next, Part::Text, youngest)?,
            None => None,
        };
        let (mut svndiff, mut encoder) = (Vec::new(), self.encoder());
        let mut delta = ComputedDelta::new(RepReader::new(&self.fs, base), text);
        while let Some(window) = delta.next_view()? {
            encoder.encode(window, &mut svndiff);
        }
        encoder.finish(&mut svndiff);
        let len = len64(text.len());
        Ok(DeltaAhead { base, svndiff, len })
    }

    pub(super) fn shard_of(&self, revision: Revnum) -> u64 {
        // In the linear layout every revision has a file of its own.
        self.fs.fs.layout.shard(revision).unwrap_or(revision.0)
    }

    /// The predecessor of one of the revisions of `node`.
    pub(super) fn predecessor_id(&self, of: &NodeRev, node: &NodeRev) -> Result<NodeRevId> {
        of.predecessor.ok_or_else(|| {
            Error::Corrupt(format!(
                "Node-revision '{}' has fewer predecessors than it says",
                node.id
            ))
        })
    }

    /// How many representations have to be read for `rep`, and in how many shards they are.
    ///
    /// A chain never changes, and the next revision's begins with this one: so the writer keeps
    /// what it has found out.
    fn chain_length(&self, rep: &Representation) -> Result<(u64, u32)> {
        let RepLocation::Rev { mut revision, mut item } = rep.location else { return Ok((0, 1)) };
        let first = (revision, item);
        let known = &self.common.ancestry;
        // Shards along the way here; those of the rest of the chain come to it.
        let (mut length, mut shards) = (0u64, 0u32);
        let mut last = None;
        let found = loop {
            if let Some((more, more_shards)) = known.chain(revision, item) {
                let same = last == Some(self.shard_of(revision));
                let more_shards = if same { more_shards.saturating_sub(1) } else { more_shards };
                break (length.saturating_add(more), shards.saturating_add(more_shards));
            }
            let shard = self.shard_of(revision);
            if last.replace(shard) != Some(shard) {
                shards += 1;
            }
            length += 1;
            match self.fs.fs.rep_start(revision, item)?.header {
                RepHeader::Delta { revision: base, item: base_item, .. }
                    if base != Revnum::ZERO && base <= revision =>
                {
                    (revision, item) = (base, base_item);
                }
                _ => break (length, shards),
            }
            if length > u64::from(u16::MAX) {
                return Err(Error::Corrupt("Delta chain of a representation has no end".into()));
            }
        };
        known.add_chain(first.0, first.1, found);
        Ok(found)
    }
}
