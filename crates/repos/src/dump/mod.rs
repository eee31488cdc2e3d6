//! Dumping: revisions as a stream that `svnadmin load` reads (`docs/formats/dump.md`, formats 2
//! and 3).
//!
//! [`dump`] writes one record a revision and one a changed node, in the order of the replay
//! editor. Without deltas the bytes are those of the reference, whatever the repository's format.
//!
//! Invariants: contents are streamed, never held whole (of a text delta, whose length must stand
//! before it, a bounded part is kept, and it is computed twice when it is larger); revisions are
//! rendered independently of each other, so that several threads can work ahead while the stream
//! is written in order.

pub mod editor;
mod props;
mod record;
mod threads;
mod tracker;

use std::io::Write;

use sapwood_core::FsPath;
use sapwood_core::RelPath;
use sapwood_core::{CancelToken, Depth, ErrorCode, Revnum, SvnError};

use crate::authorizer::{Everything, PathAuthorizer};
use crate::dir_delta::{DirDelta, dir_delta};
use crate::error::Result;
use crate::replay::replay;
use crate::repository::Repository;
use editor::{DumpWarnings, NodeDumper, Settings};
use props::PropsInTurn;

pub use record::write_revision;

/// A warning, with the number that `svnadmin` prints for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WarningKind {
    /// A copy source lies before the first dumped revision.
    OldReference = 0,
    /// Mergeinfo speaks of revisions before the first dumped one.
    OldMergeinfo = 1,
    /// A path that should not be in a repository.
    InvalidPath = 2,
    /// Two names in a directory differ only in the representation of characters.
    NameCollision = 3,
    /// The same for paths in mergeinfo.
    MergeinfoCollision = 4,
    /// Mergeinfo that cannot be read.
    InvalidMergeinfo = 5,
}

impl WarningKind {
    /// The number that `svnadmin` prints (`WARNING 0x0000: ...`).
    #[must_use]
    pub const fn number(self) -> u32 {
        match self {
            Self::OldReference => 0,
            Self::OldMergeinfo => 1,
            Self::InvalidPath => 2,
            Self::NameCollision => 3,
            Self::MergeinfoCollision => 4,
            Self::InvalidMergeinfo => 5,
        }
    }
}

/// What long operations report while they run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Notice {
    /// Something is odd.
    Warning(WarningKind, String),
    /// A revision is complete in the stream.
    Revision(Revnum),
}

/// What to dump, and how.
#[derive(Clone, Copy)]
pub struct DumpOptions<'a> {
    /// The first revision; revision 0 when `None`.
    pub start: Option<Revnum>,
    /// The last revision; the youngest when `None`.
    pub end: Option<Revnum>,
    /// Whether the first revision is dumped as what it changed, not as a whole tree.
    pub incremental: bool,
    /// Format 3, with deltas of properties and texts.
    pub deltas: bool,
    /// Whether to dump the nodes, not only the revision properties.
    pub changes: bool,
    /// Whether to look for what deserves a warning, and to report progress.
    pub notices: bool,
    /// Paths that are not readable through this are left out, as far as possible with everything
    /// that refers to them.
    pub filter: Option<&'a (dyn PathAuthorizer + Sync)>,
    /// Stops the work.
    pub cancel: &'a CancelToken,
    /// How many threads may work ahead of the stream; 0 or 1 for none.
    pub threads: usize,
}

impl std::fmt::Debug for DumpOptions<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DumpOptions")
            .field("start", &self.start)
            .field("end", &self.end)
            .field("incremental", &self.incremental)
            .field("deltas", &self.deltas)
            .field("changes", &self.changes)
            .field("filter", &self.filter.is_some())
            .finish_non_exhaustive()
    }
}

/// The first and last of a range of revisions, checked against the youngest.
///
/// # Errors
/// E165000 kin for ranges that make no sense.
pub(crate) fn check_range(
    start: Option<Revnum>,
    end: Option<Revnum>,
    youngest: Revnum,
) -> std::result::Result<(Revnum, Revnum), SvnError> {
    let start = start.unwrap_or(Revnum::ZERO);
    let end = end.unwrap_or(youngest);
    if start > end {
        return Err(SvnError::new(
            ErrorCode::REPOS_BAD_ARGS,
            format!("Start revision {start} is greater than end revision {end}"),
        ));
    }
    if end > youngest {
        return Err(SvnError::new(
            ErrorCode::REPOS_BAD_ARGS,
            format!("End revision {end} is invalid (youngest revision is {youngest})"),
        ));
    }
    Ok((start, end))
}

/// Writes the dump stream of a range of revisions to `out`.
///
/// # Errors
/// E165003 for a range that makes no sense, E200015 when cancelled; what writing to `out` meets;
/// corruption and system errors.
pub fn dump(
    repository: &Repository,
    options: &DumpOptions<'_>,
    out: &mut dyn Write,
    notify: &mut dyn FnMut(Notice),
) -> Result<()> {
    let fs = repository.fs();
    let (start, end) = check_range(options.start, options.end, fs.youngest()?)?;
    let mut head = Vec::new();
    record::write_magic(&mut head, if options.deltas { 3 } else { 2 }, &fs.uuid()?);
    out.write_all(&head).map_err(record::write_error)?;
    let found = if options.threads > 1 {
        threads::run(repository, options, start, end, out, notify)?
    } else {
        let mut all = DumpWarnings::default();
        let mut props = PropsInTurn::new(repository);
        let mut revision = start;
        while revision <= end {
            check_cancelled(options.cancel)?;
            let props = &mut props;
            let found = dump_revision(repository, options, props, start, revision, out, notify)?;
            all.merge(found);
            if options.notices {
                // A revision is reported only after its records are written.
                out.flush().map_err(record::write_error)?;
                notify(Notice::Revision(revision));
            }
            revision = revision.next();
        }
        all
    };
    if options.notices {
        if found.old_reference {
            notify(Notice::Warning(
                WarningKind::OldReference,
                "The range of revisions dumped contained references to copy sources outside that \
                 range."
                    .to_owned(),
            ));
        }
        if found.old_mergeinfo {
            notify(Notice::Warning(
                WarningKind::OldMergeinfo,
                "The range of revisions dumped contained mergeinfo which reference revisions \
                 outside that range."
                    .to_owned(),
            ));
        }
    }
    Ok(())
}

/// E200015 when the work is to stop.
pub(crate) fn check_cancelled(cancel: &CancelToken) -> std::result::Result<(), SvnError> {
    if cancel.is_cancelled() {
        return Err(SvnError::new(ErrorCode::CANCELLED, "Caught signal"));
    }
    Ok(())
}

/// Writes the records of one revision.
fn dump_revision(
    repository: &Repository,
    options: &DumpOptions<'_>,
    props: &mut PropsInTurn<'_>,
    start: Revnum,
    revision: Revnum,
    out: &mut dyn Write,
    notify: &mut dyn FnMut(Notice),
) -> Result<DumpWarnings> {
    let fs = repository.fs();
    let mut head = Vec::new();
    let filter = options.filter.map(|filter| -> &dyn PathAuthorizer { filter });
    record::write_revision(&mut head, revision, Some(&*props.get(revision, filter)?));
    out.write_all(&head).map_err(record::write_error)?;
    if revision == Revnum::ZERO || !options.changes {
        return Ok(DumpWarnings::default());
    }
    let whole_tree = revision == start && !options.incremental;
    let root = fs.revision_root(revision)?;
    let mut dumper = NodeDumper::new(
        root.clone(),
        revision,
        Settings {
            deltas: options.deltas && !whole_tree,
            oldest: start,
            notices: options.notices,
            verify: false,
            check_normalization: false,
        },
        options.cancel,
        out,
        notify,
    );
    let everything = Everything;
    let authorizer: &dyn PathAuthorizer = match options.filter {
        Some(filter) => filter,
        None => &everything,
    };
    if whole_tree {
        // Compared with the empty tree of revision 0, everything is an addition.
        let request = DirDelta {
            source: &fs.revision_root(Revnum::ZERO)?,
            source_parent: FsPath::ROOT,
            source_entry: "",
            target: &root,
            target_path: FsPath::ROOT,
            text_deltas: false,
            depth: Depth::Infinity,
            entry_props: false,
            ignore_ancestry: false,
            cancel: options.cancel,
        };
        dir_delta(&request, authorizer, &mut dumper)?;
    } else {
        let request =
            sapwood_core::ReplayRequest { low_water_mark: Revnum::ZERO, send_deltas: false };
        replay(&root, RelPath::ROOT, request, authorizer, options.cancel, &mut dumper)?;
    }
    Ok(dumper.warnings())
}
