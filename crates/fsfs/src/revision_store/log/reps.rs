//! Representations that other servers have brought, until a writer of this server notes them in its `rep-cache.db`.
//!
//! Invariant: what is handed out is in revisions that are there.

use parking_lot::Mutex;
use sapwood_core::{Exact as _, Revnum};
use sapwood_fs_common::rep_cache::Row;
use sapwood_repo_log::entry::{Item, Rep};

use super::LogRevisions;

/// The most that are kept: beyond them texts are stored again that were there.
const MOST: usize = 1 << 16;

/// Those that nothing has taken yet.
#[derive(Debug, Default)]
pub(super) struct Reps(Mutex<Vec<Row>>);

impl Reps {
    /// Keeps what an item brings.
    pub(super) fn note(&self, item: &Item<'_>) {
        if let Item::Reps(reps) = item {
            let mut rows = self.0.lock();
            let room = MOST.minus(rows.len());
            rows.extend(reps.iter().take(room).map(row));
        }
    }
}

impl LogRevisions {
    /// Takes what came since the last time.
    pub(crate) fn take_reps(&self) -> Vec<Row> {
        std::mem::take(&mut self.reps.0.lock())
    }
}

fn row(rep: &Rep) -> Row {
    let Rep { sha1, revision, item, size, expanded: expanded_size } = *rep;
    Row { sha1, revision: Revnum(revision), item, size, expanded_size }
}

/// The other way.
pub(super) fn rep(row: &Row) -> Rep {
    let Row { sha1, revision, item, size, expanded_size } = *row;
    Rep { sha1, revision: revision.0, item, size, expanded: expanded_size }
}
