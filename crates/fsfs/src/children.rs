//! The node-revisions of all entries of a directory, found together.
//!
//! A request that goes through a whole directory wants the node-revision of each of its entries: a
//! look-up each, for which the cache has to be searched in places that were not touched for long. So
//! the first such request leaves them behind as one item, by the directory's representation, in the
//! order of its entries. They are shared with those that are cached one by one.

use sapwood_core::Exact;
use std::sync::Arc;

use sapwood_fsfs_format::{Directory, NodeRev, RepLocation};
use sapwood_store::{Key, Kind};

use crate::cache_kinds::{self, Number};
use crate::error::{Error, Result};
use crate::node::Node;

/// The node-revisions of fewer entries are as soon found one by one.
const FEW: usize = 3;
/// Larger directories are not cached as one: the item would be a large part of the cache.
const MANY: usize = 4096;
/// What an allocation and the shared pointer's counters take.
const OVERHEAD: usize = 32;

/// The node-revisions of a directory's entries, in their order.
#[derive(Debug)]
pub(crate) struct ChildNodes(Box<[Arc<NodeRev>]>);

/// The node-revisions of a directory's entries, by its representation: revision, item.
const CHILD_NODES: Kind<ChildNodes> =
    Number::ChildNodes.kind(ChildNodes::weight).found_while_held();

impl ChildNodes {
    /// As if nothing else held them.
    pub(crate) fn weight(&self) -> usize {
        let each = |node: &Arc<NodeRev>| node.byte_len().plus(OVERHEAD).plus(size_of_val(node));
        self.0.iter().map(each).fold(0, usize::saturating_add)
    }
}

/// The entries of a directory, for a request that wants the nodes of most of them.
#[derive(Debug, Default)]
pub struct Children {
    entries: Arc<Directory>,
    known: FoundNodes,
}

#[derive(Debug, Default)]
enum FoundNodes {
    /// They are looked up one by one.
    #[default]
    Nothing,
    /// They are looked for one by one, and are to be kept together: those that were found, and how
    /// many.
    Some(Key<ChildNodes>, Vec<Option<Arc<NodeRev>>>, usize),
    All(Arc<ChildNodes>),
}

impl Node {
    /// A directory's entries, and the way to the nodes of most of them; E160016 for a file.
    ///
    /// # Errors
    /// As [`Node::entries`].
    pub fn children(&self) -> Result<Children> {
        let entries = self.entries()?;
        let place = match self.rev.text.map(|rep| rep.location) {
            Some(RepLocation::Rev { revision, item }) => Some((revision, item)),
            _ => None,
        };
        let Some((revision, item)) = place.filter(|_| (FEW..=MANY).contains(&entries.len())) else {
            return Ok(Children { entries, known: FoundNodes::Nothing });
        };
        let fs = &self.fs.fs;
        let key = cache_kinds::item(&CHILD_NODES, fs.id, revision, item);
        let known = match fs.caches.get(key) {
            Some(nodes) => FoundNodes::All(nodes),
            None => FoundNodes::Some(key, Vec::new(), 0),
        };
        Ok(Children { entries, known })
    }
}

impl Children {
    /// The entries.
    #[must_use]
    pub const fn entries(&self) -> &Arc<Directory> {
        &self.entries
    }

    /// The node of the entry at a position, `dir` being the directory.
    ///
    /// # Errors
    /// As [`Node::child_of`].
    pub fn node(&mut self, dir: &Node, at: usize) -> Result<Node> {
        let Some(entry) = self.entries.get(at) else {
            return Err(Error::Corrupt(format!("Directory '{}' has no entry {at}", dir.path())));
        };
        if let FoundNodes::All(nodes) = &self.known
            && let Some(rev) = nodes.0.get(at)
        {
            return Ok(dir.child_with(entry.name, Arc::clone(rev)));
        }
        let node = dir.child_of(&entry)?;
        if let FoundNodes::Some(key, found, count) = &mut self.known {
            found.resize(self.entries.len(), None);
            if let Some(place) = found.get_mut(at)
                && place.replace(Arc::clone(&node.rev)).is_none()
            {
                *count += 1;
            }
            if *count == self.entries.len() {
                let all = std::mem::take(found).into_iter().flatten().collect();
                self.known = FoundNodes::All(dir.fs.fs.caches.put(*key, ChildNodes(all)));
            }
        }
        Ok(node)
    }
}
