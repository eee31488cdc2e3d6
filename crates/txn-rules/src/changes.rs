//! The changed paths of a transaction, folded as they come: one a path.

use std::collections::BTreeMap;

use sapwood_core::FsPath;
use sapwood_core::paths::FsPathBuf;
use sapwood_core::{ChangeKind, NodeKind, Revnum};

use crate::engine::{Engine, Result};
use crate::error::Error;

/// What happened to a path.
#[derive(Debug)]
pub struct Change<E: Engine> {
    /// The node-revision; `None` where the list of a transaction on disk does not say it.
    pub id: Option<E::Id>,
    /// What was done.
    pub kind: ChangeKind,
    /// File or directory.
    pub node_kind: NodeKind,
    /// Whether the text was written.
    pub text_mod: bool,
    /// Whether properties were written.
    pub prop_mod: bool,
    /// Whether `svn:mergeinfo` was.
    pub mergeinfo_mod: bool,
    /// The source of a copy.
    pub copy_from: Option<(Revnum, FsPathBuf)>,
}

/// A change that leaves a node as it was: what its record says, and whether properties are stored anew.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Touch {
    /// Whether the record says that the text was written.
    pub text_mod: bool,
    /// Whether it says that properties were.
    pub prop_mod: bool,
    /// Whether it says that `svn:mergeinfo` was.
    pub mergeinfo_mod: bool,
    /// Whether the same properties become a representation of their own, as if each had been set again. In FSFS they
    /// count as changed then, and a dump shows them.
    pub new_props: bool,
}

impl<E: Engine> Clone for Change<E> {
    fn clone(&self) -> Self {
        Self { copy_from: self.copy_from.clone(), ..*self }
    }
}

impl<E: Engine> Change<E> {
    /// A change of kind `kind` that says nothing else.
    #[must_use]
    pub const fn new(id: E::Id, kind: ChangeKind, node_kind: NodeKind) -> Self {
        Self {
            id: Some(id),
            kind,
            node_kind,
            text_mod: false,
            prop_mod: false,
            mergeinfo_mod: false,
            copy_from: None,
        }
    }
}

/// All changes of a transaction.
#[derive(Debug)]
pub struct ChangeList<E: Engine> {
    folded: BTreeMap<FsPathBuf, Change<E>>,
    /// Deletions that became replacements, for when the replacement is deleted again.
    deletions: BTreeMap<FsPathBuf, Change<E>>,
}

impl<E: Engine> Default for ChangeList<E> {
    fn default() -> Self {
        Self { folded: BTreeMap::new(), deletions: BTreeMap::new() }
    }
}

impl<E: Engine> Clone for ChangeList<E> {
    fn clone(&self) -> Self {
        Self { folded: self.folded.clone(), deletions: self.deletions.clone() }
    }
}

impl<E: Engine> ChangeList<E> {
    /// Adds a change that follows all earlier ones.
    ///
    /// # Errors
    /// E160004 when it cannot follow them.
    pub fn add(&mut self, path: &FsPath, change: Change<E>) -> Result<(), E> {
        // What goes away takes with it what happened below.
        if matches!(change.kind, ChangeKind::Delete | ChangeKind::Replace) {
            self.forget_below(path);
        }
        let Some(old) = self.folded.get_mut(path) else {
            self.folded.insert(path.into(), change);
            return Ok(());
        };
        let wrong =
            |what: &str| Err(Error::Corrupt(format!("Invalid change ordering: {what}")).into());
        let deleted = old.kind == ChangeKind::Delete;
        let is_other = old.id.zip(change.id).is_some_and(|(old, new)| old != new);
        if !deleted && is_other {
            return wrong("new node revision ID without delete");
        }
        match change.kind {
            ChangeKind::Add | ChangeKind::Replace => {
                if change.kind == ChangeKind::Add && !deleted {
                    return wrong("add change on preexisting path");
                }
                let replaced = Change { kind: ChangeKind::Replace, ..change };
                let old = std::mem::replace(old, replaced);
                self.deletions.insert(path.into(), old);
            }
            _ if deleted => return wrong("non-add change on deleted path"),
            ChangeKind::Delete => match old.kind {
                // What was not there before leaves no trace.
                ChangeKind::Add => {
                    self.folded.remove(path);
                }
                ChangeKind::Replace => match self.deletions.get(path) {
                    Some(deletion) => *old = deletion.clone(),
                    None => *old = change,
                },
                _ => *old = change,
            },
            ChangeKind::Modify | ChangeKind::Reset => {
                old.text_mod |= change.text_mod;
                old.prop_mod |= change.prop_mod;
                old.mergeinfo_mod |= change.mergeinfo_mod;
            }
        }
        Ok(())
    }

    /// Takes back what happened to a path.
    pub fn reset(&mut self, path: &FsPath) {
        self.folded.remove(path);
    }

    /// Forgets what happened below a path that was deleted or replaced.
    fn forget_below(&mut self, path: &FsPath) {
        let prefix = if path == "/" { "/".to_owned() } else { format!("{path}/") };
        let below: Vec<FsPathBuf> = self
            .folded
            .range::<str, _>((
                std::ops::Bound::Excluded(prefix.as_str()),
                std::ops::Bound::Unbounded,
            ))
            .map(|(p, _)| p)
            .take_while(|p| p.starts_with(prefix.as_str()))
            .cloned()
            .collect();
        for path in below {
            self.folded.remove(&path);
        }
    }

    /// Paths and changes, in the bytewise order of paths.
    pub fn iter(&self) -> impl Iterator<Item = (&FsPath, &Change<E>)> {
        self.folded.iter().map(|(path, change)| (path.as_path(), change))
    }

    /// Whether nothing changed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.folded.is_empty()
    }

    /// The same; of a replacement also the deletion that it began with, where it is known what was there: only
    /// then can it be undone.
    pub fn with_deletions(
        &self,
    ) -> impl Iterator<Item = (&FsPath, &Change<E>, Option<&Change<E>>)> {
        self.iter().map(|(path, change)| {
            let is_replaced = change.kind == ChangeKind::Replace;
            (path, change, self.deletions.get(path).filter(|_| is_replaced))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{Id, Plain};
    use sapwood_testkit::fspath;

    fn change(kind: ChangeKind, node: u64) -> Change<Plain> {
        Change::new(Id { node, copy: 0, revision: 0 }, kind, NodeKind::Dir)
    }

    fn kinds(list: &ChangeList<Plain>) -> Vec<(&str, ChangeKind)> {
        list.iter().map(|(p, c)| (p.as_str(), c.kind)).collect()
    }

    #[test]
    fn folding() {
        use ChangeKind::{Add, Delete, Modify, Replace};
        let mut list = ChangeList::default();
        list.add(fspath("/a"), change(Modify, 1)).unwrap();
        list.add(fspath("/a"), Change { text_mod: true, ..change(Modify, 1) }).unwrap();
        list.add(fspath("/a/b"), change(Add, 2)).unwrap();
        list.add(fspath("/a c"), change(Add, 3)).unwrap();
        list.add(fspath("/a"), change(Delete, 1)).unwrap();
        assert_eq!(kinds(&list), [("/a", Delete), ("/a c", Add)]);
        list.add(fspath("/a"), change(Add, 4)).unwrap();
        list.add(fspath("/a/x"), change(Add, 5)).unwrap();
        assert_eq!(kinds(&list), [("/a", Replace), ("/a c", Add), ("/a/x", Add)]);
        list.add(fspath("/a"), Change { prop_mod: true, ..change(Modify, 4) }).unwrap();
        assert_eq!(list.iter().count(), 3);
        list.add(fspath("/a"), change(Delete, 4)).unwrap();
        assert_eq!(kinds(&list), [("/a", Delete), ("/a c", Add)]);
        assert_eq!(list.iter().next().unwrap().1.id, change(Delete, 1).id);
        list.add(fspath("/a c"), change(Delete, 3)).unwrap();
        assert_eq!(kinds(&list), [("/a", Delete)]);
    }

    #[test]
    fn contradictions() {
        use ChangeKind::{Add, Delete, Modify};
        let mut list = ChangeList::default();
        list.add(fspath("/a"), change(Add, 1)).unwrap();
        assert!(list.add(fspath("/a"), change(Modify, 2)).is_err());
        assert!(list.add(fspath("/a"), change(Add, 1)).is_err());
        list.add(fspath("/b"), change(Delete, 1)).unwrap();
        assert!(list.add(fspath("/b"), change(Modify, 1)).is_err());
    }
}
