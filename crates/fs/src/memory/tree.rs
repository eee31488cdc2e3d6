//! Trees, nodes, directories and contents.

use std::io::{self, Read};
use std::sync::Arc;

use sapwood_core::paths::{FsPathBuf, SharedFsPath};
use sapwood_core::{
    Cut, ErrorCode, Exact, FsPath, Md5, NodeKind, PropList, Revnum, Sha1, SvnError, SvnResult,
    len64,
};
use sapwood_delta::{ComputedDelta, FullText, TextDelta, Window};
use sapwood_fs_common::history::{self, History};

use super::Filesystem;
use super::rules::{Id, NodeRev};
use super::state::{Entries, Text};
use crate::backend::{self, Backend};
use crate::error::{Error, Result};
use crate::{ChangedPaths, Relation};

/// Bytes of contents that are shown at once.
const PIECE: usize = 64 << 10;

/// The tree of a revision or of a published transaction.
#[derive(Clone, Debug)]
pub(crate) struct Root {
    pub(super) fs: Filesystem,
    /// That of the tree, or the one that the transaction is based on.
    pub(super) revision: Revnum,
    pub(super) txn: Option<Arc<str>>,
    pub(super) dir: Arc<NodeRev>,
}

/// E160016: a parent of a path is a file.
pub(super) fn not_directory(place: &str, file: &str, uuid: &str) -> Error {
    let message = format!("'{file}' is not a directory in filesystem '{uuid}'");
    let error = SvnError::new(ErrorCode::FS_NOT_DIRECTORY, message);
    Error::Svn(error.context(format!("Failure opening '{file}' in {place}")))
}

impl Root {
    fn place(&self) -> String {
        match &self.txn {
            Some(name) => format!("transaction '{name}'"),
            None => format!("revision {}", self.revision),
        }
    }

    /// The node-revisions from the root directory down to `path`.
    pub(super) fn chain(&self, path: &FsPath) -> Result<Vec<Arc<NodeRev>>> {
        let mut chain = vec![Arc::clone(&self.dir)];
        let mut done = 0usize;
        for name in path.names() {
            let Some(here) = chain.last() else { break };
            if here.kind != NodeKind::Dir {
                let uuid = self.fs.state.lock().uuid.clone();
                return Err(not_directory(&self.place(), path.piece(..done), &uuid));
            }
            let entries = self.fs.entries(here)?;
            let entry = entries.position(name).ok().and_then(|at| entries.0.get(at));
            let Some((_, _, id)) = entry else {
                return Err(Error::NotFound { place: self.place(), path: path.to_string() });
            };
            chain.push(self.fs.node_rev(*id)?);
            done = done.plus(name.len()).plus(1);
        }
        Ok(chain)
    }

    pub(super) fn node_at_end(&self, path: &FsPath) -> Result<Arc<NodeRev>> {
        let last = self.chain(path)?.pop();
        last.ok_or_else(|| Error::NotFound { place: self.place(), path: path.to_string() })
    }

    pub(super) fn find_rev(&self, path: &FsPath) -> Result<Option<Arc<NodeRev>>> {
        match self.node_at_end(path) {
            Ok(rev) => Ok(Some(rev)),
            Err(Error::NotFound { .. }) => Ok(None),
            Err(Error::Svn(error)) if error.code() == ErrorCode::FS_NOT_DIRECTORY => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn located(&self, path: &FsPath, rev: Arc<NodeRev>) -> Node {
        Node { fs: self.fs.clone(), path: path.into(), rev }
    }
}

impl backend::Root for Root {
    type Fs = Filesystem;

    fn revision(&self) -> Option<Revnum> {
        self.txn.is_none().then_some(self.revision)
    }

    fn base_revision(&self) -> Revnum {
        self.revision
    }

    fn txn_name(&self) -> Option<&str> {
        self.txn.as_deref()
    }

    fn node(&self, path: &FsPath) -> Result<Node> {
        Ok(self.located(path, self.node_at_end(path)?))
    }

    fn find(&self, path: &FsPath) -> Result<Option<Node>> {
        Ok(self.find_rev(path)?.map(|rev| self.located(path, rev)))
    }

    fn changed_paths(&self) -> Result<Arc<ChangedPaths>> {
        match self.txn.as_deref() {
            Some(name) => self.fs.published(name, |published| Arc::clone(&published.changed_paths)),
            None => self.fs.changed_paths(self.revision),
        }
    }

    fn history(&self, path: &FsPath) -> Result<History<Filesystem>> {
        self.node_at_end(path)?;
        Ok(History::new(&self.fs, path, self.revision))
    }

    fn closest_copy(&self, path: &FsPath) -> Result<Option<(Revnum, FsPathBuf)>> {
        history::closest_copy(&self.fs, &self.chain(path)?, path)
    }

    fn node_origin_rev(&self, path: &FsPath) -> Result<Revnum> {
        let made = self.node_at_end(path)?.node.revision();
        made.ok_or_else(|| SvnError::new(ErrorCode::FS_NOT_REVISION_ROOT, "").into())
    }
}

/// One file or directory of a tree.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub(super) fs: Filesystem,
    pub(super) path: SharedFsPath,
    pub(super) rev: Arc<NodeRev>,
}

impl Node {
    /// The text of a file, if it ever got one.
    fn text(&self) -> Result<Option<Arc<Text>>> {
        if self.rev.kind != NodeKind::File {
            let message = "Attempted to get textual contents of a *non*-file node";
            return Err(SvnError::new(ErrorCode::FS_NOT_FILE, message).into());
        }
        self.rev.text.map(|rep| self.fs.text(rep)).transpose()
    }
}

impl backend::Node for Node {
    type Fs = Filesystem;

    fn fs(&self) -> &Filesystem {
        &self.fs
    }

    fn path(&self) -> &FsPath {
        &self.path
    }

    fn shared_path(&self) -> SharedFsPath {
        self.path.clone()
    }

    fn kind(&self) -> NodeKind {
        self.rev.kind
    }

    fn id(&self) -> Id {
        self.rev.id
    }

    fn relation(&self, other: &Self) -> Relation {
        if self.rev.id == other.rev.id {
            Relation::Unchanged
        } else if self.rev.node == other.rev.node {
            Relation::Common
        } else {
            Relation::Unrelated
        }
    }

    fn same_line(&self, other: &Self) -> bool {
        (self.rev.node, self.rev.copy) == (other.rev.node, other.rev.copy)
    }

    fn created_path(&self) -> &FsPath {
        FsPath::trusted(&self.rev.created_path)
    }

    fn props(&self) -> Result<Arc<PropList>> {
        self.fs.props(&self.rev)
    }

    fn entries(&self) -> Result<Arc<Entries>> {
        self.fs.entries(&self.rev)
    }

    fn children(&self) -> Result<Arc<Entries>> {
        self.entries()
    }

    fn child_at(&self, name: &str, id: &Id) -> Result<Self> {
        let path = self.path.child(name).into();
        Ok(Self { fs: self.fs.clone(), path, rev: self.fs.node_rev(*id)? })
    }

    fn text_key(&self) -> Option<(Revnum, u64)> {
        Some((self.rev.id.revision()?, self.rev.id.number))
    }

    fn length(&self) -> Result<u64> {
        Ok(self.text()?.map_or(0, |text| len64(text.bytes.len())))
    }

    fn recorded_md5(&self) -> Result<Option<Md5>> {
        Ok(self.text()?.map(|text| text.md5))
    }

    fn sha1(&self) -> Result<Option<Sha1>> {
        Ok(self.text()?.map(|text| text.sha1))
    }

    fn contents(&self) -> Result<Contents> {
        let bytes = self.text()?.map_or_else(|| Arc::from([]), |text| Arc::clone(&text.bytes));
        Ok(Contents { bytes, at: 0 })
    }

    fn delta_from(&self, source: Option<&Self>) -> Result<Delta> {
        let target = self.contents()?;
        Ok(Delta(match source {
            None => Box::new(FullText::new(target)),
            Some(source) => Box::new(ComputedDelta::new(source.contents()?, target)),
        }))
    }

    fn same_contents_rep(&self, other: &Self) -> bool {
        self.rev.text == other.rev.text
    }

    fn contents_differ(&self, other: &Self) -> Result<bool> {
        Ok(self.contents()?.bytes != other.contents()?.bytes)
    }

    fn same_props_rep(&self, other: &Self) -> bool {
        self.rev.props == other.rev.props
    }

    fn copied_from(&self) -> Option<(Revnum, &FsPath)> {
        self.rev.copy_from.as_ref().map(|(revision, path)| (*revision, FsPath::trusted(path)))
    }

    fn predecessor(&self) -> Result<Option<Self>> {
        let Some(id) = self.rev.predecessor else { return Ok(None) };
        let rev = self.fs.node_rev(id)?;
        let path = FsPath::trusted(&rev.created_path).into();
        Ok(Some(Self { fs: self.fs.clone(), path, rev }))
    }

    fn predecessor_count(&self) -> u64 {
        self.rev.predecessor_count
    }

    fn has_mergeinfo(&self) -> bool {
        self.rev.has_mergeinfo
    }

    fn mergeinfo_count(&self) -> u64 {
        self.rev.mergeinfo_count.unsigned_abs()
    }
}

impl backend::Directory for Arc<Entries> {
    type Fs = Filesystem;

    fn len(&self) -> usize {
        self.0.len()
    }

    fn get(&self, at: usize) -> Option<(&str, NodeKind, Id)> {
        self.0.get(at).map(|(name, kind, id)| (&**name, *kind, *id))
    }

    fn find(&self, name: &str) -> Option<(&str, NodeKind, Id)> {
        self.get(self.position(name).ok()?)
    }

    fn find_next(&self, name: &str, hint: &mut usize) -> Option<(&str, NodeKind, Id)> {
        let at = self.position(name);
        *hint = at.map_or_else(|at| at, |at| at.plus(1));
        self.get(at.ok()?)
    }

    fn is_same(&self, other: &Self) -> bool {
        Self::ptr_eq(self, other)
    }

    fn byte_len(&self) -> usize {
        self.0.iter().map(|entry| size_of_val(entry).plus(entry.0.len())).sum()
    }
}

impl backend::Children for Arc<Entries> {
    type Fs = Filesystem;

    fn entries(&self) -> Self {
        Self::clone(self)
    }
}

/// The contents of a file.
#[derive(Debug)]
pub(crate) struct Contents {
    bytes: Arc<[u8]>,
    at: usize,
}

impl backend::Contents for Contents {
    fn read_some(&mut self, buf: &mut [u8]) -> Result<usize> {
        Ok(self.read(buf).map_err(SvnError::from_stream)?)
    }

    fn next_piece(&mut self) -> Result<Option<&[u8]>> {
        let start = self.at;
        self.at = self.bytes.len().min(start.plus(PIECE));
        let piece = self.bytes.piece(start..self.at);
        Ok((!piece.is_empty()).then_some(piece))
    }
}

impl Read for Contents {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let read = self.bytes.tail(self.at).read(buf)?;
        self.at = self.at.plus(read);
        Ok(read)
    }
}

/// The delta between two texts.
pub(crate) struct Delta(Box<dyn TextDelta + Send + Sync>);

impl std::fmt::Debug for Delta {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Delta").finish_non_exhaustive()
    }
}

impl TextDelta for Delta {
    fn next_window(&mut self) -> SvnResult<Option<Window>> {
        self.0.next_window()
    }
}
