//! Read plans: a request that knows its next nodes announces them, and the system reads
//! their parts while the request still handles others.
//!
//! Nothing is read here that the request would not read itself, and no thread is started: files
//! are opened, and the system gets hints which parts of them are wanted ([`StoredFile::will_need`](sapwood_store::StoredFile::will_need)).
//! Where one thing must be read to know the next (a node-revision names its text, a text its
//! base), all nodes of a batch take the step together, so that one wait serves all of them. A
//! request that finds everything in the caches does none of this: see [`ColdReads::is_cold`].

use sapwood_core::Exact;
use sapwood_core::{NodeKind, Revnum};
use sapwood_fsfs_format::{NodeRevId, RepHeader, RepLocation, Representation};
use sapwood_store::Kind;

use crate::cache_kinds::{self, DIRECTORY, ENCODED, NODE_REV, PROPS, TEXT};
use crate::error::Result;
use crate::filesystem::{Filesystem, Fs};
use crate::log_blocks::LogNeeds;
use crate::rep::header::REP_START;
use crate::revprops_snapshot::RevpropsSnapshot;

/// So many nodes make a good batch.
pub const BATCH: usize = 32;
/// How many batches without a read a request stays cold.
const LINGER: u32 = 2;
/// How many steps of delta chains are taken together.
const ROUNDS: u32 = 64;
/// The most bytes of one text that are requested ahead.
const MOST: u64 = 1 << 20;

/// Whether a request has to read.
#[derive(Clone, Debug)]
pub struct ColdReads {
    fs: Filesystem,
    /// The request's count of reads at the last check.
    reads: u64,
    cold: u32,
}

impl ColdReads {
    /// To be made at the start of a request, of the opening that it reads by.
    #[must_use]
    pub fn new(fs: &Filesystem) -> Self {
        Self { fs: fs.clone(), reads: fs.fs.work.reads(), cold: 0 }
    }

    /// Whether the request had to read files since the last batches. To be called once for each batch.
    pub fn is_cold(&mut self) -> bool {
        let reads = self.fs.fs.work.reads();
        if reads == self.reads {
            self.cold = self.cold.saturating_sub(1);
        } else {
            self.reads = reads;
            self.cold = LINGER;
        }
        self.cold > 0
    }

    /// The last result of [`ColdReads::is_cold`].
    #[must_use]
    pub const fn was_cold(&self) -> bool {
        self.cold > 0
    }
}

/// Whether a walk finds anything that was not in the caches: two that walk the same tree from
/// both ends know by it that they have met.
#[derive(Debug)]
pub struct Novelty {
    fs: Filesystem,
    made: u64,
    known: u32,
}

impl Novelty {
    /// To be made of the opening that the walk has to itself.
    #[must_use]
    pub fn new(fs: &Filesystem) -> Self {
        Self { fs: fs.clone(), made: fs.fs.work.count(), known: 0 }
    }

    /// After each node: how many nodes without a break were in the caches already.
    pub fn known_in_a_row(&mut self) -> u32 {
        let made = self.fs.fs.work.count();
        self.known = if made == self.made { self.known.plus(1) } else { 0 };
        self.made = made;
        self.known
    }
}

/// What a request will ask of nodes, beside the node-revisions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NodesWanted {
    /// Texts of files.
    pub texts: bool,
    /// Entries of directories.
    pub entries: bool,
    /// Properties.
    pub props: bool,
}

impl Filesystem {
    /// How many bytes the caches hold at most.
    #[must_use]
    pub fn cache_capacity(&self) -> u64 {
        self.fs.caches.capacity()
    }

    /// Says that the request will ask for these nodes soon, and with `revprops` for the properties
    /// of the revisions that made them. A hint, which never fails: errors show when the
    /// request comes to it.
    pub fn will_need_nodes(
        &self,
        ids: &[NodeRevId],
        wanted: NodesWanted,
        revprops: Option<&mut RevpropsSnapshot>,
    ) {
        for (revision, item) in ids.iter().filter_map(place) {
            if !self.fs.is_cached(&NODE_REV, revision, item) {
                let _ = self.fs.will_need_item(revision, item, 0);
            }
        }
        if let Some(revprops) = revprops {
            for id in ids {
                if let Some(revision) = id.revision() {
                    revprops.will_need_date_author(revision);
                }
            }
        }
        if wanted != NodesWanted::default() {
            let _ = self.fs.will_need_chains(ids, wanted);
        }
    }

    /// Says that the request will come to a revision soon. A hint, which never fails.
    pub fn will_need_revision(
        &self,
        revision: Revnum,
        wanted: LogNeeds,
        revprops: &mut RevpropsSnapshot,
    ) {
        if wanted.changes && revision > Revnum::ZERO {
            self.fs.will_need_changes(revision);
        }
        if wanted.revprops {
            revprops.will_need(revision);
        }
    }
}

/// Where a node-revision of a revision is.
fn place(id: &NodeRevId) -> Option<(Revnum, u64)> {
    id.revision().zip(id.item())
}

impl Fs {
    fn is_cached<T: Send + Sync + 'static>(
        &self,
        kind: &Kind<T>,
        revision: Revnum,
        item: u64,
    ) -> bool {
        self.caches.get(cache_kinds::item(kind, self.id, revision, item)).is_some()
    }

    /// Hints to the system that an item of about `len` bytes is needed.
    fn will_need_item(&self, revision: Revnum, item: u64, len: u64) -> Result<()> {
        let file = self.rev_file(revision);
        // A file of one revision is nearly always one block, and indexes are in it too.
        let at = if file.key.packed { self.item_offset(&file, revision, item)? } else { 0 };
        let end = at.saturating_add(len.min(MOST));
        self.will_need_blocks(&file, self.block_of(at), self.block_of(end));
        Ok(())
    }

    /// Follows the parts of the nodes, step by step for all of them together.
    fn will_need_chains(&self, ids: &[NodeRevId], wanted: NodesWanted) -> Result<()> {
        let mut places = Vec::new();
        for id in ids {
            let node = self.node(id)?;
            if wanted.props
                && let Some(rep) = &node.props
            {
                places.extend(self.wanted_text(&PROPS, rep));
            }
            let Some(rep) = &node.text else { continue };
            match node.kind {
                NodeKind::Dir if wanted.entries => places.extend(self.wanted_text(&DIRECTORY, rep)),
                NodeKind::File if wanted.texts => places.extend(self.wanted_text(&ENCODED, rep)),
                _ => {}
            }
        }
        for _ in 0..ROUNDS {
            places.sort_unstable();
            places.dedup_by_key(|(revision, item, _)| (*revision, *item));
            for (revision, item, len) in &places {
                self.will_need_item(*revision, *item, *len)?;
            }
            let mut bases = Vec::new();
            for (revision, item, _) in &places {
                if let RepHeader::Delta { revision, item, length } =
                    self.rep_start(*revision, *item)?.header
                    && !self.is_cached(&REP_START, revision, item)
                    && !self.is_cached(&TEXT, revision, item)
                {
                    bases.push((revision, item, length));
                }
            }
            if bases.is_empty() {
                break;
            }
            places = bases;
        }
        Ok(())
    }

    /// Where a representation is, unless what is made of it is cached as a value of this kind.
    fn wanted_text<T: Send + Sync + 'static>(
        &self,
        kind: &Kind<T>,
        rep: &Representation,
    ) -> Option<(Revnum, u64, u64)> {
        let RepLocation::Rev { revision, item } = rep.location else { return None };
        let known = self.is_cached(kind, revision, item) || self.is_cached(&TEXT, revision, item);
        (!known).then_some((revision, item, rep.size))
    }
}
