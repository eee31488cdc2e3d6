//! `svn export`: a tree without administrative files.
//!
//! From a URL an edit brings everything, as a checkout's does; from a working copy the files are
//! copied, with local changes unless another revision is requested.

use std::fs;
use std::io;
use std::path::Path;

use sapwood_core::notify::{Action, Notify};
use sapwood_core::paths::{RelPath, Url};
use sapwood_core::{Depth, ErrorCode, NodeKind, Revnum, SvnError, SvnResult, path};
use sapwood_delta::ReportEntry;
use sapwood_delta::report::Report;
use sapwood_ra::{ReportKind, ReportRequest, Session};
use sapwood_wc::translate::Eol;

use crate::context::Context;
use crate::open::locate_following;
use crate::revision::Revision;
use crate::target::Target;

mod behind;
mod editor;
mod file_form;
mod local;
mod obstructions;
mod source;
mod text;

use editor::ExportEditor;
use file_form::FileForm;
use obstructions::{is_dir_there, refuse_existing};
use text::Spool;

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
    let mut editor = ExportEditor::new(ctx, how, session, (to, shown));
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

/// Makes the directory that everything goes into.
fn open_root_dir(ctx: &Context, to: &Path, shown: &str, how: &Export) -> SvnResult<()> {
    if !is_dir_there(to, shown, how)? {
        fs::create_dir_all(to).map_err(|e| cannot_create_dir(to, &e))?;
    }
    notify_kind(ctx, Path::new(shown), Action::UpdateAdd, NodeKind::Dir);
    Ok(())
}

fn cannot_create_dir(path: &Path, error: &io::Error) -> SvnError {
    SvnError::io(error, format!("Can't create directory '{}'", path.display()))
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
