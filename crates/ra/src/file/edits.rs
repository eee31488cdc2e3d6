//! Update, switch, status, diff and replay, with the caller's editor driven directly.

use sapwood_core::paths::{FsPathBuf, RelPath, Url};
use sapwood_core::{ErrorCode, Revnum, SvnError, SvnResult};
use sapwood_delta::{Editor, ReportEntry};
use sapwood_repos::Reporter;

use super::{ALL, FileSession};
use crate::session::{Edits, ReplayRequest, Report, ReportKind, ReportRequest};

impl FileSession {
    /// The path of another URL of this repository.
    fn path_of_url(&self, url: &Url) -> SvnResult<FsPathBuf> {
        let below = url.below(&self.root_url).ok_or_else(|| {
            SvnError::new(
                ErrorCode::RA_ILLEGAL_URL,
                format!("'{url}'\nis not the same repository as\n'{}'", self.root_url),
            )
        })?;
        Ok(below.to_fspath())
    }
}

impl Edits for FileSession {
    fn report<'s>(
        &'s self,
        request: &ReportRequest<'_>,
        editor: &'s mut dyn Editor,
    ) -> SvnResult<Box<dyn Report + 's>> {
        let anchor = self.fs_path.borrow().clone();
        let mut wanted = sapwood_repos::ReportWalk {
            revision: self.revision(request.revision)?,
            anchor: &anchor,
            target: request.target,
            switch_to: None,
            text_deltas: true,
            depth: request.depth,
            ignore_ancestry: false,
            send_copyfrom_args: false,
        };
        let switch_to = match request.kind {
            ReportKind::Update { send_copyfrom, ignore_ancestry } => {
                wanted.send_copyfrom_args = send_copyfrom;
                wanted.ignore_ancestry = ignore_ancestry;
                None
            }
            ReportKind::Switch { url, send_copyfrom, ignore_ancestry } => {
                wanted.send_copyfrom_args = send_copyfrom;
                wanted.ignore_ancestry = ignore_ancestry;
                Some(self.path_of_url(url)?)
            }
            ReportKind::Status => {
                wanted.text_deltas = false;
                None
            }
            ReportKind::Diff { versus_url, ignore_ancestry, text_deltas } => {
                wanted.text_deltas = text_deltas;
                wanted.ignore_ancestry = ignore_ancestry;
                Some(self.path_of_url(versus_url)?)
            }
        };
        wanted.switch_to = switch_to.as_deref();
        let reporter = Reporter::new(&self.repository, &wanted, ALL, &self.cancel)?;
        Ok(Box::new(FileReport { session: self, reporter, editor }))
    }

    fn replay(
        &self,
        revision: Revnum,
        request: &ReplayRequest,
        editor: &mut dyn Editor,
    ) -> SvnResult<()> {
        let base = self.fs_path.borrow().clone();
        let root = self.fs().revision_root(revision)?;
        sapwood_repos::replay(&root, base.to_relpath(), *request, ALL, &self.cancel, editor)?;
        Ok(())
    }
}

/// A report to the repository.
struct FileReport<'s> {
    session: &'s FileSession,
    reporter: Reporter<'s>,
    editor: &'s mut dyn Editor,
}

impl Report for FileReport<'_> {
    fn entry(&mut self, entry: &ReportEntry<'_>) -> SvnResult<()> {
        let &ReportEntry { path, link, revision, depth, start_empty, lock_token } = entry;
        match link {
            None => {
                self.reporter.set_path(path, Some(revision), depth, start_empty, lock_token)?;
            }
            Some(url) => {
                let link = self.session.path_of_url(url)?;
                self.reporter.link_path(path, &link, revision, depth, start_empty, lock_token)?;
            }
        }
        Ok(())
    }

    fn delete_path(&mut self, path: &RelPath) -> SvnResult<()> {
        Ok(self.reporter.delete_path(path)?)
    }

    fn finish(self: Box<Self>) -> SvnResult<()> {
        let Self { reporter, editor, .. } = *self;
        reporter.finish(editor).map_err(|error| {
            let _ = editor.abort_edit();
            error.into()
        })
    }

    fn abort(self: Box<Self>) -> SvnResult<()> {
        Ok(())
    }
}
