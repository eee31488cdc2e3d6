//! Handles a server that sends no greeting. A server of svn:// speaks first and one of http waits for
//! a request, so that a client with the wrong kind of URL would wait for ever. A server that is silent for a while is
//! probed over a second connection; a server that is only slow is waited for as long as it takes.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use sapwood_core::{CancelToken, ErrorCode, SvnError, SvnResult};

/// How long a server may be silent before it is probed.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long the probe may take.
const ANSWER: Duration = Duration::from_secs(5);

/// Waits for the greeting's first byte, and looks for an http server when none comes for a while.
///
/// # Errors
/// E210004 when the server speaks http; E200015 when cancelled.
pub(super) fn await_greeting(
    stream: &TcpStream,
    host: &str,
    port: u16,
    cancel: &CancelToken,
) -> SvnResult<()> {
    wait(stream, &format!("{host}:{port}"), cancel, PATIENCE)
}

fn wait(
    stream: &TcpStream,
    shown: &str,
    cancel: &CancelToken,
    patience: Duration,
) -> SvnResult<()> {
    let begun = Instant::now();
    let turn = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };
    while begun.elapsed() < patience {
        cancel.check()?;
        let mut fds = [PollFd::new(stream, PollFlags::IN)];
        // An error of the connection is reported by the next read.
        if !matches!(poll(&mut fds, Some(&turn)), Ok(0) | Err(rustix::io::Errno::INTR)) {
            return Ok(());
        }
    }
    if speaks_http(stream).unwrap_or(false) {
        return Err(SvnError::new(
            ErrorCode::RA_SVN_MALFORMED_DATA,
            format!("The server at '{shown}' speaks http; its URLs begin with 'http://'"),
        ));
    }
    Ok(())
}

/// Whether the server at the other end responds to a request of http as an http server does.
fn speaks_http(stream: &TcpStream) -> std::io::Result<bool> {
    let mut other = TcpStream::connect_timeout(&stream.peer_addr()?, ANSWER)?;
    other.set_read_timeout(Some(ANSWER))?;
    other.write_all(b"OPTIONS * HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")?;
    let mut start = [0; 5];
    other.read_exact(&mut start)?;
    Ok(start == *b"HTTP/")
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    fn server(answer: &'static [u8], greets: bool) -> TcpStream {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        std::thread::spawn(move || {
            let mut first = listener.accept().unwrap().0;
            if greets {
                first.write_all(b"( success").unwrap();
            } else {
                let mut second = listener.accept().unwrap().0;
                let mut asked = [0; 7];
                second.read_exact(&mut asked).unwrap();
                second.write_all(answer).unwrap();
            }
            let _ended = first.read(&mut [0]);
        });
        stream
    }

    #[test]
    fn http_servers_are_recognized_and_slow_ones_waited_for() {
        let none = Duration::ZERO;
        let wait = |stream: &TcpStream, patience| {
            super::wait(stream, "h:1", &CancelToken::new(), patience)
        };
        let error = wait(&server(b"HTTP/1.1 200 OK\r\n\r\n", false), none).unwrap_err();
        assert!(error.message().contains("speaks http"), "{error}");
        wait(&server(b"( failure", false), none).unwrap();
        wait(&server(b"", true), PATIENCE).unwrap();
    }
}
