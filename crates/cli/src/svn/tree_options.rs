//! The ways out of a tree conflict in words: letter, label, and what each does.

use sapwood_client::resolver::{Resolution, TreeConflict};
use sapwood_core::NodeKind;
use sapwood_core::paths::{RelPath, RelPathBuf};

/// A way out as it is offered.
#[derive(Clone, Debug)]
pub(super) struct Offer {
    pub(super) resolution: Resolution,
    pub(super) code: &'static str,
    pub(super) label: &'static str,
    pub(super) does: String,
    /// The argument of `--accept` that does the same.
    pub(super) accept: &'static str,
}

/// All ways out, in order.
pub(super) fn offers(conflict: &TreeConflict<'_>) -> Vec<Offer> {
    let describe = |resolution: Resolution| {
        let (code, label) = name(resolution);
        let accept = match resolution {
            Resolution::Postpone => "postpone",
            Resolution::AcceptCurrent => "working",
            _ => "",
        };
        Offer { resolution, code, label, does: does(conflict, resolution), accept }
    };
    conflict.resolutions().into_iter().map(describe).collect()
}

/// Letter and label.
pub(super) const fn name(resolution: Resolution) -> (&'static str, &'static str) {
    match resolution {
        Resolution::Postpone => ("p", "Postpone"),
        Resolution::AcceptCurrent => ("r", "Mark as resolved"),
        Resolution::UpdateMoveDestination => ("u", "Update move destination"),
        Resolution::UpdateMovedAwayChildren => ("u", "Update any moved-away children"),
        Resolution::IncomingAddIgnore => ("i", "Ignore incoming addition"),
        Resolution::AddedFileTextMerge => ("m", "Merge the files"),
        Resolution::AddedFileReplaceAndMerge | Resolution::AddedDirReplaceAndMerge => {
            ("M", "Replace and merge")
        }
        Resolution::AddedDirMerge => ("m", "Merge the directories"),
        Resolution::AddedDirReplace => {
            ("R", "Delete my directory and replace it with incoming directory")
        }
        Resolution::IncomingDeleteIgnore => ("i", "Ignore incoming deletion"),
        Resolution::IncomingDeleteAccept => ("a", "Accept incoming deletion"),
        Resolution::IncomingMoveFileTextMerge | Resolution::IncomingMoveDirMerge => {
            ("m", "Move and merge")
        }
        Resolution::LocalMoveFileTextMerge | Resolution::LocalMoveDirMerge => {
            ("m", "Apply to move destination")
        }
        Resolution::SiblingMoveFileTextMerge | Resolution::SiblingMoveDirMerge => {
            ("m", "Apply to corresponding local location")
        }
        Resolution::BothMovedFileMerge | Resolution::BothMovedDirMerge => {
            ("m", "Merge to corresponding local location")
        }
        Resolution::BothMovedFileMoveMerge | Resolution::BothMovedDirMoveMerge => {
            ("M", "Move and merge")
        }
    }
}

fn does(conflict: &TreeConflict<'_>, resolution: Resolution) -> String {
    let victim = conflict.relpath.as_str();
    let (at, revision) = conflict.new_place().unwrap_or((RelPath::ROOT, 0));
    let incoming = format!("'^/{at}@{revision}'");
    let merge = conflict.is_merge();
    let (target, own) = conflict.both_moved().unwrap_or((RelPath::ROOT, RelPath::ROOT));
    match resolution {
        Resolution::Postpone => "skip this conflict and leave it unresolved".to_owned(),
        Resolution::AcceptCurrent => "accept current working copy state".to_owned(),
        Resolution::UpdateMoveDestination => {
            "apply incoming changes to move destination".to_owned()
        }
        Resolution::UpdateMovedAwayChildren => {
            "prepare for updating moved-away children, if any".to_owned()
        }
        Resolution::IncomingAddIgnore if merge => format!("ignore and do not add {incoming} here"),
        Resolution::IncomingAddIgnore => {
            let kind = match conflict.victim {
                Some(NodeKind::File) => "file",
                Some(NodeKind::Dir) => "directory",
                None => "item",
            };
            format!("replace {incoming} with the locally added {kind}")
        }
        Resolution::AddedFileTextMerge | Resolution::AddedDirMerge if merge => {
            format!("merge {incoming} into '{victim}'")
        }
        Resolution::AddedFileTextMerge | Resolution::AddedDirMerge => {
            format!("merge local '{victim}' and {incoming}")
        }
        Resolution::AddedFileReplaceAndMerge => {
            format!("delete '{victim}', copy {incoming} here, and merge the files")
        }
        Resolution::AddedDirReplace => format!("delete '{victim}' and copy {incoming} here"),
        Resolution::AddedDirReplaceAndMerge => {
            format!("delete '{victim}', copy {incoming} here, and merge the directories")
        }
        Resolution::IncomingDeleteIgnore => format!("ignore the deletion of {incoming}"),
        Resolution::IncomingDeleteAccept => format!("accept the deletion of '{victim}'"),
        Resolution::IncomingMoveFileTextMerge | Resolution::IncomingMoveDirMerge => {
            let to = conflict.deletion().and_then(|d| d.targets.node()).unwrap_or(RelPath::ROOT);
            if merge {
                format!("move '{victim}' to '{to}' and merge")
            } else {
                format!("move and merge local changes from '{victim}' into '{to}'")
            }
        }
        Resolution::LocalMoveFileTextMerge | Resolution::LocalMoveDirMerge => {
            let to = conflict.missing().and_then(|m| m.targets.node()).unwrap_or(RelPath::ROOT);
            format!("apply changes to move destination '{to}'")
        }
        Resolution::SiblingMoveFileTextMerge | Resolution::SiblingMoveDirMerge => {
            let sibling = conflict.missing().and_then(|m| m.siblings.get(m.chosen_sibling));
            format!("apply changes to '{}'", sibling.map_or(RelPath::ROOT, RelPathBuf::as_path))
        }
        Resolution::BothMovedFileMerge | Resolution::BothMovedDirMerge if merge => {
            format!("apply changes to '{own}' and revert addition of '{target}'")
        }
        Resolution::BothMovedFileMerge | Resolution::BothMovedDirMerge => {
            format!("override incoming move and merge incoming changes from '{target}' to '{own}'")
        }
        Resolution::BothMovedFileMoveMerge | Resolution::BothMovedDirMoveMerge if merge => {
            format!("move '{own}' to '{target}' and merge")
        }
        Resolution::BothMovedFileMoveMerge | Resolution::BothMovedDirMoveMerge => {
            format!("accept incoming move and merge local changes from '{own}' to '{target}'")
        }
    }
}
