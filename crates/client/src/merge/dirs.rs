//! Directories: what closing them does, and what of it files share. A change that has begun
//! is not stopped halfway.

use sapwood_core::notify::{Action as NotifyAction, State};
use sapwood_core::paths::RelPath;
use sapwood_core::props::names;
use sapwood_core::{CancelToken, ErrorCode, NodeKind, PropList, SvnResult};
use sapwood_wc::conflict::{Action, PropChange, PropState, Reason};
use sapwood_wc::merge::PropsMerge;
use sapwood_wc::status::{Options as StatusOptions, State as Letter};

use super::apply::Apply;
use super::conflicts::Victim;
use super::props::{is_regular, props_state, same_props};

impl Apply<'_, '_> {
    /// The properties of a directory that both sides have differ.
    pub(super) fn dir_changed(
        &mut self,
        id: u64,
        left: &PropList,
        changes: &[PropChange],
    ) -> SvnResult<()> {
        self.notify_pending(id)?;
        self.mark_edited(id)?;
        if self.shadowed(id, NotifyAction::UpdateShadowedUpdate)? {
            return Ok(());
        }
        let relpath = self.node(id)?.relpath.clone();
        let changes = self.merge.prepare_props(&relpath, changes)?;
        if changes.is_empty() {
            return Ok(());
        }
        let state = self.merge_props(&relpath, NodeKind::Dir, left, &changes)?;
        let merge = &mut *self.merge;
        if state == PropState::Conflicted {
            merge.conflicted.insert(relpath.clone());
        }
        if state != PropState::Unchanged {
            let state = props_state(state);
            merge.record_change(&relpath, NodeKind::File, State::Inapplicable, state);
        }
        Ok(())
    }

    /// Merges changes of the properties of a node that both sides have.
    pub(super) fn merge_props(
        &self,
        relpath: &RelPath,
        kind: NodeKind,
        left: &PropList,
        changes: &[PropChange],
    ) -> SvnResult<PropState> {
        let merge = &*self.merge;
        let locations = Some(merge.locations(relpath, None, Some(kind), Some(kind)));
        let dry_run = merge.options.dry_run;
        let change = PropsMerge { relpath, locations, left, changes, dry_run };
        Ok(merge.wc().merge_node_props(&change, merge.ctx.cancel())?)
    }

    /// Records that a node which goes was edited here.
    pub(super) fn conflict_edited(
        &mut self,
        relpath: &RelPath,
        parent: Option<u64>,
        kind: NodeKind,
    ) -> SvnResult<()> {
        let victim = Victim {
            relpath,
            local: Some(kind),
            left: Some(kind),
            right: None,
            action: Action::Delete,
            reason: Reason::Edited,
        };
        self.conflict(&victim, parent, None, true)
    }

    /// All of a new directory has come.
    pub(super) fn dir_added(&mut self, id: u64, props: &PropList) -> SvnResult<()> {
        self.notify_pending(id)?;
        self.mark_edited(id)?;
        if self.shadowed(id, NotifyAction::UpdateShadowedAdd)? {
            return Ok(());
        }
        let relpath = self.node(id)?.relpath.clone();
        let inside = self.parent_is_added(id)?;
        let merge = &mut *self.merge;
        if merge.notes_paths() && !inside {
            merge.touched.added.insert(relpath.clone());
        }
        let dry_run = merge.options.dry_run;
        if merge.same_repos {
            if !dry_run {
                merge.wc().complete_repos_dir(&relpath, props)?;
            }
            if props.get(names::MERGEINFO).is_some() {
                merge.new_mergeinfo.insert(relpath);
            }
            return Ok(());
        }
        if dry_run {
            return Ok(());
        }
        let changes: Vec<PropChange> = props
            .iter()
            .filter(|(name, _)| is_regular(name) && *name != names::MERGEINFO)
            .map(|(name, value)| (name.to_owned(), Some(value.to_vec())))
            .collect();
        merge.wc().merge_node_props(
            &PropsMerge {
                relpath: &relpath,
                locations: Some(merge.locations(&relpath, None, None, Some(NodeKind::Dir))),
                left: &PropList::new(),
                changes: &changes,
                dry_run,
            },
            merge.ctx.cancel(),
        )?;
        Ok(())
    }

    /// All below a directory that is to be deleted was compared, or nothing had to be.
    pub(super) fn dir_deleted(&mut self, id: u64, left: &PropList) -> SvnResult<()> {
        self.notify_pending(id)?;
        self.mark_edited(id)?;
        if self.shadowed(id, NotifyAction::UpdateShadowedDelete)? || self.merge.options.record_only
        {
            return Ok(());
        }
        let (relpath, parent) = (self.node(id)?.relpath.clone(), self.node(id)?.parent);
        let wc = self.merge.wc().clone();
        let props = wc.require_view(&relpath)?.props()?;
        let mut same = true;
        if !self.merge.options.force_delete
            && let Some(at) = self.node(id)?.deletion
        {
            let equal = same_props(left, &props);
            let check = self.check_mut(at)?;
            if equal {
                check.compared.insert(relpath.clone());
            } else {
                check.differs = true;
            }
            if check.root != id {
                return Ok(());
            }
            same = !check.differs && self.all_compared(at, &relpath)?;
        }
        if same && !self.merge.options.dry_run {
            match wc.delete_versioned(&relpath, &[], &CancelToken::new(), &|_| {}) {
                Ok(()) => {}
                Err(error) => {
                    let error = sapwood_core::SvnError::from(error);
                    if error.code() != ErrorCode::WC_LEFT_LOCAL_MOD {
                        return Err(error);
                    }
                    same = false;
                }
            }
        }
        if !same {
            return self.conflict_edited(&relpath, parent, NodeKind::Dir);
        }
        if props.get(names::MERGEINFO).is_some() {
            self.merge.deleted_mergeinfo.insert(relpath.clone());
        }
        self.deleted(&relpath, parent, NodeKind::Dir)
    }

    /// Whether there is nothing in a tree but what was compared.
    fn all_compared(&mut self, at: usize, relpath: &RelPath) -> SvnResult<bool> {
        let options = StatusOptions {
            all: true,
            ignores: self.merge.ctx.ignores(),
            cancel: self.merge.ctx.cancel().clone(),
            ..StatusOptions::default()
        };
        let wc = self.merge.wc().clone();
        let check = self.check_mut(at)?;
        let mut differs = false;
        wc.status(relpath, &options, &mut |status| {
            let known = matches!(status.node, Letter::Deleted | Letter::Ignored | Letter::None);
            differs |= !known && !check.compared.contains(&status.relpath);
            Ok(())
        })?;
        check.differs = differs;
        Ok(!differs)
    }

    /// A directory had no change of its own.
    pub(super) fn dir_closed(&mut self, id: u64) -> SvnResult<()> {
        self.notify_pending(id)
    }

    /// Something that may not be seen.
    pub(super) fn absent(&mut self, below: &RelPath, parent: u64) -> SvnResult<()> {
        let relpath = self.place(below)?;
        let shadow = self.node(parent)?.shadowed;
        self.merge.record_skip(&relpath, None, NotifyAction::Skip, State::Missing, shadow);
        Ok(())
    }
}
