//! What is told about one node in listings.

use sapwood_core::{ErrorCode, NodeKind, Revnum, SvnError};
use sapwood_fs::{DateAuthor, Node, RevpropsSnapshot, Root};

use crate::error::Result;

/// What `stat`, `get-dir` and `list` tell about a node.
#[derive(Clone, Debug)]
pub struct Dirent {
    /// File or directory.
    pub kind: NodeKind,
    /// Length of a file in bytes; `None` (-1 in the reference) for directories.
    pub size: Option<u64>,
    /// Whether the node has properties.
    pub has_props: bool,
    /// When and by whom the node was last changed.
    pub committed: CommittedInfo,
}

/// When and by whom a node was last changed.
#[derive(Clone, Debug)]
pub struct CommittedInfo {
    /// The revision.
    pub revision: Revnum,
    /// Its date and author.
    pub date_author: DateAuthor,
}

impl CommittedInfo {
    /// `svn:date` as stored.
    #[must_use]
    pub fn date(&self) -> Option<&str> {
        self.date_author.date_text()
    }

    /// `svn:author`, when it is text.
    #[must_use]
    pub fn author(&self) -> Option<&str> {
        std::str::from_utf8(self.date_author.author()?).ok()
    }
}

/// When and by whom `node` (of a revision, not a transaction) was last changed.
///
/// # Errors
/// Corruption and system errors.
pub fn committed_info(revprops: &mut RevpropsSnapshot, node: &Node) -> Result<CommittedInfo> {
    let Some(revision) = node.created_rev() else {
        return Err(SvnError::new(
            ErrorCode::FS_NOT_REVISION_ROOT,
            format!("'{}' was not committed yet", node.path()),
        )
        .into());
    };
    committed_in(revprops, revision)
}

/// The same for a node that is known to have been changed last in `revision`.
///
/// # Errors
/// Corruption and system errors.
pub fn committed_in(revprops: &mut RevpropsSnapshot, revision: Revnum) -> Result<CommittedInfo> {
    Ok(CommittedInfo { revision, date_author: revprops.date_author(revision)? })
}

/// What is at `path`; `None` when nothing is.
///
/// # Errors
/// Corruption and system errors.
pub fn stat(root: &Root, path: &str) -> Result<Option<Dirent>> {
    match root.find(path)? {
        Some(node) => Ok(Some(stat_node(&mut root.fs().revprops_snapshot(), &node)?)),
        None => Ok(None),
    }
}

/// [`stat`] of a node at hand.
///
/// # Errors
/// Corruption and system errors.
pub fn stat_node(revprops: &mut RevpropsSnapshot, node: &Node) -> Result<Dirent> {
    let kind = node.kind();
    Ok(Dirent {
        kind,
        size: if kind == NodeKind::File { Some(node.length()?) } else { None },
        has_props: node.has_props()?,
        committed: committed_info(revprops, node)?,
    })
}
