//! Log messages and changed paths.

use std::sync::Arc;

use sapwood_core::{CancelToken, NodeKind, PropList, Revnum, SvnResult};
use sapwood_fsfs::{ChangeKind, ChangedPaths};

use crate::authorizer::PathAuthorizer;
use crate::error::Result;
use crate::repository::Repository;

/// Which revision properties are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RevpropSelection<'a> {
    /// All of them.
    All,
    /// These; an empty slice for none.
    Names(&'a [&'a str]),
}

/// What to log.
#[derive(Clone, Copy, Debug)]
pub struct LogRequest<'a> {
    /// Canonical fspaths; no paths mean everything.
    pub paths: &'a [&'a str],
    /// First revision to tell; `None`: youngest.
    pub start: Option<Revnum>,
    /// Last revision to tell; `None`: youngest. Older than `start` for youngest first.
    pub end: Option<Revnum>,
    /// At most so many revisions (merged ones not counted); 0 for all.
    pub limit: u64,
    /// Whether changed paths are wanted.
    pub changed_paths: bool,
    /// Whether to stop at copies.
    pub strict_node_history: bool,
    /// Whether to tell merged revisions below the merging one.
    pub include_merged_revisions: bool,
    /// Which revision properties are wanted.
    pub revprops: RevpropSelection<'a>,
}

/// One changed path of a [`LogEntry`].
#[derive(Clone, Copy, Debug)]
pub struct LogChange<'a> {
    /// The fspath.
    pub path: &'a str,
    /// What happened.
    pub kind: ChangeKind,
    /// File or directory; `None` where that cannot be known.
    pub node_kind: Option<NodeKind>,
    /// Whether the text changed.
    pub text_mod: bool,
    /// Whether properties changed.
    pub prop_mod: bool,
    /// Where it was copied from, if that may be read.
    pub copy_from: Option<(Revnum, &'a str)>,
}

/// One revision of a log, borrowed from the caches.
#[derive(Clone, Copy, Debug)]
pub struct LogEntry<'a> {
    /// The revision; `None` for the entry that ends a list of merged revisions.
    pub revision: Option<Revnum>,
    /// Whether merged revisions follow, ended by an entry without revision.
    pub has_children: bool,
    /// Whether this revision was merged by being taken away (a reverse merge).
    pub subtractive_merge: bool,
    changes: &'a ChangedPaths,
    // What authz leaves of each change and what old revisions do not say; empty when `changes`
    // can be told as they are.
    marks: &'a [Mark],
    revprops: Option<&'a PropList>,
    selection: RevpropSelection<'a>,
    restricted: bool,
}

#[derive(Clone, Copy, Debug)]
struct Mark {
    hidden: bool,
    hide_copy: bool,
    node_kind: Option<NodeKind>,
}

impl<'a> LogEntry<'a> {
    /// The changed paths that were asked for and may be read.
    #[allow(unreachable_code)]
    pub fn changes(&self) -> impl Iterator<Item = LogChange<'a>> + use<'a> {
        let marks = self.marks;
        self.changes.iter().enumerate().filter_map(move |(at, change)| {
            let mark = marks.get(at);
            if mark.is_some_and(|m| m.hidden) {
                return None;
            }
            Some(LogChange {
                path: change.path,
                kind: change.kind,
                node_kind: change.node_kind.or(mark.and_then(|m| m.node_kind)),
                text_mod: change.text_mod,
                prop_mod: change.prop_mod,
                copy_from: match change.copy_from {
                    Some((revision, path)) if !mark.is_some_and(|m| m.hide_copy) => {
                        Some((revision, path))
                    }
                    _ => None,
                },
            })
        })
    }

    /// The revision properties that were asked for and may be read.
    pub fn revprops(&self) -> impl Iterator<Item = (&'a str, &'a [u8])> {
        let entry = *self;
        self.revprops.into_iter().flat_map(PropList::iter).filter(move |(name, _)| {
            let asked = match entry.selection {
                RevpropSelection::All => true,
                RevpropSelection::Names(names) => names.contains(name),
            };
            asked
                && (!entry.restricted
                    || *name == sapwood_core::props::names::AUTHOR
                    || *name == sapwood_core::props::names::DATE)
        })
    }

    /// One revision property, if it was asked for and may be read.
    #[must_use]
    pub fn revprop(&self, name: &str) -> Option<&'a [u8]> {
        self.revprops().find(|(n, _)| *n == name).map(|(_, v)| v)
    }
}

/// Tells `receiver` the revisions that changed the requested paths.
///
/// # Errors
/// E160006 for revisions younger than the youngest, E160013 for paths that do not exist; what the
/// receiver returns; corruption and system errors.
#[allow(unused_variables)]
pub fn log(
    repository: &Repository,
    request: &LogRequest<'_>,
    authorizer: &dyn PathAuthorizer,
    cancel: &CancelToken,
    receiver: &mut dyn FnMut(&LogEntry<'_>) -> SvnResult<()>,
) -> Result<()> {
    let _: Option<Arc<PropList>> = None;
    todo!()
}
