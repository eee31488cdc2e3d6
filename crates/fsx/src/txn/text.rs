//! Writing representations: choosing what to store a text as a delta to, writing it, and sharing it with an equal one.
//!
//! The base is the text before, unless that makes the chain of deltas too long: as 1.14 does it in FSX, where skip deltas
//! are planned and not made.

use std::io::{self, Read};

use sapwood_core::{Exact, Md5, Revnum, Sha1, len64};
use sapwood_delta::svndiff::Encoder;
use sapwood_delta::{ApplyReader, ComputedDelta, StoredDelta, Version};
use sapwood_fs_common::hashed_text::{HashedText, Hashes, TextRead};
use sapwood_fsx_format::p2l::ItemType;
use sapwood_fsx_format::{ChangeSet, Id, NodeRev, RepHeader, Representation, rep};

use super::{Txn, Writer};
use crate::cached::KeptText;
use crate::error::{Error, Result};
use crate::items::KEPT_TEXT;

/// A base shorter than this saves less than the delta's own header takes.
const SHORTEST_BASE: u64 = 64;
/// The longest first line of a representation.
const HEADER: usize = 128;
/// The longest chain that is followed.
const CHAIN: u64 = 4096;
/// Bytes of the texts that are kept of one transaction.
const KEPT_TEXTS: usize = 4 << 20;

/// MD5 and SHA-1 of a text that were computed before.
pub(super) type Digests = (Md5, Sha1);

/// New texts by the numbers of their items.
#[derive(Debug, Default)]
pub(super) struct Texts {
    all: Vec<(u64, KeptText)>,
    /// Bytes of them.
    len: usize,
}

impl Texts {
    fn add(&mut self, number: u64, md5: Md5, text: Option<Vec<u8>>) {
        let Some(mut text) = text else { return };
        if self.len.plus(text.len()) <= KEPT_TEXTS {
            self.len = self.len.plus(text.len());
            text.shrink_to_fit();
            self.all.push((number, KeptText { md5, text }));
        }
    }
}

/// Chains whose lengths are kept.
const KEPT: usize = 1 << 15;

/// Which text of a node a representation holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// File contents, or a directory's entries.
    Text,
    /// Properties.
    Props,
}

/// The chain of a new representation.
#[derive(Clone, Copy, Debug)]
pub(super) struct NewChain {
    /// The item number of the representation.
    number: u64,
    /// How many representations have to be read for it.
    length: u64,
    /// In how many shards those of its base are.
    shards: u32,
    /// The revision of its base.
    base: Option<Revnum>,
}

impl Part {
    const fn of(self, node: &NodeRev) -> Option<Representation> {
        match self {
            Self::Text => node.text,
            Self::Props => node.props,
        }
    }
}

impl Txn {
    /// Writes the contents of a file of the transaction to the prototype, or finds them there or in the repository.
    pub(super) fn write_text(
        &mut self,
        at: usize,
        text: &mut dyn Read,
        known: Option<Digests>,
    ) -> Result<Representation> {
        let node = self.tree.txn_node(at)?.node.rev.clone();
        self.write_known_rep(&node, Part::Text, text, ItemType::FileRep, known)
    }

    /// Writes a text of a node as an item of a kind, or finds an equal one.
    pub(super) fn write_rep(
        &mut self,
        node: &NodeRev,
        part: Part,
        text: &mut dyn Read,
        kind: ItemType,
    ) -> Result<Representation> {
        self.write_known_rep(node, part, text, kind, None)
    }

    fn write_known_rep(
        &mut self,
        node: &NodeRev,
        part: Part,
        text: &mut dyn Read,
        kind: ItemType,
        known: Option<Digests>,
    ) -> Result<Representation> {
        let base = self.writer.delta_base(node, part)?;
        let with_sha1 = kind != ItemType::DirRep;
        self.proto.begin();
        let written = self.write_delta(base, text, with_sha1, known);
        let written = written.and_then(|(rep, kept)| Ok((self.equal_rep(&rep)?, rep, kept)));
        match written {
            Ok((None, rep, kept)) => {
                let rep = self.end_rep(rep, base, kind)?;
                self.texts.add(rep.id.number, rep.md5, kept);
                Ok(rep)
            }
            // An equal text is there, or this one failed half way and leaves no trace. The first error counts.
            Ok((Some(equal), rep, _)) => {
                self.proto.take_back()?;
                Ok(Representation { md5: rep.md5, sha1: rep.sha1, ..equal })
            }
            Err(error) => {
                let _ = self.proto.take_back();
                Err(error)
            }
        }
    }

    fn write_delta(
        &mut self,
        base: Option<Representation>,
        text: &mut dyn Read,
        with_sha1: bool,
        known: Option<Digests>,
    ) -> Result<(Representation, Option<Vec<u8>>)> {
        let source = self.writer.fs.contents(base)?;
        let header = header(base)?;
        self.proto.append(header.to_string().as_bytes())?;
        let start = self.proto.len();
        let hashes = match known {
            Some(known) => Hashes::Known(known),
            None if with_sha1 => Hashes::Both,
            None => Hashes::Md5,
        };
        let mut target = HashedText::new(text, hashes, Some(KEPT_TEXT));
        let mut encoder = Encoder::new(Version::V1, self.writer.config.compression_level);
        let mut delta = ComputedDelta::new(source, &mut target);
        while let Some(window) = delta.next_view()? {
            self.proto.append_with(|out| encoder.encode(window, out))?;
            self.show_large()?;
        }
        self.proto.append_with(|out| encoder.finish(out))?;
        drop(delta);
        let TextRead { len, md5, sha1, text } = target.finish();
        let rep = Representation {
            id: self.tree.txn().id(0),
            size: self.proto.len().minus(start),
            expanded_size: len,
            md5,
            sha1,
        };
        Ok((rep, text))
    }

    /// Keeps the short texts of the new revision, for those that are deltas to them.
    pub(super) fn keep_texts(&mut self, revision: Revnum) {
        for (number, text) in std::mem::take(&mut self.texts).all {
            let id = Id { change_set: ChangeSet::Revision(revision), number };
            self.writer.fs.0.cached.keep_text(id, text);
        }
    }

    /// Ends the open item, which `rep` describes.
    fn end_rep(
        &mut self,
        mut rep: Representation,
        base: Option<Representation>,
        kind: ItemType,
    ) -> Result<Representation> {
        self.proto.append(rep::END)?;
        rep.id.number = self.tree.ids.take_item();
        self.proto.end(kind, rep.id.number)?;
        let (length, shards) = match base {
            Some(base) => self.writer.chain_length(base.id)?,
            None => (0, 0),
        };
        let base = base.and_then(|base| base.id.change_set.revision());
        self.chains.push(NewChain { number: rep.id.number, length: length.plus(1), shards, base });
        if self.writer.config.rep_sharing
            && let Some(sha1) = rep.sha1
        {
            self.shared.insert(sha1, rep);
        }
        Ok(rep)
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

    /// The present text of a file, to be read from the start.
    pub(super) fn text_reader(&mut self, rep: Option<Representation>) -> Result<Box<dyn Read>> {
        let Some(rep) = rep.filter(|rep| rep.id.change_set.revision().is_none()) else {
            return Ok(Box::new(self.writer.fs.contents(rep)?));
        };
        let missing = || {
            let number = rep.id.number;
            Error::Corrupt(format!("Item index {number} is not in the transaction"))
        };
        let offset = self.proto.index.offset_of(rep.id.number).ok_or_else(missing)?;
        let line = self.proto.read_at(offset, HEADER)?;
        let (header, len) = RepHeader::parse(&line)?;
        let svndiff = self.proto.reader(offset.plus(len64(len)), rep.size)?;
        let source: Box<dyn Read> = match header.base {
            None => Box::new(io::empty()),
            Some((revision, number, size)) => {
                let id = Id { change_set: ChangeSet::Revision(revision), number };
                // How long it is, its own data say; what it must be, the end of the chain.
                let base = Representation {
                    id,
                    size,
                    expanded_size: u64::MAX,
                    md5: Md5([0; 16]),
                    sha1: None::<Sha1>,
                };
                self.writer.fs.0.while_packed(|| self.writer.fs.chain(&base))?
            }
        };
        Ok(Box::new(ApplyReader::new(StoredDelta::new(svndiff), source)))
    }
}

/// The first line of a delta to a base.
fn header(base: Option<Representation>) -> Result<RepHeader> {
    let Some(base) = base else { return Ok(RepHeader { base: None }) };
    let revision = base.id.change_set.revision();
    let revision = revision.ok_or_else(|| Error::internal("a base is in a transaction"))?;
    Ok(RepHeader { base: Some((revision, base.id.number, base.size)) })
}

impl Writer {
    /// What to store a text of `node`, a node-revision of a transaction, as a delta to: `None` for nothing.
    fn delta_base(&self, node: &NodeRev, part: Part) -> Result<Option<Representation>> {
        let total = node.predecessor_count;
        let Some(before) = node.predecessor.filter(|_| total > 0) else { return Ok(None) };
        let skip = total.minus(total & total.wrapping_sub(1));
        if skip > self.config.max_deltification_walk {
            return Ok(None);
        }
        let before = self.committed.node(&before)?;
        let Some(rep) = part.of(&before.rev) else { return Ok(None) };
        if rep.expanded_size < SHORTEST_BASE {
            return Ok(None);
        }
        let (length, shards) = self.chain_length(rep.id)?;
        let limit = self.config.max_linear_deltification.saturating_mul(2).saturating_add(2);
        let too_far =
            shards > 1 && 128u64.checked_shl(shards).is_none_or(|n| n >= rep.expanded_size);
        Ok(if length >= limit || too_far { None } else { Some(rep) })
    }

    /// How many representations have to be read for one, and in how many shards they are.
    ///
    /// A chain never changes, and the next one begins with this: so what was found out is kept.
    fn chain_length(&self, first: Id) -> Result<(u64, u32)> {
        let (mut length, mut shards) = (0u64, 0u32);
        let (mut id, mut last) = (first, None);
        let found = loop {
            let revision = id.change_set.revision();
            let revision = revision.ok_or_else(|| Error::internal("a base is in a transaction"))?;
            let shard = self.shard_of(revision);
            if let Some((more, more_shards)) = self.chains.lock().get(&id).copied() {
                let same = u32::from(last == Some(shard));
                break (length.plus(more), shards.plus(more_shards.saturating_sub(same)));
            }
            if last.replace(shard) != Some(shard) {
                shards = shards.plus(1);
            }
            length = length.plus(1);
            match self.fs.0.while_packed(|| self.fs.rep_header(id))?.and_then(|h| h.base) {
                Some((base, number, _)) => {
                    id = Id { change_set: ChangeSet::Revision(base), number };
                }
                None => break (length, shards),
            }
            if length > CHAIN {
                return Err(Error::Corrupt(format!("The deltas of '{first}' have no end")));
            }
        };
        self.keep_chain(first, found);
        Ok(found)
    }

    fn keep_chain(&self, id: Id, chain: (u64, u32)) {
        let mut chains = self.chains.lock();
        if chains.len() >= KEPT {
            chains.clear();
        }
        chains.insert(id, chain);
    }

    /// Keeps how long the chains of the representations of a new revision are.
    pub(super) fn keep_chains(&self, revision: Revnum, chains: &[NewChain]) {
        for NewChain { number, length, shards, base } in chains {
            let id = Id { change_set: ChangeSet::Revision(revision), number: *number };
            let is_same = base.is_some_and(|base| self.shard_of(base) == self.shard_of(revision));
            self.keep_chain(id, (*length, shards.plus(u32::from(!is_same))));
        }
    }
}
