//! Under systemd or a compatible supervisor: sockets that it listens on (`LISTEN_FDS`), and notifying it
//! when the server is ready and when it ends (`NOTIFY_SOCKET`, sd_notify(3)).

use std::net::TcpListener;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::net::{SocketAddr, UnixDatagram};

use sapwood_core::{ErrorCode, SvnError, SvnResult};

/// What is reported.
#[derive(Clone, Copy, Debug)]
pub(crate) enum State {
    /// Clients can connect.
    Ready,
    /// No more clients are served.
    Stopping,
}

/// The socket that was passed, if one was.
///
/// # Errors
/// When it is not a TCP socket, or there are several.
pub(crate) fn socket() -> SvnResult<Option<TcpListener>> {
    let mut passed = listenfd::ListenFd::from_env();
    if passed.len() > 1 {
        let text = "Only one socket can be served: name one ListenStream in the unit";
        return Err(SvnError::new(ErrorCode::ILLEGAL_TARGET, text));
    }
    let taken = passed.take_tcp_listener(0);
    taken.map_err(|e| SvnError::io(&e, "Can't take over the socket that was passed"))
}

/// Notifies the supervisor, if there is one; failures do not matter.
pub(crate) fn notify(state: State) {
    let Some(name) = std::env::var_os("NOTIFY_SOCKET") else { return };
    let address = match name.as_bytes() {
        [b'@', name @ ..] => SocketAddr::from_abstract_name(name),
        _ => SocketAddr::from_pathname(&name),
    };
    let text: &[u8] = match state {
        State::Ready => b"READY=1\nSTATUS=Serving\n",
        State::Stopping => b"STOPPING=1\n",
    };
    if let (Ok(address), Ok(socket)) = (address, UnixDatagram::unbound()) {
        let _ = socket.send_to_addr(text, &address);
    }
}
