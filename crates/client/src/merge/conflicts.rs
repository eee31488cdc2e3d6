//! Tree conflicts and skipped nodes: how they are recorded, noted and reported.

use sapwood_core::notify::{Action as NotifyAction, State};
use sapwood_core::paths::RelPath;
use sapwood_core::{NodeKind, Revnum, SvnResult, path};
use sapwood_wc::conflict::{Action, Conflict, Location, Operation, Reason, TreeConflict};
use sapwood_wc::view::Status;

use super::Merge;
use super::apply::{Apply, Node, RecordedConflict, Verdict};
use super::paths::farthest;
use crate::mergeinfo::place::RepoLocation;

/// A tree conflict that is to be recorded.
#[derive(Clone, Debug)]
pub(super) struct Victim<'v> {
    pub(super) relpath: &'v RelPath,
    pub(super) local: Option<NodeKind>,
    pub(super) left: Option<NodeKind>,
    pub(super) right: Option<NodeKind>,
    pub(super) action: Action,
    pub(super) reason: Reason,
}

impl Merge<'_> {
    /// The nodes of both sides at a path of the target.
    pub(super) fn locations(
        &self,
        relpath: &RelPath,
        range: Option<(Revnum, Revnum)>,
        left: Option<NodeKind>,
        right: Option<NodeKind>,
    ) -> [Location; 2] {
        let below = relpath.below(&self.target.relpath).unwrap_or_default();
        let location = |place: &RepoLocation, revision: Option<Revnum>, kind| Location {
            root: place.root.to_string(),
            uuid: Some(place.uuid.clone()),
            relpath: place.relpath.join(below),
            revision: Some(revision.unwrap_or(Revnum(place.revision))),
            kind,
        };
        let source = &self.source;
        [
            location(&source.left, range.map(|r| r.0), left),
            location(&source.right, range.map(|r| r.1), right),
        ]
    }

    /// The conflict's reason, where a move says more of it.
    fn exact_reason(&self, relpath: &RelPath, reason: Reason) -> SvnResult<Reason> {
        let wc = self.wc();
        let Some(view) = wc.view(relpath)? else { return Ok(reason) };
        Ok(match (reason, view.status()) {
            (Reason::Deleted, Status::Deleted) if wc.moved_to(&view)?.is_some() => {
                Reason::MovedAway
            }
            (Reason::Added, Status::Added) if wc.moved_from(&view)?.is_some() => Reason::MovedHere,
            _ => reason,
        })
    }

    /// Records a tree conflict, in place of `existing`.
    fn record_conflict(
        &mut self,
        victim: &Victim<'_>,
        existing: Option<&RecordedConflict>,
    ) -> SvnResult<Option<RecordedConflict>> {
        self.changed.insert(victim.relpath.to_owned());
        if self.notes_paths() {
            self.touched.tree_conflicts.insert(victim.relpath.to_owned());
        }
        self.conflicted.insert(victim.relpath.to_owned());
        if self.options.dry_run {
            return Ok(None);
        }
        let reason = self.exact_reason(victim.relpath, victim.reason)?;
        let mut range = None;
        if self.honors_mergeinfo() {
            // Not all revisions of the source need be what was merged here.
            let itself = victim.action != Action::Delete;
            let found = farthest(&self.paths, victim.relpath, itself).and_then(|found| found.1);
            range = found.map(|(start, end)| (Revnum(start), Revnum(end)));
        }
        let [mut left, right] = self.locations(victim.relpath, range, victim.left, victim.right);
        if let Some(known) = existing.and_then(|e| e.left.clone()) {
            left = known;
        }
        let mut conflict = Conflict::new(Operation::Merge, Some(left.clone()), Some(right));
        conflict.tree = Some(TreeConflict {
            reason,
            action: victim.action,
            move_source: None,
            move_destination: None,
        });
        if existing.is_some() {
            self.wc().remove_tree_conflict(victim.relpath)?;
        }
        self.wc().add_tree_conflict(victim.relpath, &conflict)?;
        Ok(Some(RecordedConflict { reason, local: victim.local, left: Some(left) }))
    }

    /// Notes and reports that a path is skipped.
    pub(super) fn record_skip(
        &mut self,
        relpath: &RelPath,
        kind: Option<NodeKind>,
        action: NotifyAction,
        state: State,
        below_shadow: bool,
    ) {
        if self.options.record_only {
            return;
        }
        if self.notes_paths() && !below_shadow {
            self.touched.skipped.insert(relpath.to_owned());
        }
        self.notify_begin(action, relpath, kind, |value| {
            value.content = state;
            value.props = state;
        });
    }

    /// Notes and reports that a path was added.
    pub(super) fn record_add(&mut self, relpath: &RelPath, kind: NodeKind, replaces: bool) {
        self.note_merged(relpath);
        let action = if replaces { NotifyAction::UpdateReplace } else { NotifyAction::UpdateAdd };
        self.notify_begin(action, relpath, Some(kind), |_| {});
    }

    /// Notes and reports that a path was changed.
    pub(super) fn record_change(
        &mut self,
        relpath: &RelPath,
        kind: NodeKind,
        content: State,
        props: State,
    ) {
        self.note_merged(relpath);
        self.notify_begin(NotifyAction::UpdateUpdate, relpath, Some(kind), |value| {
            value.content = content;
            value.props = props;
        });
    }

    fn note_merged(&mut self, relpath: &RelPath) {
        self.ctx.wc.meter.add_file();
        self.changed.insert(relpath.to_owned());
        if self.notes_paths() {
            self.touched.merged.insert(relpath.to_owned());
        }
    }
}

impl Apply<'_, '_> {
    /// Records a tree conflict and reports it, unless it is the second half of one.
    pub(super) fn conflict(
        &mut self,
        victim: &Victim<'_>,
        parent: Option<u64>,
        existing: Option<&RecordedConflict>,
        notify: bool,
    ) -> SvnResult<()> {
        if self.merge.options.record_only {
            return Ok(());
        }
        let recorded = self.merge.record_conflict(victim, existing)?;
        if let (Some(recorded), Some(parent)) = (recorded, parent) {
            self.node_mut(parent)?.recorded.insert(victim.relpath.to_owned(), recorded);
        }
        if notify {
            self.merge.notify_begin(
                NotifyAction::TreeConflict,
                victim.relpath,
                victim.local,
                |_| {},
            );
        }
        Ok(())
    }

    /// Notes a deletion. It is reported when it is clear that it is not a replacement.
    pub(super) fn deleted(
        &mut self,
        relpath: &RelPath,
        parent: Option<u64>,
        kind: NodeKind,
    ) -> SvnResult<()> {
        let merge = &mut *self.merge;
        merge.ctx.wc.meter.add_file();
        merge.changed.insert(relpath.to_owned());
        if merge.notes_paths() {
            merge.touched.added.remove(relpath);
            merge.touched.merged.insert(relpath.to_owned());
        }
        // Mergeinfo cannot be set on a deleted node.
        merge.paths.retain(|path| !path::is_ancestor(relpath, &path.relpath));
        if let Some(parent) = parent {
            self.node_mut(parent)?.pending.insert(relpath.to_owned(), kind);
        }
        Ok(())
    }

    /// Reports the waiting deletions of a directory.
    pub(super) fn notify_pending(&mut self, id: u64) -> SvnResult<()> {
        let pending = std::mem::take(&mut self.node_mut(id)?.pending);
        for (relpath, kind) in pending {
            self.merge.notify_begin(NotifyAction::UpdateDelete, &relpath, Some(kind), |_| {});
        }
        Ok(())
    }

    /// A node changes: the obstacle at the node or above it is reported and recorded now.
    pub(super) fn mark_edited(&mut self, id: u64) -> SvnResult<()> {
        let mut fresh = Vec::new();
        let mut at = Some(id);
        while let Some(id) = at {
            let node = self.node(id)?;
            if node.edited {
                break;
            }
            fresh.push(id);
            at = node.parent;
        }
        for id in fresh.into_iter().rev() {
            self.mark_one(id)?;
        }
        Ok(())
    }

    fn mark_one(&mut self, id: u64) -> SvnResult<()> {
        let check = self.check_of_parent(id)?;
        let node = self.node_mut(id)?;
        node.edited = true;
        if !node.shadowed || node.verdict == Verdict::None {
            return Ok(());
        }
        if let Some(check) = check {
            self.check_mut(check)?.differs = true;
            return Ok(());
        }
        let Node { relpath, parent, verdict, kind, skip_state, .. } = node;
        let (relpath, parent, kind, state) = (relpath.clone(), *parent, *kind, *skip_state);
        match *verdict {
            Verdict::Conflict(reason) => {
                let victim = Victim {
                    relpath: &relpath,
                    local: node.local_kind,
                    left: node.left_kind,
                    right: node.right_kind,
                    action: node.action,
                    reason,
                };
                self.conflict(&victim, parent, None, true)
            }
            verdict => {
                let action = match (verdict, kind) {
                    (Verdict::SkipWorkingCopy, NodeKind::Dir) => {
                        NotifyAction::UpdateSkipObstruction
                    }
                    _ => NotifyAction::Skip,
                };
                let merge = &mut *self.merge;
                merge.notify_begin(action, &relpath, Some(kind), |value| {
                    value.content = state;
                    value.props = state;
                });
                if merge.notes_paths() {
                    merge.touched.skipped.insert(relpath);
                }
                Ok(())
            }
        }
    }

    /// Handles a change of a shadowed node: a skip is reported unless the node's own verdict was.
    pub(super) fn shadowed(&mut self, id: u64, action: NotifyAction) -> SvnResult<bool> {
        let node = self.node(id)?;
        if !node.shadowed {
            return Ok(false);
        }
        if node.verdict == Verdict::None {
            let (relpath, kind, state) = (node.relpath.clone(), node.kind, node.skip_state);
            let below = match node.parent {
                Some(parent) => self.node(parent)?.shadowed,
                None => false,
            };
            self.merge.record_skip(&relpath, Some(kind), action, state, below);
        }
        Ok(true)
    }
}
