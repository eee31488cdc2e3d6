//! A diff as a list of what differs.

use sapwood_core::paths::RelPath;
use sapwood_core::{NodeKind, SvnResult};

use super::sides::{Difference, Processor};

/// What happened to a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Only its properties changed.
    Normal,
    /// It is new.
    Added,
    /// Its text changed.
    Modified,
    /// It was deleted.
    Deleted,
}

/// One node that differs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Summary<'a> {
    /// Its path below what is compared.
    pub path: &'a RelPath,
    /// What happened to it.
    pub kind: Kind,
    /// Whether its properties changed (never set for added or deleted nodes).
    pub props: bool,
    /// File or directory.
    pub node_kind: NodeKind,
}

/// Takes summaries.
pub type Receiver<'a> = dyn FnMut(&Summary<'_>) -> SvnResult<()> + 'a;

/// Makes summaries of comparisons.
pub struct Summarizer<'a>(pub &'a mut Receiver<'a>);

impl Processor for Summarizer<'_> {
    fn take(&mut self, path: &RelPath, what: Difference<'_>) -> SvnResult<()> {
        let (kind, props, node_kind) = match what {
            Difference::FileAdded(..) => (Kind::Added, false, NodeKind::File),
            Difference::FileDeleted(_) => (Kind::Deleted, false, NodeKind::File),
            Difference::FileChanged { left, right, text } => {
                let kind = if text { Kind::Modified } else { Kind::Normal };
                (kind, left.props != right.props, NodeKind::File)
            }
            Difference::DirAdded(..) => (Kind::Added, false, NodeKind::Dir),
            Difference::DirDeleted(_) => (Kind::Deleted, false, NodeKind::Dir),
            Difference::DirChanged(..) => (Kind::Normal, true, NodeKind::Dir),
        };
        (self.0)(&Summary { path, kind, props, node_kind })
    }
}
