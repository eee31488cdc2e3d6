//! Converting a repository: its revisions are committed again to a filesystem of another kind or format, without a dump
//! in between. Numbers, UUID, properties of revisions, locks, hooks and configuration stay.
//!
//! Several threads read ahead ([`ahead`]). Revisions are committed in order, so a conversion that was interrupted goes on where it stopped, and one that is
//! repeated takes over what has come since. At the end everything is compared ([`verify`], [`tree`]), with the source or with what was
//! read of it to be converted ([`summary`]). The target's file `converted-revision` says how far the comparison came ([`compared`]), so that it goes on there
//! too.

mod ahead;
mod commit;
mod compared;
mod folders;
mod revprops;
mod same;
mod summary;
mod tree;
mod verify;

use std::path::{Path, PathBuf};

use std::sync::Arc;

use sapwood_core::{CancelToken, ErrorCode, Revnum, SvnError, SvnResult};
pub use sapwood_fs::admin::NewFilesystem;
use sapwood_fs::txn::{WriteOptions, Writer};
use sapwood_fs::{Caches, Filesystem, LocalStorage, OpenOptions};

use self::compared::ComparisonState;
use crate::create::create_of;
use crate::repository::Repository;

/// How the target is made and compared.
#[derive(Clone, Copy, Debug)]
pub struct TargetOptions {
    /// The filesystem in it.
    pub fs: NewFilesystem,
    /// As in [`RepositoryOptions`](crate::create::RepositoryOptions).
    pub compatible_minor: Option<u32>,
    /// How many threads read the source, and compare at the end.
    pub threads: usize,
    /// How many revisions are compared, about, before it is noted that they were: a comparison that is interrupted repeats no
    /// more.
    pub compared_at_once: u64,
}

impl TargetOptions {
    /// The usual number of revisions that are compared at once.
    pub const COMPARED_AT_ONCE: u64 = 512;
}

/// What happens during a conversion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// The target is there and has these revisions already.
    Continued(Revnum),
    /// A revision was committed to the target; it may not be visible yet.
    Committed(Revnum),
    /// The revisions to this one were found equal by an earlier run.
    VerifiedBefore(Revnum),
    /// A revision of the target was found equal to that of the source.
    Verified(Revnum),
}

/// Receives events.
pub type Notify<'a> = dyn FnMut(Event) -> SvnResult<()> + 'a;

/// How many transactions' numbers are reserved at once.
const NUMBERS_AT_ONCE: u64 = 1024;

/// Converts the repository in the folder `from` to the one in the folder `to`, which is made with `options` unless it is
/// there. Returns the youngest revision of both.
///
/// # Errors
/// E165000 when the target exists and was not converted from this source; E160004 when the result differs from the source;
/// errors of reading the source and writing the target. What was committed until then stays, for the next try.
pub fn convert(
    from: &Path,
    to: &Path,
    options: &TargetOptions,
    caches: &Arc<Caches>,
    cancel: &CancelToken,
    notify: &mut Notify<'_>,
) -> SvnResult<Revnum> {
    let absolute = |path: &Path| {
        sapwood_core::paths::absolute(path).map_err(|error| {
            SvnError::io(
                &error,
                format_args!("Can't determine absolute path of '{}'", path.display()),
            )
        })
    };
    let (from, to) = (absolute(from)?, absolute(to)?);
    if from == to {
        let message = "Source and target of the conversion are the same";
        return Err(SvnError::new(ErrorCode::INCORRECT_PARAMS, message));
    }
    let source = Filesystem::open(&from.join("db"), caches, &OpenOptions::default())?;
    if !Repository::is_root(&to) {
        make_target(&source, &to, options, caches)?;
    }
    let copy = Filesystem::open(&to.join("db"), caches, &OpenOptions::default())?;
    let done = check_target(&source, &copy, &to)?;
    if done > Revnum::ZERO {
        notify(Event::Continued(done))?;
    }
    let youngest = source.youngest()?;
    let write =
        WriteOptions { flush_to_disk: true, numbers_at_once: NUMBERS_AT_ONCE, batch_reps: true };
    let writer = Writer::new(&copy, write)?;
    let at_once = options.compared_at_once;
    let pair = Pair { source: &source, writer: &writer, threads: options.threads, at_once, cancel };
    let mut compared = ComparisonState::read(&pair, &to, done)?;
    let summaries = commit::revisions(&pair, (done.next(), youngest), notify)?;
    writer.flush_reps();
    folders::copy(&from, &to, cancel)?;
    verify::verify(&pair, youngest, &mut compared, &summaries, notify)?;
    Ok(youngest)
}

/// Source and target, and how they are worked on.
struct Pair<'a> {
    source: &'a Filesystem,
    writer: &'a Arc<Writer>,
    threads: usize,
    at_once: u64,
    cancel: &'a CancelToken,
}

impl Pair<'_> {
    fn target(&self) -> &Filesystem {
        self.writer.fs()
    }
}

/// Makes an empty target with the UUID of the source. It appears at its path when it is complete.
fn make_target(
    source: &Filesystem,
    to: &Path,
    options: &TargetOptions,
    caches: &Arc<Caches>,
) -> SvnResult<()> {
    let io = |error: &std::io::Error, what: &str, path: &Path| {
        SvnError::io(error, format_args!("{what} '{}'", path.display()))
    };
    match std::fs::read_dir(to).map(|mut entries| entries.next().is_some()) {
        Ok(true) => {
            let message = format!("'{}' exists and is non-empty", to.display());
            return Err(SvnError::new(ErrorCode::DIR_NOT_EMPTY, message));
        }
        Ok(false) => std::fs::remove_dir(to).map_err(|e| io(&e, "Can't remove", to))?,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
        Err(error) => return Err(io(&error, "Can't open directory", to)),
    }
    let beside = beside(to)?;
    match std::fs::remove_dir_all(&beside) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            return Err(io(&error, "Can't remove", &beside));
        }
        _ => {}
    }
    let uuid = source.uuid()?;
    create_of(&beside, &options.fs, options.compatible_minor)?;
    let made = Filesystem::open(&beside.join("db"), caches, &OpenOptions::default())?;
    Writer::new(&made, WriteOptions::default())?.set_uuid(&uuid)?;
    std::fs::rename(&beside, to).map_err(|e| io(&e, "Can't move to", to))
}

/// The folder in which a target is made.
fn beside(to: &Path) -> SvnResult<PathBuf> {
    let name = to.file_name().ok_or_else(|| {
        SvnError::new(ErrorCode::BAD_FILENAME, format!("'{}' has no name", to.display()))
    })?;
    let mut hidden = std::ffi::OsString::from(".");
    hidden.push(name);
    hidden.push(".converting");
    Ok(to.with_file_name(hidden))
}

/// That the target was converted from the source: the youngest revision that it has.
fn check_target(source: &Filesystem, target: &Filesystem, to: &Path) -> SvnResult<Revnum> {
    let other = |why: &str| {
        let path = to.display();
        let message = format!("'{path}' is not a conversion of this repository: {why}");
        SvnError::new(ErrorCode::REPOS_BAD_ARGS, message)
    };
    if source.uuid()? != target.uuid()? {
        return Err(other("it has another UUID"));
    }
    let youngest = target.youngest()?;
    if youngest > source.youngest()? {
        return Err(other("it has more revisions"));
    }
    if youngest > Revnum::ZERO && !same::same_changes(source, target, youngest)? {
        return Err(other(&format!("revision {youngest} differs")));
    }
    Ok(youngest)
}

/// The error that names a difference.
fn differs(revision: Revnum, what: &str) -> SvnError {
    let message = format!("Revision {revision} differs from that of the source: {what}");
    SvnError::new(ErrorCode::FS_CORRUPT, message)
}

/// The storage that conversions write to.
const STORAGE: LocalStorage = LocalStorage;
