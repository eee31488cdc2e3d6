//! The revisions of one file with the deltas between them (blame).

use std::collections::HashMap;

use sapwood_core::FsPath;
use sapwood_core::mergeinfo::Mergeinfo;
use sapwood_core::paths::FsPathBuf;
use sapwood_core::paths::SharedFsPath;
use sapwood_core::{
    CancelToken, ErrorCode, FileRev, Inherit, NodeKind, PropList, Revnum, SvnError, SvnResult,
    hashorder, path,
};
use sapwood_delta::TextDelta;
use sapwood_fs::read_ahead::{BATCH as AHEAD_BATCH, ColdReads, NodesWanted};
use sapwood_fs::{Filesystem, Node, NodeId, RevpropsSnapshot};

use crate::authorizer::PathAuthorizer;
use crate::error::Result;
use crate::mergeinfo::for_path;
use crate::repository::Repository;

/// The request: a file of a repository, and a range of revisions.
pub type FileRevsRequest<'a> = sapwood_core::FileRevsRequest<'a, FsPath>;

/// Takes the revisions of a file, one after the other.
pub trait FileRevReceiver {
    /// The next revision. `delta` leads from the text of the revision sent before (nothing, at
    /// first) to this one's; `None` when the text did not change. The receiver pulls all of it.
    ///
    /// # Errors
    /// Errors of the receiver, which end the whole request.
    fn file_rev(&mut self, rev: &FileRev<'_>, delta: Option<&mut dyn TextDelta>) -> SvnResult<()>;
}

/// Sends `receiver` the revisions of a file in which its text or properties changed.
///
/// # Errors
/// E160017 when there is no file at the path or it may not be read, E200007 for the reverse order with merged revisions; what the receiver returns; corruption and system errors.
pub fn file_revs(
    repository: &Repository,
    request: &FileRevsRequest<'_>,
    authorizer: &dyn PathAuthorizer,
    cancel: &CancelToken,
    receiver: &mut dyn FileRevReceiver,
) -> Result<()> {
    let fs = repository.fs();
    let (start, end) = match (request.start, request.end) {
        (Some(start), Some(end)) => (start, end),
        (start, end) => {
            let youngest = fs.youngest()?;
            (start.unwrap_or(youngest), end.unwrap_or(youngest))
        }
    };
    let merged = request.include_merged_revisions;
    if end < start && merged {
        return Err(SvnError::new(ErrorCode::UNSUPPORTED_FEATURE, "").into());
    }
    // An unreadable path gives the same error as a missing one, also in a revision that there is not.
    fs.revision_root(start.max(end))?;
    if !authorizer.readable(request.path)? {
        return Err(not_a_file(request.path, start.max(end)));
    }
    let finder = Finder { fs, authorizer, cancel };
    let mut sender = Sender {
        fs,
        cancel,
        revprops: fs.revprops_snapshot(),
        include_merged: merged,
        last: None,
        ahead: ColdReads::new(fs),
        receiver,
    };
    if end < start {
        return finder.walk(request.path, end, start, &mut |place| {
            sender.send(&place)?;
            Ok(true)
        });
    }
    let mut seen = VisitedPaths::default();
    let mut mainline = Vec::new();
    finder.find(request.path, start, end, false, merged.then_some(&mut seen), &mut mainline)?;
    if mainline.is_empty() {
        return Err(SvnError::new(ErrorCode::AUTHZ_UNREADABLE, "").into());
    }
    let mut branches = Vec::new();
    if merged {
        branches = finder.find_merged(start, &mainline, &mut seen)?;
    }
    sender.send_oldest_first(mainline, branches)
}

/// A place in the history of a file.
#[derive(Clone, Debug)]
struct PathRevision {
    path: SharedFsPath,
    revision: Revnum,
    /// The node-revision, where the history knows it without a walk through the tree.
    id: Option<NodeId>,
    merged: bool,
    /// What was merged into the file here, or merged in reverse.
    mergeinfo: Option<Mergeinfo>,
}

/// Locations that were found before.
#[derive(Debug, Default)]
struct VisitedPaths(HashMap<Revnum, Vec<SharedFsPath>>);

impl VisitedPaths {
    fn contains(&self, path: &FsPath, revision: Revnum) -> bool {
        self.0.get(&revision).is_some_and(|paths| paths.iter().any(|p| **p == *path))
    }

    fn insert(&mut self, path: &SharedFsPath, revision: Revnum) {
        self.0.entry(revision).or_default().push(path.clone());
    }
}

fn not_a_file(path: &FsPath, revision: Revnum) -> crate::Error {
    let message = format!("'{path}' is not a file in revision {revision}");
    SvnError::new(ErrorCode::FS_NOT_FILE, message).into()
}

/// Finds the revisions to send.
struct Finder<'a> {
    fs: &'a Filesystem,
    authorizer: &'a dyn PathAuthorizer,
    cancel: &'a CancelToken,
}

impl Finder<'_> {
    /// Walks the history of the file at `path` in `end` back to `start`, over copies, as long as
    /// it may be read and `visit` wants more.
    fn walk(
        &self,
        path: &FsPath,
        start: Revnum,
        end: Revnum,
        visit: &mut dyn FnMut(PathRevision) -> Result<bool>,
    ) -> Result<()> {
        let root = self.fs.revision_root(end)?;
        if root.kind(path)? != Some(NodeKind::File) {
            return Err(not_a_file(path, end));
        }
        let mut history = root.history(path)?;
        // The path that was found to be readable last: most steps stay there.
        let mut readable: Option<SharedFsPath> = None;
        while let Some((path, revision)) = history.step(true)? {
            if self.cancel.is_cancelled() {
                return Err(SvnError::new(ErrorCode::CANCELLED, "").into());
            }
            if readable.as_ref() != Some(&path) {
                if !self.authorizer.everything_readable() && !self.authorizer.readable(&path)? {
                    break;
                }
                readable = Some(path.clone());
            }
            let id = history.id();
            let place = PathRevision { path, revision, id, merged: false, mergeinfo: None };
            if !visit(place)? || revision <= start {
                break;
            }
        }
        Ok(())
    }

    /// Adds the places between `start` and `end` to `out`, youngest first, up to one that was
    /// seen before. With `seen`, also finds out what was merged there.
    fn find(
        &self,
        path: &FsPath,
        start: Revnum,
        end: Revnum,
        merged: bool,
        mut seen: Option<&mut VisitedPaths>,
        out: &mut Vec<PathRevision>,
    ) -> Result<()> {
        self.walk(path, start, end, &mut |mut place| {
            place.merged = merged;
            if let Some(seen) = seen.as_deref_mut() {
                if seen.contains(&place.path, place.revision) {
                    return Ok(false);
                }
                place.mergeinfo = self.merged_here(&place.path, place.revision)?;
                seen.insert(&place.path, place.revision);
            }
            out.push(place);
            Ok(true)
        })
    }

    /// What was merged into the file at `path` in `revision`, or merged in reverse.
    fn merged_here(&self, path: &FsPath, revision: Revnum) -> Result<Option<Mergeinfo>> {
        let mergeinfo_in =
            |revision| for_path(&self.fs.revision_root(revision)?, path, Inherit::Inherited, true);
        let now = mergeinfo_in(revision);
        let before = mergeinfo_in(revision.prev().unwrap_or(Revnum::ZERO)).map_err(SvnError::from);
        // Nothing was merged into a new path.
        if before.as_ref().is_err_and(SvnError::is_no_node) {
            return Ok(None);
        }
        // What a revision changed may be a list of all files: it is read where the answer depends on it.
        let is_same = matches!((&now, &before), (Ok(now), Ok(before)) if now == before);
        if is_same || !self.changed_mergeinfo(path, revision)? {
            return Ok(None);
        }
        let (now, before) = (now?, before?);
        let (deleted, mut changed) = Mergeinfo::diff_options(before.as_ref(), now.as_ref(), false);
        changed.merge(&deleted);
        Ok((!changed.is_empty()).then_some(changed))
    }

    /// Whether `revision` may have changed the mergeinfo of `path` or of a folder above it.
    fn changed_mergeinfo(&self, path: &FsPath, revision: Revnum) -> Result<bool> {
        let changed = self.fs.changed_paths(revision)?;
        Ok(changed.iter().any(|c| {
            c.prop_mod && c.mergeinfo_mod != Some(false) && path::is_ancestor(c.path, path)
        }))
    }

    /// The revisions that were merged into `mainline`, and into those, and so on; youngest first.
    fn find_merged(
        &self,
        start: Revnum,
        mainline: &[PathRevision],
        seen: &mut VisitedPaths,
    ) -> Result<Vec<PathRevision>> {
        let mut all: Vec<PathRevision> = Vec::new();
        let mut fresh = Vec::new();
        let mut from = 0;
        self.find_merged_into(start, mainline, seen, &mut fresh)?;
        while !fresh.is_empty() {
            all.append(&mut fresh);
            let old =
                all.get(from..).ok_or_else(|| SvnError::internal("revisions found before"))?;
            self.find_merged_into(start, old, seen, &mut fresh)?;
            from = all.len();
        }
        all.sort_by_key(|place| std::cmp::Reverse(place.revision));
        Ok(all)
    }

    fn find_merged_into(
        &self,
        start: Revnum,
        old: &[PathRevision],
        seen: &mut VisitedPaths,
        out: &mut Vec<PathRevision>,
    ) -> Result<()> {
        for info in old.iter().filter_map(|place| place.mergeinfo.as_ref()) {
            let sources: Vec<_> = info.0.iter().collect();
            for at in hashorder::order(sources.iter().map(|(source, _)| source.as_str())) {
                let Some((source, ranges)) =
                    usize::try_from(at).ok().and_then(|at| sources.get(at))
                else {
                    continue;
                };
                let source = FsPathBuf::canonicalize(source);
                for range in &ranges.0 {
                    let (first, last) = (Revnum(range.start), Revnum(range.end));
                    if last < start
                        || self.fs.revision_root(last)?.kind(&source)? != Some(NodeKind::File)
                    {
                        continue;
                    }
                    self.find(&source, first, last, true, Some(&mut *seen), out)?;
                }
            }
        }
        Ok(())
    }
}

/// Sends revisions, each relative to the one before.
struct Sender<'a> {
    fs: &'a Filesystem,
    cancel: &'a CancelToken,
    revprops: RevpropsSnapshot,
    include_merged: bool,
    last: Option<Node>,
    ahead: ColdReads,
    receiver: &'a mut dyn FileRevReceiver,
}

impl Sender<'_> {
    /// Hints which revisions come next: the last of `places`.
    fn read_ahead(&mut self, places: &[PathRevision]) {
        if !self.ahead.is_cold() {
            return;
        }
        let next = places.iter().rev().take(AHEAD_BATCH);
        let ids: Vec<_> = next.filter_map(|place| place.id).collect();
        let wanted = NodesWanted { texts: true, props: true, entries: false };
        self.fs.will_need_nodes(&ids, wanted, Some(&mut self.revprops));
    }

    /// Sends both lists, which are youngest first, oldest first: the file's own revisions before merged ones of the same
    /// number.
    fn send_oldest_first(
        &mut self,
        mut mainline: Vec<PathRevision>,
        mut branches: Vec<PathRevision>,
    ) -> Result<()> {
        while let Some(own) = mainline.last() {
            if mainline.len().is_multiple_of(AHEAD_BATCH) {
                self.read_ahead(&mainline);
            }
            let next = branches.pop_if(|branch: &mut PathRevision| branch.revision < own.revision);
            match next.or_else(|| mainline.pop()) {
                Some(next) => self.send(&next)?,
                None => break,
            }
        }
        while let Some(next) = branches.pop() {
            self.send(&next)?;
        }
        Ok(())
    }

    fn send(&mut self, place: &PathRevision) -> Result<()> {
        if self.cancel.is_cancelled() {
            return Err(SvnError::new(ErrorCode::CANCELLED, "").into());
        }
        let revprops = self.revprops.get(place.revision)?;
        let node = match &place.id {
            Some(id) => self.fs.node_at(&place.path, id)?,
            None => self.fs.revision_root(place.revision)?.node(&place.path)?,
        };
        let prop_changes = match &self.last {
            None => PropList::new().diff_to(&*node.props()?),
            Some(last) if !last.same_props_rep(&node) => last.props()?.diff_to(&*node.props()?),
            Some(_) => Vec::new(),
        };
        let text_changed = match &self.last {
            None => true,
            // Old clients need a text wherever the path changes.
            Some(last) if self.include_merged && last.path() != &*place.path => true,
            Some(last) => node.contents_differ(last)?,
        };
        let rev = FileRev {
            path: &place.path,
            revision: place.revision,
            revprops: &revprops,
            merged_revision: place.merged,
            prop_changes: &prop_changes,
        };
        if text_changed {
            let mut delta = node.delta_from(self.last.as_ref())?;
            self.receiver.file_rev(&rev, Some(&mut delta))?;
        } else {
            self.receiver.file_rev(&rev, None)?;
        }
        self.last = Some(node);
        Ok(())
    }
}
