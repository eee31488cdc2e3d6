//! What operations on repositories need to know of nodes in working copies: their URLs, where they
//! were copied from, and what `BASE`, `COMMITTED` and `PREV` mean for them.

use std::path::PathBuf;

use sapwood_core::paths::{RelPath, RelPathBuf, UrlBuf};
use sapwood_core::{ErrorCode, NodeKind, PropList, Revnum, SvnError, SvnResult};
use sapwood_wc::WorkingCopy;
use sapwood_wc::db::{Kind, NodeRow, Presence};
use sapwood_wc::translate::{Translation, same_as_pristine};

use crate::context::Context;
use crate::revision::Revision;

/// A node of a working copy.
#[derive(Clone, Debug)]
pub struct Node {
    /// The working copy.
    pub wc: WorkingCopy,
    /// The path below its root.
    pub relpath: RelPathBuf,
    /// The user's view of the path.
    pub top: NodeRow,
}

/// Where a node is in the repository, or was copied from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    /// The URL.
    pub url: UrlBuf,
    /// The revision; `None` of nodes whose parent alone says it.
    pub revision: Option<Revnum>,
    /// Whether the node is a copy, and this its source.
    pub is_copy: bool,
}

impl Node {
    /// The node at a local path.
    ///
    /// # Errors
    /// E155007 for a path in no working copy, E155010 for one that is not under version control.
    pub fn find(ctx: &Context, path: &str) -> SvnResult<Self> {
        let abspath = ctx.absolute(path);
        let (wc, relpath) = ctx.working_copy(&abspath)?;
        let there =
            |row: &NodeRow| row.presence.is_there() || row.presence == Presence::BaseDeleted;
        match wc.db().top(&relpath)?.filter(there) {
            Some(top) => Ok(Self { wc, relpath, top }),
            None => Err(SvnError::new(
                ErrorCode::WC_PATH_NOT_FOUND,
                format!("The node '{}' was not found.", abspath.display()),
            )),
        }
    }

    /// The node's absolute path.
    #[must_use]
    pub fn abspath(&self) -> PathBuf {
        self.wc.abspath(&self.relpath)
    }

    /// The layer that is not a deletion: what was there before it was deleted, for a deleted node.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn undeleted(&self) -> SvnResult<NodeRow> {
        if self.top.presence != Presence::BaseDeleted {
            return Ok(self.top.clone());
        }
        let layers = self.wc.db().layers(&self.relpath)?;
        let below = layers.into_iter().find(|row| row.presence.is_there());
        Ok(below.unwrap_or_else(|| self.top.clone()))
    }

    /// File or directory.
    ///
    /// # Errors
    /// SQLite's.
    pub fn kind(&self) -> SvnResult<NodeKind> {
        Ok(match self.undeleted()?.kind {
            Kind::Dir => NodeKind::Dir,
            _ => NodeKind::File,
        })
    }

    /// Whether the node is deleted locally.
    #[must_use]
    pub fn is_deleted(&self) -> bool {
        self.top.presence == Presence::BaseDeleted
    }

    /// The properties with local changes.
    ///
    /// # Errors
    /// SQLite's.
    pub fn props(&self) -> SvnResult<PropList> {
        let actual = self.wc.db().actual(&self.relpath)?;
        match actual.map(|row| row.props()).transpose()?.flatten() {
            Some(props) => Ok(props),
            None => Ok(self.undeleted()?.props()?),
        }
    }

    /// Whether a file is added, or its text or properties changed, locally.
    ///
    /// # Errors
    /// That it cannot be read.
    pub fn is_modified(&self) -> SvnResult<bool> {
        if self.top.op_depth > 0 {
            return Ok(true);
        }
        let actual = self.wc.db().actual(&self.relpath)?;
        if actual.is_some_and(|row| row.properties.is_some()) {
            return Ok(true);
        }
        let Some(checksum) = self.top.checksum else { return Ok(true) };
        if !self.wc.stores_pristines() {
            return Ok(self.wc.file_modified(&self.wc.require_view(&self.relpath)?)?);
        }
        let translation = Translation::of(&self.props()?, None);
        let pristine = self.wc.open_pristine(&checksum)?;
        let len = pristine
            .metadata()
            .map_err(|e| SvnError::io(&e, "Can't look at a pristine text"))?
            .len();
        Ok(!same_as_pristine(&self.abspath(), &translation, len, || Ok(pristine))?)
    }

    /// Root URL and UUID of the repository, and the path in it where the node is or will be.
    ///
    /// # Errors
    /// When no parent records it.
    pub fn repository(&self) -> SvnResult<(UrlBuf, String, String)> {
        let mut below = RelPathBuf::default();
        let mut relpath = self.relpath.as_path();
        loop {
            let base = self.wc.db().base(relpath)?;
            let top_is_base = match relpath == self.relpath {
                true => self.top.op_depth == 0 || self.top.presence == Presence::BaseDeleted,
                false => self.wc.db().top(relpath)?.is_some_and(|row| row.op_depth == 0),
            };
            if let Some(NodeRow { repos_id: Some(id), repos_path: Some(at), .. }) =
                base.filter(|_| top_is_base)
            {
                let repository = self.wc.db().repository(id)?;
                return Ok((repository.root, repository.uuid, at.join(&below).into_string()));
            }
            if relpath.is_empty() {
                let shown = self.abspath();
                return Err(SvnError::new(
                    ErrorCode::ENTRY_MISSING_URL,
                    format!("'{}' has no URL", shown.display()),
                ));
            }
            let (parent, name) = relpath.parent_and_name();
            below = RelPath::new(name)?.join(&below);
            relpath = parent;
        }
    }

    /// The URL where the node is, or will be once it is committed.
    ///
    /// # Errors
    /// As [`Node::repository`].
    pub fn url(&self) -> SvnResult<UrlBuf> {
        let (root, _, relpath) = self.repository()?;
        Ok(root.join(RelPath::trusted(&relpath)))
    }

    /// Where the node is in the repository, or was copied from; `None` for additions without history.
    ///
    /// # Errors
    /// As [`Node::repository`].
    pub fn origin(&self) -> SvnResult<Option<Origin>> {
        let row = self.undeleted()?;
        let (Some(id), Some(at)) = (row.repos_id, &row.repos_path) else { return Ok(None) };
        let repository = self.wc.db().repository(id)?;
        Ok(Some(Origin {
            url: repository.root.join(at),
            revision: row.revision,
            is_copy: row.op_depth > 0,
        }))
    }

    /// The revision of this node for a keyword that only a working copy can resolve.
    ///
    /// # Errors
    /// E195002 for nodes that were never committed.
    pub fn number_of(&self, revision: Revision) -> SvnResult<Revnum> {
        let found = match revision {
            Revision::Base | Revision::Working => self.undeleted()?.revision,
            _ => self.undeleted()?.changed_revision,
        };
        let Some(found) = found else {
            return Err(SvnError::new(
                ErrorCode::CLIENT_BAD_REVISION,
                format!("Path '{}' has no committed revision", self.abspath().display()),
            ));
        };
        Ok(match revision {
            Revision::Previous => {
                let shown = self.abspath();
                Revnum(found.0.checked_sub(1).ok_or_else(|| {
                    let message = format!("Path '{}' has no previous revision", shown.display());
                    SvnError::new(ErrorCode::CLIENT_BAD_REVISION, message)
                })?)
            }
            _ => found,
        })
    }
}

/// The root URL of the repository that a local path belongs to.
///
/// # Errors
/// E155007 for a path in no working copy.
pub fn repository_root(ctx: &Context, path: &str) -> SvnResult<Option<UrlBuf>> {
    Ok(Some(Node::find(ctx, path)?.repository()?.0))
}

/// Whether a local path is under version control.
#[must_use]
pub fn is_versioned(ctx: &Context, path: &str) -> bool {
    Node::find(ctx, path).is_ok()
}
