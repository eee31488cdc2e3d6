//! Which nodes of the target need ranges of their own: those with mergeinfo, switched ones, those
//! that are not there, with what is around them, and what a merge of less than all depth reaches.
//!
//! They are kept in the order of paths, so that a node comes after what is above it; the target is
//! the first.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::ops::Bound;

use sapwood_core::paths::{RelPath, RelPathBuf};
use sapwood_core::{Depth, ErrorCode, Inherit, SvnError, SvnResult, path};
use sapwood_wc::WorkingCopy;
use sapwood_wc::db::{Kind, NodeRow, Presence, parent_of};
use sapwood_wc::status::{Options, State};

use super::Merge;
use super::paths::MergePath;
use super::record::write_one;
use crate::mergeinfo::Mergeinfo;
use crate::mergeinfo::local::{Invalid, find, values_below};

/// A path in the order of paths.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Key(RelPathBuf);

impl Ord for Key {
    fn cmp(&self, other: &Self) -> Ordering {
        path::compare(&self.0, &other.0)
    }
}

impl PartialOrd for Key {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// The paths found so far.
struct Subtrees<'m> {
    wc: &'m WorkingCopy,
    target: &'m RelPath,
    depth: Depth,
    found: BTreeMap<Key, MergePath>,
}

/// Finds the nodes. Children that inherit less than their parent has get that as mergeinfo of their
/// own now, because the parent's will change before they are looked at (not in a dry run).
///
/// # Errors
/// E195021 for invalid mergeinfo, E195016 for nodes that are missing on disk.
pub(super) fn collect(merge: &Merge<'_>) -> SvnResult<Vec<MergePath>> {
    let mut subtrees = Subtrees {
        wc: merge.wc(),
        target: &merge.target.relpath,
        depth: merge.depth(),
        found: BTreeMap::new(),
    };
    subtrees.add_explicit()?;
    if !subtrees.add_if_ordinary(merge)? {
        subtrees.add_by_status(merge)?;
        for relpath in merge.wc().excluded_below(subtrees.target)? {
            subtrees.at(&relpath).absent = true;
        }
    }
    let target = subtrees.target.to_owned();
    subtrees.at(&target);
    subtrees.add_immediates()?;
    if subtrees.depth > Depth::Empty {
        let records = !merge.options.dry_run && merge.same_repos;
        subtrees.add_around(merge, records)?;
    }
    Ok(subtrees.found.into_values().collect())
}

impl Subtrees<'_> {
    /// The entry of a path, which is made if missing.
    fn at(&mut self, relpath: &RelPath) -> &mut MergePath {
        self.found
            .entry(Key(relpath.to_owned()))
            .or_insert_with(|| MergePath::new(relpath.to_owned()))
    }

    fn has(&self, relpath: &RelPath) -> bool {
        self.found.contains_key(&Key(relpath.to_owned()))
    }

    fn is_file(&self, relpath: &RelPath) -> SvnResult<bool> {
        Ok(self.wc.db().top(relpath)?.is_some_and(|row| row.kind == Kind::File))
    }

    /// Nodes with mergeinfo, as deep as the merge goes.
    fn add_explicit(&mut self) -> SvnResult<()> {
        for (relpath, value) in values_below(self.wc, self.target)? {
            let below = path::rest_below(self.target, &relpath)?;
            let reached = match self.depth {
                Depth::Infinity => true,
                _ if below.is_empty() => true,
                Depth::Immediates => !below.contains('/'),
                Depth::Files => !below.contains('/') && self.is_file(&relpath)?,
                _ => false,
            };
            let row = self.wc.db().top(&relpath)?;
            if !reached || row.is_some_and(|row| row.file_external) {
                continue;
            }
            let mergeinfo = Mergeinfo::parse(&value).map_err(|error| {
                let shown = self.wc.abspath(&relpath);
                error.wrap(
                    ErrorCode::CLIENT_INVALID_MERGEINFO_NO_MERGETRACKING,
                    format!(
                        "Invalid mergeinfo detected on '{}', merge tracking not possible",
                        shown.display()
                    ),
                )
            })?;
            let entry = self.at(&relpath);
            entry.has_noninheritable = mergeinfo.has_noninheritable();
            entry.before = Some(mergeinfo);
        }
        Ok(())
    }

    /// Adds the directories without some of their children, if the target has no other subtrees. Returns whether
    /// that is so.
    fn add_if_ordinary(&mut self, merge: &Merge<'_>) -> SvnResult<bool> {
        if self.depth != Depth::Infinity {
            return Ok(false);
        }
        let found = self.wc.shallow_if_ordinary(self.target, merge.ctx.cancel())?;
        for relpath in found.iter().flatten() {
            self.at_shallow(relpath);
        }
        Ok(found.is_some())
    }

    /// What is recorded at such a directory is not for its children, whether or not it has such mergeinfo now.
    fn at_shallow(&mut self, relpath: &RelPath) {
        let entry = self.at(relpath);
        entry.missing_child = true;
        entry.has_noninheritable = true;
    }

    /// Switched nodes and directories without some of their children; nothing may be missing on disk.
    fn add_by_status(&mut self, merge: &Merge<'_>) -> SvnResult<()> {
        let options = Options {
            depth: self.depth,
            all: true,
            kinds_only: true,
            unversioned: false,
            cancel: merge.ctx.cancel().clone(),
            ..Options::default()
        };
        let mut missing: Vec<RelPathBuf> = Vec::new();
        let mut switched: Vec<RelPathBuf> = Vec::new();
        let mut shallow: Vec<RelPathBuf> = Vec::new();
        self.wc.status(self.target, &options, &mut |status| {
            if status.switched && !status.file_external {
                switched.push(status.relpath.clone());
            }
            if matches!(status.depth, Some(Depth::Empty | Depth::Files)) {
                shallow.push(status.relpath.clone());
            }
            // The paths below a missing directory come right after it.
            if status.node == State::Missing
                && missing.last().is_none_or(|last| !path::is_ancestor(last, &status.relpath))
            {
                missing.push(status.relpath);
            }
            Ok(())
        })?;
        if !missing.is_empty() {
            let mut words = "Merge tracking not allowed with missing subtrees; try restoring \
                             these items first:\n"
                .to_owned();
            for relpath in missing {
                words.push_str(&self.wc.abspath(&relpath).display().to_string());
                words.push('\n');
            }
            return Err(SvnError::new(ErrorCode::CLIENT_NOT_READY_TO_MERGE, words));
        }
        for relpath in switched {
            self.at(&relpath).switched = true;
        }
        for relpath in shallow {
            self.at_shallow(&relpath);
        }
        Ok(())
    }

    /// Children of the target that a merge of this depth reaches no further than.
    fn add_immediates(&mut self) -> SvnResult<()> {
        if !matches!(self.depth, Depth::Immediates | Depth::Files) {
            return Ok(());
        }
        for (relpath, kind) in self.children(self.target)? {
            let dir = kind == Some(Kind::Dir) && self.depth == Depth::Immediates;
            let file = kind == Some(Kind::File) && self.depth == Depth::Files;
            if (dir || file) && !self.has(&relpath) {
                self.at(&relpath).immediate_dir = dir;
            }
        }
        Ok(())
    }

    /// Children of a directory, deleted and hidden ones too, which have no kind.
    fn children(&self, relpath: &RelPath) -> SvnResult<Vec<(RelPathBuf, Option<Kind>)>> {
        let db = self.wc.db();
        let layer = db.top(relpath)?.map_or(0, |row| row.op_depth);
        let kind = |row: &NodeRow| row.presence.is_there().then_some(row.kind);
        let rows = db.children_top(relpath)?.into_iter();
        Ok(rows
            .filter(|row| {
                row.op_depth > layer
                    || (row.op_depth == layer && row.presence != Presence::BaseDeleted)
            })
            .map(|row| (row.relpath.clone(), kind(&row)))
            .collect())
    }

    /// Children and siblings that cannot go with their parents: the list grows while it is walked.
    fn add_around(&mut self, merge: &Merge<'_>, records: bool) -> SvnResult<()> {
        let mut at = Some(Key(self.target.to_owned()));
        while let Some(key) = at {
            let Some(entry) = self.found.get(&key) else { break };
            let (absent, switched) = (entry.absent, entry.switched);
            let is_target = key.0 == self.target;
            if entry.has_noninheritable && (is_target || self.depth == Depth::Infinity) {
                self.add_children_of_noninheritable(merge, &key.0, records)?;
            }
            if absent || (switched && !is_target) {
                self.add_siblings(&key.0, absent, switched)?;
            }
            let rest = (Bound::Excluded(&key), Bound::Unbounded);
            at = self.found.range::<Key, _>(rest).next().map(|(next, _)| next.clone());
        }
        Ok(())
    }

    fn add_children_of_noninheritable(
        &mut self,
        merge: &Merge<'_>,
        relpath: &RelPath,
        records: bool,
    ) -> SvnResult<()> {
        for (child, kind) in self.children(relpath)? {
            if self.has(&child) || (self.depth == Depth::Files && kind != Some(Kind::File)) {
                continue;
            }
            self.at(&child).child_of_noninheritable = true;
            if records {
                let limit = Some(self.target);
                let found =
                    find(self.wc, &child, Inherit::NearestAncestor, limit, Invalid::Refuse)?;
                write_one(self.wc, &merge.undo, &child, found.mergeinfo.as_ref(), None)?;
            }
        }
        Ok(())
    }

    /// The parent of a node that is not there or elsewhere, and the node's siblings.
    fn add_siblings(&mut self, relpath: &RelPath, absent: bool, switched: bool) -> SvnResult<()> {
        let Some(parent) = parent_of(relpath).map(RelPath::to_owned) else { return Ok(()) };
        let entry = self.at(&parent);
        entry.missing_child = absent;
        entry.switched_child = switched;
        for (child, kind) in self.children(&parent)? {
            if !self.has(&child) && (self.depth != Depth::Files || kind == Some(Kind::File)) {
                self.at(&child);
            }
        }
        Ok(())
    }
}
