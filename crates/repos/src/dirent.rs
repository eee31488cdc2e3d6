//! What a listing reports of one node.

use std::borrow::Cow;

use sapwood_core::FsPath;
use sapwood_core::date::Timestamp;
use sapwood_core::{Dirent, ErrorCode, NodeKind, Revnum, SvnError, SvnResult};
use sapwood_fs::{DateAuthor, Node, RevpropsSnapshot, Root};

use crate::error::Result;

/// What `stat` and `list` report of a node, with date and author exactly as they are stored: servers send
/// them unchanged and share them with the caches.
#[derive(Clone, Debug)]
pub struct StoredDirent {
    /// File or directory.
    pub kind: NodeKind,
    /// Length of a file in bytes; `None` (-1 in the reference) for directories.
    pub size: Option<u64>,
    /// Whether the node has properties.
    pub has_props: bool,
    /// When and by whom the node was last changed.
    pub committed: CommittedInfo,
}

impl StoredDirent {
    /// The same as values.
    ///
    /// # Errors
    /// When the stored date is invalid.
    pub fn value(&self) -> SvnResult<Dirent> {
        Ok(Dirent {
            kind: Some(self.kind),
            size: self.size,
            has_props: self.has_props,
            created_rev: self.committed.revision,
            time: self.committed.time()?,
            last_author: self.committed.printable_author().map(Cow::into_owned),
        })
    }
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

    /// `svn:date` as a value.
    ///
    /// # Errors
    /// When the stored date is invalid.
    pub fn time(&self) -> SvnResult<Option<Timestamp>> {
        Ok(self.date_author.date().map(Timestamp::parse).transpose()?)
    }

    /// `svn:author` for display, even if it is not UTF-8.
    #[must_use]
    pub fn printable_author(&self) -> Option<Cow<'_, str>> {
        self.date_author.author().map(sapwood_core::ascii::readable)
    }

    /// `svn:author`, if it is UTF-8.
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

/// The node at `path`; `None` if there is none.
///
/// # Errors
/// Corruption and system errors.
pub fn stat(root: &Root, path: &FsPath) -> Result<Option<StoredDirent>> {
    match root.find(path)? {
        Some(node) => Ok(Some(stat_node(&mut root.fs().revprops_snapshot(), &node)?)),
        None => Ok(None),
    }
}

/// [`stat`] of an open node.
///
/// # Errors
/// Corruption and system errors.
pub(crate) fn stat_node(revprops: &mut RevpropsSnapshot, node: &Node) -> Result<StoredDirent> {
    let kind = node.kind();
    Ok(StoredDirent {
        kind,
        size: if kind == NodeKind::File { Some(node.length()?) } else { None },
        has_props: node.has_props()?,
        committed: committed_info(revprops, node)?,
    })
}
