//! Reading ahead: what a request will need is read into the caches beforehand. One entry for each kind of thing:
//!
//! | what comes next | entry | threads | when |
//! |---|---|---|---|
//! | a range of revisions: changed paths, properties, encoded log entries | [`Filesystem::prefetch_revisions`](crate::Filesystem::prefetch_revisions) | up to two | the request had to read files |
//! | nodes of a tree, revisions out of order | [`Filesystem::will_need_nodes`](crate::Filesystem::will_need_nodes), [`Filesystem::will_need_revision`](crate::Filesystem::will_need_revision) | none: the system gets hints | the same, as [`ColdReads`] says |
//! | a tree that the caller walks itself from its other end | [`Helper`](sapwood_store::Helper) with [`Filesystem::for_helper`](crate::Filesystem::for_helper), and [`Novelty`] to know where both meet | one | a permit is free |
//! | texts of a stream that is loaded: what they will be stored as deltas to | [`Writer::delta_ahead`](crate::txn::Writer::delta_ahead) | the caller's | `svnadmin load` |
//!
//! ```text
//!    log       list, checkout,         list -R, log of        svnadmin load
//!    ranges    blame, merged logs      paths, export
//!      |            |                       |                      |
//!   ranges        trees  <------------   helper                  texts
//!      |  \         |                       |                      |
//!      |   \        |     a ReaderPermit (store)      txn: delta bases
//!      |    \       |                       |
//!      |     unpacked_files: whole files of single revisions
//!      |            |                       |
//!   revision_store: open, open_near; StoredFile: read_now, will_need
//!      |
//!   Caches: from which the request takes what was read
//! ```
//!
//! All of it is hints. An error is left to the request, which gets it again; what is read goes to the caches and
//! nowhere else, so that the result of a request is the same with and without it. A request that finds everything in the
//! caches starts no thread: it compares a counter of its own reads.
//!
//! Locks: `ranges` has the only one, the state of a team, which is held for counting and waiting alone. Nothing is
//! read, no cache is used and no other lock is taken while it is held. Threads end, and are joined, when the
//! value that stands for them is dropped; a thread never holds a lock of the filesystem then, for it takes
//! only those of reading (a shard's properties, `current_file`, `unpublished`, the caches' own), one at a time.
//!
//! Not here: work that is shared out and must be done anyway, whose results are wanted in order (`dump`, `verify`:
//! `ordered` in the crate `store`), and the stages of `svnadmin load`.

mod ranges;
mod texts;
mod trees;

pub use self::ranges::Prefetch;
pub use self::trees::{BATCH, ColdReads, NodesWanted, Novelty};
pub use crate::log_blocks::LogNeeds;
