//! The walk over source and target trees.
//!
//! Directories that are open in the edit are [`Level`]s of an explicit stack: what it holds grows
//! with the depth of the tree, and with the number of report entries of one directory. What is sent of
//! one entry is in [`entry`].

mod entry;

use std::collections::HashSet;

use self::entry::{Depths, Entry, Source};
use sapwood_core::FsPath;
use sapwood_core::paths::{FsPathBuf, RelPath, RelPathBuf};
use sapwood_core::{CancelToken, Depth, ErrorCode, NodeKind, Revnum, SvnError, hashorder, path};
use sapwood_delta::{EditTarget, Editor, Handle};
use sapwood_fs::read_ahead::{BATCH as AHEAD_BATCH, ColdReads, Helper, NodesWanted};
use sapwood_fs::{Children, DirEntry, Directory, Filesystem, Node, RevpropsSnapshot, Root, Roots};

use super::backwards;
use super::spool::{Entries, PathInfo};
use crate::authorizer::{PathAuthorizer, SubtreeAccess};
use crate::error::Result;
use crate::locations::deleted_rev_in;
use crate::node_delta::Open;

/// One report being answered.
pub(super) struct Drive<'a> {
    pub(super) fs: &'a Filesystem,
    /// Trees in which deletions are searched.
    pub(super) roots: Roots,
    pub(super) revision: Revnum,
    pub(super) target_root: Root,
    /// Most recently used first.
    pub(super) source_roots: Roots,
    pub(super) uuid: String,
    pub(super) revprops: RevpropsSnapshot,
    pub(super) is_switch: bool,
    pub(super) text_deltas: bool,
    pub(super) ignore_ancestry: bool,
    pub(super) send_copyfrom_args: bool,
    pub(super) authorizer: &'a dyn PathAuthorizer,
    pub(super) cancel: &'a CancelToken,
    pub(super) entries: Entries,
    /// The next entry of the report that was not used yet.
    pub(super) lookahead: Option<PathInfo>,
    pub(super) ahead: ColdReads,
    /// The directory that is sent with all that is below it.
    pub(super) top: Option<Node>,
    /// Reads from its end, once that is needed.
    pub(super) backwards: Option<Helper>,
    pub(super) editor: &'a mut dyn Editor,
}

/// The path of an entry that the client names.
fn place_of(dir: &Node, name: &str) -> FsPathBuf {
    FsPathBuf::canonicalized(path::join(dir.path(), name))
}

/// A directory that is open in the edit.
struct Level {
    handle: Handle,
    /// The path in the edit, a relpath.
    path: RelPathBuf,
    source_revision: Revnum,
    source: Option<Node>,
    source_entries: Option<Directory>,
    /// Where in the source the next entry of the target may be.
    source_hint: usize,
    target: Node,
    target_entries: Directory,
    children: Children,
    /// In the order in which they are to be sent, where that is not the order of names.
    target_order: Option<Vec<u32>>,
    depths: Depths,
    /// Names that the report has handled, on either side.
    done_source: HashSet<String>,
    done_target: HashSet<String>,
    phase: Phase,
    /// Up to which entry of the target the system was given read-ahead hints.
    ahead: usize,
    /// Whether everything in the target directory may be read.
    readable: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Entries that the report mentions; then those that only the source has.
    Report,
    /// Entries of the target: the next one.
    Targets(usize),
}

impl Drive<'_> {
    /// Drives the editor from `open_root` to the root's `close_directory`.
    pub(super) fn run(
        &mut self,
        source_revision: Revnum,
        info: PathInfo,
        anchor: &FsPath,
        operand: &str,
        target_path: &FsPath,
        requested: Depth,
    ) -> Result<()> {
        let target_anchor = if operand.is_empty() { target_path } else { target_path.parent() };
        if !self.authorizer.readable(target_anchor)? {
            let message = "Not authorized to open root of edit operation";
            return Err(SvnError::new(ErrorCode::AUTHZ_ROOT_UNREADABLE, message).into());
        }
        let source_path = FsPathBuf::canonicalized(path::join(anchor, operand));
        let mut source = Source {
            revision: source_revision,
            node: self.source_root(source_revision)?.find(&source_path)?,
            path: Some(source_path),
        };
        let target = self.target_root.find(target_path)?;
        // What was only added in the working copy has no source.
        if info.revision.is_some() && info.link.is_none() && source.node.is_none() {
            source.path = None;
        }
        let depths = Depths { wc: info.depth, requested };
        if operand.is_empty() {
            let target = target_from_within(target, source.node.as_ref(), target_path)?;
            self.editor.set_target_revision(self.revision)?;
            self.send_node(&target)?;
            let root = self.editor.open_root(Some(source_revision))?;
            let level = self.level(
                root,
                RelPathBuf::default(),
                source,
                target,
                info.start_empty,
                depths,
                false,
            )?;
            return self.walk(level);
        }
        self.editor.set_target_revision(self.revision)?;
        let root = self.editor.open_root(Some(source_revision))?;
        let entry = Entry {
            source,
            target_path,
            target,
            parent: root,
            path: RelPath::new(operand).map_err(SvnError::from)?,
            depths,
            readable: false,
        };
        if let Some(level) = self.update_entry(entry, Some(&info))? {
            self.walk(level)?;
        }
        Ok(self.editor.close_directory(root)?)
    }

    /// Announces to the editor the node that the next call opens or adds.
    fn send_node(&mut self, target: &Node) -> Result<()> {
        let sha1 = if target.kind() == NodeKind::File { target.sha1()? } else { None };
        let revision = target.revision_here(self.revision);
        self.editor.leads_to(&EditTarget { path: target.path(), revision, sha1 });
        Ok(())
    }

    fn source_root(&mut self, revision: Revnum) -> Result<Root> {
        Ok(self.source_roots.get(revision)?)
    }

    /// Compares the properties of a directory that was just opened, and prepares the walk of its
    /// entries.
    #[allow(clippy::too_many_arguments, reason = "each is a fact of its own about two nodes")]
    fn level(
        &mut self,
        handle: Handle,
        path: RelPathBuf,
        source: Source,
        target: Node,
        start_empty: bool,
        depths: Depths,
        readable: bool,
    ) -> Result<Level> {
        let known = source.node.as_ref().filter(|_| !start_empty);
        self.delta_props(Open::Dir(handle), known, &target, None)?;
        let wanted = depths.requested > Depth::Empty || depths.requested == Depth::Unknown;
        let source_entries = match known {
            Some(node) if wanted => Some(node.entries()?),
            _ => None,
        };
        let children = if wanted { target.children()? } else { Children::default() };
        let target_entries = children.entries().clone();
        let readable =
            readable || self.authorizer.subtree(target.path())? == SubtreeAccess::Readable;
        Ok(Level {
            handle,
            path,
            source_revision: source.revision,
            source: source.node,
            source_entries,
            source_hint: 0,
            target_order: self.fs.sending_order(&target_entries),
            target,
            target_entries,
            children,
            depths,
            done_source: HashSet::new(),
            done_target: HashSet::new(),
            phase: if wanted { Phase::Report } else { Phase::Targets(usize::MAX) },
            ahead: 0,
            readable,
        })
    }

    /// Walks a directory and everything below it; closes all of them.
    fn walk(&mut self, first: Level) -> Result<()> {
        let is_whole =
            first.depths.requested > Depth::Immediates || first.depths.requested == Depth::Unknown;
        if first.source_entries.is_none() && self.text_deltas && is_whole {
            self.top = Some(first.target.clone());
        }
        let mut stack = vec![first];
        while let Some(level) = stack.last_mut() {
            let opened = match level.phase {
                Phase::Report => self.next_reported(level)?,
                Phase::Targets(at) => match self.next_target(level, at)? {
                    Some(opened) => opened,
                    None => {
                        let handle = level.handle;
                        stack.pop();
                        self.editor.close_directory(handle)?;
                        continue;
                    }
                },
            };
            if let Some(level) = opened {
                stack.push(level);
            }
            if self.cancel.is_cancelled() {
                return Err(SvnError::new(ErrorCode::CANCELLED, "").into());
            }
        }
        Ok(())
    }

    /// Handles the next entry of the report in a directory.
    fn next_reported(&mut self, level: &mut Level) -> Result<Option<Level>> {
        let Some((name, info)) = self.fetch(&level.path)? else {
            self.deletions(level)?;
            level.phase = Phase::Targets(0);
            return Ok(None);
        };
        let excluded = info.as_ref().is_some_and(|info| info.depth == Depth::Exclude);
        if info.as_ref().is_some_and(|info| info.revision.is_none()) && !excluded {
            // Deletions come before additions that replace nothing, so that clients on
            // case-insensitive file systems survive a renaming in case only: here the name only
            // leaves the source.
            if level.source_entries.is_some() {
                level.done_source.insert(name);
            }
            return Ok(None);
        }
        let done = |set: &HashSet<String>| set.contains(&name);
        let has_target = !done(&level.done_target) && level.target_entries.find(&name).is_some();
        let has_source = !done(&level.done_source)
            && level.source_entries.as_ref().is_some_and(|s| s.find(&name).is_some());
        let target = if has_target { level.target.child(&name)? } else { None };
        let source = match &level.source {
            Some(dir) if has_source => dir.child(&name)?,
            _ => None,
        };
        let is_dir =
            |node: &Option<Node>| node.as_ref().is_some_and(|node| node.kind() == NodeKind::Dir);
        let too_deep =
            level.depths.requested == Depth::Files && (is_dir(&target) || is_dir(&source));
        let mut opened = None;
        if !too_deep && !excluded {
            let below = level.depths.below();
            let wc = info.as_ref().map_or(below.wc, |info| info.depth);
            let source_path = level.source.as_ref().map(|dir| place_of(dir, &name));
            let entry = Entry {
                source: Source { revision: level.source_revision, path: source_path, node: source },
                target_path: &place_of(&level.target, &name),
                target,
                parent: level.handle,
                // A report may name a path that is not canonical, which leaves an empty name.
                path: &level.path.join(RelPath::trusted(&name)),
                depths: Depths { wc, requested: below.requested },
                readable: level.readable,
            };
            opened = self.update_entry(entry, info.as_ref())?;
        }
        // What is reported as excluded and is gone from the repository is deleted later.
        if level.source_entries.is_some() && (info.is_none() || !excluded || has_target) {
            level.done_source.insert(name.clone());
        }
        level.done_target.insert(name);
        Ok(opened)
    }

    /// The next entry of the report at or below an immediate child of `prefix`: the child's name,
    /// and the entry if it is the child's own.
    fn fetch(&mut self, prefix: &str) -> Result<Option<(String, Option<PathInfo>)>> {
        let Some(info) = self.lookahead.as_ref() else { return Ok(None) };
        let Some(below) = relevant(info, prefix) else { return Ok(None) };
        if let Some((name, _)) = below.split_once('/') {
            return Ok(Some((name.to_owned(), None)));
        }
        let name = below.to_owned();
        let next = self.entries.next()?;
        let info = std::mem::replace(&mut self.lookahead, next);
        Ok(Some((name, info)))
    }

    /// Skips the entries of the report below `prefix`.
    fn skip(&mut self, prefix: &str) -> Result<()> {
        while self.any_below(prefix) {
            self.lookahead = self.entries.next()?;
        }
        Ok(())
    }

    fn any_below(&self, prefix: &str) -> bool {
        self.lookahead.as_ref().is_some_and(|info| relevant(info, prefix).is_some())
    }

    /// Deletes the entries that the target does not have.
    fn deletions(&mut self, level: &Level) -> Result<()> {
        let source_entries = match &level.source_entries {
            Some(entries) if !entries.is_same(&level.target_entries) => entries,
            _ => return Ok(()),
        };
        let Depths { wc, requested } = level.depths;
        let mut hint = 0;
        let mut gone = |entry: &DirEntry<'_>| {
            let name = entry.name;
            let there = level.target_entries.find_next(name, &mut hint).is_some()
                && !level.done_target.contains(name);
            // The working copy is too shallow to have it.
            let not_there_either = match entry.kind {
                NodeKind::File => wc < Depth::Files,
                NodeKind::Dir => wc < Depth::Immediates || requested == Depth::Files,
            };
            !there && !level.done_source.contains(name) && !not_there_either
        };
        let mut names: Vec<&str> =
            source_entries.iter().filter(&mut gone).map(|entry| entry.name).collect();
        if names.len() > 1 {
            // The names are in order so far.
            let order = hashorder::order(source_entries.iter().map(|entry| entry.name));
            let walk =
                order.into_iter().filter_map(|at| source_entries.get(usize::try_from(at).ok()?));
            let is_gone = |entry: &DirEntry<'_>| names.binary_search(&entry.name).is_ok();
            names = walk.filter(is_gone).map(|entry| entry.name).collect();
        }
        for name in names {
            let target_path = level.target.path().child(name);
            let revision = deleted_rev_in(
                &mut self.roots,
                &target_path,
                level.source_revision,
                self.revision,
                self.cancel,
            )?;
            let edit_path = level.path.child(name);
            self.editor.delete_entry(&edit_path, revision, level.handle)?;
        }
        Ok(())
    }

    /// Hints which entries of a directory come next.
    fn read_ahead(&mut self, level: &mut Level, from: usize) {
        level.ahead = from.saturating_add(AHEAD_BATCH);
        if !self.ahead.is_cold() {
            return;
        }
        if let Some(top) = &self.top
            && let Some(backwards) = backwards::start(self.fs, top)
        {
            self.backwards = Some(backwards);
            self.top = None;
        }
        let deep =
            level.depths.requested > Depth::Files || level.depths.requested == Depth::Unknown;
        let order = level.target_order.as_deref();
        let mut ids = Vec::new();
        for at in from..level.ahead {
            let Some(entry) = nth(&level.target_entries, order, at) else { break };
            if level.done_target.contains(entry.name) || (entry.kind == NodeKind::Dir && !deep) {
                continue;
            }
            let source = level.source_entries.as_ref().and_then(|s| s.find(entry.name));
            match source {
                Some(source) if source.id == entry.id => {}
                Some(source) => ids.extend([source.id, entry.id]),
                None => ids.push(entry.id),
            }
        }
        let wanted = NodesWanted { texts: self.text_deltas, entries: deep, props: true };
        self.fs.will_need_nodes(&ids, wanted, Some(&mut self.revprops));
    }

    /// Brings the next entry of the target up to date; `None` when there are no more.
    fn next_target(&mut self, level: &mut Level, from: usize) -> Result<Option<Option<Level>>> {
        let entries = level.target_entries.clone();
        let mut at = from;
        if from >= level.ahead {
            self.read_ahead(level, from);
        }
        while let Some(place) = nth_place(&entries, level.target_order.as_deref(), at) {
            let Some(entry) = entries.get(place) else { break };
            at += 1;
            if level.done_target.contains(entry.name) {
                continue;
            }
            let is_upgrade = level.depths.is_upgrade(entry.kind);
            if !is_upgrade && level.depths.is_too_shallow(entry.kind) {
                continue;
            }
            let source_entry = match level.source_entries.as_ref() {
                Some(found) if !is_upgrade && !level.done_source.contains(entry.name) => {
                    found.find_next(entry.name, &mut level.source_hint)
                }
                _ => None,
            };
            let depths = level.depths.below();
            // Most entries did not change: find that out without opening nodes.
            let same = source_entry.is_some_and(|s| s.id == entry.id)
                && (depths.requested <= depths.wc || entry.kind == NodeKind::File);
            if same && self.lookahead.is_none() {
                continue;
            }
            let edit_path = level.path.child(entry.name);
            if same && !self.any_below(&edit_path) {
                continue;
            }
            level.phase = Phase::Targets(at);
            let source_node = match (&level.source, source_entry) {
                (Some(dir), Some(entry)) => Some(dir.child_of(&entry)?),
                _ => None,
            };
            let target = level.children.node(&level.target, place)?;
            let target_path = target.shared_path();
            let entry = Entry {
                source: Source {
                    revision: level.source_revision,
                    path: source_node.as_ref().map(|node| node.path().to_owned()),
                    node: source_node,
                },
                target_path: &target_path,
                target: Some(target),
                parent: level.handle,
                path: &edit_path,
                depths,
                readable: level.readable,
            };
            return Ok(Some(self.update_entry(entry, None)?));
        }
        Ok(None)
    }
}

/// The target of an edit of a directory itself, which must be one, as its source.
fn target_from_within(
    target: Option<Node>,
    source: Option<&Node>,
    target_path: &FsPath,
) -> Result<Node> {
    let wrong = |message: String| SvnError::new(ErrorCode::FS_PATH_SYNTAX, message);
    let missing = || wrong(format!("Target path '{target_path}' does not exist"));
    let target = target.ok_or_else(missing)?;
    let is_dir = |node: &Node| node.kind() == NodeKind::Dir;
    if !source.is_some_and(is_dir) || !is_dir(&target) {
        return Err(wrong("Cannot replace a directory from within".to_owned()).into());
    }
    Ok(target)
}

/// What is left of an entry's path below `prefix`, if it is below it.
fn relevant<'i>(info: &'i PathInfo, prefix: &str) -> Option<&'i str> {
    path::skip_ancestor(prefix, &info.path).filter(|below| !below.is_empty())
}

/// Where the entry is that is sent as number `at`.
fn nth_place(entries: &Directory, order: Option<&[u32]>, at: usize) -> Option<usize> {
    let place = match order {
        None => at,
        Some(order) => usize::try_from(*order.get(at)?).ok()?,
    };
    (place < entries.len()).then_some(place)
}

fn nth<'d>(entries: &'d Directory, order: Option<&[u32]>, at: usize) -> Option<DirEntry<'d>> {
    entries.get(nth_place(entries, order, at)?)
}
