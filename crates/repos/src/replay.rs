//! A revision as a series of editor calls, as it was committed.

use sapwood_core::Exact;
use sapwood_core::FsPath;
use sapwood_core::RelPath;
use sapwood_core::paths::FsPathBuf;
use sapwood_core::paths::RelPathBuf;
use std::sync::Arc;

use sapwood_core::{
    CancelToken, ErrorCode, NodeKind, ReplayRequest, Revnum, SvnError, hashorder, path,
};
use sapwood_delta::{Editor, Handle};
use sapwood_fs::{ChangeKind, ChangedPath, ChangedPaths, Directory, Node, Root, Roots};

use crate::authorizer::PathAuthorizer;
use crate::error::Result;
use crate::node_delta::{NoDelta, Open, send_node_props, send_prop_changes};

/// Drives `editor` with what is at and below `base_path` (a relpath, empty for everything) of what the revision or transaction of `root` changed, up to the root's
/// `close_directory`; the caller closes the edit. When nothing relevant changed no root is opened.
///
/// # Errors
/// E160020 when the root itself is said to be added; what the editor returns; corruption and system
/// errors.
pub fn replay(
    root: &Root,
    base_path: &RelPath,
    request: ReplayRequest,
    authorizer: &dyn PathAuthorizer,
    cancel: &CancelToken,
    editor: &mut dyn Editor,
) -> Result<()> {
    if root.revision() == Some(Revnum::ZERO) {
        return Ok(editor.set_target_revision(Revnum::ZERO)?);
    }
    let base = base_path;
    let changes = root.changed_paths()?;
    let mut live = vec![false; changes.len()];
    for (change, live) in changes.iter().zip(&mut live) {
        let relpath = change.path.to_relpath();
        *live = (relpath.is_at_or_below(base) || base.is_at_or_below(relpath))
            && authorizer.readable(change.path)?;
    }
    let mut roots = Roots::new(root.fs());
    let compare = if request.send_deltas {
        let base = root.base_revision();
        let before =
            if root.revision().is_some() { Revnum(base.0.saturating_sub(1)) } else { base };
        Some(roots.get(before)?)
    } else {
        None
    };
    if let Some(revision) = root.revision() {
        editor.set_target_revision(revision)?;
    }
    let mut drive = Drive {
        root,
        compare,
        roots,
        base,
        low_water_mark: request.low_water_mark,
        authorizer,
        cancel,
        editor,
        changes: Arc::clone(&changes),
        live: live.clone(),
        copies: Vec::new(),
        open: Vec::new(),
        last: None,
    };
    for (at, change) in changes.iter().enumerate() {
        cancel.check()?;
        // Paths that an added subtree has handled meanwhile are visited nevertheless.
        if live.get(at) == Some(&true) {
            drive.step(at, change.path.to_relpath())?;
        }
    }
    while let Some(dir) = drive.open.pop() {
        drive.editor.close_directory(dir)?;
    }
    Ok(())
}

/// A directory that was added with history and is open. `source` is `None` for one that was added
/// without history below it.
struct ActiveCopy {
    path: RelPathBuf,
    source: Option<(Revnum, FsPathBuf)>,
}

struct Drive<'a> {
    root: &'a Root,
    /// The tree before; only when deltas are wanted.
    compare: Option<Root>,
    /// Trees that were copied from.
    roots: Roots,
    base: &'a RelPath,
    low_water_mark: Revnum,
    authorizer: &'a dyn PathAuthorizer,
    cancel: &'a CancelToken,
    editor: &'a mut dyn Editor,
    changes: Arc<ChangedPaths>,
    /// The relevant changes that were not handled yet.
    live: Vec<bool>,
    copies: Vec<ActiveCopy>,
    /// The directories that are open, root first.
    open: Vec<Handle>,
    /// The path of the innermost open directory.
    last: Option<RelPathBuf>,
}

/// What a node's text and properties are sent relative to.
enum Base {
    Nothing,
    /// The same path in the tree before.
    Before,
    At(Revnum, FsPathBuf),
}

impl Drive<'_> {
    /// Goes to `relpath`, closing and opening directories on the way, and sends its change.
    fn step(&mut self, at: usize, relpath: &RelPath) -> Result<()> {
        if self.last.is_none() && !relpath.is_empty() {
            let root = self.editor.open_root(None)?;
            self.open.push(root);
        }
        let last = self.last.take().unwrap_or_default();
        let common = last.common_ancestor(relpath);
        let below = last.rest_below(common)?;
        for _ in below.names() {
            if let Some(dir) = self.open.pop() {
                self.editor.close_directory(dir)?;
            }
        }
        let parent = relpath.parent();
        let mut here = common.to_owned();
        for name in parent.rest_below(common)?.names() {
            here = here.child(name);
            let Some(dir) = self.open.last().copied() else { break };
            let opened = self.editor.open_directory(&here, dir, None)?;
            self.open.push(opened);
        }
        let dir = self.open_path(at, relpath)?;
        self.last = Some(match dir {
            Some(dir) => {
                self.open.push(dir);
                relpath.to_owned()
            }
            None => parent.to_owned(),
        });
        Ok(())
    }

    /// Sends one change. A directory stays open and is returned.
    fn open_path(&mut self, at: usize, relpath: &RelPath) -> Result<Option<Handle>> {
        while self.copies.pop_if(|copy| !relpath.is_at_or_below(&copy.path)).is_some() {}
        let changes = Arc::clone(&self.changes);
        let Some(change) = changes.get(at).filter(|_| self.live.get(at) == Some(&true)) else {
            return Ok(None);
        };
        let parent = self.open.last().copied();
        let deletes = matches!(change.kind, ChangeKind::Delete | ChangeKind::Replace);
        let adds = matches!(change.kind, ChangeKind::Add | ChangeKind::Replace);
        if deletes
            && let Some(parent) = parent
            && self.was_readable(relpath)?
        {
            self.editor.delete_entry(relpath, None, parent)?;
        }
        if deletes && !adds {
            return Ok(None);
        }
        // The list is sent as it stands: whether the nodes are there is for the editor
        // to find out.
        let kind = match change.node_kind {
            Some(kind) => Some(kind),
            None => self.root.kind(change.path)?,
        };
        let Some(kind) = kind else {
            return Err(SvnError::new(
                ErrorCode::FS_NOT_FOUND,
                format!("Filesystem path '{relpath}' is neither a file nor a directory"),
            )
            .into());
        };
        let (open, base, downgraded) = if adds {
            self.add(&change, relpath, parent, kind)?
        } else {
            self.modify(relpath, parent, kind)?
        };
        let props = change.prop_mod || downgraded;
        let text = kind == NodeKind::File && (change.text_mod || downgraded);
        let base = if props || text { self.base_node(base, change.path)? } else { None };
        match open {
            Open::Dir(dir) => {
                if props {
                    self.props(open, base.as_ref(), &self.root.node(change.path)?)?;
                }
                Ok(Some(dir))
            }
            Open::File(file) => {
                let node = self.root.node(change.path)?;
                if props {
                    self.props(open, base.as_ref(), &node)?;
                }
                if text {
                    self.text(file, base.as_ref(), &node)?;
                }
                self.editor.close_file(file, Some(node.md5()?))?;
                Ok(None)
            }
        }
    }

    /// Adds a node, as a copy if the receiver knows the source.
    fn add(
        &mut self,
        change: &ChangedPath<'_>,
        relpath: &RelPath,
        parent: Option<Handle>,
        kind: NodeKind,
    ) -> Result<(Open, Base, bool)> {
        let Some(parent) = parent.filter(|_| !relpath.is_empty()) else {
            let message = "Root directory already exists.";
            return Err(SvnError::new(ErrorCode::FS_ALREADY_EXISTS, message).into());
        };
        let copy = match change.copy_from {
            Some((revision, source))
                if revision >= self.low_water_mark
                    && source.to_relpath().is_at_or_below(self.base)
                    && self.authorizer.readable(source)? =>
            {
                Some((source, revision))
            }
            _ => None,
        };
        let downgraded = change.copy_from.is_some() && copy.is_none();
        let from = copy.map(|(source, revision)| (source.as_str(), revision));
        let open = match kind {
            NodeKind::File => Open::File(self.editor.add_file(relpath, parent, from)?),
            NodeKind::Dir => Open::Dir(match change.copy_from {
                Some((revision, source)) if downgraded => {
                    let source = self.roots.get(revision)?.node(source)?;
                    self.add_tree(relpath, parent, source)?
                }
                _ => self.editor.add_directory(relpath, parent, from)?,
            }),
        };
        if kind == NodeKind::Dir && (copy.is_some() || !self.copies.is_empty()) {
            self.copies.push(ActiveCopy {
                path: relpath.to_owned(),
                source: copy.map(|(source, revision)| (revision, source.to_owned())),
            });
        }
        let base = match copy {
            Some((source, revision)) => Base::At(revision, source.to_owned()),
            None => Base::Nothing,
        };
        Ok((open, base, downgraded))
    }

    /// Opens a node that was there before.
    fn modify(
        &mut self,
        relpath: &RelPath,
        parent: Option<Handle>,
        kind: NodeKind,
    ) -> Result<(Open, Base, bool)> {
        let open = match (kind, parent) {
            (NodeKind::Dir, Some(parent)) => {
                Open::Dir(self.editor.open_directory(relpath, parent, None)?)
            }
            (NodeKind::Dir, None) => Open::Dir(self.editor.open_root(None)?),
            (NodeKind::File, Some(parent)) => {
                Open::File(self.editor.open_file(relpath, parent, None)?)
            }
            (NodeKind::File, None) => {
                let message = "The root of the filesystem is not a directory";
                return Err(SvnError::new(ErrorCode::FS_CORRUPT, message).into());
            }
        };
        let base = match self.copies.last() {
            Some(ActiveCopy { path: copied, source: Some((revision, source)) }) => {
                let below = relpath.rest_below(copied)?;
                Base::At(*revision, source.join(below))
            }
            // Changed after it was added without history below a copy.
            Some(ActiveCopy { source: None, .. }) => Base::Nothing,
            None => Base::Before,
        };
        Ok((open, base, false))
    }

    /// The node of `base`, if deltas are wanted.
    fn base_node(&mut self, base: Base, path: &FsPath) -> Result<Option<Node>> {
        let Some(compare) = &self.compare else { return Ok(None) };
        Ok(match base {
            Base::Nothing => None,
            Base::Before => Some(compare.node(path)?),
            Base::At(revision, source) => Some(self.roots.get(revision)?.node(&source)?),
        })
    }

    fn props(&mut self, open: Open, base: Option<&Node>, node: &Node) -> Result<()> {
        if self.compare.is_none() {
            // Only reports that some property changed.
            return Ok(open.change_prop(self.editor, "", None)?);
        }
        let old = match base {
            Some(base) => Some(base.props()?),
            None => None,
        };
        Ok(send_prop_changes(self.editor, open, old.as_deref(), &*node.props()?)?)
    }

    fn text(&mut self, file: Handle, base: Option<&Node>, node: &Node) -> Result<()> {
        if self.compare.is_none() {
            return Ok(self.editor.apply_textdelta(file, None, &mut NoDelta)?);
        }
        let sum = match base {
            Some(base) => Some(base.md5()?),
            None => None,
        };
        let mut delta = node.delta_from(base)?;
        Ok(self.editor.apply_textdelta(file, sum, &mut delta)?)
    }

    /// Whether a path that is deleted could be read before.
    fn was_readable(&self, relpath: &RelPath) -> Result<bool> {
        let place = match self.copies.last() {
            Some(ActiveCopy { path: copied, source: Some((_, source)) }) => {
                let below = relpath.rest_below(copied)?;
                source.join(below)
            }
            _ => relpath.to_fspath(),
        };
        Ok(self.authorizer.readable(&place)?)
    }

    /// Adds a directory and everything in it without history, because where it was copied from
    /// is not known to the receiver. Names come from the source, so that copies nested in it can
    /// still be sent as copies; contents come from the target. The directory itself stays open.
    fn add_tree(&mut self, relpath: &RelPath, parent: Handle, source: Node) -> Result<Handle> {
        let top = self.tree_level(relpath.to_owned(), parent, source)?;
        let handle = top.handle;
        let mut stack = vec![top];
        while let Some(level) = stack.last_mut() {
            let place = level.order.get(level.at).and_then(|at| usize::try_from(*at).ok());
            let Some(entry) = place.and_then(|at| level.entries.get(at)) else {
                if let Some(done) = stack.pop().filter(|_| !stack.is_empty()) {
                    self.editor.close_directory(done.handle)?;
                }
                continue;
            };
            level.at += 1;
            self.cancel.check()?;
            let child_path = level.path.child(entry.name);
            let fspath = child_path.to_fspath();
            let (change, copied) = match self.take_change(&fspath) {
                Some((ChangeKind::Delete, _)) => continue,
                Some((kind, copied)) => (Some(kind), copied),
                None => (None, None),
            };
            if !self.authorizer.readable(&fspath)? {
                continue;
            }
            match entry.kind {
                NodeKind::Dir => {
                    let source = match copied {
                        Some((revision, source)) => self.roots.get(revision)?.node(&source)?,
                        None if change == Some(ChangeKind::Replace) => {
                            let dir = self.editor.add_directory(&child_path, level.handle, None)?;
                            self.editor.close_directory(dir)?;
                            continue;
                        }
                        None => match level.source.child(entry.name)? {
                            Some(source) => source,
                            None => continue,
                        },
                    };
                    let parent = level.handle;
                    stack.push(self.tree_level(child_path, parent, source)?);
                }
                NodeKind::File => {
                    let node = self.root.node(&fspath)?;
                    let file = self.editor.add_file(&child_path, level.handle, None)?;
                    send_node_props(self.editor, Open::File(file), None, &node)?;
                    let mut delta = node.delta_from(None)?;
                    self.editor.apply_textdelta(file, None, &mut delta)?;
                    self.editor.close_file(file, Some(node.md5()?))?;
                }
            }
        }
        Ok(handle)
    }

    fn tree_level(&mut self, path: RelPathBuf, parent: Handle, source: Node) -> Result<TreeLevel> {
        let handle = self.editor.add_directory(&path, parent, None)?;
        let node = self.root.node(&path.to_fspath())?;
        send_node_props(self.editor, Open::Dir(handle), None, &node)?;
        let entries = source.entries()?;
        let order = hashorder::order(entries.iter().map(|entry| entry.name));
        Ok(TreeLevel { handle, path, source, entries, order, at: 0 })
    }

    /// Removes the change of `fspath`, so that it is not sent again: what happened, and, for a
    /// replacement, from where it was copied.
    fn take_change(
        &mut self,
        fspath: &FsPath,
    ) -> Option<(ChangeKind, Option<(Revnum, FsPathBuf)>)> {
        let at = position(&self.changes, fspath)?;
        let live = self.live.get_mut(at).filter(|live| **live)?;
        *live = false;
        let change = self.changes.get(at)?;
        let copied = change.copy_from.filter(|_| change.kind == ChangeKind::Replace);
        Some((change.kind, copied.map(|(revision, source)| (revision, source.to_owned()))))
    }
}

/// The place of the change of `fspath` itself.
fn position(changes: &ChangedPaths, fspath: &FsPath) -> Option<usize> {
    let (mut low, mut high) = (0, changes.len());
    while low < high {
        let middle = low.midpoint(high);
        match path::compare(changes.get(middle)?.path, fspath) {
            std::cmp::Ordering::Less => low = middle.plus(1),
            std::cmp::Ordering::Equal => return Some(middle),
            std::cmp::Ordering::Greater => high = middle,
        }
    }
    None
}

/// A directory of a tree that is being added whole.
struct TreeLevel {
    handle: Handle,
    path: RelPathBuf,
    source: Node,
    entries: Directory,
    order: Vec<u32>,
    at: usize,
}
