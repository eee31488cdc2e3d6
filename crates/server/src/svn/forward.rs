//! Connections of clients whose repository belongs to another server: after the client's greeting their bytes go to that server and back.
//!
//! The client logs in at the owner, so nothing of a login, of a security layer or of a tunnel is understood here. A connection that was
//! forwarded once is always served where it arrives, and one that cannot be forwarded is served here: the repository is in a store
//! that each server may use.
//!
//! Invariants: a connection that is handed on has no thread, and no memory while neither side sends; it ends when either side has gone.

use std::net::{Shutdown, TcpStream as Socket};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use sapwood_core::{SvnError, SvnResult};
use sapwood_fs::Engine;
use sapwood_peers::link::{self, Caller};
use sapwood_peers::{Door, Hello};
use socket2::SockRef;
use tokio::net::TcpStream;

use crate::common::ending::{Ending, WriteInProgress};
use crate::common::metrics::{OpenConnection, Routed};
use crate::common::settings::Limits;
use crate::common::slots::Accepted;
use crate::common::standing::Standing;
use crate::common::state::ServerState;
use crate::svn::connection::Connection;

/// Bytes that are on their way at a time, in each direction.
const PIECE: usize = 32 << 10;

/// Answers another server: whether the repository that it means is the one at `top`. If it is not, the other server answers its
/// client by itself.
///
/// # Errors
/// As of [`Connection::flush`].
pub(super) fn answer(
    conn: &mut Connection,
    caller: &Caller,
    top: Option<&Path>,
) -> SvnResult<bool> {
    let own = top.and_then(|top| Engine::stored_repository(&top.join("db")));
    let is_here = own.is_some() && own == caller.hello.repository;
    let line = caller.answer(is_here);
    let line = line.ok_or_else(|| SvnError::internal("a code cannot be made"))?;
    conn.out().extend_from_slice(line.as_bytes());
    // The other server waits for nothing else.
    conn.flush()?;
    Ok(is_here)
}

/// Opens a connection to the server that the repository at `top` belongs to, and gives it what arrived of the client's; nothing where
/// this server is to answer.
pub(super) fn hand_on(
    shared: &ServerState,
    conn: &mut Connection,
    accepted: &mut Option<Accepted>,
    top: &Path,
    arrived: &[u8],
) -> Option<Splice> {
    let servers = shared.settings.servers.as_ref()?;
    accepted.as_ref()?;
    let repository = Engine::stored_repository(&top.join("db"))?;
    let owner = servers.owner(&repository)?;
    let settings = servers.settings();
    let hello = Hello {
        door: Door::Svn,
        from: settings.own.clone(),
        to: owner.clone(),
        client: conn.remote_address(),
        repository: Some(repository),
    };
    let (secret, arrived) = (settings.secret.clone(), arrived.to_vec());
    let opening = async move { link::open(&hello, &secret, &arrived).await };
    let opened = conn.wait_for(&shared.tasks, &shared.cancel, opening).ok()?;
    match opened {
        Ok(owner_side) => {
            servers.reached(&owner);
            shared.metrics.routed("svn", Routed::Forwarded);
            Some(Splice { accepted: accepted.take()?, owner: owner_side })
        }
        Err(error) => {
            shared.owner_failed("svn", &owner, &error, conn.remote_host());
            None
        }
    }
}

/// A connection of a client, and the one to the server that its repository belongs to.
#[derive(Debug)]
pub(super) struct Splice {
    accepted: Accepted,
    owner: TcpStream,
}

impl Splice {
    /// Passes bytes in both directions from now on, without a thread of its own.
    ///
    /// # Errors
    /// System errors.
    pub(super) fn begin(self, shared: &ServerState, counted: OpenConnection) -> SvnResult<()> {
        let failed = |e: std::io::Error| SvnError::io(&e, "Can't forward a connection");
        let client = self.accepted.stream.try_clone().map_err(failed)?;
        client.set_nonblocking(true).map_err(failed)?;
        // A peer that is gone without a word is found.
        let _ = SockRef::from(&self.owner).set_keepalive(true);
        let turns = Turns {
            last: Mutex::new((Instant::now(), None)),
            ending: Arc::clone(&shared.ending),
            standing: Arc::clone(&shared.standing),
            client: Arc::clone(&self.accepted.stream),
            limits: shared.settings.limits,
        };
        let running = async move {
            let Self { accepted, owner } = self;
            if let Ok(client) = TcpStream::from_std(client) {
                run(&client, &owner, &turns).await;
            }
            turns.end();
            let _ = turns.client.shutdown(Shutdown::Both);
            drop((accepted, counted));
        };
        shared.tasks.spawn(running).map(drop)
    }
}

/// Which side spoke last, and when.
#[derive(Debug)]
struct Turns {
    last: Mutex<(Instant, Option<WriteInProgress>)>,
    ending: Arc<Ending>,
    standing: Arc<Standing>,
    client: Arc<Socket>,
    limits: Limits,
}

impl Turns {
    /// The client has sent something: the server does not end before the owner has said something to it, as far as it waits at all.
    fn of_client(&self) {
        let mut last = self.last.lock();
        if last.1.is_none() {
            last.1 = Some(self.ending.go_on_writing());
            self.standing.end(&self.client);
        }
        last.0 = Instant::now();
    }

    /// The owner has: its client may be idle from now on.
    fn of_owner(&self) {
        let mut last = self.last.lock();
        *last = (Instant::now(), None);
        self.standing.begin(&self.client);
    }

    fn end(&self) {
        self.standing.end(&self.client);
    }

    /// How long both may still be silent.
    fn left(&self) -> Option<Duration> {
        let silent = self.last.lock().0.elapsed();
        self.limits.idle.checked_sub(silent).filter(|left| !left.is_zero())
    }
}

/// Passes bytes until either side has gone. A client that has closed only its sending half still gets its replies.
async fn run(client: &TcpStream, owner: &TcpStream, turns: &Turns) {
    let to_owner = async {
        let ended = pass(client, owner, turns, || turns.of_client()).await;
        if ended.is_some() && SockRef::from(owner).shutdown(Shutdown::Write).is_ok() {
            tokio::time::sleep(turns.limits.stall).await;
        }
    };
    tokio::select! {
        () = to_owner => {}
        _ = pass(owner, client, turns, || turns.of_owner()) => {}
    }
}

/// Passes bytes one way until its sender closes its half; `None` if the connection is of no use any more.
async fn pass(from: &TcpStream, to: &TcpStream, turns: &Turns, spoke: impl Fn()) -> Option<()> {
    loop {
        // The other direction may have been in use meanwhile.
        let Ok(ready) = tokio::time::timeout(turns.left()?, from.readable()).await else {
            continue;
        };
        ready.ok()?;
        let mut piece = Vec::with_capacity(PIECE);
        match from.try_read_buf(&mut piece) {
            Ok(0) => return Some(()),
            Ok(_) => {}
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => continue,
            Err(_) => return None,
        }
        spoke();
        send(to, &piece, turns.limits.stall).await?;
    }
}

async fn send(to: &TcpStream, piece: &[u8], patience: Duration) -> Option<()> {
    let mut left = piece;
    while !left.is_empty() {
        match to.try_write(left) {
            Ok(count) => left = left.get(count..)?,
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {
                tokio::time::timeout(patience, to.writable()).await.ok()?.ok()?;
            }
            Err(_) => return None,
        }
    }
    Some(())
}
