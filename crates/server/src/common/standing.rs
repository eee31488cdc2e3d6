//! Connections of svn:// that stand still: each has a thread that waits for its client, to say something or to
//! read. When a server is full, such a one makes room for a new client.
//!
//! Invariant: only a connection whose thread waits at the moment is given up.

use std::collections::HashMap;
use std::net::TcpStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

/// A client may be waited for so long before its connection may be given up for another client.
const SPARED: Duration = Duration::from_secs(10);

/// Since when connections wait.
#[derive(Debug, Default)]
pub struct Standing(Mutex<HashMap<usize, Instant>>);

/// What stands for a socket.
fn key(stream: &Arc<TcpStream>) -> usize {
    Arc::as_ptr(stream).addr()
}

impl Standing {
    /// The connection waits for its client while `wait` runs.
    pub(crate) fn during<T>(&self, stream: Option<&Arc<TcpStream>>, wait: impl FnOnce() -> T) -> T {
        let Some(stream) = stream else { return wait() };
        self.0.lock().insert(key(stream), Instant::now());
        let done = wait();
        self.0.lock().remove(&key(stream));
        done
    }

    /// How long the connection has waited, if that is long enough to give it up.
    pub(crate) fn for_long(&self, stream: &Arc<TcpStream>) -> Option<Duration> {
        let since = self.0.lock().get(&key(stream)).copied()?;
        Some(since.elapsed()).filter(|waited| *waited >= SPARED)
    }

    /// The same as if the connection had waited for some time, for tests.
    #[cfg(test)]
    pub(crate) fn pretend(&self, stream: &Arc<TcpStream>, waited: Duration) {
        let since = Instant::now().checked_sub(waited).unwrap_or_else(Instant::now);
        self.0.lock().insert(key(stream), since);
    }
}
