//! Conflicts as old formats store them, converted to one skel as today.
//!
//! Up to format 10 an entry names the files of its text and property conflicts, and a directory's entry
//! has the tree conflicts of its children, a list of skels. Up to format 29 the same stands in columns
//! of ACTUAL_NODE, tree conflicts beside the node that has them:
//! `(conflict NAME KIND OPERATION ACTION REASON (version ROOT REVISION PATH KIND) (version ...))`.

use std::collections::BTreeMap;

use sapwood_core::paths::{RelPath, RelPathBuf};
use sapwood_core::skel::Skel;
use sapwood_core::{NodeKind, Revnum, path};

use super::entry::{Entry, checked_name, corrupt};
use crate::conflict::{
    Action, Conflict, Location, Operation, PropConflict, Reason, TextConflict, TreeConflict,
};
use crate::db::{Kind, parent_of};
use crate::error::{Error, Result};

/// The conflict of texts and properties that an entry records.
pub(super) fn of_entry(entry: &Entry, relpath: &RelPath) -> Result<Option<Conflict>> {
    let parent = parent_of(relpath).unwrap_or(RelPath::ROOT);
    let beside = |file: &Option<String>| file.as_ref().map(|file| joined(parent, file)).transpose();
    let mut conflict = Conflict::new(Operation::Update, None, None);
    if entry.conflict_old.is_some() {
        conflict.text = Some(TextConflict {
            old: beside(&entry.conflict_old)?,
            mine: beside(&entry.conflict_working)?,
            theirs: beside(&entry.conflict_new)?,
        });
    }
    if let Some(reject) = &entry.prop_reject {
        let dir = if entry.kind == Kind::Dir { relpath } else { parent };
        let marker = Some(joined(dir, reject)?);
        conflict.prop = Some(PropConflict { marker, ..PropConflict::default() });
    }
    Ok((!conflict.is_resolved()).then_some(conflict))
}

/// The path of a file that an entry names.
fn joined(dir: &RelPath, file: &str) -> Result<RelPathBuf> {
    Ok(RelPathBuf::new(path::join(dir, file))?)
}

/// The tree conflicts that a directory's entry records, by path.
///
/// # Errors
/// E155016 for what is no list of such.
pub(super) fn of_children(
    entry: &Entry,
    relpath: &RelPath,
) -> Result<BTreeMap<RelPathBuf, Conflict>> {
    let mut found = BTreeMap::new();
    let Some(text) = &entry.tree_conflicts else { return Ok(found) };
    let skel = Skel::parse(text.as_bytes()).map_err(|_| invalid(text.as_bytes()))?;
    for member in skel.list().ok_or_else(|| invalid(text.as_bytes()))? {
        let old = read_tree(member).ok_or_else(|| {
            let mut bytes = Vec::new();
            member.write(&mut bytes);
            invalid(&bytes)
        })?;
        let name = checked_name(&old.name)?;
        let mut conflict = Conflict::new(old.operation, old.left, old.right);
        conflict.tree = Some(old.tree);
        found.insert(relpath.child(&name), conflict);
    }
    Ok(found)
}

fn invalid(bytes: &[u8]) -> Error {
    let shown = String::from_utf8_lossy(bytes);
    corrupt(format!("Invalid conflict info '{shown}' in tree conflict description"))
}

/// The conflict columns of a row of ACTUAL_NODE in format 29.
pub(super) struct OldConflict {
    pub(super) wc_id: i64,
    pub(super) relpath: RelPathBuf,
    pub(super) old: Option<RelPathBuf>,
    pub(super) mine: Option<RelPathBuf>,
    pub(super) theirs: Option<RelPathBuf>,
    pub(super) reject: Option<RelPathBuf>,
    pub(super) tree: Option<Vec<u8>>,
}

impl OldConflict {
    /// The conflict of today.
    pub(super) fn conflict(&self) -> Result<Conflict> {
        let mut conflict = match &self.tree {
            Some(bytes) => {
                let skel = Skel::parse(bytes).map_err(|_| invalid(bytes))?;
                let old = read_tree(&skel).ok_or_else(|| invalid(bytes))?;
                let mut conflict = Conflict::new(old.operation, old.left, old.right);
                conflict.tree = Some(old.tree);
                conflict
            }
            None => Conflict::new(Operation::Update, None, None),
        };
        if self.old.is_some() || self.mine.is_some() || self.theirs.is_some() {
            conflict.text = Some(TextConflict {
                old: self.old.clone(),
                mine: self.mine.clone(),
                theirs: self.theirs.clone(),
            });
        }
        if self.reject.is_some() {
            let marker = self.reject.clone();
            conflict.prop = Some(PropConflict { marker, ..PropConflict::default() });
        }
        Ok(conflict)
    }
}

/// A tree conflict of formats 10 to 29.
struct OldTree {
    name: String,
    operation: Operation,
    left: Option<Location>,
    right: Option<Location>,
    tree: TreeConflict,
}

fn read_tree(skel: &Skel<'_>) -> Option<OldTree> {
    let [tag, name, kind, operation, action, reason, old, new] = skel.list()? else { return None };
    if tag.atom()? != b"conflict" || ![&b"file"[..], b"dir"].contains(&kind.atom()?) {
        return None;
    }
    let name = text(name)?;
    let operation = match operation.atom()? {
        b"switch" => Operation::Switch,
        b"merge" => Operation::Merge,
        b"update" | b"none" => Operation::Update,
        _ => return None,
    };
    let action = match action.atom()? {
        b"edited" => Action::Edit,
        b"deleted" => Action::Delete,
        b"added" => Action::Add,
        b"replaced" => Action::Replace,
        _ => return None,
    };
    let reason = match reason.atom()? {
        b"edited" => Reason::Edited,
        b"deleted" => Reason::Deleted,
        b"missing" => Reason::Missing,
        b"obstructed" => Reason::Obstructed,
        b"added" => Reason::Added,
        b"replaced" => Reason::Replaced,
        b"unversioned" => Reason::Unversioned,
        b"moved-away" => Reason::MovedAway,
        b"moved-here" => Reason::MovedHere,
        _ => return None,
    };
    let tree = TreeConflict { reason, action, move_source: None, move_destination: None };
    Some(OldTree { name, operation, left: read_version(old)?, right: read_version(new)?, tree })
}

fn text(skel: &Skel<'_>) -> Option<String> {
    Some(std::str::from_utf8(skel.atom()?).ok()?.to_owned())
}

/// One of its versions; none when it has no root.
#[allow(clippy::option_option, reason = "malformed, or not there")]
fn read_version(skel: &Skel<'_>) -> Option<Option<Location>> {
    let [tag, root, revision, relpath, kind] = skel.list()? else { return None };
    if tag.atom()? != b"version" {
        return None;
    }
    let root = text(root)?;
    if root.is_empty() {
        return Some(None);
    }
    Some(Some(Location {
        root: sapwood_core::uri::canonicalize(&root).unwrap_or(root),
        uuid: None,
        relpath: RelPathBuf::new(text(relpath)?).ok()?,
        revision: text(revision)?.parse().ok().map(Revnum),
        kind: match kind.atom()? {
            b"file" => Some(NodeKind::File),
            b"dir" => Some(NodeKind::Dir),
            b"none" | b"" => None,
            _ => return None,
        },
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conflicts_of_1_7() {
        let path = |text: &str| RelPathBuf::new(text.to_owned()).unwrap();
        let old = OldConflict {
            wc_id: 1,
            relpath: path("a/f"),
            old: Some(path("a/f.r1")),
            mine: Some(path("a/f.mine")),
            theirs: Some(path("a/f.r2")),
            reject: None,
            tree: None,
        };
        let made = old.conflict().unwrap().write();
        let wanted: &[u8] = b"((update (() ())) ((text ((6 a/f.r1 8 a/f.mine 6 a/f.r2)))))";
        let read = Conflict::parse(&made).unwrap();
        assert_eq!(
            read.text.unwrap().mine.as_deref(),
            Some(RelPath::trusted("a/f.mine")),
            "{wanted:?}"
        );
        let tree = b"(conflict f file update deleted edited (version 9 file:///r 1 1 3 a/f file) \
                     (version 9 file:///r 1 2 3 a/f none))";
        let made = OldConflict { tree: Some(tree.to_vec()), ..old }.conflict().unwrap();
        let read = Conflict::parse(&made.write()).unwrap();
        assert_eq!(read.tree.unwrap().reason, Reason::Edited);
        let first = read.locations.first().cloned().flatten().unwrap();
        assert_eq!((first.relpath.as_str(), first.revision), ("a/f", Some(Revnum(1))));
        let other = b"(conflict f link update deleted edited () ())";
        assert!(read_tree(&Skel::parse(other).unwrap()).is_none());
    }
}
