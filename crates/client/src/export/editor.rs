//! The edit that brings a tree to be exported.
//!
//! Invariant: files are written in the order in which they come, and reported when they are there.

use std::collections::HashMap;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use sapwood_core::exact::Exact;
use sapwood_core::notify::Action;
use sapwood_core::paths::{RelPath, RelPathBuf, UrlBuf};
use sapwood_core::props::names;
use sapwood_core::{ErrorCode, Md5, NodeKind, Revnum, SvnError, SvnResult, path};
use sapwood_delta::{Applier, EditStep, Handle, StepEditor, TextDelta};
use sapwood_ra::Session;

use super::behind::{self, BackgroundWriter, Step, WrittenPath};
use super::file_form::{FileForm, cannot_write};
use super::obstructions::{is_dir_there, obstructed};
use super::text::{Spool, Text};
use super::{Export, cannot_create_dir, notify_kind, open_root_dir};
use crate::context::Context;

/// A path below the export as notifications show it: that the export is the current directory goes
/// without saying.
fn display_below(shown: &str, below: &str) -> String {
    if shown == "." { below.to_owned() } else { path::join(shown, below) }
}

struct OpenFile {
    to: PathBuf,
    form: FileForm,
    text: Spool,
}

pub(super) struct ExportEditor<'a> {
    ctx: &'a Context,
    how: &'a Export,
    root: PathBuf,
    /// The root as the user knows it.
    shown: &'a str,
    url: UrlBuf,
    repos_root: UrlBuf,
    next: u64,
    /// Open directories by handle: path below the root.
    dirs: HashMap<u64, RelPathBuf>,
    file: Option<OpenFile>,
    revision: Option<Revnum>,
    /// Definitions of externals, by the paths that have them.
    pub(super) externals: Vec<(RelPathBuf, String)>,
    behind: BackgroundWriter,
}

/// Reports a path that was written.
fn notify_written(ctx: &Context, written: &WrittenPath) {
    if written.is_file {
        ctx.wc.meter.add_file();
    }
    let kind = if written.is_file { NodeKind::File } else { NodeKind::Dir };
    notify_kind(ctx, Path::new(&written.shown), Action::UpdateAdd, kind);
}

impl<'a> ExportEditor<'a> {
    /// An export of the directory at a session's URL to `to`, which the user knows as `shown`.
    pub(super) fn new(
        ctx: &'a Context,
        how: &'a Export,
        session: &dyn Session,
        (to, shown): (&Path, &'a str),
    ) -> Self {
        Self {
            ctx,
            how,
            root: to.to_owned(),
            shown,
            url: session.url(),
            repos_root: session.root_url(),
            next: 0,
            dirs: HashMap::new(),
            file: None,
            revision: None,
            externals: Vec::new(),
            behind: BackgroundWriter::default(),
        }
    }
}

impl ExportEditor<'_> {
    /// Writes all that waits.
    pub(super) fn finish(&mut self) -> SvnResult<()> {
        let ctx = self.ctx;
        self.behind.finish(&mut |written| notify_written(ctx, &written))
    }

    fn add(&mut self, step: Step) -> SvnResult<()> {
        let ctx = self.ctx;
        self.behind.add(step, &mut |written| notify_written(ctx, &written))
    }

    fn open(&mut self, below: RelPathBuf) -> Handle {
        self.next = self.next.plus(1);
        self.dirs.insert(self.next, below);
        Handle(self.next)
    }

    /// A plain name in a directory that was made before, so never under a link; and none that is of the
    /// administrative files of a working copy.
    fn safe(&self, below: &RelPath, parent: Handle) -> SvnResult<PathBuf> {
        let (above, name) = below.parent_and_name();
        let odd = matches!(name, "" | "." | ".." | ".svn") || name.contains('\0');
        if odd || self.dirs.get(&parent.0).is_none_or(|dir| dir != above) {
            return Err(obstructed(format!("Path '{below}' is not in the working copy")));
        }
        Ok(self.root.join(below.as_str()))
    }

    fn add_directory(&mut self, below: &RelPath, parent: Handle) -> SvnResult<Handle> {
        self.ctx.check_cancel()?;
        let to = self.safe(below, parent)?;
        // Most often there is none.
        if let Err(error) = fs::create_dir(&to)
            && !is_dir_there(&to, &path::join(self.shown, below), self.how)?
        {
            return Err(cannot_create_dir(&to, &error));
        }
        let shown = display_below(self.shown, below);
        match self.behind.is_busy() {
            true => self.add(Step::Dir(shown))?,
            false => notify_written(self.ctx, &WrittenPath { shown, is_file: false }),
        }
        Ok(self.open(below.to_owned()))
    }

    fn add_file(&mut self, below: &RelPath, parent: Handle) -> SvnResult<Handle> {
        self.ctx.check_cancel()?;
        let url = self.url.join(below);
        let form = FileForm::new(url, self.repos_root.clone());
        let to = self.safe(below, parent)?;
        let text = Spool::summed_beside(&to);
        self.file = Some(OpenFile { to, form, text });
        Ok(Handle(0))
    }

    /// Keeps what a directory has of externals.
    fn change_dir_prop(&mut self, dir: Handle, name: &str, value: Option<&[u8]>) {
        if let (names::EXTERNALS, Some(value), Some(below)) = (name, value, self.dirs.get(&dir.0)) {
            let value = String::from_utf8_lossy(value).into_owned();
            self.externals.push((below.clone(), value));
        }
    }

    fn take_text(&mut self, delta: &mut dyn TextDelta) -> SvnResult<()> {
        let Some(file) = &mut self.file else { return Ok(()) };
        let mut applier = Applier::new(std::io::empty());
        while let Some(window) = delta.next_window()? {
            let piece = applier.apply(&window)?;
            self.ctx.wc.meter.add_bytes(piece.len());
            file.text.write_all(piece).map_err(|e| cannot_write(&file.to, &e))?;
        }
        Ok(())
    }

    fn close_file(&mut self, text: Option<Md5>) -> SvnResult<()> {
        let Some(file) = self.file.take() else { return Ok(()) };
        let to = file.to;
        let (came, md5) = file.text.finish();
        let below = to.strip_prefix(&self.root).unwrap_or(&to);
        let shown = display_below(self.shown, &below.to_string_lossy());
        let came = match came {
            Text::Memory(bytes) => {
                let translation = file.form.translation(self.ctx, self.how);
                let (form, expected) = (file.form, text);
                let small = behind::File { to, form, translation, text: bytes, expected };
                return self.add(Step::File(shown, Box::new(small)));
            }
            came @ Text::Kept(_) => came,
        };
        self.finish()?;
        if text.is_some_and(|expected| Some(expected) != md5) {
            let message = format!("Checksum mismatch for '{}'", to.display());
            return Err(SvnError::new(ErrorCode::CHECKSUM_MISMATCH, message));
        }
        file.form.write(self.ctx, &to, came, self.how)?;
        notify_written(self.ctx, &WrittenPath { shown, is_file: true });
        Ok(())
    }
}

impl StepEditor for ExportEditor<'_> {
    fn step(&mut self, step: EditStep<'_>) -> SvnResult<Handle> {
        use NodeKind::{Dir, File};
        match step {
            EditStep::TargetRevision(revision) => self.revision = Some(revision),
            EditStep::OpenRoot(_) => {
                open_root_dir(self.ctx, &self.root, self.shown, self.how)?;
                return Ok(self.open(RelPathBuf::default()));
            }
            // To a report of nothing no server opens anything: what is opened has to be made as well.
            EditStep::Add { kind: Dir, path, parent, .. }
            | EditStep::Open { kind: Dir, path, parent, .. } => {
                return self.add_directory(path, parent);
            }
            EditStep::Add { kind: File, path, parent, .. }
            | EditStep::Open { kind: File, path, parent, .. } => {
                return self.add_file(path, parent);
            }
            EditStep::Prop { kind: Dir, node, name, value } => {
                self.change_dir_prop(node, name, value);
            }
            EditStep::Prop { kind: File, name, value, .. } => {
                if let Some(file) = &mut self.file {
                    file.form.take(name, value);
                }
            }
            EditStep::Text { delta, .. } => self.take_text(delta)?,
            EditStep::CloseDirectory(dir) => drop(self.dirs.remove(&dir.0)),
            EditStep::CloseFile { text, .. } => self.close_file(text)?,
            EditStep::Delete { .. }
            | EditStep::Absent { .. }
            | EditStep::CloseEdit
            | EditStep::AbortEdit => {}
        }
        Ok(Handle::NONE)
    }
}
