//! The monitor's questions and answers: one line of JSON each way, then the connection
//! ends.

use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use serde::{Deserialize, Serialize};

/// Bytes of the longest question.
pub(crate) const QUESTION_MAX: u64 = 64 << 10;
/// Bytes of the longest answer that is believed.
pub(crate) const ANSWER_MAX: u64 = 16 << 20;
/// More changed directories than this are "unknown": a walk is cheaper.
pub(crate) const CHANGED_MAX: usize = 20_000;

/// What identifies a directory, whatever its path is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Identity {
    /// The file system.
    pub device: u64,
    /// The inode.
    pub inode: u64,
}

impl From<&Metadata> for Identity {
    fn from(found: &Metadata) -> Self {
        Self { device: found.dev(), inode: found.ino() }
    }
}

impl Identity {
    /// The mount namespace of this process: mounts differ between namespaces, and a monitor sees
    /// only those of its own.
    ///
    /// # Errors
    /// When there is no `/proc`.
    pub(crate) fn of_mounts() -> std::io::Result<Self> {
        Ok(Self::from(&fs::metadata(Path::new("/proc/self/ns/mnt"))?))
    }
}

/// A point in time in the monitor's knowledge of a working copy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Token {
    /// A random number, made when the watch began, or began again; 0 is none.
    pub watch: u64,
    /// How many changes there were.
    pub at: u64,
}

/// A question.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Question {
    /// What changed in a working copy.
    Since {
        /// Its root.
        root: Identity,
        /// Its path, for a monitor that does not know it yet.
        path: String,
        /// Since when.
        token: Token,
        /// The mount namespace of the client. Without it nothing is known.
        #[serde(default)]
        mounts: Option<Identity>,
    },
    /// Watch a working copy.
    Add {
        /// Its root.
        path: String,
    },
    /// No longer watch one.
    Forget {
        /// Its root.
        path: String,
    },
    /// Which working copies are watched?
    List,
    /// End.
    Stop,
}

/// A directory that changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangedDir {
    /// Its path below the root.
    pub dir: String,
    /// Whether all below it must be taken for changed, too.
    pub below: bool,
}

/// A working copy in a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WatchedCopy {
    /// Its path when it was added.
    pub path: String,
    /// How many directories are watched for it.
    pub directories: u64,
}

/// An answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Answer {
    /// To [`Question::Since`].
    Since {
        /// The moment of the answer.
        now: Token,
        /// What changed; `None` when that is not known.
        changed: Option<Vec<ChangedDir>>,
    },
    /// To [`Question::List`].
    List(Vec<WatchedCopy>),
    /// It is done.
    Done,
    /// It cannot be done.
    Refused(String),
}
