//! A session that asks each question about the past once: what a node is and was, which revisions changed
//! it, and what was merged into it. The answers are kept in memory until the command ends.
//!
//! Only questions that name their revisions are answered from the cache, and of logs only those without revision
//! properties, except for the author, which is shown beside conflicts. Errors are not cached. The cache is of one
//! repository.

mod answers;
mod history;
#[cfg(test)]
mod tests;
mod uncached;

use std::cell::RefCell;
use std::rc::Rc;

use sapwood_core::paths::{RelPath, RelPathBuf, Url, UrlBuf};
use sapwood_core::{NodeKind, Revnum, SvnResult};
use sapwood_ra::session::{
    EntryReceiver, FetchedDir, HeadNode, InheritedProps, ListRequest, Nodes, SessionInfo,
};
use sapwood_ra::{Capability, Dirent, DirentFields, Session, Settings};
use sapwood_wc::WorkingCopy;

pub(crate) use self::answers::{History, clipped};
use crate::shared_session::{SessionGuard, SessionHandle};

/// A session with a cache. It moves to another URL when it has a question there. Meanwhile the working copy's
/// database is not locked against other programs.
pub(crate) struct SessionWithCache {
    inner: SessionHandle,
    history: Rc<History>,
    wc: Option<WorkingCopy>,
    root: UrlBuf,
    url: RefCell<UrlBuf>,
}

impl SessionWithCache {
    /// A session that shares a cache, if the cache is of its repository.
    pub(crate) fn wrap(
        inner: Rc<dyn Session>,
        history: &Rc<History>,
        wc: Option<&WorkingCopy>,
    ) -> Rc<dyn Session> {
        if !history.is_of(&inner.uuid()) {
            return inner;
        }
        let url = inner.url();
        Self::at(inner, url, history, wc)
    }

    /// A session that is at `url`, although its inner session is above it, in the repository of the cache.
    pub(crate) fn at(
        inner: Rc<dyn Session>,
        url: UrlBuf,
        history: &Rc<History>,
        wc: Option<&WorkingCopy>,
    ) -> Rc<dyn Session> {
        let (root, url) = (inner.root_url(), RefCell::new(url));
        let inner = SessionHandle::one(inner);
        *history.line.borrow_mut() = Rc::downgrade(inner.line());
        Rc::new(Self { inner, history: Rc::clone(history), wc: wc.cloned(), root, url })
    }

    /// A second session beside the one that was opened last. It shares that one's connection while it is idle.
    /// `None` without such a session, or when the URL is elsewhere.
    pub(crate) fn second(
        url: &Url,
        settings: &Settings,
        history: &Rc<History>,
        wc: Option<&WorkingCopy>,
    ) -> Option<Rc<dyn Session>> {
        let line = history.line.borrow().upgrade()?;
        let inner = SessionHandle::second(line, settings);
        let root = inner.any().root_url();
        url.below(&root)?;
        let url = RefCell::new(url.to_owned());
        Some(Rc::new(Self { inner, history: Rc::clone(history), wc: wc.cloned(), root, url }))
    }

    /// Whether the session that was opened last is one for which a move is a request, and above a URL.
    pub(crate) fn is_above(url: &Url, history: &History) -> bool {
        let line = history.line.borrow().upgrade();
        line.is_some_and(|line| {
            let has = line.url();
            is_svn(&has) && url.below(&has).is_some_and(|below| !below.is_empty())
        })
    }

    /// A path of the session as the repository has it.
    fn whole(&self, at: &RelPath) -> Option<RelPathBuf> {
        Some(self.url.borrow().below(&self.root)?.join(at))
    }

    /// The session itself, where it is to be.
    fn there(&self) -> SvnResult<SessionGuard<'_>> {
        let (taken, below) = self.near(RelPath::ROOT)?;
        if !below.is_empty() {
            taken.reparent(&self.url.borrow())?;
        }
        Ok(taken)
    }

    /// The session itself, perhaps further up, and the path from there.
    fn near(&self, at: &RelPath) -> SvnResult<(SessionGuard<'_>, RelPathBuf)> {
        if let Some(wc) = &self.wc {
            wc.db().let_go()?;
        }
        let url = self.url.borrow();
        let taken = self.inner.take(&url)?;
        let has = taken.url();
        if has == *url {
            return Ok((taken, at.to_owned()));
        }
        // An svn server gets a longer path, since a move would cost a request; others move for free.
        if is_svn(&self.root)
            && let Some(below) = url.below(&has)
        {
            return Ok((taken, below.join(at)));
        }
        taken.reparent(&url)?;
        Ok((taken, at.to_owned()))
    }
}

/// Whether a URL is one of the protocol in which each move of a session is a request.
pub(crate) fn is_svn(url: &Url) -> bool {
    url.starts_with("svn:") || url.starts_with("svn+")
}

impl SessionInfo for SessionWithCache {
    fn url(&self) -> UrlBuf {
        self.url.borrow().clone()
    }

    fn root_url(&self) -> UrlBuf {
        self.root.clone()
    }

    fn uuid(&self) -> String {
        self.inner.any().uuid()
    }

    fn has_capability(&self, capability: Capability) -> SvnResult<bool> {
        self.inner.any().has_capability(capability)
    }

    fn bytes_transferred(&self) -> u64 {
        match &self.inner {
            SessionHandle::One(_) => self.inner.any().bytes_transferred(),
            SessionHandle::Second { own, .. } => own.get().map_or(0, |own| own.bytes_transferred()),
        }
    }

    fn reparent(&self, url: &Url) -> SvnResult<()> {
        if url.below(&self.root).is_none() {
            return self.inner.take(url)?.reparent(url);
        }
        *self.url.borrow_mut() = url.to_owned();
        Ok(())
    }
}

impl Nodes for SessionWithCache {
    fn check_path(&self, at: &RelPath, revision: Option<Revnum>) -> SvnResult<Option<NodeKind>> {
        let (Some(whole), Some(revision)) = (self.whole(at), revision) else {
            let (near, at) = self.near(at)?;
            return near.check_path(&at, revision);
        };
        self.history.once(
            |answers| &mut answers.kinds,
            format!("{whole}@{revision}"),
            || self.near(at).and_then(|(near, at)| near.check_path(&at, Some(revision))),
            |_| 1,
        )
    }

    fn stat(&self, at: &RelPath, revision: Option<Revnum>) -> SvnResult<Option<Dirent>> {
        self.there()?.stat(at, revision)
    }

    fn stat_head(&self, at: &RelPath) -> SvnResult<HeadNode> {
        self.there()?.stat_head(at)
    }

    fn get_dir(
        &self,
        at: &RelPath,
        revision: Option<Revnum>,
        entries: Option<DirentFields>,
        want_props: bool,
    ) -> SvnResult<FetchedDir> {
        self.there()?.get_dir(at, revision, entries, want_props)
    }

    fn list(&self, request: &ListRequest<'_>, receiver: EntryReceiver<'_>) -> SvnResult<()> {
        self.there()?.list(request, receiver)
    }

    fn inherited_props(&self, at: &RelPath, revision: Option<Revnum>) -> SvnResult<InheritedProps> {
        self.there()?.inherited_props(at, revision)
    }
}
