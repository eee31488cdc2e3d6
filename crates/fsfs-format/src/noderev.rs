//! Node-revisions: a block of `name: value` lines that a blank line ends.

use sapwood_core::{NodeKind, Revnum};

use crate::error::Result;
use crate::id::NodeRevId;
use crate::rep::Representation;

/// One node-revision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeRev {
    /// Its id.
    pub id: NodeRevId,
    /// File or directory.
    pub kind: NodeKind,
    /// The id of the node-revision before it.
    pub predecessor: Option<NodeRevId>,
    /// How many node-revisions came before it.
    pub predecessor_count: u64,
    /// The contents; `None` for an empty file or directory.
    pub text: Option<Representation>,
    /// The properties; `None` for none.
    pub props: Option<Representation>,
    /// The fspath at which it was made.
    pub created_path: Box<str>,
    /// Where it was copied from, on the target of a copy.
    pub copy_from: Option<(Revnum, Box<str>)>,
    /// The root of the youngest copy it is part of, when that is not itself: revision (`None`:
    /// in this transaction) and created path. See [`NodeRev::copy_root`].
    pub copy_root: Option<(Option<Revnum>, Box<str>)>,
    /// Set on a transaction's root that nothing has been changed in yet.
    pub is_fresh_txn_root: bool,
    /// How many nodes at and below have `svn:mergeinfo`; negative only in corrupt repositories.
    pub mergeinfo_count: i64,
    /// Whether it has `svn:mergeinfo` itself.
    pub has_mergeinfo: bool,
}

#[allow(clippy::missing_errors_doc, unused_variables)]
impl NodeRev {
    /// Parses the block that `bytes` begin with; also how many bytes it took with its blank line.
    /// [`crate::Error::UnexpectedEnd`] when there is no blank line.
    pub fn parse(bytes: &[u8]) -> Result<(Self, usize)> {
        todo!()
    }
    /// The copy root: revision (`None`: in this transaction) and created path.
    #[must_use]
    pub fn copy_root(&self) -> (Option<Revnum>, &str) {
        match &self.copy_root {
            Some((revision, path)) => (*revision, path),
            None => (self.id.revision(), &self.created_path),
        }
    }
    /// Appends the text form for a filesystem of `format`, with the blank line.
    pub fn write(&self, format: u32, out: &mut Vec<u8>) {
        todo!()
    }
    /// Bytes of memory it takes, for cache accounting.
    #[must_use]
    pub fn byte_len(&self) -> usize {
        let paths = self.created_path.len()
            + self.copy_from.as_ref().map_or(0, |(_, p)| p.len())
            + self.copy_root.as_ref().map_or(0, |(_, p)| p.len());
        size_of::<Self>() + paths
    }
}
