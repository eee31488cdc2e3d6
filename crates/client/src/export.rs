//! `svn export`: a tree without administrative files.
//!
//! From a URL an edit brings everything, as a checkout's does; from a working copy the files are
//! copied, with local changes unless another revision is asked for.

use std::collections::HashMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use sapwood_core::checksum::Md5Hasher;
use sapwood_core::date::Timestamp;
use sapwood_core::notify::{Action, Notify};
use sapwood_core::props::names;
use sapwood_core::{
    Depth, ErrorCode, Md5, NodeKind, PropList, Revnum, SvnError, SvnResult, path, uri,
};
use sapwood_delta::report::Report;
use sapwood_delta::{Applier, Editor, Handle, TextDelta};
use sapwood_ra::{ReportKind, ReportRequest};
use sapwood_wc::db::Kind;
use sapwood_wc::translate::{Direction, Eol, EolStyle, KeywordSource, Translation, special};
use sapwood_wc::view::Status;

use crate::context::Context;
use crate::open::locate;
use crate::revision::Revision;
use crate::target::Target;
use crate::update::tell_path;

/// How a tree is exported.
#[derive(Clone, Copy, Debug)]
pub struct Export {
    /// The revision; unspecified is that of the peg, HEAD of URLs, and what is there of paths.
    pub revision: Revision,
    /// How deep.
    pub depth: Depth,
    /// Whether files that are there are written over.
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
    let to = ctx.absolute(to);
    let local = !source.is_url()
        && matches!(how.revision, Revision::Unspecified | Revision::Working)
        && matches!(source.peg, Revision::Unspecified | Revision::Working);
    if local {
        return export_local(ctx, &source.text, &to, how).map(|()| None);
    }
    let source = match source.is_url() {
        true => source.clone(),
        false => url_of(ctx, source)?,
    };
    let revision = if how.revision.needs_working_copy() { source.peg } else { how.revision };
    let located = locate(&ctx.ra, &source, revision)?;
    let (session, revision) = (located.session, located.revision);
    let url = session.url();
    match session.check_path("", Some(revision))? {
        Some(NodeKind::File) => {
            let name = uri::split(&url).map(|(_, name)| name).unwrap_or_default();
            let to = if to.is_dir() { to.join(name) } else { to.clone() };
            refuse_existing(&to, how)?;
            let mut text = Vec::new();
            let found = session.get_file("", Some(revision), Some(&mut text), true)?;
            let mut form = FileForm::new(url.clone(), session.root_url());
            for (name, value) in found.props.iter() {
                form.take(name, Some(value));
            }
            form.write(ctx, &to, &text, how)?;
            tell_kind(ctx, &to, Action::UpdateAdd, NodeKind::File);
        }
        Some(NodeKind::Dir) => {
            let mut editor = ExportEditor {
                ctx,
                how,
                root: to.clone(),
                url: url.clone(),
                repos_root: session.root_url(),
                next: 0,
                dirs: HashMap::new(),
                file: None,
                revision: None,
                externals: Vec::new(),
            };
            let request = ReportRequest {
                revision: Some(revision),
                target: "",
                depth: how.depth,
                kind: ReportKind::Update { send_copyfrom: false, ignore_ancestry: false },
            };
            let mut report: Box<dyn Report + '_> = session.report(&request, &mut editor)?;
            let depth = if how.depth == Depth::Unknown { Depth::Infinity } else { how.depth };
            report.set_path("", revision, depth, true, None)?;
            report.finish()?;
            let externals = std::mem::take(&mut editor.externals);
            // An empty directory brings no call of the editor.
            open_root_dir(ctx, &to, how, false)?;
            let recursive = matches!(how.depth, Depth::Infinity | Depth::Unknown);
            if !how.ignore_externals && recursive {
                let root = session.root_url();
                for (below, value) in externals {
                    let owner_url = uri::join(&url, &below);
                    export_externals(ctx, &to.join(&below), &owner_url, &root, &value, how)?;
                }
            }
        }
        None => {
            let message = format!("URL '{url}' doesn't exist");
            return Err(SvnError::new(ErrorCode::RA_ILLEGAL_URL, message));
        }
    }
    tell_path(ctx, &to, Action::UpdateCompleted, Some(revision));
    Ok(Some(revision))
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
        other => return Ok(Target { text: origin.url, peg: other }),
    };
    let peg = peg.map_or(Revision::Head, Revision::Number);
    Ok(Target { text: origin.url, peg })
}

fn tell_kind(ctx: &Context, path: &Path, action: Action, kind: NodeKind) {
    let shown = path.to_string_lossy();
    ctx.tell(&Notify { kind: Some(kind), ..Notify::new(action, &shown) });
}

fn obstructed(message: String) -> SvnError {
    SvnError::new(ErrorCode::WC_OBSTRUCTED_UPDATE, message)
}

fn refuse_existing(path: &Path, how: &Export) -> SvnResult<()> {
    match fs::symlink_metadata(path) {
        Ok(found) if found.is_dir() => Err(obstructed(format!(
            "Destination file '{}' exists, and will not be overwritten unless forced",
            path.display()
        ))),
        Ok(_) if !how.overwrite => Err(obstructed(format!(
            "Destination file '{}' exists, and will not be overwritten unless forced",
            path.display()
        ))),
        _ => Ok(()),
    }
}

/// Makes the directory that everything goes into.
fn open_root_dir(ctx: &Context, to: &Path, how: &Export, tell: bool) -> SvnResult<()> {
    let shown = to.display();
    match fs::metadata(to) {
        Ok(found) if !found.is_dir() => {
            Err(obstructed(format!("'{shown}' exists and is not a directory")))
        }
        Ok(_) if tell && !how.overwrite => Err(obstructed(format!("'{shown}' already exists"))),
        Ok(_) => Ok(()),
        Err(_) => {
            fs::create_dir_all(to)
                .map_err(|e| SvnError::io(&e, format!("Can't create directory '{shown}'")))?;
            tell_kind(ctx, to, Action::UpdateAdd, NodeKind::Dir);
            Ok(())
        }
    }
}

/// What is known of a file's form.
struct FileForm {
    props: PropList,
    revision: Option<Revnum>,
    date: Option<Timestamp>,
    author: Option<String>,
    url: String,
    root: String,
}

impl FileForm {
    fn new(url: String, root: String) -> Self {
        Self { props: PropList::new(), revision: None, date: None, author: None, url, root }
    }

    fn take(&mut self, name: &str, value: Option<&[u8]>) {
        let Some(value) = value else { return };
        match name {
            names::ENTRY_COMMITTED_REV => self.revision = Revnum::parse(value),
            names::ENTRY_COMMITTED_DATE => self.date = Timestamp::parse(value).ok(),
            names::ENTRY_LAST_AUTHOR => {
                self.author = Some(String::from_utf8_lossy(value).into_owned());
            }
            name if name.starts_with(names::ENTRY_PREFIX) => {}
            name => drop(self.props.set(name, value)),
        }
    }

    fn translation(&self, ctx: &Context, how: &Export) -> Translation {
        let source = KeywordSource {
            revision: self.revision,
            date: self.date,
            author: self.author.as_deref(),
            url: &self.url,
            root: &self.root,
            zone: &ctx.wc.zone,
        };
        let mut translation = Translation::of(&self.props, Some(&source));
        if how.ignore_keywords {
            translation.keywords = None;
        }
        if let (EolStyle::Native, Some(eol)) = (translation.eol, how.native_eol) {
            translation.eol = EolStyle::Fixed(eol);
        }
        translation
    }

    /// Writes a file: text in normal form.
    fn write(&self, ctx: &Context, to: &Path, text: &[u8], how: &Export) -> SvnResult<()> {
        let failed = |e| SvnError::io(&e, format!("Can't write to file '{}'", to.display()));
        let translation = self.translation(ctx, how);
        if to.symlink_metadata().is_ok() {
            fs::remove_file(to).map_err(failed)?;
        }
        if translation.special {
            return special::create_working(to, text).map_err(failed);
        }
        let made;
        let text = if translation.changes_normal_form() {
            made = translation.translator(Direction::ToWorking, true)?.whole(text)?;
            made.as_slice()
        } else {
            text
        };
        let executable = self.props.get(names::EXECUTABLE).is_some();
        let mut options = fs::OpenOptions::new();
        std::os::unix::fs::OpenOptionsExt::mode(
            &mut options,
            if executable { 0o777 } else { 0o666 },
        );
        let mut file = options.write(true).create_new(true).open(to).map_err(failed)?;
        file.write_all(text).map_err(failed)?;
        if let Some(time) = self.date {
            let at = std::time::UNIX_EPOCH
                .checked_add(std::time::Duration::from_micros(time.0.unsigned_abs()));
            if let Some(at) = at {
                file.set_times(fs::FileTimes::new().set_accessed(at).set_modified(at))
                    .map_err(failed)?;
            }
        }
        Ok(())
    }
}

struct OpenFile {
    below: String,
    form: FileForm,
    text: Vec<u8>,
}

struct ExportEditor<'a> {
    ctx: &'a Context,
    how: &'a Export,
    root: PathBuf,
    url: String,
    repos_root: String,
    next: u64,
    /// Open directories by handle: path below the root.
    dirs: HashMap<u64, String>,
    file: Option<OpenFile>,
    revision: Option<Revnum>,
    externals: Vec<(String, String)>,
}

impl ExportEditor<'_> {
    fn open(&mut self, below: String) -> Handle {
        self.next = self.next.saturating_add(1);
        self.dirs.insert(self.next, below);
        Handle(self.next)
    }

    /// A plain name below the root, never out of it.
    fn safe(&self, below: &str) -> SvnResult<PathBuf> {
        let odd = |name: &str| name == ".." || name == ".";
        if below.is_empty() || below.starts_with('/') || path::components(below).any(odd) {
            return Err(obstructed(format!("Path '{below}' is not in the working copy")));
        }
        Ok(self.root.join(below))
    }
}

impl Editor for ExportEditor<'_> {
    sapwood_delta::ignore_absent!();
    sapwood_delta::nothing_to_abort!();

    fn set_target_revision(&mut self, revision: Revnum) -> SvnResult<()> {
        self.revision = Some(revision);
        Ok(())
    }

    fn open_root(&mut self, _base: Option<Revnum>) -> SvnResult<Handle> {
        open_root_dir(self.ctx, &self.root, self.how, true)?;
        Ok(self.open(String::new()))
    }

    fn delete_entry(&mut self, _: &str, _: Option<Revnum>, _: Handle) -> SvnResult<()> {
        Ok(())
    }

    fn add_directory(
        &mut self,
        below: &str,
        _parent: Handle,
        _copy_from: Option<(&str, Revnum)>,
    ) -> SvnResult<Handle> {
        self.ctx.check_cancel()?;
        let to = self.safe(below)?;
        let shown = to.display();
        match fs::symlink_metadata(&to) {
            Ok(found) if !found.is_dir() => {
                return Err(obstructed(format!("'{shown}' exists and is not a directory")));
            }
            Ok(_) if !self.how.overwrite => {
                return Err(obstructed(format!("'{shown}' already exists")));
            }
            Ok(_) => {}
            Err(_) => fs::create_dir(&to)
                .map_err(|e| SvnError::io(&e, format!("Can't create directory '{shown}'")))?,
        }
        tell_kind(self.ctx, &to, Action::UpdateAdd, NodeKind::Dir);
        Ok(self.open(below.to_owned()))
    }

    fn open_directory(
        &mut self,
        below: &str,
        _parent: Handle,
        _base: Option<Revnum>,
    ) -> SvnResult<Handle> {
        Ok(self.open(below.to_owned()))
    }

    fn change_dir_prop(&mut self, dir: Handle, name: &str, value: Option<&[u8]>) -> SvnResult<()> {
        if let (names::EXTERNALS, Some(value), Some(below)) = (name, value, self.dirs.get(&dir.0)) {
            let value = String::from_utf8_lossy(value).into_owned();
            self.externals.push((below.clone(), value));
        }
        Ok(())
    }

    fn close_directory(&mut self, dir: Handle) -> SvnResult<()> {
        self.dirs.remove(&dir.0);
        Ok(())
    }

    fn add_file(
        &mut self,
        below: &str,
        _parent: Handle,
        _copy_from: Option<(&str, Revnum)>,
    ) -> SvnResult<Handle> {
        self.ctx.check_cancel()?;
        let url = uri::join(&self.url, below);
        let form = FileForm::new(url, self.repos_root.clone());
        self.file = Some(OpenFile { below: below.to_owned(), form, text: Vec::new() });
        Ok(Handle(0))
    }

    fn open_file(&mut self, below: &str, parent: Handle, _: Option<Revnum>) -> SvnResult<Handle> {
        self.add_file(below, parent, None)
    }

    fn apply_textdelta(
        &mut self,
        _file: Handle,
        _base: Option<Md5>,
        delta: &mut dyn TextDelta,
    ) -> SvnResult<()> {
        let Some(file) = &mut self.file else { return Ok(()) };
        let mut applier = Applier::new(std::io::empty());
        while let Some(window) = delta.next_window()? {
            file.text.extend_from_slice(applier.apply(&window)?);
        }
        Ok(())
    }

    fn change_file_prop(&mut self, _: Handle, name: &str, value: Option<&[u8]>) -> SvnResult<()> {
        if let Some(file) = &mut self.file {
            file.form.take(name, value);
        }
        Ok(())
    }

    fn close_file(&mut self, _: Handle, text: Option<Md5>) -> SvnResult<()> {
        let Some(file) = self.file.take() else { return Ok(()) };
        let to = self.safe(&file.below)?;
        if let Some(expected) = text {
            let mut md5 = Md5Hasher::new();
            md5.update(&file.text);
            if md5.finish() != expected {
                let message = format!("Checksum mismatch for '{}'", to.display());
                return Err(SvnError::new(ErrorCode::CHECKSUM_MISMATCH, message));
            }
        }
        file.form.write(self.ctx, &to, &file.text, self.how)?;
        tell_kind(self.ctx, &to, Action::UpdateAdd, NodeKind::File);
        Ok(())
    }

    fn close_edit(&mut self) -> SvnResult<()> {
        Ok(())
    }
}

fn export_externals(
    ctx: &Context,
    dir: &Path,
    owner_url: &str,
    root: &str,
    value: &str,
    how: &Export,
) -> SvnResult<()> {
    for item in crate::externals::items(value, dir)? {
        let to = dir.join(&item.target);
        let done = (|| {
            let url = item.resolve(root, owner_url)?;
            if let Some(parent) = to.parent() {
                fs::create_dir_all(parent).map_err(|e| {
                    SvnError::io(&e, format!("Can't create directory '{}'", parent.display()))
                })?;
            }
            tell_path(ctx, &to, Action::UpdateExternal, None);
            let (peg, revision) = crate::externals::revisions(&item);
            let source = Target { text: url, peg };
            let inner = Export { revision, depth: Depth::Infinity, overwrite: true, ..*how };
            export(ctx, &source, &to.to_string_lossy(), &inner).map(|_| ())
        })();
        crate::externals::wrap(ctx, &to, done)?;
    }
    Ok(())
}

/// Exports what a working copy has.
fn export_local(ctx: &Context, source: &str, to: &Path, how: &Export) -> SvnResult<()> {
    let from = ctx.absolute(source);
    let (wc, relpath) = ctx.working_copy(&from)?;
    let gone = || {
        let message = format!("The node '{}' was not found.", from.display());
        SvnError::new(ErrorCode::WC_PATH_NOT_FOUND, message)
    };
    let view = wc.view(&relpath)?.ok_or_else(gone)?;
    let to = match view.top().kind {
        Kind::Dir => to.to_owned(),
        _ if to.is_dir() => to.join(path::basename(&relpath)),
        _ => to.to_owned(),
    };
    export_node(ctx, &wc, &relpath, &to, how, how.depth, true)?;
    let recursive = matches!(how.depth, Depth::Infinity | Depth::Unknown);
    if !how.ignore_externals && recursive {
        for row in wc.db().externals(&relpath)? {
            if row.kind != Kind::Dir || !path::is_ancestor(&relpath, &row.relpath) {
                continue;
            }
            let below = path::skip_ancestor(&relpath, &row.relpath).unwrap_or_default();
            let (inner, goal) = (wc.abspath(&row.relpath), to.join(below));
            if !inner.is_dir() {
                continue;
            }
            tell_path(ctx, &goal, Action::UpdateExternal, None);
            let inner_how = Export { overwrite: true, depth: Depth::Infinity, ..*how };
            let done = export_local(ctx, &inner.to_string_lossy(), &goal, &inner_how);
            crate::externals::wrap(ctx, &goal, done)?;
        }
    }
    tell_path(ctx, &to, Action::UpdateCompleted, None);
    Ok(())
}

fn export_node(
    ctx: &Context,
    wc: &sapwood_wc::WorkingCopy,
    relpath: &str,
    to: &Path,
    how: &Export,
    depth: Depth,
    is_root: bool,
) -> SvnResult<()> {
    ctx.check_cancel()?;
    let Some(view) = wc.view(relpath)? else { return Ok(()) };
    if !matches!(view.status(), Status::Normal | Status::Incomplete | Status::Added) {
        return Ok(());
    }
    let from = wc.abspath(relpath);
    if view.top().kind == Kind::Dir {
        let shown = to.display();
        match fs::symlink_metadata(to) {
            Ok(found) if !found.is_dir() => {
                return Err(obstructed(format!("'{shown}' exists and is not a directory")));
            }
            Ok(_) if !how.overwrite => {
                return Err(obstructed(format!("'{shown}' already exists")));
            }
            Ok(_) => {}
            Err(_) => fs::create_dir(to)
                .map_err(|e| SvnError::io(&e, format!("Can't create directory '{shown}'")))?,
        }
        tell_kind(ctx, to, Action::UpdateAdd, NodeKind::Dir);
        if depth == Depth::Empty {
            return Ok(());
        }
        for child in wc.db().children_top(relpath)? {
            if child.kind == Kind::Dir && depth == Depth::Files {
                continue;
            }
            let below = if depth == Depth::Immediates { Depth::Empty } else { depth };
            export_node(ctx, wc, &child.relpath, &to.join(child.name()), how, below, false)?;
        }
        return Ok(());
    }
    if is_root {
        refuse_existing(to, how)?;
    }
    let Ok(found) = fs::symlink_metadata(&from) else { return Ok(()) };
    let modified = wc.file_modified(&view)?;
    let props = view.props()?;
    let url = wc.url(relpath)?;
    let (id, _) = wc.repos_location(relpath)?;
    let mut form = FileForm::new(url, wc.db().repository(id)?.root);
    form.revision = view.top().changed_revision;
    form.date = view.top().changed_date;
    form.author = view.top().changed_author.clone();
    if modified {
        // Local changes: the file's own time, and a mark at its author.
        form.author = Some("(local)".to_owned());
        form.date =
            std::os::unix::fs::MetadataExt::mtime(&found).checked_mul(1_000_000).map(Timestamp);
    }
    let normal = Translation::of(&props, None);
    let text = if normal.special {
        let mut text = Vec::new();
        let mut reader = special::read_normal(&from)
            .map_err(|e| SvnError::io(&e, format!("Can't read file '{}'", from.display())))?;
        std::io::Read::read_to_end(&mut reader, &mut text)
            .map_err(|e| SvnError::io(&e, format!("Can't read file '{}'", from.display())))?;
        text
    } else {
        let text = fs::read(&from)
            .map_err(|e| SvnError::io(&e, format!("Can't open file '{}'", from.display())))?;
        normal.translator(Direction::ToNormal, true)?.whole(&text)?
    };
    form.props = props;
    form.write(ctx, to, &text, how)?;
    tell_kind(ctx, to, Action::UpdateAdd, NodeKind::File);
    Ok(())
}
