//! Exports of working copies: what status finds is copied, as it is on disk or as it was checked out.

use std::fs::{self, DirBuilder};
use std::io::Read;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::Path;

use sapwood_core::date::Timestamp;
use sapwood_core::notify::Action;
use sapwood_core::paths::RelPath;
use sapwood_core::{ErrorCode, NodeKind, SvnError, SvnResult, path};
use sapwood_wc::WorkingCopy;
use sapwood_wc::db::Presence;
use sapwood_wc::ignore::{DEFAULT_GLOBAL_IGNORES, Patterns};
use sapwood_wc::status::{Options, State, Status};
use sapwood_wc::translate::{Translation, special};

use super::{Export, FileForm, cannot_create_dir, notify_kind, refuse_existing};
use crate::cat::file_time;
use crate::context::Context;
use crate::revision::Revision;
use crate::text_base::{TextNotices, with_text_bases};
use crate::update::notify_path;

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
    notify_path(ctx, &to, Action::UpdateCompleted, None);
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
    let mut found = false;
    wc.status(relpath, &walk, &mut |status| {
        found = true;
        let below = path::rest_below(relpath, &status.relpath)?;
        let goal = if below.is_empty() { to.to_owned() } else { to.join(below) };
        export_node(ctx, wc, &status, &goal, below.is_empty(), how).map_err(Into::into)
    })?;
    if !found {
        return Err(not_found(&wc.abspath(relpath)));
    }
    Ok(())
}

fn not_found(path: &Path) -> SvnError {
    let message = format!("The node '{}' was not found.", path.display());
    SvnError::new(ErrorCode::WC_PATH_NOT_FOUND, message)
}

fn export_node(
    ctx: &Context,
    wc: &WorkingCopy,
    status: &Status,
    to: &Path,
    is_root: bool,
    how: &Export,
) -> SvnResult<()> {
    let working = how.revision == Revision::Working;
    if working && status.node == State::Deleted {
        return Ok(());
    }
    match status.kind {
        Some(NodeKind::Dir) => export_dir(ctx, wc, status, to, is_root, how),
        Some(NodeKind::File) if status.file_external && !is_root => Ok(()),
        Some(NodeKind::File) => {
            if is_root {
                refuse_existing(to, &to.to_string_lossy(), how)?;
            }
            export_file(ctx, wc, status, to, how)
        }
        None if is_root => Err(not_found(&wc.abspath(&status.relpath))),
        None => Ok(()),
    }
}

fn export_dir(
    ctx: &Context,
    wc: &WorkingCopy,
    status: &Status,
    to: &Path,
    is_root: bool,
    how: &Export,
) -> SvnResult<()> {
    let mut mode = 0o777;
    if how.revision == Revision::Working {
        let from = wc.abspath(&status.relpath);
        let found = fs::metadata(&from)
            .map_err(|e| SvnError::io(&e, format!("Can't stat '{}'", from.display())))?;
        mode = found.mode() & 0o777;
    }
    match DirBuilder::new().mode(mode).create(to) {
        Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => {
            return Err(cannot_create_dir(to, &error));
        }
        Err(error) if !how.overwrite => {
            return Err(cannot_create_dir(to, &error).context(
                "Destination directory exists, and will not be overwritten unless forced",
            ));
        }
        _ => {}
    }
    if !is_root {
        notify_kind(ctx, to, Action::UpdateAdd, NodeKind::Dir);
    }
    Ok(())
}

fn export_file(
    ctx: &Context,
    wc: &WorkingCopy,
    status: &Status,
    to: &Path,
    how: &Export,
) -> SvnResult<()> {
    let from = wc.abspath(&status.relpath);
    let view = wc.view(&status.relpath)?.ok_or_else(|| not_found(&from))?;
    let working = how.revision == Revision::Working;
    let (id, repos_path) = wc.repos_location(&status.relpath)?;
    let root = wc.db().repository(id)?.root;
    let mut form = FileForm::new(root.join(&repos_path), root);
    form.revision = status.changed.revision;
    form.otherwise = Some(Timestamp(0));
    form.date = (status.changed.date != 0).then_some(Timestamp(status.changed.date));
    form.author.clone_from(&status.changed.author);
    let mut text: Box<dyn Read> = if working {
        form.is_working = true;
        form.props = view.props()?;
        // The reference looks before it opens, and says so of what is missing.
        let missing = fs::symlink_metadata(&from).is_err();
        let what = if missing { "Can't stat" } else { "Can't open file" };
        special::read_normal(&from)
            .map_err(|e| SvnError::io(&e, format!("{what} '{}'", from.display())))?
    } else {
        // Additions without history have no text but that on disk.
        let row = view.layers().find(|row| row.presence != Presence::BaseDeleted);
        let Some(checksum) = row.and_then(|row| row.checksum) else { return Ok(()) };
        form.props = view.pristine_props()?;
        Box::new(wc.open_text_base(&status.relpath, &checksum)?)
    };
    if working && status.node != State::Normal {
        // The author of a local change cannot always be known.
        form.modified = true;
        form.author = Some("(local)".to_owned());
        form.date = file_time(&from);
    }
    let is_special = Translation::of(&form.props, None).special;
    form.write_from(to, &mut text, &form.translation(ctx, how), how)?;
    if !is_special {
        notify_kind(ctx, to, Action::UpdateAdd, NodeKind::File);
    }
    Ok(())
}
