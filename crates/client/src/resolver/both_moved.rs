//! Nodes that both sides moved, to different locations.

use std::fs;

use sapwood_core::paths::RelPath;
use sapwood_core::{Depth, NodeKind, SvnError, SvnResult};

use super::TreeConflict;
use super::act::Texts;

impl TreeConflict<'_> {
    /// Where the other side moved the node, and where it was moved here.
    fn both_places(&self) -> SvnResult<(&RelPath, &RelPath)> {
        self.both_moved().ok_or_else(|| self.needs_details())
    }

    /// Merges the changes of one file into another one, both derived from the same base. The
    /// notification names `reported`.
    fn merge_moved(&self, from: &RelPath, into: &RelPath, reported: &RelPath) -> SvnResult<()> {
        let (ancestor, ancestor_props) = self.fetch(self.required_old()?)?;
        let (incoming, local) = self.both_places()?;
        let (theirs, own) = (self.props(incoming)?, self.props(local)?);
        let right = self.wc.abspath(from);
        let (content, props) = self.merge_file(
            into,
            &Texts {
                left: Some(&ancestor),
                right: &right,
                left_props: Some(&ancestor_props),
                props: (&own, &theirs),
            },
        )?;
        self.notify_merged(reported, NodeKind::File, content, props);
        Ok(())
    }

    /// A file stays where it moved on this branch; the other side's copy goes.
    pub(super) fn keep_local_file_of_merge(&self) -> SvnResult<()> {
        let (incoming, local) = self.both_places()?;
        let lock = self.lock_with(local)?;
        self.merge_moved(incoming, local, local)?;
        self.revert(incoming, Depth::Infinity, false, true)?;
        self.mark_resolved()?;
        Ok(lock.release()?)
    }

    /// After an update a file stays where it was moved here; that is a move from where it is now.
    pub(super) fn keep_local_file(&self) -> SvnResult<()> {
        let (incoming, local) = self.both_places()?;
        let lock = self.lock_with(local)?;
        self.merge_moved(incoming, local, local)?;
        self.move_node(incoming, local, true, false, false)?;
        let place = self.wc.abspath(incoming);
        match fs::remove_file(&place) {
            Err(e) if e.kind() != std::io::ErrorKind::NotFound => {
                let what = format!("Can't remove file '{}'", place.display());
                return Err(SvnError::io(&e, what));
            }
            _ => {}
        }
        self.mark_resolved()?;
        Ok(lock.release()?)
    }

    /// After an update a file goes where the other side moved it; the move that was made here is undone.
    pub(super) fn keep_incoming_file(&self) -> SvnResult<()> {
        let (incoming, local) = self.both_places()?;
        let lock = self.lock_with(local)?;
        self.merge_moved(local, incoming, local)?;
        self.revert(local, Depth::Empty, false, false)?;
        self.mark_resolved()?;
        Ok(lock.release()?)
    }

    /// A directory stays where it moved on this branch; the other side's copy goes.
    pub(super) fn keep_local_dir(&self) -> SvnResult<()> {
        let (incoming, local) = self.both_places()?;
        let place = self.deletion().and_then(|details| details.targets.place());
        let place = place.ok_or_else(|| self.needs_details())?;
        let lock = self.lock_with(local)?;
        let (old, new) = (self.required_old()?, self.required_new()?);
        self.merge_dir(local, old, (place, new.1))?;
        self.revert(incoming, Depth::Infinity, false, true)?;
        self.mark_resolved()?;
        Ok(lock.release()?)
    }

    /// A directory goes where the other side moved it.
    pub(super) fn keep_incoming_dir(&self) -> SvnResult<()> {
        let (incoming, local) = self.both_places()?;
        let lock = self.lock_with(local)?;
        self.replay_move(local, incoming)?;
        self.mark_resolved()?;
        Ok(lock.release()?)
    }
}
