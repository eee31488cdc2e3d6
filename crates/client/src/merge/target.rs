//! The target of a merge, and whether it is suitable.

use std::rc::Rc;

use sapwood_core::paths::{RelPathBuf, Url, UrlBuf};
use sapwood_core::{ErrorCode, NodeKind, SvnError, SvnResult};
use sapwood_ra::Session;
use sapwood_wc::WorkingCopy;
use sapwood_wc::root::disk_kind;
use sapwood_wc::view::Status;

use crate::caching_session::{History, SessionWithCache, is_svn};
use crate::context::Context;
use crate::mergeinfo::place::RepoLocation;
use crate::working::Node;

/// A node of a working copy that is merged into.
#[derive(Clone, Debug)]
pub struct MergeTarget {
    /// The working copy.
    pub wc: WorkingCopy,
    /// The path below its root.
    pub relpath: RelPathBuf,
    /// Where it is from in the repository; `None` of what was added.
    pub place: Option<RepoLocation>,
    /// The repository's URL.
    pub root: UrlBuf,
    /// The repository's UUID.
    pub uuid: String,
    /// The cache of its history.
    pub(super) history: Rc<History>,
}

/// The states that a target may have.
#[derive(Clone, Copy, Debug)]
pub struct AllowedTargets {
    /// It may have several revisions.
    pub mixed: bool,
    /// Changed locally.
    pub modified: bool,
    /// Partly switched.
    pub switched: bool,
}

fn not_ready(code: ErrorCode, words: impl Into<String>) -> SvnResult<()> {
    Err(SvnError::new(code, words.into()))
}

impl MergeTarget {
    /// Finds a target.
    ///
    /// # Errors
    /// E200009 for what is not under version control, E195020 for what is not as it must be.
    pub fn open(ctx: &Context, target: &str, allowed: AllowedTargets) -> SvnResult<Self> {
        let node = Node::find(ctx, target)?;
        let place = RepoLocation::origin(&node)?;
        let (root, uuid) = match &place {
            Some(place) => (place.root.clone(), place.uuid.clone()),
            None => {
                let (root, uuid, _) = node.repository()?;
                (root, uuid)
            }
        };
        let history = ctx.history(node.wc.root(), &uuid);
        let (wc, relpath) = (node.wc.clone(), node.relpath.clone());
        let found = Self { wc, relpath, place, root, uuid, history };
        found.check(&node, allowed)?;
        Ok(found)
    }

    /// The path as it is shown.
    #[must_use]
    pub fn display_path(&self) -> String {
        self.wc.abspath(&self.relpath).display().to_string()
    }

    /// Whether the target is in the repository of a location.
    #[must_use]
    pub(crate) fn is_in_repository_of(&self, place: &RepoLocation) -> bool {
        self.root == place.root && self.uuid == place.uuid
    }

    /// A session that knows what was asked about the target's repository before.
    pub(super) fn caching(&self, session: Rc<dyn Session>) -> Rc<dyn Session> {
        SessionWithCache::wrap(session, &self.history, Some(&self.wc))
    }

    /// A session at a URL of the target's repository beside the one that was opened last.
    pub(super) fn second(&self, ctx: &Context, url: &Url) -> Option<Rc<dyn Session>> {
        SessionWithCache::second(url, &ctx.ra, &self.history, Some(&self.wc))
    }

    /// Whether the session that was opened last is above a URL, and a move there would be a request.
    pub(super) fn is_asked_from_above(&self, url: &Url) -> bool {
        SessionWithCache::is_above(url, &self.history)
    }

    /// Opens a session at a URL, which also serves questions about the target. Where each move of a session is
    /// a request, it is
    /// opened above both.
    pub(super) fn open_session(&self, ctx: &Context, url: &Url) -> SvnResult<Rc<dyn Session>> {
        if let Some(own) = self.place.as_ref().map(RepoLocation::url)
            && is_svn(url)
            && url.below(&self.root).is_some()
            && let Some(above) = url.common_ancestor(&own)
            && above != url
            && above.below(&self.root).is_some()
            && let Ok(session) = ctx.open_following(above)
            && (session.root_url() == self.root && session.uuid() == self.uuid)
            && session.url() == *above
        {
            let (session, wc) = (Rc::from(session), Some(&self.wc));
            return Ok(SessionWithCache::at(session, url.to_owned(), &self.history, wc));
        }
        Ok(self.caching(Rc::from(ctx.open_following(url)?)))
    }

    /// Whether the target is a directory.
    ///
    /// # Errors
    /// SQLite's.
    pub fn is_dir(&self) -> SvnResult<bool> {
        Ok(self.wc.view(&self.relpath)?.is_some_and(|view| view.is_dir()))
    }

    fn check(&self, node: &Node, allowed: AllowedTargets) -> SvnResult<()> {
        let wc = &self.wc;
        if disk_kind(&wc.abspath(&self.relpath))?.is_none() {
            return not_ready(
                ErrorCode::WC_PATH_NOT_FOUND,
                format!("Path '{}' does not exist", self.display_path()),
            );
        }
        if node.is_deleted() {
            return not_ready(
                ErrorCode::ILLEGAL_TARGET,
                format!(
                    "Merge target '{}' does not exist in the working copy",
                    self.display_path()
                ),
            );
        }
        if !allowed.mixed {
            let Some((min, max)) = wc.revision_range(&self.relpath)? else {
                if wc.view(&self.relpath)?.is_some_and(|view| view.status() == Status::Added) {
                    return Ok(());
                }
                return not_ready(
                    ErrorCode::CLIENT_NOT_READY_TO_MERGE,
                    "Cannot determine revision of working copy",
                );
            };
            if min != max {
                return not_ready(
                    ErrorCode::CLIENT_MERGE_UPDATE_REQUIRED,
                    format!(
                        "Cannot merge into mixed-revision working copy [{min}:{max}]; try updating \
                         first"
                    ),
                );
            }
        }
        if !allowed.switched && wc.has_switched(&self.relpath, None)? {
            return not_ready(
                ErrorCode::CLIENT_NOT_READY_TO_MERGE,
                "Cannot merge into a working copy with a switched subtree",
            );
        }
        if !allowed.modified && wc.has_local_changes(&self.relpath)? {
            return not_ready(
                ErrorCode::CLIENT_NOT_READY_TO_MERGE,
                "Cannot merge into a working copy that has local modifications",
            );
        }
        Ok(())
    }
}

/// The directory that is locked while something is merged into a local path.
///
/// # Errors
/// E155007 for what is in no working copy.
pub(super) fn lock_place(ctx: &Context, target: &str) -> SvnResult<(WorkingCopy, RelPathBuf)> {
    let (wc, relpath) = ctx.working_copy(&ctx.absolute(target))?;
    let is_dir = wc.view(&relpath)?.is_some_and(|view| view.kind() == Some(NodeKind::Dir));
    let place = if is_dir { relpath } else { relpath.parent().to_owned() };
    Ok((wc, place))
}
