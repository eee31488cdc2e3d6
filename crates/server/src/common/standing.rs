//! Idle connections of svn://: each has a thread that waits for its client to send or to read something. When
//! a server is full, such a connection is closed to make room for a new client.
//!
//! Invariant: a connection is closed only while its thread waits.

use std::collections::HashMap;
use std::net::TcpStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

/// How long a client may be idle before its connection may be closed for another client.
const SPARED: Duration = Duration::from_secs(10);

/// The times since which connections have been idle.
#[derive(Debug, Default)]
pub struct IdleTimes(Mutex<HashMap<usize, Instant>>);

/// Identifies a socket.
fn key(stream: &Arc<TcpStream>) -> usize {
    Arc::as_ptr(stream).addr()
}

impl IdleTimes {
    /// Marks the connection as idle while `wait` runs.
    pub(crate) fn during<T>(&self, stream: Option<&Arc<TcpStream>>, wait: impl FnOnce() -> T) -> T {
        let Some(stream) = stream else { return wait() };
        self.begin(stream);
        let done = wait();
        self.end(stream);
        done
    }

    /// The connection is idle from now on.
    pub(crate) fn begin(&self, stream: &Arc<TcpStream>) {
        self.0.lock().insert(key(stream), Instant::now());
    }

    /// The connection is not idle any more.
    pub(crate) fn end(&self, stream: &Arc<TcpStream>) {
        self.0.lock().remove(&key(stream));
    }

    /// How long the connection has been idle, if that is long enough to close it.
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
