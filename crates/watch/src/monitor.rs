//! The process: waits for events of all working copies and for questions, one after the other.
//!
//! It is the only one that listens at its socket: a lock file beside it (POSIX `fcntl`, gone with the
//! process) says so.

use std::fs::{self, DirBuilder, File};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{FlockOperation, fcntl_lock};

use crate::protocol::{Answer, Identity, QUESTION_MAX, Question, Token, WatchedCopy};
use crate::tree::Tree;
use crate::trees::Trees;
use crate::{Error, Result};

/// How long a client may take for its question: it is one of the user's own programs.
const PATIENCE: Duration = Duration::from_millis(500);
/// How often to look whether to end, in seconds.
const TICK: i64 = 1;
/// The file in `.svn/sapwood` that lets a monitor watch a working copy without a request.
const MARK: &str = ".svn/sapwood/watched";

/// A monitor that has its socket.
#[derive(Debug)]
pub struct Monitor {
    socket: PathBuf,
    listener: UnixListener,
    /// Held as long as the process lives.
    _lock: File,
    trees: Trees,
    /// Its mount namespace; mounts of other namespaces are not visible.
    mounts: Option<Identity>,
    /// Directories that one working copy may have.
    most: usize,
}

impl Monitor {
    /// Takes the socket. Its folder is made, for this user alone.
    ///
    /// # Errors
    /// [`Error::Running`] when another monitor has it; [`Error::NotOwn`] when others may write to the
    /// folder.
    pub fn new(socket: &Path) -> Result<Self> {
        let folder = socket.parent().unwrap_or(Path::new("/"));
        let made = DirBuilder::new().mode(0o700).create(folder);
        if let Err(error) = made
            && error.kind() != std::io::ErrorKind::AlreadyExists
        {
            return Err(Error::io(error, "Can't create directory", folder));
        }
        let found = fs::symlink_metadata(folder);
        let found = found.map_err(|e| Error::io(e, "Can't look at", folder))?;
        let own = found.uid() == rustix::process::geteuid().as_raw();
        if !own || !found.is_dir() || found.mode() & 0o022 != 0 {
            return Err(Error::NotOwn(folder.to_owned()));
        }
        let place = socket.with_extension("lock");
        let lock = File::options().create(true).truncate(false).write(true).open(&place);
        let lock = lock.map_err(|e| Error::io(e, "Can't open", &place))?;
        match fcntl_lock(&lock, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(rustix::io::Errno::AGAIN | rustix::io::Errno::ACCESS) => {
                return Err(Error::Running);
            }
            Err(error) => return Err(Error::io(error, "Can't lock", &place)),
        }
        // That of a monitor that was killed.
        let _ = fs::remove_file(socket);
        let listener = UnixListener::bind(socket);
        let listener = listener.map_err(|e| Error::io(e, "Can't listen at", socket))?;
        Ok(Self {
            socket: socket.to_owned(),
            listener,
            _lock: lock,
            trees: Trees::new()?,
            mounts: Identity::of_mounts().ok(),
            most: usize::MAX,
        })
    }

    /// Refuses working copies of more directories, as the system does beyond its own limit
    /// (`fs.inotify.max_user_watches`, for all of a user's programs together).
    #[must_use]
    pub fn with_most_directories(self, most: usize) -> Self {
        Self { most, ..self }
    }

    /// Watches a working copy, and marks it so that the next monitor watches it without a request.
    ///
    /// # Errors
    /// Why it cannot be watched.
    pub fn add(&mut self, path: &Path) -> Result<()> {
        let found = fs::metadata(path).map_err(|e| Error::io(e, "Can't look at", path))?;
        self.trees.add(path, Identity::from(&found), self.most)?;
        let mark = path.join(MARK);
        if let Some(folder) = mark.parent() {
            let _ = fs::create_dir(folder);
        }
        File::create(&mark).map_err(|e| Error::io(e, "Can't write to file", &mark))?;
        Ok(())
    }

    /// Answers questions until it is asked to stop, `ends` says so, or the socket was removed.
    ///
    /// # Errors
    /// When it can no longer wait for events.
    pub fn run(&mut self, ends: &dyn Fn() -> bool) -> Result<()> {
        let tick = Timespec { tv_sec: TICK, tv_nsec: 0 };
        while !ends() && self.socket.exists() {
            let mut waiting = [
                PollFd::new(&self.listener, PollFlags::IN),
                PollFd::new(self.trees.events(), PollFlags::IN),
            ];
            match poll(&mut waiting, Some(&tick)) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(Error::io(error, "Can't wait at", &self.socket)),
            }
            let [listener, _] = waiting;
            let asked = !listener.revents().is_empty();
            // Copies that can no longer be watched, or are gone, are dropped: questions get the answer "unknown".
            self.trees.catch_up()?;
            if asked
                && let Ok((stream, _)) = self.listener.accept()
                && self.serve(stream).unwrap_or(false)
            {
                break;
            }
        }
        let _ = fs::remove_file(&self.socket);
        Ok(())
    }

    /// Answers one client; whether the monitor is to stop.
    fn serve(&mut self, mut stream: UnixStream) -> std::io::Result<bool> {
        stream.set_nonblocking(false)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        let mut line = String::new();
        BufReader::new((&stream).take(QUESTION_MAX)).read_line(&mut line)?;
        let question: Question = serde_json::from_str(&line)?;
        let stops = question == Question::Stop;
        let mut answer = serde_json::to_vec(&self.answer(question))?;
        answer.push(b'\n');
        stream.write_all(&answer)?;
        Ok(stops)
    }

    fn answer(&mut self, question: Question) -> Answer {
        let answer = |done: Result<()>| match done {
            Ok(()) => Answer::Done,
            Err(error) => Answer::Refused(error.to_string()),
        };
        match question {
            Question::Since { mounts, .. } if mounts.is_none() || mounts != self.mounts => {
                Answer::Since { now: Token::default(), changed: None }
            }
            Question::Since { root, path, token, .. } => self.since(root, Path::new(&path), token),
            Question::Add { path } => answer(self.add(Path::new(&path))),
            Question::Forget { path } => answer(self.forget(Path::new(&path))),
            Question::List => {
                let watched = |tree: &Tree| WatchedCopy {
                    path: tree.path().to_string_lossy().into_owned(),
                    directories: u64::try_from(tree.directories()).unwrap_or(u64::MAX),
                };
                Answer::List(self.trees.iter().map(watched).collect())
            }
            Question::Stop => Answer::Done,
        }
    }

    fn since(&mut self, root: Identity, path: &Path, token: Token) -> Answer {
        if !self.trees.has(root) && path.join(MARK).is_file() {
            let _ = self.add(path);
        }
        let unknown = Answer::Since { now: Token::default(), changed: None };
        match self.trees.since(root, token) {
            Ok(Some((changed, now))) => Answer::Since { now, changed },
            Ok(None) | Err(_) => unknown,
        }
    }

    fn forget(&mut self, path: &Path) -> Result<()> {
        let found = fs::metadata(path).map_err(|e| Error::io(e, "Can't look at", path))?;
        let watched = self.trees.remove(Identity::from(&found));
        let marked = fs::remove_file(path.join(MARK)).is_ok();
        if !watched && !marked {
            return Err(Error::Unwatchable { path: path.to_owned(), why: "it is not watched" });
        }
        Ok(())
    }
}
