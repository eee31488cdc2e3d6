//! The status of working copies, with what `svn:externals` put into them.

use std::collections::HashSet;

use sapwood_core::notify::{Action, Notify};
use sapwood_core::paths::{RelPath, RelPathBuf};
use sapwood_core::{Depth, ErrorCode, Revnum, SvnError, SvnResult, path};
use sapwood_wc::WorkingCopy;
use sapwood_wc::db::Kind;
use sapwood_wc::ignore::{DEFAULT_GLOBAL_IGNORES, Patterns};
use sapwood_wc::status::{Options, Status};

use crate::context::Context;
use crate::revision::Revision;
use crate::shelved;

mod updates;

/// The options of a status.
#[derive(Clone, Debug)]
pub struct StatusOptions {
    /// How deep to go; unknown is infinity.
    pub depth: Depth,
    /// Whether to report unmodified nodes.
    pub all: bool,
    /// Whether to report ignored names.
    pub no_ignore: bool,
    /// Whether names that are only on disk matter.
    pub unversioned: bool,
    /// Leaves externals out.
    pub ignore_externals: bool,
    /// Only paths on one of these, when there are some.
    pub changelists: HashSet<String>,
    /// The revision whose changes are reported beside the local ones; `None` asks no repository.
    pub updates: Option<Revision>,
}

/// A status with the path that the user knows it by.
#[derive(Debug)]
pub struct StatusItem<'s> {
    /// The path, joined to the target as it was given.
    pub path: &'s str,
    /// The working copy.
    pub wc: &'s WorkingCopy,
    /// The status.
    pub status: Status,
}

/// Gets one status after the other.
pub type Visit<'v> = dyn FnMut(StatusItem<'_>) -> SvnResult<()> + 'v;

impl Context {
    /// The ignore patterns of the configuration.
    #[must_use]
    pub fn ignores(&self) -> Patterns {
        let value = self.config().get("miscellany", "global-ignores");
        Patterns::of_config(value.as_deref().unwrap_or(DEFAULT_GLOBAL_IGNORES))
    }
}

/// Walks a target. Returns the revision that it was compared with, if it was.
///
/// # Errors
/// E155007 and E155010 for what is in no working copy, those of the walk and of `visit`.
pub fn status(
    ctx: &Context,
    target: &str,
    options: &StatusOptions,
    visit: &mut Visit<'_>,
) -> SvnResult<Option<Revnum>> {
    if let Some(revision) = options.updates {
        return updates::status(ctx, target, revision, options, visit);
    }
    let abspath = ctx.absolute(target);
    let (wc, relpath) = ctx.working_copy(&abspath).map_err(|e| not_working_copy(e, &abspath))?;
    let mut lists: Vec<&String> = options.changelists.iter().collect();
    lists.sort_unstable();
    for name in lists {
        if let Some(version) = shelved::of_changelist(&wc, name)? {
            for mut status in shelved::statuses(ctx, &version, &relpath)? {
                status.changelist = Some(name.clone());
                let at = StatusTarget { wc: &wc, shown: target, relpath: &relpath };
                show(&at, status, options, visit)?;
            }
        }
    }
    wc.status(&relpath, &walk_options(ctx, options), &mut |status| {
        let at = StatusTarget { wc: &wc, shown: target, relpath: &relpath };
        show(&at, status, options, visit).map_err(Into::into)
    })?;
    let is_deep = matches!(options.depth, Depth::Infinity | Depth::Unknown);
    // Below a file there are none: wc.db is not asked for each of many targets.
    if is_deep && !options.ignore_externals && abspath.is_dir() {
        externals(ctx, target, &wc, &relpath, options, visit)?;
    }
    Ok(None)
}

fn walk_options(ctx: &Context, options: &StatusOptions) -> Options {
    Options {
        depth: options.depth,
        all: options.all,
        layers: false,
        no_ignore: options.no_ignore,
        unversioned: options.unversioned,
        kinds_only: false,
        ignores: ctx.ignores(),
        cancel: ctx.cancel().clone(),
    }
}

/// A path of a working copy, and how it is shown.
struct StatusTarget<'a> {
    wc: &'a WorkingCopy,
    shown: &'a str,
    relpath: &'a RelPath,
}

/// Hands a status on, unless it is on none of the changelists that are wanted.
fn show(
    at: &StatusTarget<'_>,
    mut status: Status,
    options: &StatusOptions,
    visit: &mut Visit<'_>,
) -> SvnResult<()> {
    let on_list = |name: &String| options.changelists.contains(name);
    if !options.changelists.is_empty() && !status.changelist.as_ref().is_some_and(on_list) {
        return Ok(());
    }
    // A file external comes from elsewhere by its nature.
    status.switched &= !status.file_external;
    let below = path::rest_below(at.relpath, &status.relpath)?;
    let shown = join_shown(at.shown, below);
    visit(StatusItem { path: &shown, wc: at.wc, status })
}

/// A path below a target as it is shown.
#[must_use]
pub fn join_shown(target: &str, below: &str) -> String {
    if target.is_empty() { below.to_owned() } else { path::join(target, below) }
}

fn not_working_copy(error: SvnError, abspath: &std::path::Path) -> SvnError {
    if error.is_no_working_copy() {
        let message = format!("'{}' is not a working copy", abspath.display());
        return SvnError::new(ErrorCode::WC_NOT_WORKING_COPY, message);
    }
    error
}

/// Walks the directories that externals below a target are.
fn externals(
    ctx: &Context,
    target: &str,
    wc: &WorkingCopy,
    relpath: &RelPath,
    options: &StatusOptions,
    visit: &mut Visit<'_>,
) -> SvnResult<()> {
    let mut dirs: Vec<(RelPathBuf, Option<Revnum>)> = wc
        .db()
        .externals(RelPath::ROOT)?
        .into_iter()
        .filter(|e| e.kind == Kind::Dir && path::is_ancestor(relpath, &e.def_relpath))
        .map(|e| (e.relpath, e.def_revision))
        .collect();
    dirs.sort_unstable();
    for (dir, revision) in dirs {
        let abspath = wc.abspath(&dir);
        if !abspath.symlink_metadata().is_ok_and(|m| m.is_dir()) {
            continue;
        }
        ctx.notify(&Notify::new(Action::StatusExternal, &abspath.to_string_lossy()));
        let shown = match path::skip_ancestor(relpath, &dir) {
            Some(below) => join_shown(target, below),
            None => abspath.to_string_lossy().into_owned(),
        };
        let revision = revision.map_or(Revision::Unspecified, Revision::Number);
        let updates = options.updates.map(|_| revision);
        status(ctx, &shown, &StatusOptions { updates, ..options.clone() }, visit)?;
    }
    Ok(())
}
