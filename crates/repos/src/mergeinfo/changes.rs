//! How a revision changed mergeinfo: what it merged, and what it took back.

use std::collections::BTreeMap;

use sapwood_core::FsPath;
use sapwood_core::mergeinfo::Mergeinfo;
use sapwood_core::paths::FsPathBuf;
use sapwood_core::props::names::MERGEINFO;
use sapwood_core::{ErrorCode, Revnum, SvnError, path};
use sapwood_fs::{ChangeKind, ChangedPath, Filesystem, Root, Roots};

use super::{Inherit, for_path};
use crate::error::Result;
use crate::locations::prev_location;

/// What mergeinfo gained and lost.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct MergeinfoChange {
    /// Ranges that are there only after the change.
    pub(crate) added: Mergeinfo,
    /// Ranges that were there only before.
    pub(crate) deleted: Mergeinfo,
}

impl MergeinfoChange {
    /// Whether nothing changed.
    pub(crate) fn is_empty(&self) -> bool {
        self.added.is_empty() && self.deleted.is_empty()
    }

    fn between(before: Option<&Mergeinfo>, after: Option<&Mergeinfo>) -> Self {
        let (deleted, added) = Mergeinfo::diff_options(before, after, false);
        Self { added, deleted }
    }

    fn merge(&mut self, other: &Self) {
        self.added.merge(&other.added);
        self.deleted.merge(&other.deleted);
    }
}

/// A place in history.
struct HistoryPoint {
    root: Root,
    path: FsPathBuf,
}

/// What `revision` changed in the mergeinfo of `paths` and of everything below them, taken
/// together. Malformed mergeinfo counts as no change.
pub(crate) fn merged_in(
    fs: &Filesystem,
    paths: &[&FsPath],
    revision: Revnum,
) -> Result<MergeinfoChange> {
    let mut all = MergeinfoChange::default();
    if revision == Revnum::ZERO || paths.is_empty() {
        return Ok(all);
    }
    let changed = match explicit_changes(fs, revision) {
        Ok(changed) => changed,
        Err(e) => {
            let e = SvnError::from(e);
            if e.is_bad_mergeinfo() {
                return Ok(all);
            }
            return Err(e.into());
        }
    };
    if changed.is_empty() {
        return Ok(all);
    }
    let mut roots = Roots::new(fs);
    let root = roots.get(revision)?;
    for path in paths.iter().filter(|p| !changed.contains_key(**p)) {
        if let Some(change) = inherited_change(&mut roots, &root, revision, path)? {
            all.merge(&change);
        }
    }
    for (place, change) in &changed {
        if paths.iter().any(|path| path::is_ancestor(path, place)) {
            all.merge(change);
        }
    }
    Ok(all)
}

/// How the explicit mergeinfo of each changed path changed.
fn explicit_changes(
    fs: &Filesystem,
    revision: Revnum,
) -> Result<BTreeMap<FsPathBuf, MergeinfoChange>> {
    let mut out = BTreeMap::new();
    let list = fs.changed_paths(revision)?;
    let maybe = |c: &ChangedPath<'_>| c.prop_mod && c.mergeinfo_mod != Some(false);
    if !list.iter().any(|c| maybe(&c)) {
        return Ok(out);
    }
    let any_copy = list.iter().any(|c| matches!(c.kind, ChangeKind::Add | ChangeKind::Replace));
    let mut roots = Roots::new(fs);
    let root = roots.get(revision)?;
    for change in list.iter().filter(maybe) {
        let base = match change.kind {
            ChangeKind::Delete => continue,
            ChangeKind::Modify => {
                Some(previous_place(&mut roots, revision, change.path, any_copy)?)
            }
            ChangeKind::Add | ChangeKind::Replace => match change.copy_from {
                Some((source_rev, source)) => {
                    Some(HistoryPoint { root: roots.get(source_rev)?, path: source.to_owned() })
                }
                None => None,
            },
        };
        let before = match &base {
            Some(base) => base.root.node(&base.path)?.props()?.get(MERGEINFO).map(<[u8]>::to_vec),
            None => None,
        };
        let props = root.node(change.path)?.props()?;
        let after = props.get(MERGEINFO);
        if after == before.as_deref() {
            continue;
        }
        // Where explicit mergeinfo came or went, it is compared with what is inherited without.
        let inherited = |root: &Root, path: &FsPath| for_path(root, path, Inherit::Inherited, true);
        let after_info = match after {
            Some(value) => Some(Mergeinfo::parse(value)),
            None => inherited(&root, change.path)?.map(Ok),
        };
        let before_info = match (&before, &base) {
            (Some(value), _) => Some(Mergeinfo::parse(value)),
            (None, Some(base)) => inherited(&base.root, &base.path)?.map(Ok),
            (None, None) => None,
        };
        let (after_info, before_info) = (after_info.transpose()?, before_info.transpose()?);
        let change_here = MergeinfoChange::between(before_info.as_ref(), after_info.as_ref());
        out.insert(change.path.to_owned(), change_here);
    }
    Ok(out)
}

/// Where `path` was before `revision`: at the source of a copy made in it, else at the same path.
fn previous_place(
    roots: &mut Roots,
    revision: Revnum,
    path: &FsPath,
    any_copy: bool,
) -> Result<HistoryPoint> {
    let copied = if any_copy { prev_location(roots, revision, path)? } else { None };
    Ok(match copied.filter(|c| c.appeared == revision) {
        Some(copy) => HistoryPoint { root: roots.get(copy.revision)?, path: copy.path },
        None => {
            let before = Revnum(revision.0.saturating_sub(1));
            HistoryPoint { root: roots.get(before)?, path: path.to_owned() }
        }
    })
}

/// How the mergeinfo that `path` inherits changed; `None` when it did not, or only because a copy
/// moved the path.
fn inherited_change(
    roots: &mut Roots,
    root: &Root,
    revision: Revnum,
    path: &FsPath,
) -> Result<Option<MergeinfoChange>> {
    let Some(base) = if_there(previous_place(roots, revision, path, true))? else {
        return Ok(None);
    };
    let before = for_path(&base.root, &base.path, Inherit::Inherited, true);
    let Some(before) = if_there(before)? else { return Ok(None) };
    // As the parents have it, not adjusted to the path: the same here means that only the path
    // moved.
    let raw_before = for_path(&base.root, &base.path, Inherit::NearestAncestor, false)?;
    let after = for_path(root, path, Inherit::Inherited, true)?;
    let raw_after = for_path(root, path, Inherit::NearestAncestor, false)?;
    if before.is_none() && after.is_none() {
        return Ok(None);
    }
    let only_moved = match (&raw_before, &raw_after) {
        (Some(before), Some(after)) => before.equals(after, true),
        (before, _) => before.is_none(),
    };
    if only_moved {
        return Ok(None);
    }
    Ok(Some(MergeinfoChange::between(before.as_ref(), after.as_ref())))
}

/// `None` for a path that does not exist.
fn if_there<T>(found: Result<T>) -> Result<Option<T>> {
    match found {
        Ok(found) => Ok(Some(found)),
        Err(e) => {
            let e = SvnError::from(e);
            match e.code() {
                ErrorCode::FS_NOT_FOUND | ErrorCode::FS_NOT_DIRECTORY => Ok(None),
                _ => Err(e.into()),
            }
        }
    }
}
