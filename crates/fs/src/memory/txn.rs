//! Transactions, and making revisions of them.

use std::io::Read;
use std::sync::Arc;

use sapwood_core::{
    ChangeKind as Kind, ErrorCode, Exact, FsPath, Lock, Md5, PropList, Revnum, Sha1, SvnError,
};
use sapwood_fs_common::TxnEdit;
use sapwood_fs_common::commit_info::{CommitInfo, change_txn_props};
use sapwood_fs_common::locks::LockFiles;
use sapwood_txn_rules::{Entries as Changed, ROOT};

use super::Filesystem;
use super::rules::{ChangeList, Id, Maker, Memory, NodeRev, Source, Tree};
use super::state::{Entries, Rep, Revision, State, Text, Value};
use super::tree::Root;
use crate::backend::{self, Backend as _, not_supported};
use crate::callbacks::ChangeProps;
use crate::error::{Error, Result};
use crate::locks::{LockOptions, LockOutcome, LockTarget, UnlockTarget};
use crate::{ChangeKind, ChangedPath, ChangedPaths};
use sapwood_fsfs::txn::{KnownText, NewRevision};

/// A transaction as others see it.
#[derive(Debug)]
pub(super) struct PublishedTxn {
    pub(super) props: PropList,
    pub(super) changed_paths: Arc<ChangedPaths>,
    /// Distinguishes it from what it was when it was published before.
    version: u64,
    tree: Parts,
}

/// What a tree is made of.
#[derive(Clone, Debug)]
struct Parts {
    txn: u64,
    base: Revnum,
    /// The next node, copy and node-revision.
    next: (u64, u64, u64),
    nodes: Vec<(NodeRev, Option<Changed<Memory>>, Option<PropList>)>,
    changes: ChangeList,
}

impl Parts {
    fn of(tree: &Tree) -> Self {
        let node = |node: &sapwood_txn_rules::TxnNode<Memory>| {
            (node.node.clone(), node.entries.clone(), node.props.clone())
        };
        Self {
            txn: tree.ids.txn,
            base: tree.base,
            next: (tree.ids.node, tree.ids.copy, tree.ids.item),
            nodes: tree.nodes.iter().map(node).collect(),
            changes: tree.changes.clone(),
        }
    }

    fn tree(self, fs: &Filesystem) -> Result<Tree> {
        let mut tree = Tree::empty(Box::new(fs.source()), self.txn, self.base);
        (tree.ids.node, tree.ids.copy, tree.ids.item) = self.next;
        tree.changes = self.changes;
        for (node, entries, props) in self.nodes {
            let at = tree.add_node(node);
            let added = tree.txn_node_mut(at)?;
            (added.entries, added.props) = (entries, props);
        }
        Ok(tree)
    }
}

impl PublishedTxn {
    pub(super) const fn number(&self) -> u64 {
        self.tree.txn
    }

    pub(super) const fn base(&self) -> Revnum {
        self.tree.base
    }
}

impl Filesystem {
    fn source(&self) -> Source {
        Source { fs: self.clone(), uuid: self.state.lock().uuid.clone() }
    }

    /// Asks something of a published transaction; E160007 when there is none of that name.
    pub(super) fn published<T>(
        &self,
        name: &str,
        ask: impl FnOnce(&mut PublishedTxn) -> T,
    ) -> Result<T> {
        let missing = || {
            let message = format!("No such transaction '{name}'");
            Error::Svn(SvnError::new(ErrorCode::FS_NO_SUCH_TRANSACTION, message))
        };
        let number = name.parse().map_err(|_| missing())?;
        self.state.lock().txns.get_mut(&number).map(ask).ok_or_else(missing)
    }
}

/// Writes to a filesystem.
#[derive(Clone, Debug)]
pub(crate) struct Writer(pub(super) Filesystem);

impl Writer {
    fn txn(&self, tree: Tree, props: PropList) -> Txn {
        let info = CommitInfo { props, ..CommitInfo::default() };
        Txn { fs: self.0.clone(), tree, info, published: None }
    }
}

impl backend::Writer for Writer {
    type Fs = Filesystem;

    fn fs(&self) -> &Filesystem {
        &self.0
    }

    fn set_uuid(&self, uuid: &str) -> Result<Self> {
        uuid.clone_into(&mut self.0.state.lock().uuid);
        Ok(self.clone())
    }

    fn begin(&self, base: Revnum) -> Result<Txn> {
        let root = self.0.root(base)?.dir;
        let number = {
            let mut state = self.0.state.lock();
            let number = state.next_txn;
            state.next_txn = number.plus(1);
            number
        };
        let mut tree = Tree::of_revision(Box::new(self.0.source()), (number, base), &root);
        // Number 0 is the root's in all.
        (tree.ids.node, tree.ids.copy, tree.ids.item) = (1, 1, 1);
        Ok(self.txn(tree, PropList::new()))
    }

    fn open_txn(&self, name: &str) -> Result<Txn> {
        let (parts, props, version) = self.0.published(name, |published| {
            (published.tree.clone(), published.props.clone(), published.version)
        })?;
        Ok(Txn { published: Some(version), ..self.txn(parts.tree(&self.0)?, props) })
    }

    fn purge_txn(&self, name: &str) -> Result<()> {
        let number = self.0.published(name, |published| published.number())?;
        self.0.state.lock().forget(number);
        Ok(())
    }

    fn change_txn_props(&self, name: &str, changes: &[(&str, Option<&[u8]>)]) -> Result<()> {
        self.0.published(name, |published| {
            change_txn_props(&mut published.props, changes);
        })
    }

    fn change_revision_props(&self, revision: Revnum, change: &mut ChangeProps<'_>) -> Result<()> {
        let mut state = self.0.state.lock();
        let Some(props) = change(&state.revision(revision)?.props)? else { return Ok(()) };
        state.revision_mut(revision)?.props = Arc::new(props);
        state.props_version = state.props_version.plus(1);
        Ok(())
    }

    fn lock_paths(&self, _: &[LockTarget], _: &LockOptions<'_>) -> LockOutcome<Lock> {
        LockOutcome { each: Vec::new(), failure: not_supported::<()>(&self.0).err() }
    }

    fn unlock_paths(&self, _: &[UnlockTarget], _: Option<&str>, _: bool) -> LockOutcome<()> {
        LockOutcome { each: Vec::new(), failure: not_supported::<()>(&self.0).err() }
    }
}

/// A transaction. Others see what was published of it last.
#[derive(Debug)]
pub(crate) struct Txn {
    fs: Filesystem,
    tree: Tree,
    info: CommitInfo,
    /// Which version of it was published.
    published: Option<u64>,
}

impl TxnEdit for Txn {
    type Engine = Memory;
    type KnownText = KnownText;

    fn tree(&self) -> &Tree {
        &self.tree
    }

    fn tree_mut(&mut self) -> &mut Tree {
        &mut self.tree
    }

    fn info(&self) -> &CommitInfo {
        &self.info
    }

    fn info_mut(&mut self) -> &mut CommitInfo {
        &mut self.info
    }

    fn lock_files(&self) -> LockFiles<'_> {
        LockFiles { storage: self.fs.storage(), db: self.fs.path() }
    }

    fn md5_of(&self, file: &NodeRev) -> Result<Md5> {
        let text = file.text.map(|rep| self.fs.text(rep)).transpose()?;
        Ok(text.map_or_else(|| Md5::of(b""), |text| text.md5))
    }

    fn text_at(&mut self, at: usize) -> Result<Box<dyn Read>> {
        let rep = self.tree.txn_node(at)?.node.text;
        let text = rep.map(|rep| self.fs.text(rep)).transpose()?;
        let bytes = text.map_or_else(|| Arc::from([]), |text| Arc::clone(&text.bytes));
        Ok(Box::new(std::io::Cursor::new(bytes)))
    }

    fn store_text(
        &mut self,
        _at: usize,
        text: &mut dyn Read,
        _known: Option<&KnownText>,
    ) -> Result<(Rep, Md5)> {
        let mut bytes = Vec::new();
        text.read_to_end(&mut bytes).map_err(SvnError::from_stream)?;
        let (md5, sha1) = (Md5::of(&bytes), Sha1::of(&bytes));
        let text = Value::Text(Arc::new(Text { bytes: bytes.into(), md5, sha1 }));
        Ok((self.fs.state.lock().add(text), md5))
    }
}

impl Txn {
    /// Writes the nodes of the tree as nodes of `maker`.
    fn write(&self, state: &mut State, maker: Maker) -> Result<()> {
        let revision = Id::root(maker).revision();
        let mut todo = vec![ROOT];
        while let Some(at) = todo.pop() {
            let txn_node = self.tree.txn_node(at)?;
            let mut node = txn_node.node.clone();
            if let Some(entries) = &txn_node.entries {
                let below = entries.changed.values().flatten();
                todo.extend(below.filter_map(|(_, id)| self.tree.place_of(id)));
                let list = entries.iter();
                let list = list.map(|(name, kind, id)| (name.into(), kind, id.made(maker)));
                node.text = Some(state.add(Value::Entries(Arc::new(Entries(list.collect())))));
            }
            if let Some(props) = &txn_node.props {
                node.props = Some(state.add(Value::Props(Arc::new(props.clone()))));
            }
            for id in [&mut node.id, &mut node.node, &mut node.copy] {
                *id = id.made(maker);
            }
            node.copy_root.0 = node.copy_root.0.or(revision);
            state.nodes.insert(node.id, Arc::new(node));
        }
        Ok(())
    }

    fn changed_paths(&self) -> Result<Arc<ChangedPaths>> {
        let changes = self.tree.changes.iter().map(|(path, change)| ChangedPath {
            path,
            kind: match change.kind {
                Kind::Add => ChangeKind::Add,
                Kind::Delete => ChangeKind::Delete,
                Kind::Replace => ChangeKind::Replace,
                Kind::Modify | Kind::Reset => ChangeKind::Modify,
            },
            node_kind: Some(change.node_kind),
            text_mod: change.text_mod,
            prop_mod: change.prop_mod,
            mergeinfo_mod: Some(change.mergeinfo_mod),
            copy_from: change.copy_from.as_ref().map(|(revision, path)| (*revision, &**path)),
        });
        crate::changes::build(changes).map(Arc::new)
    }
}

impl State {
    /// Removes a published transaction.
    fn forget(&mut self, number: u64) {
        self.txns.remove(&number);
        self.nodes.retain(|id, _| id.maker != Maker::Txn(number));
    }
}

impl backend::Txn for Txn {
    type Fs = Filesystem;

    fn copy(&mut self, from: (&Root, &FsPath), path: &FsPath, history: bool) -> Result<()> {
        let (root, from_path) = from;
        let source = root.node_at_end(from_path)?;
        self.tree.copy((root.revision, from_path), &source, path, history)
    }

    fn set_text_of(
        &mut self,
        path: &FsPath,
        text: &mut dyn Read,
        known: Option<&KnownText>,
        expected: Option<Md5>,
    ) -> Result<()> {
        self.set_known_text(path, text, known, expected)
    }

    fn publish(&mut self) -> Result<()> {
        let number = self.tree.txn();
        let mut state = self.fs.state.lock();
        let version = state.txns.get(&number).map_or(0, |before| before.version.plus(1));
        self.write(&mut state, Maker::Txn(number))?;
        let published = PublishedTxn {
            props: self.info.props.clone(),
            changed_paths: self.changed_paths()?,
            version,
            tree: Parts::of(&self.tree),
        };
        state.txns.insert(number, published);
        self.published = Some(version);
        Ok(())
    }

    fn refresh(&mut self) -> Result<()> {
        let Some(own) = self.published else { return Ok(()) };
        let (props, version, parts) = self.fs.published(&self.name(), |published| {
            (published.props.clone(), published.version, published.tree.clone())
        })?;
        self.info.props = props;
        if version != own {
            self.tree = parts.tree(&self.fs)?;
            self.published = Some(version);
        }
        Ok(())
    }

    fn suspend(mut self) -> Result<String> {
        self.publish()?;
        Ok(self.name())
    }

    fn abort(self) -> Result<()> {
        self.fs.state.lock().forget(self.tree.txn());
        Ok(())
    }

    fn commit_for_props(mut self) -> Result<NewRevision> {
        // Nothing is committed meanwhile, or it is tried again.
        loop {
            let youngest = self.fs.youngest()?;
            if self.tree.base != youngest {
                self.tree.merge_to(youngest)?;
            }
            let fs = self.fs.clone();
            let mut state = fs.state.lock();
            if state.youngest() != youngest {
                continue;
            }
            let revision = youngest.next();
            self.write(&mut state, Maker::Revision(revision))?;
            let changes = self.changed_paths()?;
            let props = self.info.take_revision_props();
            state.forget(self.tree.txn());
            state.revisions.push(Revision { props: Arc::new(props.clone()), changes });
            return Ok(NewRevision { revision, props });
        }
    }
}

/// Revisions are made one by one.
#[derive(Debug)]
pub(crate) enum NoBulk {}

impl backend::Bulk for NoBulk {
    type Fs = Filesystem;

    fn begin(&self) -> Result<Txn> {
        match *self {}
    }

    fn failure(&self) -> Option<Error> {
        match *self {}
    }

    fn youngest(&self) -> Result<Revnum> {
        match *self {}
    }

    fn commit(&self, _: Txn) -> Result<Revnum> {
        match *self {}
    }

    fn published(&self) -> Revnum {
        match *self {}
    }

    fn sync(&self) -> Result<()> {
        match *self {}
    }
}
