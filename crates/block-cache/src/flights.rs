//! Blocks that a thread is fetching, for all others that want them.
//!
//! Invariant: a block is in the table from when one thread takes it on until it lands, also when that thread fails; a thread
//! waits for others only when it has landed all of its own, so no two wait for each other.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

use parking_lot::{Condvar, Mutex};

use crate::block::BlockId;

#[derive(Clone, Debug)]
enum State {
    Flying,
    Landed(Arc<[u8]>),
    Failed,
}

/// A block that is being fetched.
#[derive(Debug)]
pub(crate) struct Flight {
    state: Mutex<State>,
    changed: Condvar,
}

impl Flight {
    /// Waits until it has landed; `None` when it failed.
    pub(crate) fn wait(&self) -> Option<Arc<[u8]>> {
        let mut state = self.state.lock();
        loop {
            match &*state {
                State::Flying => self.changed.wait(&mut state),
                State::Landed(data) => return Some(Arc::clone(data)),
                State::Failed => return None,
            }
        }
    }

    fn end(&self, end: State) {
        let mut state = self.state.lock();
        if matches!(*state, State::Flying) {
            *state = end;
            self.changed.notify_all();
        }
    }
}

type Table = Mutex<HashMap<BlockId, Arc<Flight>>>;

/// All of a process.
#[derive(Debug, Default)]
pub(crate) struct Flights(Table);

/// A block that was asked for.
pub(crate) enum BlockRequest<'a> {
    /// The one who asks fetches it.
    Own(Own<'a>),
    /// Another does.
    Other(Arc<Flight>),
}

/// The duty to fetch a block. When it is dropped, the block is in the table no more.
pub(crate) struct Own<'a> {
    table: &'a Table,
    id: BlockId,
    flight: Arc<Flight>,
}

impl Flights {
    /// Asks for blocks, for all of them at once: of two threads that want the same range one gets the whole of it, and fetches it by
    /// one request.
    pub(crate) fn ask(&self, ids: impl IntoIterator<Item = BlockId>) -> Vec<BlockRequest<'_>> {
        let mut table = self.0.lock();
        let ask = |id| match table.entry(id) {
            Entry::Occupied(flying) => BlockRequest::Other(Arc::clone(flying.get())),
            Entry::Vacant(free) => {
                let (state, changed) = (Mutex::new(State::Flying), Condvar::new());
                let flight = Arc::new(Flight { state, changed });
                free.insert(Arc::clone(&flight));
                BlockRequest::Own(Own { table: &self.0, id, flight })
            }
        };
        ids.into_iter().map(ask).collect()
    }
}

impl Own<'_> {
    pub(crate) fn id(&self) -> &BlockId {
        &self.id
    }

    /// Hands the block to those who wait.
    pub(crate) fn land(&self, data: &Arc<[u8]>) {
        self.flight.end(State::Landed(Arc::clone(data)));
    }
}

impl Drop for Own<'_> {
    fn drop(&mut self) {
        self.table.lock().remove(&self.id);
        self.flight.end(State::Failed);
    }
}
