//! Where the bytes of a connection go to and come from: a TCP socket, the pipes of a tunnel's
//! command, or (in tests) bytes in memory.

use std::io::{self, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::process::{Child, ChildStdin, ChildStdout};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use sapwood_core::{SvnError, SvnResult};
use sapwood_wire_svn::buffer::write_both;

use crate::error::Error;

/// One connection's two directions.
#[derive(Debug)]
pub enum Transport {
    /// A socket.
    Tcp(TcpStream),
    /// A command that was started for this connection; it is stopped when this is dropped.
    Tunnel {
        /// The command.
        child: Child,
        /// To its standard input.
        input: ChildStdin,
        /// From its standard output.
        output: ChildStdout,
    },
    /// A server that sends these bytes, whatever it receives.
    Recorded(io::Cursor<Vec<u8>>),
}

impl Transport {
    /// Connects to a host, trying all of its addresses.
    ///
    /// # Errors
    /// E670002 for an unknown name; what the last address that was tried says.
    pub fn connect(host: &str, port: u16) -> SvnResult<Self> {
        let unknown = || SvnError::from(Error::UnknownHost(host.to_owned()));
        let mut refused = unknown();
        for address in (host, port).to_socket_addrs().map_err(|_| unknown())? {
            match TcpStream::connect(address) {
                Ok(stream) => {
                    // Neither is fatal: the connection works without.
                    let _ = stream.set_nodelay(true);
                    let _ = socket2::SockRef::from(&stream).set_keepalive(true);
                    return Ok(Self::Tcp(stream));
                }
                Err(e) => {
                    refused = SvnError::io(&e, format_args!("Can't connect to host '{host}'"));
                }
            }
        }
        Err(refused)
    }

    /// Reads some bytes; 0 at the end.
    ///
    /// # Errors
    /// System errors.
    pub fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        loop {
            let result = match self {
                Self::Tcp(stream) => stream.read(buf),
                Self::Tunnel { output, .. } => output.read(buf),
                Self::Recorded(bytes) => bytes.read(buf),
            };
            match result {
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                other => return other,
            }
        }
    }

    /// Writes two pieces, one after the other, in as few calls as can be.
    ///
    /// # Errors
    /// System errors.
    pub fn write_both(&mut self, first: &[u8], second: &[u8]) -> io::Result<()> {
        let out: &mut dyn Write = match self {
            Self::Tcp(stream) => stream,
            Self::Tunnel { input, .. } => input,
            Self::Recorded(_) => return Ok(()),
        };
        write_both(out, first, second)
    }

    /// Whether the other side has closed the connection, and everything that it said was read.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        if !self.readable_now() {
            return false;
        }
        match self {
            // What can be read without waiting is the end, an error, or something unasked for.
            Self::Tcp(stream) => !matches!(stream.peek(&mut [0]), Ok(1..)),
            Self::Tunnel { output, .. } => rustix::io::ioctl_fionread(output).is_ok_and(|n| n == 0),
            Self::Recorded(_) => false,
        }
    }

    /// Whether something (or the end) can be read without waiting.
    #[must_use]
    pub fn readable_now(&self) -> bool {
        let mut fds = [match self {
            Self::Tcp(stream) => PollFd::new(stream, PollFlags::IN),
            Self::Tunnel { output, .. } => PollFd::new(output, PollFlags::IN),
            Self::Recorded(_) => return false,
        }];
        let no_wait = Timespec { tv_sec: 0, tv_nsec: 0 };
        poll(&mut fds, Some(&no_wait)).is_ok_and(|n| n > 0)
    }
}

impl Drop for Transport {
    fn drop(&mut self) {
        if let Self::Tunnel { child, .. } = self {
            // Closing the pipes is not enough for every kind of tunnel. It may be gone already.
            if let Some(pid) =
                i32::try_from(child.id()).ok().and_then(rustix::process::Pid::from_raw)
            {
                let _ = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
            }
            let _ = child.wait();
        }
    }
}
