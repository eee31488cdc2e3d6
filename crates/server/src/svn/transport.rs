//! The two ends a connection can have: a TCP socket, or a pair of pipes (inetd, tunnel).

use std::fs::File;
use std::io::{self, Read};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use sapwood_wire_svn::buffer::write_both;

/// Where a connection reads from and writes to.
#[derive(Debug)]
pub enum Transport {
    /// A TCP connection.
    Tcp {
        /// The socket.
        stream: Arc<TcpStream>,
        /// The current time limit of reads.
        timeout: Option<Duration>,
        /// Held while something is sent, so that other output does not mix with it.
        sending: Arc<Mutex<()>>,
    },
    /// Standard input and output of a program started by a login agent or a super-server.
    Pipes {
        /// Where requests are read from.
        input: File,
        /// Where replies are written to.
        output: File,
    },
}

impl Transport {
    /// A TCP connection, set up as a server wants it: no delay, and keep-alive to notice clients
    /// that are gone.
    #[must_use]
    pub fn tcp(stream: Arc<TcpStream>) -> Self {
        // Neither is fatal: the connection works without.
        let _ = stream.set_nodelay(true);
        let _ = socket2::SockRef::from(&*stream).set_keepalive(true);
        Self::Tcp { stream, timeout: None, sending: Arc::default() }
    }

    /// The client's address as the log shows it.
    #[must_use]
    pub fn remote_host(&self) -> Option<String> {
        match self {
            Self::Tcp { stream, .. } => {
                stream.peer_addr().ok().map(|a| a.ip().to_canonical().to_string())
            }
            Self::Pipes { .. } => None,
        }
    }

    /// Reads some bytes, waiting at most `wait` where the transport can; 0 at the end.
    ///
    /// # Errors
    /// System errors; `WouldBlock` or `TimedOut` when nothing came in time.
    pub fn read(&mut self, buf: &mut [u8], wait: Duration) -> io::Result<usize> {
        loop {
            let result = match self {
                Self::Tcp { stream, timeout, .. } => {
                    // Whole seconds, so that the timeout of the socket need not be set each time.
                    let wait = Duration::from_secs(wait.as_secs().saturating_add(1));
                    if *timeout != Some(wait) {
                        stream.set_read_timeout(Some(wait))?;
                        *timeout = Some(wait);
                    }
                    (&**stream).read(buf)
                }
                Self::Pipes { input, .. } => input.read(buf),
            };
            match result {
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                other => return other,
            }
        }
    }

    /// Limits how long one write may stand still.
    pub fn set_write_timeout(&mut self, wait: Duration) {
        if let Self::Tcp { stream, .. } = self {
            let _ = stream.set_write_timeout(Some(wait));
        }
    }

    /// Writes two pieces, one after the other, in as few calls as can be.
    ///
    /// # Errors
    /// System errors.
    pub fn write_both(&mut self, first: &[u8], second: &[u8]) -> io::Result<()> {
        match self {
            Self::Tcp { stream, sending, .. } => {
                let _turn = sending.lock();
                write_both(&mut &**stream, first, second)
            }
            Self::Pipes { output, .. } => write_both(output, first, second),
        }
    }

    /// The socket, when there is one.
    #[must_use]
    pub fn socket(&self) -> Option<&Arc<TcpStream>> {
        match self {
            Self::Tcp { stream, .. } => Some(stream),
            Self::Pipes { .. } => None,
        }
    }

    /// A check, from any thread, for whether the client has disconnected; `None` when the system
    /// gives no second handle.
    #[must_use]
    pub fn hangup(&self) -> Option<Hangup> {
        Some(match self {
            Self::Tcp { stream, sending, .. } => Hangup::Tcp {
                stream: Arc::clone(stream),
                sending: Arc::clone(sending),
                next_nudge: Mutex::new(Instant::now()),
            },
            Self::Pipes { output, .. } => Hangup::Pipe(output.try_clone().ok()?),
        })
    }

    /// Whether something (or the end) can be read without waiting.
    #[must_use]
    pub fn readable_now(&self) -> bool {
        let mut fds = [match self {
            Self::Tcp { stream, .. } => PollFd::new(&**stream, PollFlags::IN),
            Self::Pipes { input, .. } => PollFd::new(input, PollFlags::IN),
        }];
        let no_wait = Timespec { tv_sec: 0, tv_nsec: 0 };
        poll(&mut fds, Some(&no_wait)).is_ok_and(|n| n > 0)
    }
}

/// Sees, without waiting, that there is no client any more to do anything for.
#[derive(Debug)]
pub enum Hangup {
    /// Of a TCP connection.
    Tcp {
        /// The socket.
        stream: Arc<TcpStream>,
        /// As in [`Transport::Tcp`].
        sending: Arc<Mutex<()>>,
        /// When the client may be tried again.
        next_nudge: Mutex<Instant>,
    },
    /// Where replies are written to.
    Pipe(File),
}

/// How often, at most, a silent client is probed.
const NUDGE: Duration = Duration::from_millis(100);

impl Hangup {
    /// Whether the client has gone.
    ///
    /// A client that has closed its half of a TCP connection may wait for the reply, or have gone.
    /// The two cases look the same before data is sent. So the client gets a space, which means
    /// nothing between items; a client that has gone answers with a reset, which the next call
    /// sees.
    #[must_use]
    pub fn has_gone(&self) -> bool {
        match self {
            Self::Pipe(output) => ended(output, PollFlags::empty()).is_some(),
            Self::Tcp { stream, sending, next_nudge } => {
                let Some(what) = ended(&**stream, PollFlags::RDHUP) else { return false };
                if what.intersects(PollFlags::ERR | PollFlags::HUP) {
                    return true;
                }
                let now = Instant::now();
                let mut next = next_nudge.lock();
                if now >= *next
                    && let Some(_turn) = sending.try_lock()
                {
                    *next = now.checked_add(NUDGE).unwrap_or(now);
                    let flags = rustix::net::SendFlags::DONTWAIT | rustix::net::SendFlags::NOSIGNAL;
                    let sent = rustix::net::send(&**stream, b" ", flags);
                    return sent.is_err_and(|e| e != rustix::io::Errno::AGAIN);
                }
                false
            }
        }
    }
}

/// What poll says at once of a file; `None` for nothing.
fn ended(file: &impl std::os::fd::AsFd, interest: PollFlags) -> Option<PollFlags> {
    let mut fds = [PollFd::new(file, interest)];
    let no_wait = Timespec { tv_sec: 0, tv_nsec: 0 };
    let found = poll(&mut fds, Some(&no_wait)).is_ok_and(|n| n > 0);
    let [fd] = fds;
    found.then(|| fd.revents())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;
    use std::net::{Shutdown, TcpListener};

    fn pair() -> (TcpStream, Transport) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        (client, Transport::tcp(Arc::new(listener.accept().unwrap().0)))
    }

    #[test]
    fn clients_that_go_are_noticed_and_those_that_listen_are_not_taken_for_gone() {
        let (mut client, server) = pair();
        let hangup = server.hangup().unwrap();
        client.write_all(b"( get-latest-rev ( ) ) ").unwrap();
        assert!(!hangup.has_gone());
        client.shutdown(Shutdown::Write).unwrap();
        for _ in 0..3 {
            assert!(!hangup.has_gone(), "a client that waits for its reply");
            std::thread::sleep(NUDGE);
        }
        drop(client);
        let gone = (0..100).any(|_| {
            std::thread::sleep(Duration::from_millis(20));
            hangup.has_gone()
        });
        assert!(gone, "a client that has gone");
    }

    #[test]
    fn a_pipe_whose_reader_has_gone() {
        let (reader, writer) = std::io::pipe().unwrap();
        let output = File::from(std::os::fd::OwnedFd::from(writer));
        let input = output.try_clone().unwrap();
        let hangup = Transport::Pipes { input, output }.hangup().unwrap();
        assert!(!hangup.has_gone());
        drop(reader);
        assert!(hangup.has_gone());
    }
}
