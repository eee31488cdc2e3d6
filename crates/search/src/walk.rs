//! The nodes of a tree in order, from any path on.
//!
//! Invariant: the directories from the root to the present node are held, and no list of all nodes.

use sapwood_core::exact::Exact as _;
use sapwood_core::paths::FsPathBuf;
use sapwood_core::{FsPath, NodeKind};
use sapwood_fs::{Directory, Node, Root};

use crate::error::Result;
use crate::scope::Scope;

/// A directory whose entries are being visited.
struct Level {
    node: Node,
    path: FsPathBuf,
    entries: Directory,
    /// The next entry.
    at: usize,
}

/// Visits what is below a directory and in scope: a directory before what is in it, entries by their names.
pub(crate) struct Walk<'s> {
    levels: Vec<Level>,
    scope: &'s Scope,
}

impl<'s> Walk<'s> {
    /// Begins below a directory.
    pub(crate) fn below(node: Node, path: &FsPath, scope: &'s Scope) -> Result<Self> {
        let mut walk = Self { levels: Vec::new(), scope };
        walk.descend(node, path)?;
        Ok(walk)
    }

    /// Begins in the whole tree, behind the path that was visited last.
    pub(crate) fn after(root: &Root, last: &FsPath, scope: &'s Scope) -> Result<Self> {
        let mut walk = Self::below(root.node(FsPath::ROOT)?, FsPath::ROOT, scope)?;
        for name in last.names().filter(|name| !name.is_empty()) {
            let Some(level) = walk.levels.last_mut() else { break };
            level.at = level.entries.iter().take_while(|entry| entry.name <= name).count();
            let Some(entry) = level.entries.find(name).filter(|e| e.kind == NodeKind::Dir) else {
                break;
            };
            let (node, path) = (level.node.child_of(&entry)?, level.path.child(name));
            walk.descend(node, &path)?;
        }
        Ok(walk)
    }

    fn descend(&mut self, node: Node, path: &FsPath) -> Result<()> {
        let entries = node.entries()?;
        self.levels.push(Level { node, path: path.to_owned(), entries, at: 0 });
        Ok(())
    }

    /// The next node and its path.
    pub(crate) fn next(&mut self) -> Result<Option<(FsPathBuf, Node)>> {
        while let Some(level) = self.levels.last_mut() {
            let Some(entry) = level.entries.get(level.at) else {
                self.levels.pop();
                continue;
            };
            level.at = level.at.plus(1);
            let path = level.path.child(entry.name);
            if !self.scope.has(&path) {
                continue;
            }
            let node = level.node.child_of(&entry)?;
            if node.kind() == NodeKind::Dir {
                self.descend(node.clone(), &path)?;
            }
            return Ok(Some((path, node)));
        }
        Ok(None)
    }
}
