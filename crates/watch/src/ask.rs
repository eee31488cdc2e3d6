//! Asking the monitor. A status must never wait long for it, nor fail because of it.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use crate::protocol::{ANSWER_MAX, Answer, ChangedDir, Identity, Question, Token, WatchedCopy};
use crate::{Error, Result};

/// How long a status waits.
const SHORT: Duration = Duration::from_millis(500);
/// How long a person waits until a large working copy is watched.
const LONG: Duration = Duration::from_secs(120);

/// The changes in a working copy since a token, and the present token; `None` when no monitor knows them.
/// The first is `None` when only the second is known.
#[must_use]
pub fn since(socket: &Path, root: &Path, token: Token) -> Option<(Option<Vec<ChangedDir>>, Token)> {
    let identity = Identity::from(&fs::metadata(root).ok()?);
    let path = root.to_str()?.to_owned();
    let mounts = Some(Identity::of_mounts().ok()?);
    match put(socket, &Question::Since { root: identity, path, token, mounts }, SHORT).ok()? {
        Answer::Since { now, changed } => Some((changed, now)),
        _ => None,
    }
}

/// Has a working copy watched.
///
/// # Errors
/// [`Error::NotRunning`]; errors of the monitor.
pub fn add(socket: &Path, root: &Path) -> Result<()> {
    done(put(socket, &Question::Add { path: text(root)? }, LONG)?)
}

/// Has a working copy no longer watched.
///
/// # Errors
/// [`Error::NotRunning`]; errors of the monitor.
pub fn forget(socket: &Path, root: &Path) -> Result<()> {
    done(put(socket, &Question::Forget { path: text(root)? }, LONG)?)
}

/// The working copies that are watched.
///
/// # Errors
/// [`Error::NotRunning`]; errors of the monitor.
pub fn list(socket: &Path) -> Result<Vec<WatchedCopy>> {
    match put(socket, &Question::List, LONG)? {
        Answer::List(list) => Ok(list),
        other => done(other).map(|()| Vec::new()),
    }
}

/// Ends the monitor.
///
/// # Errors
/// [`Error::NotRunning`]; errors of the monitor.
pub fn stop(socket: &Path) -> Result<()> {
    done(put(socket, &Question::Stop, LONG)?)
}

fn text(path: &Path) -> Result<String> {
    let why = "its path is not UTF-8";
    let refused = || Error::Unwatchable { path: path.to_owned(), why };
    path.to_str().map(str::to_owned).ok_or_else(refused)
}

fn done(answer: Answer) -> Result<()> {
    match answer {
        Answer::Done => Ok(()),
        Answer::Refused(why) => Err(Error::Refused(why)),
        other => Err(Error::Refused(format!("The monitor answered {other:?}"))),
    }
}

fn put(socket: &Path, question: &Question, patience: Duration) -> Result<Answer> {
    use std::io::ErrorKind::{BrokenPipe, ConnectionRefused, ConnectionReset, NotFound};
    let failed = |error: std::io::Error| match error.kind() {
        // One that is killed may still take a connection, and then reads nothing.
        NotFound | ConnectionRefused | ConnectionReset | BrokenPipe => Error::NotRunning,
        _ => Error::io(error, "Can't speak with the monitor at", socket),
    };
    // Another user's monitor could say that nothing changed.
    let found = fs::symlink_metadata(socket).map_err(failed)?;
    if found.uid() != rustix::process::geteuid().as_raw() {
        return Err(Error::NotOwn(socket.to_owned()));
    }
    let mut stream = UnixStream::connect(socket).map_err(failed)?;
    stream.set_read_timeout(Some(patience)).map_err(failed)?;
    stream.set_write_timeout(Some(patience)).map_err(failed)?;
    let mut line = serde_json::to_vec(question).map_err(|e| failed(e.into()))?;
    line.push(b'\n');
    stream.write_all(&line).map_err(failed)?;
    let mut answer = String::new();
    BufReader::new(stream.take(ANSWER_MAX)).read_line(&mut answer).map_err(failed)?;
    if answer.is_empty() {
        return Err(Error::NotRunning);
    }
    serde_json::from_str(&answer).map_err(|e| failed(e.into()))
}
