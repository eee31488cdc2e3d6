//! Listing a tree.

use std::sync::Arc;

use sapwood_core::fold::fold;
use sapwood_core::{CancelToken, Depth, ErrorCode, NodeKind, SvnError, SvnResult, glob, path};
use sapwood_fsfs::{AHEAD_BATCH, Ahead, Directory, Node, NodesWanted, RevpropsSnapshot, Root};

use crate::authorizer::{PathAuthorizer, SubtreeAccess};
use crate::dirent::{Dirent, stat_node};
use crate::error::Result;

/// What to list.
#[derive(Clone, Copy, Debug)]
pub struct ListRequest<'a> {
    /// Where to start, an fspath.
    pub path: &'a str,
    /// Glob patterns; a node is told when its last name matches one of them. `None`: all nodes.
    pub patterns: Option<&'a [&'a str]>,
    /// How deep.
    pub depth: Depth,
    /// Only path and kind are wanted: the receiver gets no [`Dirent`] details beyond `kind`.
    pub path_info_only: bool,
}

/// One listed node.
#[derive(Clone, Copy, Debug)]
pub struct ListEntry<'a> {
    /// Its fspath.
    pub path: &'a str,
    /// File or directory.
    pub kind: NodeKind,
    /// The rest, unless [`ListRequest::path_info_only`].
    pub dirent: Option<&'a Dirent>,
}

/// Tells `receiver` the nodes at and below a path: a directory, then its children in bytewise order
/// of their names, each followed by what is below it. Nothing is told of a path that may not be
/// read.
///
/// # Errors
/// E160013 when there is nothing at the path, E165002 for a depth that lists nothing; what the
/// receiver returns; corruption and system errors.
pub fn list(
    root: &Root,
    request: &ListRequest<'_>,
    authorizer: &dyn PathAuthorizer,
    cancel: &CancelToken,
    receiver: &mut dyn FnMut(&ListEntry<'_>) -> SvnResult<()>,
) -> Result<()> {
    if request.depth < Depth::Empty {
        let number = if request.depth == Depth::Unknown { -2 } else { -1 };
        return Err(SvnError::new(
            ErrorCode::REPOS_BAD_ARGS,
            format!("Invalid depth '{number}' in svn_repos_list"),
        )
        .into());
    }
    if !authorizer.readable(request.path)? {
        return Ok(());
    }
    let mut ahead = Ahead::new();
    let Some(top) = root.find(request.path)? else {
        return Err(SvnError::new(
            ErrorCode::FS_NOT_FOUND,
            format!("Path '{}' not found", request.path),
        )
        .into());
    };
    if request.patterns.is_some_and(<[&str]>::is_empty) {
        return Ok(());
    }
    let everything = authorizer.subtree(request.path)? == SubtreeAccess::Readable;
    let mut walk = Walk { request, revprops: root.fs().revprops_snapshot(), receiver };
    if walk.matches(path::basename(request.path)) {
        walk.tell(&top)?;
    }
    if top.kind() == NodeKind::File || request.depth == Depth::Empty {
        return Ok(());
    }
    // Directories being listed: their entries and the next place in them. Grows with the depth of
    // the tree only.
    let mut path = String::new();
    let mut stack = vec![Level { entries: top.entries()?, dir: top, at: 0 }];
    while let Some(level) = stack.last_mut() {
        let Some(entry) = level.entries.get(level.at) else {
            stack.pop();
            continue;
        };
        if level.at.is_multiple_of(AHEAD_BATCH) && ahead.is_cold() {
            walk.read_ahead(root, level);
        }
        level.at = level.at.saturating_add(1);
        let is_dir = entry.kind == NodeKind::Dir;
        if is_dir && request.depth == Depth::Files {
            continue;
        }
        let is_match = walk.matches(entry.name);
        if !is_match && !is_dir {
            continue;
        }
        let descend = is_dir && request.depth == Depth::Infinity;
        if !is_match && !descend {
            continue;
        }
        if !everything && !authorizer.readable(&path::join(level.dir.path(), entry.name))? {
            continue;
        }
        if cancel.is_cancelled() {
            return Err(SvnError::new(ErrorCode::CANCELLED, "").into());
        }
        if request.path_info_only && !descend {
            // The directory says the kind: the node itself need not be read.
            let base = level.dir.path();
            path.clear();
            path.push_str(base);
            if !base.ends_with('/') {
                path.push('/');
            }
            path.push_str(entry.name);
            (walk.receiver)(&ListEntry { path: &path, kind: entry.kind, dirent: None })?;
            continue;
        }
        let node = level.dir.child_of(&entry)?;
        if is_match {
            walk.tell(&node)?;
        }
        if descend {
            stack.push(Level { entries: node.entries()?, dir: node, at: 0 });
        }
    }
    Ok(())
}

struct Level {
    dir: Node,
    entries: Arc<Directory>,
    at: usize,
}

struct Walk<'a> {
    request: &'a ListRequest<'a>,
    revprops: RevpropsSnapshot,
    receiver: &'a mut dyn FnMut(&ListEntry<'_>) -> SvnResult<()>,
}

impl Walk<'_> {
    /// Says which entries of a directory come next.
    fn read_ahead(&mut self, root: &Root, level: &Level) {
        let deep = self.request.depth == Depth::Infinity;
        let next = level.entries.iter().skip(level.at).take(AHEAD_BATCH);
        let needed = next.filter(|entry| {
            let is_dir = entry.kind == NodeKind::Dir;
            (is_dir && deep) || (!self.request.path_info_only && self.matches(entry.name))
        });
        let ids: Vec<_> = needed.map(|entry| entry.id).collect();
        let wanted = NodesWanted { entries: deep, ..NodesWanted::default() };
        let revprops = Some(&mut self.revprops).filter(|_| !self.request.path_info_only);
        root.fs().will_need_nodes(&ids, wanted, revprops);
    }

    fn matches(&self, name: &str) -> bool {
        // Clients send patterns folded.
        self.request.patterns.is_none_or(|patterns| glob::matches_any(patterns, fold(name)))
    }

    fn tell(&mut self, node: &Node) -> Result<()> {
        let dirent = if self.request.path_info_only {
            None
        } else {
            Some(stat_node(&mut self.revprops, node)?)
        };
        let entry = ListEntry { path: node.path(), kind: node.kind(), dirent: dirent.as_ref() };
        Ok((self.receiver)(&entry)?)
    }
}
