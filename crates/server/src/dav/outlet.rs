//! Where the pieces of replies are sent to: the resources of a connection's replies, and the queue of one.

use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::mpsc;

use super::piece::Piece;
use super::polled_connection::Driver;
use super::socket::ClientSocket;
use super::workers::Workers;
use crate::common::fair::Caller;

/// How long a client may read nothing while its reply holds a thread that others need.
pub(super) const WANTED: Duration = Duration::from_secs(10);

/// A piece, or why there are no more.
pub(super) type NextPiece = Result<Piece, io::Error>;

/// Where pieces are sent to.
#[derive(Clone, Debug)]
pub(super) struct Pieces {
    pub(super) queue: mpsc::Sender<NextPiece>,
    /// Whether all of the reply is in the queue.
    pub(super) complete: Arc<AtomicBool>,
}

impl Pieces {
    /// Notes that the reply is complete.
    pub(super) fn complete(&self) {
        self.complete.store(true, Ordering::Release);
    }
}

/// The resources of a connection's replies.
#[derive(Clone, Debug)]
pub(super) struct Outlet {
    pub(super) handle: Handle,
    /// Makes the connection send what it was given.
    pub(super) driver: Driver,
    pub(super) workers: Arc<Workers>,
    /// The client's address.
    pub(super) client: IpAddr,
    pub(super) caller: Caller,
    /// The client's side of the connection.
    pub(super) line: ClientSocket,
    /// How long the client may read nothing.
    pub(super) patience: Duration,
}

impl Outlet {
    /// Whether a thread may go on waiting for a client that has read nothing for some time.
    pub(super) fn may_wait(&self, still: Duration) -> bool {
        let wanted = self.workers.are_wanted();
        still < if wanted { self.patience.min(WANTED) } else { self.patience }
    }
}
