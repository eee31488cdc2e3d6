//! The nodes of a transaction: those that were changed, in memory, and those of revisions that
//! it still shares.

use std::collections::BTreeMap;
use std::sync::Arc;

use sapwood_core::FsPath;
use sapwood_core::{ErrorCode, NodeKind, PropList};
use sapwood_fsfs_format::{Directory, Location, NodeRev, NodeRevId};

use super::{ROOT, Tree};
use crate::error::{Error, Result};

/// A node-revision that was made in a transaction.
#[derive(Debug)]
pub(crate) struct TxnNode {
    pub(crate) node: NodeRev,
    /// A directory's entries, once they were changed.
    pub(crate) entries: Option<Entries>,
    /// The properties, once they were changed.
    pub(crate) props: Option<PropList>,
    /// Its id in the new revision, while that is being written.
    pub(crate) final_id: Option<NodeRevId>,
}

impl TxnNode {
    pub(crate) const fn new(node: NodeRev) -> Self {
        Self { node, entries: None, props: None, final_id: None }
    }
}

/// What became of an entry: its node, or nothing.
pub(crate) type EntryNow = Option<(NodeKind, NodeRevId)>;

/// The entries of a changed directory: those it had, and what became of some of them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Entries {
    /// The directory that the node's text is, as long as that is one of a revision.
    pub(crate) base: Arc<Directory>,
    pub(crate) changed: BTreeMap<Box<str>, EntryNow>,
}

impl Entries {
    pub(crate) fn find(&self, name: &str) -> EntryNow {
        match self.changed.get(name) {
            Some(changed) => *changed,
            None => self.base.find(name).map(|e| (e.kind, e.id)),
        }
    }

    /// All entries, in the order of their names.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, NodeKind, NodeRevId)> {
        MergedEntries { base: self.base.iter().peekable(), changed: self.changed.iter().peekable() }
    }
}

/// Both lists, in the order of names; changes win.
struct MergedEntries<B: Iterator, C: Iterator> {
    base: std::iter::Peekable<B>,
    changed: std::iter::Peekable<C>,
}

impl<'a, B, C> Iterator for MergedEntries<B, C>
where
    B: Iterator<Item = sapwood_fsfs_format::DirEntryRef<'a>>,
    C: Iterator<Item = (&'a Box<str>, &'a EntryNow)>,
{
    type Item = (&'a str, NodeKind, NodeRevId);

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let order = match (self.base.peek(), self.changed.peek()) {
                (None, None) => return None,
                (Some(_), None) => std::cmp::Ordering::Less,
                (None, Some(_)) => std::cmp::Ordering::Greater,
                (Some(base), Some((name, _))) => base.name.cmp(name),
            };
            if order.is_le() {
                let base = self.base.next();
                if order.is_lt() {
                    return base.map(|e| (e.name, e.kind, e.id));
                }
            }
            if let Some((name, Some((kind, id)))) = self.changed.next() {
                return Some((name, *kind, *id));
            }
        }
    }
}

/// A node that a path of the transaction leads to.
#[derive(Clone, Debug)]
pub(crate) enum Dag {
    /// One of a revision.
    Rev(Arc<NodeRev>),
    /// One of the transaction: its place.
    Txn(usize),
}

/// One component of a path, and what it leads to.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    pub(crate) name: Box<str>,
    /// `None` only for the last component, where that may be missing.
    pub(crate) node: Option<Dag>,
}

impl Tree {
    /// The node-revision of a node.
    pub(crate) fn noderev<'a>(&'a self, dag: &'a Dag) -> Result<&'a NodeRev> {
        match dag {
            Dag::Rev(node) => Ok(node),
            Dag::Txn(at) => Ok(&self.txn_node(*at)?.node),
        }
    }

    /// The node at a place.
    ///
    /// # Errors
    /// E160004 when there is none.
    pub(crate) fn txn_node(&self, at: usize) -> Result<&TxnNode> {
        self.nodes.get(at).ok_or_else(no_node)
    }

    /// The same, to change it.
    pub(crate) fn txn_node_mut(&mut self, at: usize) -> Result<&mut TxnNode> {
        self.nodes.get_mut(at).ok_or_else(no_node)
    }

    /// The node of an id.
    pub(crate) fn dag(&self, id: &NodeRevId) -> Result<Dag> {
        match id.location {
            Location::Rev { .. } => Ok(Dag::Rev(self.source.node(id)?)),
            Location::Txn(_) => {
                self.by_id.get(&(id.node, id.copy)).map(|at| Dag::Txn(*at)).ok_or_else(no_node)
            }
        }
    }

    /// Adds a node: its place.
    pub(crate) fn add_node(&mut self, node: NodeRev) -> usize {
        let at = self.nodes.len();
        self.by_id.insert((node.id.node, node.id.copy), at);
        self.nodes.push(TxnNode::new(node));
        at
    }

    /// The entry called `name` of a directory.
    pub(crate) fn entry(&self, dir: &Dag, name: &str) -> Result<EntryNow> {
        if let Dag::Txn(at) = dir
            && let Some(entries) = &self.txn_node(*at)?.entries
        {
            return Ok(entries.find(name));
        }
        let entries = self.source.directory(self.noderev(dir)?)?;
        Ok(entries.find(name).map(|e| (e.kind, e.id)))
    }

    /// All entries of a directory.
    pub(crate) fn entries(&self, dir: &Dag) -> Result<Entries> {
        if let Dag::Txn(at) = dir
            && let Some(entries) = &self.txn_node(*at)?.entries
        {
            return Ok(entries.clone());
        }
        let base = self.source.directory(self.noderev(dir)?)?;
        Ok(Entries { base, changed: BTreeMap::new() })
    }

    /// Sets or (with `None`) removes an entry of a directory of the transaction.
    pub(crate) fn set_entry(&mut self, dir: usize, name: &str, entry: EntryNow) -> Result<()> {
        if self.txn_node(dir)?.entries.is_none() {
            let base = self.source.directory(&self.txn_node(dir)?.node)?;
            let entries = Entries { base, changed: BTreeMap::new() };
            self.txn_node_mut(dir)?.entries = Some(entries);
        }
        if let Some(entries) = &mut self.txn_node_mut(dir)?.entries {
            entries.changed.insert(name.into(), entry);
        }
        Ok(())
    }

    /// The properties of a node.
    pub(crate) fn props_of(&self, dag: &Dag) -> Result<Arc<PropList>> {
        if let Dag::Txn(at) = dag
            && let Some(props) = &self.txn_node(*at)?.props
        {
            return Ok(Arc::new(props.clone()));
        }
        self.source.props(self.noderev(dag)?)
    }

    /// Walks down `path`, from the root on; the steps, the root being the first. The last one's
    /// node may be missing if `last_optional`.
    pub(crate) fn walk(&self, path: &FsPath, last_optional: bool) -> Result<Vec<Step>> {
        let mut steps = vec![Step { name: "".into(), node: Some(Dag::Txn(ROOT)) }];
        let mut here = Dag::Txn(ROOT);
        let mut names = path.names().peekable();
        let mut done = String::new();
        while let Some(name) = names.next() {
            if self.noderev(&here)?.kind != NodeKind::Dir {
                return Err(self.not_directory(if done.is_empty() { "/" } else { &done }));
            }
            let found = self.entry(&here, name)?;
            let node = match found {
                Some((_, id)) => Some(self.dag(&id)?),
                None if last_optional && names.peek().is_none() => None,
                None => return Err(self.not_found(path)),
            };
            steps.push(Step { name: name.into(), node: node.clone() });
            if let Some(node) = node {
                here = node;
            }
            done.push('/');
            done.push_str(name);
        }
        Ok(steps)
    }

    /// Walks down `path`: the node, `None` when there is none, also below a file.
    pub(crate) fn look_up(&self, path: &FsPath) -> Result<Option<Dag>> {
        let mut here = Dag::Txn(ROOT);
        for name in path.names() {
            if self.noderev(&here)?.kind != NodeKind::Dir {
                return Ok(None);
            }
            let Some((_, id)) = self.entry(&here, name)? else { return Ok(None) };
            here = self.dag(&id)?;
        }
        Ok(Some(here))
    }

    fn place(&self) -> String {
        format!("transaction '{}'", self.id)
    }

    pub(crate) fn not_found(&self, path: &FsPath) -> Error {
        Error::NotFound { place: self.place(), path: path.as_str().to_owned() }
    }

    fn not_directory(&self, parent: &str) -> Error {
        Error::NotDirectory {
            place: self.place(),
            path: parent.to_owned(),
            fs: self.source.uuid().to_owned(),
        }
    }

    pub(crate) fn already_exists(&self, path: &FsPath) -> Error {
        Error::new(
            ErrorCode::FS_ALREADY_EXISTS,
            format!(
                "File already exists: filesystem '{}', {}, path '{path}'",
                self.source.uuid(),
                self.place()
            ),
        )
    }
}

fn no_node() -> Error {
    Error::Corrupt("Transaction refers to a node that it does not have".into())
}
