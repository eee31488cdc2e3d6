//! What is about to be read: hints that may do nothing, one entry for each kind of thing. The module of the
//! same name in `fsfs` has the table, the diagram and the order of locks. Other engines ignore them.

use std::sync::atomic::AtomicBool;

use sapwood_core::Revnum;
use sapwood_fsfs::read_ahead as fsfs;
pub use sapwood_fsfs::read_ahead::{BATCH, LogNeeds, NodesWanted};

use crate::SpanEncoder;
use crate::backend::Backend;
use crate::directory::{NodeId, own_ids};
use crate::filesystem::Filesystem;
use crate::of::{both, each};
use crate::revprops::RevpropsSnapshot;

/// Whether a request has to read.
#[derive(Clone, Debug)]
pub struct ColdReads(Option<fsfs::ColdReads>);

impl ColdReads {
    /// To be made at the start of a request, of the opening that it reads by.
    #[must_use]
    pub fn new(fs: &Filesystem) -> Self {
        Self(each!(&fs.0, fs => Backend::cold_reads(fs)))
    }

    /// Whether the request had to read files since the last batches. To be called once for each batch.
    pub fn is_cold(&mut self) -> bool {
        self.0.as_mut().is_some_and(fsfs::ColdReads::is_cold)
    }

    /// The last result of [`ColdReads::is_cold`].
    #[must_use]
    pub fn was_cold(&self) -> bool {
        self.0.as_ref().is_some_and(fsfs::ColdReads::was_cold)
    }
}

/// Whether a walk finds anything that was not in the caches: two that walk the same tree from
/// both ends know by it that they have met.
#[derive(Debug)]
pub struct Novelty(Option<fsfs::Novelty>);

impl Novelty {
    /// To be made of the opening that the walk has to itself.
    #[must_use]
    pub fn new(fs: &Filesystem) -> Self {
        Self(each!(&fs.0, fs => Backend::novelty(fs)))
    }

    /// After each node: how many nodes without a break were in the caches already.
    pub fn known_in_a_row(&mut self) -> u32 {
        self.0.as_mut().map_or(0, fsfs::Novelty::known_in_a_row)
    }
}

/// A second thread that brings what a request will need into the caches. It is stopped and joined when this is dropped: nothing is
/// read after the request.
#[derive(Debug)]
pub struct Helper(sapwood_store::Helper);

impl Helper {
    /// Starts `work`, which reads through its own handle of the filesystem, and often checks the flag that
    /// says that it is over. `None` when enough threads read for others.
    pub fn start<E: 'static>(
        fs: &Filesystem,
        name: &str,
        work: impl FnOnce(&Filesystem, &AtomicBool) -> Result<(), E> + Send + 'static,
    ) -> Option<Self> {
        let own = Filesystem(each!(&fs.0, fs, wrap => Backend::for_helper(fs).map(wrap))?);
        let work = move |over: &AtomicBool| work(&own, over);
        sapwood_store::Helper::start(fs.caches().0, name, work).map(Self)
    }

    /// Waits until the thread has done all that it can.
    pub fn finish(self) {
        self.0.finish();
    }
}

/// Reads ahead for one request, see [`Filesystem::prefetch_revisions`]. Ends when it is dropped.
#[derive(Debug)]
pub struct Prefetch(Option<fsfs::Prefetch>);

impl Prefetch {
    /// Says that the request now comes to its `n`-th revision, counted from 0.
    pub fn at(&mut self, n: u64) {
        if let Some(prefetch) = &mut self.0 {
            prefetch.at(n);
        }
    }
}

impl Filesystem {
    /// Announces that revisions `from` to `to` are about to be read, in this order, and what of them.
    /// The request reports its progress to the returned value, and holds it until it ends. A hint: it
    /// may read ahead, and never fails. With `encoder`, whole blocks of packed revisions may be left
    /// in the cache as [`EncodedEntries`](crate::EncodedEntries), in place of their parts.
    #[must_use]
    pub fn prefetch_revisions(
        &self,
        from: Revnum,
        to: Revnum,
        wanted: LogNeeds,
        encoder: Option<SpanEncoder>,
    ) -> Prefetch {
        Prefetch(each!(&self.0, fs => Backend::prefetch_revisions(fs, (from, to), wanted, encoder)))
    }

    /// How many bytes the caches hold at most.
    #[must_use]
    pub fn cache_capacity(&self) -> u64 {
        self.caches().0.capacity()
    }

    /// Says that the request will ask for these nodes soon, and with `revprops` for the properties
    /// of the revisions that made them. A hint, which never fails: errors show when the
    /// request comes to it.
    pub fn will_need_nodes(
        &self,
        ids: &[NodeId],
        wanted: NodesWanted,
        revprops: Option<&mut RevpropsSnapshot>,
    ) {
        match revprops {
            None => each!(&self.0, fs => {
                Backend::will_need_nodes(fs, &mut own_ids(fs, ids), wanted, None);
            }),
            Some(revprops) => both!(&self.0, &mut revprops.of, (fs, revprops) => {
                Backend::will_need_nodes(fs, &mut own_ids(fs, ids), wanted, Some(revprops));
            }, else ()),
        }
    }

    /// Says that the request will come to a revision soon. A hint, which never fails.
    pub fn will_need_revision(
        &self,
        revision: Revnum,
        wanted: LogNeeds,
        revprops: &mut RevpropsSnapshot,
    ) {
        both!(&self.0, &mut revprops.of, (fs, revprops) => {
            Backend::will_need_revision(fs, revision, wanted, revprops);
        }, else ());
    }
}
