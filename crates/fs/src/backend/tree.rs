//! Trees of revisions and of transactions.

use std::fmt::Debug;
use std::io::Read;
use std::sync::Arc;

use sapwood_core::paths::{FsPathBuf, SharedFsPath};
use sapwood_core::props::names::MERGEINFO;
use sapwood_core::{
    CancelToken, ErrorCode, Exact, FsPath, Md5, NodeKind, PropList, Revnum, Sha1, SvnError,
    SvnResult,
};
use sapwood_delta::Version;
use sapwood_fs_common::history::{History, Nodes};

use super::Backend;
use crate::callbacks::ReadProps;
use crate::error::{Error, Result};
use crate::{ChangedPaths, Relation};

/// The entries of a directory, sorted bytewise by name. Clones share them.
pub(crate) trait Directory: Clone + Debug + Default {
    type Fs: Backend<Directory = Self>;

    fn len(&self) -> usize;
    fn get(&self, at: usize) -> Option<Entry<'_, Self::Fs>>;
    fn find(&self, name: &str) -> Option<Entry<'_, Self::Fs>>;
    fn find_next(&self, name: &str, hint: &mut usize) -> Option<Entry<'_, Self::Fs>>;
    fn is_same(&self, other: &Self) -> bool;
    fn byte_len(&self) -> usize;
}

/// One entry: name, kind and node-revision.
pub(crate) type Entry<'a, B> = (&'a str, NodeKind, <B as Nodes>::Id);

/// The tree of a revision or of a transaction.
pub(crate) trait Root: Clone + Debug {
    type Fs: Backend<Root = Self>;

    fn revision(&self) -> Option<Revnum>;
    fn base_revision(&self) -> Revnum;
    fn txn_name(&self) -> Option<&str>;
    fn node(&self, path: &FsPath) -> Result<NodeOf<Self>>;
    fn find(&self, path: &FsPath) -> Result<Option<NodeOf<Self>>>;
    fn changed_paths(&self) -> Result<Arc<ChangedPaths>>;
    fn history(&self, path: &FsPath) -> Result<History<Self::Fs>>;
    fn closest_copy(&self, path: &FsPath) -> Result<Option<(Revnum, FsPathBuf)>>;
    fn node_origin_rev(&self, path: &FsPath) -> Result<Revnum>;

    fn rest(&self) {}

    fn verify(&self) -> Result<()> {
        Ok(())
    }

    fn kind(&self, path: &FsPath) -> Result<Option<NodeKind>> {
        Ok(self.find(path)?.map(|node| node.kind()))
    }

    /// The nodes from `path` up to the root directory.
    fn upwards(&self, path: &FsPath) -> Result<Vec<NodeOf<Self>>> {
        let mut place = path;
        let mut nodes = vec![self.node(path)?];
        while !place.is_root() {
            place = place.parent();
            nodes.push(self.node(place)?);
        }
        Ok(nodes)
    }

    fn nearest_mergeinfo(&self, path: &FsPath, parents_only: bool) -> Result<Option<NodeOf<Self>>> {
        let mut nodes = self.upwards(path)?.into_iter().skip(usize::from(parents_only));
        Ok(nodes.find(|node| node.has_mergeinfo()))
    }

    fn parents(
        &self,
        path: &FsPath,
        each: &mut dyn FnMut(&FsPath, ReadProps<'_>) -> Result<()>,
    ) -> Result<()> {
        if path.is_root() {
            return Ok(());
        }
        let parents = self.upwards(path.parent())?;
        parents.iter().try_for_each(|node| each(node.path(), &|| node.props()))
    }

    fn mergeinfo_below(
        &self,
        path: &FsPath,
        cancel: &CancelToken,
        found: &mut dyn FnMut(&FsPath, &[u8]) -> Result<()>,
    ) -> Result<()> {
        let wrong = |sentence: String| Error::Svn(SvnError::new(ErrorCode::FS_CORRUPT, sentence));
        // Nodes still to be looked at, the next one last. Their counts get less on the way down, or the tree is damaged.
        let mut todo = vec![self.node(path)?];
        while let Some(node) = todo.pop() {
            cancel.check()?;
            let id = node.id();
            if node.has_mergeinfo() {
                let props = node.props()?;
                let value = props.get(MERGEINFO).ok_or_else(|| {
                    wrong(format!("Node-revision #'{id}' claims to have mergeinfo but doesn't"))
                })?;
                found(node.path(), value)?;
            }
            let own = u64::from(node.has_mergeinfo());
            if node.kind() != NodeKind::Dir || node.mergeinfo_count() <= own {
                continue;
            }
            let mut left = node.mergeinfo_count().minus(own);
            let entries = node.entries()?;
            for at in (0..entries.len()).rev() {
                let Some((name, _, child)) = entries.get(at) else { continue };
                let child = node.child_at(name, &child)?;
                if child.mergeinfo_count() > 0 || child.has_mergeinfo() {
                    left = left.checked_sub(child.mergeinfo_count().max(1)).ok_or_else(|| {
                        wrong(format!("Mergeinfo count of '{id}' is less than below it"))
                    })?;
                    todo.push(child);
                }
            }
        }
        Ok(())
    }
}

/// The nodes of the trees of an engine.
pub(crate) type NodeOf<R> = <<R as Root>::Fs as Backend>::Node;

/// One file or directory of a tree, with the path that it was reached by.
pub(crate) trait Node: Clone + Debug {
    type Fs: Backend<Node = Self>;

    fn fs(&self) -> &Self::Fs;
    fn path(&self) -> &FsPath;
    fn shared_path(&self) -> SharedFsPath;
    fn kind(&self) -> NodeKind;
    fn id(&self) -> <Self::Fs as Nodes>::Id;
    fn relation(&self, other: &Self) -> Relation;
    fn same_line(&self, other: &Self) -> bool;
    fn created_path(&self) -> &FsPath;
    fn props(&self) -> Result<Arc<PropList>>;
    fn entries(&self) -> Result<<Self::Fs as Backend>::Directory>;
    fn children(&self) -> Result<<Self::Fs as Backend>::Children>;
    /// The child that an entry of this directory stands for.
    fn child_at(&self, name: &str, id: &<Self::Fs as Nodes>::Id) -> Result<Self>;
    fn text_key(&self) -> Option<(Revnum, u64)>;
    fn length(&self) -> Result<u64>;
    fn recorded_md5(&self) -> Result<Option<Md5>>;
    fn sha1(&self) -> Result<Option<Sha1>>;
    fn contents(&self) -> Result<<Self::Fs as Backend>::Contents>;
    fn delta_from(&self, source: Option<&Self>) -> Result<<Self::Fs as Backend>::Delta>;
    fn same_contents_rep(&self, other: &Self) -> bool;
    fn contents_differ(&self, other: &Self) -> Result<bool>;
    fn same_props_rep(&self, other: &Self) -> bool;
    fn copied_from(&self) -> Option<(Revnum, &FsPath)>;
    fn predecessor(&self) -> Result<Option<Self>>;
    fn predecessor_count(&self) -> u64;
    fn has_mergeinfo(&self) -> bool;
    fn mergeinfo_count(&self) -> u64;

    fn by_way_of(&self, _: &Self::Fs) -> Self {
        self.clone()
    }

    fn created_rev(&self) -> Option<Revnum> {
        <Self::Fs as Nodes>::revision(&self.id())
    }

    fn has_props(&self) -> Result<bool> {
        Ok(!self.props()?.is_empty())
    }

    fn child(&self, name: &str) -> Result<Option<Self>> {
        let entries = self.entries()?;
        let Some((name, _, id)) = entries.find(name) else { return Ok(None) };
        self.child_at(name, &id).map(Some)
    }

    fn md5(&self) -> Result<Md5> {
        Ok(self.recorded_md5()?.unwrap_or_else(|| Md5::of(b"")))
    }

    fn encode_ahead(&self, _: Version) -> SvnResult<u64> {
        Ok(0)
    }

    fn props_differ(&self, other: &Self) -> Result<bool> {
        if self.same_props_rep(other) || self.id() == other.id() {
            return Ok(false);
        }
        Ok(self.props()? != other.props()?)
    }

    fn entry_of_wrong_kind(&self, cancel: &CancelToken) -> Result<Option<(String, NodeKind)>> {
        let entries = self.entries()?;
        for at in 0..entries.len() {
            cancel.check()?;
            let Some((name, kind, id)) = entries.get(at) else { continue };
            if self.child_at(name, &id)?.kind() != kind {
                return Ok(Some((name.to_owned(), kind)));
            }
        }
        Ok(None)
    }
}

/// The entries of a directory, and the way to their nodes.
pub(crate) trait Children: Debug {
    type Fs: Backend<Children = Self>;

    fn entries(&self) -> <Self::Fs as Backend>::Directory;

    fn node(
        &mut self,
        dir: &<Self::Fs as Backend>::Node,
        at: usize,
    ) -> Result<<Self::Fs as Backend>::Node> {
        let entries = self.entries();
        let Some((name, _, id)) = entries.get(at) else {
            let message = format!("Directory '{}' has no entry {at}", dir.path());
            return Err(SvnError::new(ErrorCode::FS_CORRUPT, message).into());
        };
        dir.child_at(name, &id)
    }
}

/// A file's contents from start to end.
pub(crate) trait Contents: Debug + Read + Sized {
    fn read_some(&mut self, buf: &mut [u8]) -> Result<usize>;
    fn next_piece(&mut self) -> Result<Option<&[u8]>>;

    #[must_use]
    fn with_sum_aside(self) -> Self {
        self
    }
}
