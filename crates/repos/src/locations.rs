//! Where a node was in other revisions.

use sapwood_core::FsPath;
use sapwood_core::paths::FsPathBuf;
use sapwood_core::{CancelToken, ErrorCode, Revnum, Segment, SvnError, SvnResult};
use sapwood_fs::{Filesystem, Relation, Roots};

use crate::authorizer::PathAuthorizer;
use crate::error::Result;
use crate::repository::Repository;

/// Where the node at `path` in `peg` was in each of `revisions`: pairs of revision and fspath,
/// for those revisions in which it existed; youngest first.
///
/// # Errors
/// E200015 when cancelled; E160013 when nothing is there in `peg`; E220001 when it may not be read.
pub fn locations(
    repository: &Repository,
    path: &FsPath,
    peg: Revnum,
    revisions: &[Revnum],
    authorizer: &dyn PathAuthorizer,
    cancel: &CancelToken,
) -> Result<Vec<(Revnum, FsPathBuf)>> {
    let fs = repository.fs();
    fs.revision_root(peg)?;
    check_readable(authorizer, path)?;
    let mut wanted = revisions.to_vec();
    wanted.sort_unstable_by(|a, b| b.cmp(a));
    wanted.dedup();
    let mut wanted = wanted.into_iter().peekable();
    let mut roots = Roots::new(fs);
    let mut found = Vec::new();
    // Of the revisions younger than the peg, start at the youngest in which the path is the same
    // line of history.
    let mut revision = peg;
    while let Some(younger) = wanted.next_if(|r| *r > peg) {
        if is_ancestor_at(fs, path, peg, younger, cancel)? {
            revision = younger;
            break;
        }
    }
    let mut pending = (revision > peg).then_some(revision);
    let mut path = path.to_owned();

    while pending.is_some() || wanted.peek().is_some() {
        cancel.check()?;
        let Some(before) = prev_location(&mut roots, revision, &path)? else { break };
        // The node is at this path since the copy ...
        while let Some(at) = next_if(&mut pending, &mut wanted, |r| r >= before.appeared) {
            found.push((at, path.clone()));
        }
        // ... and nowhere between the copy's source and the copy.
        while next_if(&mut pending, &mut wanted, |r| r > before.revision).is_some() {}
        path = before.path;
        revision = before.revision;
        if !authorizer.readable(&path)? {
            return Ok(found);
        }
    }

    if pending.is_none() && wanted.peek().is_none() {
        return Ok(found);
    }
    // No copy any more: the same path, for as long as the nodes are related.
    let here = fs.revision_root(revision)?.node(&path)?;
    while let Some(at) = next_if(&mut pending, &mut wanted, |_| true) {
        cancel.check()?;
        let there = fs.revision_root(at)?.find(&path)?;
        if there.is_none_or(|there| here.relation(&there) == Relation::Unrelated) {
            break;
        }
        found.push((at, path.clone()));
    }
    Ok(found)
}

fn next_if(
    pending: &mut Option<Revnum>,
    rest: &mut std::iter::Peekable<std::vec::IntoIter<Revnum>>,
    wanted: impl Fn(Revnum) -> bool,
) -> Option<Revnum> {
    match *pending {
        Some(first) if wanted(first) => pending.take(),
        Some(_) => None,
        None => rest.next_if(|r| wanted(*r)),
    }
}

/// That `path` may be read.
///
/// # Errors
/// E220001 when it may not.
pub fn check_readable(authorizer: &dyn PathAuthorizer, path: &FsPath) -> Result<()> {
    if authorizer.readable(path)? {
        return Ok(());
    }
    let message = "Unreadable path encountered; access denied";
    Err(SvnError::new(ErrorCode::AUTHZ_UNREADABLE, message).into())
}

/// Whether the history of `path` in `future` leads to the same path in `peg`.
fn is_ancestor_at(
    fs: &Filesystem,
    path: &FsPath,
    peg: Revnum,
    future: Revnum,
    cancel: &CancelToken,
) -> Result<bool> {
    let mut history = fs.revision_root(future)?.history(path)?;
    while let Some((place, revision)) = history.previous(true)? {
        cancel.check()?;
        if revision <= peg {
            return Ok(place == path);
        }
    }
    Ok(false)
}

/// Where a node was before the youngest copy that affected it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PreviousLocation {
    /// The revision of the copy.
    pub(crate) appeared: Revnum,
    /// The path before it.
    pub(crate) path: FsPathBuf,
    /// The revision that was copied.
    pub(crate) revision: Revnum,
}

/// The place of the node at `path` in `revision` before the youngest copy that affected it (of
/// itself or of a parent); `None` when there was no copy.
pub(crate) fn prev_location(
    roots: &mut Roots,
    revision: Revnum,
    path: &FsPath,
) -> Result<Option<PreviousLocation>> {
    let root = roots.get(revision)?;
    let Some((appeared, copy_path)) = root.closest_copy(path)? else { return Ok(None) };
    let copy = roots.get(appeared)?.node(&copy_path)?;
    let Some((source_rev, source)) = copy.copied_from() else { return Ok(None) };
    // The copied node is recorded on disk.
    let below = path.below(&copy_path).ok_or_else(|| {
        let message = format!("'{path}@{revision}' is not below its copy root '{copy_path}'");
        SvnError::new(ErrorCode::FS_CORRUPT, message)
    })?;
    let path = source.join(below);
    Ok(Some(PreviousLocation { appeared, path, revision: source_rev }))
}

/// The request for the history of a node.
#[derive(Clone, Copy, Debug)]
pub struct SegmentsRequest<'a> {
    /// The fspath.
    pub path: &'a FsPath,
    /// The peg revision; `None`: youngest.
    pub peg: Option<Revnum>,
    /// The youngest revision to report; `None`: the peg.
    pub start: Option<Revnum>,
    /// The oldest one; `None`: 0.
    pub end: Option<Revnum>,
}

/// Sends `receiver` the history of a node as segments, youngest first.
///
/// # Errors
/// E160006 for revisions out of order; as [`locations`]; what the receiver returns.
pub fn location_segments(
    repository: &Repository,
    request: &SegmentsRequest<'_>,
    authorizer: &dyn PathAuthorizer,
    cancel: &CancelToken,
    receiver: &mut dyn FnMut(&Segment) -> SvnResult<()>,
) -> Result<()> {
    let fs = repository.fs();
    let youngest = fs.youngest()?;
    let path = request.path;
    let peg = request.peg.unwrap_or(youngest);
    let start = request.start.unwrap_or(peg);
    let end = request.end.unwrap_or(Revnum::ZERO);
    for (revision, limit) in [(peg, youngest), (start, peg), (end, start)] {
        if revision > limit {
            return Err(sapwood_fs::Error::NoSuchRevision(revision).into());
        }
    }
    check_readable(authorizer, path)?;
    let mut send = |first: Revnum, last: Revnum, path: Option<&FsPath>| -> Result<()> {
        if first <= start && last >= end {
            let path = path.map(|p| p.to_relpath().to_owned());
            receiver(&Segment { start: first.max(end), end: last.min(start), path })?;
        }
        Ok(())
    };
    let mut current = peg;
    let mut path = path.to_owned();
    let mut roots = Roots::new(fs);
    while current >= end {
        cancel.check()?;
        let before = prev_location(&mut roots, current, &path)?;
        let first = match &before {
            Some(before) => before.appeared,
            None => roots.get(current)?.node_origin_rev(&path)?.max(end),
        };
        if !authorizer.readable(&path)? {
            return Ok(());
        }
        send(first, current, Some(&path))?;
        let Some(before) = before else { break };
        if first.0.saturating_sub(before.revision.0) > 1 {
            let gap_end = Revnum(first.0.saturating_sub(1));
            send(before.revision.next(), gap_end, None)?;
        }
        current = before.revision;
        path = before.path;
    }
    Ok(())
}

/// The revision after `start` and up to `end` in which `path` was first deleted or replaced;
/// `None` when it was not, or does not exist in `start`.
///
/// # Errors
/// E160006 for bad revisions.
pub fn deleted_rev(
    repository: &Repository,
    path: &FsPath,
    start: Revnum,
    end: Revnum,
    cancel: &CancelToken,
) -> Result<Option<Revnum>> {
    deleted_rev_in(&mut Roots::new(repository.fs()), path, start, end, cancel)
}

/// [`deleted_rev`] for a caller with several paths.
pub(crate) fn deleted_rev_in(
    roots: &mut Roots,
    path: &FsPath,
    start: Revnum,
    end: Revnum,
    cancel: &CancelToken,
) -> Result<Option<Revnum>> {
    let (start, end) = (start.min(end), start.max(end));
    if let Some(known) = roots.fs().cached_deletion(path, start, end) {
        return Ok(known);
    }
    let found = find_deletion(roots, path, start, end, cancel)?;
    roots.fs().cache_deletion(path, start, end, found);
    Ok(found)
}

fn find_deletion(
    roots: &mut Roots,
    path: &FsPath,
    start: Revnum,
    mut end: Revnum,
    cancel: &CancelToken,
) -> Result<Option<Revnum>> {
    let Some(first) = roots.get(start)?.find(path)? else { return Ok(None) };
    // Whether `path` in a revision is the node of `start`, not replaced since: a copy made
    // later is a replacement even when it is related.
    let mut lives = |revision: Revnum| -> Result<bool> {
        cancel.check()?;
        let root = roots.get(revision)?;
        let Some(node) = root.find(path)? else { return Ok(false) };
        if first.relation(&node) == Relation::Unrelated {
            return Ok(false);
        }
        Ok(root.closest_copy(path)?.is_none_or(|(copied, _)| copied <= start))
    };
    if lives(end)? {
        return Ok(None);
    }
    let mut low = start;
    while end.0.saturating_sub(low.0) > 1 {
        let middle = Revnum(low.0.midpoint(end.0));
        if lives(middle)? {
            low = middle;
        } else {
            end = middle;
        }
    }
    Ok(Some(end))
}
