//! Deletions and moves that came: leaving them out, taking them, and following moves with what was changed
//! here, or with what was changed there.

use std::fs;

use sapwood_core::notify::{Action as NotifyAction, State};
use sapwood_core::paths::{RelPath, RelPathBuf};
use sapwood_core::{Depth, NodeKind, SvnError, SvnResult};
use sapwood_wc::conflict::Reason;

use super::act::{Texts, failure, kind_word};
use super::{Resolution, TreeConflict};

impl TreeConflict<'_> {
    /// Refuses to go on when the working copy is not as the conflict left it.
    fn check_deleted(&self, how: Resolution) -> SvnResult<()> {
        if self.is_merge() {
            let found = self.disk_kind(&self.relpath);
            if found == self.victim {
                return Ok(());
            }
            return Err(failure(format!(
                "Cannot resolve tree conflict on '{}' (expected node kind '{}' but found '{}')",
                self.relpath,
                kind_word(self.victim),
                kind_word(found)
            )));
        }
        if !self.is_update_or_switch() {
            return Ok(());
        }
        if self.deletion().is_none() {
            return Err(failure(format!(
                "Conflict resolution option '{}' requires details for tree conflict at '{}' to be \
                 fetched from the repository.",
                how.number(),
                self.display_path(&self.relpath)
            )));
        }
        if self.reason == Reason::Edited { self.check_copied() } else { Ok(()) }
    }

    /// An update leaves what was changed here as a copy of what it was before it was deleted there.
    fn check_copied(&self) -> SvnResult<()> {
        let Some(details) = self.deletion() else { return Ok(()) };
        let wrong = |what: String| {
            Err(failure(format!("Cannot resolve tree conflict on '{}' ({what})", self.relpath)))
        };
        let Some((_, from, revision)) = self.origin(&self.relpath)?.filter(|origin| origin.0)
        else {
            return wrong("expected a copied item, but the item is not a copy".to_owned());
        };
        if let Some(deleted) = details.deleted.filter(|deleted| revision >= *deleted) {
            return wrong(format!(
                "expected an item copied from a revision smaller than r{deleted}, but the item was \
                 copied from r{revision}"
            ));
        }
        if let Some(added) = details.added.filter(|added| revision < *added) {
            return wrong(format!(
                "expected an item copied from a revision larger than r{added}, but the item was \
                 copied from r{revision}"
            ));
        }
        let old = self.required_old()?.0;
        let update = self.operation == Some(sapwood_wc::conflict::Operation::Update);
        if from == old || (update && from == details.relpath) {
            return Ok(());
        }
        let expected = match update {
            true => format!("'^/{}' or from '^/{old}' but", details.relpath),
            false => format!("'^/{old}', but"),
        };
        wrong(format!(
            "expected an item copied from {expected} the item was copied from '^/{from}@{revision}'"
        ))
    }

    /// Leaves a deletion out.
    pub(super) fn ignore_deletion(&self, how: Resolution) -> SvnResult<()> {
        let lock = self.wc.lock_to_resolve(&self.relpath)?;
        self.check_deleted(how)?;
        self.mark_resolved()?;
        Ok(lock.release()?)
    }

    /// Deletes the node.
    pub(super) fn accept_deletion(&self, how: Resolution) -> SvnResult<()> {
        let parent = self.relpath.parent();
        let lock = self.wc.lock_to_resolve(parent)?;
        self.check_deleted(how)?;
        if self.wc.view(&self.relpath)?.is_some() {
            let added = self.wc.additions_below(&self.relpath)?;
            self.delete(&self.relpath, &added, true)?;
        }
        self.mark_resolved()?;
        Ok(lock.release()?)
    }

    /// Where an incoming move leads to in the working copy.
    fn incoming_target(&self) -> SvnResult<&RelPath> {
        let details = self.deletion().filter(|details| details.moves.is_some());
        details.and_then(|details| details.targets.node()).ok_or_else(|| self.needs_details())
    }

    /// Follows the incoming move of a file: what was changed here is merged into what came.
    pub(super) fn follow_file(&self, how: Resolution) -> SvnResult<()> {
        let target = self.incoming_target()?;
        let (ancestor, ancestor_props) = self.fetch(self.required_old()?)?;
        let missing = self.reason == Reason::Missing;
        let moved = self.missing().and_then(|missing| missing.targets.node());
        let source = moved.filter(|_| missing).unwrap_or(&self.relpath);
        let lock = self.lock_with(target)?;
        if !missing {
            self.check_deleted(how)?;
        }
        let (own, theirs) = (self.props(source)?, self.props(target)?);
        let mut backup = None;
        let incoming = self.normal_copy(target)?;
        let (from, to) = (self.wc.abspath(source), self.wc.abspath(target));
        let copied = if self.is_merge() {
            // The move is made here, too; what came is merged into what was moved.
            backup = Some(incoming.to_path_buf());
            fs::remove_file(&to)
                .map_err(|e| SvnError::io(&e, format!("Can't remove file '{}'", to.display())))
                .and_then(|()| self.move_node(source, target, false, false, false))
        } else {
            // What was changed here is what the merge calls local.
            fs::copy(&from, &to)
                .map(|_| ())
                .map_err(|e| SvnError::io(&e, format!("Can't copy '{}'", from.display())))
        };
        let merged = copied.and_then(|()| {
            self.merge_file(
                target,
                &Texts {
                    left: Some(&ancestor),
                    right: &incoming,
                    left_props: Some(&ancestor_props),
                    props: (&own, &theirs),
                },
            )
        });
        let (content, props) = match (merged, backup) {
            (Ok(merged), _) => merged,
            (Err(error), None) => return Err(error),
            (Err(error), Some(backup)) => {
                // It is all that is left of it.
                let _kept = incoming.keep();
                return Err(error.context(format!(
                    "If needed, a backup copy of '{}' can be found at '{}'",
                    to.display(),
                    backup.display()
                )));
            }
        };
        self.notify_merged(target, NodeKind::File, content, props);
        if self.is_update_or_switch() {
            self.delete(&self.relpath, &[], false)?;
        }
        self.mark_resolved()?;
        Ok(lock.release()?)
    }

    /// Follows the incoming move of a directory.
    pub(super) fn follow_dir(&self, how: Resolution) -> SvnResult<()> {
        let target = self.incoming_target()?;
        let lock = self.lock_with(target)?;
        let origin = self.origin(target)?;
        let wrong = |what: String| {
            let shown = self.display_path(&self.relpath);
            failure(format!("Cannot resolve tree conflict on '{shown}' ({what})"))
        };
        let there = self.display_path(target);
        match &origin {
            Some((false, ..)) if self.is_merge() => {
                return Err(wrong(format!(
                    "expected a copied item at '{there}', but the item is not a copy"
                )));
            }
            None => return Err(wrong(format!("could not determine origin of '{there}'"))),
            Some(_) => {}
        }
        self.check_deleted(how)?;
        if self.is_merge() {
            self.replay_move(&self.relpath, target)?;
        } else {
            let mut stays = Vec::new();
            if self.wc.has_local_changes(&self.relpath)? {
                let cancel = self.ctx.cancel();
                stays = self.wc.update_incoming_move(&self.relpath, target, cancel, &|notice| {
                    self.ctx.notify(notice);
                })?;
            }
            // The move is part of what is here already. What was not versioned stays here.
            self.delete(&self.relpath, &stays, false)?;
        }
        self.mark_resolved()?;
        Ok(lock.release()?)
    }

    /// Moves a directory to where an incoming move leads, in place of what came there, and merges what came
    /// into it.
    pub(super) fn replay_move(&self, from: &RelPath, target: &RelPath) -> SvnResult<()> {
        let place = self.deletion().and_then(|details| details.targets.place());
        let place = place.ok_or_else(|| self.needs_details())?;
        self.revert(target, Depth::Infinity, false, false)?;
        self.move_node(from, target, false, true, true)?;
        let (old, new) = (self.required_old()?, self.required_new()?);
        self.merge_dir(target, old, (place, new.1))?;
        Ok(())
    }

    /// What came to a node that is not here goes to where it is.
    fn merge_target(&self, sibling_first: bool) -> SvnResult<&RelPath> {
        let missing = self.missing();
        let sibling = missing.and_then(|missing| {
            missing.siblings.get(missing.chosen_sibling).map(RelPathBuf::as_path)
        });
        let moved = missing.and_then(|missing| missing.targets.node());
        let found = if sibling_first { sibling.or(moved) } else { moved.or(sibling) };
        found.ok_or_else(|| {
            failure(format!("Corresponding working copy node not found for '{}'", self.relpath))
        })
    }

    /// Brings an edit of a file to where the file is.
    pub(super) fn merge_into_moved_file(&self) -> SvnResult<()> {
        let target = self.merge_target(true)?;
        let (old, old_props) = self.fetch(self.required_old()?)?;
        let (new, new_props) = self.fetch(self.required_new()?)?;
        let lock = self.lock_with(target)?;
        let (content, props) = self.merge_file(
            target,
            &Texts {
                left: Some(&old),
                right: &new,
                left_props: Some(&old_props),
                props: (&old_props, &new_props),
            },
        )?;
        self.wc.remove_tree_conflict(&self.relpath)?;
        lock.release()?;
        self.notify_merged(target, NodeKind::File, content, props);
        self.notify(NotifyAction::ResolvedTree, &self.relpath);
        Ok(())
    }

    /// Brings an edit of a directory to where the directory is.
    pub(super) fn merge_into_moved_dir(&self) -> SvnResult<()> {
        let target = self.merge_target(false)?;
        let lock = self.lock_with(target)?;
        self.wc.remove_tree_conflict(&self.relpath)?;
        let conflicts = self.merge_dir(target, self.required_old()?, self.required_new()?)?;
        lock.release()?;
        let content = if conflicts { State::Conflicted } else { State::Merged };
        self.notify_merged(target, NodeKind::Dir, content, State::Inapplicable);
        self.notify(NotifyAction::ResolvedTree, &self.relpath);
        Ok(())
    }
}
