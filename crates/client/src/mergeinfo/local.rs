//! Mergeinfo as a working copy has it, with what a node inherits from above: from the working copy
//! as far as it surely shows what the node inherits in its revision, else from the repository.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

use sapwood_core::paths::{RelPath, RelPathBuf};
use sapwood_core::props::names;
use sapwood_core::{Inherit, Revnum, SvnResult, path};
use sapwood_ra::Session;
use sapwood_wc::WorkingCopy;
use sapwood_wc::db::{NodeRow, Presence, parent_of};
use sapwood_wc::view::View;

use super::place::RepoLocation;
use super::{Catalog, Mergeinfo, merge_catalogs, remote};
use crate::working::Node;

/// The mergeinfo of a node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LocalMergeinfo {
    /// The mergeinfo, if any.
    pub mergeinfo: Option<Mergeinfo>,
    /// Whether it is from above the node.
    pub inherited: bool,
}

/// The reaction to a node's own value that is not valid mergeinfo.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Invalid {
    /// It is an error.
    Refuse,
    /// It counts as empty.
    Ignore,
}

/// The value that a node has itself.
///
/// # Errors
/// E155010 for what is not known, E200020 for a value that is no mergeinfo.
pub fn explicit(wc: &WorkingCopy, relpath: &RelPath) -> SvnResult<Option<Mergeinfo>> {
    let value = own_value(&wc.require_view(relpath)?)?;
    value.map(|value| Mergeinfo::parse(&value)).transpose()
}

/// The same before it is read.
fn own_value(view: &View) -> SvnResult<Option<Vec<u8>>> {
    if !matches!(view.top().presence, Presence::Normal | Presence::Incomplete) {
        return Ok(None);
    }
    Ok(view.props()?.get(names::MERGEINFO).map(<[u8]>::to_vec))
}

/// The revision of a node's BASE, if it exists.
pub(crate) fn base_revision(wc: &WorkingCopy, relpath: &RelPath) -> SvnResult<Option<Revnum>> {
    Ok(revision_of_base(wc.db().base(relpath)?.as_ref()))
}

fn revision_of_base(row: Option<&NodeRow>) -> Option<Revnum> {
    row.filter(|row| row.presence.is_there()).and_then(|row| row.revision)
}

/// What counts of a node for the mergeinfo of those below it.
#[derive(Debug)]
struct NodeMergeinfo {
    /// Its own mergeinfo; `Err` with an invalid value.
    own: Option<Result<Mergeinfo, Vec<u8>>>,
    /// The repository and the path of its BASE.
    base_place: Option<(i64, RelPathBuf)>,
    /// The revision of its BASE, if that exists.
    base: Option<Revnum>,
    /// Its last change.
    changed: Option<Revnum>,
}

impl NodeMergeinfo {
    fn at(wc: &WorkingCopy, relpath: &RelPath) -> SvnResult<Self> {
        let view = wc.require_view(relpath)?;
        let row = view.base();
        Ok(Self {
            own: own_value(&view)?.map(|value| Mergeinfo::parse(&value).map_err(|_| value)),
            base_place: row.and_then(|row| Some((row.repos_id?, row.repos_path.clone()?))),
            base: revision_of_base(row),
            changed: view.top().changed_revision,
        })
    }

    /// Whether BASE has the node from another place than its parent's.
    fn is_switched(&self, name: &str, parent: &Self) -> bool {
        let (Some((id, own)), Some((parent_id, above))) = (&self.base_place, &parent.base_place)
        else {
            return false;
        };
        id != parent_id || *own != above.child(name)
    }
}

/// A cache of directories' mergeinfo, valid while nothing changes, for walks over many nodes below them.
#[derive(Debug, Default)]
pub struct MergeinfoCache(RefCell<HashMap<RelPathBuf, Rc<NodeMergeinfo>>>);

impl MergeinfoCache {
    fn look(&self, wc: &WorkingCopy, relpath: &RelPath) -> SvnResult<Rc<NodeMergeinfo>> {
        if let Some(known) = self.0.borrow().get(relpath) {
            return Ok(Rc::clone(known));
        }
        let found = Rc::new(NodeMergeinfo::at(wc, relpath)?);
        self.0.borrow_mut().insert(relpath.to_owned(), Rc::clone(&found));
        Ok(found)
    }

    /// Mergeinfo was changed somewhere.
    pub fn forget(&self) {
        self.0.borrow_mut().clear();
    }

    /// The mergeinfo that a node has itself, and what it inherits from the nearest parent that has some, no
    /// higher than `limit`.
    ///
    /// # Errors
    /// As [`explicit`]; values of parents that are no mergeinfo count as empty.
    pub(crate) fn own_and_above(
        &self,
        wc: &WorkingCopy,
        relpath: &RelPath,
        limit: Option<&RelPath>,
    ) -> SvnResult<(Option<Mergeinfo>, LocalMergeinfo)> {
        let node = NodeMergeinfo::at(wc, relpath)?;
        let own = match &node.own {
            None => return Ok((None, LocalMergeinfo::default())),
            Some(Err(value)) => Mergeinfo::parse(value)?,
            Some(Ok(own)) => own.clone(),
        };
        let search = Search { relpath, inherit: Inherit::NearestAncestor, limit };
        Ok((Some(own), search.find(Rc::new(node), Invalid::Refuse, &|at| self.look(wc, at))?))
    }
}

/// The mergeinfo that a node has, or inherits from a parent in the working copy, no higher than
/// `limit`.
///
/// # Errors
/// As [`explicit`]; values of parents that are no mergeinfo count as empty.
pub fn find(
    wc: &WorkingCopy,
    relpath: &RelPath,
    inherit: Inherit,
    limit: Option<&RelPath>,
    invalid: Invalid,
) -> SvnResult<LocalMergeinfo> {
    let look = |at: &RelPath| Ok(Rc::new(NodeMergeinfo::at(wc, at)?));
    Search { relpath, inherit, limit }.find(look(relpath)?, invalid, &look)
}

/// A search from a node upwards.
struct Search<'s> {
    relpath: &'s RelPath,
    inherit: Inherit,
    limit: Option<&'s RelPath>,
}

impl Search<'_> {
    fn find(
        &self,
        node: Rc<NodeMergeinfo>,
        invalid: Invalid,
        look: &dyn Fn(&RelPath) -> SvnResult<Rc<NodeMergeinfo>>,
    ) -> SvnResult<LocalMergeinfo> {
        let relpath = self.relpath;
        let mut at = relpath;
        let mut skip = self.inherit == Inherit::NearestAncestor;
        // Each parent must have been as it is now when its child was updated, so the child's revision
        // must lie between the last change of the parent and the parent's revision.
        let child_base = node.base;
        let mut here = node;
        let found = loop {
            if !std::mem::take(&mut skip) {
                match &here.own {
                    Some(Err(_)) if invalid == Invalid::Ignore || at != relpath => {
                        break Some(Mergeinfo::new());
                    }
                    Some(Err(value)) => break Some(Mergeinfo::parse(value)?),
                    Some(Ok(found)) => break Some(found.clone()),
                    None => {}
                }
            }
            if self.inherit == Inherit::Explicit || self.limit == Some(at) {
                break None;
            }
            let Some(parent) = parent_of(at) else { break None };
            let above = look(parent)?;
            if here.is_switched(path::basename(at), &above) {
                break None;
            }
            (at, here) = (parent, above);
            if let Some(base) = child_base
                && (here.changed.is_some_and(|changed| base < changed)
                    || here.base.is_none_or(|has| has < base))
            {
                break None;
            }
        };
        let below = relpath.rest_below(at)?;
        Ok(match found {
            Some(found) if !below.is_empty() => LocalMergeinfo {
                mergeinfo: Some(found.with_suffix(below).only(true)),
                inherited: true,
            },
            found => {
                LocalMergeinfo { mergeinfo: found.filter(|_| below.is_empty()), inherited: false }
            }
        })
    }
}

/// The values of all nodes at and below a path that have one, by path in the working copy.
///
/// # Errors
/// SQLite's.
pub fn values_below(
    wc: &WorkingCopy,
    relpath: &RelPath,
) -> SvnResult<BTreeMap<RelPathBuf, Vec<u8>>> {
    Ok(wc.values_below(relpath, names::MERGEINFO)?.into_iter().collect())
}

/// The mergeinfo of a node (own or inherited) and of what is below it.
fn catalog(
    node: &Node,
    inherit: Inherit,
    descendants: bool,
    invalid: Invalid,
) -> SvnResult<(Catalog, bool)> {
    let (wc, relpath) = (&node.wc, node.relpath.as_path());
    let mut catalog = Catalog::new();
    let LocalMergeinfo { mergeinfo, inherited } = find(wc, relpath, inherit, None, invalid)?;
    if let Some(mergeinfo) = mergeinfo {
        catalog.insert(wc.repos_location(relpath)?.1.into_string(), mergeinfo);
    }
    if descendants {
        for (below, value) in values_below(wc, relpath)? {
            if below != relpath {
                let (_, repos_relpath) = wc.repos_location(&below)?;
                catalog.insert(repos_relpath.into_string(), Mergeinfo::parse(&value)?);
            }
        }
    }
    Ok((catalog, inherited))
}

/// Where to look for a node's mergeinfo.
#[derive(Clone, Copy, Debug)]
pub struct Lookup {
    /// Whether to pass over the working copy.
    pub repository_only: bool,
    /// Where it may come from.
    pub inherit: Inherit,
    /// Whether nodes below the node are included.
    pub descendants: bool,
    /// The reaction to invalid mergeinfo.
    pub invalid: Invalid,
}

/// The mergeinfo of a node of a working copy, from there or from the repository; and whether it is
/// inherited.
///
/// # Errors
/// As [`find`]; those of the session.
pub(crate) fn catalog_anywhere(
    node: &Node,
    session: &dyn Session,
    lookup: &Lookup,
) -> SvnResult<(Catalog, bool)> {
    let origin = RepoLocation::origin(node)?;
    let mut descendants = lookup.descendants;
    let (mut found, mut inherited) = (Catalog::new(), false);
    if !lookup.repository_only {
        (found, inherited) = catalog(node, lookup.inherit, descendants, lookup.invalid)?;
        let has_own =
            origin.as_ref().is_some_and(|origin| found.contains_key(origin.relpath.as_str()));
        if inherited || lookup.inherit == Inherit::Explicit || has_own {
            return Ok((found, inherited));
        }
        descendants = false;
    }
    // Local changes that took all of the mergeinfo away are to be respected.
    let pristine = node.wc.require_view(&node.relpath)?.pristine_props()?;
    let Some(origin) = origin.filter(|_| pristine.get(names::MERGEINFO).is_none()) else {
        return Ok((found, inherited));
    };
    // The node has none itself: what it inherits is the answer to either question, which is asked once so.
    let inherit = match lookup.inherit {
        Inherit::NearestAncestor => Inherit::Inherited,
        other => other,
    };
    let theirs = remote::catalog_if_known(session, &origin, inherit, descendants)?;
    inherited |= theirs.contains_key(origin.relpath.as_str());
    merge_catalogs(&mut found, theirs);
    Ok((found, inherited))
}

/// [`catalog_anywhere`] of the node alone.
///
/// # Errors
/// As there.
pub(crate) fn find_anywhere(
    node: &Node,
    session: &dyn Session,
    inherit: Inherit,
    repository_only: bool,
) -> SvnResult<LocalMergeinfo> {
    let lookup = Lookup { repository_only, inherit, descendants: false, invalid: Invalid::Refuse };
    let (catalog, inherited) = catalog_anywhere(node, session, &lookup)?;
    Ok(LocalMergeinfo { mergeinfo: catalog.into_values().next(), inherited })
}
