//! The changed paths of a transaction, folded as they come: one a path.

use std::collections::BTreeMap;

use sapwood_core::FsPath;
use sapwood_core::paths::FsPathBuf;
use sapwood_core::{NodeKind, Revnum};
use sapwood_fsfs_format::{ChangeKind, NodeRevId};

use crate::error::{Error, Result};

/// What happened to a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Change {
    pub(crate) id: NodeRevId,
    pub(crate) kind: ChangeKind,
    pub(crate) node_kind: NodeKind,
    pub(crate) text_mod: bool,
    pub(crate) prop_mod: bool,
    pub(crate) mergeinfo_mod: bool,
    pub(crate) copy_from: Option<(Revnum, FsPathBuf)>,
}

impl Change {
    /// A change of kind `kind` that says nothing else.
    pub(crate) const fn new(id: NodeRevId, kind: ChangeKind, node_kind: NodeKind) -> Self {
        Self {
            id,
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
#[derive(Clone, Debug, Default)]
pub(crate) struct ChangeList {
    folded: BTreeMap<FsPathBuf, Change>,
    /// Deletions that became replacements, for when the replacement is deleted again.
    deletions: BTreeMap<FsPathBuf, Change>,
}

impl ChangeList {
    /// Adds a change that follows all earlier ones.
    pub(crate) fn add(&mut self, path: &FsPath, change: Change) -> Result<()> {
        // What goes away takes with it what happened below.
        if matches!(change.kind, ChangeKind::Delete | ChangeKind::Replace) {
            self.forget_below(path);
        }
        let Some(old) = self.folded.get_mut(path) else {
            self.folded.insert(path.into(), change);
            return Ok(());
        };
        let wrong = |what| Err(Error::Corrupt(format!("Invalid change ordering: {what}")));
        let deleted = old.kind == ChangeKind::Delete;
        if !deleted && old.id != change.id {
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
    pub(crate) fn reset(&mut self, path: &FsPath) {
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
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&FsPath, &Change)> {
        self.folded.iter().map(|(path, change)| (path.as_path(), change))
    }

    /// Whether nothing changed.
    pub(crate) fn is_empty(&self) -> bool {
        self.folded.is_empty()
    }

    /// The same; of a replacement also the deletion that it began with, where it is known what was there: only
    /// then can it be undone.
    pub(crate) fn with_deletions(
        &self,
    ) -> impl Iterator<Item = (&FsPath, &Change, Option<&Change>)> {
        self.iter().map(|(path, change)| {
            let is_replaced = change.kind == ChangeKind::Replace;
            (path, change, self.deletions.get(path).filter(|_| is_replaced))
        })
    }
}

#[cfg(test)]
mod tests {
    use sapwood_fsfs_format::{IdPart, Location, TxnId};

    use super::*;
    use sapwood_testkit::fspath;

    fn change(kind: ChangeKind, node: u64) -> Change {
        let id = NodeRevId {
            node: IdPart::in_txn(node),
            copy: IdPart::ROOT,
            location: Location::Txn(TxnId { base: Revnum(1), number: 1 }),
        };
        Change::new(id, kind, NodeKind::Dir)
    }

    fn kinds(list: &ChangeList) -> Vec<(&str, ChangeKind)> {
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
