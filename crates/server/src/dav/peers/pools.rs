//! Connections to other servers, which are kept for a moment and used again.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use sapwood_peers::{Name, Servers};

use super::super::relay::pool::Pool;

/// How long an idle connection is kept: less than the other server keeps it.
const IDLE: Duration = Duration::from_secs(20);
/// The limit of idle connections to one server.
const MAX_IDLE: usize = 32;

/// The connections, by server.
#[derive(Debug, Default)]
pub(in crate::dav) struct Pools(Mutex<HashMap<Name, Arc<Pool>>>);

impl Pools {
    /// Those to one server. Those to servers that are in the list no more are closed.
    pub(super) fn of(&self, name: &Name, servers: &Servers) -> Arc<Pool> {
        let mut pools = self.0.lock();
        if let Some(pool) = pools.get(name) {
            return Arc::clone(pool);
        }
        let listed = servers.states();
        pools.retain(|known, _| listed.iter().any(|state| state.name == *known));
        let pool = Arc::new(Pool::new(MAX_IDLE, IDLE));
        pools.insert(name.clone(), Arc::clone(&pool));
        pool
    }
}
