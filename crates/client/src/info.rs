//! `svn info`: what is known of URLs and of nodes of working copies.

use std::collections::HashMap;

use sapwood_core::date::Timestamp;
use sapwood_core::paths::{RelPath, RelPathBuf, Url, UrlBuf};
use sapwood_core::{Depth, ErrorCode, NodeKind, Revnum, Sha1, SvnError, SvnResult};
use sapwood_ra::session::HeadNode;
use sapwood_ra::{Dirent, DirentFields, Lock, Session};
use sapwood_wc::db::Settings;

use crate::conflict_info::ConflictInfo;
use crate::context::Context;
use crate::open::{LocatedSession, move_to, session_at, url_of};
use crate::revision::Revision;
use crate::target::is_url;

/// The information about a node.
#[derive(Clone, Debug, Default)]
pub struct Info {
    /// Its URL.
    pub url: Option<UrlBuf>,
    /// The revision that was looked at; `None` for additions.
    pub revision: Option<Revnum>,
    /// File or directory; `None` when it is not known.
    pub kind: Option<NodeKind>,
    /// Whether there is no such node, only a tree conflict.
    pub is_missing: bool,
    /// The repository's root.
    pub root_url: Option<UrlBuf>,
    /// The repository's UUID.
    pub uuid: Option<String>,
    /// Size of a file in the repository, in bytes.
    pub size: Option<u64>,
    /// Revision of the last change.
    pub changed_revision: Option<Revnum>,
    /// Date of the last change.
    pub changed_date: Option<Timestamp>,
    /// Author of the last change.
    pub changed_author: Option<String>,
    /// Its lock.
    pub lock: Option<Lock>,
    /// The working copy's part.
    pub working: Option<WorkingInfo>,
}

/// The scheduled change of a node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Schedule {
    /// Nothing, but perhaps changes.
    #[default]
    Normal,
    /// It is added.
    Add,
    /// It is deleted.
    Delete,
    /// It is replaced.
    Replace,
}

impl Schedule {
    /// The word for it.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Normal => "normal",
            Self::Add => "add",
            Self::Delete => "delete",
            Self::Replace => "replace",
        }
    }
}

/// The part that only a working copy has. Paths are absolute.
#[derive(Clone, Debug, Default)]
pub struct WorkingInfo {
    /// The root of the working copy.
    pub root: String,
    /// Its format, and whether it keeps all text bases.
    pub settings: Settings,
    /// The scheduled change.
    pub schedule: Schedule,
    /// How deep a directory is; `None` of files.
    pub depth: Option<Depth>,
    /// Where it is copied from.
    pub copied_from: Option<(UrlBuf, Revnum)>,
    /// When its time was recorded.
    pub text_time: Option<Timestamp>,
    /// The checksum of its pristine text.
    pub checksum: Option<Sha1>,
    /// The changelist that it is on.
    pub changelist: Option<String>,
    /// Where it was moved from.
    pub moved_from: Option<String>,
    /// Where it was moved to.
    pub moved_to: Option<String>,
    /// Its conflicts.
    pub conflicts: Option<ConflictInfo>,
}

/// Takes what is known of one node: its path (absolute and local, or below the URL), and the value.
pub type Receiver<'a> = &'a mut dyn FnMut(&str, &Info) -> SvnResult<()>;

/// Fields that are shown.
const FIELDS: DirentFields = DirentFields { has_props: false, ..DirentFields::ALL };

/// Reports what the repository knows of a URL, or of a local path in a requested revision.
///
/// # Errors
/// E170000 when there is nothing; those of sessions and of `receiver`.
pub fn remote(
    ctx: &Context,
    target: &str,
    peg: Revision,
    revision: Revision,
    depth: Depth,
    receiver: Receiver<'_>,
) -> SvnResult<()> {
    let (session, found) = look(ctx, target, peg, revision)?;
    let (session, revision) = (session.as_ref(), found.revision);
    let url = session.url();
    let Some(dirent) = found.dirent else {
        return Err(SvnError::new(
            ErrorCode::RA_ILLEGAL_URL,
            format!("URL '{url}' non-existent in revision {revision}"),
        ));
    };
    let common = CommonInfo { root: session.root_url(), uuid: session.uuid(), revision };
    let lock = allowed(found.lock)?.flatten();
    let name = url.parent_and_name().map_or(String::new(), |(_, name)| name);
    receiver(&name, &common.info(&url, &dirent, lock.as_ref()))?;
    if depth <= Depth::Empty || dirent.kind != Some(NodeKind::Dir) {
        return Ok(());
    }
    let mut locks = HashMap::new();
    if peg == Revision::Head {
        let found = allowed(session.get_locks(RelPath::ROOT, depth))?.unwrap_or_else(Vec::new);
        locks.extend(found.into_iter().map(|lock| (lock.path.clone(), lock)));
    }
    let base = url.relpath(&common.root)?;
    let base = base.to_fspath();
    // What is left to report; the next one is last.
    let children = |dir: &RelPath| -> SvnResult<Vec<(RelPathBuf, Dirent)>> {
        let mut entries = session.get_dir(dir, Some(revision), Some(FIELDS), false)?.entries;
        entries.sort_by(|a, b| b.0.cmp(&a.0));
        Ok(entries.into_iter().map(|(name, dirent)| (dir.child(&name), dirent)).collect())
    };
    let mut left = children(RelPath::ROOT)?;
    while let Some((relpath, dirent)) = left.pop() {
        ctx.check_cancel()?;
        let is_dir = dirent.kind == Some(NodeKind::Dir);
        if is_dir && depth == Depth::Files {
            continue;
        }
        let lock = locks.get(base.join(&relpath).as_str());
        receiver(&relpath, &common.info(&url.join(&relpath), &dirent, lock))?;
        if is_dir && depth == Depth::Infinity {
            left.extend(children(&relpath)?);
        }
    }
    Ok(())
}

/// A session at a node in a revision, and what is known of it. Only what is the same node in the youngest revision has a
/// lock.
fn look(
    ctx: &Context,
    target: &str,
    peg: Revision,
    revision: Revision,
) -> SvnResult<(Box<dyn Session>, HeadNode)> {
    if is_url(target) && peg == Revision::Head && revision.or(peg) == Revision::Head {
        let session = ctx.open_following(&url_of(ctx, target)?)?;
        let found = session.stat_head(RelPath::ROOT)?;
        return Ok((session, found));
    }
    let LocatedSession { session, revision, .. } = session_at(ctx, target, peg, revision)?;
    let url = session.url();
    let dirent = session.stat(RelPath::ROOT, Some(revision))?;
    let mut lock = Ok(None);
    if dirent.is_some() && is_same_in_head(session.as_ref(), revision)? {
        lock = session.get_lock(RelPath::ROOT);
    }
    session.reparent(&url)?;
    Ok((session, HeadNode { revision, dirent, lock }))
}

/// What all nodes of one request have in common.
struct CommonInfo {
    root: UrlBuf,
    uuid: String,
    revision: Revnum,
}

impl CommonInfo {
    fn info(&self, url: &Url, dirent: &Dirent, lock: Option<&Lock>) -> Info {
        Info {
            url: Some(url.to_owned()),
            revision: Some(self.revision),
            kind: dirent.kind,
            root_url: Some(self.root.clone()),
            uuid: Some(self.uuid.clone()),
            size: dirent.size,
            changed_revision: Some(dirent.created_rev),
            changed_date: dirent.time,
            changed_author: dirent.last_author.clone(),
            lock: lock.cloned(),
            ..Info::default()
        }
    }
}

/// The answer of a server that may lack the request.
fn allowed<T>(result: SvnResult<T>) -> SvnResult<Option<T>> {
    match result {
        Err(error) if error.is_not_implemented() => Ok(None),
        other => other.map(Some),
    }
}

/// Whether the session's URL is the same node in the youngest revision.
fn is_same_in_head(session: &dyn Session, revision: Revnum) -> SvnResult<bool> {
    let url = session.url();
    let head = session.latest_revnum()?;
    match move_to(session, head, revision) {
        Ok(()) => Ok(session.url() == url),
        Err(error)
            if [
                ErrorCode::CLIENT_UNRELATED_RESOURCES,
                ErrorCode::FS_NOT_DIRECTORY,
                ErrorCode::FS_NOT_FOUND,
            ]
            .contains(&error.code()) =>
        {
            Ok(false)
        }
        Err(error) => Err(error),
    }
}
