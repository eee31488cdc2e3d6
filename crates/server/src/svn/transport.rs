//! The two ends a connection can have: a TCP socket, or a pair of pipes (inetd, tunnel); and the security layer of SASL
//! above them, when a login agreed on one.
//!
//! Invariant: once there is a layer, no byte passes either way without it.

use std::fs::File;
use std::io::{self, Read};
use std::net::{IpAddr, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use rustix::event::PollFlags;
use sapwood_wire_svn::security_layer::{Layer, Opener};

use crate::platform;
use crate::svn::outgoing::OutgoingQueue;

/// Where a connection reads from and writes to.
#[derive(Debug)]
pub struct Transport {
    ends: Ends,
    /// Locked while something is sent, so that other output does not mix with it.
    outgoing: Arc<Mutex<OutgoingQueue>>,
    /// Opens what is received, once there is a security layer.
    opener: Option<Opener>,
    /// The client, where another server forwards its connection.
    client: Option<IpAddr>,
}

#[derive(Debug)]
enum Ends {
    Tcp {
        stream: Arc<TcpStream>,
        /// The current time limit of reads.
        timeout: Option<Duration>,
    },
    Pipes {
        input: File,
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
        Self::of(Ends::Tcp { stream, timeout: None })
    }

    /// The same for the connection of a client that another server forwards, which says where the client is.
    #[must_use]
    pub fn forwarded(stream: Arc<TcpStream>, client: Option<IpAddr>) -> Self {
        Self { client, ..Self::tcp(stream) }
    }

    /// Standard input and output of a program started by a login agent or a super-server: requests are read from `input`,
    /// replies are written to `output`.
    #[must_use]
    pub fn pipes(input: File, output: File) -> Self {
        Self::of(Ends::Pipes { input, output })
    }

    fn of(ends: Ends) -> Self {
        Self { ends, outgoing: Arc::default(), opener: None, client: None }
    }

    /// Whether there is a security layer.
    pub(super) const fn is_protected(&self) -> bool {
        self.opener.is_some()
    }

    /// Protects all that follows. `arrived` was read, but belongs to what the layer protects.
    pub(super) fn protect(&mut self, layer: Layer, arrived: &[u8]) {
        let Layer { sealer, mut opener } = layer;
        opener.begin_with(arrived);
        self.opener = Some(opener);
        self.outgoing.lock().protect(sealer);
    }

    /// The client's address as the log shows it.
    #[must_use]
    pub(crate) fn remote_host(&self) -> Option<String> {
        self.remote_address().map(|address| address.to_canonical().to_string())
    }

    /// The client's address, as a number.
    #[must_use]
    pub(crate) fn remote_address(&self) -> Option<IpAddr> {
        match &self.ends {
            Ends::Tcp { stream, .. } => {
                self.client.or_else(|| stream.peer_addr().ok().map(|a| a.ip()))
            }
            Ends::Pipes { .. } => None,
        }
    }

    /// Reads some bytes, waiting at most `wait` where the transport can; 0 at the end.
    ///
    /// # Errors
    /// System errors; `WouldBlock` or `TimedOut` when nothing came in time.
    pub fn read(&mut self, buf: &mut [u8], wait: Duration) -> io::Result<usize> {
        let Self { ends, opener, .. } = self;
        let Some(opener) = opener else { return ends.read(buf, wait) };
        // The pieces of one packet have that time together.
        let begun = Instant::now();
        opener.read(buf, |room| {
            let left = wait.checked_sub(begun.elapsed()).ok_or(io::ErrorKind::TimedOut)?;
            ends.read(room, left)
        })
    }

    /// Limits how long one write may stand still.
    pub fn set_write_timeout(&mut self, wait: Duration) {
        if let Ends::Tcp { stream, .. } = &self.ends {
            let _ = stream.set_write_timeout(Some(wait));
        }
    }

    /// Writes two pieces, one after the other, in as few calls as can be.
    ///
    /// # Errors
    /// System errors.
    pub fn write_both(&mut self, first: &[u8], second: &[u8]) -> io::Result<()> {
        let mut outgoing = self.outgoing.lock();
        match &mut self.ends {
            Ends::Tcp { stream, .. } => outgoing.write_both(&mut &**stream, first, second),
            Ends::Pipes { output, .. } => outgoing.write_both(output, first, second),
        }
    }

    /// The socket, when there is one.
    #[must_use]
    pub fn socket(&self) -> Option<&Arc<TcpStream>> {
        match &self.ends {
            Ends::Tcp { stream, .. } => Some(stream),
            Ends::Pipes { .. } => None,
        }
    }

    /// A check, from any thread, for whether the client has disconnected; `None` when the system
    /// gives no second handle.
    #[must_use]
    pub(crate) fn hangup(&self) -> Option<Hangup> {
        Some(match &self.ends {
            Ends::Tcp { stream, .. } => Hangup::Tcp {
                stream: Arc::clone(stream),
                outgoing: Arc::clone(&self.outgoing),
                next_nudge: Mutex::new(Instant::now()),
            },
            Ends::Pipes { output, .. } => Hangup::Pipe(output.try_clone().ok()?),
        })
    }

    /// Whether something (or the end) can be read without waiting.
    #[must_use]
    pub fn readable_now(&self) -> bool {
        if self.opener.as_ref().is_some_and(Opener::is_ready) {
            return true;
        }
        let found = match &self.ends {
            Ends::Tcp { stream, .. } => platform::poll_now(&**stream, PollFlags::IN),
            Ends::Pipes { input, .. } => platform::poll_now(input, PollFlags::IN),
        };
        found.is_some()
    }
}

impl Ends {
    /// As [`Transport::read`], below the layer.
    fn read(&mut self, buf: &mut [u8], wait: Duration) -> io::Result<usize> {
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
}

/// Sees, without waiting, that there is no client any more to do anything for.
#[derive(Debug)]
pub enum Hangup {
    /// Of a TCP connection.
    Tcp {
        /// The socket.
        stream: Arc<TcpStream>,
        /// As in [`Transport`].
        outgoing: Arc<Mutex<OutgoingQueue>>,
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
    pub(crate) fn has_gone(&self) -> bool {
        match self {
            Self::Pipe(output) => platform::poll_now(output, PollFlags::empty()).is_some(),
            Self::Tcp { stream, outgoing, next_nudge } => {
                let Some(what) = platform::hung_up(&**stream) else { return false };
                if what.intersects(PollFlags::ERR | PollFlags::HUP) {
                    return true;
                }
                let now = Instant::now();
                let mut next = next_nudge.lock();
                if now >= *next
                    && let Some(mut outgoing) = outgoing.try_lock()
                {
                    *next = now.checked_add(NUDGE).unwrap_or(now);
                    let flags = rustix::net::SendFlags::DONTWAIT | rustix::net::SendFlags::NOSIGNAL;
                    return outgoing.nudge(|bytes| rustix::net::send(&**stream, bytes, flags));
                }
                false
            }
        }
    }
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
        let hangup = Transport::pipes(input, output).hangup().unwrap();
        assert!(!hangup.has_gone());
        drop(reader);
        assert!(hangup.has_gone());
    }
}
