//! The ways out of a tree conflict: which there are for which conflict, and which is recommended.

use sapwood_core::NodeKind;
use sapwood_core::paths::{RelPath, RelPathBuf};
use sapwood_wc::conflict::{Action, Operation, Reason};

use super::{IncomingDetails, Local, TreeConflict};

/// A way out of a tree conflict.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resolution {
    /// Leaves it for later.
    Postpone,
    /// Takes what is here.
    AcceptCurrent,
    /// Brings what came to where the node was moved.
    UpdateMoveDestination,
    /// Makes the conflict one of what was moved out of a deleted directory.
    UpdateMovedAwayChildren,
    /// Leaves an addition out.
    IncomingAddIgnore,
    /// Merges two files that were added.
    AddedFileTextMerge,
    /// Replaces the local file by the incoming one, and merges it into that.
    AddedFileReplaceAndMerge,
    /// Merges two directories that were added.
    AddedDirMerge,
    /// Replaces the local directory by the incoming one.
    AddedDirReplace,
    /// The same, and merges it into that.
    AddedDirReplaceAndMerge,
    /// Leaves a deletion out.
    IncomingDeleteIgnore,
    /// Deletes.
    IncomingDeleteAccept,
    /// Follows an incoming move of a file with local changes.
    IncomingMoveFileTextMerge,
    /// The same with a directory.
    IncomingMoveDirMerge,
    /// Brings what came to where a file moved on this branch.
    LocalMoveFileTextMerge,
    /// The same with a directory.
    LocalMoveDirMerge,
    /// Brings what came to a file that moved on the other branch.
    SiblingMoveFileTextMerge,
    /// The same with a directory.
    SiblingMoveDirMerge,
    /// Both sides moved a file: it stays where it was moved locally.
    BothMovedFileMerge,
    /// Both sides moved a file: it goes where the other side moved it.
    BothMovedFileMoveMerge,
    /// Both sides moved a directory: it stays where it was moved locally.
    BothMovedDirMerge,
    /// Both sides moved a directory: it goes where the other side moved it.
    BothMovedDirMoveMerge,
}

impl Resolution {
    /// The number that 1.14 has for it, in errors.
    #[must_use]
    pub const fn number(self) -> u8 {
        match self {
            Self::Postpone => 0,
            Self::AcceptCurrent => 8,
            Self::UpdateMoveDestination => 9,
            Self::UpdateMovedAwayChildren => 10,
            Self::IncomingAddIgnore => 11,
            Self::AddedFileTextMerge => 12,
            Self::AddedFileReplaceAndMerge => 13,
            Self::AddedDirMerge => 14,
            Self::AddedDirReplace => 15,
            Self::AddedDirReplaceAndMerge => 16,
            Self::IncomingDeleteIgnore => 17,
            Self::IncomingDeleteAccept => 18,
            Self::IncomingMoveFileTextMerge => 19,
            Self::IncomingMoveDirMerge => 20,
            Self::LocalMoveFileTextMerge => 21,
            Self::LocalMoveDirMerge => 22,
            Self::SiblingMoveFileTextMerge => 23,
            Self::SiblingMoveDirMerge => 24,
            Self::BothMovedFileMerge => 25,
            Self::BothMovedFileMoveMerge => 26,
            Self::BothMovedDirMerge => 27,
            Self::BothMovedDirMoveMerge => 28,
        }
    }

    /// Whether it goes where a move leads, of which there may be several.
    #[must_use]
    pub const fn follows_move(self) -> bool {
        self.number() >= Self::IncomingMoveFileTextMerge.number()
    }
}

const FILE: Option<NodeKind> = Some(NodeKind::File);
const DIR: Option<NodeKind> = Some(NodeKind::Dir);

impl TreeConflict<'_> {
    /// The ways out, in the order in which they are shown. After
    /// [`find_details`](TreeConflict::find_details) there may be more of them.
    #[must_use]
    pub fn resolutions(&self) -> Vec<Resolution> {
        let mut found = vec![Resolution::Postpone, Resolution::AcceptCurrent];
        self.add_moved_away(&mut found);
        if self.action == Action::Add {
            self.add_additions(&mut found);
        }
        if self.action == Action::Delete {
            self.add_deletions(&mut found);
        }
        self.add_missing(&mut found);
        self.add_both_moved(&mut found);
        found
    }

    fn add_moved_away(&self, found: &mut Vec<Resolution>) {
        if !self.is_update_or_switch() || self.action != Action::Edit {
            return;
        }
        match self.reason {
            Reason::MovedAway => found.push(Resolution::UpdateMoveDestination),
            Reason::Deleted | Reason::Replaced if self.victim == DIR => {
                found.push(Resolution::UpdateMovedAwayChildren);
            }
            _ => {}
        }
    }

    fn add_additions(&self, found: &mut Vec<Resolution>) {
        let (merge, reason) = (self.is_merge(), self.reason);
        let in_the_way = matches!(reason, Reason::Obstructed | Reason::Added);
        if self.victim == DIR && in_the_way {
            found.push(Resolution::IncomingAddIgnore);
        }
        let files = self.victim == FILE && self.new_kind() == FILE;
        if files && (in_the_way || reason == Reason::Unversioned) {
            found.push(Resolution::AddedFileTextMerge);
        }
        let merged_over = merge && reason == Reason::Obstructed;
        if files && merged_over {
            found.push(Resolution::AddedFileReplaceAndMerge);
        }
        if self.victim != DIR || self.new_kind() != DIR {
            return;
        }
        let mergeable =
            reason == Reason::Added || merged_over || (!merge && reason == Reason::Unversioned);
        if mergeable && (!merge || self.incoming.is_some()) {
            found.push(Resolution::AddedDirMerge);
        }
        if merged_over {
            found.push(Resolution::AddedDirReplace);
            found.push(Resolution::AddedDirReplaceAndMerge);
        }
    }

    /// Whether it is known that the deleted node was moved.
    fn is_incoming_move(&self) -> bool {
        self.deletion().is_some_and(|deletion| deletion.moves.is_some())
    }

    fn add_deletions(&self, found: &mut Vec<Resolution>) {
        let incoming = self.is_incoming_move();
        let local = self.missing().is_some_and(|missing| missing.moves.is_some());
        let senseless = match self.reason {
            Reason::MovedAway | Reason::Edited => incoming,
            Reason::Deleted => !incoming,
            Reason::Missing => self.is_merge() && (incoming || local),
            _ => false,
        };
        if !senseless {
            found.push(Resolution::IncomingDeleteIgnore);
        }
        let moved = matches!(self.reason, Reason::Edited | Reason::MovedAway | Reason::Missing);
        if !(incoming && moved) {
            found.push(Resolution::IncomingDeleteAccept);
        }
        let target = self.deletion().and_then(|deletion| deletion.targets.node());
        if self.reason != Reason::Edited || target.is_none() || self.new_kind().is_some() {
            return;
        }
        if self.victim == FILE && self.old_kind() == FILE {
            found.push(Resolution::IncomingMoveFileTextMerge);
        } else if self.victim == DIR && self.old_kind() == DIR {
            found.push(Resolution::IncomingMoveDirMerge);
        }
    }

    fn add_missing(&self, found: &mut Vec<Resolution>) {
        let Some(missing) = self.missing().filter(|_| self.edit_of_missing()) else { return };
        let files = self.old_kind() != DIR && self.new_kind() != DIR;
        if missing.moves.is_some() && missing.targets.node().is_some() {
            found.push(match files {
                true => Resolution::LocalMoveFileTextMerge,
                false => Resolution::LocalMoveDirMerge,
            });
        }
        if !missing.siblings.is_empty() {
            found.push(match files {
                true => Resolution::SiblingMoveFileTextMerge,
                false => Resolution::SiblingMoveDirMerge,
            });
        }
    }

    fn add_both_moved(&self, found: &mut Vec<Resolution>) {
        if self.action != Action::Delete || self.new_kind().is_some() {
            return;
        }
        let merge = self.is_merge() && self.victim.is_none() && self.reason == Reason::Missing;
        let update = self.operation == Some(Operation::Update)
            && self.victim == FILE
            && self.reason == Reason::MovedAway;
        if self.both_moved().is_none() {
            return;
        }
        if self.old_kind() == FILE && (merge || update) {
            found.push(Resolution::BothMovedFileMerge);
            found.push(Resolution::BothMovedFileMoveMerge);
        } else if self.old_kind() == DIR && merge {
            found.push(Resolution::BothMovedDirMerge);
            found.push(Resolution::BothMovedDirMoveMerge);
        }
    }

    /// Where a node that both sides moved is: where the other side moved it, and where it was moved here.
    #[must_use]
    pub fn both_moved(&self) -> Option<(&RelPath, &RelPath)> {
        let incoming = self.deletion().filter(|deletion| deletion.moves.is_some())?;
        let local = match &self.local {
            Some(Local::Missing(missing)) if self.is_merge() => missing.targets.node(),
            Some(Local::Copies { paths, chosen }) if !self.is_merge() => {
                paths.get(*chosen).map(RelPathBuf::as_path)
            }
            _ => None,
        };
        Some((incoming.targets.node()?, local?))
    }

    /// Where there is only one location that a node can have moved to, going there is recommended.
    pub(super) fn recommend_incoming(&mut self) {
        let clear = match &self.incoming {
            Some(IncomingDetails::Deletion(deletion)) => deletion.targets.is_clear(),
            _ => false,
        };
        if !clear {
            return;
        }
        let usual = [
            Resolution::IncomingMoveFileTextMerge,
            Resolution::IncomingMoveDirMerge,
            Resolution::LocalMoveFileTextMerge,
            Resolution::LocalMoveDirMerge,
            Resolution::SiblingMoveFileTextMerge,
            Resolution::SiblingMoveDirMerge,
        ];
        let offered = self.resolutions();
        if let Some(found) = usual.into_iter().find(|usual| offered.contains(usual)) {
            self.recommended = Some(found);
        }
    }

    /// The same for a node that moved on this branch, or on the other one only.
    pub(super) fn recommend_local(&mut self) {
        let Some(missing) = self.missing() else { return };
        let forward = self.old_place().map(|place| place.1) < self.new_place().map(|place| place.1);
        let kind = if forward { self.new_kind() } else { self.old_kind() };
        let [file, dir] = if missing.targets.is_clear() {
            [Resolution::LocalMoveFileTextMerge, Resolution::LocalMoveDirMerge]
        } else if missing.targets.places().count() != 1 && missing.siblings.len() == 1 {
            [Resolution::SiblingMoveFileTextMerge, Resolution::SiblingMoveDirMerge]
        } else {
            return;
        };
        match kind {
            Some(NodeKind::File) => self.recommended = Some(file),
            Some(NodeKind::Dir) => self.recommended = Some(dir),
            None => {}
        }
    }
}
