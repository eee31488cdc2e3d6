//! A third engine: filesystems in memory, for tests. Its transactions are [`sapwood_txn_rules`]; it has no locks on paths, and
//! nothing that administrators do.
//!
//! | file | holds |
//! |---|---|
//! | `state` | what all openings of one filesystem share: revisions, node-revisions, texts, transactions |
//! | `rules` | ids and node-revisions, as the rules of transactions ask for them |
//! | `tree` | trees, nodes, directories, contents |
//! | `backend` | an opened filesystem as an engine |
//! | `txn` | transactions, and making revisions of them |

mod backend;
mod rules;
mod state;
mod tree;
mod txn;

use std::sync::Arc;

use parking_lot::Mutex;
use sapwood_store::Caches;

use self::state::State;

/// An opened filesystem.
#[derive(Clone, Debug)]
pub(crate) struct Filesystem {
    state: Arc<Mutex<State>>,
    caches: Arc<Caches>,
    /// The number of the filesystem in the caches.
    number: u32,
}

impl Filesystem {
    /// An empty one: revision 0, with an empty root directory.
    pub(crate) fn new(caches: &Arc<Caches>) -> Self {
        let (caches, number) = (Arc::clone(caches), caches.new_id());
        Self { state: Arc::new(Mutex::new(State::new())), caches, number }
    }
}
