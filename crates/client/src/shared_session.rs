//! One session for two users of it, as long as they take turns: the second one gets a session of its own
//! when it has a question while the first one's is being answered.

use std::cell::{Cell, OnceCell};
use std::ops::Deref;
use std::rc::Rc;

use sapwood_core::SvnResult;
use sapwood_core::paths::{RelPath, Url, UrlBuf};
use sapwood_delta::ReportEntry;
use sapwood_ra::session::Report;
use sapwood_ra::{Session, Settings};

/// An open session, and how many of its questions are being answered.
pub(crate) struct SharedSession {
    session: Rc<dyn Session>,
    busy: Cell<u32>,
}

impl SharedSession {
    /// Where the session is now.
    pub(crate) fn url(&self) -> UrlBuf {
        self.session.url()
    }
}

/// The session to use.
pub(crate) enum SessionHandle {
    /// Always the same.
    One(Rc<SharedSession>),
    /// Another's session, or one of its own.
    Second {
        /// The other's.
        line: Rc<SharedSession>,
        /// Its own, once it was needed.
        own: OnceCell<Rc<dyn Session>>,
        /// How it is opened.
        settings: Box<Settings>,
    },
}

/// A session while it is asked.
pub(crate) struct SessionGuard<'l> {
    session: &'l dyn Session,
    busy: Option<Busy<'l>>,
}

/// Counts a question while it is answered.
struct Busy<'l>(&'l Cell<u32>);

impl<'l> Busy<'l> {
    fn new(count: &'l Cell<u32>) -> Self {
        count.set(count.get().wrapping_add(1));
        Self(count)
    }
}

impl Drop for Busy<'_> {
    fn drop(&mut self) {
        self.0.set(self.0.get().wrapping_sub(1));
    }
}

impl SessionHandle {
    pub(crate) fn one(session: Rc<dyn Session>) -> Self {
        Self::One(Rc::new(SharedSession { session, busy: Cell::new(0) }))
    }

    pub(crate) fn second(line: Rc<SharedSession>, settings: &Settings) -> Self {
        Self::Second { line, own: OnceCell::new(), settings: Box::new(settings.clone()) }
    }

    pub(crate) const fn line(&self) -> &Rc<SharedSession> {
        match self {
            Self::One(line) | Self::Second { line, .. } => line,
        }
    }

    /// Either session, for questions about the repository itself.
    pub(crate) fn any(&self) -> &dyn Session {
        self.line().session.as_ref()
    }

    /// The session to ask; it may be elsewhere than at `url`.
    pub(crate) fn take(&self, url: &Url) -> SvnResult<SessionGuard<'_>> {
        if let Self::Second { line, own, settings } = self {
            if own.get().is_none() && line.busy.get() > 0 {
                let _ = own.set(Rc::from(sapwood_ra::open(url, settings)?));
            }
            if let Some(own) = own.get() {
                return Ok(SessionGuard { session: own.as_ref(), busy: None });
            }
        }
        let line = self.line();
        Ok(SessionGuard { session: line.session.as_ref(), busy: Some(Busy::new(&line.busy)) })
    }
}

impl<'l> SessionGuard<'l> {
    /// The session, for what outlives this value.
    pub(crate) const fn session(&self) -> &'l dyn Session {
        self.session
    }

    /// A report of the session, which is busy as long as there is one.
    pub(crate) fn keep<'s>(
        self,
        report: impl FnOnce(&'l dyn Session) -> SvnResult<Box<dyn Report + 's>>,
    ) -> SvnResult<Box<dyn Report + 's>>
    where
        'l: 's,
    {
        Ok(Box::new(SharedReport { inner: report(self.session)?, _busy: self.busy }))
    }
}

impl<'l> Deref for SessionGuard<'l> {
    type Target = dyn Session + 'l;

    fn deref(&self) -> &Self::Target {
        self.session
    }
}

/// A report of a session that is busy with it.
struct SharedReport<'s> {
    inner: Box<dyn Report + 's>,
    _busy: Option<Busy<'s>>,
}

impl Report for SharedReport<'_> {
    fn entry(&mut self, entry: &ReportEntry<'_>) -> SvnResult<()> {
        self.inner.entry(entry)
    }

    fn delete_path(&mut self, path: &RelPath) -> SvnResult<()> {
        self.inner.delete_path(path)
    }

    fn finish(self: Box<Self>) -> SvnResult<()> {
        let Self { inner, _busy } = *self;
        inner.finish()
    }

    fn abort(self: Box<Self>) -> SvnResult<()> {
        let Self { inner, _busy } = *self;
        inner.abort()
    }
}
