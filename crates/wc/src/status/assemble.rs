//! Turns rows and file stamps into a [`Status`]: chooses which of several states of a node is
//! shown.

use sapwood_core::paths::{RelPath, RelPathBuf};

use super::listing::Look;
use super::table::{Layer, Node, ReposPath, Table};
use super::value::{DiskKind, LockInfo, State, Status};
use super::walk::special_of;
use crate::conflict::Conflict;
use crate::db::{Kind, Presence};
use crate::error::Result;
use crate::root::{Disk, WorkingCopy};

/// The directory whose nodes are reported, and its path in the repository.
#[derive(Clone, Debug)]
pub(super) struct Context {
    pub(super) dir: RelPathBuf,
    repos: Repos,
}

#[derive(Clone, Debug)]
enum Repos {
    /// At the path that follows from the root's.
    Implied,
    At(RelPathBuf),
}

impl Context {
    /// The context of the children of a directory that is the target.
    pub(super) fn of_target(wc: &WorkingCopy, table: &Table, dir: &RelPath) -> Result<Self> {
        let path = wc.repos_location(dir)?.1;
        Ok(Self::at(dir, path, &table.root_repos))
    }

    /// The context of a target that is no directory.
    pub(super) fn of_parent(wc: &WorkingCopy, relpath: &RelPath) -> Result<Self> {
        let parent = relpath.parent();
        let repos = wc.repos_location(parent)?.1;
        Ok(Self { dir: parent.to_owned(), repos: Repos::At(repos) })
    }

    fn at(dir: &RelPath, repos: RelPathBuf, root: &RelPath) -> Self {
        let implied = root.join(dir) == repos;
        let repos = if implied { Repos::Implied } else { Repos::At(repos) };
        Self { dir: dir.to_owned(), repos }
    }

    /// The context of what is below a node of this directory.
    pub(super) fn below(&self, table: &Table, node: &Node) -> Self {
        let dir = node.relpath.clone();
        let own = node.top().filter(|top| top.op_depth == 0).map(|top| &top.repos_path);
        let repos = match own {
            Some(ReposPath::At(at)) => Repos::At(at.clone()),
            Some(ReposPath::Implied) => Repos::Implied,
            Some(ReposPath::Unset) | None => match &self.repos {
                Repos::Implied => Repos::Implied,
                Repos::At(above) => Repos::At(above.child(node.name())),
            },
        };
        let _ = table;
        Self { dir, repos }
    }

    /// The context of what is below a name of this directory that has no node.
    pub(super) fn child(&self, table: &Table, relpath: &RelPath) -> Self {
        Self::at(relpath, self.path_of(table, relpath.name()), &table.root_repos)
    }

    /// Where a name of this directory is in the repository.
    pub(super) fn path_of(&self, table: &Table, name: &str) -> RelPathBuf {
        match &self.repos {
            Repos::Implied => table.implied_path(&self.dir.child(name)),
            Repos::At(above) => above.child(name),
        }
    }

    fn child_path(&self, table: &Table, node: &Node) -> RelPathBuf {
        match &self.repos {
            Repos::Implied => table.implied_path(&node.relpath),
            Repos::At(above) => above.child(node.name()),
        }
    }
}

/// The path of a layer in the repository.
fn layer_path(table: &Table, node: &Node, layer: &Layer) -> Option<RelPathBuf> {
    match &layer.repos_path {
        ReposPath::Unset => None,
        ReposPath::Implied => Some(table.implied_path(&node.relpath)),
        ReposPath::At(path) => Some(path.clone()),
    }
}

/// A name that is only on disk, a "not present" marker, or a conflict without a node.
pub(super) fn unversioned(
    table: &Table,
    relpath: &RelPath,
    kind: Option<DiskKind>,
    ignored: bool,
    conflicted: bool,
) -> Status {
    let node = match kind {
        _ if table.is_external(relpath) => State::External,
        Some(_) if ignored => State::Ignored,
        Some(_) => State::Unversioned,
        None if conflicted => State::Conflicted,
        None => State::None,
    };
    Status {
        relpath: relpath.to_owned(),
        actual_kind: kind,
        node,
        conflicted,
        tree_conflicted: conflicted,
        ..Status::default()
    }
}

/// Which kinds of conflict are still there: conflicts of text and properties are resolved when
/// their files are gone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OpenConflicts {
    /// The text.
    pub text: bool,
    /// The properties.
    pub props: bool,
    /// The tree.
    pub tree: bool,
}

/// As [`WorkingCopy::conflicted`].
pub(crate) fn conflicted(disk: &Disk, record: &[u8]) -> Result<OpenConflicts> {
    let conflict = Conflict::parse(record)?;
    let there = |file: &Option<RelPathBuf>| file.as_deref().is_some_and(|f| is_file_there(disk, f));
    let text = conflict.text.as_ref().is_some_and(|text| {
        let files = [&text.mine, &text.theirs, &text.old];
        files.iter().all(|f| f.is_none()) || files.iter().any(|f| there(f))
    });
    let prop = conflict.prop.as_ref();
    let props = prop.is_some_and(|prop| prop.marker.is_none() || there(&prop.marker));
    Ok(OpenConflicts { text, props, tree: conflict.tree.is_some() })
}

fn is_file_there(disk: &Disk, relpath: &RelPath) -> bool {
    crate::files::is_leftover(&disk.abspath(relpath))
}

/// The files that a record of a conflict names, below the root.
pub(crate) fn markers(record: &[u8]) -> Result<Vec<RelPathBuf>> {
    Ok(Conflict::parse(record)?.files().into_iter().map(RelPath::to_owned).collect())
}

/// The status of a node in wc.db; `None` when it has no changes and `all` is not set. `context` is
/// missing for a directory that is the target: it is not shown as switched.
pub(super) fn assemble(
    wc: &WorkingCopy,
    table: &Table,
    node: &Node,
    look: Option<Look>,
    modified: bool,
    context: Option<&Context>,
    all: bool,
) -> Result<Option<Status>> {
    let Some(top) = node.top() else { return Ok(None) };
    let is_work = top.op_depth > 0;
    let op_root = is_work && top.op_depth == super::table::depth_of(&node.relpath);
    let more_work = node.work.len() > 1;
    let deleted = is_work && matches!(top.presence, Presence::BaseDeleted | Presence::NotPresent);
    let has_origin = is_work && top.repos_path != ReposPath::Unset;
    let actual = node.actual.as_deref();

    let mut status = Status { op_root, versioned: true, ..Status::default() };
    status.node = State::Normal;
    status.text = State::Normal;
    if top.presence == Presence::Incomplete {
        status.node = State::Incomplete;
    } else if deleted {
        status.node = State::Deleted;
        status.copied = node.base.is_none() || more_work || has_origin;
    } else {
        let wanted = if top.kind == Kind::Dir { DiskKind::Dir } else { DiskKind::File };
        let found = look.map(|l| match l.kind {
            // The kind of a link is file.
            DiskKind::Special => DiskKind::File,
            kind => kind,
        });
        match found {
            None => status.node = State::Missing,
            Some(kind) if kind != wanted => status.node = State::Obstructed,
            Some(_) => {}
        }
    }
    if !deleted {
        if actual.is_some_and(|a| a.props_mod) {
            status.props = State::Modified;
        } else if top.had_props {
            status.props = State::Normal;
        }
    }
    if top.kind != Kind::Dir && status.node == State::Normal {
        let special = look.is_some_and(|l| l.kind == DiskKind::Special);
        if special_of(node) != special {
            status.node = State::Obstructed;
        } else if modified || !top.has_checksum {
            status.text = State::Modified;
        }
    }
    if let Some(record) = actual.and_then(|a| a.conflict.as_deref()) {
        let conflicted = wc.conflicted(record)?;
        status.text_conflicted = conflicted.text;
        status.prop_conflicted = conflicted.props;
        status.tree_conflicted = conflicted.tree;
        status.conflicted = conflicted.text || conflicted.props || conflicted.tree;
    }
    if status.node == State::Normal && is_work && !deleted {
        status.copied = has_origin;
        if op_root {
            status.node = if replaces(node) { State::Replaced } else { State::Added };
            if top.moved_here {
                status.moved_from = wc.db().moved_from(&node.relpath)?.map(|row| row.relpath);
            }
        }
    }
    if status.node == State::Normal {
        status.node = status.text;
    }
    if status.node == State::Normal && status.props != State::None {
        status.node = status.props;
    }
    status.file_external = node.base.as_ref().is_some_and(|b| b.file_external);
    status.switched = !is_work && context.is_some_and(|c| is_switched(table, node, top, c));
    status.wc_locked = top.kind == Kind::Dir && table.is_wc_locked(&node.relpath);
    status.lock = base_lock(table, node);
    status.changelist = actual.and_then(|a| a.changelist.as_deref()).map(str::to_owned);
    let moved_to = node.work.iter().rev().find_map(|layer| layer.moved_to.as_deref());
    let boring = matches!(status.node, State::None | State::Normal)
        || (status.node == State::Deleted && !op_root);
    if !all
        && boring
        && !status.switched
        && !status.wc_locked
        && status.lock.is_none()
        && status.changelist.is_none()
        && !status.conflicted
        && moved_to.is_none()
    {
        return Ok(None);
    }
    status.moved_to = moved_to.map(RelPath::to_owned);
    if status.text_conflicted {
        status.text = State::Conflicted;
        status.node = State::Conflicted;
    }
    if status.prop_conflicted {
        status.props = State::Conflicted;
        status.node = State::Conflicted;
    }
    status.relpath = node.relpath.clone();
    status.kind = top.kind.node_kind();
    status.depth = (top.kind == Kind::Dir).then_some(top.depth);
    status.actual_kind = look.map(|l| l.kind);
    status.filesize = look.filter(|l| l.kind == DiskKind::File).map(|l| l.size);
    status.revision = if is_work { None } else { top.revision };
    status.changed = table.changed(top);
    status.has_descendants = table.has_descendants(node);
    status.repos_id = node.base.as_ref().and_then(|b| b.repos_id);
    status.repos_relpath = match (is_work, layer_path(table, node, top), context) {
        (false, Some(path), _) => Some(path),
        (_, _, Some(context)) => Some(context.child_path(table, node)),
        _ => Some(wc.repos_location(&node.relpath)?.1),
    };
    Ok(Some(status))
}

/// Whether an addition replaces a node that is not deleted in the layer below.
fn replaces(node: &Node) -> bool {
    node.below().is_some_and(|below| {
        if below.op_depth > 0 {
            !matches!(below.presence, Presence::NotPresent | Presence::BaseDeleted)
        } else {
            below.presence != Presence::NotPresent
        }
    })
}

/// Whether a node of BASE is not at the path that follows from its directory's.
fn is_switched(table: &Table, node: &Node, top: &Layer, context: &Context) -> bool {
    match (&top.repos_path, &context.repos) {
        (ReposPath::Unset, _) => false,
        (ReposPath::Implied, Repos::Implied) => node.relpath.is_empty(),
        (_, _) => {
            let own = layer_path(table, node, top).unwrap_or_default();
            own != context.child_path(table, node)
        }
    }
}

fn base_lock(table: &Table, node: &Node) -> Option<LockInfo> {
    if table.locks.is_empty() {
        return None;
    }
    let base = node.base.as_ref()?;
    let path = layer_path(table, node, base)?;
    table.locks.get(path.as_str()).cloned()
}
