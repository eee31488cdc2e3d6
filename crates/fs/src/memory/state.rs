//! What all openings of one filesystem share.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use sapwood_core::{ErrorCode, Exact, Md5, NodeKind, PropList, Revnum, Sha1, SvnError};

use super::Filesystem;
use super::rules::{Id, Maker, NodeRev};
use super::tree::Root;
use super::txn::PublishedTxn;
use crate::ChangedPaths;
use crate::error::{Error, Result};

/// Where a text, a directory or a list of properties is among those of the filesystem.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rep(usize);

/// A text.
#[derive(Debug)]
pub(super) struct Text {
    pub(super) bytes: Arc<[u8]>,
    pub(super) md5: Md5,
    pub(super) sha1: Sha1,
}

/// The entries of a directory, in the order of names.
#[derive(Debug, Default)]
pub(crate) struct Entries(pub(super) Vec<(Box<str>, NodeKind, Id)>);

impl Entries {
    /// Where the entry called `name` is, or belongs.
    pub(super) fn position(&self, name: &str) -> std::result::Result<usize, usize> {
        self.0.binary_search_by(|(own, ..)| (**own).cmp(name))
    }
}

/// What a [`Rep`] stands for.
#[derive(Clone, Debug)]
pub(super) enum Value {
    Text(Arc<Text>),
    Entries(Arc<Entries>),
    Props(Arc<PropList>),
}

/// A revision.
#[derive(Debug)]
pub(super) struct Revision {
    pub(super) props: Arc<PropList>,
    pub(super) changes: Arc<ChangedPaths>,
}

/// Revisions, what they consist of, and transactions.
#[derive(Debug)]
pub(super) struct State {
    pub(super) uuid: String,
    pub(super) revisions: Vec<Revision>,
    /// Of revisions and of published transactions.
    pub(super) nodes: HashMap<Id, Arc<NodeRev>>,
    values: Vec<Value>,
    pub(super) txns: BTreeMap<u64, PublishedTxn>,
    pub(super) next_txn: u64,
    /// How often properties of revisions were changed.
    pub(super) props_version: u64,
}

impl State {
    pub(super) fn new() -> Self {
        let root = NodeRev::first();
        let mut props = PropList::new();
        props.set("svn:date", sapwood_core::date::Timestamp::now().to_string());
        Self {
            uuid: "00000000-0000-4000-8000-000000000000".to_owned(),
            revisions: vec![Revision { props: Arc::new(props), changes: Arc::default() }],
            nodes: HashMap::from([(root.id, Arc::new(root))]),
            values: Vec::new(),
            txns: BTreeMap::new(),
            next_txn: 1,
            props_version: 0,
        }
    }

    pub(super) fn youngest(&self) -> Revnum {
        Revnum(sapwood_core::len64(self.revisions.len()).minus(1))
    }

    pub(super) fn add(&mut self, value: Value) -> Rep {
        self.values.push(value);
        Rep(self.values.len().minus(1))
    }

    pub(super) fn revision(&self, revision: Revnum) -> Result<&Revision> {
        let at = usize::try_from(revision.0).ok().and_then(|at| self.revisions.get(at));
        at.ok_or(Error::NoSuchRevision(revision))
    }

    pub(super) fn revision_mut(&mut self, revision: Revnum) -> Result<&mut Revision> {
        let at = usize::try_from(revision.0).ok().and_then(|at| self.revisions.get_mut(at));
        at.ok_or(Error::NoSuchRevision(revision))
    }
}

fn lost(what: &str) -> Error {
    Error::Svn(SvnError::new(ErrorCode::FS_CORRUPT, format!("{what} is not there")))
}

impl Filesystem {
    pub(super) fn node_rev(&self, id: Id) -> Result<Arc<NodeRev>> {
        let found = self.state.lock().nodes.get(&id).cloned();
        found.ok_or_else(|| lost(&format!("Node-revision '{id}'")))
    }

    /// The tree of a revision.
    pub(super) fn root(&self, revision: Revnum) -> Result<Root> {
        self.state.lock().revision(revision)?;
        let dir = self.node_rev(Id::root(Maker::Revision(revision)))?;
        Ok(Root { fs: self.clone(), revision, txn: None, dir })
    }

    fn value(&self, rep: Rep) -> Result<Value> {
        self.state.lock().values.get(rep.0).cloned().ok_or_else(|| lost("A text"))
    }

    pub(super) fn text(&self, rep: Rep) -> Result<Arc<Text>> {
        match self.value(rep)? {
            Value::Text(text) => Ok(text),
            _ => Err(lost("A text")),
        }
    }

    /// The entries of a directory of a revision.
    pub(super) fn entries(&self, node: &NodeRev) -> Result<Arc<Entries>> {
        if node.kind != NodeKind::Dir {
            let message = "Can't get entries of non-directory";
            return Err(SvnError::new(ErrorCode::FS_NOT_DIRECTORY, message).into());
        }
        match node.text.map(|rep| self.value(rep)).transpose()? {
            None => Ok(Arc::default()),
            Some(Value::Entries(entries)) => Ok(entries),
            Some(_) => Err(lost("A directory")),
        }
    }

    pub(super) fn props(&self, node: &NodeRev) -> Result<Arc<PropList>> {
        match node.props.map(|rep| self.value(rep)).transpose()? {
            None => Ok(Arc::default()),
            Some(Value::Props(props)) => Ok(props),
            Some(_) => Err(lost("A property list")),
        }
    }
}
