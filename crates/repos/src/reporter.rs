//! Update reports: what a working copy has, and the edit that brings it to a revision.
//!
//! The client describes its working copy entry by entry (depth first, parents before children).
//! Entries are spooled ([`spool`]) until the report is complete; then the source tree that they
//! describe and the target revision are walked side by side ([`drive`]), with a stack of our own,
//! and the differences go to an editor.

mod backwards;
mod drive;
mod files;
mod spool;

use sapwood_core::FsPath;
use sapwood_core::paths::FsPathBuf;
use sapwood_core::{CancelToken, Depth, ErrorCode, Revnum, SvnError, path};
use sapwood_delta::Editor;
use sapwood_fs::Roots;
use sapwood_fs::read_ahead::ColdReads;

use crate::authorizer::PathAuthorizer;
use crate::error::Result;
use crate::repository::Repository;
use drive::Drive;
use spool::{PathInfo, Spool};

/// The trees that a report compares, and how. Every request of either protocol is mapped to it, also
/// requests that no session of ours sends (`ReportKind` of `core` lists those that it sends).
#[derive(Clone, Copy, Debug)]
pub struct ReportWalk<'a> {
    /// The revision to bring the working copy to.
    pub revision: Revnum,
    /// The fspath of the directory that the report's paths are relative to (the anchor).
    pub anchor: &'a FsPath,
    /// The target: one name below the anchor, or empty for the anchor itself.
    pub target: &'a str,
    /// The fspath to switch to or to compare with, `None` to stay.
    pub switch_to: Option<&'a FsPath>,
    /// Whether to send text deltas (else empty stand-ins).
    pub text_deltas: bool,
    /// The requested depth; [`Depth::Unknown`] to keep what the working copy has.
    pub depth: Depth,
    /// Whether unrelated nodes count as changes of one another.
    pub ignore_ancestry: bool,
    /// Whether additions may be sent as copies.
    pub send_copyfrom_args: bool,
}

/// A report that is being received.
pub struct Reporter<'a> {
    repository: Repository,
    revision: Revnum,
    anchor: FsPathBuf,
    target: String,
    target_path: FsPathBuf,
    is_switch: bool,
    text_deltas: bool,
    depth: Depth,
    ignore_ancestry: bool,
    send_copyfrom_args: bool,
    authorizer: &'a dyn PathAuthorizer,
    cancel: CancelToken,
    spool: Spool,
}

impl std::fmt::Debug for Reporter<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Reporter")
            .field("revision", &self.revision)
            .field("anchor", &self.anchor)
            .field("target", &self.target)
            .finish_non_exhaustive()
    }
}

fn bad_args(message: impl Into<String>) -> crate::Error {
    SvnError::new(ErrorCode::REPOS_BAD_ARGS, message).into()
}

fn bad_report(message: &str) -> crate::Error {
    SvnError::new(ErrorCode::REPOS_BAD_REVISION_REPORT, message).into()
}

impl<'a> Reporter<'a> {
    /// Begins a report.
    ///
    /// # Errors
    /// E165002 for a depth that cannot be requested.
    pub fn new(
        repository: &Repository,
        walk: &ReportWalk<'_>,
        authorizer: &'a dyn PathAuthorizer,
        cancel: &CancelToken,
    ) -> Result<Self> {
        if walk.depth == Depth::Exclude {
            return Err(bad_args("Request depth 'exclude' not supported"));
        }
        let anchor = walk.anchor.to_owned();
        let target_path = match walk.switch_to {
            Some(switch) => switch.to_owned(),
            None => FsPathBuf::canonicalized(path::join(&anchor, walk.target)),
        };
        Ok(Self {
            repository: repository.clone(),
            revision: walk.revision,
            anchor,
            target: walk.target.to_owned(),
            target_path,
            is_switch: walk.switch_to.is_some(),
            text_deltas: walk.text_deltas,
            depth: walk.depth,
            ignore_ancestry: walk.ignore_ancestry,
            send_copyfrom_args: walk.send_copyfrom_args,
            authorizer,
            cancel: cancel.clone(),
            spool: Spool::new(),
        })
    }

    /// The working copy has `path` (a relpath below the anchor and target) at `revision`, as deep
    /// as `depth`.
    ///
    /// # Errors
    /// E165002 for an unknown depth; when the report cannot be stored.
    pub fn set_path(
        &mut self,
        path: &str,
        revision: Option<Revnum>,
        depth: Depth,
        start_empty: bool,
        lock_token: Option<&str>,
    ) -> Result<()> {
        self.add(path, None, revision, depth, start_empty, lock_token)
    }

    /// The working copy has at `path` what is at the fspath `link` in `revision`.
    ///
    /// # Errors
    /// As [`Reporter::set_path`].
    pub fn link_path(
        &mut self,
        path: &str,
        link: &FsPath,
        revision: Revnum,
        depth: Depth,
        start_empty: bool,
        lock_token: Option<&str>,
    ) -> Result<()> {
        if depth == Depth::Exclude {
            return Err(bad_args("Depth 'exclude' not supported for link"));
        }
        self.add(path, Some(link), Some(revision), depth, start_empty, lock_token)
    }

    /// The working copy has nothing at `path`.
    ///
    /// # Errors
    /// As [`Reporter::set_path`].
    pub fn delete_path(&mut self, path: &str) -> Result<()> {
        self.add(path, None, None, Depth::Infinity, false, None)
    }

    fn add(
        &mut self,
        path: &str,
        link: Option<&FsPath>,
        revision: Option<Revnum>,
        depth: Depth,
        start_empty: bool,
        lock_token: Option<&str>,
    ) -> Result<()> {
        if depth == Depth::Unknown {
            return Err(bad_args("Unsupported report depth 'unknown'"));
        }
        self.spool.write(&PathInfo {
            // Relative to the anchor, as the edit's paths are.
            path: path::join(&self.target, path),
            link: link.map(FsPath::to_owned),
            revision,
            depth,
            start_empty,
            lock_token: lock_token.map(str::to_owned),
        })
    }

    /// The report is complete: drives `editor` to the end. Once the drive has begun, the edit is
    /// closed or, when something fails, aborted here.
    ///
    /// # Errors
    /// E165004 for a report that does not describe the target; other errors for the report's
    /// content; what the editor returns; corruption and system errors.
    pub fn finish(self, editor: &mut dyn Editor) -> Result<()> {
        let mut entries = self.spool.read()?;
        let invalid = "Invalid report for top level of working copy";
        let mut info = entries
            .next()?
            .filter(|info| info.path == self.target && info.link.is_none())
            .ok_or_else(|| bad_report(invalid))?;
        let source_revision = info.revision.ok_or_else(|| bad_report(invalid))?;
        let mut lookahead = entries.next()?;
        if let Some(next) = lookahead.take_if(|next| next.path == self.target) {
            // The target is switched or deleted: the first entry only said which revision the
            // anchor has.
            if self.target.is_empty() {
                return Err(bad_report("Two top-level reports with no target"));
            }
            let depth = if next.revision.is_none() { info.depth } else { next.depth };
            info = PathInfo { depth, ..next };
            lookahead = entries.next()?;
        }
        let fs = self.repository.fs();
        let target_root = fs.revision_root(self.revision)?;
        let mut drive = Drive {
            fs,
            roots: Roots::new(fs),
            revision: self.revision,
            target_root,
            source_roots: Roots::new(fs),
            uuid: fs.uuid()?,
            revprops: fs.revprops_snapshot(),
            is_switch: self.is_switch,
            text_deltas: self.text_deltas,
            ignore_ancestry: self.ignore_ancestry,
            send_copyfrom_args: self.send_copyfrom_args,
            authorizer: self.authorizer,
            cancel: &self.cancel,
            entries,
            lookahead,
            ahead: ColdReads::new(fs),
            top: None,
            backwards: None,
            editor,
        };
        let driven = drive.run(
            source_revision,
            info,
            &self.anchor,
            &self.target,
            &self.target_path,
            self.depth,
        );
        match driven {
            Ok(()) => Ok(editor.close_edit()?),
            Err(e) => match editor.abort_edit() {
                Ok(()) => Err(e),
                Err(also) => Err(SvnError::from(e).with_cause(also).into()),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::authorizer::Everything;
    use sapwood_delta::IgnoreAll;
    use sapwood_fs::{Caches, OpenOptions};
    use sapwood_testkit::Shape;

    #[test]
    fn entries_that_are_not_canonical_are_looked_up() {
        let made = sapwood_testkit::Repository::scripted(&Shape::new("1.10"));
        let caches = Caches::new(1 << 20);
        let repository = Repository::open(&made.path(), &caches, &OpenOptions::default()).unwrap();
        let youngest = repository.fs().youngest().unwrap();
        for path in ["trunk//x", "//trunk"] {
            let walk = ReportWalk {
                revision: youngest,
                anchor: FsPath::ROOT,
                target: "",
                switch_to: None,
                text_deltas: false,
                depth: Depth::Infinity,
                ignore_ancestry: false,
                send_copyfrom_args: false,
            };
            let cancel = CancelToken::new();
            let mut reporter = Reporter::new(&repository, &walk, &Everything, &cancel).unwrap();
            let before = Some(Revnum(youngest.0.saturating_sub(1)));
            reporter.set_path("", before, Depth::Infinity, false, None).unwrap();
            reporter.set_path(path, before, Depth::Infinity, false, None).unwrap();
            let error = SvnError::from(reporter.finish(&mut IgnoreAll).unwrap_err());
            assert_eq!(error.code(), ErrorCode::FS_NOT_FOUND, "{path}: {error}");
        }
    }
}
