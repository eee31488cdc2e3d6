//! Properties of nodes in working copies.

use std::collections::HashSet;

use sapwood_core::notify::{Action, Notify};
use sapwood_core::{Depth, ErrorCode, PropList, SvnError, SvnResult, path, uri};
use sapwood_wc::WorkingCopy;
use sapwood_wc::props::inherited::Source;
use sapwood_wc::props::{Change, matches_changelist, rules};
use sapwood_wc::view::Status;

use crate::context::Context;

/// Refuses names that no versioned property can have.
///
/// # Errors
/// E195011.
pub fn check_name(name: &str, setting: bool) -> SvnResult<()> {
    let bad = |text: String| Err(SvnError::new(ErrorCode::CLIENT_PROPERTY_NAME, text));
    if rules::is_known_revision_prop(name) {
        return bad(format!("Revision property '{name}' not allowed in this context"));
    }
    if rules::kind_of(name) == rules::PropKind::Wc {
        return bad(format!("'{name}' is a wcprop, thus not accessible to clients"));
    }
    if setting && !rules::is_valid_name(name) {
        return bad(format!("Bad property name: '{name}'"));
    }
    Ok(())
}

/// Sets or deletes a property of local paths.
///
/// # Errors
/// Those of [`check_name`] and of [`WorkingCopy::set_prop`].
pub fn set(
    ctx: &Context,
    targets: &[String],
    change: Change<'_>,
    depth: Depth,
    changelists: &HashSet<String>,
) -> SvnResult<()> {
    check_name(change.name, change.value.is_some())?;
    for target in targets {
        ctx.check_cancel()?;
        let abspath = ctx.absolute(target);
        let (wc, relpath) = ctx.working_copy(&abspath)?;
        let view = wc.view(&relpath)?;
        let known = view.as_ref().is_some_and(|v| v.status().is_present() && v.kind().is_some());
        if !known || view.as_ref().is_some_and(|v| v.status() == Status::Deleted) {
            ctx.tell(&Notify::new(Action::PathNonexistent, &abspath.to_string_lossy()));
        }
        let is_dir = view.is_some_and(|v| v.is_dir());
        let at = if is_dir { relpath.as_str() } else { path::dirname(&relpath) };
        let lock = wc.lock(at, -1)?;
        wc.set_prop(&relpath, change, depth, changelists, ctx.cancel(), &|told| ctx.tell(told))?;
        lock.release()?;
    }
    Ok(())
}

/// Which properties of which nodes.
#[derive(Clone, Debug)]
pub struct List {
    /// Only this one.
    pub name: Option<String>,
    /// How deep.
    pub depth: Depth,
    /// Those that were checked out, not the local ones.
    pub pristine: bool,
    /// What the target inherits, too.
    pub inherited: bool,
    /// Only nodes on one of these, when there are some.
    pub changelists: HashSet<String>,
}

/// Properties of one place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// A local path as it is shown, or a URL.
    pub path: String,
    /// The properties.
    pub props: PropList,
}

/// What a listing of properties of a target found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listing {
    /// What the target inherits, what is farthest above first.
    pub inherited: Vec<Found>,
    /// What nodes have, in the order of their paths.
    pub own: Vec<Found>,
}

/// The properties of a local path and of what is below it.
///
/// # Errors
/// E200005 for what is not versioned.
pub fn list(ctx: &Context, target: &str, what: &List) -> SvnResult<Listing> {
    let abspath = ctx.absolute(target);
    let unversioned = || {
        let message = format!("'{}' is not under version control", abspath.display());
        SvnError::new(ErrorCode::UNVERSIONED_RESOURCE, message)
    };
    let (wc, relpath) = ctx.working_copy(&abspath)?;
    let view = wc.view(&relpath)?.filter(|v| v.status().is_present()).ok_or_else(unversioned)?;
    let mut found = Listing::default();
    if what.inherited {
        found.inherited = inherited(&wc, &relpath, what.name.as_deref())?;
    }
    let mut take = |view: &sapwood_wc::view::View| {
        if !matches_changelist(view, &what.changelists) {
            return Ok(());
        }
        let mut props = if what.pristine { view.pristine_props()? } else { view.props()? };
        if let Some(name) = &what.name {
            let value = props.get(name).map(<[u8]>::to_vec);
            props = value.into_iter().map(|v| (name.as_str(), v)).collect();
        }
        if !props.is_empty() {
            let below = path::skip_ancestor(&relpath, view.relpath()).unwrap_or_default();
            let path = crate::status::join_shown(target, below);
            found.own.push(Found { path, props });
        }
        Ok(())
    };
    if what.depth == Depth::Empty || !view.is_dir() {
        take(&view)?;
    } else {
        wc.walk_nodes(&relpath, what.depth, &mut |view| take(view))?;
    }
    Ok(found)
}

fn inherited(wc: &WorkingCopy, relpath: &str, name: Option<&str>) -> SvnResult<Vec<Found>> {
    let (id, _) = wc.repos_location(relpath)?;
    let root = wc.db().repository(id)?.root;
    let found = wc.inherited_props(relpath, name)?;
    Ok(found
        .into_iter()
        .map(|i| Found {
            path: match i.source {
                Source::Node(relpath) => wc.abspath(&relpath).to_string_lossy().into_owned(),
                Source::Repository(relpath) => uri::join(&root, &relpath),
            },
            props: i.props,
        })
        .collect())
}
