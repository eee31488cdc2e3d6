//! Connections to other servers, which are kept for a moment and used again.

use std::collections::HashMap;
use std::sync::{Arc, Weak};
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
pub(in crate::dav) struct Pools(Mutex<PooledConnection>);

#[derive(Debug, Default)]
struct PooledConnection {
    /// Whose they are: another configuration may demand other connections.
    of: Weak<Servers>,
    by_name: HashMap<Name, Arc<Pool>>,
}

impl Pools {
    /// Those to one server. Those to servers that are in the list no more are closed, and all when the configuration is another one.
    pub(super) fn of(&self, name: &Name, servers: &Arc<Servers>) -> Arc<Pool> {
        let mut kept = self.0.lock();
        let own = Arc::downgrade(servers);
        if !Weak::ptr_eq(&kept.of, &own) {
            *kept = PooledConnection { of: own, by_name: HashMap::new() };
        }
        let pools = &mut kept.by_name;
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
