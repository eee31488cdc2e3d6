//! A diff as a list of what differs.

use sapwood_core::paths::RelPath;
use sapwood_core::{NodeKind, SvnResult};

use super::sides::{CopySource, DirSide, FileSide, Processor};

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

impl Summarizer<'_> {
    fn send(
        &mut self,
        path: &RelPath,
        kind: Kind,
        props: bool,
        node_kind: NodeKind,
    ) -> SvnResult<()> {
        (self.0)(&Summary { path, kind, props, node_kind })
    }
}

impl Processor for Summarizer<'_> {
    fn file_added(
        &mut self,
        path: &RelPath,
        _: Option<&CopySource>,
        _: &FileSide,
    ) -> SvnResult<()> {
        self.send(path, Kind::Added, false, NodeKind::File)
    }

    fn file_deleted(&mut self, path: &RelPath, _: &FileSide) -> SvnResult<()> {
        self.send(path, Kind::Deleted, false, NodeKind::File)
    }

    fn file_changed(
        &mut self,
        path: &RelPath,
        left: &FileSide,
        right: &FileSide,
        text: bool,
    ) -> SvnResult<()> {
        let props = left.props != right.props;
        let kind = if text { Kind::Modified } else { Kind::Normal };
        self.send(path, kind, props, NodeKind::File)
    }

    fn dir_added(&mut self, path: &RelPath, _: Option<&CopySource>, _: &DirSide) -> SvnResult<()> {
        self.send(path, Kind::Added, false, NodeKind::Dir)
    }

    fn dir_deleted(&mut self, path: &RelPath, _: &DirSide) -> SvnResult<()> {
        self.send(path, Kind::Deleted, false, NodeKind::Dir)
    }

    fn dir_changed(&mut self, path: &RelPath, _: &DirSide, _: &DirSide) -> SvnResult<()> {
        self.send(path, Kind::Normal, true, NodeKind::Dir)
    }
}
