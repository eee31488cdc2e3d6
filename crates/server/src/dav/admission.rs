//! What is decided about a request by its method and address, before its body is read.
//!
//! Invariant: where there is no repository, access is checked as if there were one with that name, so that a user
//! who may not read it does not learn whether it exists.

use hyper::Method;
use sapwood_core::FsPath;
use sapwood_repos::CommitAuthorizer as _;
use sapwood_repos::authz::Access;
use sapwood_wire_dav::Resource;
use sapwood_wire_dav::resource::SPECIAL;

use super::authenticate;
use super::fail::{DavResult, Fail, allowed};
use super::head::Head;
use super::lookup::{InNothing, name_and_rest};
use super::state::HttpState;
use crate::common::access::{Action, UserAccess};
use crate::common::config::{AccessConfig, Blanket, Login};
use crate::common::lookup;
use crate::common::principal::Principal;

/// A request that was admitted.
#[derive(Clone, Copy)]
pub(super) struct Admission<'a> {
    pub(super) access: &'a UserAccess<'a>,
    pub(super) method: &'a Method,
    pub(super) resource: &'a Resource,
    /// Where a COPY or MOVE goes to, in the same repository.
    pub(super) destination: Option<&'a FsPath>,
    /// Whether the client can authenticate.
    pub(super) can_authenticate: bool,
}

impl Admission<'_> {
    /// Checks the access of the request.
    ///
    /// # Errors
    /// The error to answer with.
    pub(super) fn decide(&self) -> DavResult {
        if self.access.blanket() == Blanket::None && self.access.user().is_some() {
            return Err(Fail::Forbidden);
        }
        let method = self.method.as_str();
        let writes = !matches!(method, "GET" | "HEAD" | "OPTIONS" | "PROPFIND" | "REPORT" | "COPY");
        if let Some(destination) = self.destination {
            self.must_all(Action::Write, destination)?;
        }
        let required = if writes { Action::Write } else { Action::Read };
        match self.resource.fspath() {
            // Access to the merged changes was checked when they were made.
            Some(_) if method == "MERGE" => self.must(required, None),
            Some(path) if matches!(method, "COPY" | "MOVE" | "DELETE") => {
                self.must_all(required, path)
            }
            Some(path) => self.must(required, Some(path)),
            // For the repository as a whole: for users who may read, or write, something in it.
            None => self.must(required, None),
        }
    }

    fn must(&self, required: Action, path: Option<&FsPath>) -> DavResult {
        allowed(self.access.decide(required, path, false, self.can_authenticate))
    }

    /// Whether the user may do what is required at a path and everywhere below it.
    fn must_all(&self, required: Action, path: &FsPath) -> DavResult {
        self.must(required, Some(path))?;
        let rights = match required {
            Action::Read => Access::READ,
            Action::Write => Access::WRITE,
        };
        if self.access.allows(path, rights, true) {
            Ok(())
        } else if self.access.user().is_none() && self.can_authenticate {
            Err(Fail::AskWho)
        } else {
            Err(Fail::Forbidden)
        }
    }
}

/// The reply where there is no repository.
pub(super) fn of_nothing(shared: &HttpState, head: &Head, nothing: &InNothing<'_>) -> Fail {
    let visitor = |access: &AccessConfig| authenticate::visitor(shared, head, access);
    of_nothing_for(shared, head, nothing, &visitor)
}

/// The same, for a visitor who is authenticated.
pub(super) fn of_nothing_for(
    shared: &HttpState,
    head: &Head,
    nothing: &InNothing<'_>,
    visitor: &dyn Fn(&AccessConfig) -> DavResult<Option<Principal>>,
) -> Fail {
    let Some(access) = nothing.location.access.as_deref() else { return Fail::no_repository() };
    match as_if_there(shared, head, nothing, access, visitor) {
        Ok(()) => Fail::no_repository(),
        Err(fail) => fail,
    }
}

/// Whether the user could make this request, if there were a repository.
fn as_if_there(
    shared: &HttpState,
    head: &Head,
    nothing: &InNothing<'_>,
    access: &AccessConfig,
    visitor: &dyn Fn(&AccessConfig) -> DavResult<Option<Principal>>,
) -> DavResult {
    let (name, rest) = name_and_rest(&nothing.below)?;
    let resource = Resource::parse(rest, SPECIAL)?;
    let user = visitor(access)?;
    let can_authenticate = access.login != Login::Never && access.has_passwords();
    // Rules inside of a repository that does not exist admit no user (CVE-2020-17525).
    let are_inside = access.is_relative_to_conf
        || access.authz_db.as_ref().is_some_and(|rules| rules.starts_with("^/"));
    if are_inside {
        let may_ask = user.is_none() && can_authenticate;
        return Err(if may_ask { Fail::AskWho } else { Fail::Forbidden });
    }
    // Rules that cannot be read admit no user either.
    let authz = lookup::rules(&shared.server, &nothing.location.root, access, &mut |_| {});
    let authz = authz.map_err(|_| Fail::Forbidden)?;
    let host = head.client.to_string();
    let mut rights =
        UserAccess::new(&shared.server, Some(&host), &name, &name, authz, access.clone());
    rights.set_user(user);
    let (method, resource) = (&head.method, &resource);
    Admission { access: &rights, method, resource, destination: None, can_authenticate }.decide()
}
