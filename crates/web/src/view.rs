//! All that a page may ask of a repository, by the rights of one user.
//!
//! Invariant: nothing leaves this file that the user may not read. A path that may not be read and one that is not there
//! are the same error.

use std::fmt;
use std::sync::Arc;
use std::time::Instant;

use sapwood_core::exact::len64;
use sapwood_core::mergeinfo::{Mergeinfo, RangeList};
use sapwood_core::paths::FsPathBuf;
use sapwood_core::props::names;
use sapwood_core::{
    CancelToken, Depth, ErrorCode, Exact as _, FileRev, FsPath, Lock, NodeKind, PropList, Revnum,
    RevpropSelection, SvnError, SvnResult,
};
use sapwood_delta::TextDelta;
use sapwood_fs::{HistoryValue, Node, RevpropsSnapshot, Root};
use sapwood_repos::authorizer::Everything;
use sapwood_repos::nodes::{Entries, EntriesWanted};
use sapwood_repos::{
    FileRevReceiver, FileRevsRequest, LogRequest, LogRevision, PathAuthorizer, Repository,
    SharedAuthorizer, TreeWalk,
};
use sapwood_search::{ChangedFile, ChangedLines, Scope};

use crate::address::Address;
use crate::budget;
use crate::fault::{Fault, Result};
use crate::text;

/// What one user may see of a repository, within the time that a page has.
#[derive(Clone)]
pub struct View<'a> {
    repository: &'a Repository,
    access: &'a dyn PathAuthorizer,
    /// Ends with the page's time.
    cancel: CancelToken,
    /// Ends with the server.
    stop: CancelToken,
}

impl fmt::Debug for View<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("View").finish_non_exhaustive()
    }
}

/// What is at an address.
#[derive(Debug)]
pub(crate) struct FoundNode {
    pub(crate) root: Root,
    pub(crate) node: Node,
    pub(crate) path: FsPathBuf,
    pub(crate) revision: Revnum,
    /// The revision that links go on with; `None` while the newest one is shown.
    pub(crate) sticky: Option<Revnum>,
}

/// A copy.
#[derive(Debug)]
pub(crate) struct Copy {
    /// The revision that made it.
    pub(crate) made: Revnum,
    /// What it was made of.
    pub(crate) source: (FsPathBuf, Revnum),
}

/// A change, as far as it may be seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The revision.
    pub revision: Revnum,
    /// Who made it.
    pub author: Option<String>,
    /// When, as Subversion writes dates.
    pub date: Option<String>,
    /// Why.
    pub message: Option<String>,
}

impl Change {
    pub(crate) fn of_log(entry: &LogRevision<'_>) -> Option<Self> {
        Some(Self {
            revision: entry.revision?,
            author: entry.revprop(names::AUTHOR).map(|name| text::part_of(name, budget::NAME)),
            date: entry.revprop(names::DATE).and_then(date),
            message: entry.revprop(names::LOG).map(message),
        })
    }
}

fn message(bytes: &[u8]) -> String {
    text::part_of(bytes, budget::MESSAGE)
}

fn date(bytes: &[u8]) -> Option<String> {
    std::str::from_utf8(bytes).ok().map(str::to_owned)
}

/// The name and kind of an entry of a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Name {
    pub(crate) name: String,
    pub(crate) is_dir: bool,
}

impl<'a> View<'a> {
    /// What may be seen of `repository` by the rights of `access`. What takes too long for a page ends with
    /// [`Fault::TooLong`], as it does when `cancel` says so.
    #[must_use]
    pub fn new(
        repository: &'a Repository,
        access: &'a dyn PathAuthorizer,
        cancel: &CancelToken,
    ) -> Self {
        let (begun, stop) = (Instant::now(), cancel.clone());
        let cancel = cancel.or_when(move || begun.elapsed() > budget::END);
        Self { repository, access, cancel, stop }
    }

    /// Whether the newest revision has something at a path that may be read.
    ///
    /// # Errors
    /// Corruption and system errors.
    pub fn has(&self, path: &FsPath) -> Result<bool> {
        Ok(self.may_read(path)?
            && self.repository.fs().revision_root(self.youngest()?)?.kind(path)?.is_some())
    }

    pub(crate) fn may_read(&self, path: &FsPath) -> Result<bool> {
        Ok(self.access.readable(path)?)
    }

    pub(crate) fn youngest(&self) -> Result<Revnum> {
        Ok(self.repository.fs().youngest()?)
    }

    /// What distinguishes the rules of this user from others in this process; `None` where nothing does.
    pub(crate) fn rules(&self) -> Option<String> {
        if self.access.everything_readable() {
            return Some(String::new());
        }
        self.access.rules().map(|rules| format!("{rules:?}"))
    }

    /// What an address is about.
    pub(crate) fn at(&self, address: &Address) -> Result<FoundNode> {
        let query = &address.query;
        self.find(address.path(), query.peg, query.revision)
    }

    /// What was at `path` in `peg`, as it was in `revision`.
    pub(crate) fn find(
        &self,
        path: &FsPath,
        peg: Option<Revnum>,
        revision: Option<Revnum>,
    ) -> Result<FoundNode> {
        let youngest = self.youngest()?;
        let at = peg.unwrap_or(youngest);
        if !self.may_read(path)? || at > youngest {
            return Err(Fault::Missing);
        }
        let sticky = revision.or(peg);
        let revision = revision.unwrap_or(at);
        let path = if revision == at {
            path.to_owned()
        } else {
            self.path_in(path, at, revision)?.ok_or(Fault::Missing)?
        };
        let root = self.repository.fs().revision_root(revision)?;
        let node = root.find(&path)?.ok_or(Fault::Missing)?;
        Ok(FoundNode { root, node, path, revision, sticky })
    }

    /// The path in `revision` of what is at `path` in `peg`.
    pub(crate) fn path_in(
        &self,
        path: &FsPath,
        peg: Revnum,
        revision: Revnum,
    ) -> Result<Option<FsPathBuf>> {
        let (repository, access) = (self.repository, self.access);
        let found =
            sapwood_repos::locations(repository, path, peg, &[revision], access, &self.cancel)?;
        Ok(found.into_iter().next().map(|(_, path)| path))
    }

    /// The last change of a node. `revprops` is shared by the nodes of one page.
    pub(crate) fn last_change(
        &self,
        revprops: &mut RevpropsSnapshot,
        node: &Node,
    ) -> Result<Change> {
        let info = sapwood_repos::committed_info(revprops, node)?;
        Ok(Change {
            revision: info.revision,
            author: info.date_author.author().map(|name| text::part_of(name, budget::NAME)),
            date: info.date().map(str::to_owned),
            message: None,
        })
    }

    /// The same with the message, as far as that may be seen.
    pub(crate) fn change_of(&self, node: &Node) -> Result<Change> {
        let mut change = self.last_change(&mut self.revprops(), node)?;
        change.message = self.message(change.revision)?;
        Ok(change)
    }

    /// A revision, as far as it may be seen.
    pub(crate) fn change_in(&self, revision: Revnum) -> Result<Change> {
        let props = self.revision_props(revision)?;
        Ok(Change {
            revision,
            author: props.get(names::AUTHOR).map(|name| text::part_of(name, budget::NAME)),
            date: props.get(names::DATE).and_then(date),
            message: props.get(names::LOG).map(message),
        })
    }

    pub(crate) fn message(&self, revision: Revnum) -> Result<Option<String>> {
        let (repository, access) = (self.repository, self.access);
        let value = sapwood_repos::revision_prop(repository, revision, names::LOG, access)?;
        Ok(value.map(|value| message(&value)))
    }

    pub(crate) fn revprops(&self) -> RevpropsSnapshot {
        self.repository.fs().revprops_snapshot()
    }

    /// The properties of a revision that may be seen.
    pub(crate) fn revision_props(&self, revision: Revnum) -> Result<Arc<PropList>> {
        if revision > self.youngest()? {
            return Err(Fault::Missing);
        }
        Ok(sapwood_repos::revision_props(self.repository, revision, self.access)?)
    }

    /// The entries of a directory that may be read: folders first, by name.
    pub(crate) fn entries(&self, found: &FoundNode) -> Result<Vec<Name>> {
        let mut all = Vec::new();
        let wanted = EntriesWanted::default();
        let entries = Entries::of(&found.root, &found.node)?;
        entries.each(wanted, self.access, &self.cancel, |entry| -> sapwood_repos::Result<()> {
            all.push(Name { name: entry.name().to_owned(), is_dir: entry.kind() == NodeKind::Dir });
            Ok(())
        })?;
        all.sort_by(|a, b| (!a.is_dir, &a.name).cmp(&(!b.is_dir, &b.name)));
        Ok(all)
    }

    /// The values of some properties of `path` in the newest revision, or else of the nearest folder above it that has one and may be
    /// read. What is not there any more has those of the folder where it was.
    pub(crate) fn set_above<const N: usize>(
        &self,
        path: &FsPath,
        names: [&str; N],
    ) -> Result<[Option<Vec<u8>>; N]> {
        let root = self.repository.fs().revision_root(self.youngest()?)?;
        let mut path = path.to_owned();
        while !self.may_read(&path)? || root.kind(&path)?.is_none() {
            if path.is_root() {
                return Ok(names.map(|_| None));
            }
            path = path.parent().to_owned();
        }
        let mut lists =
            sapwood_repos::inherited_props(&root, &path, None, self.access, &self.cancel)?;
        lists.push((String::new(), root.node(&path)?.props()?));
        let nearest = |name: &str| lists.iter().rev().find_map(|(_, props)| props.get(name));
        Ok(names.map(|name| nearest(name).map(<[u8]>::to_vec)))
    }

    /// All that is below a directory and may be read, within the time of a page. `access` has the rules of this view.
    pub(crate) fn walk(&self, found: &FoundNode, access: &SharedAuthorizer) -> Result<TreeWalk> {
        let (path, dir) = (found.path.clone(), found.node.clone());
        Ok(TreeWalk::below(path, dir, Arc::clone(access), &self.cancel)?)
    }

    /// The same for what is made after the page, until the server ends.
    pub(crate) fn long_walk(
        &self,
        found: &FoundNode,
        access: &SharedAuthorizer,
    ) -> Result<TreeWalk> {
        let (path, dir) = (found.path.clone(), found.node.clone());
        Ok(TreeWalk::below(path, dir, Arc::clone(access), &self.stop)?)
    }

    /// The lock on a path.
    pub(crate) fn lock(&self, path: &FsPath) -> Result<Option<Lock>> {
        if !self.may_read(path)? {
            return Err(Fault::Missing);
        }
        Ok(self.repository.fs().lock(path)?)
    }

    /// The locks on a path and below it that may be seen, by path; one more than a page has, if there are more.
    pub(crate) fn locks(&self, path: &FsPath) -> Result<Vec<Lock>> {
        let mut seen = Vec::new();
        for lock in self.repository.fs().locks(path, Depth::Infinity)? {
            self.cancel.check()?;
            if self.may_read(&lock.path)? {
                seen.push(lock);
            }
        }
        seen.sort_unstable_by(|a, b| a.path.cmp(&b.path));
        seen.truncate(budget::ENTRIES.plus(1));
        Ok(seen)
    }

    /// The history of what is at `path` in `start`: at most `limit` changes, youngest first, across copies.
    pub(crate) fn log(&self, path: &FsPath, start: Revnum, limit: u64) -> Result<Vec<Change>> {
        // Nothing was changed in revision 0, and `svn log` does not list it either.
        self.log_between(path, (start, start.min(Revnum(1))), limit)
    }

    /// The same from the younger of two revisions down to the older one.
    fn log_between(
        &self,
        path: &FsPath,
        (start, end): (Revnum, Revnum),
        limit: u64,
    ) -> Result<Vec<Change>> {
        if !self.may_read(path)? {
            return Err(Fault::Missing);
        }
        let paths = [path];
        let mut request = LogRequest::whole(&paths, (start.0, end.0), SHOWN);
        request.limit = limit;
        let mut all = Vec::new();
        let mut receive = |entry: &LogRevision<'_>| -> SvnResult<()> {
            all.extend(Change::of_log(entry));
            Ok(())
        };
        sapwood_repos::log(self.repository, &request, self.access, &self.cancel, &mut receive)?;
        Ok(all)
    }

    /// The history of what is at `path` in the younger of two revisions, down to the older one, youngest first, until `receive` has
    /// enough; returns whether that was all.
    pub(crate) fn log_until(
        &self,
        path: &FsPath,
        (start, end): (Revnum, Revnum),
        receive: &mut dyn FnMut(Change) -> bool,
    ) -> Result<bool> {
        if !self.may_read(path)? {
            return Err(Fault::Missing);
        }
        if start < end {
            return Ok(true);
        }
        let paths = [path];
        let request = LogRequest::whole(&paths, (start.0, end.0), SHOWN);
        let mut is_enough = false;
        let mut each = |entry: &LogRevision<'_>| -> SvnResult<()> {
            is_enough = Change::of_log(entry).is_some_and(|change| !receive(change));
            if is_enough { Err(SvnError::new(ErrorCode::CANCELLED, "")) } else { Ok(()) }
        };
        match sapwood_repos::log(self.repository, &request, self.access, &self.cancel, &mut each) {
            Err(_) if is_enough => Ok(false),
            done => Ok(done.map(|()| true)?),
        }
    }

    /// A revision and the paths that it changed, as far as they may be seen.
    pub(crate) fn revision(
        &self,
        revision: Revnum,
        receive: &mut dyn FnMut(&LogRevision<'_>) -> SvnResult<()>,
    ) -> Result<()> {
        let mut request = LogRequest::whole(&[], (revision.0, revision.0), RevpropSelection::All);
        request.changed_paths = true;
        Ok(sapwood_repos::log(self.repository, &request, self.access, &self.cancel, receive)?)
    }

    /// What a node was before the change that `found` made, if that may be read: where it was made, or where it was
    /// copied to.
    pub(crate) fn before(&self, found: &FoundNode) -> Result<Option<Node>> {
        let Some(before) = found.node.predecessor()? else { return Ok(None) };
        if self.may_read(before.created_path())? {
            return Ok(Some(before));
        }
        let Some(revision) = found.revision.prev() else { return Ok(None) };
        match self.find(&found.path, Some(revision), None) {
            Ok(copy) if copy.node.id() == before.id() => Ok(Some(copy.node)),
            Ok(_) | Err(Fault::Missing) => Ok(None),
            Err(fault) => Err(fault),
        }
    }

    /// The files that a revision changed, by their positions in its list; those that may not be read have none.
    pub(crate) fn changed_files(
        &self,
        scope: &Scope,
        revision: Revnum,
    ) -> Result<Vec<Option<ChangedFile>>> {
        let files = sapwood_search::changed_files(self.repository, scope, revision, &self.cancel)?;
        let seen = |file: ChangedFile| -> Result<Option<ChangedFile>> {
            Ok(self.may_read(&file.path)?.then_some(file))
        };
        files.into_iter().map(seen).collect()
    }

    /// The lines of such a file that the revision added and removed, as far as both texts may be read.
    pub(crate) fn changed_lines(
        &self,
        file: &ChangedFile,
        revision: Revnum,
    ) -> Result<ChangedLines> {
        if file.is_deleted {
            let old = self.find(&file.path, revision.prev(), None)?;
            return Ok(ChangedLines::of(Some(&old.node), None)?);
        }
        let new = self.find(&file.path, Some(revision), None)?;
        Ok(ChangedLines::of(self.before(&new)?.as_ref(), Some(&new.node))?)
    }

    /// Where `before`, which is what [`View::before`] says of `found`, may be read.
    pub(crate) fn place_of(&self, before: &Node, found: &FoundNode) -> Result<(FsPathBuf, Revnum)> {
        if let Some(created) = before.created_rev()
            && self.may_read(before.created_path())?
        {
            return Ok((before.created_path().to_owned(), created));
        }
        Ok((found.path.clone(), found.revision.prev().unwrap_or(Revnum::ZERO)))
    }

    /// The copy that made what is at `path` in `revision`, if its source may be read.
    pub(crate) fn copy_of(&self, path: &FsPath, revision: Revnum) -> Result<Option<Copy>> {
        let fs = self.repository.fs();
        let Some((made, target)) = fs.revision_root(revision)?.closest_copy(path)? else {
            return Ok(None);
        };
        // A folder above it may have been copied, and it with that.
        let node = fs.revision_root(made)?.node(&target)?;
        match node.copied_from() {
            Some((of, source)) if *target == *path && self.may_read(source)? => {
                Ok(Some(Copy { made, source: (source.to_owned(), of) }))
            }
            _ => Ok(None),
        }
    }

    /// The revision that copied something to `path`: a folder above it may have been copied, and it with that.
    pub(crate) fn born(&self, path: &FsPath, revision: Revnum) -> Result<Option<Revnum>> {
        let root = self.repository.fs().revision_root(revision)?;
        Ok(root.closest_copy(path)?.map(|(made, _)| made))
    }

    /// The revisions of the history of what was found that are younger than `since`, youngest first, and whether these are all:
    /// there are at most `limit`.
    pub(crate) fn revisions_since(
        &self,
        found: &FoundNode,
        since: Revnum,
        limit: u64,
    ) -> Result<(Vec<Revnum>, bool)> {
        if found.revision <= since {
            return Ok((Vec::new(), true));
        }
        let changes = self.log_between(&found.path, (found.revision, since.next()), limit)?;
        let is_whole = len64(changes.len()) < limit;
        Ok((changes.into_iter().map(|change| change.revision).collect(), is_whole))
    }

    /// What was merged into a folder from `source`, by its own mergeinfo.
    pub(crate) fn merged_into(&self, target: &FoundNode, source: &FsPath) -> Result<RangeList> {
        let ranges = mergeinfo(&target.node)?.and_then(|info| info.0.get(source.as_str()).cloned());
        Ok(ranges.unwrap_or(RangeList(Vec::new())))
    }

    /// The place where the history of a file begins, from `found` on: where it was changed or copied last.
    pub(crate) fn last_place(&self, found: &FoundNode) -> Result<(FsPathBuf, Revnum)> {
        let place = found.root.history(&found.path)?.previous(true)?;
        Ok(place.unwrap_or_else(|| (found.path.clone(), found.revision)))
    }

    /// The places of a file's history from `path` in `revision` on, youngest first, each with the node there, until `receive` has
    /// enough or a path may not be read.
    pub(crate) fn places(
        &self,
        path: &FsPath,
        revision: Revnum,
        receive: &mut dyn FnMut(&FsPath, Revnum, Node) -> Result<bool>,
    ) -> Result<()> {
        let fs = self.repository.fs();
        let mut history = fs.revision_root(revision)?.history(path)?;
        while let Some((path, revision)) = history.step(true)? {
            self.cancel.check()?;
            if !self.may_read(&path)? {
                break;
            }
            let node = match history.id() {
                Some(id) => fs.node_at(&path, &id)?,
                None => fs.revision_root(revision)?.node(&path)?,
            };
            if !receive(&path, revision, node)? {
                break;
            }
        }
        Ok(())
    }

    /// The same repository without a look at rules: for what is kept for all readers. What is made with it must not leave this crate but
    /// by the rights of this view.
    pub(crate) fn of_all(&self) -> Self {
        Self { access: &Everything, ..self.clone() }
    }

    /// What is kept of the history of the file that was changed at `path` in `revision`.
    pub(crate) fn kept<T: HistoryValue>(
        &self,
        path: &FsPath,
        revision: Revnum,
        form: &str,
    ) -> Option<Arc<T>> {
        self.repository.fs().cached_of_history(path, revision, form)
    }

    /// Keeps that, as long as the server's caches have room.
    pub(crate) fn keep<T: HistoryValue>(
        &self,
        path: &FsPath,
        revision: Revnum,
        form: &str,
        value: T,
    ) -> Arc<T> {
        self.repository.fs().cache_of_history(path, revision, form, value)
    }

    /// The revisions of a file up to `end`, youngest first, until `receive` returns `false`; with each whether its text
    /// is another one than that of the younger revision before it. `merges`: oldest first, each after the revisions that were merged
    /// there, compared with the one before.
    pub(crate) fn file_revisions(
        &self,
        path: &FsPath,
        end: Revnum,
        merges: bool,
        receive: &mut dyn FnMut(&FileRev<'_>, bool) -> SvnResult<bool>,
    ) -> Result<()> {
        let (start, end) = if merges { (Revnum::ZERO, end) } else { (end, Revnum::ZERO) };
        let request = FileRevsRequest {
            path,
            start: Some(start),
            end: Some(end),
            include_merged_revisions: merges,
        };
        let mut receiver = UntilEnough { receive, is_enough: false };
        let (repository, access) = (self.repository, self.access);
        let done =
            sapwood_repos::file_revs(repository, &request, access, &self.cancel, &mut receiver);
        match done {
            Err(_) if receiver.is_enough => Ok(()),
            done => Ok(done?),
        }
    }
}

/// The properties of revisions that histories show.
const SHOWN: RevpropSelection<'static> =
    RevpropSelection::Names(&[names::AUTHOR, names::DATE, names::LOG]);

/// Ends the request with an error once there is enough.
struct UntilEnough<'r> {
    receive: &'r mut dyn FnMut(&FileRev<'_>, bool) -> SvnResult<bool>,
    is_enough: bool,
}

impl FileRevReceiver for UntilEnough<'_> {
    fn file_rev(&mut self, rev: &FileRev<'_>, delta: Option<&mut dyn TextDelta>) -> SvnResult<()> {
        if !(self.receive)(rev, delta.is_some())? {
            self.is_enough = true;
            return Err(SvnError::new(ErrorCode::CANCELLED, ""));
        }
        Ok(())
    }
}

/// The mergeinfo that a node has of its own. What cannot be parsed has merged nothing, as for `svn`.
pub(crate) fn mergeinfo(node: &Node) -> Result<Option<Mergeinfo>> {
    let props = node.props()?;
    Ok(props.get(names::MERGEINFO).and_then(|value| Mergeinfo::parse(value).ok()))
}
