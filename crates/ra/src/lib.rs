//! Sessions to a repository, wherever it is, behind one trait.
//!
//! [`open()`] looks at a URL's scheme and gives a [`Session`]: `file:` is a repository opened in this
//! process ([`mod@file`]), `svn:` and `svn+TUNNEL:` talk to a server ([`svn`]), `http:` to a
//! server of WebDAV ([`http`]). What differs between
//! them (how the user is known, what the other side can do) stays inside; callers only see the
//! trait and errors with their E-codes.
//!
//! Everything that depends on the person or machine (configuration, credentials, environment
//! variables, who is logged in) comes in as a value: [`Settings`] and [`auth::Authenticator`].
//!
//! Invariant: no reply of a server, whatever it says, makes this crate panic or take memory that
//! is not in proportion to the bytes that really arrived; texts and listings of any size stream.

pub mod auth;
mod caches;
pub mod error;
pub mod file;
pub mod http;
mod log_limit;
mod open;
pub mod session;
pub mod settings;
pub mod svn;

pub use caches::FileCaches;
pub use error::{Error, Result};
pub use open::{open, open_following};
pub use session::{
    Capability, CommitEditor, CommitInfo, CommitRequest, Commits, Dirent, DirentFields, Edits,
    EntryReceiver, FetchedDir, FetchedFile, FileRev, FileRevReceiver, FileRevsRequest, Files,
    History, InheritedProps, LateFailure, ListRequest, LockReceiver, Locks, LogChange, LogEntry,
    LogReceiver, LogRequest, MergeinfoRequest, Nodes, ReplayReceiver, ReplayRequest, ReplayedEdit,
    Report, ReportKind, ReportRequest, Revisions, RevpropChange, Session, SessionInfo,
};
pub use settings::Settings;

pub use sapwood_core::{Inherit, Lock, RevpropSelection, Segment};
