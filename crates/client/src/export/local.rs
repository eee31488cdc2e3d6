//! Exports of working copies: what status finds is copied, as it is on disk or as it was checked out.

use std::collections::HashMap;
use std::fs::{self, DirBuilder};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::Path;

use sapwood_core::date::Timestamp;
use sapwood_core::notify::Action;
use sapwood_core::paths::{RelPath, UrlBuf};
use sapwood_core::{ErrorCode, NodeKind, Sha1, SvnError, SvnResult, path};
use sapwood_wc::WorkingCopy;
use sapwood_wc::db::Presence;
use sapwood_wc::ignore::{DEFAULT_GLOBAL_IGNORES, Patterns};
use sapwood_wc::status::{Options, State, Status};
use sapwood_wc::view::View;

use super::behind::{BackgroundWriter, FileCopy, Step, WrittenPath};
use super::file_form::FileForm;
use super::obstructions::refuse_existing;
use super::source::Source;
use super::{Export, cannot_create_dir, notify_kind};
use crate::cat::file_time;
use crate::context::Context;
use crate::revision::Revision;
use crate::text_base::{TextNotices, with_text_bases};

/// Exports a path of a working copy: with revision `WORKING` what is on disk, else the pristine texts.
pub(super) fn export(ctx: &Context, from: &Path, to: &Path, how: &Export) -> SvnResult<()> {
    let (wc, relpath) = ctx.working_copy(from)?;
    let is_file = fs::symlink_metadata(from).is_ok_and(|found| found.is_file());
    let to = match is_file && to.is_dir() {
        true => to.join(path::basename(&relpath)),
        false => to.to_owned(),
    };
    with_text_bases(ctx, (&wc, &relpath), TextNotices::No, || nodes(ctx, &wc, &relpath, &to, how))?;
    if !how.ignore_externals {
        let rows = wc.db().externals(RelPath::ROOT)?;
        for row in rows.into_iter().filter(|row| path::is_ancestor(&relpath, &row.def_relpath)) {
            let below = path::rest_below(&relpath, &row.relpath)?;
            let goal = to.join(below);
            if let Some(parent) = goal.parent() {
                fs::create_dir_all(parent).map_err(|e| cannot_create_dir(parent, &e))?;
            }
            let inner = Export { overwrite: true, ..*how };
            export(ctx, &wc.abspath(&row.relpath), &goal, &inner)?;
        }
    }
    ctx.notify_path(&to, Action::UpdateCompleted, None);
    Ok(())
}

/// Exports what is at and below a path, without externals.
fn nodes(
    ctx: &Context,
    wc: &WorkingCopy,
    relpath: &RelPath,
    to: &Path,
    how: &Export,
) -> SvnResult<()> {
    let walk = Options {
        depth: how.depth,
        all: true,
        layers: false,
        no_ignore: true,
        unversioned: false,
        kinds_only: false,
        ignores: Patterns::of_config(DEFAULT_GLOBAL_IGNORES),
        cancel: ctx.cancel().clone(),
    };
    let mut export =
        Walk { ctx, wc, how, roots: HashMap::new(), behind: BackgroundWriter::default() };
    let mut found = false;
    let walked = wc.status(relpath, &walk, &mut |status| {
        found = true;
        let below = path::rest_below(relpath, &status.relpath)?;
        let goal = if below.is_empty() { to.to_owned() } else { to.join(below) };
        export.node(&status, &goal, below.is_empty()).map_err(Into::into)
    });
    // What came before a failure is written.
    export.finish()?;
    walked?;
    if !found {
        return Err(not_found(&wc.abspath(relpath)));
    }
    Ok(())
}

fn not_found(path: &Path) -> SvnError {
    let message = format!("The node '{}' was not found.", path.display());
    SvnError::new(ErrorCode::WC_PATH_NOT_FOUND, message)
}

/// An export on its way through a working copy.
struct Walk<'e> {
    ctx: &'e Context,
    wc: &'e WorkingCopy,
    how: &'e Export,
    /// The roots of repositories by their numbers.
    roots: HashMap<i64, UrlBuf>,
    behind: BackgroundWriter,
}

impl Walk<'_> {
    /// Writes all that waits.
    fn finish(&mut self) -> SvnResult<()> {
        let ctx = self.ctx;
        self.behind.finish(&mut |written| notify(ctx, &written))
    }

    fn add(&mut self, step: Step) -> SvnResult<()> {
        let ctx = self.ctx;
        self.behind.add(step, &mut |written| notify(ctx, &written))
    }

    fn node(&mut self, status: &Status, to: &Path, is_root: bool) -> SvnResult<()> {
        let working = self.how.revision == Revision::Working;
        if working && status.node == State::Deleted {
            return Ok(());
        }
        match status.kind {
            Some(NodeKind::Dir) => self.dir(status, to, is_root),
            Some(NodeKind::File) if status.file_external && !is_root => Ok(()),
            Some(NodeKind::File) => {
                if is_root {
                    refuse_existing(to, &to.to_string_lossy(), self.how)?;
                }
                self.file(status, to)
            }
            None if is_root => Err(not_found(&self.wc.abspath(&status.relpath))),
            None => Ok(()),
        }
    }

    fn dir(&mut self, status: &Status, to: &Path, is_root: bool) -> SvnResult<()> {
        let mut mode = 0o777;
        if self.how.revision == Revision::Working {
            let from = self.wc.abspath(&status.relpath);
            let found = fs::metadata(&from)
                .map_err(|e| SvnError::io(&e, format!("Can't stat '{}'", from.display())))?;
            mode = found.mode() & 0o777;
        }
        match DirBuilder::new().mode(mode).create(to) {
            Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => {
                return Err(cannot_create_dir(to, &error));
            }
            Err(error) if !self.how.overwrite => {
                return Err(cannot_create_dir(to, &error).context(
                    "Destination directory exists, and will not be overwritten unless forced",
                ));
            }
            _ => {}
        }
        match is_root {
            true => Ok(()),
            false => self.add(Step::Dir(to.to_string_lossy().into_owned())),
        }
    }

    fn file(&mut self, status: &Status, to: &Path) -> SvnResult<()> {
        let (wc, how) = (self.wc, self.how);
        let from = wc.abspath(&status.relpath);
        let (view, mut form) = wc.db().questions(|| {
            let view = wc.view(&status.relpath)?.ok_or_else(|| not_found(&from))?;
            let form = self.form(status, &view)?;
            Ok::<_, SvnError>((view, form))
        })?;
        let working = how.revision == Revision::Working;
        let source = if working {
            form.is_working = true;
            form.props = view.props()?;
            if status.node != State::Normal {
                // The author of a local change cannot always be known.
                form.modified = true;
                form.author = Some("(local)".to_owned());
                form.date = file_time(&from);
            }
            Source::Working(from)
        } else {
            // Additions without history have no text but that on disk.
            let row = view.layers().find(|row| row.presence != Presence::BaseDeleted);
            let Some(checksum) = row.and_then(|row| row.checksum) else { return Ok(()) };
            form.props = view.pristine_props()?;
            if !wc.stores_pristines() {
                return self.write_base(&status.relpath, &checksum, &form, to);
            }
            Source::Pristine(wc.pristine_file(&checksum))
        };
        let translation = form.translation(self.ctx, how);
        if translation.special {
            // A link is not reported.
            return form.write_from(to, &mut source.open()?, &translation, how);
        }
        let copy = FileCopy { from: source, to: to.to_owned(), form, translation, how: *how };
        self.add(Step::Copy(to.to_string_lossy().into_owned(), Box::new(copy)))
    }

    /// What is known of a file, but for its properties.
    fn form(&mut self, status: &Status, view: &View) -> SvnResult<FileForm> {
        let top = view.top();
        let (id, repos_path) = match (top.op_depth, top.repos_id, &top.repos_path) {
            (0, Some(id), Some(repos_path)) => (id, repos_path.clone()),
            _ => self.wc.repos_location(&status.relpath)?,
        };
        let root = match self.roots.get(&id) {
            Some(root) => root.clone(),
            None => {
                let root = self.wc.db().repository(id)?.root;
                self.roots.insert(id, root.clone());
                root
            }
        };
        let mut form = FileForm::new(root.join(&repos_path), root);
        form.revision = status.changed.revision;
        form.otherwise = Some(Timestamp(0));
        form.date = (status.changed.date != 0).then_some(Timestamp(status.changed.date));
        form.author.clone_from(&status.changed.author);
        Ok(form)
    }

    /// Writes a text of a working copy that does not keep all of them.
    fn write_base(
        &mut self,
        relpath: &RelPath,
        checksum: &Sha1,
        form: &FileForm,
        to: &Path,
    ) -> SvnResult<()> {
        self.finish()?;
        let mut text = self.wc.open_text_base(relpath, checksum)?;
        let translation = form.translation(self.ctx, self.how);
        form.write_from(to, &mut text, &translation, self.how)?;
        if !translation.special {
            notify_kind(self.ctx, to, Action::UpdateAdd, NodeKind::File);
        }
        Ok(())
    }
}

/// Reports a path that was written.
fn notify(ctx: &Context, written: &WrittenPath) {
    let kind = if written.is_file { NodeKind::File } else { NodeKind::Dir };
    notify_kind(ctx, Path::new(&written.shown), Action::UpdateAdd, kind);
}
