//! What Linux says of a process's signals and of names of sockets beyond POSIX, and the portable way beside it.
//!
//! Invariant: the portable way is right everywhere, and only does less; on Linux the tests build it too.

/// What Linux offers.
#[cfg(target_os = "linux")]
mod linux {
    use std::ffi::OsStr;
    use std::io;
    use std::os::linux::net::SocketAddrExt as _;
    use std::os::unix::ffi::OsStrExt as _;
    use std::os::unix::net::SocketAddr;

    use sapwood_core::exact::Exact as _;

    /// Whether the process was started with a signal ignored.
    pub(crate) fn is_ignored(signal: i32) -> bool {
        let mask = sapwood_wc::platform::status_number("SigIgn", 16).unwrap_or(0);
        let bit = u32::try_from(signal).ok().and_then(|s| 1u64.checked_shl(s.minus(1)));
        bit.is_some_and(|bit| mask & bit != 0)
    }

    /// The socket with a supervisor's name for it: a path, or after `@` a name that is in no folder.
    pub(crate) fn socket_address(name: &OsStr) -> io::Result<SocketAddr> {
        match name.as_bytes() {
            [b'@', name @ ..] => SocketAddr::from_abstract_name(name),
            _ => SocketAddr::from_pathname(name),
        }
    }
}

/// What every system has.
#[cfg(any(test, not(target_os = "linux")))]
mod portable {
    use std::ffi::OsStr;
    use std::io;
    use std::os::unix::net::SocketAddr;

    /// What is not known counts as ignored: then the signal does what it did before the program started, and a `nohup` stays
    /// what it is.
    pub(crate) const fn is_ignored(_: i32) -> bool {
        true
    }

    pub(crate) fn socket_address(name: &OsStr) -> io::Result<SocketAddr> {
        SocketAddr::from_pathname(name)
    }
}

#[cfg(target_os = "linux")]
pub(crate) use linux::{is_ignored, socket_address};
#[cfg(not(target_os = "linux"))]
pub(crate) use portable::{is_ignored, socket_address};

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use std::ffi::OsStr;
    use std::path::Path;

    use super::*;

    #[test]
    fn the_portable_way_serves_the_same_purpose() {
        let name = OsStr::new("/run/notify");
        for address in [socket_address(name), portable::socket_address(name)] {
            assert_eq!(address.unwrap().as_pathname(), Some(Path::new("/run/notify")));
        }
        assert_eq!(socket_address(OsStr::new("@notify")).unwrap().as_pathname(), None);
        // No signal that is ignored is taken, and none is ignored that a test needs.
        assert!(portable::is_ignored(1) && !is_ignored(15));
    }
}
