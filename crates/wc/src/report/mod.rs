//! Reporting BASE to the other side of an edit: crawls it, and sends where it differs from one tree
//! in one revision.
//!
//! Files that are missing on disk are restored on the way, if the caller asks for that. The rows come from
//! one scan, and several threads list the directories in advance ([`missing`]). Where a status has found
//! that all rows but a few are uniform ([`crate::status::ground`]), only those few are read.

mod missing;
mod restore;

use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::fs;

use sapwood_core::notify::Notify;
use sapwood_core::paths::{RelPath, RelPathBuf, UrlBuf};
use sapwood_core::{Depth, Revnum};
use sapwood_delta::ReportEntry;
use sapwood_delta::report::Report;

use crate::db::{Kind, NodeRow, Presence};
use crate::error::{Error, Result};
use crate::root::{WorkingCopy, disk_kind};
use crate::status::{Layer, Node, ReposPath, Scope, Table};

use restore::Restorer;

/// How BASE is reported.
pub struct Crawl<'a> {
    /// The target of the edit, below the working copy's root.
    pub target: &'a RelPath,
    /// How deep the edit goes.
    pub depth: Depth,
    /// Whether to say how deep directories are. (An update that makes them deeper does not.)
    pub honor_depth_exclude: bool,
    /// Whether missing files are written again.
    pub restore: bool,
    /// Called for each of them.
    pub notify: Option<&'a dyn Fn(&Notify<'_>)>,
}

impl std::fmt::Debug for Crawl<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Crawl").field("target", &self.target).finish_non_exhaustive()
    }
}

/// What was reported for a directory.
#[derive(Clone, Copy)]
struct ReportedDir<'a> {
    relpath: &'a RelPath,
    repos_path: &'a RelPath,
    /// Whether that is the path that follows from its parent's.
    implied: bool,
    revision: Revnum,
    /// How deep the directory is.
    depth: Depth,
    /// It was reported without its children: all of them must be reported.
    everything: bool,
    /// Whether missing children can be written again.
    restore: bool,
}

struct Crawler<'a> {
    wc: &'a WorkingCopy,
    how: &'a Crawl<'a>,
    report: &'a mut dyn Report,
    /// Tokens of locks by path in the repository.
    locks: HashMap<RelPathBuf, String>,
    root: UrlBuf,
    table: &'a Table,
    /// Directories that lack something; `None` when that is not known.
    incomplete: Option<&'a HashSet<RelPathBuf>>,
    restorer: Restorer<'a>,
}

/// As [`WorkingCopy::report`].
pub(crate) fn report(wc: &WorkingCopy, how: &Crawl<'_>, report: &mut dyn Report) -> Result<()> {
    let Some(TargetRow { base, revision, locks, root }) =
        wc.db().questions(|| TargetRow::read(wc, how))?
    else {
        let depth = if how.depth == Depth::Unknown { Depth::Infinity } else { how.depth };
        report.entry(&ReportEntry::new(RelPath::ROOT, Revnum::ZERO, depth))?;
        report.delete_path(RelPath::ROOT)?;
        return Ok(());
    };
    let recursive = matches!(how.depth, Depth::Infinity | Depth::Unknown);
    let scope = match (recursive, base.kind) {
        (true, Kind::Dir) => Scope::Subtree(how.target),
        (false, Kind::Dir) => Scope::Children(how.target),
        _ => Scope::One(how.target),
    };
    let (table, incomplete) = nodes_to_report(wc, &base, how, scope)?;
    let incomplete = incomplete.as_ref();
    let mut restorer = Restorer::new(wc, how.notify);
    if how.restore && disk_kind(&wc.abspath(how.target))?.is_none() {
        restorer.at_once(how.target)?;
    }
    let mut crawler = Crawler { wc, how, report, locks, root, table: &table, incomplete, restorer };
    let start_empty = base.presence == Presence::Incomplete;
    let mut depth = base.depth_or_infinity();
    if how.honor_depth_exclude && how.depth != Depth::Unknown && how.depth < depth {
        depth = how.depth;
    }
    let entry = ReportEntry::new(RelPath::ROOT, revision, depth);
    crawler.report.entry(&ReportEntry { start_empty, ..entry })?;
    let repos_path = base.base_path()?.to_owned();
    if base.kind != Kind::Dir {
        return crawler.target_file(&base, &repos_path, revision);
    }
    if how.depth == Depth::Empty {
        return Ok(());
    }
    crawler.dir(ReportedDir {
        relpath: how.target,
        repos_path: &repos_path,
        implied: table.implied_path(how.target) == repos_path,
        revision,
        depth,
        everything: start_empty,
        restore: how.restore,
    })?;
    crawler.restorer.flush()
}

/// What is known of the target of a report, and of its repository.
struct TargetRow {
    base: NodeRow,
    revision: Revnum,
    /// Tokens of locks by path in the repository.
    locks: HashMap<RelPathBuf, String>,
    root: UrlBuf,
}

impl TargetRow {
    /// Reads it; `None` when BASE has no such node.
    fn read(wc: &WorkingCopy, how: &Crawl<'_>) -> Result<Option<Self>> {
        let base = wc.db().base(how.target)?.filter(|base| base.presence.is_there());
        let Some(base) = base else { return Ok(None) };
        let (Some(revision), Some(repos_id)) = (base.revision, base.repos_id) else {
            return Err(Error::Corrupt {
                path: wc.abspath(how.target),
                what: "a BASE node has no revision".to_owned(),
            });
        };
        let locks = wc.db().locks()?.into_iter().filter(|lock| lock.repos_id == repos_id);
        let locks = locks.map(|lock| (lock.repos_relpath, lock.token)).collect();
        let root = wc.db().repository(repos_id)?.root;
        Ok(Some(Self { base, revision, locks, root }))
    }
}

/// The nodes that a report looks at, and the directories that lack something, if missing files are restored.
fn nodes_to_report(
    wc: &WorkingCopy,
    base: &NodeRow,
    how: &Crawl<'_>,
    scope: Scope<'_>,
) -> Result<(Table, Option<HashSet<RelPathBuf>>)> {
    let recursive = matches!(how.depth, Depth::Infinity | Depth::Unknown);
    let known = match recursive && how.target.is_empty() {
        true => wc.db().read(|_| odd_nodes(wc, base, how.restore))?,
        false => None,
    };
    if let Some((table, incomplete)) = known {
        return Ok((table, how.restore.then_some(incomplete)));
    }
    let table = wc.db().read(|db| Table::read(db, scope))?;
    let incomplete = (recursive && how.restore && base.kind == Kind::Dir).then(|| {
        let whole = crate::status::Whole::cached_for(wc, &table);
        missing::incomplete(wc.root(), &table, &whole)
    });
    Ok((table, incomplete))
}

/// The nodes of a working copy of which there may be something to say, and the directories that lack
/// something; nothing when all have to be read.
fn odd_nodes(
    wc: &WorkingCopy,
    root: &NodeRow,
    restore: bool,
) -> Result<Option<(Table, HashSet<RelPathBuf>)>> {
    let Some(ground) = crate::status::ground(wc, root, restore) else { return Ok(None) };
    let odd: Vec<&RelPath> = ground.even.odd.iter().map(RelPathBuf::as_path).collect();
    let mut read = ground.changed.clone();
    for path in &odd {
        // The children of a directory that differs are reported relative to it.
        if wc.db().base(path)?.is_some_and(|row| row.kind == Kind::Dir) {
            read.insert((*path).to_owned());
        }
    }
    let table = Table::read_directories(wc.db(), &odd, &read)?;
    let incomplete = missing::incomplete_among(wc.root(), &table, &ground.changed);
    Ok(Some((table, incomplete)))
}

/// A node of a directory that is reported.
struct Child<'c> {
    /// Its path below the target.
    below: &'c RelPath,
    repos_path: &'c RelPath,
    switched: bool,
    revision: Revnum,
}

impl Crawler<'_> {
    const fn is_recursive(&self) -> bool {
        matches!(self.how.depth, Depth::Infinity | Depth::Unknown)
    }

    fn url(&self, repos_path: &RelPath) -> UrlBuf {
        self.root.join(repos_path)
    }

    fn repos_path(&self, node: &Node, row: &Layer) -> RelPathBuf {
        match &row.repos_path {
            ReposPath::Unset => RelPathBuf::default(),
            ReposPath::Implied => self.table.implied_path(&node.relpath),
            ReposPath::At(path) => path.clone(),
        }
    }

    fn lock_of(&self, repos_path: &RelPath) -> Option<String> {
        self.locks.get(repos_path).cloned()
    }

    fn target_file(
        &mut self,
        base: &NodeRow,
        repos_path: &RelPath,
        revision: Revnum,
    ) -> Result<()> {
        let parent = self.wc.db().base(base.relpath.parent())?;
        let parent = parent.and_then(|p| p.repos_path).unwrap_or_default();
        let switched = parent.child(base.name()) != repos_path;
        let token = self.lock_of(repos_path);
        if switched || token.is_some() {
            let url = switched.then(|| self.url(repos_path));
            self.report.entry(&ReportEntry {
                link: url.as_deref(),
                lock_token: token.as_deref(),
                ..ReportEntry::new(RelPath::ROOT, revision, Depth::Infinity)
            })?;
        }
        Ok(())
    }

    fn dir(&mut self, reported: ReportedDir<'_>) -> Result<()> {
        let table = self.table;
        let children = table.children(reported.relpath);
        let is_whole = self.incomplete.is_some_and(|dirs| !dirs.contains(reported.relpath));
        let has_base = |at: &u32| table.node(*at).is_some_and(|node| node.base.is_some());
        let mut restore = reported.restore && (is_whole || children.iter().any(has_base));
        let mut names = HashSet::new();
        if restore && !is_whole {
            match fs::read_dir(self.wc.abspath(reported.relpath)) {
                Ok(entries) => names.extend(entries.filter_map(|e| Some(e.ok()?.file_name()))),
                Err(_) => restore = false,
            }
        }
        for at in children {
            let Some(node) = table.node(*at) else { continue };
            let Some(row) = &node.base else { continue };
            let missing = restore && !is_whole && !names.contains(OsStr::new(node.name()));
            self.child(ReportedDir { restore, ..reported }, node, row, missing)?;
        }
        Ok(())
    }

    fn child(
        &mut self,
        reported: ReportedDir<'_>,
        node: &Node,
        row: &Layer,
        missing: bool,
    ) -> Result<()> {
        if row.file_external {
            return Ok(());
        }
        // The path below the target, as the report wants it.
        let below = node.relpath.rest_below(self.how.target)?;
        if self.has_no_node(&reported, row.presence, below)? {
            return Ok(());
        }
        match (missing, row.kind) {
            (true, Kind::Dir) => self.restorer.at_once(&node.relpath)?,
            (true, _) => self.restorer.file(&node.relpath)?,
            _ => {}
        }
        let implied = row.repos_path == ReposPath::Implied;
        let plain = implied && reported.implied;
        let revision = row.revision.unwrap_or(reported.revision);
        if plain
            && row.kind != Kind::Dir
            && revision == reported.revision
            && !reported.everything
            && reported.depth != Depth::Empty
            && self.locks.is_empty()
        {
            // What nearly all files are: there is nothing to say.
            return Ok(());
        }
        let repos_path = self.repos_path(node, row);
        let repos_path = repos_path.as_path();
        let switched = !plain && reported.repos_path.child(node.name()) != repos_path;
        let child = Child { below, repos_path, switched, revision };
        if row.kind != Kind::Dir {
            return self.child_file(&reported, &child);
        }
        if self.how.depth == Depth::Files {
            return Ok(());
        }
        let depth = if row.depth == Depth::Unknown { Depth::Infinity } else { row.depth };
        let start_empty = row.presence == Presence::Incomplete;
        self.child_dir(&reported, &child, depth, start_empty)?;
        if !self.is_recursive() {
            return Ok(());
        }
        self.dir(ReportedDir {
            relpath: &node.relpath,
            repos_path,
            implied,
            revision,
            depth,
            everything: start_empty,
            restore: reported.restore,
        })
    }

    /// Whether BASE only says that there is no node, which is reported then.
    fn has_no_node(
        &mut self,
        reported: &ReportedDir<'_>,
        presence: Presence,
        below: &RelPath,
    ) -> Result<bool> {
        match presence {
            Presence::Excluded if self.how.honor_depth_exclude => {
                self.report.entry(&ReportEntry::new(below, reported.revision, Depth::Exclude))?;
            }
            Presence::Excluded | Presence::ServerExcluded | Presence::NotPresent => {
                if !reported.everything {
                    self.report.delete_path(below)?;
                }
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Reports a file that is not as its directory says.
    fn child_file(&mut self, reported: &ReportedDir<'_>, child: &Child<'_>) -> Result<()> {
        let token = self.lock_of(child.repos_path);
        if child.switched
            || reported.everything
            || child.revision != reported.revision
            || token.is_some()
            || reported.depth == Depth::Empty
        {
            let url = child.switched.then(|| self.url(child.repos_path));
            self.report.entry(&ReportEntry {
                link: url.as_deref(),
                lock_token: token.as_deref(),
                ..ReportEntry::new(child.below, child.revision, Depth::Infinity)
            })?;
        }
        Ok(())
    }

    /// Reports a directory that is not as the one above it says.
    fn child_dir(
        &mut self,
        reported: &ReportedDir<'_>,
        child: &Child<'_>,
        depth: Depth,
        start_empty: bool,
    ) -> Result<()> {
        if child.switched
            || reported.everything
            || child.revision != reported.revision
            || start_empty
            || matches!(reported.depth, Depth::Empty | Depth::Files)
            || (reported.depth == Depth::Immediates && depth != Depth::Empty)
            || (depth < Depth::Infinity && self.is_recursive())
        {
            let said = if self.is_recursive() { depth } else { Depth::Empty };
            let url = child.switched.then(|| self.url(child.repos_path));
            self.report.entry(&ReportEntry {
                link: url.as_deref(),
                start_empty,
                ..ReportEntry::new(child.below, child.revision, said)
            })?;
        }
        Ok(())
    }
}
