//! Listing a tree.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use sapwood_core::fold::fold;
use sapwood_core::{CancelToken, Depth, ErrorCode, NodeKind, SvnError, SvnResult, glob, path};
use sapwood_fsfs::{
    AHEAD_BATCH, Ahead, Directory, Filesystem, Node, NodesWanted, Novelty, RevpropsSnapshot, Root,
};

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
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let _over = SetAtEnd(&over);
        let help = |top: &Node| {
            let Some(seat) = root.fs().spare_reader() else { return };
            let (top, over) = (top.clone(), &over);
            let work = move || {
                seat.begin();
                // Whatever is wrong, the walk itself will find and report.
                let _ = read_backwards(root.fs(), top, request.path_info_only, over);
                drop(seat);
            };
            let builder = std::thread::Builder::new().name("list-ahead".to_owned());
            let _ = builder.stack_size(STACK).spawn_scoped(scope, work);
        };
        walk.run(root, top, everything, authorizer, cancel, &mut ahead, help)
    })
}

/// Stack of a helper, in bytes.
const STACK: usize = 512 << 10;
/// So many nodes in a row that were in the caches: the helper has met the walk.
const MET: u32 = 32;
/// A helper brings no more than this part of the caches: one in so many bytes.
const SHARE: u64 = 4;

/// Tells a helper that the walk is over, however it ends.
struct SetAtEnd<'a>(&'a AtomicBool);

impl Drop for SetAtEnd<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}

/// Brings what the walk will need into the caches, beginning with what it needs last, until the
/// two meet: on a machine with two processors they are done in half the time.
fn read_backwards(
    fs: &Filesystem,
    top: Node,
    path_info_only: bool,
    over: &AtomicBool,
) -> Result<()> {
    let mut revprops = fs.revprops_snapshot();
    let mut novelty = Novelty::new();
    let mut left = fs.cache_capacity().checked_div(SHARE).unwrap_or(0);
    let entries = top.entries()?;
    let mut stack = vec![Level { at: entries.len(), entries, dir: top }];
    while let Some(level) = stack.last_mut() {
        let Some(at) = level.at.checked_sub(1) else {
            stack.pop();
            continue;
        };
        level.at = at;
        let Some(entry) = level.entries.get(at) else { continue };
        let is_dir = entry.kind == NodeKind::Dir;
        if path_info_only && !is_dir {
            continue;
        }
        if over.load(Ordering::Acquire) {
            return Ok(());
        }
        let node = level.dir.child_of(&entry)?;
        if !path_info_only {
            stat_node(&mut revprops, &node)?;
        }
        if is_dir {
            let entries = node.entries()?;
            // The text that was read is in the caches too, and the node-revision.
            let bytes = u64::try_from(entries.byte_len()).unwrap_or(u64::MAX).saturating_mul(3);
            let Some(rest) = left.checked_sub(bytes) else { return Ok(()) };
            left = rest;
            stack.push(Level { at: entries.len(), entries, dir: node });
        }
        if novelty.known_in_a_row() >= MET {
            return Ok(());
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
    /// Walks the tree below `top`, which was told. `help` is called once, when the walk has to
    /// read, and gets the directory that it is in.
    #[allow(clippy::too_many_arguments)] // What `list` was given, and what it found.
    fn run(
        &mut self,
        root: &Root,
        top: Node,
        everything: bool,
        authorizer: &dyn PathAuthorizer,
        cancel: &CancelToken,
        ahead: &mut Ahead,
        help: impl FnOnce(&Node),
    ) -> Result<()> {
        let request = self.request;
        let mut help = Some(help);
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
                if request.depth == Depth::Infinity
                    && let Some(help) = help.take()
                {
                    help(&level.dir);
                }
                self.read_ahead(root, level);
            }
            level.at = level.at.saturating_add(1);
            let is_dir = entry.kind == NodeKind::Dir;
            if is_dir && request.depth == Depth::Files {
                continue;
            }
            let is_match = self.matches(entry.name);
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
                (self.receiver)(&ListEntry { path: &path, kind: entry.kind, dirent: None })?;
                continue;
            }
            let node = level.dir.child_of(&entry)?;
            if is_match {
                self.tell(&node)?;
            }
            if descend {
                stack.push(Level { entries: node.entries()?, dir: node, at: 0 });
            }
        }
        Ok(())
    }

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
