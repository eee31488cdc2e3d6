//! A session over http.

use std::cell::RefCell;
use std::rc::Rc;

use sapwood_core::exact::Exact as _;
use sapwood_core::paths::{RelPath, RelPathBuf, Url, UrlBuf};
use sapwood_core::{Revnum, SvnResult};

use super::client::Client;
use super::clients::HttpClients;
use super::endpoints::{Endpoints, below};
use super::settings::ClientSettings;
use crate::error::Error;
use crate::session::{Capability, Revisions as _, SessionInfo};

/// A session over http.
#[derive(Debug)]
pub struct HttpSession {
    pub(super) client: Rc<Client>,
    /// Bytes that the client had sent and received before this session.
    transferred_before: u64,
    pub(super) places: Endpoints,
    place: RefCell<SessionUrl>,
    root_url: UrlBuf,
}

/// Where a session is.
#[derive(Debug)]
struct SessionUrl {
    url: UrlBuf,
    /// The same below the root of the repository.
    relpath: RelPathBuf,
}

impl HttpSession {
    /// Opens a session to a canonical URL.
    ///
    /// # Errors
    /// What connecting and logging in meet; E175003 for servers that are none of Subversion's;
    /// [`Error::Moved`].
    pub fn open(
        url: &Url,
        clients: &HttpClients,
        settings: &ClientSettings,
    ) -> crate::Result<Self> {
        let client = clients.of(url, settings)?;
        let transferred_before = client.transferred();
        let illegal = || Error::IllegalUrl(url.to_string());
        let path = url.parts().ok_or_else(illegal)?.path;
        let places = Endpoints::learn(&client, path.trim_end_matches('/'), client.options.bulk)?;
        let root_url = format!("{}{}", client.base, places.root);
        let root_url = UrlBuf::canonicalize(&root_url).map_err(|_| illegal())?;
        let relpath = url.below(&root_url).ok_or_else(illegal)?;
        let place = RefCell::new(SessionUrl { url: url.to_owned(), relpath });
        Ok(Self { client, transferred_before, places, place, root_url })
    }

    /// The place in the repository of a path below the session's URL.
    pub(super) fn in_repository(&self, path: &RelPath) -> RelPathBuf {
        self.place.borrow().relpath.join(path)
    }

    /// The percent-encoded path of the session's URL with a path below it.
    pub(super) fn public(&self, path: &RelPath) -> String {
        below(&self.places.root, &self.in_repository(path))
    }

    /// The address of a node that never changes, and the revision that it is of.
    pub(super) fn stable(
        &self,
        path: &RelPath,
        revision: Option<Revnum>,
    ) -> SvnResult<(String, Revnum)> {
        let revision = match revision {
            Some(revision) => revision,
            None => self.latest_revnum()?,
        };
        let target = self.places.node(&self.client, &self.in_repository(path), revision)?;
        Ok((target, revision))
    }
}

impl SessionInfo for HttpSession {
    fn url(&self) -> UrlBuf {
        self.place.borrow().url.clone()
    }

    fn root_url(&self) -> UrlBuf {
        self.root_url.clone()
    }

    fn uuid(&self) -> String {
        self.places.uuid.clone()
    }

    fn has_capability(&self, capability: Capability) -> SvnResult<bool> {
        let places = &self.places;
        Ok(match capability {
            Capability::Depth => places.knows("depth"),
            Capability::Mergeinfo => places.knows("mergeinfo") && places.mergeinfo,
            Capability::LogRevprops => places.knows("log-revprops"),
            Capability::PartialReplay => places.knows("partial-replay"),
            // Revision properties of a transaction are set like any others.
            Capability::CommitRevprops => true,
            Capability::AtomicRevprops => places.knows("atomic-revprops"),
            Capability::EphemeralTxnprops => places.knows("ephemeral-txnprops"),
            Capability::InheritedProps => places.knows("inherited-props"),
            Capability::FileRevsReverse => places.knows("reverse-file-revs"),
            Capability::List => places.knows("list"),
        })
    }

    fn bytes_transferred(&self) -> u64 {
        self.client.transferred().minus(self.transferred_before)
    }

    fn reparent(&self, url: &Url) -> SvnResult<()> {
        let Some(relpath) = url.below(&self.root_url) else {
            return Err(Error::other_repository(url, &self.root_url).into());
        };
        *self.place.borrow_mut() = SessionUrl { url: url.to_owned(), relpath };
        Ok(())
    }
}
