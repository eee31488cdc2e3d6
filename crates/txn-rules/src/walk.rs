//! Reading the tree of a transaction: nodes by place, id and path, their entries and properties.

use std::collections::BTreeMap;
use std::sync::Arc;

use sapwood_core::{ErrorCode, FsPath, NodeKind, PropList};

use crate::engine::{Engine, Listing as _, NodeRevision as _, Result};
use crate::error::Error;
use crate::nodes::{Dag, Entries, EntryNow, TxnNode};
use crate::tree::{ROOT, Tree};

/// One component of a path, and what it leads to.
#[derive(Debug)]
pub(crate) struct Step<E: Engine> {
    pub(crate) name: Box<str>,
    /// `None` only for the last component, where that may be missing.
    pub(crate) node: Option<Dag<E>>,
}

#[allow(
    clippy::missing_errors_doc,
    reason = "all: the rules that refuse a change, and errors of the tree"
)]
impl<E: Engine> Tree<E> {
    /// The node-revision of a node.
    pub fn noderev<'a>(&'a self, dag: &'a Dag<E>) -> Result<&'a E::Node, E> {
        match dag {
            Dag::Rev(node) => Ok(node),
            Dag::Txn(at) => Ok(&self.txn_node(*at)?.node),
        }
    }

    /// The node at a place.
    ///
    /// # Errors
    /// E160004 when there is none.
    pub fn txn_node(&self, at: usize) -> Result<&TxnNode<E>, E> {
        self.nodes.get(at).ok_or_else(no_node::<E>)
    }

    /// The same, to change it.
    pub fn txn_node_mut(&mut self, at: usize) -> Result<&mut TxnNode<E>, E> {
        self.nodes.get_mut(at).ok_or_else(no_node::<E>)
    }

    /// The node of an id.
    pub(crate) fn dag(&self, id: &E::Id) -> Result<Dag<E>, E> {
        match E::revision(id) {
            Some(_) => Ok(Dag::Rev(self.source.node(id)?)),
            None => self.place_of(id).map(Dag::Txn).ok_or_else(no_node::<E>),
        }
    }

    /// The line of history of a node-revision.
    pub(crate) fn line(&self, id: &E::Id) -> Result<E::Line, E> {
        match E::line(id) {
            Some(line) => Ok(line),
            None => Ok(self.noderev(&self.dag(id)?)?.line()),
        }
    }

    /// The entry called `name` of a directory.
    pub fn entry(&self, dir: &Dag<E>, name: &str) -> Result<EntryNow<E>, E> {
        if let Dag::Txn(at) = dir
            && let Some(entries) = &self.txn_node(*at)?.entries
        {
            return Ok(entries.find(name));
        }
        let entries = self.source.directory(self.noderev(dir)?)?;
        Ok(entries.find(name))
    }

    /// All entries of a directory.
    pub fn entries(&self, dir: &Dag<E>) -> Result<Entries<E>, E> {
        if let Dag::Txn(at) = dir
            && let Some(entries) = &self.txn_node(*at)?.entries
        {
            return Ok(entries.clone());
        }
        let base = self.source.directory(self.noderev(dir)?)?;
        Ok(Entries { base, changed: BTreeMap::new() })
    }

    /// Sets or (with `None`) removes an entry of a directory of the transaction.
    pub(crate) fn set_entry(
        &mut self,
        dir: usize,
        name: &str,
        entry: EntryNow<E>,
    ) -> Result<(), E> {
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
    pub fn props_of(&self, dag: &Dag<E>) -> Result<Arc<PropList>, E> {
        if let Dag::Txn(at) = dag
            && let Some(props) = &self.txn_node(*at)?.props
        {
            return Ok(Arc::new(props.clone()));
        }
        self.source.props(self.noderev(dag)?)
    }

    /// Walks down `path`, from the root on; the steps, the root being the first. The last one's
    /// node may be missing if `last_optional`.
    pub(crate) fn walk(&self, path: &FsPath, last_optional: bool) -> Result<Vec<Step<E>>, E> {
        let mut steps = vec![Step { name: "".into(), node: Some(Dag::Txn(ROOT)) }];
        let mut here = Dag::Txn(ROOT);
        let mut names = path.names().peekable();
        let mut done = String::new();
        while let Some(name) = names.next() {
            if self.noderev(&here)?.kind() != NodeKind::Dir {
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
    pub fn look_up(&self, path: &FsPath) -> Result<Option<Dag<E>>, E> {
        let mut here = Dag::Txn(ROOT);
        for name in path.names() {
            if self.noderev(&here)?.kind() != NodeKind::Dir {
                return Ok(None);
            }
            let Some((_, id)) = self.entry(&here, name)? else { return Ok(None) };
            here = self.dag(&id)?;
        }
        Ok(Some(here))
    }

    fn place(&self) -> String {
        format!("transaction '{}'", self.txn())
    }

    /// The error for a path that leads nowhere.
    pub fn not_found(&self, path: &FsPath) -> E::Error {
        Error::NotFound { place: self.place(), path: path.as_str().to_owned() }.into()
    }

    fn not_directory(&self, parent: &str) -> E::Error {
        Error::NotDirectory {
            place: self.place(),
            path: parent.to_owned(),
            fs: self.source.uuid().to_owned(),
        }
        .into()
    }

    pub(crate) fn already_exists(&self, path: &FsPath) -> E::Error {
        let (fs, place) = (self.source.uuid(), self.place());
        let message = format!("File already exists: filesystem '{fs}', {place}, path '{path}'");
        Error::new(ErrorCode::FS_ALREADY_EXISTS, message).into()
    }
}

fn no_node<E: Engine>() -> E::Error {
    Error::Corrupt("Transaction refers to a node that it does not have".into()).into()
}
