//! The parts of one request: the repository, the user, the resource; and the user's rights.

use sapwood_core::FsPath;
use sapwood_core::exact::Cut;
use sapwood_core::paths::FsPathBuf;
use sapwood_core::{ErrorCode, Revnum, SvnError, SvnResult, uri};
use sapwood_delta::Version;
use sapwood_fs::Root;
use sapwood_repos::Repository;
use sapwood_wire_dav::Resource;
use sapwood_wire_dav::resource::SPECIAL;

use super::admission::Admission;
use super::authenticate;
use super::fail::{DavResult, Fail, allowed};
use super::head::Head;
use super::lookup::InRepository;
use super::settings::Location;
use super::state::HttpState;
use crate::common::access::{Action, Decision, UserAccess};
use crate::common::operation_log::Operation;
use crate::common::users::Users;

/// The state of one request to a repository.
#[derive(Debug)]
pub struct Session<'s> {
    /// The state that all requests share.
    pub shared: &'s HttpState,
    /// The repository.
    pub repository: Repository,
    /// The user and their rights.
    pub access: UserAccess<'s>,
    /// The head of the request.
    pub head: &'s Head,
    /// What its path refers to.
    pub resource: Resource,
    /// The percent-encoded path of the repository's URL, without a slash at its end.
    pub root: String,
    /// The repository's UUID.
    pub uuid: String,
    /// The realm of authentication.
    pub realm: String,
    /// Whether the client can authenticate.
    can_authenticate: bool,
    /// The location of the configuration, if it is at one.
    pub location: Option<&'s Location>,
}

impl<'s> Session<'s> {
    /// Makes the session of a request: authenticates the user.
    ///
    /// # Errors
    /// [`Fail::AskWho`] for a wrong name or password; errors for malformed addresses.
    pub(super) fn new(
        shared: &'s HttpState,
        head: &'s Head,
        place: InRepository<'s>,
    ) -> DavResult<Self> {
        let InRepository { found, root, below, location } = place;
        let resource = Resource::parse(&below, SPECIAL)?;
        let host = head.client.to_string();
        let users = Users::of(&shared.server.files, &found.config, found.passwords)?;
        let can_authenticate = authenticate::can_authenticate(&found.config, &users);
        let user = authenticate::user(shared, head, &found.config, &users)?;
        let access = UserAccess::new(
            &shared.server,
            Some(&host),
            &found.name,
            &found.authz_name,
            found.authz,
            found.config,
        );
        let mut session = Self {
            shared,
            repository: found.repository,
            access,
            head,
            resource,
            root,
            uuid: found.uuid,
            realm: found.realm,
            can_authenticate,
            location,
        };
        session.access.set_user(user);
        if let Some(number) = head.request {
            session.access.set_request(number);
        }
        Ok(session)
    }

    /// Whether the user may do what is required at `path` (anywhere, without one).
    #[must_use]
    pub fn decide(&self, required: Action, path: Option<&FsPath>) -> Decision {
        self.access.decide(required, path, false, self.can_authenticate)
    }

    /// Whether changes that other programs make at the request's place become revisions.
    #[must_use]
    pub(crate) fn autoversions(&self) -> bool {
        match self.location {
            Some(location) => location.autoversioning,
            None => self.shared.settings.autoversioning,
        }
    }

    /// Whether the client can authenticate.
    #[must_use]
    pub(crate) const fn can_authenticate(&self) -> bool {
        self.can_authenticate
    }

    /// The same as a result.
    ///
    /// # Errors
    /// The error to answer with.
    pub fn must(&self, required: Action, path: Option<&FsPath>) -> DavResult {
        allowed(self.decide(required, path))
    }

    /// Checks access as far as possible before the body is read: by method and address.
    ///
    /// # Errors
    /// The error to answer with.
    pub(super) fn admit(&self) -> DavResult {
        let moves = matches!(self.head.method.as_str(), "COPY" | "MOVE");
        let address = if moves { self.head.header("destination") } else { None };
        // A destination that is not in this repository is refused later.
        let to = address.and_then(|address| self.resource_at(address).ok());
        let admission = Admission {
            access: &self.access,
            method: &self.head.method,
            resource: &self.resource,
            destination: to.as_ref().and_then(Resource::fspath),
            can_authenticate: self.can_authenticate,
        };
        admission.decide()
    }

    /// The fspath that the resource is about, if it is about one.
    #[must_use]
    pub(crate) fn resource_path(&self) -> Option<&FsPath> {
        self.resource.fspath()
    }

    /// The percent-encoded path of a resource.
    #[must_use]
    pub fn address(&self, resource: &Resource) -> String {
        format!("{}{}", self.root, resource.path(SPECIAL))
    }

    /// The resource that an absolute URL or path within this repository refers to.
    ///
    /// # Errors
    /// When it is not in this repository.
    pub(crate) fn resource_at(&self, address: &str) -> DavResult<Resource> {
        let path = sapwood_wire_dav::report::update::path_of(address);
        let elsewhere = || {
            let message = "Unusable URI: it does not refer to this repository";
            Fail::with(SvnError::new(ErrorCode::APMOD_MALFORMED_URI, message), 400)
        };
        let decoded = uri::decode_utf8(path).ok_or_else(elsewhere)?;
        let root = uri::decode_utf8(&self.root).ok_or_else(elsewhere)?;
        // The path may be escaped in another way than ours: the root is compared decoded, and the
        // rest is found by the number of slashes.
        if !decoded.starts_with(&root) {
            return Err(elsewhere());
        }
        let levels = root.matches('/').count();
        let below = match path.match_indices('/').nth(levels) {
            Some((at, _)) => path.tail(at),
            None => "",
        };
        let named = uri::decode_utf8(path.strip_suffix(below).unwrap_or(path));
        if named.as_deref() != Some(root.as_str()) {
            return Err(elsewhere());
        }
        Ok(Resource::parse(below, SPECIAL)?)
    }

    /// The youngest revision.
    ///
    /// # Errors
    /// System errors.
    pub fn youngest(&self) -> SvnResult<Revnum> {
        Ok(self.repository.fs().youngest()?)
    }

    /// The tree and the fspath that the resource is about, of those that are in revisions.
    ///
    /// # Errors
    /// E160006 when there is no such revision; system errors.
    pub fn tree(&self) -> DavResult<Option<(Root, FsPathBuf)>> {
        let fs = self.repository.fs();
        Ok(match &self.resource {
            Resource::Public(path) => Some((fs.revision_root(fs.youngest()?)?, path.clone())),
            Resource::RevisionRoot(rev, path)
            | Resource::BaselineCollection(rev, path)
            | Resource::Version(rev, path) => Some((fs.revision_root(*rev)?, path.clone())),
            _ => None,
        })
    }

    /// The newest svndiff that the client reads; none when it reads none.
    #[must_use]
    pub fn svndiff(&self) -> Option<Version> {
        let accepts = |word: &str| {
            self.head.headers.get_all("accept-encoding").iter().any(|value| {
                value.to_str().is_ok_and(|list| {
                    list.split(',').any(|item| {
                        let mut parts = item.split(';').map(str::trim);
                        parts.next() == Some(word) && !parts.any(|p| p == "q=0" || p == "q=0.0")
                    })
                })
            })
        };
        let compression = self.shared.server.settings.compression;
        match () {
            () if compression > 0 && accepts("svndiff2") => Some(Version::V2),
            () if compression > 0 && accepts("svndiff1") => Some(Version::V1),
            () if accepts("svndiff") || accepts("svndiff1") => Some(Version::V0),
            () => None,
        }
    }

    /// The name of the repository's folder.
    #[must_use]
    pub(crate) fn repository_name(&self) -> String {
        let place = self.repository.path();
        place.file_name().map_or(String::new(), |name| name.to_string_lossy().into_owned())
    }

    /// Whether the client is one of Subversion's.
    #[must_use]
    pub(crate) fn is_svn_client(&self) -> bool {
        self.head.is_svn_client()
    }

    /// Writes a line to the operational log.
    pub(crate) fn log_command(&self, operation: &Operation<'_>) {
        self.shared.server.note(self.access.subject(), operation);
    }

    /// Writes an error to the operational log.
    pub(crate) fn log_error(&self, error: &SvnError) {
        if let Some(log) = &self.shared.server.log {
            log.error(self.access.subject(), error, false);
        }
    }
}
