//! Asks `saslauthd` to check a password: it supports PAM, LDAP, Kerberos and others.
//!
//! A request is four strings, each after its length in two bytes; the answer is one, and begins
//! with `OK` when the password is right. After any error the password counts as wrong.

use std::io::{self, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

/// How long to wait for the daemon, and for the services that it asks.
const PATIENCE: Duration = Duration::from_secs(60);
/// The longest answer, in bytes.
const MAX_ANSWER: u16 = 1024;

/// Whether the daemon that listens at `socket` accepts the password of `user` in `realm`.
pub(super) fn accepts(
    socket: &Path,
    user: &str,
    password: &[u8],
    service: &str,
    realm: &str,
) -> bool {
    ask(socket, &[user.as_bytes(), password, service.as_bytes(), realm.as_bytes()])
        .is_ok_and(|answer| answer.starts_with(b"OK"))
}

fn ask(socket: &Path, strings: &[&[u8]]) -> io::Result<Vec<u8>> {
    let mut request = Vec::new();
    for string in strings {
        let len = u16::try_from(string.len()).map_err(|_| io::ErrorKind::InvalidInput)?;
        request.extend_from_slice(&len.to_be_bytes());
        request.extend_from_slice(string);
    }
    let mut stream = UnixStream::connect(socket)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    stream.write_all(&request)?;
    let mut len = [0; 2];
    stream.read_exact(&mut len)?;
    let len = u16::from_be_bytes(len).min(MAX_ANSWER);
    let mut answer = vec![0; usize::from(len)];
    stream.read_exact(&mut answer)?;
    Ok(answer)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixListener;

    #[test]
    fn a_daemon_decides() {
        let dir = tempfile::tempdir().unwrap();
        let socket = dir.path().join("mux");
        assert!(!accepts(&socket, "ada", b"secret", "svn", "place"), "nobody listens");
        let listener = UnixListener::bind(&socket).unwrap();
        let daemon = std::thread::spawn(move || {
            for _ in 0..3 {
                let (mut stream, _) = listener.accept().unwrap();
                let mut strings = Vec::new();
                for _ in 0..4 {
                    let mut len = [0; 2];
                    stream.read_exact(&mut len).unwrap();
                    let mut string = vec![0; usize::from(u16::from_be_bytes(len))];
                    stream.read_exact(&mut string).unwrap();
                    strings.push(String::from_utf8(string).unwrap());
                }
                match &*strings.join("/") {
                    "ada/secret/svn/place" => stream.write_all(b"\0\x02OK").unwrap(),
                    "ada/gone/svn/place" => {}
                    _ => stream.write_all(b"\0\x02NO").unwrap(),
                }
            }
        });
        assert!(accepts(&socket, "ada", b"secret", "svn", "place"));
        assert!(!accepts(&socket, "ada", b"other", "svn", "place"));
        assert!(!accepts(&socket, "ada", b"gone", "svn", "place"));
        assert!(!accepts(&socket, "ada", &[b'x'; 70_000], "svn", "place"));
        daemon.join().unwrap();
    }
}
