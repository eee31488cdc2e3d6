//! Connections of clients whose repository belongs to another server: after the client's greeting their bytes go to that server and back.
//!
//! The client logs in at the owner, so nothing of a login, of a security layer or of a tunnel is understood here. A connection that was
//! forwarded once is always served where it arrives, and one that cannot be forwarded is served here: the repository is in a store
//! that each server may use.
//!
//! Invariant: a connection that is handed on has no thread ([`splice`]).

use std::net::Shutdown;
use std::path::Path;
use std::sync::Arc;

use sapwood_core::{SvnError, SvnResult};
use sapwood_fs::Engine;
use sapwood_peers::link::{self, Caller};
use sapwood_peers::{Door, Hello, PeerStream};
use socket2::SockRef;
use tokio::net::TcpStream;

use crate::common::metrics::{OpenConnection, RouteOutcome};
use crate::common::slots::AcceptedClient;
use crate::common::state::ServerState;
use crate::splice::{self, Turns};
use crate::svn::connection::Connection;

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
    accepted: &mut Option<AcceptedClient>,
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
    let (all, arrived) = (Arc::clone(servers), arrived.to_vec());
    let opening = async move { link::open(&all, &hello, &arrived).await };
    let opened = conn.wait_for(&shared.tasks, &shared.cancel, opening).ok()?;
    match opened {
        Ok(owner_side) => {
            servers.reached(&owner);
            shared.metrics.routed("svn", RouteOutcome::Forwarded);
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
    accepted: AcceptedClient,
    owner: PeerStream,
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
        let _ = SockRef::from(self.owner.tcp()).set_keepalive(true);
        let turns = Turns::new(shared, Some(&self.accepted.stream));
        let running = async move {
            let Self { accepted, owner } = self;
            if let Ok(client) = TcpStream::from_std(client) {
                splice::run(client, owner, &turns).await;
            }
            let _ = accepted.stream.shutdown(Shutdown::Both);
            drop((accepted, counted));
        };
        shared.tasks.spawn(running).map(drop)
    }
}
