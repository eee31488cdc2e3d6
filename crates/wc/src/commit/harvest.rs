//! Collects what there is to commit at and below the targets.
//!
//! Candidates come from status, which finds the changes; then the layers of each are examined. A
//! layer above BASE is committed as the operation that it is: the root of an addition, a copy or a
//! deletion becomes an item; a node below it becomes one only where it differs from it.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};

use sapwood_core::paths::{RelPath, RelPathBuf, Url, UrlBuf};
use sapwood_core::{CancelToken, Depth, ErrorCode, NodeKind, Revnum};

use super::{Changes, Item};
use crate::db::{Db, Kind, NodeRow, Presence, depth_of, parent_of};
use crate::error::{Error, Result};
use crate::root::{Disk, WorkingCopy};
use crate::status::{self, State, Status};
use crate::view::{self, View, operation_root};

/// Asks the repository which node is at a URL in a revision.
pub(crate) type CheckKind<'a> = &'a dyn Fn(&Url, Revnum) -> Result<Option<NodeKind>>;

/// How to harvest.
#[derive(Clone, Debug)]
pub struct HarvestOptions {
    /// How deep to go below a target.
    pub depth: Depth,
    /// Whether nodes that are only locked count: their locks end with the commit.
    pub just_locked: bool,
    /// Only what is on one of these changelists; empty for everything.
    pub changelists: HashSet<String>,
    /// Asks to stop.
    pub cancel: CancelToken,
}

/// A copy of a working copy to a URL: all nodes are included, whether they have changes or not.
#[derive(Clone, Debug)]
pub struct CopyTo {
    /// The destination in the repository.
    pub repos_relpath: RelPathBuf,
}

/// What was found.
#[derive(Debug, Default)]
pub struct Harvest {
    /// The items, in the order in which they were found.
    pub items: Vec<Item>,
    by_path: HashMap<PathBuf, usize>,
    /// URLs and the tokens of their locks.
    pub tokens: BTreeMap<UrlBuf, String>,
    /// Additions that have to be part of the commit because a child is: their paths, and the child's.
    danglers: BTreeMap<PathBuf, PathBuf>,
}

/// How a node's layers take part in a commit.
struct LayersInCommit {
    added: bool,
    deleted: bool,
    replaced: bool,
    op_root: bool,
    /// The revision of BASE, where BASE has part in it.
    revision: Option<Revnum>,
    /// The source of an addition.
    origin: Option<(RelPathBuf, Revnum)>,
}

impl LayersInCommit {
    fn of(wc: &WorkingCopy, view: &View) -> Result<Self> {
        let top = view.top();
        let status = view.status();
        let added = status == view::Status::Added;
        let deleted = status == view::Status::Deleted;
        let op_root = top.op_depth > 0 && top.op_depth == depth_of(&top.relpath);
        let base = view.base();
        let revision = match (top.op_depth, added) {
            (0, _) => top.revision,
            (_, true) if !op_root => None,
            _ => base.and_then(|row| row.revision),
        };
        Ok(Self {
            added,
            deleted,
            replaced: added && op_root && replaces(wc.db(), view)?,
            op_root,
            revision,
            origin: top.repos_path.clone().zip(top.revision).filter(|_| added),
        })
    }
}

/// Whether an addition replaces a node that its parent directory really has.
fn replaces(db: &Db, view: &View) -> Result<bool> {
    let Some(under) = view.below().filter(|row| row.presence.is_there()) else {
        return Ok(false);
    };
    let Some(parent) = parent_of(&view.top().relpath) else { return Ok(false) };
    let layers = db.layers(parent)?;
    let depth_at = |at: usize| layers.get(at).map(|row: &NodeRow| row.op_depth);
    Ok(match depth_at(0) {
        Some(depth) if depth >= under.op_depth => depth == under.op_depth,
        _ => depth_at(1) == Some(under.op_depth),
    })
}

impl Harvest {
    /// The item of a path.
    #[must_use]
    pub fn find(&self, abspath: &Path) -> Option<&Item> {
        self.items.get(*self.by_path.get(abspath)?)
    }

    /// Whether nothing was found.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// Harvests one target.
    ///
    /// # Errors
    /// `E155015` for a conflict, `E200009` for something unversioned, `E145001` for a node of another
    /// kind on disk, `E155010` for an addition that is missing; SQLite's and those of files.
    pub fn target(
        &mut self,
        wc: &WorkingCopy,
        relpath: &RelPath,
        options: &HarvestOptions,
    ) -> Result<()> {
        wc.db().questions(|| {
            refuse_in_tree_conflict(wc.db(), wc.disk(), relpath)?;
            self.walk(wc, relpath, options, None, None)
        })
    }

    /// Harvests the source of a copy to a URL.
    ///
    /// # Errors
    /// As [`Harvest::target`].
    pub fn copy(
        &mut self,
        wc: &WorkingCopy,
        relpath: &RelPath,
        to: &CopyTo,
        options: &HarvestOptions,
        check: CheckKind<'_>,
    ) -> Result<()> {
        // The repository may take its time: no lock is held while it is asked.
        let check = |url: &Url, revision| wc.db().released(|| check(url, revision));
        wc.db().questions(|| self.walk(wc, relpath, options, Some(to), Some(&check)))
    }

    fn walk(
        &mut self,
        wc: &WorkingCopy,
        relpath: &RelPath,
        options: &HarvestOptions,
        copy: Option<&CopyTo>,
        check: Option<CheckKind<'_>>,
    ) -> Result<()> {
        if wc.view(relpath)?.is_none() && wc.db().actual(relpath)?.is_none() {
            return Err(unversioned(wc.disk(), relpath));
        }
        let how = status::Options {
            depth: options.depth,
            all: copy.is_some(),
            unversioned: false,
            cancel: options.cancel.clone(),
            ..status::Options::default()
        };
        let mut walk = Walk { harvest: self, wc, root: relpath, options, copy, check, skip: None };
        wc.status(relpath, &how, &mut |status| walk.visit(&status))
    }

    fn add(&mut self, item: Item) {
        self.by_path.insert(item.abspath(), self.items.len());
        self.items.push(item);
    }

    /// Ends a harvest: children of copies that are excluded become deletions, and checks that every
    /// required parent is included.
    ///
    /// # Errors
    /// `E200009` for a parent that is not part of the commit.
    pub fn finish(&mut self, check: CheckKind<'_>) -> Result<()> {
        for at in 0..self.items.len() {
            let Some(item) = self.items.get(at).cloned() else { break };
            if item.changes.add
                && let Some((from, revision)) = &item.copy_from
            {
                self.absent_of_copy(&item, &item.root.join(from), *revision, check)?;
            }
        }
        for (parent, child) in &self.danglers {
            if !self.by_path.contains_key(parent) {
                return Err(Error::new(
                    ErrorCode::ILLEGAL_TARGET,
                    format!(
                        "'{}' is not known to exist in the repository and is not part of the \
                         commit, yet its child '{}' is part of the commit",
                        parent.display(),
                        child.display()
                    ),
                ));
            }
        }
        Ok(())
    }

    /// Deletes nodes that the repository would include in a copy and the working copy does not have.
    fn absent_of_copy(
        &mut self,
        item: &Item,
        from: &Url,
        revision: Revnum,
        check: CheckKind<'_>,
    ) -> Result<()> {
        let op_depth = depth_of(&item.relpath);
        for absent in item.wc.db().not_present_below(&item.relpath, op_depth)? {
            let rest = absent.rest_below(&item.relpath)?.to_owned();
            let abspath = item.wc.abspath(&absent);
            let known = self.by_path.get(&abspath).copied();
            if let Some(known) = known.and_then(|known| self.items.get(known)) {
                let changes = known.changes;
                if changes.delete || !changes.add || self.has_operation_between(item, &abspath) {
                    continue;
                }
            }
            let Some(kind) = check(&from.join(&rest), revision)? else {
                continue;
            };
            if let Some(known) = known.and_then(|known| self.items.get_mut(known)) {
                known.changes.delete = true;
                continue;
            }
            self.add(Item {
                relpath: absent,
                kind: Some(kind),
                repos_relpath: item.repos_relpath.join(&rest),
                revision: None,
                copy_from: None,
                changes: Changes { delete: true, ..Changes::default() },
                ..item.clone()
            });
        }
        Ok(())
    }

    /// Whether an item between a copy and a path below it is an addition or deletion.
    fn has_operation_between(&self, copy: &Item, abspath: &Path) -> bool {
        let root = copy.abspath();
        abspath
            .ancestors()
            .skip(1)
            .take_while(|dir| *dir != root && dir.starts_with(&root))
            .any(|dir| self.find(dir).is_some_and(|i| i.changes.add || i.changes.delete))
    }
}

fn unversioned(disk: &Disk, relpath: &RelPath) -> Error {
    let shown = disk.abspath(relpath);
    Error::new(
        ErrorCode::ILLEGAL_TARGET,
        format!("'{}' is not under version control", shown.display()),
    )
}

fn refuse_in_tree_conflict(db: &Db, disk: &Disk, relpath: &RelPath) -> Result<()> {
    let mut at = parent_of(relpath);
    while let Some(dir) = at {
        let data = db.actual(dir)?.and_then(|row| row.conflict_data);
        let tree = data.map(|bytes| crate::conflict::Conflict::parse(&bytes)).transpose()?;
        if tree.is_some_and(|conflict| conflict.tree.is_some()) {
            let shown = disk.abspath(dir);
            return Err(Error::new(
                ErrorCode::WC_FOUND_CONFLICT,
                format!("Aborting commit: '{}' remains in tree-conflict", shown.display()),
            ));
        }
        at = parent_of(dir);
    }
    Ok(())
}

struct Walk<'a> {
    harvest: &'a mut Harvest,
    wc: &'a WorkingCopy,
    root: &'a RelPath,
    options: &'a HarvestOptions,
    copy: Option<&'a CopyTo>,
    check: Option<CheckKind<'a>>,
    /// Nodes below this are not examined.
    skip: Option<RelPathBuf>,
}

impl Walk<'_> {
    fn display_path(&self, status: &Status) -> String {
        self.wc.abspath(&status.relpath).display().to_string()
    }

    fn matches(&self, status: &Status) -> bool {
        let wanted = &self.options.changelists;
        wanted.is_empty() || status.changelist.as_ref().is_some_and(|name| wanted.contains(name))
    }

    /// Whether there is anything to examine; errors for what must not be committed.
    fn is_candidate(&self, status: &Status) -> Result<bool> {
        let is_root = status.relpath == self.root;
        match status.node {
            State::Unversioned | State::Ignored | State::External | State::None => {
                return if is_root {
                    Err(unversioned(self.wc.disk(), self.root))
                } else {
                    Ok(false)
                };
            }
            State::Normal
                if self.copy.is_none()
                    && !status.conflicted
                    && !(self.options.just_locked && status.lock.is_some()) =>
            {
                return Ok(false);
            }
            _ => {}
        }
        let matches = self.matches(status);
        if status.kind != Some(NodeKind::Dir) && !matches {
            return Ok(false);
        }
        if status.conflicted && matches {
            return Err(Error::new(
                ErrorCode::WC_FOUND_CONFLICT,
                format!("Aborting commit: '{}' remains in conflict", self.display_path(status)),
            ));
        }
        if status.node == State::Obstructed {
            return Err(Error::new(
                ErrorCode::NODE_UNEXPECTED_KIND,
                format!("Node '{}' has unexpectedly changed kind", self.display_path(status)),
            ));
        }
        Ok(!(status.conflicted && status.kind.is_none()))
    }

    fn visit(&mut self, status: &Status) -> Result<()> {
        if let Some(skip) = &self.skip
            && status.relpath.is_at_or_below(skip)
        {
            return Ok(());
        }
        self.skip = None;
        if !self.is_candidate(status)?
            || self.harvest.by_path.contains_key(&self.wc.abspath(&status.relpath))
        {
            return Ok(());
        }
        let Some(view) = self.wc.view(&status.relpath)? else { return Ok(()) };
        let standing = LayersInCommit::of(self.wc, &view)?;
        if status.file_external && status.relpath != self.root {
            return Ok(());
        }
        if status.node == State::Missing && self.matches(status) {
            if standing.added && standing.op_root {
                return Err(Error::new(
                    ErrorCode::WC_PATH_NOT_FOUND,
                    format!(
                        "'{}' is scheduled for addition, but is missing",
                        self.display_path(status)
                    ),
                ));
            }
            return Ok(());
        }
        if standing.deleted && !standing.op_root {
            return Ok(());
        }
        self.take(status, &standing)?;
        if standing.deleted && !standing.added {
            if status.kind == Some(NodeKind::Dir) {
                self.skip = Some(status.relpath.clone());
            }
            return Ok(());
        }
        if self.copy.is_some() && !standing.added && status.kind == Some(NodeKind::Dir) {
            self.absent_children(status)?;
        }
        Ok(())
    }

    /// Decides what happens to a node, and adds the item.
    fn take(&mut self, status: &Status, standing: &LayersInCommit) -> Result<()> {
        let mut changes =
            Changes { delete: standing.deleted || standing.replaced, ..Changes::default() };
        let mut copy_from = None;
        if standing.added && standing.op_root {
            changes.add = true;
            if standing.origin.is_some() {
                changes.copy = true;
                copy_from.clone_from(&standing.origin);
                changes.moved_here = status.moved_from.is_some() && self.copy.is_none();
            }
        } else if self.copy.is_some() && !changes.delete {
            copy_from = self.further_copy(status, standing, &mut changes)?;
        }
        if !changes.delete || changes.add {
            let new = changes.add && !changes.copy;
            changes.text =
                status.kind == Some(NodeKind::File) && (new || status.text != State::Normal);
            changes.props = !matches!(status.props, State::Normal | State::None);
        }
        let counts = changes.any() || self.options.just_locked;
        changes.lock_token = status.lock.is_some() && self.copy.is_none() && counts;
        let matches = self.matches(status);
        if matches && changes.any() {
            self.push(status, standing, copy_from, changes)?;
        }
        let in_base = standing.revision.is_some();
        if matches && changes.delete && self.copy.is_none() && in_base {
            for (url, token) in self.wc.db().lock_tokens_below(&status.relpath)? {
                self.harvest.tokens.insert(url, token);
            }
        }
        let is_start = status.relpath == self.root || !self.options.changelists.is_empty();
        let dangles = standing.added || (standing.deleted && standing.op_root && status.copied);
        if matches && is_start && changes.any() && dangles && self.copy.is_none() {
            self.note_parent(status)?;
        }
        Ok(())
    }

    fn push(
        &mut self,
        status: &Status,
        standing: &LayersInCommit,
        copy_from: Option<(RelPathBuf, Revnum)>,
        changes: Changes,
    ) -> Result<()> {
        let (repos_id, place) = self.wc.repos_location(&status.relpath)?;
        let root = self.wc.db().repository(repos_id)?.root;
        let repos_relpath = match self.copy {
            Some(to) => to.repos_relpath.join(status.relpath.rest_below(self.root)?),
            None => place,
        };
        if let Some(lock) = status.lock.as_ref().filter(|_| changes.lock_token) {
            self.harvest.tokens.insert(root.join(&repos_relpath), lock.token.clone());
        }
        let revision = standing.revision.filter(|_| self.copy.is_none());
        self.harvest.add(Item {
            wc: self.wc.clone(),
            relpath: status.relpath.clone(),
            kind: status.kind,
            root,
            repos_relpath,
            revision,
            copy_from,
            changes,
        });
        Ok(())
    }

    /// In a copy to a URL: a node that differs from what a copy of its parent would include.
    fn further_copy(
        &self,
        status: &Status,
        standing: &LayersInCommit,
        changes: &mut Changes,
    ) -> Result<Option<(RelPathBuf, Revnum)>> {
        let is_root = status.relpath == self.root;
        let parent = parent_of(&status.relpath).filter(|_| !is_root && !standing.added);
        let base = parent.map(|p| self.wc.db().base(p)).transpose()?.flatten();
        let same_as_parent = base.as_ref().and_then(|row| row.revision) == standing.revision;
        if !is_root && (standing.added || (!status.switched && same_as_parent)) {
            return Ok(None);
        }
        changes.add = true;
        changes.copy = true;
        if let Some(base) = base
            && let (Some(check), Some(at), Some(revision)) =
                (self.check, &base.repos_path, base.revision)
            && let Some(id) = base.repos_id
        {
            let root = self.wc.db().repository(id)?.root;
            let place = at.child(status.relpath.name());
            changes.delete = check(&root.join(&place), revision)?.is_some();
        }
        if status.copied {
            return Ok(standing.origin.clone());
        }
        Ok(status.repos_relpath.clone().zip(status.revision))
    }

    /// In a copy to a URL: children of BASE that are not present are deleted from the copy.
    fn absent_children(&mut self, status: &Status) -> Result<()> {
        let Some(to) = self.copy else { return Ok(()) };
        let Some(base) = self.wc.db().base(&status.relpath)? else { return Ok(()) };
        for child in self.wc.db().children_top(&status.relpath)? {
            if child.presence != Presence::NotPresent {
                continue;
            }
            let Some(id) = base.repos_id else { continue };
            let root = self.wc.db().repository(id)?.root;
            let mut kind = match child.kind {
                Kind::Dir => Some(NodeKind::Dir),
                _ => Some(NodeKind::File),
            };
            if let (Some(check), Some(at), Some(revision)) =
                (self.check, &base.repos_path, base.revision)
            {
                kind = check(&root.join(at).child(child.name()), revision)?;
                if kind.is_none() {
                    continue;
                }
            }
            let rest = child.relpath.rest_below(self.root)?.to_owned();
            self.harvest.add(Item {
                wc: self.wc.clone(),
                relpath: child.relpath.clone(),
                kind,
                root,
                repos_relpath: to.repos_relpath.join(&rest),
                revision: None,
                copy_from: None,
                changes: Changes { delete: true, ..Changes::default() },
            });
        }
        Ok(())
    }

    /// A node whose parent is added needs that parent in the same commit.
    fn note_parent(&mut self, status: &Status) -> Result<()> {
        let Some(parent) = parent_of(&status.relpath) else { return Ok(()) };
        if self.harvest.by_path.contains_key(&self.wc.abspath(parent)) {
            return Ok(());
        }
        let Some(view) = self.wc.view(parent)? else { return Ok(()) };
        if view.status() != view::Status::Added {
            return Ok(());
        }
        let copied = self.wc.addition(view.top())? != view::Addition::Added;
        let needed = if copied { operation_root(parent, view.top().op_depth) } else { parent };
        let child = self.wc.abspath(&status.relpath);
        self.harvest.danglers.entry(self.wc.abspath(needed)).or_insert(child);
        Ok(())
    }
}
