//! A conflict as `svn info` shows it: the operation, the files with the texts, and both locations.

use sapwood_core::exact::Exact;
use sapwood_core::paths::{RelPath, RelPathBuf};
use sapwood_core::{NodeKind, SvnResult, path};
use sapwood_wc::WorkingCopy;
use sapwood_wc::conflict::{Action, Conflict, Location, Operation, Reason};

use crate::tree_conflict;

/// The conflicts of one node. Paths are absolute.
#[derive(Clone, Debug, Default)]
pub struct ConflictInfo {
    /// The operation: `update`, `switch`, `merge` or `none`.
    pub operation: &'static str,
    /// In one line, what an edit of the node is called in this operation.
    pub edit: String,
    /// The conflict of trees.
    pub tree: Option<TreeInfo>,
    /// The files of a conflict of texts: old, mine, theirs.
    pub text: Option<[Option<String>; 3]>,
    /// The names of the properties in conflict, if some are.
    pub props: Option<Vec<String>>,
    /// The file that lists the rejected properties.
    pub reject: Option<String>,
    /// The node before and after the incoming change.
    pub locations: [Option<Location>; 2],
}

/// A conflict of trees.
#[derive(Clone, Debug)]
pub struct TreeInfo {
    /// The name of the node.
    pub victim: String,
    /// Its kind.
    pub kind: Option<NodeKind>,
    /// The incoming change, in the word of XML.
    pub action: &'static str,
    /// The local change, in the word of XML.
    pub reason: &'static str,
    /// Both in one line.
    pub description: String,
}

const fn action_word(action: Action) -> &'static str {
    match action {
        Action::Edit => "edit",
        Action::Add => "add",
        Action::Delete => "delete",
        Action::Replace => "replace",
    }
}

const fn reason_word(reason: Reason) -> &'static str {
    match reason {
        Reason::Edited => "edit",
        Reason::Obstructed => "obstruction",
        Reason::Deleted => "delete",
        Reason::Missing => "missing",
        Reason::Unversioned => "unversioned",
        Reason::Added => "add",
        Reason::Replaced => "replace",
        Reason::MovedAway => "moved-away",
        Reason::MovedHere => "moved-here",
    }
}

impl ConflictInfo {
    /// The number of conflicts: each property is one.
    #[must_use]
    pub fn count(&self) -> usize {
        let props = self.props.as_ref().map_or(0, |names| names.len().max(1));
        props.plus(usize::from(self.text.is_some())).plus(usize::from(self.tree.is_some()))
    }

    /// The conflicts of a node of this kind; `None` when there are none.
    ///
    /// # Errors
    /// Those of the database; a malformed record.
    pub fn of(
        wc: &WorkingCopy,
        relpath: &RelPath,
        kind: Option<NodeKind>,
    ) -> SvnResult<Option<Self>> {
        let Some(record) = wc.db().actual(relpath)?.and_then(|a| a.conflict_data) else {
            return Ok(None);
        };
        let conflict = Conflict::parse(&record)?;
        let absolute = |file: &RelPathBuf| wc.abspath(file).to_string_lossy().into_owned();
        let operation = conflict.operation.map_or("none", Operation::word);
        let tree = match (&conflict.tree, tree_conflict::describe(wc, relpath)?) {
            (Some(tree), Some(description)) => Some(TreeInfo {
                victim: path::basename(relpath).to_owned(),
                kind: tree_conflict::victim_kind(wc, relpath, &conflict, tree)?,
                action: action_word(tree.action),
                reason: reason_word(tree.reason),
                description,
            }),
            _ => None,
        };
        let mut locations = conflict.locations.iter().cloned();
        let locations = [locations.next().flatten(), locations.next().flatten()];
        let edit = tree_conflict::incoming_words(Action::Edit, kind);
        Ok(Some(Self {
            operation,
            edit: format!("{edit} upon {operation}"),
            tree,
            text: conflict.text.as_ref().map(|text| {
                [&text.old, &text.mine, &text.theirs].map(|f| f.as_ref().map(absolute))
            }),
            props: conflict.prop.as_ref().map(|prop| prop.names.clone()),
            reject: conflict.prop.as_ref().and_then(|p| p.marker.as_ref().map(absolute)),
            locations,
        }))
    }
}
