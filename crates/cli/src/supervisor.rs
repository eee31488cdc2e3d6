//! Under systemd or a compatible supervisor: sockets that it listens on (`LISTEN_FDS`), and notifying it
//! when the server is ready and when it ends (`NOTIFY_SOCKET`, sd_notify(3)).

use std::net::TcpListener;
use std::os::unix::net::UnixDatagram;

use sapwood_core::{ErrorCode, SvnError, SvnResult};

use crate::platform;

/// What is reported.
#[derive(Clone, Copy, Debug)]
pub(crate) enum State {
    /// Clients can connect.
    Ready,
    /// The configuration is being read again; [`State::Ready`] follows.
    Reloading,
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

/// The sockets that were passed, with the names that the supervisor has for them (`FileDescriptorName=`); none where it has none.
///
/// # Errors
/// When one of them is not a TCP socket that listens.
pub(crate) fn sockets() -> SvnResult<Vec<(String, TcpListener)>> {
    let names = std::env::var("LISTEN_FDNAMES");
    let mut names = names.as_deref().unwrap_or("").split(':');
    let mut passed = listenfd::ListenFd::from_env();
    let mut sockets = Vec::new();
    for at in 0..passed.len() {
        let name = names.next().unwrap_or("");
        let socket = passed.take_tcp_listener(at);
        let failed = |e| SvnError::io(&e, format_args!("Can't take over the socket '{name}'"));
        if let Some(socket) = socket.map_err(failed)? {
            sockets.push((name.to_owned(), socket));
        }
    }
    Ok(sockets)
}

/// Notifies the supervisor, if there is one; failures do not matter.
pub(crate) fn notify(state: State) {
    let Some(name) = std::env::var_os("NOTIFY_SOCKET") else { return };
    let address = platform::socket_address(&name);
    let text = match state {
        State::Ready => "READY=1\nSTATUS=Serving\n".to_owned(),
        State::Reloading => {
            let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
            // Six digits of the second, as microseconds are written.
            let (seconds, micros) = (now.tv_sec, now.tv_nsec / 1000);
            format!("RELOADING=1\nMONOTONIC_USEC={seconds}{micros:06}\n")
        }
        State::Stopping => "STOPPING=1\n".to_owned(),
    };
    if let (Ok(address), Ok(socket)) = (address, UnixDatagram::unbound()) {
        let _ = socket.send_to_addr(text.as_bytes(), &address);
    }
}
