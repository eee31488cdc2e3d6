//! The differences between the working copy and what was checked out.
//!
//! [`walk`](WorkingCopy::status) reads wc.db once ([`table`]), walks the disk beside it with several
//! threads ([`walk`]), compares the texts of files whose size or time is not the recorded one, and
//! gives one [`Status`] a path, in the order of the reference: a directory, then its children by
//! name, each followed by what is below it.

pub(crate) mod against;
pub(crate) mod assemble;
pub(crate) mod cache;
pub(crate) mod clean_tree;
mod incoming;
mod listing;
pub(crate) mod report;
mod table;
mod value;
mod walk;
use std::collections::{BTreeSet, HashMap};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use sapwood_core::paths::{RelPath, RelPathBuf};
use sapwood_core::{CancelToken, Depth};

pub use assemble::OpenConflicts;
pub(crate) use assemble::markers;
pub(crate) use cache::{UniformBase, Whole, ground, restless};
pub use incoming::{IncomingChanges, StatusEditor};
pub(crate) use listing::{Look, OpenDir};
pub(crate) use table::{Layer, Node, ReposPath, Scope, Table, over_directories};
pub use value::{DiskKind, LastChange, LockInfo, Remote, State, Status};

use crate::db::{Db, Kind, NodeRow};
use crate::error::{Error, Result};
use crate::ignore::Patterns;
use crate::root::WorkingCopy;
use assemble::{Context, unversioned};
use listing::look;
use report::{Target, WalkResult};
use walk::{Item, Items, Walk};

/// What to look at, and what to leave out.
#[derive(Clone, Debug)]
pub struct Options {
    /// How deep to go; unknown is infinity.
    pub depth: Depth,
    /// Whether to report nodes without changes.
    pub all: bool,
    /// Whether to report those of them that have layers above BASE.
    pub layers: bool,
    /// Whether to report ignored names.
    pub no_ignore: bool,
    /// Whether to report unversioned names. Without, no directory is read.
    pub unversioned: bool,
    /// Whether only the kind of what is on disk matters: directories are read, files are not looked at, and
    /// changes of texts are not reported.
    pub kinds_only: bool,
    /// The patterns of the configuration.
    pub ignores: Patterns,
    /// Asks the walk to stop.
    pub cancel: CancelToken,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            depth: Depth::Infinity,
            all: false,
            layers: false,
            no_ignore: false,
            unversioned: true,
            kinds_only: false,
            ignores: Patterns::of_config(crate::ignore::DEFAULT_GLOBAL_IGNORES),
            cancel: CancelToken::new(),
        }
    }
}

impl Options {
    /// Whether to report a node even if it has no changes.
    const fn wants(&self, node: &Node) -> bool {
        self.all || (self.layers && !node.work.is_empty())
    }
}

/// Gets one status after the other.
pub type Visit<'v> = dyn FnMut(Status) -> Result<()> + 'v;

/// As [`WorkingCopy::status_of`].
pub(crate) fn status_of(wc: &WorkingCopy, relpath: &RelPath) -> Result<Status> {
    let options = Options { depth: Depth::Empty, all: true, ..Options::default() };
    let mut found = None;
    wc.status(relpath, &options, &mut |status| {
        found.get_or_insert(status);
        Ok(())
    })?;
    Ok(found.unwrap_or_else(|| Status { relpath: relpath.to_owned(), ..Status::default() }))
}

/// As [`WorkingCopy::status`].
pub(crate) fn status(
    wc: &WorkingCopy,
    relpath: &RelPath,
    options: &Options,
    visit: &mut Visit<'_>,
) -> Result<()> {
    wc.db().note_changes();
    let found = wc.db().read(|_| walk_in_snapshot(wc, relpath, options))?;
    found.report(wc, options, visit)
}

/// What is cached of the status, and whether it is of a kind that is cached at all.
fn cached_status(
    wc: &WorkingCopy,
    relpath: &RelPath,
    depth: Depth,
    options: &Options,
) -> Result<(cache::CachedStatus, bool)> {
    let applies = depth == Depth::Infinity && !options.kinds_only && cache::applies(wc, options);
    // This query takes the lock that keeps writers from changing what is compared later. The
    // status of a single file does not need the cache, and does not read it.
    let is_dir = |row: NodeRow| row.kind == Kind::Dir;
    let applies = applies && wc.db().base(relpath)?.is_some_and(is_dir);
    let known = match wc.db().base(RelPath::ROOT)?.filter(|_| applies) {
        Some(root) => {
            let root = root.repos_path.as_deref().unwrap_or(RelPath::ROOT);
            cache::load(wc, relpath, options, root)
        }
        None => cache::CachedStatus::default(),
    };
    Ok((known, applies))
}

fn walk_in_snapshot(wc: &WorkingCopy, relpath: &RelPath, options: &Options) -> Result<WalkResult> {
    let depth = if options.depth == Depth::Unknown { Depth::Infinity } else { options.depth };
    let (known, is_cached) = cached_status(wc, relpath, depth, options)?;
    let keeps = is_cached && relpath.is_empty() && options.unversioned;
    let began = began(wc.db(), &known, keeps);
    if let Some(dirs) = &known.changed
        && let Some(found) = walk_some(wc, relpath, dirs, &known, began, options)?
    {
        return Ok(found);
    }
    let scope = match depth {
        Depth::Infinity => Scope::Subtree(relpath),
        Depth::Files | Depth::Immediates => Scope::Children(relpath),
        _ => Scope::One(relpath),
    };
    let table = Table::read(wc.db(), scope)?;
    let on_disk = look_at(&wc.abspath(relpath), relpath.is_empty())?;
    let walked = table.find(relpath).filter(|node| {
        node.top().is_some_and(|top| !top.is_marker()) && table.has_descendants(node)
    });
    let Some(node) = walked else {
        return single(wc, table, relpath, on_disk, options);
    };
    let context = Context::of_target(wc, &table, relpath)?;
    if !matches!(depth, Depth::Files | Depth::Immediates | Depth::Infinity) {
        let target = Target::at(&table, relpath, on_disk, None);
        return Ok(WalkResult { target, table, items: Items::new(), context: None });
    }
    let dirs = Mutex::new(cache::FoundDirs::new());
    let keeps = keeps && cache::is_quiet(node);
    let walk = Walk { found: keeps.then_some(&dirs), ..Walk::new(wc, &table, options) };
    let inherited = inherited_patterns(wc.db(), relpath, &options.ignores)?;
    let items = walk.run(relpath, inherited, depth)?;
    if keeps {
        let mut dirs = dirs.into_inner().unwrap_or_else(PoisonError::into_inner);
        cache::keep(wc, options, &table, &mut dirs, began);
    }
    let target = Target::at(&table, relpath, on_disk, None);
    Ok(WalkResult { target, table, items, context: Some(context) })
}

/// Walks a directory, when the cache shows that only some directories below it can have changes. `None` when that
/// is not possible: the target must be a directory that a status descends into.
fn walk_some(
    wc: &WorkingCopy,
    relpath: &RelPath,
    dirs: &BTreeSet<RelPathBuf>,
    known: &cache::CachedStatus,
    began: cache::WalkStart,
    options: &Options,
) -> Result<Option<WalkResult>> {
    // The root is known to have no changes if there is nothing to look at.
    if dirs.is_empty() && relpath.is_empty() {
        return Ok(Some(WalkResult::default()));
    }
    let table = Table::read_directories(wc.db(), &[relpath], dirs)?;
    if !relpath.is_empty() && !table.is_reached(relpath) {
        return Ok(None);
    }
    // For another directory than the root, the entry in its parent shows whether it is there.
    let may_report = |node: &&Node| !relpath.is_empty() || !cache::is_quiet(node);
    let target = match table.find(relpath).filter(may_report) {
        Some(_) => {
            let on_disk = look_at(&wc.abspath(relpath), relpath.is_empty())?;
            Target::at(&table, relpath, on_disk, None)
        }
        None => Target::Nothing,
    };
    if dirs.is_empty() {
        return Ok(Some(WalkResult { target, table, ..WalkResult::default() }));
    }
    let found = Mutex::new(cache::FoundDirs::new());
    let settles = options.unversioned && relpath.is_empty() && !known.touched.is_empty();
    let walk =
        Walk { found: settles.then_some(&found), all: false, ..Walk::new(wc, &table, options) };
    let mut items = Items::new();
    let mut leads: HashMap<&RelPath, BTreeSet<&RelPath>> = HashMap::new();
    // The contents of a path that is not a directory any more are not reported.
    for dir in dirs.iter().filter(|dir| table.is_reached(dir)) {
        let inherited = inherited_patterns(wc.db(), dir, &options.ignores)?;
        items.insert(dir.clone(), walk.one(dir, inherited)?);
        let mut at = dir.as_path();
        while let Some(parent) = crate::db::parent_of(at) {
            leads.entry(parent).or_default().insert(at);
            at = parent;
        }
    }
    // Of the directories above, only the children that lead to a directory to look at are
    // added.
    for (dir, below) in leads.into_iter().filter(|(dir, _)| !dirs.contains(*dir)) {
        items.insert(dir.to_owned(), leading(&table, below));
    }
    if settles {
        let found = found.into_inner().unwrap_or_else(PoisonError::into_inner);
        cache::save_changes(wc, options, &table, &found, known, began);
    }
    let context = Some(Context::of_target(wc, &table, relpath)?);
    Ok(Some(WalkResult { target, table, items, context }))
}

/// Directories that are looked at only for what is below them.
fn leading(table: &Table, dirs: BTreeSet<&RelPath>) -> Vec<Item> {
    let look = Some(Look::DIR);
    let lead = |path: &RelPath| {
        let node = table.number(path)?;
        Some(Item::Versioned { node, look, check_text: false })
    };
    dirs.into_iter().filter_map(lead).collect()
}

/// A target that is no directory with versioned nodes below.
fn single(
    wc: &WorkingCopy,
    table: Table,
    relpath: &RelPath,
    on_disk: Option<Look>,
    options: &Options,
) -> Result<WalkResult> {
    let not_found = || Error::NodeNotFound(wc.abspath(relpath));
    let (parent, name) = relpath.parent_and_name();
    let node = table.find(relpath);
    let known = node.is_some_and(|n| n.top().is_some() || n.actual.is_some());
    if relpath.is_empty() || (!known && wc.db().top(parent)?.is_none()) {
        return Err(not_found());
    }
    let context = Context::of_parent(wc, relpath)?;
    if node.is_some_and(|n| n.top().is_some_and(|top| !top.is_marker())) {
        let target = Target::at(&table, relpath, on_disk, Some(context));
        return Ok(WalkResult { target, table, ..WalkResult::default() });
    }
    let conflicted = node.and_then(|n| n.actual.as_ref()).is_some_and(|a| a.conflict.is_some());
    if !conflicted && name == ".svn" {
        return Ok(WalkResult::default());
    }
    let table = Table::read(wc.db(), Scope::One(parent))?;
    let inherited = inherited_patterns(wc.db(), parent, &options.ignores)?;
    let patterns = walk::dir_patterns(&table, parent, &inherited, &options.ignores);
    let ignored = patterns.local.matches(name.as_bytes());
    let kind = on_disk.map(|look| look.kind);
    let status = unversioned(&table, relpath, kind, ignored, conflicted);
    Ok(WalkResult { target: Target::Ready(Box::new(status)), ..WalkResult::default() })
}

/// The patterns that hold for the names in a directory, those of the configuration first.
///
/// # Errors
/// Those of the database.
pub(crate) fn ignore_patterns(db: &Db, relpath: &RelPath, config: &Patterns) -> Result<Patterns> {
    let table = Table::read_node(db, relpath)?;
    let inherited = inherited_patterns(db, relpath, config)?;
    Ok(walk::dir_patterns(&table, relpath, &inherited, config).local)
}

/// The time when a walk begins. The clock is read only when the results will be cached, since reading
/// it writes a file.
fn began(db: &Db, known: &cache::CachedStatus, keeps: bool) -> cache::WalkStart {
    let clock = if keeps && (known.changed.is_none() || !known.touched.is_empty()) {
        db.clock().now()
    } else {
        None
    };
    cache::WalkStart { clock, token: known.token }
}

/// The patterns of `svn:global-ignores` that a directory inherits, after those of the
/// configuration.
fn inherited_patterns(db: &Db, relpath: &RelPath, config: &Patterns) -> Result<Patterns> {
    if relpath.is_empty() {
        return Ok(config.clone());
    }
    let mut above: Vec<&RelPath> = Vec::new();
    let mut at = relpath;
    while let Some(parent) = crate::db::parent_of(at) {
        above.push(parent);
        at = parent;
    }
    let mut inherited = config.clone();
    for dir in above.into_iter().rev() {
        let table = Table::read_node(db, dir)?;
        inherited = walk::dir_patterns(&table, dir, &inherited, config).inheritable;
    }
    Ok(inherited)
}

/// What is on disk; a link that leads to the root of a working copy counts as the directory.
fn look_at(path: &Path, is_root: bool) -> Result<Option<Look>> {
    let failed = |error: rustix::io::Errno| Error::io(error.into(), "Can't check path", path);
    let found = look(path).map_err(failed)?;
    Ok(match found {
        Some(Look { kind: DiskKind::Special, .. }) if is_root && path.is_dir() => Some(Look::DIR),
        found => found,
    })
}

/// Whether an error only says that there is nothing at a path.
pub(crate) fn is_missing(error: &std::io::Error) -> bool {
    use std::io::ErrorKind;
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
}
