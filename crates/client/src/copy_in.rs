//! `svn copy` of URLs to working copies: what comes from the working copy's own repository becomes a
//! scheduled copy with its pristine texts, what comes from another one a plain addition.

use std::fs;
use std::path::Path;
use std::rc::Rc;

use sapwood_core::mergeinfo::Mergeinfo;
use sapwood_core::notify::{Action, Notify};
use sapwood_core::paths::{RelPath, RelPathBuf, Url, UrlBuf};
use sapwood_core::props::names;
use sapwood_core::{Depth, ErrorCode, NodeKind, Revnum, SvnError, SvnResult};
use sapwood_ra::Session;
use sapwood_wc::WorkingCopy;
use sapwood_wc::node::Origin;

use crate::checkout::{Checkout, Form, checkout_to};
use crate::context::Context;
use crate::copy_foreign::copy_foreign_dir;
use crate::copy_local::{check_target, set};
use crate::copy_urls::Source;
use crate::externals;
use crate::mergeinfo::place::visit;
use crate::mergeinfo::remote::inherited_here;
use crate::open::locate;
use crate::pin::pin_remote;
use crate::revision::Revision;
use crate::target::Target;

/// How it is done.
#[derive(Clone, Copy, Debug, Default)]
pub struct How {
    /// Whether missing directories above the destination are made.
    pub parents: bool,
    /// Whether externals are left out.
    pub ignore_externals: bool,
    /// Whether externals are pinned in the copy.
    pub pin_externals: bool,
}

/// A source that was found, and its location.
struct Pair {
    session: Box<dyn Session>,
    url: UrlBuf,
    revision: Revnum,
    kind: NodeKind,
    wc: WorkingCopy,
    relpath: RelPathBuf,
}

/// Copies URLs to a local path: to it if nothing is there and there is one URL, else into it.
///
/// # Errors
/// E160013 when a source is not there, E150002 when a destination is; those of sessions and of the
/// working copy.
pub fn copy_in(ctx: &Context, sources: &[Source], to: &str, how: How) -> SvnResult<()> {
    let place = ctx.absolute(to).to_string_lossy().into_owned();
    let into =
        |source: &Source| Path::new(&place).join(&source.name).to_string_lossy().into_owned();
    if let [source] = sources {
        return match copy_pairs(ctx, &[(source, place.clone())], how) {
            Err(e) if e.is_entry_there() => copy_pairs(ctx, &[(source, into(source))], how),
            other => other,
        };
    }
    let pairs: Vec<(&Source, String)> = sources.iter().map(|s| (s, into(s))).collect();
    copy_pairs(ctx, &pairs, how)
}

fn copy_pairs(ctx: &Context, wanted: &[(&Source, String)], how: How) -> SvnResult<()> {
    let mut places = Vec::with_capacity(wanted.len());
    for (_, to) in wanted {
        places.push(check_target(ctx, to, how.parents)?);
    }
    let mut pairs = Vec::with_capacity(wanted.len());
    for ((source, _), (wc, relpath)) in wanted.iter().zip(places) {
        let target = Target { text: source.url.to_string(), peg: source.peg };
        let located = locate(&ctx.ra, &target, source.revision)?;
        let (session, revision) = (located.session, located.revision);
        let url = session.url();
        let Some(kind) = session.check_path(RelPath::ROOT, Some(revision))? else {
            return Err(SvnError::new(
                ErrorCode::FS_NOT_FOUND,
                format!("Path '{url}' not found in revision {revision}"),
            ));
        };
        pairs.push(Pair { session, url, revision, kind, wc, relpath });
    }
    let Some(first) = pairs.first() else { return Ok(()) };
    let lock = first.wc.lock(first.relpath.parent(), -1)?;
    let done = pairs.iter().try_for_each(|pair| {
        ctx.check_cancel()?;
        copy_one(ctx, pair, how)
    });
    lock.release()?;
    ctx.wait_for_clock();
    done
}

fn copy_one(ctx: &Context, pair: &Pair, how: How) -> SvnResult<()> {
    let Pair { session, url, revision, kind, wc, relpath } = pair;
    let (own, _) = wc.repos_location(relpath.parent())?;
    let own = wc.db().repository(own)?;
    let same = own.uuid == session.uuid();
    if !same {
        let notice = Notify { kind: Some(*kind), ..Notify::of_url(Action::ForeignCopyBegin, url) };
        ctx.notify(&notice);
        ctx.check_cancel()?;
    }
    match (kind, same) {
        (NodeKind::Dir, true) => copy_dir(ctx, url, *revision, wc, relpath)?,
        (NodeKind::Dir, false) => {
            copy_foreign_dir(ctx, session.as_ref(), *revision, wc, relpath)?;
        }
        (NodeKind::File, _) => copy_file(ctx, pair, same.then_some(own.id))?,
    }
    if !same {
        return Ok(());
    }
    let root = session.root_url();
    if *kind == NodeKind::Dir && !how.ignore_externals {
        if how.pin_externals {
            for (below, value) in pin_remote(ctx, url, *revision, &root)? {
                set(ctx, wc, &relpath.join(&below), names::EXTERNALS, Some(&value))?;
            }
        }
        externals::handle(ctx, wc, relpath, Depth::Infinity, &root, &mut None)?;
    }
    let mut mergeinfo =
        visit(session.as_ref(), url, || inherited_here(session.as_ref(), *revision))?;
    let props = wc.require_view(relpath)?.props()?;
    if let Some(value) = props.get(names::MERGEINFO) {
        let mut all = Mergeinfo::parse(value)?;
        if let Some(found) = &mergeinfo {
            all.merge(found);
        }
        mergeinfo = Some(all);
    }
    match mergeinfo.map(|info| info.to_value()) {
        Some(value) => set(ctx, wc, relpath, names::MERGEINFO, Some(value.as_bytes())),
        None => Ok(()),
    }
}

/// Checks a directory out beside the pristine texts, takes its rows over as those of a copy, and
/// moves it into its place.
pub(crate) fn copy_dir(
    ctx: &Context,
    url: &Url,
    revision: Revnum,
    wc: &WorkingCopy,
    relpath: &RelPath,
) -> SvnResult<()> {
    let temporary = wc.temporary();
    let place = wc.abspath(relpath);
    let mut outer = Context::new(ctx.ra.clone(), ctx.here.clone());
    outer.notify.clone_from(&ctx.notify);
    let (from, to) = (temporary.clone(), place.clone());
    let inner = ctx.with_notify(Rc::new(move |notice| notify_moved(&outer, notice, &from, &to)));
    let number = Revision::Number(revision);
    let source = Target { text: url.to_string(), peg: number };
    let how = Checkout {
        revision: number,
        depth: Depth::Infinity,
        ignore_externals: true,
        allow_obstructions: false,
        form: Form::default(),
    };
    checkout_to(&inner, &source, &temporary, &how, &mut None)?;
    let (copy, _) = inner.working_copy(&temporary)?;
    wc.copy(&copy, RelPath::ROOT, relpath, true, ctx.cancel(), None)?;
    let adm = sapwood_wc::layout::adm(&temporary);
    fs::remove_dir_all(&adm)
        .map_err(|e| SvnError::io(&e, format!("Can't remove '{}'", adm.display())))?;
    fs::rename(&temporary, &place).map_err(|e| {
        let words = format!("Can't move '{}' to '{}'", temporary.display(), place.display());
        SvnError::io(&e, words)
    })
}

/// Passes on a checkout's notifications with paths at another location, and as additions.
fn notify_moved(outer: &Context, notice: &Notify<'_>, from: &Path, to: &Path) {
    let action = match notice.action {
        Action::UpdateStarted | Action::UpdateAdd => Action::Add,
        Action::UpdateUpdate | Action::UpdateCompleted => return,
        other => other,
    };
    let below = Path::new(notice.path).strip_prefix(from);
    let path = match below {
        Ok(below) if below.as_os_str().is_empty() => to.to_owned(),
        Ok(below) => to.join(below),
        Err(_) => return,
    };
    let path = path.to_string_lossy();
    outer.notify(&Notify { path: &path, action, ..notice.clone() });
}

/// Fetches a file and adds it.
fn copy_file(ctx: &Context, pair: &Pair, repos_id: Option<i64>) -> SvnResult<()> {
    let Pair { session, url, revision, wc, relpath, .. } = pair;
    let mut text = wc.write_pristine()?;
    let fetched = session.get_file(RelPath::ROOT, Some(*revision), Some(&mut text), true)?;
    let origin = match repos_id {
        None => None,
        Some(repos_id) => {
            let own = wc.db().repository(repos_id)?;
            let repos_path = url.below(&own.root).ok_or_else(|| {
                SvnError::new(
                    ErrorCode::UNSUPPORTED_FEATURE,
                    format!(
                        "Copyfrom-url '{url}' has different repository root than '{}'",
                        own.root
                    ),
                )
            })?;
            Some(Origin { repos_id, repos_path, revision: *revision })
        }
    };
    wc.add_repos_file(relpath, text, &fetched.props, origin.as_ref(), ctx.cancel())?;
    let place = wc.abspath(relpath);
    let shown = place.to_string_lossy();
    ctx.notify(&Notify { kind: Some(NodeKind::File), ..Notify::new(Action::Add, &shown) });
    Ok(())
}
