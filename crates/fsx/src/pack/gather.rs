//! What a shard has: which items there are, and the path that each belongs to.
//!
//! Only where things are is held in memory; node-revisions, lists and texts are read when they are written.

use std::collections::HashMap;
use std::sync::Arc;

use sapwood_core::{CancelToken, Revnum};
use sapwood_fsx_format::p2l::{Entry, ItemType};
use sapwood_fsx_format::{Id, Representation};

use super::Shard;
use crate::error::{Error, Result};
use crate::revfile::{Item, RevFile};

/// A representation, and what a node-revision of the shard says of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct RepItem {
    pub(super) id: Id,
    pub(super) kind: ItemType,
    /// `None` for one that nothing in the shard refers to.
    pub(super) rep: Option<Representation>,
    /// The same for those of one path.
    pub(super) group: usize,
}

/// The node-revisions that were made at a path, and their texts; the youngest first.
#[derive(Debug, Default)]
pub(super) struct PathItems {
    /// Distinguishes the path.
    group: usize,
    pub(super) nodes: Vec<Id>,
    pub(super) texts: Vec<RepItem>,
}

/// All items of a shard but for the change lists.
#[derive(Debug, Default)]
pub(super) struct Items {
    /// By path, in their order.
    pub(super) paths: Vec<PathItems>,
    pub(super) file_props: Vec<RepItem>,
    pub(super) dir_props: Vec<RepItem>,
    /// Representations that nothing in the shard refers to.
    pub(super) others: Vec<RepItem>,
}

impl Shard<'_> {
    /// The file of a revision of the shard.
    pub(super) fn file(&self, revision: Revnum) -> Result<Arc<RevFile>> {
        Ok(self.writer.fs.0.revision_file(revision)?.1)
    }

    /// The revisions, the youngest first.
    pub(super) fn revisions(&self) -> impl Iterator<Item = Revnum> + use<> {
        (self.first().0..self.end().0).rev().map(Revnum)
    }

    /// Finds all items.
    pub(super) fn gather(&self, cancel: &CancelToken) -> Result<Items> {
        let mut items = Items::default();
        let mut reps: HashMap<Id, ItemType> = HashMap::new();
        let mut order: Vec<Id> = Vec::new();
        let mut paths: HashMap<Arc<str>, PathItems> = HashMap::new();
        let mut used: Vec<(Arc<str>, Representation)> = Vec::new();
        let here = |rep: &Representation| rep.id.change_set.revision() >= Some(self.first());
        for revision in self.revisions() {
            cancel.check()?;
            let file = self.file(revision)?;
            for_each_item(&file, revision, &mut |entry, id| {
                if entry.kind != ItemType::NodeRev {
                    reps.insert(id, entry.kind);
                    order.push(id);
                    return Ok(());
                }
                let node = file.node_rev(&Item::of(entry, 0))?;
                let path: Arc<str> = node.created_path.into();
                let used_here = [node.text, node.props].into_iter().flatten().filter(here);
                used.extend(used_here.map(|rep| (Arc::clone(&path), rep)));
                let next = paths.len();
                let of_path = paths
                    .entry(path)
                    .or_insert_with(|| PathItems { group: next, ..PathItems::default() });
                of_path.nodes.push(id);
                Ok(())
            })?;
        }
        // A text belongs to the path that uses it last.
        for (path, rep) in used {
            let Some(kind) = reps.remove(&rep.id) else { continue };
            let Some(of_path) = paths.get_mut(&path) else { continue };
            let item = RepItem { id: rep.id, kind, rep: Some(rep), group: of_path.group };
            match kind {
                ItemType::FileProps => items.file_props.push(item),
                ItemType::DirProps => items.dir_props.push(item),
                _ => of_path.texts.push(item),
            }
        }
        let left = order.iter().filter_map(|id| Some((id, reps.get(id)?)));
        let other =
            |(id, kind): (&Id, &ItemType)| RepItem { id: *id, kind: *kind, rep: None, group: 0 };
        items.others = left.map(other).collect();
        for props in [&mut items.file_props, &mut items.dir_props] {
            // Stable, so that the youngest of each path stay first.
            props.sort_by_key(|item| item.group);
        }
        let mut paths: Vec<_> = paths.into_iter().collect();
        paths.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
        items.paths = paths.into_iter().map(|(_, items)| items).collect();
        Ok(items)
    }
}

/// Goes through the node-revisions, texts and property lists of a revision that is not packed.
fn for_each_item(
    file: &RevFile,
    revision: Revnum,
    each: &mut dyn FnMut(&Entry, Id) -> Result<()>,
) -> Result<()> {
    file.for_each_entry(&mut |entry| {
        let Some(id) = entry.items.first() else { return Ok(()) };
        match entry.kind {
            ItemType::Changes | ItemType::Unused => Ok(()),
            kind if kind.is_container() => {
                let message = format!("A container in the file of revision {revision}");
                Err(Error::Corrupt(message))
            }
            _ => each(entry, *id),
        }
    })
}
