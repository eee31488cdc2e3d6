//! Going a way out of a tree conflict: which function does it, and what all of them need.

use std::io::Write as _;
use std::path::Path;

use sapwood_core::notify::{Action as NotifyAction, Notify, State};
use sapwood_core::paths::{RelPath, RelPathBuf};
use sapwood_core::{Depth, ErrorCode, NodeKind, PropList, SvnError, SvnResult};
use sapwood_wc::conflict::{PropState, TextOutcome};
use sapwood_wc::local::{Choice, Part, RevertOptions};
use sapwood_wc::merge::FileMerge;
use tempfile::TempPath;

use super::{Resolution, TreeConflict};
use crate::merge::{MergeOptions, TwoSources, merge_two_reporting};
use crate::revision::Revision;

/// E155027: why a conflict cannot be resolved in this way.
pub(super) fn failure(text: impl Into<String>) -> SvnError {
    SvnError::new(ErrorCode::WC_CONFLICT_RESOLVER_FAILURE, text.into())
}

/// A change of a file that is merged into a file of the working copy. The texts are in normal form.
pub(super) struct Texts<'t> {
    /// The old text, if any.
    pub(super) left: Option<&'t Path>,
    /// The new one.
    pub(super) right: &'t Path,
    /// The old properties; those of the file itself when there are none.
    pub(super) left_props: Option<&'t PropList>,
    /// The properties that are compared: from which to which.
    pub(super) props: (&'t PropList, &'t PropList),
}

impl<'t> Texts<'t> {
    /// A change from nothing to a text.
    pub(super) const fn added(right: &'t Path, props: (&'t PropList, &'t PropList)) -> Self {
        Self { left: None, right, left_props: None, props }
    }
}

/// A word for a kind, in errors.
pub(super) fn kind_word(kind: Option<NodeKind>) -> &'static str {
    kind.map_or("none", NodeKind::word)
}

/// The regular properties.
pub(super) fn regular(props: &PropList) -> PropList {
    let own = |name: &str| name.starts_with("svn:entry:") || name.starts_with("svn:wc:");
    props.iter().filter(|(name, _)| !own(name)).collect()
}

impl TreeConflict<'_> {
    /// Resolves the conflict in one of the ways that [`TreeConflict::resolutions`] offers.
    ///
    /// # Errors
    /// E195024 for another one; E155027 where the working copy is not as it must be for it; those of
    /// sessions and of the working copy.
    pub fn resolve(&self, how: Resolution) -> SvnResult<()> {
        if !self.resolutions().contains(&how) {
            return Err(self.inapplicable());
        }
        match how {
            Resolution::Postpone => return Ok(()),
            Resolution::AcceptCurrent => self.by_choice(Choice::Working)?,
            Resolution::UpdateMoveDestination | Resolution::UpdateMovedAwayChildren => {
                self.by_choice(Choice::MineConflict)?;
            }
            Resolution::IncomingAddIgnore => self.ignore_addition(how)?,
            Resolution::AddedFileTextMerge if self.is_merge() => self.merge_added_file()?,
            Resolution::AddedFileTextMerge => self.merge_into_updated_file()?,
            Resolution::AddedFileReplaceAndMerge => self.replace_file_and_merge()?,
            Resolution::AddedDirMerge if self.is_merge() => self.merge_added_dir(how)?,
            Resolution::AddedDirMerge => self.merge_into_updated_dir()?,
            Resolution::AddedDirReplace => self.replace_dir(false)?,
            Resolution::AddedDirReplaceAndMerge => self.replace_dir(true)?,
            Resolution::IncomingDeleteIgnore => self.ignore_deletion(how)?,
            Resolution::IncomingDeleteAccept => self.accept_deletion(how)?,
            Resolution::IncomingMoveFileTextMerge => self.follow_file(how)?,
            Resolution::BothMovedFileMoveMerge if self.is_merge() => self.follow_file(how)?,
            Resolution::IncomingMoveDirMerge => self.follow_dir(how)?,
            Resolution::LocalMoveFileTextMerge | Resolution::SiblingMoveFileTextMerge => {
                self.merge_into_moved_file()?;
            }
            Resolution::LocalMoveDirMerge | Resolution::SiblingMoveDirMerge => {
                self.merge_into_moved_dir()?;
            }
            Resolution::BothMovedFileMerge if self.is_merge() => self.keep_local_file_of_merge()?,
            Resolution::BothMovedFileMerge => self.keep_local_file()?,
            Resolution::BothMovedFileMoveMerge => self.keep_incoming_file()?,
            Resolution::BothMovedDirMerge => self.keep_local_dir()?,
            Resolution::BothMovedDirMoveMerge => self.keep_incoming_dir()?,
        }
        self.ctx.wait_for_clock();
        Ok(())
    }

    /// E195024: what was given is no way out of this conflict.
    #[must_use]
    pub fn inapplicable(&self) -> SvnError {
        SvnError::new(
            ErrorCode::CLIENT_CONFLICT_OPTION_NOT_APPLICABLE,
            format!(
                "Inapplicable conflict resolution option given for conflicted path '{}'",
                self.display_path(&self.relpath)
            ),
        )
    }

    fn by_choice(&self, choice: Choice) -> SvnResult<()> {
        let cancel = self.ctx.cancel();
        self.wc.resolve_part(&self.relpath, Part::Tree, choice, cancel, &|notice| {
            self.ctx.notify(notice);
        })?;
        Ok(())
    }

    /// A path of the working copy as errors show it.
    pub(super) fn display_path(&self, relpath: &RelPath) -> String {
        self.wc.abspath(relpath).display().to_string()
    }

    pub(super) fn notify_kind(&self, action: NotifyAction, relpath: &RelPath, kind: NodeKind) {
        let path = self.wc.abspath(relpath);
        let shown = path.to_string_lossy();
        self.ctx.notify(&Notify { kind: Some(kind), ..Notify::new(action, &shown) });
    }

    /// Removes the conflict from the record and reports that it is resolved.
    pub(super) fn mark_resolved(&self) -> SvnResult<()> {
        self.wc.remove_tree_conflict(&self.relpath)?;
        self.notify(NotifyAction::ResolvedTree, &self.relpath);
        Ok(())
    }

    /// Reports a node that something was merged into.
    pub(super) fn notify_merged(
        &self,
        relpath: &RelPath,
        kind: NodeKind,
        content: State,
        props: State,
    ) {
        let path = self.wc.abspath(relpath);
        let shown = path.to_string_lossy();
        self.ctx.notify(&Notify {
            kind: Some(kind),
            content,
            props,
            ..Notify::new(NotifyAction::UpdateUpdate, &shown)
        });
    }

    /// Fetches a file of the repository: its text and its regular properties.
    pub(super) fn fetch(
        &self,
        (relpath, revision): (&RelPath, u64),
    ) -> SvnResult<(TempPath, PropList)> {
        let mut file = self.temporary()?;
        let props = self.repository.file(self.ctx, relpath, revision, &mut file)?;
        file.flush().map_err(|e| SvnError::io(&e, "Can't write a temporary file"))?;
        Ok((file.into_temp_path(), regular(&props)))
    }

    pub(super) fn temporary(&self) -> SvnResult<tempfile::NamedTempFile> {
        tempfile::NamedTempFile::new_in(sapwood_wc::layout::tmp(self.wc.root()))
            .map_err(|e| SvnError::io(&e, "Can't create temporary file"))
    }

    /// A copy of a working file in normal form.
    pub(super) fn normal_copy(&self, relpath: &RelPath) -> SvnResult<TempPath> {
        let mut file = self.temporary()?;
        self.wc.copy_in_normal_form(relpath, file.as_file_mut())?;
        Ok(file.into_temp_path())
    }

    /// The properties of a node.
    pub(super) fn props(&self, relpath: &RelPath) -> SvnResult<PropList> {
        Ok(self.wc.require_view(relpath)?.props()?)
    }

    /// Merges a change into a file; returns the outcome for text and properties.
    pub(super) fn merge_file(
        &self,
        relpath: &RelPath,
        texts: &Texts<'_>,
    ) -> SvnResult<(State, State)> {
        let own;
        let left_props = match texts.left_props.filter(|props| !props.is_empty()) {
            Some(props) => props,
            None => {
                own = self.wc.require_view(relpath)?.pristine_props()?;
                &own
            }
        };
        let (from, to) = texts.props;
        let changes = from.diff_to(to);
        let merge = FileMerge {
            relpath,
            left: texts.left,
            right: Some(texts.right),
            labels: [".old", ".new", ".working"],
            suffix: Some(".tmp"),
            locations: None,
            left_props,
            changes: &changes,
            options: sapwood_diff::Options::default(),
            external: None,
            dry_run: false,
        };
        let merged = self.wc.merge_file(&merge, self.ctx.cancel())?;
        let content = match merged.text {
            Some(TextOutcome::Conflict) => State::Conflicted,
            _ => State::Merged,
        };
        let props = match merged.props {
            PropState::Unchanged => State::Unchanged,
            PropState::Changed => State::Changed,
            PropState::Merged => State::Merged,
            PropState::Conflicted => State::Conflicted,
        };
        Ok((content, props))
    }

    /// Merges a change into a file and reports it.
    pub(super) fn merge_and_notify_file(
        &self,
        relpath: &RelPath,
        texts: &Texts<'_>,
    ) -> SvnResult<()> {
        let (content, props) = self.merge_file(relpath, texts)?;
        self.notify_merged(relpath, NodeKind::File, content, props);
        Ok(())
    }

    /// Merges the difference of two locations of the repository into a directory; whether there are
    /// conflicts.
    pub(super) fn merge_dir(
        &self,
        relpath: &RelPath,
        left: (&RelPath, u64),
        right: (&RelPath, u64),
    ) -> SvnResult<bool> {
        let number = |revision| Revision::Number(sapwood_core::Revnum(revision));
        let (left_url, right_url) = (self.repository.url(left.0)?, self.repository.url(right.0)?);
        let sources = TwoSources {
            left: &left_url,
            left_revision: number(left.1),
            right: &right_url,
            right_revision: number(right.1),
        };
        let options = MergeOptions {
            depth: Some(Depth::Infinity),
            ignore_mergeinfo: true,
            ignore_ancestry: true,
            allow_mixed: true,
            ..MergeOptions::default()
        };
        merge_two_reporting(self.ctx, sources, &self.display_path(relpath), &options)
    }

    /// Reverts a node, or a tree. With `remove_added`, added files are removed from disk.
    pub(super) fn revert(
        &self,
        relpath: &RelPath,
        depth: Depth,
        metadata_only: bool,
        remove_added: bool,
    ) -> SvnResult<()> {
        let options = RevertOptions {
            clear_changelists: true,
            metadata_only,
            remove_added,
            ..RevertOptions::default()
        };
        self.wc.revert(relpath, depth, &options, &|notice| self.ctx.notify(notice))?;
        Ok(())
    }

    /// Deletes a node. What is not versioned stays on disk, and so does what is at or below the paths in `stays`.
    pub(super) fn delete(
        &self,
        relpath: &RelPath,
        stays: &[RelPathBuf],
        notify: bool,
    ) -> SvnResult<()> {
        let cancel = sapwood_core::CancelToken::default();
        self.wc.delete_versioned(relpath, stays, &cancel, &|value| {
            if notify {
                self.ctx.notify(value);
            }
        })?;
        Ok(())
    }

    /// Moves a node.
    pub(super) fn move_node(
        &self,
        from: &RelPath,
        to: &RelPath,
        metadata_only: bool,
        mixed: bool,
        notify: bool,
    ) -> SvnResult<()> {
        let cancel = sapwood_core::CancelToken::default();
        self.wc.move_node(from, &self.wc, to, metadata_only, mixed, &cancel, &|value| {
            if notify {
                self.ctx.notify(value);
            }
        })?;
        Ok(())
    }

    /// Locks all that lies over the node in conflict and another one.
    pub(super) fn lock_with(&self, other: &RelPath) -> SvnResult<sapwood_wc::locks::Lock> {
        let both = self.relpath.common_ancestor(other).to_owned();
        Ok(self.wc.lock_to_resolve(&both)?)
    }

    /// The disk's content at the node's path.
    pub(super) fn disk_kind(&self, relpath: &RelPath) -> Option<NodeKind> {
        let found = std::fs::symlink_metadata(self.wc.abspath(relpath)).ok()?;
        Some(if found.is_dir() { NodeKind::Dir } else { NodeKind::File })
    }

    /// E155027: this way needs to know more.
    pub(super) fn needs_details(&self) -> SvnError {
        failure(format!(
            "The specified conflict resolution option requires details for tree conflict at '{}' to be \
             fetched from the repository first.",
            self.display_path(&self.relpath)
        ))
    }

    /// Path and revision before the incoming change, which every operation records.
    pub(super) fn required_old(&self) -> SvnResult<(&RelPath, u64)> {
        self.old_place().ok_or_else(|| self.needs_details())
    }

    /// Path and revision after it.
    pub(super) fn required_new(&self) -> SvnResult<(&RelPath, u64)> {
        self.new_place().ok_or_else(|| self.needs_details())
    }
}
