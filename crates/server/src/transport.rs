//! The two ends a connection can have: a TCP socket, or a pair of pipes (inetd, tunnel).

use std::fs::File;
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use sapwood_wire_svn::buffer::write_both;

/// Where the bytes of a connection come from and go to.
#[derive(Debug)]
pub enum Transport {
    /// A TCP connection.
    Tcp {
        /// The socket.
        stream: Arc<TcpStream>,
        /// The time limit of reads that is set.
        timeout: Option<Duration>,
    },
    /// Standard input and output of a program started by a login agent or a super-server.
    Pipes {
        /// What the client says.
        input: File,
        /// What the client is told.
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
        Self::Tcp { stream, timeout: None }
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
                Self::Tcp { stream, timeout } => {
                    // Whole seconds, so that the socket need not be told anew each time.
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
        let mut socket;
        let out: &mut dyn Write = match self {
            Self::Tcp { stream, .. } => {
                socket = &**stream;
                &mut socket
            }
            Self::Pipes { output, .. } => output,
        };
        write_both(out, first, second)
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
