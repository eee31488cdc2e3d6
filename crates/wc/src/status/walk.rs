//! The walk over the disk beside the nodes of wc.db, by several threads, a directory at a time.
//!
//! A directory costs an open, a few reads and a close; a versioned file one `stat`, relative to the
//! open directory; an unversioned one nothing. Unmodified nodes are dropped at once.

use std::collections::{BTreeMap, HashMap};
use std::ffi::CString;
use std::path::PathBuf;
use std::sync::{Condvar, Mutex, PoisonError};
use std::thread::Scope;
use std::time::Instant;

use rustix::io::Errno;
use sapwood_core::exact::Exact;
use sapwood_core::paths::{RelPath, RelPathBuf};
use sapwood_core::{CancelToken, Depth};

use super::Options;
use super::cache::{self, FoundDir, FoundDirs};
use super::incoming::{IncomingChange, IncomingChanges};
use super::listing::{Look, OpenDir, Stamp};
use super::table::{Node, ReposPath, Table};
use super::value::DiskKind;
use crate::db::{Kind, Presence, read_inherited, read_props};
use crate::error::{Error, Result};
use crate::fan_out::{Crew, lock};
use crate::ignore::{GLOBAL_IGNORES, Patterns};
use crate::root::WorkingCopy;

/// A child of a directory with something to report.
#[derive(Debug)]
pub(super) enum Item {
    /// A node that wc.db knows.
    Versioned { node: u32, look: Option<Look>, check_text: bool },
    /// A name that is only on disk.
    Unversioned { name: Box<str>, kind: DiskKind, ignored: bool },
}

/// What there is to report about the children of each directory, by its path; in the order of
/// names.
pub(super) type Items = HashMap<RelPathBuf, Vec<Item>>;

/// What the threads of a walk share.
pub(super) struct Walk<'w> {
    pub(super) table: &'w Table,
    pub(super) root: PathBuf,
    /// Whether to keep unmodified nodes.
    pub(super) all: bool,
    /// Whether names that are only on disk matter.
    pub(super) unversioned: bool,
    /// Whether the kind of a node in a directory's listing is enough.
    pub(super) kinds_only: bool,
    pub(super) no_ignore: bool,
    /// The patterns of the configuration.
    pub(super) config: Patterns,
    pub(super) cancel: CancelToken,
    /// Gets what was found, in order.
    pub(super) found: Option<&'w Mutex<FoundDirs>>,
    /// What the repository reported: none of these nodes is dropped.
    pub(super) incoming: Option<&'w IncomingChanges>,
}

/// What the repository reported in one directory.
#[derive(Clone, Copy, Default)]
struct Spoken<'w> {
    names: Option<&'w BTreeMap<String, IncomingChange>>,
    /// The directory was replaced there, so all that is in it here is gone.
    all: bool,
}

impl Spoken<'_> {
    fn has(self, name: &str) -> bool {
        self.all || self.names.is_some_and(|names| names.contains_key(name))
    }
}

/// What holds for all names of one directory.
struct DirContext<'w> {
    patterns: DirPatterns,
    spoken: Spoken<'w>,
}

/// A name in a directory.
struct Entry {
    name: Box<[u8]>,
    /// Its kind, if the listing has it.
    kind: Option<DiskKind>,
}

/// A directory that was listed.
struct Listing {
    /// The stamp that shows later changes, taken before the names were read.
    stamp: Option<Stamp>,
    /// In the order of names.
    entries: Vec<Entry>,
}

/// A directory in the queue.
struct Task {
    relpath: RelPathBuf,
    /// The patterns that the directory inherits, those of the configuration among them.
    inherited: Patterns,
    depth: Depth,
}

struct Queue {
    tasks: Vec<Task>,
    /// Threads that may still add tasks.
    busy: usize,
    /// The first error.
    failed: Option<Error>,
}

/// What the threads of one walk work at.
struct Job {
    queue: Mutex<Queue>,
    wake: Condvar,
    crew: Crew,
    /// What the threads that are done have found.
    found: Mutex<Items>,
}

impl Job {
    /// The next directory; `None` when all is done, or after an error.
    fn next(&self) -> Option<Task> {
        let mut queue = lock(&self.queue);
        loop {
            if queue.failed.is_some() {
                return None;
            }
            if let Some(task) = queue.tasks.pop() {
                queue.busy = queue.busy.plus(1);
                return Some(task);
            }
            if queue.busy == 0 {
                return None;
            }
            queue = self.wake.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// One of them is done; what is below it waits.
    fn done(&self, below: Result<Vec<Task>>) {
        let mut queue = lock(&self.queue);
        queue.busy = queue.busy.minus(1);
        let wakes = match below {
            Ok(below) => {
                let more = !below.is_empty();
                queue.tasks.extend(below);
                more || queue.busy == 0
            }
            Err(error) => {
                queue.failed.get_or_insert(error);
                true
            }
        };
        if wakes {
            self.wake.notify_all();
        }
    }
}

impl<'w> Walk<'w> {
    /// One of a whole table, as options of a status want it.
    pub(super) fn new(wc: &WorkingCopy, table: &'w Table, options: &Options) -> Self {
        Self {
            table,
            root: wc.root().to_owned(),
            all: options.all,
            unversioned: options.unversioned,
            kinds_only: options.kinds_only,
            no_ignore: options.no_ignore,
            config: options.ignores.clone(),
            cancel: options.cancel.clone(),
            found: None,
            incoming: None,
        }
    }

    /// Walks a directory and, as deep as `depth` says, what is below.
    pub(super) fn run(&self, dir: &RelPath, inherited: Patterns, depth: Depth) -> Result<Items> {
        let first = Task { relpath: dir.to_owned(), inherited, depth };
        let directories = self.table.dirs.len();
        // A few are walked faster than threads start.
        let is_small = depth != Depth::Infinity || directories < 16;
        let job = Job {
            queue: Mutex::new(Queue { tasks: vec![first], busy: 0, failed: None }),
            wake: Condvar::new(),
            crew: if is_small { Crew::alone() } else { Crew::for_directories(directories) },
            found: Mutex::default(),
        };
        if is_small {
            self.work(&job, None);
        } else {
            std::thread::scope(|scope| {
                for _ in 1..job.crew.first {
                    scope.spawn(|| self.work(&job, Some(scope)));
                }
                self.work(&job, Some(scope));
            });
        }
        let queue = job.queue.into_inner().unwrap_or_else(PoisonError::into_inner);
        match queue.failed {
            Some(error) => Err(error),
            None => Ok(job.found.into_inner().unwrap_or_else(PoisonError::into_inner)),
        }
    }

    fn work<'s>(&'s self, job: &'s Job, scope: Option<&'s Scope<'s, '_>>) {
        let mut items = Items::new();
        let mut buffer = Vec::new();
        while let Some(task) = job.next() {
            let began = Instant::now();
            let result = self.directory(&task, &mut buffer);
            if let Some(scope) = scope.filter(|_| job.crew.grows(began)) {
                scope.spawn(move || self.work(job, Some(scope)));
            }
            job.done(result.map(|(found, below)| {
                if !found.is_empty() {
                    items.insert(task.relpath, found);
                }
                below
            }));
        }
        let mut all = lock(&job.found);
        if all.is_empty() {
            *all = items;
        } else {
            all.extend(items);
        }
    }

    /// Walks one directory and nothing below it.
    pub(super) fn one(&self, dir: &RelPath, inherited: Patterns) -> Result<Vec<Item>> {
        let task = Task { relpath: dir.to_owned(), inherited, depth: Depth::Infinity };
        Ok(self.directory(&task, &mut Vec::new())?.0)
    }

    /// Whether the listing contains only directories, each of which is as BASE has it.
    fn is_in_order(&self, dir: &RelPath, found: &[Item]) -> bool {
        let mut nodes = self.table.children(dir).iter().filter_map(|at| self.table.node(*at));
        let plain = |item: &Item| match item {
            Item::Versioned { node, look: Some(look), .. } if look.kind == DiskKind::Dir => {
                self.table.node(*node).is_some_and(Node::was_dir)
            }
            _ => false,
        };
        found.iter().all(plain) && nodes.all(cache::is_quiet)
    }

    fn directory(&self, task: &Task, buffer: &mut Vec<u8>) -> Result<(Vec<Item>, Vec<Task>)> {
        if self.cancel.is_cancelled() {
            return Err(Error::Cancelled);
        }
        let path = self.root.join(task.relpath.as_str());
        let io = |error: Errno| {
            let what = format!("Can't open directory '{}'", path.display());
            Error::Io { what, error: error.into() }
        };
        let open = OpenDir::open(&path).map_err(io)?;
        let Listing { stamp, entries } = self.list(open.as_ref(), buffer).map_err(io)?;
        let patterns = dir_patterns(self.table, &task.relpath, &task.inherited, &self.config);
        let spoken = self.incoming.map_or_else(Spoken::default, |incoming| Spoken {
            names: incoming.changes.get(task.relpath.as_path()),
            all: incoming.is_replaced(&task.relpath),
        });
        let place = DirContext { patterns, spoken };
        let mut found = Vec::new();
        let mut below = Vec::new();
        let own_adm =
            !task.relpath.is_empty() && entries.iter().any(|entry| &*entry.name == b".svn");
        let mut is_calm = self.unversioned && !own_adm;
        let mut has_links = false;
        let mut disk = entries.into_iter().peekable();
        for at in self.table.children(&task.relpath) {
            let Some(node) = self.table.node(*at) else { continue };
            let name = node.name().as_bytes();
            while let Some(Entry { name, kind }) = disk.next_if(|entry| &*entry.name < name) {
                self.only_on_disk(task, &place, &name, kind, open.as_ref(), &mut found)?;
            }
            let entry = disk.next_if(|entry| &*entry.name == name);
            let looked = self.look(open.as_ref(), node, entry.as_ref()).map_err(|e| {
                let what =
                    format!("Can't stat '{}'", self.root.join(node.relpath.as_str()).display());
                Error::Io { what, error: e.into() }
            })?;
            is_calm &= has_right_bits(node, looked);
            has_links |= looked.is_some_and(|look| look.is_linked);
            self.versioned(task, *at, node, looked, &place, &mut found, &mut below);
        }
        for Entry { name, kind } in disk {
            self.only_on_disk(task, &place, &name, kind, open.as_ref(), &mut found)?;
        }
        if let Some(list) = self.found {
            let stamp = stamp.filter(|_| self.is_in_order(&task.relpath, &found));
            let dir = task.relpath.clone();
            lock(list).push(FoundDir { dir, stamp, is_calm, has_links });
        }
        Ok((found, below))
    }

    /// Lists a directory, if there is one and its names matter.
    fn list(
        &self,
        open: Option<&OpenDir>,
        buffer: &mut Vec<u8>,
    ) -> std::result::Result<Listing, Errno> {
        let stamp = open.filter(|_| self.found.is_some()).and_then(OpenDir::own_stamp);
        let mut entries = Vec::new();
        if let Some(open) = open.filter(|_| self.unversioned || self.kinds_only) {
            open.read(buffer, |name, kind| {
                entries.push(Entry { name: name.to_bytes().into(), kind });
            })?;
            entries.sort_unstable_by(|a, b| a.name.cmp(&b.name));
        }
        Ok(Listing { stamp, entries })
    }

    /// What is on disk at a node's path. `entry` is its entry in the listing, if that was read.
    fn look(
        &self,
        dir: Option<&OpenDir>,
        node: &Node,
        entry: Option<&Entry>,
    ) -> std::result::Result<Option<Look>, Errno> {
        match entry {
            None if self.unversioned || self.kinds_only => return Ok(None),
            // For directories the kind is enough.
            Some(Entry { kind: Some(kind), .. }) if *kind == DiskKind::Dir || self.kinds_only => {
                return Ok(Some(Look { kind: *kind, ..Look::DIR }));
            }
            _ => {}
        }
        let Some(dir) = dir else { return Ok(None) };
        match CString::new(node.name()) {
            Ok(name) => dir.look(&name),
            Err(_) => Ok(None),
        }
    }

    #[expect(clippy::too_many_arguments, reason = "one call, of what the loop holds")]
    fn versioned(
        &self,
        task: &Task,
        at: u32,
        node: &Node,
        look: Option<Look>,
        place: &DirContext<'_>,
        found: &mut Vec<Item>,
        below: &mut Vec<Task>,
    ) {
        let Some(top) = node.top().filter(|top| !top.is_marker()) else {
            // A tree conflict on a path that is not versioned, or a name that only the disk has.
            let conflicted = node.actual.as_ref().is_some_and(|a| a.conflict.is_some());
            match look {
                _ if conflicted => {
                    found.push(Item::Versioned { node: at, look, check_text: false })
                }
                Some(look) if task.depth != Depth::Files || look.kind != DiskKind::Dir => {
                    self.push_unversioned(task, place, node.name().into(), look.kind, found);
                }
                _ => {}
            }
            return;
        };
        if task.depth == Depth::Files && top.kind == Kind::Dir {
            return;
        }
        let check_text = !self.kinds_only && needs_text_check(node, look);
        let descend = task.depth == Depth::Infinity && self.table.has_descendants(node);
        let locked = !self.table.locks.is_empty();
        let wanted = self.all || check_text || descend || locked || place.spoken.has(node.name());
        if wanted || !is_plain(node, look) {
            found.push(Item::Versioned { node: at, look, check_text });
        }
        if descend {
            let relpath = node.relpath.clone();
            let inherited = place.patterns.inheritable.clone();
            below.push(Task { relpath, inherited, depth: Depth::Infinity });
        }
    }

    fn only_on_disk(
        &self,
        task: &Task,
        place: &DirContext<'_>,
        name: &[u8],
        kind: Option<DiskKind>,
        dir: Option<&OpenDir>,
        found: &mut Vec<Item>,
    ) -> Result<()> {
        if name == b".svn" || !self.unversioned {
            return Ok(());
        }
        let Ok(text) = std::str::from_utf8(name) else {
            return Err(Error::not_utf8(&self.root.join(task.relpath.as_str()), name));
        };
        let kind = match kind {
            Some(kind) => kind,
            None => {
                let look = CString::new(name).ok().zip(dir).map(|(name, dir)| dir.look(&name));
                match look {
                    Some(Ok(Some(look))) => look.kind,
                    _ => return Ok(()),
                }
            }
        };
        if task.depth == Depth::Files && kind == DiskKind::Dir {
            return Ok(());
        }
        self.push_unversioned(task, place, text.into(), kind, found);
        Ok(())
    }

    fn push_unversioned(
        &self,
        task: &Task,
        place: &DirContext<'_>,
        name: Box<str>,
        kind: DiskKind,
        found: &mut Vec<Item>,
    ) {
        let ignored = place.patterns.local.matches(name.as_bytes());
        let external = || self.table.is_external(&task.relpath.child(&name));
        if !ignored || self.no_ignore || place.spoken.has(&name) || external() {
            found.push(Item::Unversioned { name, kind, ignored });
        }
    }
}

/// The patterns that hold for the children of a directory, and those that directories below
/// inherit.
pub(super) struct DirPatterns {
    pub(super) local: Patterns,
    pub(super) inheritable: Patterns,
}

pub(super) fn dir_patterns(
    table: &Table,
    relpath: &RelPath,
    inherited: &Patterns,
    config: &Patterns,
) -> DirPatterns {
    let plain = || DirPatterns { local: inherited.clone(), inheritable: inherited.clone() };
    let Some(node) = table.find(relpath) else { return plain() };
    let Some(top) = node.top() else { return plain() };
    if !top.presence.is_there() {
        return DirPatterns { local: config.clone(), inheritable: config.clone() };
    }
    let mut above = inherited.clone();
    if let Some(list) = top.inherited.as_deref().and_then(|skel| read_inherited(skel).ok()) {
        let values: Vec<_> =
            list.iter().filter_map(|(_, props)| props.get(GLOBAL_IGNORES)).collect();
        above = config.with_values(values);
    }
    let local_props = node.actual.as_ref().and_then(|a| a.props.as_deref());
    let skel = local_props.or(top.ignores.as_deref());
    let Some(props) = skel.and_then(|skel| read_props(skel).ok()) else {
        return DirPatterns { local: above.clone(), inheritable: above };
    };
    let inheritable = above.with_values(props.get(GLOBAL_IGNORES));
    let local = inheritable.with_values(props.get("svn:ignore"));
    DirPatterns { local, inheritable }
}

/// Whether the text must be compared to find out if a file is modified.
pub(super) fn needs_text_check(node: &Node, look: Option<Look>) -> bool {
    let Some((top, look)) = node.top().zip(look) else { return false };
    if !matches!(top.kind, Kind::File | Kind::Symlink) || !top.presence.is_there() {
        return false;
    }
    if !top.has_checksum || special_of(node) != (look.kind == DiskKind::Special) {
        return false;
    }
    look.kind != DiskKind::Dir && !top.records(look)
}

/// Whether a node is special, such as a link, by its properties.
pub(super) fn special_of(node: &Node) -> bool {
    match node.actual.as_ref() {
        Some(actual) if actual.props_mod => actual.special,
        _ => node.top().is_some_and(|top| top.special),
    }
}

/// Whether the permission bits of a file of BASE match its properties.
fn has_right_bits(node: &Node, look: Option<Look>) -> bool {
    match (&node.base, look) {
        (Some(base), Some(look)) if look.kind == DiskKind::File => base.has_right_bits(look.mode),
        _ => true,
    }
}

/// Whether a node that was found on disk can have nothing to report, with no more checks.
fn is_plain(node: &Node, look: Option<Look>) -> bool {
    let Some(base) = node.base.as_ref().filter(|_| node.work.is_empty()) else { return false };
    let kind = match look.map(|l| l.kind) {
        Some(DiskKind::Special) => base.special,
        Some(DiskKind::File) => base.kind == Kind::File && !base.special,
        _ => false,
    };
    kind && node.actual.is_none()
        && base.presence == Presence::Normal
        && base.repos_path == ReposPath::Implied
}
