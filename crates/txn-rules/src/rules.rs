//! Changing the tree of a transaction: directories, files, copies, deletions, properties, texts.

use std::sync::Arc;

use sapwood_core::FsPath;
use sapwood_core::props::names as prop_names;
use sapwood_core::{ChangeKind, ErrorCode, Exact, NodeKind, PropList, Revnum, rawname};

use crate::changes::{Change, Touch};
use crate::engine::{CopyId, Engine, NodeRevision, Result};
use crate::error::Error;
use crate::nodes::{Dag, Entries};
use crate::tree::{ROOT, Tree, owned_copy_root};
use crate::walk::Step;

/// Whose copy id a node gets when it becomes changeable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CopyIdOf {
    /// It keeps its own.
    Own,
    /// Its parent's.
    Parent,
    /// A new one.
    New,
}

#[allow(
    clippy::missing_errors_doc,
    reason = "all: the rules that refuse a change, and errors of the tree"
)]
impl<E: Engine> Tree<E> {
    /// What `path` leads to.
    pub fn kind(&self, path: &FsPath) -> Result<Option<NodeKind>, E> {
        Ok(match self.look_up(path)? {
            Some(dag) => Some(self.noderev(&dag)?.kind()),
            None => None,
        })
    }

    /// The properties of `path`.
    pub fn node_props(&self, path: &FsPath) -> Result<PropList, E> {
        let dag = self.look_up(path)?.ok_or_else(|| self.not_found(path))?;
        Ok(PropList::clone(&*self.props_of(&dag)?))
    }

    /// The revision of the node at `path`: `None` when the transaction made or changed it.
    pub fn node_revision(&self, path: &FsPath) -> Result<Option<Revnum>, E> {
        let dag = self.look_up(path)?.ok_or_else(|| self.not_found(path))?;
        let id = self.noderev(&dag)?.id();
        if let Dag::Txn(ROOT) = dag {
            // Every transaction has a root of its own from the start; as long as nothing of it was
            // changed, it is that of the revision below.
            let root = self.txn_node(ROOT)?;
            if root.entries.is_none() && root.props.is_none() {
                return Ok(E::revision(&root.node.predecessor().unwrap_or(id)));
            }
        }
        Ok(E::revision(&id))
    }

    /// Makes an empty directory.
    pub fn make_dir(&mut self, path: &FsPath) -> Result<(), E> {
        self.make(path, NodeKind::Dir)
    }

    /// Makes an empty file.
    pub fn make_file(&mut self, path: &FsPath) -> Result<(), E> {
        self.make(path, NodeKind::File)
    }

    fn make(&mut self, path: &FsPath, kind: NodeKind) -> Result<(), E> {
        check_new_path(path)?;
        let mut steps = self.walk(path, true)?;
        if steps.last().is_none_or(|s| s.node.is_some()) {
            return Err(self.already_exists(path));
        }
        let (parent_path, name) = path.parent_and_name();
        let name = checked_name(name)?;
        let parent = self.make_parent_mutable(&mut steps)?;
        let created = parent_path.child(name).into_string().into();
        let parent_node = &self.nodes.get(parent).ok_or_else(no_parent::<E>)?.node;
        let node = E::new_node(parent_node, kind, created, &mut self.ids);
        let id = node.id();
        let at = self.add_node(node);
        if kind == NodeKind::Dir {
            self.txn_node_mut(at)?.entries = Some(Entries::default());
        }
        self.set_entry(parent, name, Some((kind, id)))?;
        let change =
            Change { text_mod: kind == NodeKind::File, ..Change::new(id, ChangeKind::Add, kind) };
        self.changes.add(path, change)
    }

    /// Removes `path` and everything below.
    pub fn delete(&mut self, path: &FsPath) -> Result<(), E> {
        let mut steps = self.walk(path, false)?;
        if steps.len() < 2 {
            let message = "The root directory cannot be deleted";
            return Err(Error::new(ErrorCode::FS_ROOT_DIR, message).into());
        }
        let last = steps.last().map(|step| (step.name.clone(), step.node.clone()));
        let Some((name, Some(dag))) = last else {
            return Err(self.not_found(path));
        };
        let node = self.noderev(&dag)?;
        let (id, kind, mergeinfo) = (node.id(), node.kind(), node.mergeinfo_count());
        let parent = self.make_parent_mutable(&mut steps)?;
        self.set_entry(parent, &name, None)?;
        if self.source.counts_mergeinfo() && mergeinfo > 0 {
            self.add_mergeinfo_up(&steps, steps.len().minus(1), mergeinfo.saturating_neg())?;
        }
        self.changes.add(path, Change::new(id, ChangeKind::Delete, kind))
    }

    /// Copies `source`, the node at `from`, to `path`, where it replaces what is there. With `history` the
    /// copy says where it is from; without, the very node appears at `path` as well.
    pub fn copy(
        &mut self,
        (from_revision, from_path): (Revnum, &FsPath),
        source: &Arc<E::Node>,
        path: &FsPath,
        history: bool,
    ) -> Result<(), E> {
        if rawname::is_raw(path) || has_dots(path) {
            check_new_path(path)?;
        }
        let mut steps = self.walk(path, true)?;
        if let Some(Dag::Rev(there)) = steps.last().and_then(|s| s.node.as_ref())
            && there.id() == source.id()
        {
            return Ok(());
        }
        if steps.last().is_some_and(|s| s.node.is_some()) {
            self.delete(path)?;
            steps = self.walk(path, true)?;
        }
        let (parent_path, name) = path.parent_and_name();
        let name = checked_name(name)?;
        let parent = self.make_parent_mutable(&mut steps)?;
        let id = if history {
            let mut node = E::Node::clone(source);
            let created: Box<str> = parent_path.child(name).into_string().into();
            node.set_predecessor(source.id(), source.predecessor_count().saturating_add(1));
            node.set_copy_from(Some((from_revision, from_path.into())));
            node.set_copy_root((None, created.clone()));
            node.set_created_path(created);
            E::succeed(&mut node, CopyId::New, &mut self.ids);
            let id = node.id();
            self.add_node(node);
            id
        } else {
            source.id()
        };
        self.set_entry(parent, name, Some((source.kind(), id)))?;
        if self.source.counts_mergeinfo() {
            let more = source.mergeinfo_count();
            self.add_mergeinfo_up(&steps, steps.len().saturating_sub(1), more)?;
        }
        let change = Change {
            copy_from: Some((from_revision, from_path.into())),
            ..Change::new(id, ChangeKind::Add, source.kind())
        };
        self.changes.add(path, change)
    }

    /// Sets or (with `None`) deletes a property of a node.
    pub fn change_prop(
        &mut self,
        path: &FsPath,
        name: &str,
        value: Option<&[u8]>,
    ) -> Result<(), E> {
        let mut steps = self.walk(path, false)?;
        let at = self.make_mutable(&mut steps)?;
        let mut props = match self.txn_node_mut(at)?.props.take() {
            Some(props) => props,
            None => PropList::clone(&*self.props_of(&Dag::Txn(at))?),
        };
        match value {
            Some(value) => drop(props.set(name, value)),
            None => drop(props.remove(name)),
        }
        self.txn_node_mut(at)?.props = Some(props);

        let is_mergeinfo = self.source.counts_mergeinfo() && name == prop_names::MERGEINFO;
        if is_mergeinfo {
            let had = self.txn_node(at)?.node.has_mergeinfo();
            let has = value.is_some();
            if had != has {
                self.add_mergeinfo_up(&steps, steps.len(), if has { 1 } else { -1 })?;
                self.txn_node_mut(at)?.node.set_has_mergeinfo(has);
            }
        }
        let node = &self.txn_node(at)?.node;
        let change = Change {
            prop_mod: true,
            mergeinfo_mod: is_mergeinfo,
            ..Change::new(node.id(), ChangeKind::Modify, node.kind())
        };
        self.changes.add(path, change)
    }

    /// Records that the node at `path` was changed, without a change: a new node-revision, and a change in the
    /// revision's list with these flags. (Other programs' commits have such changes.)
    pub fn touch(&mut self, path: &FsPath, touch: Touch) -> Result<(), E> {
        let mut steps = self.walk(path, false)?;
        let at = self.make_mutable(&mut steps)?;
        if touch.new_props && self.txn_node(at)?.props.is_none() {
            let props = PropList::clone(&*self.props_of(&Dag::Txn(at))?);
            self.txn_node_mut(at)?.props = Some(props);
        }
        let node = &self.txn_node(at)?.node;
        let change = Change {
            text_mod: touch.text_mod,
            prop_mod: touch.prop_mod,
            mergeinfo_mod: touch.mergeinfo_mod,
            ..Change::new(node.id(), ChangeKind::Modify, node.kind())
        };
        self.changes.add(path, change)
    }

    /// Makes a file changeable: its place. `verb` is for the error about a directory ([`not_file`]).
    pub fn open_file(&mut self, path: &FsPath, verb: &str) -> Result<usize, E> {
        let mut steps = self.walk(path, false)?;
        let at = self.make_mutable(&mut steps)?;
        if self.txn_node(at)?.node.kind() == NodeKind::File {
            Ok(at)
        } else {
            Err(not_file(verb).into())
        }
    }

    /// Says that the file at `path`, which is at this place, has another text.
    pub fn set_rep(&mut self, path: &FsPath, at: usize, rep: E::Rep) -> Result<(), E> {
        let node = &mut self.txn_node_mut(at)?.node;
        node.set_text(rep);
        let change =
            Change { text_mod: true, ..Change::new(node.id(), ChangeKind::Modify, NodeKind::File) };
        self.changes.add(path, change)
    }

    /// Makes the node that `steps` lead to changeable: its place.
    fn make_mutable(&mut self, steps: &mut [Step<E>]) -> Result<usize, E> {
        let copy_ids = self.copy_ids(steps)?;
        let mut parent = ROOT;
        let mut parent_path = FsPath::ROOT.to_owned();
        for (step, copy_id) in steps.iter_mut().zip(copy_ids).skip(1) {
            let path = parent_path.child(&step.name);
            match step.node.clone() {
                Some(Dag::Txn(at)) => parent = at,
                Some(Dag::Rev(_)) => {
                    parent = self.clone_child(parent, step, &path, copy_id)?;
                    step.node = Some(Dag::Txn(parent));
                }
                None => return Err(self.not_found(&path)),
            }
            parent_path = path;
        }
        Ok(parent)
    }

    /// Makes the parent of the last step changeable: its place.
    fn make_parent_mutable(&mut self, steps: &mut [Step<E>]) -> Result<usize, E> {
        match steps.split_last_mut() {
            Some((_, parents)) if !parents.is_empty() => {
                let at = self.make_mutable(parents)?;
                if self.txn_node(at)?.node.kind() == NodeKind::Dir {
                    return Ok(at);
                }
                let message = "Attempted to create entry in non-directory parent";
                Err(Error::new(ErrorCode::FS_NOT_DIRECTORY, message).into())
            }
            _ => Ok(ROOT),
        }
    }

    /// Which copy id each node of a path would get. Decided for the whole path before anything of
    /// it becomes changeable.
    fn copy_ids(&self, steps: &[Step<E>]) -> Result<Vec<CopyIdOf>, E> {
        let mut ids = vec![CopyIdOf::Own];
        let mut path = FsPath::ROOT.to_owned();
        for pair in steps.windows(2) {
            let [Step { node: Some(parent), .. }, Step { name, node }] = pair else { break };
            path = path.child(name);
            ids.push(match node {
                Some(Dag::Rev(child)) => self.copy_id(self.noderev(parent)?, child, &path)?,
                _ => CopyIdOf::Own,
            });
        }
        Ok(ids)
    }

    fn copy_id(&self, parent: &E::Node, child: &E::Node, path: &FsPath) -> Result<CopyIdOf, E> {
        if child.was_never_copied() || child.is_same_copy(parent) {
            return Ok(CopyIdOf::Parent);
        }
        // A child that is no branch point itself goes with its parent; one that is, and that is
        // seen at the place it was copied to, keeps its own id. What is left came here as part
        // of a copied tree, and begins a branch of its own when it changes.
        let copy_root = self.copy_root_node(child)?;
        if !copy_root.is_same_node(child) {
            return Ok(CopyIdOf::Parent);
        }
        Ok(if child.created_path() == path { CopyIdOf::Own } else { CopyIdOf::New })
    }

    /// The node at the root of the copy that `node`, one of a revision, is part of.
    fn copy_root_node(&self, node: &E::Node) -> Result<Arc<E::Node>, E> {
        let (revision, path) = node.copy_root();
        let revision = revision.unwrap_or(self.base);
        self.source.node_at(revision, path)
    }

    /// Makes a changeable successor of a child of the changeable directory `parent`: its place.
    fn clone_child(
        &mut self,
        parent: usize,
        step: &Step<E>,
        path: &FsPath,
        copy_id: CopyIdOf,
    ) -> Result<usize, E> {
        let Some(Dag::Rev(old)) = &step.node else { return Err(self.not_found(path)) };
        let mut node = E::Node::clone(old);
        let part_of_parents_copy = !self.copy_root_node(old)?.is_same_node(old);
        let parent_node = &self.nodes.get(parent).ok_or_else(no_parent::<E>)?.node;
        node.set_copy_root(owned_copy_root(if part_of_parents_copy { parent_node } else { old }));
        node.set_copy_from(None);
        node.set_predecessor(old.id(), old.predecessor_count().saturating_add(1));
        node.set_created_path(path.into());
        let copy = match copy_id {
            CopyIdOf::Own => CopyId::Own,
            CopyIdOf::Parent => CopyId::Parent(parent_node),
            CopyIdOf::New => CopyId::New,
        };
        E::succeed(&mut node, copy, &mut self.ids);
        let (id, kind) = (node.id(), node.kind());
        let at = self.add_node(node);
        self.set_entry(parent, &step.name, Some((kind, id)))?;
        Ok(at)
    }

    /// Adds to the mergeinfo counts of the first `depth` nodes of a path.
    fn add_mergeinfo_up(&mut self, steps: &[Step<E>], depth: usize, more: i64) -> Result<(), E> {
        if more == 0 {
            return Ok(());
        }
        for step in steps.iter().take(depth) {
            let Some(Dag::Txn(at)) = step.node else { continue };
            self.add_mergeinfo(at, more)?;
        }
        Ok(())
    }

    /// Adds to the mergeinfo count of one node.
    pub(crate) fn add_mergeinfo(&mut self, at: usize, more: i64) -> Result<(), E> {
        let node = &mut self.txn_node_mut(at)?.node;
        let (id, kind) = (node.id(), node.kind());
        let count = node.mergeinfo_count().saturating_add(more);
        let wrong = |what: String| {
            let message = format!("Can't increment mergeinfo count on {what}");
            Err(Error::Corrupt(message).into())
        };
        if count < 0 {
            return wrong(format!("node-revision {id} to negative value {count}"));
        }
        if count > 1 && kind == NodeKind::File {
            return wrong(format!("*file* node-revision {id} to {count} (> 1)"));
        }
        node.set_mergeinfo_count(count);
        Ok(())
    }
}

fn no_parent<E: Engine>() -> E::Error {
    Error::Corrupt("Transaction refers to a directory that it does not have".into()).into()
}

/// What is said of a directory where a file is wanted.
/// `verb` is `set`, or `get` where a delta needs the text before.
#[must_use]
pub fn not_file(verb: &str) -> Error {
    Error::new(
        ErrorCode::FS_NOT_FILE,
        format!("Attempted to {verb} textual contents of a *non*-file node"),
    )
}

/// Names with newlines cannot be written into lists of changed paths, names that are not UTF-8
/// come from old programs only, and `.` and `..` mean something else everywhere.
fn check_new_path(path: &FsPath) -> std::result::Result<(), Error> {
    if rawname::is_raw(path) {
        return Err(Error::new(
            ErrorCode::FS_PATH_SYNTAX,
            format!("Path '{}' is not in UTF-8", rawname::printable(path)),
        ));
    }
    if has_dots(path) {
        return Err(Error::new(
            ErrorCode::FS_PATH_SYNTAX,
            format!("Path '{path}' contains '.' or '..' element"),
        ));
    }
    if path.contains('\n') {
        return Err(Error::Svn(sapwood_core::path::invalid_control(b'\n', path)));
    }
    Ok(())
}

fn has_dots(path: &FsPath) -> bool {
    path.contains("/.") && path.split('/').any(|name| matches!(name, "." | ".."))
}

/// A name that can be an entry.
fn checked_name(name: &str) -> std::result::Result<&str, Error> {
    if name.is_empty() || name.contains('/') || name == ".." || name == "." {
        return Err(Error::new(
            ErrorCode::FS_NOT_SINGLE_PATH_COMPONENT,
            format!("Attempted to create a node with an illegal name '{name}'"),
        ));
    }
    Ok(name)
}
