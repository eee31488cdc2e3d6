//! A walk over a tree that can be left and gone on with: the nodes that may be read, each directory before what is in it.
//!
//! Invariants: it keeps one listing for each level, never a list of all nodes; what may not be read is passed over with all
//! below it, as what is not there.

use std::fmt;
use std::sync::Arc;

use sapwood_core::exact::Exact as _;
use sapwood_core::paths::FsPathBuf;
use sapwood_core::{CancelToken, NodeKind};
use sapwood_fs::{Children, Node};

use crate::Result;
use crate::authorizer::{PathAuthorizer, SubtreeAccess};

/// The rules of a walk that outlives the request which began it.
pub type SharedAuthorizer = Arc<dyn PathAuthorizer + Send + Sync>;

/// The nodes below a directory.
pub struct TreeWalk {
    access: SharedAuthorizer,
    cancel: CancelToken,
    levels: Vec<Level>,
}

/// A directory whose entries are visited.
struct Level {
    path: FsPathBuf,
    dir: Node,
    children: Children,
    next: usize,
    /// Whether all of it may be read.
    is_open: bool,
}

impl fmt::Debug for TreeWalk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TreeWalk").field("levels", &self.levels.len()).finish_non_exhaustive()
    }
}

impl TreeWalk {
    /// What is below `dir`, the directory at `path`, which itself may be read.
    ///
    /// # Errors
    /// E160016 for a file; corruption and system errors.
    pub fn below(
        path: FsPathBuf,
        dir: Node,
        access: SharedAuthorizer,
        cancel: &CancelToken,
    ) -> Result<Self> {
        let mut walk = Self { access, cancel: cancel.clone(), levels: Vec::new() };
        walk.enter(path, dir)?;
        Ok(walk)
    }

    fn enter(&mut self, path: FsPathBuf, dir: Node) -> Result<()> {
        let is_open = self.levels.last().is_some_and(|level| level.is_open)
            || self.access.subtree(&path)? == SubtreeAccess::Readable;
        let children = dir.children()?;
        self.levels.push(Level { path, dir, children, next: 0, is_open });
        Ok(())
    }

    /// The next node and its path; `None` after the last one.
    ///
    /// # Errors
    /// Cancellation, corruption and system errors.
    pub fn next_node(&mut self) -> Result<Option<(FsPathBuf, Node)>> {
        loop {
            self.cancel.check()?;
            let Some(level) = self.levels.last_mut() else { return Ok(None) };
            let at = level.next;
            let path = level.children.entries().get(at).map(|entry| level.path.child(entry.name));
            let Some(path) = path else {
                self.levels.pop();
                continue;
            };
            level.next = at.plus(1);
            if !level.is_open && !self.access.readable(&path)? {
                continue;
            }
            let node = level.children.node(&level.dir, at)?;
            if node.kind() == NodeKind::Dir {
                self.enter(path.clone(), node.clone())?;
            }
            return Ok(Some((path, node)));
        }
    }
}
