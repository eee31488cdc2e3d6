//! Conflicts in words.

use sapwood_core::paths::RelPath;
use sapwood_core::{NodeKind, SvnResult};
use sapwood_wc::WorkingCopy;
use sapwood_wc::conflict::{Action, Conflict, Operation, Reason, TreeConflict};

/// The word of a kind, with the space before it.
const fn kind_word(kind: Option<NodeKind>) -> &'static str {
    match kind {
        Some(NodeKind::File) => " file",
        Some(NodeKind::Dir) => " dir",
        None => "",
    }
}

/// The word for the local change.
const fn local_word(reason: Reason, operation: Option<Operation>) -> &'static str {
    match reason {
        Reason::Edited => "edit",
        Reason::Obstructed => "obstruction",
        Reason::Deleted => "delete",
        Reason::Missing => match operation {
            Some(Operation::Merge) => "missing or deleted or moved away",
            _ => "missing",
        },
        Reason::Unversioned => "unversioned",
        Reason::Added => "add",
        Reason::Replaced => "replace",
        Reason::MovedAway => "moved away",
        Reason::MovedHere => "moved here",
    }
}

/// The words for the incoming change.
pub(crate) fn incoming_words(action: Action, kind: Option<NodeKind>) -> String {
    let word = kind_word(kind);
    match (action, kind) {
        (Action::Edit, _) => format!("incoming{word} edit"),
        (Action::Add, _) => format!("incoming{word} add"),
        (Action::Delete, _) => format!("incoming{word} delete or move"),
        (Action::Replace, None) => "incoming replace".to_owned(),
        (Action::Replace, Some(_)) => format!("incoming replace with{word}"),
    }
}

/// A tree conflict in one line; `None` without one.
///
/// # Errors
/// Those of the database; a malformed record.
pub fn describe(wc: &WorkingCopy, relpath: &RelPath) -> SvnResult<Option<String>> {
    let Some(record) = wc.db().actual(relpath)?.and_then(|a| a.conflict_data) else {
        return Ok(None);
    };
    let conflict = Conflict::parse(&record)?;
    let Some(tree) = &conflict.tree else { return Ok(None) };
    let location = |at: usize| conflict.locations.get(at).and_then(Option::as_ref);
    let incoming = match tree.action {
        Action::Edit | Action::Delete => location(0),
        Action::Add | Action::Replace => location(1),
    };
    let victim = victim_kind(wc, relpath, &conflict, tree)?;
    let upon = conflict.operation.map_or("none", Operation::word);
    Ok(Some(format!(
        "local{} {}, {} upon {upon}",
        kind_word(victim),
        local_word(tree.reason, conflict.operation),
        incoming_words(tree.action, incoming.and_then(|l| l.kind))
    )))
}

/// The kind of the node that is in conflict: of what was there before where nothing is left, else of what is.
pub(crate) fn victim_kind(
    wc: &WorkingCopy,
    relpath: &RelPath,
    conflict: &Conflict,
    tree: &TreeConflict,
) -> SvnResult<Option<NodeKind>> {
    let before = conflict.locations.first().and_then(Option::as_ref).and_then(|l| l.kind);
    let is_update = matches!(conflict.operation, Some(Operation::Update | Operation::Switch));
    match (tree.reason, tree.action) {
        (Reason::Missing, _) => Ok(None),
        (Reason::Unversioned | Reason::Obstructed, _) => {
            let found = std::fs::symlink_metadata(wc.abspath(relpath));
            Ok(found.ok().map(|m| if m.is_dir() { NodeKind::Dir } else { NodeKind::File }))
        }
        (Reason::Deleted | Reason::MovedAway, Action::Delete) if is_update && before.is_some() => {
            Ok(before)
        }
        _ => Ok(wc.view(relpath)?.and_then(|view| view.kind())),
    }
}
