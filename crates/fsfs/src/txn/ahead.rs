//! Deltas of texts that are computed before it is their turn, on another thread.
//!
//! A thread that reads a stream of changes ahead can guess what the next text of a file will be stored
//! as a delta to: what it would be if that were the next commit. When it is the text's turn, the
//! guess is compared with the truth. If it was wrong, because the file changed in between, the
//! delta is computed again: a guess costs time, and never changes what is written.

use sapwood_core::Exact;
use std::io::Read;

use sapwood_core::{Md5, NodeKind, Revnum, Sha1};
use sapwood_delta::ComputedDelta;
use sapwood_delta::svndiff::Encoder;
use sapwood_fsfs_format::{NodeRev, RepHeader, RepLocation, Representation};

use super::deltify::{Part, RepReader};
use super::{Txn, Writer};
use crate::error::{Error, Result};
use crate::root::Root;

/// A delta that was computed ahead.
#[derive(Debug)]
pub struct DeltaAhead {
    base: Option<Representation>,
    svndiff: Vec<u8>,
    /// Bytes of the text.
    len: u64,
}

/// What is known of a text before it is written.
#[derive(Debug)]
pub struct KnownText {
    /// Its MD5.
    pub md5: Md5,
    /// Its SHA-1.
    pub sha1: Sha1,
    /// A guess how it will be stored.
    pub delta: Option<DeltaAhead>,
}

impl Writer {
    /// Guesses how `text` will be stored when it becomes the next text of the file at `path`, or
    /// of a new file. `None` when there is nothing to be guessed from.
    #[must_use]
    pub fn delta_ahead(&self, path: Option<&str>, text: &[u8]) -> Option<DeltaAhead> {
        self.try_delta_ahead(path, text).ok().flatten()
    }

    fn try_delta_ahead(&self, path: Option<&str>, text: &[u8]) -> Result<Option<DeltaAhead>> {
        let base = match path {
            None => None,
            Some(path) => {
                // An older one is a worse guess, no harm; looking each time would cost more.
                let youngest = self.fs.fs.youngest_known();
                let root = Root::of_revision(&self.fs, youngest)?;
                let Some(node) = root.find(path)?.filter(|node| node.kind() == NodeKind::File)
                else {
                    return Ok(None);
                };
                let mut next = NodeRev::clone(&node.rev);
                next.predecessor = Some(node.rev.id);
                next.predecessor_count = node.rev.predecessor_count.saturating_add(1);
                self.delta_base(&next, Part::Text, youngest)?
            }
        };
        let (mut svndiff, mut encoder) = (Vec::new(), self.encoder());
        let mut delta = ComputedDelta::new(RepReader::new(&self.fs, base), text);
        while let Some(window) = delta.next_view()? {
            encoder.encode(window, &mut svndiff);
        }
        encoder.finish(&mut svndiff);
        let len = u64::try_from(text.len()).unwrap_or(u64::MAX);
        Ok(Some(DeltaAhead { base, svndiff, len }))
    }

    /// What encodes deltas as `fsfs.conf` wants them.
    pub(super) fn encoder(&self) -> Encoder {
        let level = u8::try_from(self.config.compression_level).unwrap_or(5);
        Encoder::new(self.config.svndiff, level)
    }
}

/// How a representation that is a delta to `base` begins.
pub(super) fn header(base: Option<Representation>) -> RepHeader {
    match base.map(|rep| (rep.location, rep.size)) {
        Some((RepLocation::Rev { revision, item }, length)) => {
            RepHeader::Delta { revision, item, length }
        }
        _ => RepHeader::SelfDelta,
    }
}

/// The place and length of a base: what a delta to it depends on.
fn place(base: Option<&Representation>) -> Option<(Revnum, u64, u64)> {
    match base.map(|rep| (rep.location, rep.size)) {
        Some((RepLocation::Rev { revision, item }, size)) => Some((revision, item, size)),
        _ => None,
    }
}

impl DeltaAhead {
    /// Whether it is a delta to `base`.
    pub(super) fn is_to(&self, base: Option<&Representation>) -> bool {
        place(self.base.as_ref()) == place(base)
    }
}

impl Txn {
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
}
