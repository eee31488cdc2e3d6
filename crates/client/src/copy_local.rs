//! Copies and moves within working copies, and from one to another.

use std::path::{Path, PathBuf};

use sapwood_core::paths::{RelPath, RelPathBuf};
use sapwood_core::props::names;
use sapwood_core::{Depth, ErrorCode, SvnError, SvnResult};
use sapwood_wc::WorkingCopy;
use sapwood_wc::gather::GatheredChanges;
use sapwood_wc::props::Change;
use sapwood_wc::view::Status;

use crate::add::make_directory;
use crate::context::Context;
use crate::locate::Locator;
use crate::pin::pin_local;
use crate::target::name_of;

/// How to copy or move.
#[derive(Clone, Copy, Debug, Default)]
pub struct CopyLocal {
    /// Makes the directories above the destination.
    pub parents: bool,
    /// Whether the sources go.
    pub is_move: bool,
    /// Whether directories of mixed revisions may be moved.
    pub allow_mixed: bool,
    /// Whether externals are pinned in a copy.
    pub pin_externals: bool,
}

/// One source and its location, each in its working copy.
struct Pair {
    from: (WorkingCopy, RelPathBuf),
    to: (WorkingCopy, RelPathBuf),
}

/// Copies or moves local paths to a path, or into a directory: several sources always, one source
/// when the destination exists.
///
/// # Errors
/// What is wrong with a source or the destination.
pub fn copy(ctx: &Context, sources: &[String], target: &str, how: CopyLocal) -> SvnResult<()> {
    let [source] = sources else { return into(ctx, sources, target, how) };
    match one(ctx, source, target, how) {
        Err(e) if e.is_entry_there() => into(ctx, sources, target, how),
        other => other,
    }
}

fn into(ctx: &Context, sources: &[String], target: &str, how: CopyLocal) -> SvnResult<()> {
    let mut names = Vec::new();
    for source in sources {
        let abspath = ctx.absolute(source);
        let name = name_of(&abspath);
        let place = ctx.absolute(target).join(&name);
        names.push((source.as_str(), place.to_string_lossy().into_owned()));
    }
    all(ctx, &names, how)
}

fn one(ctx: &Context, source: &str, target: &str, how: CopyLocal) -> SvnResult<()> {
    all(ctx, &[(source, ctx.absolute(target).to_string_lossy().into_owned())], how)
}

fn all(ctx: &Context, pairs: &[(&str, String)], how: CopyLocal) -> SvnResult<()> {
    let unsupported = |text: String| Err(SvnError::new(ErrorCode::UNSUPPORTED_FEATURE, text));
    for (source, target) in pairs {
        let (from, to) = (ctx.absolute(source), ctx.absolute(target));
        if to != from && to.starts_with(&from) {
            return unsupported(format!(
                "Cannot copy path '{}' into its own child '{}'",
                from.display(),
                to.display()
            ));
        }
        if how.is_move {
            refuse_external(ctx, source)?;
        }
        if how.is_move && from == to {
            return unsupported(format!("Cannot move path '{}' into itself", from.display()));
        }
    }
    let checked = check_all(ctx, pairs, how.parents)?;
    let done = if how.is_move {
        checked.iter().try_for_each(|pair| {
            ctx.check_cancel()?;
            move_one(ctx, pair, how)
        })
    } else {
        let into_one = |a: &Pair, b: &Pair| {
            let ((wc, to), (other_wc, other_to)) = (&a.to, &b.to);
            wc.root() == other_wc.root() && to.parent() == other_to.parent()
        };
        checked.chunk_by(into_one).try_for_each(|pairs| copy_into_one(ctx, pairs, how))
    };
    ctx.wait_for_clock();
    done
}

/// Finds sources and checks them, then their destinations. What is asked of the working copy of the first source is asked
/// under one lock of its database.
fn check_all(ctx: &Context, pairs: &[(&str, String)], parents: bool) -> SvnResult<Vec<Pair>> {
    let Some((first, _)) = pairs.first() else { return Ok(Vec::new()) };
    let (wc, _) = ctx.working_copy(&ctx.absolute(first))?;
    wc.db().questions(|| {
        let mut locator = Locator::new(ctx);
        let mut found = Vec::with_capacity(pairs.len());
        for (source, _) in pairs {
            found.push(check_source(ctx, &mut locator, source)?);
        }
        let mut targets = TargetCheck::new(ctx, parents);
        let pair = |(from, (_, target)): (_, &(&str, String))| {
            Ok(Pair { from, to: targets.check(target)? })
        };
        found.into_iter().zip(pairs).map(pair).collect()
    })
}

fn move_one(ctx: &Context, pair: &Pair, how: CopyLocal) -> SvnResult<()> {
    let ((from_wc, from), (to_wc, to)) = (&pair.from, &pair.to);
    let notify = |notice: &sapwood_core::notify::Notify<'_>| ctx.notify(notice);
    if from.is_empty() {
        // The root of a working copy has no parent that could be locked, but in another one.
        ctx.working_copy(from_wc.root().parent().unwrap_or_else(|| from_wc.root()))?;
    }
    let (from_dir, to_dir) = (from.parent(), to.parent());
    let nested = to_dir.is_at_or_below(from_dir) || from_dir.is_at_or_below(to_dir);
    let locks = if from_wc.root() == to_wc.root() && nested {
        vec![to_wc.lock(from_dir.common_ancestor(to_dir), -1)?]
    } else {
        vec![from_wc.lock(from_dir, -1)?, to_wc.lock(to_dir, -1)?]
    };
    from_wc.move_node(from, to_wc, to, false, how.allow_mixed, ctx.cancel(), &notify)?;
    for lock in locks {
        lock.release()?;
    }
    Ok(())
}

/// Copies into one directory: under one lock, and what is recorded of many copies is one change.
fn copy_into_one(ctx: &Context, pairs: &[Pair], how: CopyLocal) -> SvnResult<()> {
    let Some((to_wc, to)) = pairs.first().map(|pair| &pair.to) else { return Ok(()) };
    let lock = to_wc.lock(to.parent(), -1)?;
    to_wc.gather(ctx.cancel(), &|notice| ctx.notify(notice), |gathered| {
        pairs.iter().try_for_each(|pair| {
            ctx.check_cancel()?;
            copy_one(ctx, pair, how, gathered)?;
            Ok::<(), SvnError>(gathered.step()?)
        })
    })?;
    Ok(lock.release()?)
}

fn copy_one(
    ctx: &Context,
    pair: &Pair,
    how: CopyLocal,
    gathered: &GatheredChanges<'_>,
) -> SvnResult<()> {
    let ((from_wc, from), (to_wc, to)) = (&pair.from, &pair.to);
    let pinned = if how.pin_externals { pin_local(ctx, from_wc, from)? } else { Vec::new() };
    let notify = |notice: &sapwood_core::notify::Notify<'_>| gathered.notify(notice);
    to_wc.copy(from_wc, from, to, false, ctx.cancel(), Some(&notify))?;
    for (below, value) in pinned {
        set(ctx, to_wc, &to.join(&below), names::EXTERNALS, Some(&value))?;
    }
    Ok(())
}

fn refuse_external(ctx: &Context, source: &str) -> SvnResult<()> {
    let (wc, relpath) = ctx.working_copy(&ctx.absolute(source))?;
    let Some(external) = wc.db().external(&relpath)? else { return Ok(()) };
    Err(SvnError::new(
        ErrorCode::WC_CANNOT_MOVE_FILE_EXTERNAL,
        format!(
            "Cannot move the external at '{}'; please edit the svn:externals property on '{}'.",
            wc.abspath(&relpath).display(),
            wc.abspath(&external.def_relpath).display()
        ),
    ))
}

fn is_there(wc: &WorkingCopy, relpath: &RelPath) -> SvnResult<bool> {
    let there = |status| matches!(status, Status::Normal | Status::Added | Status::Incomplete);
    Ok(wc.view(relpath)?.is_some_and(|view| there(view.status())))
}

fn check_source(
    ctx: &Context,
    locator: &mut Locator<'_>,
    source: &str,
) -> SvnResult<(WorkingCopy, RelPathBuf)> {
    let abspath = ctx.absolute(source);
    let (wc, relpath) = locator.find(source)?;
    if !is_there(&wc, &relpath)? {
        let text = format!("Path '{}' does not exist", abspath.display());
        return Err(SvnError::new(ErrorCode::WC_PATH_NOT_FOUND, text));
    }
    Ok((wc, relpath))
}

/// Sees that a local path is free and that there is a versioned directory for it, which is made with
/// `parents`.
pub(crate) fn check_target(
    ctx: &Context,
    target: &str,
    parents: bool,
) -> SvnResult<(WorkingCopy, RelPathBuf)> {
    TargetCheck::new(ctx, parents).check(target)
}

/// Sees that local paths are free and that there is a versioned directory for each. Invariant: lives only while nothing
/// goes that was there.
struct TargetCheck<'c> {
    ctx: &'c Context,
    locator: Locator<'c>,
    /// Whether directories are made.
    parents: bool,
    /// The directory that was found last: where it is.
    folder: Option<PathBuf>,
}

impl<'c> TargetCheck<'c> {
    fn new(ctx: &'c Context, parents: bool) -> Self {
        Self { ctx, locator: Locator::new(ctx), parents, folder: None }
    }

    fn check(&mut self, target: &str) -> SvnResult<(WorkingCopy, RelPathBuf)> {
        let abspath = self.ctx.absolute(target);
        let shown = abspath.display();
        let error = |code, text: String| Err(SvnError::new(code, text));
        let on_disk = abspath.symlink_metadata().is_ok();
        if on_disk && sapwood_wc::layout::db(&abspath).exists() {
            // The root of a working copy.
            return error(ErrorCode::ENTRY_EXISTS, format!("Path '{shown}' already exists"));
        }
        let (wc, relpath) = self.locator.find(target)?;
        match wc.view(&relpath)?.map(|view| view.status()) {
            None | Some(Status::Deleted | Status::NotPresent) => {}
            Some(Status::Excluded | Status::ServerExcluded) => {
                let text = format!("Path '{shown}' exists, but is excluded");
                return error(ErrorCode::WC_OBSTRUCTED_UPDATE, text);
            }
            Some(_) => {
                return error(ErrorCode::ENTRY_EXISTS, format!("Path '{shown}' already exists"));
            }
        }
        if on_disk {
            let text = format!("Path '{shown}' already exists as unversioned node");
            return error(ErrorCode::ENTRY_EXISTS, text);
        }
        let folder = abspath.parent().unwrap_or(&abspath);
        if self.folder.as_deref() != Some(folder) {
            self.check_folder(&wc, relpath.parent(), folder)?;
            self.folder = Some(folder.to_owned());
        }
        Ok((wc, relpath))
    }

    /// Sees that a path is a versioned directory, and is there.
    fn check_folder(&self, wc: &WorkingCopy, relpath: &RelPath, folder: &Path) -> SvnResult<()> {
        let error = |code, text: String| Err(SvnError::new(code, text));
        let on_disk = folder.is_dir();
        let shown = folder.display();
        let not_a_directory = || format!("Path '{shown}' is not a directory");
        if !is_there(wc, relpath)? {
            if !self.parents {
                let text = if on_disk {
                    format!("Directory '{shown}' is not under version control")
                } else {
                    not_a_directory()
                };
                return error(ErrorCode::WC_PATH_NOT_FOUND, text);
            }
            make_directory(self.ctx, &folder.to_string_lossy(), true)
        } else if !wc.view(relpath)?.is_some_and(|view| view.is_dir()) {
            error(ErrorCode::WC_PATH_NOT_FOUND, not_a_directory())
        } else if !on_disk {
            error(ErrorCode::WC_MISSING, not_a_directory())
        } else {
            Ok(())
        }
    }
}

/// Sets a property without a notification.
pub(crate) fn set(
    ctx: &Context,
    wc: &WorkingCopy,
    relpath: &RelPath,
    name: &str,
    value: Option<&[u8]>,
) -> SvnResult<()> {
    let change = Change { name, value, force: true };
    let all = std::collections::HashSet::new();
    Ok(wc.set_prop(relpath, change, Depth::Empty, &all, ctx.cancel(), &|_| {})?)
}
