//! What is about to be committed, as the author of the log message sees it.

use sapwood_core::paths::UrlBuf;
use sapwood_core::{NodeKind, Revnum, SvnResult};

/// The change of a node in a commit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ItemState {
    /// It is added (with `delete`: replaced).
    pub add: bool,
    /// It is deleted.
    pub delete: bool,
    /// Its text changes.
    pub text_mods: bool,
    /// Its properties change.
    pub prop_mods: bool,
    /// It is added with history.
    pub is_copy: bool,
    /// It has a lock, whose token goes with the commit.
    pub lock_token: bool,
}

/// One node of a commit.
#[derive(Clone, Debug)]
pub struct CommitItem {
    /// Its local path, absolute; `None` when the commit is of URLs.
    pub path: Option<String>,
    /// Its URL.
    pub url: UrlBuf,
    /// File or directory.
    pub kind: Option<NodeKind>,
    /// The change.
    pub state: ItemState,
    /// The revision that it is based on.
    pub revision: Option<Revnum>,
    /// Where it is copied from.
    pub copy_from: Option<(UrlBuf, Revnum)>,
}

impl CommitItem {
    /// A node of which nothing but its URL is known.
    #[must_use]
    pub fn at(url: UrlBuf) -> Self {
        Self {
            path: None,
            url,
            kind: None,
            state: ItemState::default(),
            revision: None,
            copy_from: None,
        }
    }
}

/// Gives the log message for a commit of these items; `None` gives the commit up.
pub(crate) type LogMessage = dyn Fn(&[CommitItem]) -> SvnResult<Option<Vec<u8>>>;
