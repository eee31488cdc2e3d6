//! Committing: what there is to commit ([`harvest`]), sending texts ([`outgoing`]), and updating
//! the working copy when the repository has made the revision ([`process`]).
//!
//! Nothing here talks to a repository: the `client` crate drives the commit editor with the items.
//!
//! Invariant: the working copy is changed only by
//! [`WorkingCopy::process_committed`](crate::WorkingCopy::process_committed), in one transaction for
//! each working copy; files follow by work items.

pub(crate) mod externals;
mod harvest;
mod outgoing;
pub(crate) mod process;
mod rows;
use sapwood_core::paths::{RelPathBuf, UrlBuf};
use sapwood_core::{NodeKind, Revnum};

pub use harvest::{CopyTo, Harvest, HarvestOptions};
pub use outgoing::{OutgoingText, SentText};
pub use process::{CommittedNode, Revision};

use crate::root::WorkingCopy;

/// What happens to a node in a commit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub struct Changes {
    /// It is added; with `delete` too, replaced.
    pub add: bool,
    /// It is deleted.
    pub delete: bool,
    /// Its text is sent.
    pub text: bool,
    /// Its properties are sent.
    pub props: bool,
    /// The addition is a copy.
    pub copy: bool,
    /// The copy is one side of a move.
    pub moved_here: bool,
    /// It has a lock token that is sent.
    pub lock_token: bool,
}

impl Changes {
    /// Whether anything happens to it.
    #[must_use]
    pub fn any(self) -> bool {
        self != Self::default()
    }

    /// Whether only a lock token is sent.
    #[must_use]
    pub fn only_lock(self) -> bool {
        self == Self { lock_token: true, ..Self::default() }
    }

    /// Whether the node itself changes.
    #[must_use]
    pub const fn changes_node(self) -> bool {
        self.add || self.delete || self.text || self.props
    }
}

/// One node of a commit.
#[derive(Clone, Debug)]
pub struct Item {
    /// The working copy.
    pub wc: WorkingCopy,
    /// The path below its root.
    pub relpath: RelPathBuf,
    /// File or directory; `None` where it is not known, of deletions.
    pub kind: Option<NodeKind>,
    /// URL of the repository's root.
    pub root: UrlBuf,
    /// Where the node is or will be in the repository.
    pub repos_relpath: RelPathBuf,
    /// The revision that the change is based on; `None` of additions and of what is below copies.
    pub revision: Option<Revnum>,
    /// Where it is copied from: path in the repository and revision.
    pub copy_from: Option<(RelPathBuf, Revnum)>,
    /// What happens.
    pub changes: Changes,
}

impl Item {
    /// Where the node is on disk.
    #[must_use]
    pub fn abspath(&self) -> std::path::PathBuf {
        self.wc.abspath(&self.relpath)
    }

    /// Where it is or will be in the repository.
    #[must_use]
    pub fn url(&self) -> UrlBuf {
        self.root.join(&self.repos_relpath)
    }
}
