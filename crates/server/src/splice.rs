//! Two connections of which each gets what the other sends: a client's and that of its repository's owner, or another server's that is
//! encrypted and the one that a thread reads.
//!
//! Invariants: they have no thread, and no memory while neither side sends; both end when either side has gone.

use std::io;
use std::net::TcpStream as Socket;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Poll, ready};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};

use crate::common::ending::{Shutdown, WriteInProgress};
use crate::common::settings::Limits;
use crate::common::standing::IdleTimes;
use crate::common::state::ServerState;

/// Bytes that are on their way at a time, in each direction.
const PIECE: usize = 32 << 10;

/// Who sends.
#[derive(Clone, Copy, Debug)]
enum Side {
    Client,
    Owner,
}

/// Which side spoke last, and when.
#[derive(Debug)]
pub(crate) struct Turns {
    last: Mutex<(Instant, Option<WriteInProgress>)>,
    ending: Arc<Shutdown>,
    /// Where it is entered that the client is idle.
    idle: Option<(Arc<IdleTimes>, Arc<Socket>)>,
    limits: Limits,
}

impl Turns {
    /// Those of a connection that begins. `client` is the one that may be closed for another when it is idle.
    pub(crate) fn new(shared: &ServerState, client: Option<&Arc<Socket>>) -> Self {
        Self {
            last: Mutex::new((Instant::now(), None)),
            ending: Arc::clone(&shared.ending),
            idle: client.map(|client| (Arc::clone(&shared.standing), Arc::clone(client))),
            limits: shared.settings.limits,
        }
    }

    /// The client has sent something: the server does not end before the owner has said something to it, as far as it waits at all.
    fn of_client(&self) {
        let mut last = self.last.lock();
        if last.1.is_none() {
            last.1 = Some(self.ending.go_on_writing());
            self.end();
        }
        last.0 = Instant::now();
    }

    /// The client has what the owner sent: it may be idle from now on.
    fn of_owner(&self) {
        let mut last = self.last.lock();
        *last = (Instant::now(), None);
        if let Some((standing, client)) = &self.idle {
            standing.begin(client);
        }
    }

    fn end(&self) {
        if let Some((standing, client)) = &self.idle {
            standing.end(client);
        }
    }

    /// How long both may still be silent.
    fn left(&self) -> Option<Duration> {
        let silent = self.last.lock().0.elapsed();
        self.limits.idle.checked_sub(silent).filter(|left| !left.is_zero())
    }
}

/// Passes bytes until either side has gone. A client that has closed only its sending half still gets its replies.
pub(crate) async fn run<C, O>(client: C, owner: O, turns: &Turns)
where
    C: AsyncRead + AsyncWrite,
    O: AsyncRead + AsyncWrite,
{
    let (mut from_client, mut to_client) = tokio::io::split(client);
    let (mut from_owner, mut to_owner) = tokio::io::split(owner);
    let asking = async {
        let ended = pass(&mut from_client, &mut to_owner, turns, Side::Client).await;
        if ended.is_some() && to_owner.shutdown().await.is_ok() {
            tokio::time::sleep(turns.limits.stall).await;
        }
    };
    tokio::select! {
        () = asking => {}
        _ = pass(&mut from_owner, &mut to_client, turns, Side::Owner) => {}
    }
    turns.end();
}

/// Passes bytes one way until its sender closes its half; `None` if the connection is of no use any more.
async fn pass(
    from: &mut (impl AsyncRead + Unpin),
    to: &mut (impl AsyncWrite + Unpin),
    turns: &Turns,
    side: Side,
) -> Option<()> {
    loop {
        // The other direction may have been in use meanwhile.
        let Ok(read) = tokio::time::timeout(turns.left()?, some(from)).await else { continue };
        let piece = read.ok()?;
        if piece.is_empty() {
            return Some(());
        }
        if let Side::Client = side {
            turns.of_client();
        }
        send(to, &piece, turns.limits.stall).await?;
        if let Side::Owner = side {
            turns.of_owner();
        }
    }
}

/// Some bytes, or none at the end. There is room for them only while they are read.
async fn some(from: &mut (impl AsyncRead + Unpin)) -> io::Result<Vec<u8>> {
    std::future::poll_fn(|cx| {
        let mut piece = Vec::with_capacity(PIECE);
        let read = {
            let reading = pin!(from.read_buf(&mut piece));
            ready!(reading.poll(cx))
        };
        Poll::Ready(read.map(|_| piece))
    })
    .await
}

async fn send(to: &mut (impl AsyncWrite + Unpin), piece: &[u8], patience: Duration) -> Option<()> {
    let mut left = piece;
    while !left.is_empty() {
        let sent = tokio::time::timeout(patience, to.write(left)).await.ok()?.ok()?;
        left = left.get(sent..).filter(|_| sent > 0)?;
    }
    tokio::time::timeout(patience, to.flush()).await.ok()?.ok()
}
