//! `svn list`: what is in directories of a repository.

use std::collections::HashMap;
use std::path::Path;

use sapwood_core::fold::fold;
use sapwood_core::paths::{FsPath, FsPathBuf, RelPath, RelPathBuf, Url, UrlBuf};
use sapwood_core::props::names;
use sapwood_core::{Depth, ErrorCode, NodeKind, Revnum, SvnError, SvnResult, glob};
use sapwood_ra::{Dirent, DirentFields, EntryReceiver, ListRequest, Lock, Session};

use crate::context::Context;
use crate::externals;
use crate::open::session_at;
use crate::revision::Revision;

/// What to list.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// A URL, or a local path.
    pub target: &'a str,
    /// Where to look for it.
    pub peg: Revision,
    /// As of when.
    pub revision: Revision,
    /// Folded glob patterns for last names; `None` for all.
    pub patterns: Option<&'a [&'a str]>,
    /// How deep.
    pub depth: Depth,
    /// What is wanted of each node.
    pub fields: DirentFields,
    /// Whether locks are wanted.
    pub locks: bool,
    /// Whether externals are listed too.
    pub externals: bool,
}

/// One node.
#[derive(Clone, Copy, Debug)]
pub struct Entry<'a> {
    /// The path below the target, empty for the target itself.
    pub path: &'a str,
    /// The target's path in the repository.
    pub base: &'a FsPath,
    /// What is known of the node.
    pub dirent: &'a Dirent,
    /// Its lock.
    pub lock: Option<&'a Lock>,
    /// The external that it is listed by.
    pub external: Option<Source<'a>>,
}

/// Which external a node belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Source<'a> {
    /// The URL of the directory whose property defines it.
    pub parent_url: &'a Url,
    /// Where it goes, below that directory.
    pub target: &'a str,
}

/// Takes one node.
pub type Receiver<'a> = &'a mut dyn FnMut(&Entry<'_>) -> SvnResult<()>;

/// Calls `receiver` with the nodes, a directory before its children, then those of externals. Returns the
/// root of the repository and the revision that was listed.
///
/// # Errors
/// E160013 when there is nothing; those of sessions and of `receiver`. What is wrong with an external
/// is reported and is not an error.
pub fn list(
    ctx: &Context,
    request: &Request<'_>,
    receiver: Receiver<'_>,
) -> SvnResult<(Box<dyn Session>, Revnum)> {
    list_part(ctx, request, None, &mut Vec::new(), receiver)
}

/// All locks at and below what a session is open for, by their paths. A server may not know of any.
fn locks_of(session: &dyn Session, depth: Depth) -> SvnResult<HashMap<FsPathBuf, Lock>> {
    match session.get_locks(RelPath::ROOT, depth) {
        Ok(found) => Ok(found.into_iter().map(|lock| (lock.path.clone(), lock)).collect()),
        Err(error) if error.is_not_implemented() => Ok(HashMap::new()),
        Err(error) => Err(error),
    }
}

/// Lists a target, or one external. `above` has the URLs of the externals that led here.
fn list_part(
    ctx: &Context,
    request: &Request<'_>,
    external: Option<Source<'_>>,
    above: &mut Vec<UrlBuf>,
    receiver: Receiver<'_>,
) -> SvnResult<(Box<dyn Session>, Revnum)> {
    let located = session_at(ctx, request.target, request.peg, request.revision)?;
    let session = located.session.as_ref();
    let base = session.url().relpath(&session.root_url())?;
    let base = base.to_fspath();
    let locks = if request.locks { locks_of(session, request.depth)? } else { HashMap::new() };
    let wanted = ListRequest {
        path: RelPath::ROOT,
        revision: Some(located.revision),
        patterns: request.patterns,
        depth: request.depth,
        fields: request.fields,
    };
    let mut take = |fspath: &FsPath, dirent: &Dirent| {
        let path = fspath.below(&base).map_or(fspath.as_str(), RelPath::as_str);
        let lock = locks.get(fspath.as_str());
        receiver(&Entry { path, base: &base, dirent, lock, external })
    };
    if !request.externals {
        match session.list(&wanted, &mut take) {
            Err(error) if error.is_unsupported() => {
                by_hand(session, &wanted, located.revision, &mut take)?;
            }
            other => other?,
        }
        return Ok((located.session, located.revision));
    }
    let mut defined = Vec::new();
    walk(session, &wanted, located.revision, Some(&mut defined), &mut take)?;
    let url = session.url();
    let root = session.root_url();
    above.push(url);
    for (owner, value) in &defined {
        for item in externals::items(value, Path::new(owner.as_str()))? {
            ctx.check_cancel()?;
            let target = item.resolve(&root, owner)?;
            let (peg, revision) = externals::revisions(&item);
            let part = Request { target: &target, peg, revision, ..*request };
            let source = Source { parent_url: owner, target: &item.target };
            let done = if above.len() > MAX_NESTING || above.contains(&target) {
                let text = format!("The external at '{target}' brings itself");
                Err(SvnError::new(ErrorCode::CLIENT_INVALID_EXTERNALS_DESCRIPTION, text))
            } else {
                list_part(ctx, &part, Some(source), above, receiver).map(drop)
            };
            externals::wrap(ctx, Path::new(&item.target), done)?;
        }
    }
    above.pop();
    Ok((located.session, located.revision))
}

/// The deepest nesting of externals.
const MAX_NESTING: usize = 64;

/// Lists for servers that do not know how: directory by directory.
///
/// # Errors
/// As [`list()`].
pub fn by_hand(
    session: &dyn Session,
    request: &ListRequest<'_>,
    revision: Revnum,
    receiver: EntryReceiver<'_>,
) -> SvnResult<()> {
    walk(session, request, revision, None, receiver)
}

/// The same, which also collects where externals are defined: URL and value.
fn walk(
    session: &dyn Session,
    request: &ListRequest<'_>,
    revision: Revnum,
    mut externals: Option<&mut Vec<(UrlBuf, String)>>,
    receiver: EntryReceiver<'_>,
) -> SvnResult<()> {
    let top = session.stat(request.path, Some(revision))?.ok_or_else(|| {
        let message = format!("URL '{}' non-existent in revision {revision}", session.url());
        SvnError::new(ErrorCode::FS_NOT_FOUND, message)
    })?;
    let base = session.url().relpath(&session.root_url())?;
    let matches = |name: &str| {
        let name = fold(name);
        request.patterns.is_none_or(|patterns| glob::matches_any(patterns, name.as_bytes()))
    };
    let base = base.to_fspath();
    if matches(base.name()) {
        receiver(&base, &top)?;
    }
    if top.kind != Some(NodeKind::Dir) || request.depth == Depth::Empty {
        return Ok(());
    }
    // What is left to report; the next one is last. The kinds are needed to go on.
    let fields = DirentFields { kind: true, ..request.fields };
    let with_props = externals.is_some();
    let mut children = |dir: &RelPath| -> SvnResult<Vec<(RelPathBuf, Dirent)>> {
        let found = match session.get_dir(dir, Some(revision), Some(fields), with_props) {
            // What may not be read is passed over.
            Err(error) if error.is_unreadable() => {
                return Ok(Vec::new());
            }
            other => other?,
        };
        if let (Some(externals), Some(value)) =
            (externals.as_mut(), found.props.get(names::EXTERNALS))
        {
            let value = String::from_utf8_lossy(value).into_owned();
            externals.push((session.url().join(dir), value));
        }
        let mut entries = found.entries;
        entries.sort_by(|a, b| b.0.cmp(&a.0));
        Ok(entries.into_iter().map(|(name, dirent)| (dir.child(&name), dirent)).collect())
    };
    let mut left = children(RelPath::ROOT)?;
    while let Some((relpath, dirent)) = left.pop() {
        let is_dir = dirent.kind == Some(NodeKind::Dir);
        if is_dir && request.depth == Depth::Files {
            continue;
        }
        if matches(relpath.name()) {
            receiver(&base.join(&relpath), &dirent)?;
        }
        if is_dir && request.depth == Depth::Infinity {
            left.extend(children(&relpath)?);
        }
    }
    Ok(())
}
