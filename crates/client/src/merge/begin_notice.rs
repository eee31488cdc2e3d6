//! The line that says which revisions come next: printed once before the first path that they touch.

use sapwood_core::mergeinfo::MergeRange;
use sapwood_core::notify::{Action, Notify};
use sapwood_core::paths::RelPath;
use sapwood_core::{NodeKind, Revnum};

use super::Merge;
use super::paths::{farthest, nearest};

impl Merge<'_> {
    /// A value about a path of the working copy.
    pub(super) fn notify_begin(
        &mut self,
        action: Action,
        relpath: &RelPath,
        kind: Option<NodeKind>,
        fill: impl FnOnce(&mut Notify<'_>),
    ) {
        self.begin(relpath, action == Action::UpdateDelete);
        let path = self.wc().abspath(relpath);
        let shown = path.to_string_lossy();
        let mut value = Notify { kind, ..Notify::new(action, &shown) };
        fill(&mut value);
        self.ctx.notify(&value);
    }

    /// Says which revisions come, unless the same was said last.
    fn begin(&mut self, relpath: &RelPath, deletion: bool) {
        if self.ctx.notify.is_none() {
            return;
        }
        if !self.source.ancestral {
            if self.begun.is_none() {
                self.begun = Some(self.target.relpath.clone());
                self.notify_range(&self.target.relpath.clone(), None);
            }
            return;
        }
        // A deletion belongs to what is above it. Only of a file that is the target itself, and is
        // replaced, nothing is above.
        let found = farthest(&self.paths, relpath, !deletion)
            .or_else(|| nearest(&self.paths, relpath, true).map(|path| (path, None)));
        let Some((path, range)) = found else { return };
        if self.begun.as_ref() == Some(&path.relpath) {
            return;
        }
        let (at, absent) = (path.relpath.clone(), path.absent);
        self.begun = Some(at.clone());
        if let Some((start, end)) = range.filter(|_| !absent) {
            let range = self.without_gap(start, end);
            self.notify_range(&at, Some(range));
        }
    }

    /// A range without the revisions in which the source was not there.
    fn without_gap(&self, start: u64, end: u64) -> (u64, u64) {
        match self.gap {
            Some(MergeRange { start: from, end: to, .. }) if start < end && from == start => {
                (to, end)
            }
            Some(MergeRange { start: from, end: to, .. }) if start >= end && from == end => {
                (start, to)
            }
            _ => (start, end),
        }
    }

    fn notify_range(&self, relpath: &RelPath, range: Option<(u64, u64)>) {
        let action = if self.same_repos { Action::MergeBegin } else { Action::ForeignMergeBegin };
        let path = self.wc().abspath(relpath);
        let shown = path.to_string_lossy();
        let range = range.map(|(start, end)| (Revnum(start), Revnum(end)));
        self.ctx.notify(&Notify { range, ..Notify::new(action, &shown) });
    }
}
