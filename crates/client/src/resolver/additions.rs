//! Additions that came where something was added here.

use std::fs;

use sapwood_core::notify::Action as NotifyAction;
use sapwood_core::paths::{RelPath, RelPathBuf};
use sapwood_core::{Depth, NodeKind, PropList, Revnum, SvnError, SvnResult, path};
use sapwood_wc::conflict::{Action, Conflict, Location, Operation, Reason, TreeConflict as Record};
use sapwood_wc::node::Origin;
use sapwood_wc::view::Status;

use super::act::{Texts, failure, kind_word, regular};
use super::moves::before;
use super::{IncomingDetails, Resolution, TreeConflict};
use crate::diff::{Difference, DirSide, FileSide, Processor, ReverseProcessor, compare_below};

impl TreeConflict<'_> {
    /// After an update, what came must be under what was added here.
    fn check_added(&self) -> SvnResult<()> {
        let wrong = |what: String| {
            Err(failure(format!("Cannot resolve tree conflict on '{}' ({what})", self.relpath)))
        };
        let view = self.wc.view(&self.relpath)?;
        let Some(base) = self.wc.db().base(&self.relpath)? else {
            return wrong("expected a base node but found none".to_owned());
        };
        let kind = base.kind.node_kind();
        if kind != self.new_kind() {
            let (expected, found) = (kind_word(self.new_kind()), kind_word(kind));
            return wrong(format!("expected base node kind '{expected}', but found '{found}'"));
        }
        let (relpath, revision) = self.required_new()?;
        let at = base.repos_path.as_deref().unwrap_or(RelPath::ROOT);
        if at != relpath || base.revision != Some(Revnum(revision)) {
            let found = base.revision.map_or(-1, |found| found.0.cast_signed());
            return wrong(format!(
                "expected base node from '^/{relpath}@{revision}', but found '^/{at}@{found}'"
            ));
        }
        if view.is_none_or(|view| view.status() != Status::Added) {
            return wrong("expected an added item, but the item is not added".to_owned());
        }
        Ok(())
    }

    /// Leaves an addition out.
    pub(super) fn ignore_addition(&self, _: Resolution) -> SvnResult<()> {
        let lock = self.wc.lock_to_resolve(&self.relpath)?;
        if self.operation == Some(Operation::Update) {
            self.check_added()?;
        }
        self.mark_resolved()?;
        Ok(lock.release()?)
    }

    /// Merges a file that came into the one that is here.
    pub(super) fn merge_added_file(&self) -> SvnResult<()> {
        let (text, props) = self.fetch(self.required_new()?)?;
        let lock = self.wc.lock_to_resolve(&self.relpath)?;
        self.wc.remove_tree_conflict(&self.relpath)?;
        self.merge_and_notify_file(
            &self.relpath,
            &Texts::added(&text, (&PropList::new(), &props)),
        )?;
        self.notify(NotifyAction::ResolvedTree, &self.relpath);
        Ok(lock.release()?)
    }

    /// Merges the local file into the one that an update added.
    pub(super) fn merge_into_updated_file(&self) -> SvnResult<()> {
        let (text, props) = if self.reason == Reason::Unversioned {
            let file = self.temporary()?;
            let from = self.wc.abspath(&self.relpath);
            fs::copy(&from, file.path())
                .map_err(|e| SvnError::io(&e, format!("Can't copy '{}'", from.display())))?;
            (file.into_temp_path(), PropList::new())
        } else {
            (self.normal_copy(&self.relpath)?, regular(&self.props(&self.relpath)?))
        };
        let lock = self.wc.lock_to_resolve(&self.relpath)?;
        let merged = self.revert(&self.relpath, Depth::Empty, false, false).and_then(|()| {
            self.merge_file(&self.relpath, &Texts::added(&text, (&PropList::new(), &props)))
        });
        let (content, props) = match merged {
            Ok(merged) => merged,
            Err(error) => {
                let shown = self.display_path(&self.relpath);
                let backup = text.to_path_buf();
                // It is all that is left of it.
                let _kept = text.keep();
                return Err(error.context(format!(
                    "If needed, a backup copy of '{shown}' can be found at '{}'",
                    backup.display()
                )));
            }
        };
        lock.release()?;
        self.notify_merged(&self.relpath, NodeKind::File, content, props);
        self.notify(NotifyAction::ResolvedTree, &self.relpath);
        Ok(())
    }

    /// The copy source of the incoming node.
    fn incoming_origin(&self) -> SvnResult<Origin> {
        let (relpath, revision) = self.required_new()?;
        let (own, _) = self.wc.repos_location(self.relpath.parent())?;
        Ok(Origin { repos_id: own, repos_path: relpath.to_owned(), revision: Revnum(revision) })
    }

    /// Replaces the file that is here by the one that came, and merges it into that.
    pub(super) fn replace_file_and_merge(&self) -> SvnResult<()> {
        let own_text = self.normal_copy(&self.relpath)?;
        let own_props = self.props(&self.relpath)?;
        let (at, revision) = self.required_new()?;
        let mut text = self.wc.write_pristine()?;
        let props = self.repository.file(self.ctx, at, revision, &mut text)?;
        let origin = self.incoming_origin()?;
        let lock = self.wc.lock_to_resolve(&self.relpath)?;
        self.delete(&self.relpath, &[], true)?;
        let cancel = sapwood_core::CancelToken::default();
        self.wc.add_repos_file(&self.relpath, text, &props, Some(&origin), &cancel)?;
        self.notify_kind(NotifyAction::Add, &self.relpath, NodeKind::File);
        self.wc.remove_tree_conflict(&self.relpath)?;
        self.merge_and_notify_file(
            &self.relpath,
            &Texts::added(&own_text, (&own_props, &regular(&props))),
        )?;
        lock.release()?;
        self.notify(NotifyAction::ResolvedTree, &self.relpath);
        Ok(())
    }

    /// Merges a directory that came into the one that is here.
    pub(super) fn merge_added_dir(&self, how: Resolution) -> SvnResult<()> {
        let shown = self.display_path(&self.relpath);
        let Some(IncomingDetails::Addition(details)) = &self.incoming else {
            return Err(failure(format!(
                "Conflict resolution option '{}' requires details for tree conflict at '{shown}' to be \
                 fetched from the repository",
                how.number()
            )));
        };
        let (old, new) = (self.required_old()?, self.required_new()?);
        let forward = old.1 < new.1;
        let (first, second) = if forward {
            let Some((added, _)) = details.added else {
                let what = format!("Could not determine when '{shown}' was added the repository");
                return Err(failure(what));
            };
            (before(added), new)
        } else {
            let Some((deleted, _)) = details.deleted else {
                let what =
                    format!("Could not determine when '{shown}' was deleted from the repository");
                return Err(failure(what));
            };
            (deleted, old)
        };
        let lock = self.wc.lock_to_resolve(&self.relpath)?;
        self.merge_new_dir(new.0, (&details.relpath, first), second, !forward)?;
        self.wc.remove_tree_conflict(&self.relpath)?;
        lock.release()?;
        self.notify(NotifyAction::ResolvedTree, &self.relpath);
        Ok(())
    }

    /// Merges all of a directory that exists in one revision only.
    fn merge_new_dir(
        &self,
        relpath: &RelPath,
        first: (&RelPath, u64),
        second: (&RelPath, u64),
        reverse: bool,
    ) -> SvnResult<()> {
        let from = (self.repository.url(first.0)?, Revnum(first.1));
        let to = (self.repository.url(second.0)?, Revnum(second.1));
        let mut added =
            AddedTree { conflict: self, relpath: relpath.to_owned(), revisions: (from.1, to.1) };
        if reverse {
            return compare_below(self.ctx, &from, &to, &mut ReverseProcessor(&mut added));
        }
        compare_below(self.ctx, &from, &to, &mut added)
    }

    /// Merges the local directory into the one that an update added.
    pub(super) fn merge_into_updated_dir(&self) -> SvnResult<()> {
        if self.reason == Reason::Unversioned {
            let lock = self.wc.lock_to_resolve(self.relpath.parent())?;
            self.revert(&self.relpath, Depth::Infinity, true, false)?;
            return Ok(lock.release()?);
        }
        let lock = self.wc.lock_to_resolve(&self.relpath)?;
        let cancel = self.ctx.cancel();
        self.wc.update_local_add(&self.relpath, cancel, &|notice| self.ctx.notify(notice))?;
        Ok(lock.release()?)
    }

    /// Replaces the directory that is here by the one that came, and merges it into that on request.
    pub(super) fn replace_dir(&self, merge: bool) -> SvnResult<()> {
        let (at, revision) = self.required_new()?;
        let url = self.repository.url(at)?;
        let lock = self.wc.lock_to_resolve(self.relpath.parent())?;
        if self.wc.has_unversioned(&self.relpath)? {
            return Err(failure(format!(
                "Cannot replace '{}' because there are unversioned items in it (please move them away and try \
                 again)",
                self.display_path(&self.relpath)
            )));
        }
        self.delete(&self.relpath, &[], true)?;
        crate::copy_in::copy_dir(self.ctx, &url, Revnum(revision), &self.wc, &self.relpath)?;
        self.notify_kind(NotifyAction::Add, &self.relpath, NodeKind::Dir);
        self.wc.remove_tree_conflict(&self.relpath)?;
        if merge {
            self.merge_replaced()?;
        }
        lock.release()?;
        self.notify(NotifyAction::ResolvedTree, &self.relpath);
        Ok(())
    }

    /// Merges the directory that was replaced into the one that replaced it.
    fn merge_replaced(&self) -> SvnResult<()> {
        let base = self.wc.db().base(&self.relpath)?;
        let place = base.and_then(|row| row.repos_path.zip(row.revision));
        let Some((relpath, Revnum(revision))) = place else {
            return Err(SvnError::new(
                sapwood_core::ErrorCode::WC_PATH_NOT_FOUND,
                format!("The node '{}' was not found.", self.display_path(&self.relpath)),
            ));
        };
        let search = self.search();
        let progress = |revision| search.progress(revision);
        let segments = self.repository.segments(self.ctx, &relpath, revision, 0, &progress)?;
        let parent = path::dirname(&relpath);
        let inside = |segment: &&(u64, RelPathBuf)| path::is_ancestor(parent, &segment.1);
        let Some((added, _)) = segments.iter().rfind(inside) else {
            return Err(failure(format!(
                "Could not determine the revision in which '^/{relpath}' was added to the \
                 repository.\n"
            )));
        };
        self.merge_new_dir(&relpath, (&relpath, before(*added)), (&relpath, revision), false)
    }
}

/// Takes a directory that is new as a whole, and merges it into the one that is here.
struct AddedTree<'a, 'c> {
    conflict: &'a TreeConflict<'c>,
    /// Its path in the repository.
    relpath: RelPathBuf,
    /// The revisions that are compared.
    revisions: (Revnum, Revnum),
}

impl AddedTree<'_, '_> {
    fn place(&self, below: &RelPath) -> RelPathBuf {
        self.conflict.relpath.join(below)
    }

    /// The local state of a path: under version control, and on disk.
    fn kinds(&self, relpath: &RelPath) -> SvnResult<(Option<NodeKind>, Option<NodeKind>)> {
        let view = self.conflict.wc.view(relpath)?;
        let there = view.filter(|view| {
            matches!(view.status(), Status::Normal | Status::Added | Status::Incomplete)
        });
        Ok((there.and_then(|view| view.kind()), self.conflict.disk_kind(relpath)))
    }

    /// Adds the missing directories on the way to a path. They are reported after their
    /// children.
    fn make_parents(&self, below: &RelPath) -> SvnResult<()> {
        let (relpath, conflict) = (self.place(below), self.conflict);
        if self.kinds(&relpath)? != (None, None) {
            return Ok(());
        }
        self.make_parents(below.parent())?;
        conflict.wc.make_dir(&relpath)?;
        conflict.wc.add_one(&relpath, &PropList::new(), &|notice| conflict.ctx.notify(notice))?;
        Ok(())
    }

    /// A location in the repository of the conflict.
    fn location(&self, relpath: &RelPath, revision: Revnum, kind: Option<NodeKind>) -> Location {
        Location {
            root: self.conflict.repository.root().to_owned(),
            uuid: Some(self.conflict.repository.uuid().to_owned()),
            relpath: relpath.to_owned(),
            revision: Some(revision),
            kind,
        }
    }

    /// Something else is in the way.
    fn obstructed(
        &self,
        below: &RelPath,
        local: Option<NodeKind>,
        kind: NodeKind,
    ) -> SvnResult<()> {
        let conflict = self.conflict;
        let relpath = self.place(below);
        let at = self.relpath.join(below);
        let location = |revision, kind| self.location(&at, revision, kind);
        let mut record = Conflict::new(
            Operation::Merge,
            Some(location(self.revisions.0, None)),
            Some(location(self.revisions.1, Some(kind))),
        );
        record.tree = Some(Record {
            reason: Reason::Obstructed,
            action: Action::Add,
            move_source: None,
            move_destination: None,
        });
        conflict.wc.add_tree_conflict(&relpath, &record)?;
        let path = conflict.wc.abspath(&relpath);
        let shown = path.to_string_lossy();
        let notice = sapwood_core::notify::Notify::new(NotifyAction::TreeConflict, &shown);
        conflict.ctx.notify(&sapwood_core::notify::Notify { kind: local, ..notice });
        Ok(())
    }

    fn merge_props(&self, relpath: &RelPath, props: &PropList) -> SvnResult<()> {
        let conflict = self.conflict;
        let location = |revision, kind| self.location(&self.relpath, revision, kind);
        let state = conflict.wc.merge_node_props(
            &sapwood_wc::merge::PropsMerge {
                relpath,
                locations: Some([
                    location(self.revisions.0, None),
                    location(self.revisions.1, Some(NodeKind::Dir)),
                ]),
                left: &PropList::new(),
                changes: &PropList::new().diff_to(&regular(props)),
                dry_run: false,
            },
            conflict.ctx.cancel(),
        )?;
        let state = crate::merge::props_state(state);
        let unchanged = sapwood_core::notify::State::Unchanged;
        conflict.notify_merged(relpath, NodeKind::Dir, unchanged, state);
        Ok(())
    }
}

impl Processor for AddedTree<'_, '_> {
    fn take(&mut self, below: &RelPath, what: Difference<'_>) -> SvnResult<()> {
        match what {
            Difference::FileAdded(_, right) => self.file_added(below, right),
            Difference::DirAdded(_, right) => self.dir_added(below, right),
            _ => Ok(()),
        }
    }
}

impl AddedTree<'_, '_> {
    fn file_added(&mut self, below: &RelPath, right: &FileSide) -> SvnResult<()> {
        let conflict = self.conflict;
        let relpath = self.place(below);
        let (known, disk) = self.kinds(&relpath)?;
        let file = right.text.to_file()?;
        let text = file.path();
        if (known, disk) == (Some(NodeKind::File), Some(NodeKind::File)) {
            let own = conflict.props(&relpath)?;
            return conflict.merge_and_notify_file(
                &relpath,
                &Texts::added(text, (&own, &regular(&right.props))),
            );
        }
        if known.is_some() || disk.is_some() {
            return self.obstructed(below, known, NodeKind::File);
        }
        self.make_parents(below.parent())?;
        let to = conflict.wc.abspath(&relpath);
        fs::copy(text, &to)
            .map_err(|e| SvnError::io(&e, format!("Can't copy '{}'", text.display())))?;
        conflict
            .wc
            .add_one(&relpath, &regular(&right.props), &|notice| conflict.ctx.notify(notice))?;
        Ok(())
    }

    fn dir_added(&mut self, below: &RelPath, right: &DirSide) -> SvnResult<()> {
        let conflict = self.conflict;
        if below.is_empty() {
            conflict.wc.remove_tree_conflict(&conflict.relpath)?;
            return self.merge_props(&conflict.relpath, &right.props);
        }
        let relpath = self.place(below);
        let (known, disk) = self.kinds(&relpath)?;
        if (known, disk) == (Some(NodeKind::Dir), Some(NodeKind::Dir)) {
            return self.merge_props(&relpath, &right.props);
        }
        if known.is_some() || disk.is_some() {
            return self.obstructed(below, known, NodeKind::Dir);
        }
        self.make_parents(below)?;
        self.merge_props(&relpath, &right.props)
    }
}
