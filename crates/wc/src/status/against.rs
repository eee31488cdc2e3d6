//! The local status joined with what the repository has ([`IncomingChanges`]).
//!
//! First one local walk, which keeps every node that the repository reported; then one status for
//! each path, in the order of the reference: for each directory that the edit went into, first its
//! subdirectories that the edit went into, then the other names, then the directory itself.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use sapwood_core::Depth;
use sapwood_core::paths::RelPath;

use super::assemble::{Context, assemble, unversioned};
use super::incoming::IncomingChanges;
use super::listing::Look;
use super::table::{Node, Scope, Table};
use super::value::{Remote, State, Status};
use super::walk::{Item, Items, Walk};
use super::{Options, Visit, inherited_patterns, look_at};
use crate::db::Db;
use crate::error::{Error, Result};
use crate::root::WorkingCopy;
use crate::status::ignore_patterns;
use crate::status::report::{compare, compare_one};

impl Status {
    /// Whether the working copy has no changes to report for a versioned node.
    fn is_boring(&self) -> bool {
        let plain = matches!(self.node, State::None | State::Normal)
            || (self.node == State::Deleted && !self.op_root);
        plain
            && !self.switched
            && !self.wc_locked
            && self.lock.is_none()
            && self.changelist.is_none()
            && !self.conflicted
            && self.moved_to.is_none()
    }

    /// Whether to report a name in a directory that the edit went into. Locks of the working copy
    /// are no reason here, only in a local walk.
    fn is_worth_reporting(&self, options: &Options) -> bool {
        if self.remote.node != State::None || self.remote.lock.is_some() || self.conflicted {
            return true;
        }
        if self.node == State::Ignored && !options.no_ignore {
            return false;
        }
        let plain = matches!(self.node, State::None | State::Normal)
            || (self.node == State::Deleted && !self.op_root);
        options.all
            || !plain
            || self.switched
            || (self.versioned && self.lock.is_some())
            || self.changelist.is_some()
            || self.moved_to.is_some()
    }
}

/// As [`WorkingCopy::status_against`].
pub(crate) fn status_against(
    wc: &WorkingCopy,
    anchor: &RelPath,
    target: &RelPath,
    options: &Options,
    incoming: &IncomingChanges,
    visit: &mut Visit<'_>,
) -> Result<()> {
    if !incoming.opened {
        return wc.status(&anchor.join(target), options, visit);
    }
    if target.is_empty() {
        directory_against(wc, anchor, options, incoming, visit)
    } else {
        name_against(wc, anchor, target, options, incoming, visit)
    }
}

/// The nodes of a directory, and what differs on disk, by one snapshot of wc.db.
fn walk_against(
    wc: &WorkingCopy,
    dir: &RelPath,
    depth: Depth,
    options: &Options,
    incoming: &IncomingChanges,
) -> Result<(Table, Items)> {
    let scope = match depth {
        Depth::Infinity => Scope::Subtree(dir),
        Depth::Files | Depth::Immediates => Scope::Children(dir),
        _ => Scope::One(dir),
    };
    let table = Table::read(wc.db(), scope)?;
    let not_found = || Error::NodeNotFound(wc.abspath(dir));
    let node = table.find(dir).ok_or_else(not_found)?;
    let deep = matches!(depth, Depth::Files | Depth::Immediates | Depth::Infinity);
    if !deep || !table.has_descendants(node) {
        return Ok((table, Items::new()));
    }
    let walk = Walk {
        all: options.all || !incoming.locks.is_empty(),
        kinds_only: false,
        incoming: Some(incoming),
        ..Walk::new(wc, &table, options)
    };
    let inherited = inherited_patterns(wc.db(), dir, &options.ignores)?;
    let items = walk.run(dir, inherited, depth)?;
    Ok((table, items))
}

fn directory_against(
    wc: &WorkingCopy,
    dir: &RelPath,
    options: &Options,
    incoming: &IncomingChanges,
    visit: &mut Visit<'_>,
) -> Result<()> {
    let depth = if options.depth == Depth::Unknown { Depth::Infinity } else { options.depth };
    let look = look_at(&wc.abspath(dir), dir.is_empty())?;
    let ((table, items), context, above) = wc.db().read(|_| {
        let found = walk_against(wc, dir, depth, options, incoming)?;
        let context = Context::of_target(wc, &found.0, dir)?;
        let above = match dir.is_empty() {
            true => None,
            false => Some(Context::of_parent(wc, dir)?),
        };
        Ok((found, context, above))
    })?;
    let modified = compare(wc, &table, &items)?;
    let mut notify =
        Against { wc, table: &table, items: &items, modified: &modified, options, incoming, visit };
    notify.opened(&context, depth, false)?;
    let Some(node) = table.find(dir) else { return Ok(()) };
    let changed = compare_one(wc, node, look)?;
    let status = assemble(wc, &table, node, look, changed, above.as_ref(), true)?;
    let Some(mut status) = status else { return Ok(()) };
    status.remote = incoming.anchor.clone();
    if status.remote.changed.revision == status.revision {
        status.remote.changed = super::value::LastChange::default();
    }
    if status.is_worth_reporting(options) { visit(status) } else { Ok(()) }
}

/// A target that is no directory under version control.
fn name_against(
    wc: &WorkingCopy,
    anchor: &RelPath,
    target: &RelPath,
    options: &Options,
    incoming: &IncomingChanges,
    visit: &mut Visit<'_>,
) -> Result<()> {
    let relpath = anchor.join(target);
    let (table, context) = wc.db().read(|db| {
        let table = Table::read(db, Scope::One(&relpath))?;
        Ok((table, Context::of_parent(wc, &relpath)?))
    })?;
    let look = look_at(&wc.abspath(&relpath), false)?;
    let (items, modified) = (Items::new(), HashMap::new());
    let mut notify =
        Against { wc, table: &table, items: &items, modified: &modified, options, incoming, visit };
    let known = table.find(&relpath).filter(|node| node.top().is_some_and(|t| !t.is_marker()));
    let local = match known {
        Some(node) => {
            let changed = compare_one(wc, node, look)?;
            assemble(wc, &table, node, look, changed, Some(&context), true)?
        }
        None => unversioned_target(wc.db(), &table, (anchor, target), options, look)?,
    };
    let status = notify.beside(&context, target, local)?;
    let gone = matches!(
        status.as_ref().map(|status| status.remote.node),
        Some(State::Deleted | State::Replaced)
    );
    let depth = match options.depth {
        Depth::Files | Depth::Empty => None,
        Depth::Immediates => Some(Depth::Empty),
        deep => Some(deep),
    };
    if let Some(depth) = depth.filter(|_| incoming.dirs.contains_key(&relpath)) {
        let below = context.child(&table, &relpath);
        notify.opened(&below, depth, gone)?;
    }
    match status {
        Some(status) => notify.send(status),
        None => Ok(()),
    }
}

/// The status of a target that is no node: none where there is nothing.
fn unversioned_target(
    db: &Db,
    table: &Table,
    (anchor, target): (&RelPath, &RelPath),
    options: &Options,
    look: Option<Look>,
) -> Result<Option<Status>> {
    let relpath = anchor.join(target);
    let conflict = table.find(&relpath).and_then(|node| node.actual.as_ref());
    let conflicted = conflict.is_some_and(|a| a.conflict.is_some());
    let there = look.is_some() && target != crate::layout::ADM;
    if !there && !conflicted {
        return Ok(None);
    }
    let patterns = ignore_patterns(db, anchor, &options.ignores)?;
    let ignored = patterns.matches(target.as_bytes());
    let kind = look.map(|look| look.kind);
    Ok(Some(unversioned(table, &relpath, kind, ignored, conflicted)))
}

/// Passes on what was found, in order.
struct Against<'t, 'v> {
    wc: &'t WorkingCopy,
    table: &'t Table,
    items: &'t Items,
    modified: &'t HashMap<u32, bool>,
    options: &'t Options,
    incoming: &'t IncomingChanges,
    visit: &'t mut Visit<'v>,
}

impl<'t> Against<'t, '_> {
    /// What is below a directory that the edit went into. `gone` when it was deleted or replaced in
    /// the repository: then so was everything in it.
    fn opened(&mut self, context: &Context, depth: Depth, gone: bool) -> Result<()> {
        let (items, incoming) = (self.items, self.incoming);
        let here: BTreeMap<&str, &'t Item> = match depth {
            Depth::Empty => BTreeMap::new(),
            _ => items.get(&context.dir).into_iter().flatten().map(|i| self.named(i)).collect(),
        };
        let mut names: BTreeSet<&str> = here.keys().copied().collect();
        names
            .extend(incoming.changes.get(&context.dir).into_iter().flatten().map(|t| t.0.as_str()));
        let below = match depth {
            Depth::Immediates => Some(Depth::Empty),
            Depth::Files | Depth::Empty => None,
            deep => Some(deep),
        };
        let dirs = incoming.dirs.get(&context.dir).map_or(&[][..], Vec::as_slice);
        if let Some(depth) = below {
            for name in dirs {
                self.entered(context, name, here.get(name.as_str()).copied(), depth)?;
                names.remove(name.as_str());
            }
        }
        for name in names {
            let item = here.get(name).copied();
            if let (Some(Item::Versioned { node, .. }), Some(Depth::Infinity | Depth::Unknown)) =
                (item, below)
                && let Some(node) = self.table.node(*node)
                && items.contains_key(&node.relpath)
            {
                self.plain(&context.below(self.table, node), gone)?;
            }
            let local = self.local(context, item)?;
            let Some(mut status) = self.beside(context, name, local)? else { continue };
            if gone {
                status.remote.node = State::Deleted;
            }
            self.send(status)?;
        }
        Ok(())
    }

    /// A directory in one that the edit went into, and that it went into too.
    fn entered(
        &mut self,
        context: &Context,
        name: &str,
        item: Option<&'t Item>,
        depth: Depth,
    ) -> Result<()> {
        let local = self.local(context, item)?;
        let status = self.beside(context, name, local)?;
        let node = match item {
            Some(Item::Versioned { node, .. }) => self.table.node(*node),
            _ => None,
        };
        let below = match node {
            Some(node) => context.below(self.table, node),
            None => context.child(self.table, &context.dir.child(name)),
        };
        let gone = matches!(
            status.as_ref().map(|status| status.remote.node),
            Some(State::Deleted | State::Replaced)
        );
        self.opened(&below, depth, gone)?;
        status.map_or(Ok(()), |status| self.send(status))
    }

    /// What is below a directory that the edit did not go into.
    fn plain(&mut self, context: &Context, gone: bool) -> Result<()> {
        let items = self.items;
        for item in items.get(&context.dir).into_iter().flatten() {
            if let Some(mut status) = self.local(context, Some(item))? {
                status.remote.lock = self.lock_of(&status);
                let wanted = !status.versioned
                    || self.options.all
                    || status.remote.lock.is_some()
                    || !status.is_boring();
                if gone {
                    status.remote.node = State::Deleted;
                }
                if wanted {
                    (self.visit)(status)?;
                }
            }
            if let Item::Versioned { node, .. } = item
                && let Some(node) = self.table.node(*node)
                && items.contains_key(&node.relpath)
            {
                self.plain(&context.below(self.table, node), gone)?;
            }
        }
        Ok(())
    }

    fn named(&self, item: &'t Item) -> (&'t str, &'t Item) {
        let name = match item {
            Item::Unversioned { name, .. } => name,
            Item::Versioned { node, .. } => self.table.node(*node).map_or("", Node::name),
        };
        (name, item)
    }

    /// The status of a local name, even if it has no changes.
    fn local(&self, context: &Context, item: Option<&Item>) -> Result<Option<Status>> {
        let Some(item) = item else { return Ok(None) };
        let (at, look) = match item {
            Item::Unversioned { name, kind, ignored } => {
                let relpath = context.dir.child(name);
                return Ok(Some(unversioned(self.table, &relpath, Some(*kind), *ignored, false)));
            }
            Item::Versioned { node, look, .. } => (*node, *look),
        };
        let Some(node) = self.table.node(at) else { return Ok(None) };
        if node.top().is_none_or(super::Layer::is_marker) {
            let kind = look.map(|look| look.kind);
            return Ok(Some(unversioned(self.table, &node.relpath, kind, false, true)));
        }
        let modified = self.modified.get(&at).copied().unwrap_or(false);
        assemble(self.wc, self.table, node, look, modified, Some(context), true)
    }

    /// A name in a directory that the edit went into, with what the repository says of it; `None`
    /// when neither side has it.
    fn beside(
        &self,
        context: &Context,
        name: &str,
        local: Option<Status>,
    ) -> Result<Option<Status>> {
        let change = self.incoming.changes.get(&context.dir).and_then(|names| names.get(name));
        let remote = change.and_then(|change| change.beside(local.is_some()));
        if let Some(mut status) = local {
            let kind = status.kind;
            status.remote = remote.unwrap_or_default();
            if status.remote.node == State::Deleted {
                status.remote.kind = kind;
            }
            status.remote.lock = self.lock_of(&status);
            if status.repos_relpath.is_none() && status.remote.node != State::None {
                status.repos_relpath = Some(context.path_of(self.table, name));
            }
            return Ok(Some(status));
        }
        let Some(remote) = remote else { return Ok(None) };
        self.only_there(context, name, remote).map(Some)
    }

    /// A node that only the repository has.
    fn only_there(&self, context: &Context, name: &str, remote: Remote) -> Result<Status> {
        let relpath = context.dir.child(name);
        let look: Option<Look> = look_at(&self.wc.abspath(&relpath), false)?;
        let kind = look.map(|look| look.kind);
        // The walk may have left a node out by its kind (a directory, with --depth=files).
        let table = Table::read(self.wc.db(), Scope::One(&relpath))?;
        let known = table.find(&relpath).filter(|n| n.top().is_some_and(|t| !t.is_marker()));
        let local = match known {
            Some(node) => {
                let modified = compare_one(self.wc, node, look)?;
                assemble(self.wc, &table, node, look, modified, Some(context), true)?
            }
            None if look.is_some() => self.of_another(&relpath)?,
            None => None,
        };
        let mut status =
            local.unwrap_or_else(|| unversioned(self.table, &relpath, kind, false, false));
        let repos_path = context.path_of(self.table, name);
        status.remote = remote;
        status.remote.lock = self.incoming.locks.get(&*repos_path.to_fspath()).cloned();
        status.repos_relpath = Some(repos_path);
        Ok(status)
    }

    /// What is on disk at the path of a node that only the repository has, if it is versioned in a
    /// nested working copy, such as an external.
    fn of_another(&self, relpath: &RelPath) -> Result<Option<Status>> {
        let options = self.wc.options().clone();
        let found = WorkingCopy::find(&self.wc.abspath(relpath), options);
        let Some((other, inside)) = found.ok().filter(|(other, _)| other.root() != self.wc.root())
        else {
            return Ok(None);
        };
        if inside.is_empty() || other.db().top(&inside)?.is_none() {
            return Ok(None);
        }
        Ok(Some(Status { relpath: relpath.to_owned(), ..other.status_of(&inside)? }))
    }

    fn lock_of(&self, status: &Status) -> Option<super::value::LockInfo> {
        if self.incoming.locks.is_empty() || !status.versioned {
            return None;
        }
        let at = status.repos_relpath.as_deref()?;
        self.incoming.locks.get(&*at.to_fspath()).cloned()
    }

    fn send(&mut self, status: Status) -> Result<()> {
        if status.is_worth_reporting(self.options) { (self.visit)(status) } else { Ok(()) }
    }
}
