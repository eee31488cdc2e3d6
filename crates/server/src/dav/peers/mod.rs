//! Requests for repositories in a store that belong to another server.
//!
//! What writes, locks or is of a commit under way goes to the owner: there commits form groups, and there are the locks of DAV programs
//! and what they save. Reads stay here: each server asks the store what is new, and the blocks that it reads never change, so a
//! hop would cost time and send each reply through two machines. In places where DAV programs save, they go to the owner, too: it alone has what is
//! not a revision yet.
//!
//! * [`statement`]: what is said of the client; [`names`]: which server has a commit under way; [`forward`]: the request on its way, and
//!   the reply on its way back; [`pools`]: connections to the others.
//!
//! Invariants: a request that was forwarded is never forwarded again; one that the other server has not begun is answered here.

pub(super) mod forward;
pub(super) mod names;
pub(super) mod pools;
pub(super) mod statement;

use std::sync::Arc;

use hyper::Request;
use hyper::header::{self, HeaderValue};
use sapwood_fs::Engine;
use sapwood_peers::{Name as Server, Servers};
use sapwood_wire_dav::resource::SPECIAL;
use sapwood_wire_dav::xml::{Document, Limits};
use sapwood_wire_dav::{NS_DAV, Resource, headers};
use tokio::sync::Notify;

use super::exchange::Exchange;
use super::fail::DavResult;
use super::head::{Arrival, Head};
use super::lookup::LocatedRepository;
use super::proxied::Origin;
use super::relay::body::ForwardedBody;
use super::relay::hop::is_of_connection;
use super::sign_in::cookies;
use super::stage::Stage;
use super::state::HttpState;
use super::txns::Name;
use super::workers::MOST_HELD;
use forward::PeerForward;
use statement::{STATEMENT, Statement};

/// Who answers a request.
#[derive(Debug)]
pub(super) enum Way {
    /// This server.
    Here,
    /// That is known when its body has arrived: it names a commit under way.
    AfterBody,
    /// Another one.
    Peer(Box<PeerForward>),
}

/// Finds out who answers a request for the repository at a place.
pub(super) fn way(
    shared: &HttpState,
    head: &Head,
    exchange: &mut Exchange,
    stage: Stage,
    place: &LocatedRepository<'_>,
) -> DavResult<Way> {
    let is_first = matches!(head.arrival, Arrival::Client) && !head.is_here;
    let Some(servers) = shared.server.settings.servers.as_ref().filter(|_| is_first) else {
        return Ok(Way::Here);
    };
    let has_master = place.location.is_some_and(|location| location.master.is_some());
    let resource = Resource::parse(&place.below, SPECIAL);
    // Errors of addresses, and requests of 1.0 without a host, are answered here.
    let (Ok(resource), false, true) = (resource, has_master, head.headers.contains_key("host"))
    else {
        return Ok(Way::Here);
    };
    if !is_for_owner(shared, head, place, &resource) {
        return Ok(Way::Here);
    }
    let Some(repository) = Engine::stored_repository(&place.folder.join("db")) else {
        return Ok(Way::Here);
    };
    let names_in_body = matches!(head.method.as_str(), "MERGE" | "CHECKOUT");
    if names_in_body && stage == Stage::Admit {
        return Ok(Way::AfterBody);
    }
    let named = if names_in_body { named_in_body(exchange, place)? } else { None };
    let named = named.or_else(|| name_of(&resource));
    let known = CommitPlaces { shared, servers, repository: &repository, place };
    let Some(server) = known.server(named.as_ref()) else { return Ok(Way::Here) };
    let forward = request(shared, head, exchange, servers, server, repository);
    if let Some(forward) = &forward {
        forward.remember_chosen(shared, head, &resource);
    }
    Ok(forward.map_or(Way::Here, |forward| Way::Peer(Box::new(forward))))
}

/// Whether a request is one for the owner of its repository.
fn is_for_owner(
    shared: &HttpState,
    head: &Head,
    place: &LocatedRepository<'_>,
    resource: &Resource,
) -> bool {
    let autoversions =
        place.location.map_or(shared.settings.autoversioning, |location| location.autoversioning);
    match head.method.as_str() {
        _ if *resource == Resource::Pages => false,
        "GET" | "HEAD" | "OPTIONS" | "PROPFIND" | "REPORT" => {
            // Who signed in with a browser did so at this server.
            let has_session = shared.sign_in.is_some() && cookies::are_there(&head.headers);
            (autoversions && !has_session) || name_of(resource).is_some()
        }
        method => method == "MOVE" || super::options::ALLOWED.split(',').any(|m| m == method),
    }
}

/// The commit under way that a resource is of.
fn name_of(resource: &Resource) -> Option<Name> {
    Some(match resource {
        Resource::Txn(name) | Resource::TxnRoot(name, _) => Name::Txn(name.clone()),
        Resource::VTxn(name) | Resource::VTxnRoot(name, _) => Name::Virtual(name.clone()),
        Resource::Activity(id) | Resource::Working(id, _) | Resource::WorkingBaseline(id, _) => {
            Name::Activity(id.clone())
        }
        _ => return None,
    })
}

/// The commit under way that the body of a MERGE or a CHECKOUT names, which has arrived. What is malformed its handler says.
fn named_in_body(
    exchange: &mut Exchange,
    place: &LocatedRepository<'_>,
) -> DavResult<Option<Name>> {
    exchange.body.raw().keep_collected();
    let body = exchange.body.read_all(MOST_HELD)?;
    if !exchange.body.rewind() {
        return Ok(None);
    }
    let root = Document::open(&*body, Limits::default()).and_then(Document::into_root);
    let Ok(root) = root else { return Ok(None) };
    let inner = ["source", "activity-set"].iter().find_map(|name| root.child(NS_DAV, name));
    let href = inner.and_then(|inner| inner.child(NS_DAV, "href"));
    let path =
        href.map(|href| sapwood_wire_dav::report::update::path_of(href.trimmed()).to_owned());
    let below = path.and_then(|path| path.strip_prefix(&place.root).map(str::to_owned));
    Ok(below.and_then(|below| name_of(&Resource::parse(&below, SPECIAL).ok()?)))
}

/// What is known of where commits are.
struct CommitPlaces<'s> {
    shared: &'s HttpState,
    servers: &'s Servers,
    repository: &'s str,
    place: &'s LocatedRepository<'s>,
}

impl CommitPlaces<'_> {
    /// The server that a request goes to, if it is another one.
    fn server(&self, named: Option<&Name>) -> Option<Server> {
        let Self { shared, servers, repository, place } = self;
        match named {
            None => servers.owner(repository),
            // Without a tag, or with one of no server, it is unknown here, too.
            Some(Name::Txn(name)) => servers.of_tag(names::tag(name)?),
            Some(chosen) if shared.txns.get(&place.folder, chosen).is_ok() => None,
            Some(chosen) => {
                let went = shared.chosen.server(repository, chosen);
                went.or_else(|| servers.owner(repository))
            }
        }
    }
}

/// The request as another server gets it; nothing if it cannot be forwarded.
fn request(
    shared: &HttpState,
    head: &Head,
    exchange: &mut Exchange,
    servers: &Arc<Servers>,
    server: Server,
    repository: String,
) -> Option<PeerForward> {
    let length = match exchange.body.is_over() {
        true => Some(0),
        false => head.header("content-length").and_then(|text| text.parse().ok()),
    };
    let (pieces, body) = ForwardedBody::new();
    let query = head.query.as_ref().map_or_else(String::new, |query| format!("?{query}"));
    let target = format!("{}{query}", head.path);
    let mut request = Request::builder().method(head.method.clone()).uri(target);
    let own = request.headers_mut()?;
    for (name, value) in &head.headers {
        if *name != header::CONTENT_LENGTH && !is_of_connection(name, &head.headers) {
            own.append(name.clone(), value.clone());
        }
    }
    let waits = own.remove(header::EXPECT).is_some() && length != Some(0);
    if waits {
        own.insert(header::EXPECT, HeaderValue::from_static("100-continue"));
    }
    let origin = Origin {
        client: head.client,
        secure: head.scheme == "https",
        host: head.host.clone(),
        is_proxied: head.is_proxied,
    };
    let certificate = head.certificate.clone();
    let statement = Statement { origin, repository: repository.clone(), certificate };
    own.insert(STATEMENT, statement.value()?);
    let mut request = request.body(body.of_length(length)).ok()?;
    let begin = Arc::new(Notify::new());
    if waits {
        let begin = Arc::clone(&begin);
        hyper::ext::on_informational(&mut request, move |said| {
            if said.status() == hyper::StatusCode::CONTINUE {
                begin.notify_one();
            }
        });
    }
    exchange.body.leave_packed();
    let (servers, pools) = (Arc::clone(servers), Arc::clone(&shared.pools));
    Some(PeerForward { servers, pools, server, request, pieces, begin, waits, repository })
}

impl PeerForward {
    /// Notes where a commit begins whose name its client chooses.
    fn remember_chosen(&self, shared: &HttpState, head: &Head, resource: &Resource) {
        let name = match (head.method.as_str(), resource) {
            ("MKACTIVITY", Resource::Activity(id)) => Name::Activity(id.clone()),
            ("POST", Resource::Me) => {
                let chosen = head.header(headers::VTXN_NAME).filter(|name| !name.is_empty());
                let Some(chosen) = chosen else { return };
                Name::Virtual(chosen.to_owned())
            }
            _ => return,
        };
        shared.chosen.remember(&self.repository, name, &self.server);
    }
}
