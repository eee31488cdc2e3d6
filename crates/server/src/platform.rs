//! What Linux says of this process and of sockets beyond POSIX, and the portable way beside it.
//!
//! Invariant: the portable way is right everywhere, and only knows less; on Linux the tests build it too.

use std::os::fd::AsFd;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// What Linux offers.
#[cfg(target_os = "linux")]
mod linux {
    use std::os::fd::AsFd;

    use rustix::event::PollFlags;
    use sapwood_core::len64;

    /// What poll says at once of a socket whose peer has closed its sending side, or has gone; `None` for neither.
    pub(crate) fn hung_up(socket: &impl AsFd) -> Option<PollFlags> {
        super::poll_now(socket, PollFlags::RDHUP)
    }

    /// The numbers of this process, as `/proc/self/stat` has them (proc(5)).
    pub(crate) fn process_numbers() -> Option<String> {
        std::fs::read_to_string("/proc/self/stat").ok()
    }

    /// The memory of this process in pages, as `/proc/self/statm` has it.
    pub(crate) fn memory_numbers() -> Option<String> {
        std::fs::read_to_string("/proc/self/statm").ok()
    }

    /// How many files this process has open.
    pub(crate) fn open_files() -> Option<u64> {
        Some(len64(std::fs::read_dir("/proc/self/fd").ok()?.count()))
    }
}

/// What every system has.
#[cfg(any(test, not(target_os = "linux")))]
mod portable {
    use std::os::fd::AsFd;

    use rustix::event::PollFlags;
    use rustix::net::{RecvFlags, recv};

    /// The end of what the peer sends is seen once all before it is read.
    pub(crate) fn hung_up(socket: &impl AsFd) -> Option<PollFlags> {
        let found = super::poll_now(socket, PollFlags::IN)?;
        if found.intersects(PollFlags::ERR | PollFlags::HUP) {
            return Some(found);
        }
        let mut byte = [0];
        let seen = recv(socket, &mut byte[..], RecvFlags::PEEK | RecvFlags::DONTWAIT);
        matches!(seen, Ok((0, _)) | Err(rustix::io::Errno::CONNRESET)).then_some(found)
    }

    /// There is none: metrics of the process are left out.
    pub(crate) const fn process_numbers() -> Option<String> {
        None
    }

    /// There is none: caches have their own budget only.
    pub(crate) const fn memory_numbers() -> Option<String> {
        None
    }

    pub(crate) const fn open_files() -> Option<u64> {
        None
    }
}

#[cfg(target_os = "linux")]
pub(crate) use linux::{hung_up, memory_numbers, open_files, process_numbers};
#[cfg(not(target_os = "linux"))]
pub(crate) use portable::{hung_up, memory_numbers, open_files, process_numbers};

/// What poll says at once of a file; `None` for nothing.
pub(crate) fn poll_now(file: &impl AsFd, interest: PollFlags) -> Option<PollFlags> {
    let mut fds = [PollFd::new(file, interest)];
    let no_wait = Timespec { tv_sec: 0, tv_nsec: 0 };
    let found = poll(&mut fds, Some(&no_wait)).is_ok_and(|n| n > 0);
    let [fd] = fds;
    found.then(|| fd.revents())
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::net::{Shutdown, TcpListener, TcpStream};

    use super::*;

    #[test]
    fn the_portable_way_sees_that_a_peer_has_closed() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut peer = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut own, _) = listener.accept().unwrap();
        let both = |own: &TcpStream| [hung_up(own), portable::hung_up(own)].map(|it| it.is_some());
        assert_eq!(both(&own), [false, false]);
        peer.write_all(b"x").unwrap();
        assert_eq!(both(&own), [false, false]);
        peer.shutdown(Shutdown::Write).unwrap();
        assert!(portable::hung_up(&own).is_none(), "there is something to read before the end");
        own.read_exact(&mut [0]).unwrap();
        assert!(own.read(&mut [0]).is_ok_and(|read| read == 0), "the end has come");
        assert_eq!(both(&own), [true, true]);
        assert_eq!(
            (portable::process_numbers(), portable::memory_numbers(), portable::open_files()),
            (None, None, None)
        );
    }
}
