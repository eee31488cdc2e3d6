//! What a revision or transaction changed, as a tree: what `svnlook changed`, `dirs-changed` and
//! `diff` walk.
//!
//! Invariant: a node's parent comes before it in [`ChangeTree::nodes`], and children are in the
//! order in which the replay reported them.

use sapwood_core::paths::{FsPathBuf, RelPath};
use sapwood_core::{CancelToken, ErrorCode, NodeKind, Revnum, SvnError, SvnResult, path};
use sapwood_delta::{EditStep, Handle, StepEditor};
use sapwood_fs::{Root, Roots};

use crate::authorizer::Everything;
use crate::error::Result;
use crate::replay::replay;

/// What happened to a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeAction {
    /// It is new, perhaps as a copy.
    Added,
    /// It is gone.
    Deleted,
    /// It, or something below it, changed.
    Opened,
}

/// One node.
#[derive(Clone, Debug)]
pub struct ChangeNode {
    /// The last component of its path; empty for the root.
    pub name: String,
    /// File or directory.
    pub kind: NodeKind,
    /// What happened.
    pub action: ChangeAction,
    /// Whether its text changed.
    pub text_mod: bool,
    /// Whether its properties changed.
    pub prop_mod: bool,
    /// Where it was copied from: fspath and revision.
    pub copy_from: Option<(String, Revnum)>,
    /// The places of its children.
    pub children: Vec<usize>,
    /// The place of its parent.
    pub parent: Option<usize>,
}

/// The tree. It is empty when nothing changed; else the root is node 0.
#[derive(Clone, Debug, Default)]
pub struct ChangeTree {
    /// The nodes.
    pub nodes: Vec<ChangeNode>,
}

impl ChangeTree {
    /// The changes of `root` against the revision `base`.
    ///
    /// # Errors
    /// E200015 when cancelled; corruption and system errors.
    pub fn of(root: &Root, base: Revnum, cancel: &CancelToken) -> Result<Self> {
        let mut builder = Builder { roots: Roots::new(root.fs()), base, tree: Self::default() };
        let request =
            sapwood_core::ReplayRequest { low_water_mark: Revnum::ZERO, send_deltas: true };
        replay(root, RelPath::ROOT, request, &Everything, cancel, &mut builder)?;
        Ok(builder.tree)
    }

    /// The node at a place.
    #[must_use]
    pub fn get(&self, at: usize) -> Option<&ChangeNode> {
        self.nodes.get(at)
    }
}

struct Builder {
    /// The trees before.
    roots: Roots,
    base: Revnum,
    tree: ChangeTree,
}

fn no_such_node() -> SvnError {
    SvnError::new(ErrorCode::ASSERTION_FAIL, "No such node is open")
}

impl Builder {
    fn node_mut(&mut self, handle: Handle) -> SvnResult<&mut ChangeNode> {
        usize::try_from(handle.0)
            .ok()
            .and_then(|at| self.tree.nodes.get_mut(at))
            .ok_or_else(no_such_node)
    }

    fn push(
        &mut self,
        path: &RelPath,
        kind: NodeKind,
        action: ChangeAction,
        parent: Option<Handle>,
        copy_from: Option<(&str, Revnum)>,
    ) -> SvnResult<Handle> {
        let at = self.tree.nodes.len();
        let mut parent_at = None;
        if let Some(parent) = parent {
            self.node_mut(parent)?.children.push(at);
            parent_at = usize::try_from(parent.0).ok();
        }
        self.tree.nodes.push(ChangeNode {
            name: path.name().to_owned(),
            kind,
            action,
            text_mod: false,
            prop_mod: false,
            copy_from: copy_from.map(|(path, revision)| (path.to_owned(), revision)),
            children: Vec::new(),
            parent: parent_at,
        });
        u64::try_from(at).map(Handle).map_err(|_| no_such_node())
    }

    /// The earlier location of a child of a node: below the nearest copy, or else in the base.
    fn source_of_child(&self, parent: Handle, name: &str) -> (FsPathBuf, Revnum) {
        let mut names = vec![name.to_owned()];
        let mut at = usize::try_from(parent.0).ok();
        while let Some(node) = at.and_then(|at| self.tree.nodes.get(at)) {
            if let Some((source, revision)) =
                node.copy_from.as_ref().filter(|_| node.action == ChangeAction::Added)
            {
                names.reverse();
                let place = path::join(source, &names.join("/"));
                return (FsPathBuf::canonicalize(&place), *revision);
            }
            if !node.name.is_empty() {
                names.push(node.name.clone());
            }
            at = node.parent;
        }
        names.reverse();
        (FsPathBuf::canonicalize(&names.join("/")), self.base)
    }
}

impl Builder {
    fn delete(&mut self, path: &RelPath, parent: Handle) -> SvnResult<()> {
        let (source, revision) = self.source_of_child(parent, path.name());
        let kind = self
            .roots
            .get(revision)
            .and_then(|root| root.kind(&source))
            .map_err(SvnError::from)?
            .ok_or_else(|| {
                let message = format!("'{path}' not found in filesystem");
                SvnError::new(ErrorCode::FS_NOT_FOUND, message)
            })?;
        self.push(path, kind, ChangeAction::Deleted, Some(parent), None)?;
        Ok(())
    }
}

impl StepEditor for Builder {
    fn step(&mut self, step: EditStep<'_>) -> SvnResult<Handle> {
        use ChangeAction::{Added, Opened};
        match step {
            EditStep::OpenRoot(_) => {
                return self.push(RelPath::ROOT, NodeKind::Dir, Opened, None, None);
            }
            EditStep::Add { kind, path, parent, copy_from } => {
                return self.push(path, kind, Added, Some(parent), copy_from);
            }
            EditStep::Open { kind, path, parent, .. } => {
                return self.push(path, kind, Opened, Some(parent), None);
            }
            EditStep::Delete { path, parent, .. } => self.delete(path, parent)?,
            EditStep::Prop { node, .. } => self.node_mut(node)?.prop_mod = true,
            EditStep::Text { file, .. } => self.node_mut(file)?.text_mod = true,
            _ => {}
        }
        Ok(Handle::NONE)
    }
}
