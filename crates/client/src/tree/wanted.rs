//! What an update needs from the repository beside its edit: inherited properties, and the names of children that it leaves
//! out.

use std::collections::HashMap;

use sapwood_core::paths::{RelPath, RelPathBuf, Url};
use sapwood_core::{Depth, NodeKind, Revnum, SvnResult};
use sapwood_ra::{DirentFields, Session};
use sapwood_wc::WorkingCopy;
use sapwood_wc::db::{InheritedProps, Kind, Presence};

/// The properties that roots and switched nodes at and below a target inherit in the repository.
pub(super) fn inherited_props(
    wc: &WorkingCopy,
    relpath: &RelPath,
    depth: Depth,
    session: &dyn Session,
    revision: Revnum,
) -> SvnResult<HashMap<RelPathBuf, InheritedProps>> {
    let mut wanted = wc.with_inherited_props(relpath, depth)?;
    if let Some(base) = wc.db().base(relpath)?.filter(|row| row.presence.is_there())
        && (relpath.is_empty() || wc.is_switched(relpath)?)
        && base.repos_path.as_deref().is_some_and(|path| !path.is_empty())
        && !wanted.contains(&base.relpath)
    {
        wanted.push(base.relpath);
    }
    let mut found = HashMap::new();
    for node in wanted {
        let Some(base) = wc.db().base(&node)? else { continue };
        let (Some(id), Some(path)) = (base.repos_id, base.repos_path) else { continue };
        if path.is_empty() {
            continue;
        }
        session.reparent(&wc.db().repository(id)?.root.join(&path))?;
        match session.inherited_props(RelPath::ROOT, Some(revision)) {
            Ok(list) => drop(found.insert(node, list)),
            Err(error) if error.is_no_node() => {}
            Err(error) => return Err(error),
        }
    }
    Ok(found)
}

/// What directories hold in the repository that an update of less depth than theirs leaves
/// incomplete, by their paths in it.
pub(super) fn children_of(
    wc: &WorkingCopy,
    relpath: &RelPath,
    depth: Depth,
    switch_to: Option<&RelPath>,
    session: &dyn Session,
    anchor_url: &Url,
    revision: Revnum,
) -> SvnResult<HashMap<RelPathBuf, Vec<(String, NodeKind)>>> {
    let mut found = HashMap::new();
    if !matches!(depth, Depth::Empty | Depth::Files | Depth::Immediates) {
        return Ok(found);
    }
    let Some(base) = wc
        .db()
        .base(relpath)?
        .filter(|row| row.kind == Kind::Dir && row.presence == Presence::Normal)
    else {
        return Ok(found);
    };
    let mut wanted = Vec::new();
    let own = switch_to.map(RelPath::to_owned).or(base.repos_path.clone());
    if base.depth_or_infinity() > depth {
        wanted.extend(own.clone());
    }
    if depth == Depth::Immediates {
        for child in wc.db().children_at(relpath, 0)? {
            let deep = child.kind == Kind::Dir
                && child.presence == Presence::Normal
                && child.depth_or_infinity() > Depth::Empty;
            if deep {
                let place = match switch_to {
                    Some(to) => Some(to.child(child.name())),
                    None => child.repos_path.clone(),
                };
                wanted.extend(place);
            }
        }
    }
    let root = session.root_url();
    let kinds = DirentFields { kind: true, ..DirentFields::default() };
    for place in wanted {
        session.reparent(&root.join(&place))?;
        if session.check_path(RelPath::ROOT, Some(revision))? != Some(NodeKind::Dir) {
            continue;
        }
        let dir = session.get_dir(RelPath::ROOT, Some(revision), Some(kinds), false)?;
        let children = dir.entries.into_iter().filter_map(|(name, d)| Some((name, d.kind?)));
        found.insert(place, children.collect());
    }
    session.reparent(anchor_url)?;
    Ok(found)
}
