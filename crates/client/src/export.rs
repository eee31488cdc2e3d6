//! `svn export`: a tree without administrative files.
//!
//! From a URL an edit brings everything, as a checkout's does; from a working copy the files are
//! copied, with local changes unless another revision is requested.

use std::collections::HashMap;
use std::fs;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use sapwood_core::date::Timestamp;
use sapwood_core::exact::Exact;
use sapwood_core::notify::{Action, Notify};
use sapwood_core::paths::{RelPath, RelPathBuf, Url, UrlBuf};
use sapwood_core::props::names;
use sapwood_core::{Depth, ErrorCode, Md5, NodeKind, PropList, Revnum, SvnError, SvnResult, path};
use sapwood_delta::report::Report;
use sapwood_delta::{Applier, EditStep, Handle, ReportEntry, StepEditor, TextDelta};
use sapwood_ra::{ReportKind, ReportRequest, Session};
use sapwood_wc::translate::{Eol, EolStyle, KeywordSource, TranslatedReader, Translation, special};

use crate::context::Context;
use crate::open::locate_following;
use crate::revision::Revision;
use crate::target::Target;

mod behind;
mod local;
mod source;
mod text;

use behind::{BackgroundWriter, Step, WrittenPath};
use text::{Spool, Text};

/// How a tree is exported.
#[derive(Clone, Copy, Debug)]
pub struct Export {
    /// The revision; unspecified is that of the peg, HEAD of URLs, and what is there of paths.
    pub revision: Revision,
    /// How deep.
    pub depth: Depth,
    /// Whether existing files are overwritten.
    pub overwrite: bool,
    /// Whether externals are left out.
    pub ignore_externals: bool,
    /// Whether keywords stay as they are.
    pub ignore_keywords: bool,
    /// What line ends of style `native` become; none is those of this system.
    pub native_eol: Option<Eol>,
}

/// Exports a URL or a path of a working copy.
///
/// # Errors
/// E155000 when something is in the way; E170000 when there is nothing to export.
pub fn export(ctx: &Context, source: &Target, to: &str, how: &Export) -> SvnResult<Option<Revnum>> {
    let shown = if to.is_empty() { "." } else { to };
    let to = ctx.absolute(to);
    let wanted = how.revision.or(source.peg.or(Revision::Working));
    if !source.is_url() && wanted.is_in_working_copy() {
        let how = Export { revision: wanted, ..*how };
        return local::export(ctx, &ctx.absolute(&source.text), &to, &how).map(|()| None);
    }
    let given = if source.text.is_empty() { ".".to_owned() } else { source.text.clone() };
    let (source, revision) = match source.is_url() {
        true => (source.clone(), how.revision),
        false => {
            let number = match how.revision.needs_working_copy() {
                true => {
                    let node = crate::working::Node::find(ctx, &source.text)?;
                    Revision::Number(node.number_of(how.revision)?)
                }
                false => how.revision,
            };
            (url_of(ctx, source)?, number)
        }
    };
    let located = locate_following(ctx, &source, revision)?;
    let (session, revision) = (located.session, located.revision);
    match session.check_path(RelPath::ROOT, Some(revision))? {
        Some(NodeKind::File) => {
            export_one(ctx, session.as_ref(), revision, (&to, shown), how).map(|()| None)
        }
        Some(NodeKind::Dir) => {
            export_tree(ctx, session.as_ref(), revision, (&to, shown), how)?;
            ctx.notify_path(&to, Action::UpdateCompleted, Some(revision));
            Ok(Some(revision))
        }
        None => {
            let message = format!("URL '{given}' doesn't exist");
            Err(SvnError::new(ErrorCode::RA_ILLEGAL_URL, message))
        }
    }
}

/// Exports the file at the session's URL; `to` is the target, and the path in notifications.
fn export_one(
    ctx: &Context,
    session: &dyn Session,
    revision: Revnum,
    (to, shown): (&Path, &str),
    how: &Export,
) -> SvnResult<()> {
    let url = session.url();
    let name = url.parent_and_name().map_or(String::new(), |(_, name)| name);
    let (to, shown) = match to.is_dir() {
        true => (to.join(&name), path::join(if shown == "." { "" } else { shown }, &name)),
        false => (to.to_owned(), shown.to_owned()),
    };
    refuse_existing(&to, &shown, how)?;
    let mut spool = Spool::beside(&to);
    let found = session.get_file(RelPath::ROOT, Some(revision), Some(&mut spool), true)?;
    let mut form = FileForm::new(url, session.root_url());
    for (name, value) in found.props.iter() {
        form.take(name, Some(value));
    }
    form.write(ctx, &to, spool.finish().0, how)?;
    notify_kind(ctx, Path::new(&shown), Action::UpdateAdd, NodeKind::File);
    // Without an edit there is no revision to report.
    ctx.notify_path(&to, Action::UpdateCompleted, None);
    Ok(())
}

/// Exports the directory at the session's URL, with its externals.
fn export_tree(
    ctx: &Context,
    session: &dyn Session,
    revision: Revnum,
    (to, shown): (&Path, &str),
    how: &Export,
) -> SvnResult<()> {
    let url = session.url();
    let mut editor = ExportEditor {
        ctx,
        how,
        root: to.to_owned(),
        shown,
        url: url.clone(),
        repos_root: session.root_url(),
        next: 0,
        dirs: HashMap::new(),
        file: None,
        revision: None,
        externals: Vec::new(),
        behind: BackgroundWriter::default(),
    };
    let request = ReportRequest {
        revision: Some(revision),
        target: "",
        depth: how.depth,
        kind: ReportKind::Update { send_copyfrom: false, ignore_ancestry: false },
    };
    let driven = (|| {
        let mut report: Box<dyn Report + '_> = session.report(&request, &mut editor)?;
        let depth = if how.depth == Depth::Unknown { Depth::Infinity } else { how.depth };
        report.entry(&ReportEntry::new(RelPath::ROOT, revision, depth).starting_empty())?;
        report.finish()
    })();
    // Whatever stopped the edit: what came before it is written.
    editor.finish()?;
    driven?;
    let externals = std::mem::take(&mut editor.externals);
    // An empty directory causes no call of the editor.
    if to.symlink_metadata().is_err() {
        open_root_dir(ctx, to, shown, how)?;
    }
    let recursive = matches!(how.depth, Depth::Infinity | Depth::Unknown);
    if !how.ignore_externals && recursive {
        let root = session.root_url();
        for (below, value) in externals {
            let owner_url = url.join(RelPath::trusted(&below));
            export_externals(ctx, &to.join(below.as_str()), &owner_url, &root, &value, how)?;
        }
    }
    Ok(())
}

/// A path of a working copy as a target in the repository.
fn url_of(ctx: &Context, source: &Target) -> SvnResult<Target> {
    let node = crate::working::Node::find(ctx, &source.text)?;
    let origin = node.origin()?.ok_or_else(|| {
        let message = format!("'{}' has no URL", node.abspath().display());
        SvnError::new(ErrorCode::ENTRY_MISSING_URL, message)
    })?;
    let peg = match source.peg {
        Revision::Unspecified | Revision::Working | Revision::Base => origin.revision,
        Revision::Committed | Revision::Previous => Some(node.number_of(source.peg)?),
        other => return Ok(Target { text: origin.url.into_string(), peg: other }),
    };
    let peg = peg.map_or(Revision::Head, Revision::Number);
    Ok(Target { text: origin.url.into_string(), peg })
}

fn notify_kind(ctx: &Context, path: &Path, action: Action, kind: NodeKind) {
    let shown = path.to_string_lossy();
    ctx.notify(&Notify { kind: Some(kind), ..Notify::new(action, &shown) });
}

fn obstructed(message: String) -> SvnError {
    SvnError::new(ErrorCode::WC_OBSTRUCTED_UPDATE, message)
}

/// Refuses what is in the way of a file; `shown` is its path as the user knows it.
fn refuse_existing(path: &Path, shown: &str, how: &Export) -> SvnResult<()> {
    let message = match fs::symlink_metadata(path) {
        Ok(found) if found.is_dir() => {
            format!("Destination '{shown}' exists. Cannot overwrite directory with non-directory")
        }
        Ok(_) if !how.overwrite => {
            format!("Destination file '{shown}' exists, and will not be overwritten unless forced")
        }
        _ => return Ok(()),
    };
    Err(SvnError::new(ErrorCode::ILLEGAL_TARGET, message))
}

/// Whether a directory is at a path; refuses everything else that is in the way.
fn is_dir_there(path: &Path, shown: &str, how: &Export) -> SvnResult<bool> {
    match fs::symlink_metadata(path) {
        Ok(found) if found.is_file() => {
            let message = format!("'{shown}' exists and is not a directory");
            Err(SvnError::new(ErrorCode::WC_NOT_WORKING_COPY, message))
        }
        Ok(found) if !found.is_dir() || !how.overwrite => {
            Err(obstructed(format!("'{shown}' already exists")))
        }
        found => Ok(found.is_ok()),
    }
}

/// Makes the directory that everything goes into.
fn open_root_dir(ctx: &Context, to: &Path, shown: &str, how: &Export) -> SvnResult<()> {
    if !is_dir_there(to, shown, how)? {
        fs::create_dir_all(to).map_err(|e| cannot_create_dir(to, &e))?;
    }
    notify_kind(ctx, Path::new(shown), Action::UpdateAdd, NodeKind::Dir);
    Ok(())
}

/// A path below the export as notifications show it: that the export is the current directory goes
/// without saying.
fn display_below(shown: &str, below: &str) -> String {
    if shown == "." { below.to_owned() } else { path::join(shown, below) }
}

fn cannot_create_dir(path: &Path, error: &io::Error) -> SvnError {
    SvnError::io(error, format!("Can't create directory '{}'", path.display()))
}

/// What is known of a file's form.
struct FileForm {
    props: PropList,
    revision: Option<Revnum>,
    /// Whether it has local changes.
    modified: bool,
    /// Whether the text is that of a working file, with keywords expanded.
    is_working: bool,
    /// The time of files whose last change has none.
    otherwise: Option<Timestamp>,
    date: Option<Timestamp>,
    author: Option<String>,
    url: UrlBuf,
    root: UrlBuf,
}

impl FileForm {
    fn new(url: UrlBuf, root: UrlBuf) -> Self {
        let props = PropList::new();
        Self {
            props,
            revision: None,
            modified: false,
            is_working: false,
            otherwise: None,
            date: None,
            author: None,
            url,
            root,
        }
    }

    fn take(&mut self, name: &str, value: Option<&[u8]>) {
        let Some(value) = value else { return };
        match name {
            names::ENTRY_COMMITTED_REV => self.revision = Revnum::parse(value),
            names::ENTRY_COMMITTED_DATE => self.date = Timestamp::parse(value).ok(),
            names::ENTRY_LAST_AUTHOR => {
                self.author = Some(sapwood_core::ascii::readable(value).into_owned());
            }
            name if name.starts_with(names::ENTRY_PREFIX) => {}
            name => drop(self.props.set(name, value)),
        }
    }

    fn translation(&self, ctx: &Context, how: &Export) -> Translation {
        let source = KeywordSource {
            revision: self.revision,
            modified: self.modified,
            date: self.date,
            author: self.author.as_deref(),
            url: &self.url,
            root: &self.root,
            zone: &ctx.wc.zone,
        };
        let mut translation = Translation::of(&self.props, Some(&source));
        if how.ignore_keywords && !self.is_working {
            translation.keywords = None;
        }
        if let (EolStyle::Native, Some(eol)) = (translation.eol, how.native_eol) {
            translation.eol = EolStyle::Fixed(eol);
        }
        translation
    }

    /// Writes a file that came in normal form.
    fn write(&self, ctx: &Context, to: &Path, text: Text, how: &Export) -> SvnResult<()> {
        let failed = |e| cannot_write(to, &e);
        let translation = self.translation(ctx, how);
        let mut kept = match text {
            Text::Memory(text) => return self.write_bytes(to, text, &translation),
            Text::Kept(kept) => kept,
        };
        if !translation.changes_normal_form() {
            remove_old(to)?;
            let file = text::place(kept, to, self.is_executable()).map_err(failed)?;
            return self.set_time(&file).map_err(failed);
        }
        io::Seek::rewind(kept.as_file_mut()).map_err(failed)?;
        self.write_from(to, kept.as_file_mut(), &translation, how)
    }

    /// Writes a small file, with one call.
    fn write_bytes(&self, to: &Path, text: Vec<u8>, translation: &Translation) -> SvnResult<()> {
        let failed = |e| cannot_write(to, &e);
        if translation.special {
            remove_old(to)?;
            return special::create_working(to, &mut text.as_slice()).map_err(failed);
        }
        let text = match translation.changes_normal_form() {
            true => translation.exporter(true, true).whole(&text)?,
            false => text,
        };
        let mut file = self.create(to).map_err(failed)?;
        file.write_all(&text).map_err(failed)?;
        self.set_time(&file).map_err(failed)
    }

    /// Makes the file, in place of an existing one. Most often there is none.
    fn create(&self, to: &Path) -> io::Result<fs::File> {
        let mut options = fs::OpenOptions::new();
        let mode = if self.is_executable() { 0o777 } else { 0o666 };
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, mode);
        options.write(true).create_new(true);
        match options.open(to) {
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {
                fs::remove_file(to).and_then(|()| options.open(to))
            }
            other => other,
        }
    }

    /// Writes a file whose text a reader gives.
    fn write_from(
        &self,
        to: &Path,
        from: &mut dyn Read,
        translation: &Translation,
        how: &Export,
    ) -> SvnResult<()> {
        let failed = |e: io::Error| match SvnError::from_stream(e) {
            error if error.code() == ErrorCode::IO_INCONSISTENT_EOL => error,
            error => error.context(format!("Can't write to file '{}'", to.display())),
        };
        if translation.special {
            remove_old(to)?;
            return special::create_working(to, from).map_err(failed);
        }
        let mut file = self.create(to).map_err(failed)?;
        let expand = !(self.is_working && how.ignore_keywords);
        // Working files must not have mixed line ends.
        let translator = translation.exporter(!self.is_working, expand);
        let copied = match translator.is_identity() {
            true => io::copy(from, &mut file),
            false => io::copy(&mut TranslatedReader::new(from, translator), &mut file),
        };
        if let Err(error) = copied {
            let _ = fs::remove_file(to);
            return Err(failed(error));
        }
        self.set_time(&file).map_err(failed)
    }

    fn is_executable(&self) -> bool {
        self.props.get(names::EXECUTABLE).is_some()
    }

    fn set_time(&self, file: &fs::File) -> io::Result<()> {
        let Some(time) = self.date.or(self.otherwise) else { return Ok(()) };
        let since = std::time::Duration::from_micros(time.0.unsigned_abs());
        match std::time::UNIX_EPOCH.checked_add(since) {
            Some(at) => file.set_times(fs::FileTimes::new().set_accessed(at).set_modified(at)),
            None => Ok(()),
        }
    }
}

fn cannot_write(to: &Path, error: &io::Error) -> SvnError {
    SvnError::io(error, format!("Can't write to file '{}'", to.display()))
}

fn remove_old(to: &Path) -> SvnResult<()> {
    match fs::remove_file(to) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(cannot_write(to, &error)),
        _ => Ok(()),
    }
}

struct OpenFile {
    to: PathBuf,
    form: FileForm,
    text: Spool,
}

struct ExportEditor<'a> {
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
    externals: Vec<(RelPathBuf, String)>,
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

impl ExportEditor<'_> {
    /// Writes all that waits.
    fn finish(&mut self) -> SvnResult<()> {
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

fn export_externals(
    ctx: &Context,
    dir: &Path,
    owner_url: &Url,
    root: &Url,
    value: &str,
    how: &Export,
) -> SvnResult<()> {
    for item in crate::externals::items(value, dir)? {
        let to = dir.join(&item.target);
        let done = (|| {
            crate::externals::check_place(dir, &item.target, false)?;
            let url = item.resolve(root, owner_url)?;
            if let Some(parent) = to.parent() {
                fs::create_dir_all(parent).map_err(|e| {
                    SvnError::io(&e, format!("Can't create directory '{}'", parent.display()))
                })?;
            }
            ctx.notify_path(&to, Action::UpdateExternal, None);
            let (peg, revision) = crate::externals::revisions(&item);
            let source = Target { text: url.to_string(), peg };
            let inner = Export { revision, depth: Depth::Infinity, overwrite: true, ..*how };
            ctx.nesting.check(&url, revision)?;
            let _inside = ctx.nesting.enter(&url, revision);
            export(ctx, &source, &to.to_string_lossy(), &inner).map(|_| ())
        })();
        crate::externals::wrap(ctx, &to, done)?;
    }
    Ok(())
}
