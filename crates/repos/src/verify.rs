//! Whether a repository is whole: what `svnadmin verify` does.
//!
//! First the filesystem's own files and indexes, then every revision: its tree, and a dump of it
//! whose output is thrown away but for which everything is read with its checksums, and every
//! change is checked to be possible.

use std::io;
use std::time::{Duration, Instant};

use sapwood_core::RelPath;
use sapwood_core::{CancelToken, Revnum, SvnError, SvnResult};
use sapwood_store::ordered::{self, Outlet, ReceiverGone};

use crate::authorizer::Everything;
use crate::dump::editor::{NodeDumper, Settings};
use crate::dump::{Notice, WarningKind, check_cancelled, check_range};
use crate::error::Result;
use crate::replay::replay;
use crate::repository::Repository;

/// What to verify, and how.
#[derive(Clone, Copy, Debug)]
pub struct VerifyOptions<'a> {
    /// The first revision; revision 0 when `None`.
    pub start: Option<Revnum>,
    /// The last revision; the youngest when `None`.
    pub end: Option<Revnum>,
    /// Look for names that differ only in the representation of characters.
    pub check_normalization: bool,
    /// Leave out what takes long: only files and indexes.
    pub metadata_only: bool,
    /// Whether the caller takes warnings.
    pub notices: bool,
    /// Stops the work.
    pub cancel: &'a CancelToken,
    /// How many threads may work ahead; 0 or 1 for none.
    pub threads: usize,
}

/// What verifying reports while it runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum VerifyNotice {
    /// Files and indexes are being checked, from this revision on; those of the whole repository
    /// when `None`.
    Metadata(Option<Revnum>),
    /// Something is odd.
    Warning(WarningKind, String),
    /// A revision is whole.
    Revision(Revnum),
    /// A revision (the files and indexes, when `None`) is not. Verifying goes on unless the
    /// receiver returns an error.
    Error(Option<Revnum>, SvnError),
}

/// Verifies a range of revisions.
///
/// # Errors
/// What `notify` returns; E165003 kin for a range that makes no sense, E200015 when cancelled.
pub fn verify(
    repository: &Repository,
    options: &VerifyOptions<'_>,
    notify: &mut dyn FnMut(VerifyNotice) -> SvnResult<()>,
) -> Result<()> {
    let fs = repository.fs();
    let (start, end) = check_range(options.start, options.end, fs.youngest()?)?;
    let mut stopped = None;
    let metadata = fs.verify_metadata(
        Some(start),
        Some(end),
        options.threads,
        options.cancel,
        &mut |revision| {
            if stopped.is_none() {
                stopped = notify(VerifyNotice::Metadata(revision)).err();
            }
        },
    );
    if let Some(error) = stopped {
        return Err(error.into());
    }
    check_cancelled(options.cancel)?;
    if let Err(error) = metadata {
        notify(VerifyNotice::Error(None, error.into()))?;
    }
    if options.metadata_only {
        return Ok(());
    }
    if options.threads > 1 {
        return verify_in_threads(repository, options, start, end, notify);
    }
    let mut revision = start;
    while revision <= end {
        let notice = verify_one(repository, options, start, revision, notify)?;
        notify(notice)?;
        revision = revision.next();
    }
    Ok(())
}

/// How long a thread holds back its messages.
const KEEP: Duration = Duration::from_millis(100);

/// The same, with several threads some revisions ahead of what is reported.
fn verify_in_threads(
    repository: &Repository,
    options: &VerifyOptions<'_>,
    start: Revnum,
    end: Revnum,
    notify: &mut dyn FnMut(VerifyNotice) -> SvnResult<()>,
) -> Result<()> {
    type Message = SvnResult<Vec<VerifyNotice>>;
    let work = |(first, last): (Revnum, Revnum), to: &Outlet<'_, Message>| {
        let mut last_sent = Instant::now();
        let mut notices = Vec::new();
        for revision in (first.0..=last.0).map(Revnum) {
            let done = verify_one(repository, options, start, revision, &mut |notice| {
                notices.push(notice);
                Ok(())
            });
            match done {
                Ok(notice) => notices.push(notice),
                Err(error) => {
                    to.send(Ok(notices))?;
                    to.send(Err(error))?;
                    return Err(ReceiverGone);
                }
            }
            if last_sent.elapsed() > KEEP {
                last_sent = Instant::now();
                to.send(Ok(std::mem::take(&mut notices)))?;
            }
        }
        to.send(Ok(notices))
    };
    let batches = ordered::batches(start, end);
    ordered::run(batches, options.threads, &work, &mut |message| -> Result<()> {
        Ok(message?.into_iter().try_for_each(&mut *notify)?)
    })
}

/// Verifies a revision. Returns what is to be reported of it at the end. E200015 when cancelled.
fn verify_one(
    repository: &Repository,
    options: &VerifyOptions<'_>,
    start: Revnum,
    revision: Revnum,
    notify: &mut dyn FnMut(VerifyNotice) -> SvnResult<()>,
) -> SvnResult<VerifyNotice> {
    check_cancelled(options.cancel)?;
    match verify_revision(repository, options, start, revision, notify) {
        Ok(()) => Ok(VerifyNotice::Revision(revision)),
        Err(error) => {
            check_cancelled(options.cancel)?;
            Ok(VerifyNotice::Error(Some(revision), error.into()))
        }
    }
}

fn verify_revision(
    repository: &Repository,
    options: &VerifyOptions<'_>,
    start: Revnum,
    revision: Revnum,
    notify: &mut dyn FnMut(VerifyNotice) -> SvnResult<()>,
) -> Result<()> {
    let fs = repository.fs();
    fs.verify_revision(revision, options.cancel)?;
    let root = fs.revision_root(revision)?;
    let mut sink = io::sink();
    let mut forward = |notice| {
        if let Notice::Warning(kind, text) = notice {
            // Warnings are for people; that their reader has gone shows elsewhere.
            let _ = notify(VerifyNotice::Warning(kind, text));
        }
    };
    let settings = Settings {
        deltas: false,
        oldest: start,
        notices: options.notices,
        verify: true,
        check_normalization: options.check_normalization,
    };
    let cancel = options.cancel;
    let mut dumper =
        NodeDumper::new(root.clone(), revision, settings, cancel, &mut sink, &mut forward);
    let request = sapwood_core::ReplayRequest { low_water_mark: Revnum::ZERO, send_deltas: false };
    replay(&root, RelPath::ROOT, request, &Everything, cancel, &mut dumper)?;
    fs.revprops(revision)?;
    Ok(())
}
