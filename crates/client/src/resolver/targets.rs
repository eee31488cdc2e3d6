//! Nodes of the working copy that stand for what a move leads to.

use sapwood_core::paths::{RelPath, RelPathBuf};
use sapwood_core::{NodeKind, SvnResult, path};
use sapwood_wc::conflict::Conflict;
use sapwood_wc::view::Status;

use super::details::Targets;
use super::moves::Move;
use super::{Action, TreeConflict};

impl Targets {
    fn add(&mut self, place: &RelPath, nodes: Vec<RelPathBuf>) {
        self.places.retain(|(known, _)| known != place);
        self.places.push((place.to_owned(), nodes));
        self.places.sort_by(|a, b| path::compare(&a.0, &b.0));
    }

    /// The paths of the repository.
    pub fn places(&self) -> impl Iterator<Item = &RelPath> {
        self.places.iter().map(|(place, _)| place.as_path())
    }

    /// The chosen one.
    #[must_use]
    pub fn place(&self) -> Option<&RelPath> {
        self.places.get(self.place).map(|(place, _)| place.as_path())
    }

    /// The nodes of the working copy that stand for the chosen location.
    #[must_use]
    pub fn nodes(&self) -> &[RelPathBuf] {
        self.places.get(self.place).map_or(&[], |(_, nodes)| nodes)
    }

    /// The chosen one.
    #[must_use]
    pub fn node(&self) -> Option<&RelPath> {
        self.nodes().get(self.node).map(RelPathBuf::as_path)
    }

    /// Chooses a location; the first node of it is chosen with it.
    pub const fn choose_place(&mut self, place: usize) {
        self.place = place;
        self.node = 0;
    }

    /// Chooses a node of the chosen location.
    pub const fn choose_node(&mut self, node: usize) {
        self.node = node;
    }

    /// Whether there is no choice.
    pub(super) fn is_clear(&self) -> bool {
        self.places.len() == 1 && self.nodes().len() == 1
    }
}

impl TreeConflict<'_> {
    /// The working copy's nodes at all locations that moves lead to.
    pub(super) fn targets_of(
        &self,
        moves: &[Move],
        kind: Option<NodeKind>,
        victim: (&RelPath, u64),
    ) -> SvnResult<Targets> {
        let mut targets = Targets::default();
        for one in moves {
            self.follow_targets(one, kind, victim, &mut targets)?;
        }
        Ok(targets)
    }

    fn follow_targets(
        &self,
        one: &Move,
        kind: Option<NodeKind>,
        victim: (&RelPath, u64),
        targets: &mut Targets,
    ) -> SvnResult<()> {
        let mut nodes = Vec::new();
        for relpath in self.likely_targets(&one.to, kind)? {
            let Some((_, place, revision)) = self.origin(&relpath)? else { continue };
            if revision != victim.1
                && self.repository.meeting(self.ctx, victim, (&place, revision))?.is_none()
            {
                continue;
            }
            nodes.push(relpath);
        }
        if !nodes.is_empty() {
            targets.add(&one.to, nodes);
        }
        one.next.iter().try_for_each(|next| self.follow_targets(next, kind, victim, targets))
    }

    /// Where a node comes from: whether it is a copy, path and revision; `None` of what is new or deleted.
    pub(super) fn origin(&self, relpath: &RelPath) -> SvnResult<Option<(bool, RelPathBuf, u64)>> {
        let Some(view) = self.wc.view(relpath)? else { return Ok(None) };
        Ok(match view.status() {
            Status::Normal | Status::Incomplete => {
                let row = view.top();
                row.repos_path.clone().zip(row.revision).map(|(at, r)| (false, at, r.0))
            }
            Status::Added => {
                let origin = self.wc.origin(&view)?;
                origin.map(|origin| (true, origin.repos_path, origin.revision.0))
            }
            _ => None,
        })
    }

    /// Nodes from a path of the repository that could take a change: those that are closer to the node in
    /// conflict come first.
    fn likely_targets(
        &self,
        place: &RelPath,
        kind: Option<NodeKind>,
    ) -> SvnResult<Vec<RelPathBuf>> {
        let wc = &self.wc;
        let mut found: Vec<RelPathBuf> = Vec::new();
        let mut longest = 0;
        for relpath in wc.nodes_from(place)? {
            let Some(view) = wc.view(&relpath)? else { continue };
            let conflict = view.conflict_data().map(Conflict::parse).transpose()?;
            let fits = matches!(view.status(), Status::Normal | Status::Added)
                && (kind.is_none() || view.kind() == kind)
                && conflict.is_none_or(|conflict| conflict.tree.is_none());
            if !fits || relpath.is_empty() || wc.is_switched(&relpath)? {
                continue;
            }
            let common = relpath.common_ancestor(&self.relpath).len();
            if common >= longest {
                longest = common;
                found.insert(0, relpath);
            } else {
                found.push(relpath);
            }
        }
        Ok(found)
    }

    /// Nodes of the working copy that have the name that a node had before it moved on the other branch, and
    /// are related to it.
    pub(super) fn siblings_of(
        &self,
        moves: &[Move],
        kind: Option<NodeKind>,
        related: (&RelPath, u64),
    ) -> SvnResult<Vec<RelPathBuf>> {
        let mut names = Vec::new();
        moves.iter().for_each(|one| names_before(one, &mut names));
        let mut siblings = Vec::new();
        for name in names {
            for relpath in self.wc.nodes_named(name, kind)? {
                let Some((_, place, revision)) = self.origin(&relpath)? else { continue };
                if self.repository.meeting(self.ctx, related, (&place, revision))?.is_some() {
                    siblings.push(relpath);
                }
            }
        }
        Ok(siblings)
    }
}

/// The names that a node had before each move.
fn names_before<'m>(one: &'m Move, names: &mut Vec<&'m str>) {
    names.push(path::basename(&one.from));
    one.next.iter().for_each(|next| names_before(next, names));
}

impl TreeConflict<'_> {
    /// Paths of the repository that the node may have moved to, as the user may choose.
    #[must_use]
    pub fn choosable_places(&self) -> Vec<&RelPath> {
        self.chosen_targets().map_or_else(Vec::new, |targets| targets.places().collect())
    }

    /// Nodes of the working copy that the node may be now, as the user may choose.
    #[must_use]
    pub fn choosable_nodes(&self) -> &[RelPathBuf] {
        use super::Local;
        if self.edit_of_missing() {
            let Some(missing) = self.missing() else { return &[] };
            return if missing.siblings.is_empty() {
                missing.targets.nodes()
            } else {
                &missing.siblings
            };
        }
        match &self.local {
            Some(Local::Copies { paths, .. }) if self.action == Action::Delete => paths,
            _ => self.chosen_targets().map_or(&[], Targets::nodes),
        }
    }

    /// Whether a merge has an edit of a missing node.
    pub(super) fn edit_of_missing(&self) -> bool {
        self.is_merge() && self.action == Action::Edit && self.reason == super::Reason::Missing
    }

    fn chosen_targets(&self) -> Option<&Targets> {
        if self.edit_of_missing() {
            return self.missing().map(|missing| &missing.targets);
        }
        self.deletion().map(|deletion| &deletion.targets)
    }

    fn chosen_targets_mut(&mut self) -> Option<&mut Targets> {
        use super::{IncomingDetails, Local};
        if self.edit_of_missing() {
            return match &mut self.local {
                Some(Local::Missing(missing)) => Some(&mut missing.targets),
                _ => None,
            };
        }
        match &mut self.incoming {
            Some(IncomingDetails::Deletion(deletion)) => Some(&mut deletion.targets),
            _ => None,
        }
    }

    /// Chooses one of [`TreeConflict::choosable_places`].
    pub fn choose_place(&mut self, at: usize) {
        if let Some(targets) = self.chosen_targets_mut() {
            targets.choose_place(at);
        }
    }

    /// Chooses one of [`TreeConflict::choosable_nodes`].
    pub fn choose_node(&mut self, at: usize) {
        use super::Local;
        let edit = self.edit_of_missing();
        match &mut self.local {
            Some(Local::Missing(missing)) if edit && !missing.siblings.is_empty() => {
                missing.chosen_sibling = at;
            }
            Some(Local::Copies { chosen, .. }) if self.action == Action::Delete => *chosen = at,
            _ => {
                if let Some(targets) = self.chosen_targets_mut() {
                    targets.choose_node(at);
                }
            }
        }
    }
}
