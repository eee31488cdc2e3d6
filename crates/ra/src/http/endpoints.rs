//! What a server says of itself when a session begins (OPTIONS), and the addresses of everything
//! that follow from it.

use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::collections::HashSet;
use std::time::{Duration, Instant};

use sapwood_core::exact::Cut;
use sapwood_core::path as paths;
use sapwood_core::paths::RelPath;
use sapwood_core::uri;
use sapwood_core::{ErrorCode, Revnum, SvnError, SvnResult};
use sapwood_wire_dav::multistatus::Resource;
use sapwood_wire_dav::propfind::{Name, PropfindRequest};
use sapwood_wire_dav::{NS_DAV, NS_SVN_DAV, headers, options};

use super::client::{Call, Client, children_of, error_of, expect_status};
use super::greetings::Greetings;
use super::request_queue::{Order, RequestQueue};
use super::transport::Reply;

/// The addresses of HTTPv2: paths, without a slash at their ends.
#[derive(Clone, Debug)]
pub(super) struct Stubs {
    pub(super) me: String,
    pub(super) rev_root: String,
    pub(super) rev: String,
    pub(super) txn_root: String,
    pub(super) txn: String,
    pub(super) vtxn_root: String,
    pub(super) vtxn: String,
}

/// Whether update reports may hold texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Bulk {
    /// They may not.
    Off,
    /// They may.
    Allowed,
}

/// What is known of a repository's server.
#[derive(Debug)]
pub(super) struct Endpoints {
    /// The percent-encoded path of the repository's root, without a slash at its end.
    pub(super) root: String,
    pub(super) uuid: String,
    /// Capabilities, without the name space.
    tokens: HashSet<String>,
    pub(super) mergeinfo: bool,
    /// The addresses of HTTPv2, when the server speaks it.
    pub(super) stubs: Option<Stubs>,
    /// The version-controlled configuration, for DeltaV.
    vcc: String,
    /// Where activities are made, for DeltaV.
    pub(super) activities: Option<String>,
    pub(super) bulk: Bulk,
    /// Whether transactions can be made with their properties.
    pub(super) posts_props: bool,
    /// The collection of the revision that was used last, for DeltaV.
    collection: RefCell<Option<(Revnum, String)>>,
    /// The youngest revision, until a session has asked for it or time has passed.
    youngest: RecentRevision,
}

/// The youngest revision that the greeting named: the first question for it need not be sent.
#[derive(Debug, Default)]
struct RecentRevision(Cell<Option<(Revnum, Instant, u64)>>);

/// How long that revision is believed, if nothing was changed.
const RECENT: Duration = Duration::from_secs(5);

impl RecentRevision {
    fn new(client: &Client, revision: Option<Revnum>) -> Self {
        Self(Cell::new(revision.map(|revision| (revision, Instant::now(), client.changes()))))
    }

    fn take(&self, client: &Client) -> Option<Revnum> {
        let (revision, since, changes) = self.0.take()?;
        (since.elapsed() < RECENT && changes == client.changes()).then_some(revision)
    }
}

fn bad_options(message: impl Into<String>) -> SvnError {
    SvnError::new(ErrorCode::RA_DAV_OPTIONS_REQ_FAILED, message)
}

/// The path of an address from a server, which may be a URL, escaped as our own are: what stands for the
/// same names is then the same text. httpd writes `%c3%bc` where we write `%C3%BC`, and escapes other
/// characters; **every address from a server comes through here before it is compared or used**.
pub(super) fn path_of(address: &str) -> String {
    let path = match address.split_once("://") {
        Some((_, rest)) => rest.find('/').map_or("", |at| rest.tail(at)),
        None => address,
    };
    let names: Vec<Cow<'_, str>> = path.trim_end_matches('/').split('/').map(escaped).collect();
    names.join("/")
}

/// A name between slashes, escaped as our own are. One that no path of a repository can have stays as
/// it came: it is only sent back.
fn escaped(name: &str) -> Cow<'_, str> {
    if !name.bytes().any(|byte| byte == b'%' || !byte.is_ascii_alphanumeric()) {
        return Cow::Borrowed(name);
    }
    match uri::decode_utf8(name).filter(|plain| !plain.contains('/')) {
        Some(plain) => Cow::Owned(uri::encode(&plain).into_owned()),
        None => Cow::Borrowed(name),
    }
}

/// The first thing that is said to a server: the path of the URL, and the answer.
struct Greeting {
    youngest: Option<Revnum>,
    uuid: Option<String>,
    root: Option<String>,
    tokens: HashSet<String>,
    mergeinfo: bool,
    stubs: Option<Stubs>,
    activities: Option<String>,
    bulk: Bulk,
    posts_props: bool,
}

/// Where a reply sends the client on to, as a URL.
fn moved(client: &Client, reply: &Reply) -> crate::Error {
    match reply.header("location").filter(|to| !to.is_empty()) {
        None => crate::Error::Other(SvnError::new(
            ErrorCode::RA_DAV_RESPONSE_HEADER_BADNESS,
            "Location header not set on redirect response",
        )),
        Some(to) => crate::Error::Moved {
            // Old servers send the path only.
            to: if to.starts_with('/') { format!("{}{to}", client.base) } else { to.to_owned() },
            permanently: reply.status() == 301,
        },
    }
}

/// The first request of a session at an address.
fn greeting_call(target: &str) -> Call<'_> {
    Call::new("OPTIONS", target).xml(options::REQUEST)
}

fn greet(client: &Client, target: &str) -> crate::Result<Greeting> {
    match client.greetings.take(target) {
        Some(reply) => read_greeting(client, target, reply),
        None => read_greeting(client, target, client.call(&greeting_call(target))?),
    }
}

impl Greetings {
    /// Asks for all that were announced but the first, `but`, which has been asked. What cannot be asked now is asked
    /// when its session is opened.
    fn fetch(&self, client: &Client, but: &str) {
        let mut targets = self.take_announced();
        if let Some(at) = targets.iter().position(|target| target == but) {
            targets.remove(at);
        }
        if targets.len() < 2 || !client.may_pipeline() {
            return;
        }
        let mut queue = RequestQueue::new(Order::Free);
        let mut take = |target: String, _: &Call<'static>, reply: Reply| {
            self.put(target, reply);
            Ok(())
        };
        let ask = || {
            for target in targets {
                let call = greeting_call(&target).into_owned();
                queue.push(client, call, target, &mut take)?;
            }
            queue.finish(client, &mut take)
        };
        match ask() {
            Ok(()) => drop(queue.end(client)),
            Err(_) => queue.drain(client),
        }
    }
}

fn read_greeting(client: &Client, target: &str, reply: Reply) -> crate::Result<Greeting> {
    match reply.status() {
        200 => {}
        300..=399 => return Err(moved(client, &reply)),
        _ => return Err(error_of(reply, target).into()),
    }
    let dav = reply.headers(headers::DAV).flat_map(|header| header.split(','));
    let tokens: HashSet<String> = dav
        .map(str::trim)
        .map(|token| token.rsplit('/').next().unwrap_or(token).to_owned())
        .collect();
    if tokens.is_empty() {
        return Err(bad_options(format!(
            "The server at '{}' does not support the HTTP/DAV protocol",
            client.base
        ))
        .into());
    }
    let address = |name: &str| reply.header(name).map(path_of);
    let mut greeting = Greeting {
        youngest: reply.header(headers::YOUNGEST_REV).and_then(|t| Revnum::parse(t.as_bytes())),
        uuid: reply.header(headers::REPOSITORY_UUID).map(str::to_owned),
        root: address(headers::REPOSITORY_ROOT),
        tokens,
        mergeinfo: reply.header(headers::REPOSITORY_MERGEINFO) != Some("no"),
        stubs: stubs_of(&address),
        activities: None,
        bulk: match reply.header(headers::ALLOW_BULK_UPDATES) {
            Some(word) if word.eq_ignore_ascii_case("off") => Bulk::Off,
            _ => Bulk::Allowed,
        },
        posts_props: reply
            .headers(headers::SUPPORTED_POSTS)
            .any(|words| words.split(',').any(|word| word.trim() == "create-txn-with-props")),
    };
    let body = reply.bytes(1 << 20)?;
    let parse = || {
        use sapwood_wire_dav::xml::{Document, Limits};
        Document::open(&body[..], Limits::default())?.into_root()
    };
    if !body.is_empty()
        && let Ok(root) = parse()
    {
        greeting.activities = options::activities(&root).map(path_of);
    }
    Ok(greeting)
}

/// The addresses of the second version of the protocol, of a server that has it.
fn stubs_of(address: &dyn Fn(&str) -> Option<String>) -> Option<Stubs> {
    Some(Stubs {
        me: address(headers::ME_RESOURCE)?,
        rev_root: address(headers::REV_ROOT_STUB)?,
        rev: address(headers::REV_STUB)?,
        txn_root: address(headers::TXN_ROOT_STUB)?,
        txn: address(headers::TXN_STUB)?,
        // A server that supports transaction names of the client sends these too.
        vtxn_root: address(headers::VTXN_ROOT_STUB).unwrap_or_default(),
        vtxn: address(headers::VTXN_STUB).unwrap_or_default(),
    })
}

impl Endpoints {
    /// Asks the server what it is, for a session at `path`.
    /// `bulk` is what the configuration says of texts in reports.
    pub(super) fn learn(client: &Client, path: &str, bulk: Option<bool>) -> crate::Result<Self> {
        let target = if path.is_empty() { "/" } else { path };
        let greeting = greet(client, target)?;
        client.greetings.fetch(client, target);
        let mut places = Self {
            // `discover` finds what the greeting lacks.
            root: greeting.root.clone().unwrap_or_default(),
            uuid: greeting.uuid.clone().unwrap_or_default(),
            tokens: greeting.tokens,
            mergeinfo: greeting.mergeinfo,
            stubs: greeting.stubs,
            vcc: String::new(),
            activities: greeting.activities,
            bulk: match bulk {
                None => greeting.bulk,
                Some(true) => Bulk::Allowed,
                Some(false) => Bulk::Off,
            },
            posts_props: greeting.posts_props,
            collection: RefCell::new(None),
            youngest: RecentRevision::new(client, greeting.youngest),
        };
        if greeting.root.is_none() || greeting.uuid.is_none() || places.stubs.is_none() {
            places.discover(client, target)?;
        }
        let below = path.strip_prefix(places.root.as_str());
        if !below.is_some_and(|below| below.is_empty() || below.starts_with('/')) {
            return Err(bad_options(format!(
                "The server says that '{path}' belongs to the repository at '{}'",
                places.root
            ))
            .into());
        }
        Ok(places)
    }

    /// Finds the root of the repository if the greeting lacks it: the nearest
    /// existing parent has it.
    fn discover(&mut self, client: &Client, path: &str) -> SvnResult<()> {
        let wanted = PropfindRequest::These(vec![
            Name::new(NS_DAV, "version-controlled-configuration"),
            Name::new(NS_DAV, "resourcetype"),
            Name::new(NS_SVN_DAV, "baseline-relative-path"),
            Name::new(NS_SVN_DAV, "repository-uuid"),
        ]);
        let mut at = path.trim_end_matches('/').to_owned();
        let found = loop {
            let target = if at.is_empty() { "/" } else { at.as_str() };
            match propfind(client, target, "0", &wanted, None) {
                Ok(found) => break found,
                Err(error) if error.is_no_node() && !at.is_empty() => {
                    at.truncate(at.rfind('/').unwrap_or(0));
                }
                Err(error) => return Err(error),
            }
        };
        let node = found.first().ok_or_else(no_vcc)?;
        let text = |namespace, name| node.prop(namespace, name).map(|prop| prop.text.clone());
        let vcc = node
            .prop(NS_DAV, "version-controlled-configuration")
            .and_then(|prop| prop.child(NS_DAV, "href"))
            .ok_or_else(no_vcc)?;
        self.vcc = path_of(vcc.trimmed());
        let below = text(NS_SVN_DAV, "baseline-relative-path").ok_or_else(no_vcc)?;
        let below = uri::encode(below.trim_matches('/')).into_owned();
        let root = at.strip_suffix(below.as_str()).unwrap_or(&at);
        self.root = root.trim_end_matches('/').to_owned();
        if let Some(uuid) = text(NS_SVN_DAV, "repository-uuid") {
            self.uuid = uuid;
        }
        Ok(())
    }

    /// Whether the server has announced a capability.
    pub(super) fn knows(&self, token: &str) -> bool {
        self.tokens.contains(token)
    }

    /// The youngest revision.
    pub(super) fn youngest(&self, client: &Client, path: &str) -> SvnResult<Revnum> {
        let target = if path.is_empty() { "/" } else { path };
        if let Some(youngest) = self.youngest.take(client) {
            return Ok(youngest);
        }
        if let Some(youngest) = greet(client, target)?.youngest {
            return Ok(youngest);
        }
        Ok(self.baseline(client, None)?.0)
    }

    /// Where reports about the repository as a whole go.
    pub(super) fn report_target(&self) -> &str {
        self.stubs.as_ref().map_or(&self.vcc, |stubs| &stubs.me)
    }

    /// A revision's number, its collection and its baseline, for DeltaV.
    fn baseline(&self, client: &Client, revision: Option<Revnum>) -> SvnResult<(Revnum, String)> {
        if let (Some(wanted), Some((known, collection))) = (revision, &*self.collection.borrow())
            && wanted == *known
        {
            return Ok((wanted, collection.clone()));
        }
        let wanted = PropfindRequest::These(vec![
            Name::new(NS_DAV, "baseline-collection"),
            Name::new(NS_DAV, "version-name"),
        ]);
        let label = revision.map(|revision| revision.to_string());
        let found = match label {
            Some(_) => propfind(client, &self.vcc, "0", &wanted, label.as_deref())?,
            None => {
                propfind(client, &self.checked_in(client, &self.vcc, None)?, "0", &wanted, None)?
            }
        };
        let node = found.first().ok_or_else(no_vcc)?;
        let collection = node
            .prop(NS_DAV, "baseline-collection")
            .and_then(|prop| prop.child(NS_DAV, "href"))
            .ok_or_else(no_vcc)?;
        let number = node
            .prop(NS_DAV, "version-name")
            .and_then(|prop| Revnum::parse(prop.trimmed().as_bytes()))
            .ok_or_else(no_vcc)?;
        let collection = path_of(collection.trimmed());
        *self.collection.borrow_mut() = Some((number, collection.clone()));
        Ok((number, collection))
    }

    /// The version that a resource stands for.
    pub(super) fn checked_in(
        &self,
        client: &Client,
        target: &str,
        label: Option<&str>,
    ) -> SvnResult<String> {
        let wanted = PropfindRequest::These(vec![Name::new(NS_DAV, "checked-in")]);
        let found = propfind(client, target, "0", &wanted, label)?;
        let href = found
            .first()
            .and_then(|node| node.prop(NS_DAV, "checked-in"))
            .and_then(|prop| prop.child(NS_DAV, "href"))
            .ok_or_else(no_vcc)?;
        Ok(path_of(href.trimmed()))
    }

    /// The version of the configuration, for DeltaV's commits.
    pub(super) fn head_baseline(&self, client: &Client) -> SvnResult<String> {
        self.checked_in(client, &self.vcc, None)
    }

    /// The address of a node as of a revision: that never changes what it stands for. `path` is
    /// below the root of the repository.
    pub(super) fn node(
        &self,
        client: &Client,
        path: &RelPath,
        revision: Revnum,
    ) -> SvnResult<String> {
        let base = match &self.stubs {
            Some(stubs) => format!("{}/{revision}", stubs.rev_root),
            None => self.baseline(client, Some(revision))?.1,
        };
        Ok(below(&base, path))
    }

    /// The address of a revision's properties.
    pub(super) fn revision(&self, client: &Client, revision: Revnum) -> SvnResult<String> {
        match &self.stubs {
            Some(stubs) => Ok(format!("{}/{revision}", stubs.rev)),
            None => {
                // A PROPFIND of the configuration with a label answers for the baseline.
                let label = revision.to_string();
                let wanted = PropfindRequest::These(vec![Name::new(NS_DAV, "version-name")]);
                let found = propfind(client, &self.vcc, "0", &wanted, Some(&label))?;
                Ok(path_of(&found.first().ok_or_else(no_vcc)?.href))
            }
        }
    }
}

fn no_vcc() -> SvnError {
    bad_options("The PROPFIND response did not include the requested properties")
}

/// An address below another: `path` is a relpath, not encoded.
pub(super) fn below(base: &str, path: &str) -> String {
    if path.is_empty() {
        return if base.is_empty() { "/".to_owned() } else { base.to_owned() };
    }
    format!("{base}/{}", uri::encode(paths::to_relpath(path)))
}

/// Asks for properties; `depth` is `0` or `1`.
pub(super) fn propfind(
    client: &Client,
    target: &str,
    depth: &str,
    wanted: &PropfindRequest,
    label: Option<&str>,
) -> SvnResult<Vec<Resource>> {
    let mut call = propfind_call(target, depth, wanted);
    if let Some(label) = label {
        call = call.with("label", label);
    }
    read_propfind(client.call(&call)?, target)
}

/// The request for properties.
pub(super) fn propfind_call<'t>(
    target: &'t str,
    depth: &str,
    wanted: &PropfindRequest,
) -> Call<'t> {
    Call::new("PROPFIND", target).with("depth", depth).xml(wanted.write())
}

/// The reply to a request for properties.
pub(super) fn read_propfind(reply: Reply, target: &str) -> SvnResult<Vec<Resource>> {
    let mut found = Vec::new();
    children_of(expect_status(reply, target, &[207])?, |child| {
        found.extend(sapwood_wire_dav::multistatus::resource(child)?);
        Ok(())
    })?;
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_for_the_same_names_are_the_same() {
        for (address, path) in [
            ("/r/%c3%bc/", "/r/%C3%BC"),
            ("http://h:1/r/%5bx%5D", "/r/%5Bx%5D"),
            ("/r/[x]", "/r/%5Bx%5D"),
            ("/r/%7e%2b/a%2520b", "/r/~+/a%2520b"),
            ("/r/{#%7B%23", "/r/%7B%23%7B%23"),
            ("/r/!svn/rvr/3", "/r/!svn/rvr/3"),
            // No name of a repository.
            ("/r/%ff/a%2fb", "/r/%ff/a%2fb"),
            ("https://h", ""),
        ] {
            assert_eq!(path_of(address), path, "{address}");
        }
    }
}
