//! PROPFIND: properties of nodes, revisions and of the repository.

use sapwood_core::FsPath;
use sapwood_core::date::Timestamp;
use sapwood_core::path::to_relpath;
use sapwood_core::{Depth, ErrorCode, Lock, NodeKind, PropList, Revnum, SvnError};
use sapwood_fs::read_ahead::NodesWanted;
use sapwood_fs::{Node, RevpropsSnapshot, Root};
use sapwood_repos::nodes::{Entries, EntriesWanted};
use sapwood_repos::{committed_info, revision_props};
use sapwood_wire_dav::propfind::{self, Name, PropfindRequest, Response};
use sapwood_wire_dav::report::Sink as _;
use sapwood_wire_dav::xml::{Document, Limits, Xml as _};
use sapwood_wire_dav::{NS_DAV, NS_SVN_DAV, Resource, dead, headers as names, lock};

use super::entity;
use super::exchange::Exchange;
use super::fail::{DavResult, Fail};
use super::session::Session;
use crate::common::access::Action;
use crate::common::operation_log::Operation;

/// Bytes of a PROPFIND's body.
const MAX_BODY: usize = 1 << 20;

/// Names of live properties of nodes.
const NODE_DAV: [&str; 10] = [
    "resourcetype",
    "getcontentlength",
    "getcontenttype",
    "getetag",
    "creationdate",
    "getlastmodified",
    "checked-in",
    "version-controlled-configuration",
    "version-name",
    "creator-displayname",
];
const NODE_SVN: [&str; 5] = [
    "baseline-relative-path",
    "md5-checksum",
    "repository-uuid",
    "deadprop-count",
    "sha1-checksum",
];
const BASELINE_DAV: [&str; 5] =
    ["resourcetype", "baseline-collection", "version-name", "creationdate", "creator-displayname"];

/// The value of a live property.
enum Value {
    Text(String),
    Xml(String),
}

pub(super) fn propfind(session: &Session<'_>, exchange: &mut Exchange) -> DavResult {
    let depth = match session.head.header("depth").map(str::trim) {
        Some("0") => Depth::Empty,
        Some("1") => Depth::Immediates,
        None | Some("infinity") => Depth::Infinity,
        Some(_) => return Err(Fail::status(400, "An invalid Depth header was specified.")),
    };
    let wanted = read(exchange)?;
    match &session.resource {
        Resource::Me | Resource::Vcc => match session.head.header("label") {
            Some(label) => {
                let rev = Revnum::parse(label.trim().as_bytes())
                    .ok_or_else(|| Fail::status(400, "The Label header is no revision"))?;
                baseline(session, exchange, rev, &wanted)
            }
            None => repository(session, exchange, &wanted),
        },
        Resource::Baseline(rev) | Resource::Revision(rev) => {
            baseline(session, exchange, *rev, &wanted)
        }
        _ => match session.tree()? {
            Some((_, path)) if is_lock_alone(session, &path)? => {
                lock_alone(session, exchange, &path, &wanted)
            }
            Some((root, path)) => {
                // A request for all of a tree at once can only be a mistake.
                if depth == Depth::Infinity && root.node(&path)?.kind() == NodeKind::Dir {
                    return Err(Fail::status(
                        403,
                        "PROPFIND requests with a Depth of \"infinity\" are not allowed here",
                    ));
                }
                tree(session, exchange, &root, &path, depth, &wanted)
            }
            None => in_transaction(session, exchange, &wanted),
        },
    }
}

/// The requested properties.
fn read(exchange: &mut Exchange) -> DavResult<PropfindRequest> {
    let body = exchange.body.read_all(MAX_BODY)?;
    let root = if body.iter().all(u8::is_ascii_whitespace) {
        None
    } else {
        Some(Document::open(&*body, Limits::default())?.into_root()?)
    };
    Ok(PropfindRequest::read(root.as_ref())?)
}

/// The properties of a pending new node ([`super::autoversioning`]).
pub(super) fn waiting(
    session: &Session<'_>,
    exchange: &mut Exchange,
    path: &FsPath,
    (kind, props): (NodeKind, &PropList),
) -> DavResult {
    let wanted = read(exchange)?;
    let is_file = kind == NodeKind::File;
    let mut locks = Vec::new();
    super::autoversioning::discovered(session, path, &mut locks);
    let locks = String::from_utf8_lossy(&locks).into_owned();
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let now = now.ok().and_then(|now| i64::try_from(now.as_micros()).ok()).unwrap_or(0);
    let now = Timestamp(now).to_string();
    let given = props.get_str(sapwood_core::props::names::MIME_TYPE);
    let live = [
        "resourcetype",
        "getcontentlength",
        "getcontenttype",
        "creationdate",
        "getlastmodified",
        "supportedlock",
        "lockdiscovery",
    ];
    let live = live.map(|name| Name::new(NS_DAV, name));
    let mut response = Response::default();
    fill(&mut response, &wanted, &live, (props, true), |name| {
        let text = |text: &str| Some(Value::Text(text.to_owned()));
        Ok(match (name.namespace.as_str(), name.name.as_str()) {
            (NS_DAV, "resourcetype") if is_file => text(""),
            (NS_DAV, "resourcetype") => Some(Value::Xml("<D:collection/>".to_owned())),
            (NS_DAV, "getcontentlength") if is_file => text("0"),
            (NS_DAV, "getcontenttype") if is_file => text(given.unwrap_or("text/plain")),
            (NS_DAV, "getcontenttype") => text("text/html; charset=UTF-8"),
            (NS_DAV, "creationdate") => text(&now),
            (NS_DAV, "getlastmodified") => entity::http_date(&now).map(Value::Text),
            (NS_DAV, "supportedlock") => locks_that_there_are(session, is_file),
            (NS_DAV, "lockdiscovery") => Some(Value::Xml(locks.clone())),
            _ => None,
        })
    })?;
    let mut href = session.address(&session.resource);
    if !is_file && !href.ends_with('/') {
        href.push('/');
    }
    begin(exchange);
    response.write(exchange.out(), &href);
    propfind::end(exchange.out());
    Ok(())
}

/// Whether there is only a lock at the path: of a file that was deleted since.
fn is_lock_alone(session: &Session<'_>, path: &FsPath) -> DavResult<bool> {
    let fs = session.repository.fs();
    Ok(matches!(session.resource, Resource::Public(_))
        && fs.lock(path)?.is_some()
        && fs.revision_root(fs.youngest()?)?.kind(path)?.is_none())
}

/// The properties of such a path.
fn lock_alone(
    session: &Session<'_>,
    exchange: &mut Exchange,
    path: &FsPath,
    wanted: &PropfindRequest,
) -> DavResult {
    session.must(Action::Read, Some(path))?;
    let Some(found) = session.repository.fs().lock(path)? else {
        return Err(Fail::status(404, "Not found"));
    };
    let address = session.address(&session.resource);
    let mut shown = Vec::new();
    lock::active(&mut shown, &super::locks::active_lock(&found, &address));
    let shown = String::from_utf8_lossy(&shown).into_owned();
    exchange.header(names::CREATION_DATE, &Timestamp(found.created).to_string());
    exchange.header(names::LOCK_OWNER, &found.owner);
    let live = ["resourcetype", "lockdiscovery"].map(|name| Name::new(NS_DAV, name));
    let mut response = Response::default();
    fill(&mut response, wanted, &live, (&PropList::new(), false), |name| {
        Ok(match (name.namespace.as_str(), name.name.as_str()) {
            (NS_DAV, "resourcetype") => Some(Value::Text(String::new())),
            (NS_DAV, "lockdiscovery") => Some(Value::Xml(shown.clone())),
            _ => None,
        })
    })?;
    begin(exchange);
    response.write(exchange.out(), &address);
    propfind::end(exchange.out());
    Ok(())
}

fn begin(exchange: &mut Exchange) {
    exchange.status(207);
    exchange.xml();
    propfind::begin(exchange.out());
}

/// The properties of the repository itself.
fn repository(
    session: &Session<'_>,
    exchange: &mut Exchange,
    wanted: &PropfindRequest,
) -> DavResult {
    let youngest = session.youngest()?;
    let value = |name: &Name| match (name.namespace.as_str(), name.name.as_str()) {
        (NS_DAV, "resourcetype") => Some(Value::Text(String::new())),
        (NS_DAV, "checked-in") => Some(href(&session.address(&Resource::Baseline(youngest)))),
        (NS_SVN_DAV, "repository-uuid") => Some(Value::Text(session.uuid.clone())),
        _ => None,
    };
    let all = [
        Name::new(NS_DAV, "resourcetype"),
        Name::new(NS_DAV, "checked-in"),
        Name::new(NS_SVN_DAV, "repository-uuid"),
    ];
    let mut response = Response::default();
    match wanted {
        PropfindRequest::Names => all.iter().for_each(|name| response.name(name)),
        PropfindRequest::All => all.iter().for_each(|name| put(&mut response, name, value(name))),
        PropfindRequest::These(names) => {
            names.iter().for_each(|name| put(&mut response, name, value(name)))
        }
    }
    begin(exchange);
    response.write(exchange.out(), &session.address(&session.resource));
    propfind::end(exchange.out());
    Ok(())
}

fn href(address: &str) -> Value {
    let mut xml = Vec::new();
    xml.raw("<D:href>");
    xml.text(address);
    xml.raw("</D:href>");
    Value::Xml(String::from_utf8_lossy(&xml).into_owned())
}

fn put(response: &mut Response, name: &Name, value: Option<Value>) {
    match value {
        Some(Value::Text(text)) => response.text(name, &text),
        Some(Value::Xml(xml)) => response.elements(name, &xml),
        None => response.missing(name),
    }
}

/// The properties of a revision.
fn baseline(
    session: &Session<'_>,
    exchange: &mut Exchange,
    rev: Revnum,
    wanted: &PropfindRequest,
) -> DavResult {
    let props = revision_props(&session.repository, rev, &session.access)?;
    session.log_command(&Operation::RevProplist { revision: rev });
    let value = |name: &Name| -> Option<Value> {
        match (name.namespace.as_str(), name.name.as_str()) {
            (NS_DAV, "resourcetype") => Some(Value::Xml("<D:baseline/>".to_owned())),
            (NS_DAV, "version-name") => Some(Value::Text(rev.to_string())),
            (NS_DAV, "baseline-collection") => {
                let collection = Resource::BaselineCollection(rev, FsPath::ROOT.to_owned());
                Some(href(&session.address(&collection)))
            }
            (NS_DAV, "creationdate") => {
                props.get_str("svn:date").map(|d| Value::Text(d.to_owned()))
            }
            (NS_DAV, "creator-displayname") => {
                props.get("svn:author").map(|a| Value::Text(propfind::author(a)))
            }
            (NS_SVN_DAV, "repository-uuid") => Some(Value::Text(session.uuid.clone())),
            _ => None,
        }
    };
    let live: Vec<Name> = BASELINE_DAV.iter().map(|n| Name::new(NS_DAV, n)).collect();
    let mut response = Response::default();
    fill(&mut response, wanted, &live, (&props, false), |name| Ok(value(name)))?;
    begin(exchange);
    // For a revision that the `Label` header names, the reply has its address: clients of DeltaV change
    // its properties there.
    let named = Resource::Baseline(rev);
    let it = match session.resource {
        Resource::Me | Resource::Vcc => &named,
        _ => &session.resource,
    };
    response.write(exchange.out(), &session.address(it));
    propfind::end(exchange.out());
    Ok(())
}

/// Writes the requested ones of live properties and of the node's or revision's own.
fn fill(
    response: &mut Response,
    wanted: &PropfindRequest,
    live: &[Name],
    (props, foreign): (&PropList, bool),
    mut value: impl FnMut(&Name) -> DavResult<Option<Value>>,
) -> DavResult {
    match wanted {
        PropfindRequest::Names => {
            for (name, _) in props.iter() {
                let known = dead::name_of(name).filter(|_| foreign);
                response.name(&known.map_or_else(|| Name::of_property(name), |(name, _)| name));
            }
            live.iter().for_each(|name| response.name(name));
        }
        PropfindRequest::All => {
            for name in live {
                let found = value(name)?;
                // Where there are no locks, mod_dav_svn says so only to those who ask.
                let no_locks = name.name == "supportedlock"
                    && matches!(&found, Some(Value::Text(text)) if text.is_empty());
                if found.is_some() && !no_locks {
                    put(response, name, found);
                }
            }
            for (name, value) in props.iter() {
                if foreign {
                    response.foreign_property(name, value);
                } else {
                    response.property(name, value);
                }
            }
        }
        PropfindRequest::These(names) => {
            for name in names {
                if let Some(own) = name.property() {
                    match props.get(&own) {
                        Some(value) => response.property(&own, value),
                        None => response.missing(name),
                    }
                } else if let Some((own, value)) = stored_prop(props, name) {
                    response.foreign_property(&own, value);
                } else {
                    put(response, name, value(name)?);
                }
            }
        }
    }
    Ok(())
}

/// The value of another program's property.
fn stored_prop<'a>(props: &'a PropList, name: &Name) -> Option<(String, &'a [u8])> {
    let kept = [false, true].map(|is_xml| dead::property(name, is_xml));
    kept.into_iter().find_map(|own| props.get(&own).map(|value| (own, value)))
}

/// What the nodes of one request have in common.
struct Tree<'a> {
    session: &'a Session<'a>,
    revision: Revnum,
    revprops: RevpropsSnapshot,
    live: Vec<Name>,
    wants_props: bool,
    wanted: &'a PropfindRequest,
    locks: Option<Vec<Lock>>,
    /// Whether properties of other programs are reported under their own names.
    foreign: bool,
}

fn tree(
    session: &Session<'_>,
    exchange: &mut Exchange,
    root: &Root,
    path: &FsPath,
    depth: Depth,
    wanted: &PropfindRequest,
) -> DavResult {
    session.must(Action::Read, Some(path))?;
    let node = root.node(path)?;
    let wants = |test: &dyn Fn(&Name) -> bool| match wanted {
        PropfindRequest::These(names) => names.iter().any(test),
        PropfindRequest::All => true,
        PropfindRequest::Names => false,
    };
    let is_public = matches!(session.resource, Resource::Public(_));
    let locks = if wants(&|name| name.name == "lockdiscovery") && is_public {
        let depth = if depth == Depth::Empty { Depth::Empty } else { Depth::Immediates };
        Some(session.repository.fs().locks(path, depth)?)
    } else {
        None
    };
    if let (Some([lock]), Depth::Empty) = (locks.as_deref(), depth) {
        // Clients of Subversion look for these beside the body.
        exchange.header(names::CREATION_DATE, &Timestamp(lock.created).to_string());
        exchange.header(names::LOCK_OWNER, &lock.owner);
    }
    let live = NODE_DAV
        .iter()
        .map(|name| Name::new(NS_DAV, name))
        .chain(NODE_SVN.iter().map(|name| Name::new(NS_SVN_DAV, name)))
        .chain(
            ["supportedlock", "lockdiscovery", "auto-version"].map(|name| Name::new(NS_DAV, name)),
        )
        .filter(|name| name.name != "auto-version" || session.autoversions())
        .collect();
    let wants_props = wants(&|name| !matches!(&*name.namespace, NS_DAV | NS_SVN_DAV))
        || matches!(wanted, PropfindRequest::All | PropfindRequest::Names);
    let revprops = root.fs().revprops_snapshot();
    let revision = entity::revision_of(root)?;
    let foreign = !session.is_svn_client();
    let mut tree = Tree { session, revision, revprops, live, wants_props, wanted, locks, foreign };
    begin(exchange);
    tree.node(exchange, &node)?;
    if depth == Depth::Immediates && node.kind() == NodeKind::Dir {
        let nodes = NodesWanted { props: tree.wants_props, ..NodesWanted::default() };
        let wanted = EntriesWanted { nodes: Some(nodes), committed: true };
        let entries = Entries::of(root, &node)?;
        entries.each(wanted, &session.access, &session.shared.server.cancel, |entry| {
            tree.node(exchange, &entry.node()?)
        })?;
    }
    propfind::end(exchange.out());
    Ok(())
}

impl Tree<'_> {
    /// Writes the response of one node.
    fn node(&mut self, exchange: &mut Exchange, node: &Node) -> DavResult {
        let own = if self.wants_props { Some(node.props()?) } else { None };
        let none = PropList::new();
        let mut response = Response::default();
        let live = std::mem::take(&mut self.live);
        let props = own.as_deref().unwrap_or(&none);
        let (wanted, props) = (self.wanted, (props, self.foreign));
        let filled = fill(&mut response, wanted, &live, props, |name| self.value(node, name));
        self.live = live;
        filled?;
        let mut href = self.session.address(&self.at(node.path()));
        if node.kind() == NodeKind::Dir && !href.ends_with('/') {
            href.push('/');
        }
        response.write(exchange.out(), &href);
        Ok(exchange.flush_if_large()?)
    }

    /// The resource beside the request's own with another path.
    fn at(&self, path: &FsPath) -> Resource {
        let path = path.to_owned();
        match &self.session.resource {
            Resource::RevisionRoot(rev, _) => Resource::RevisionRoot(*rev, path),
            Resource::BaselineCollection(rev, _) => Resource::BaselineCollection(*rev, path),
            Resource::Version(rev, _) => Resource::Version(*rev, path),
            _ => Resource::Public(path),
        }
    }

    fn value(&mut self, node: &Node, name: &Name) -> DavResult<Option<Value>> {
        let is_file = node.kind() == NodeKind::File;
        let text = |text: String| Some(Value::Text(text));
        let is_version = matches!(self.session.resource, Resource::Version(..));
        Ok(match (name.namespace.as_str(), name.name.as_str()) {
            (NS_DAV, "resourcetype") if is_file => text(String::new()),
            (NS_DAV, "resourcetype") => Some(Value::Xml("<D:collection/>".to_owned())),
            (NS_DAV, "getcontentlength") if is_file => text(node.length()?.to_string()),
            (NS_DAV, "getcontenttype") if is_file => text(entity::media_type(node)?),
            (NS_DAV, "getcontenttype") => text("text/html; charset=UTF-8".to_owned()),
            (NS_DAV, "getetag") => text(entity::etag(node)?),
            (NS_DAV, "version-name") => node.created_rev().map(|r| Value::Text(r.to_string())),
            (NS_DAV, "creationdate") => {
                let info = committed_info(&mut self.revprops, node)?;
                info.date().map(|date| Value::Text(date.to_owned()))
            }
            (NS_DAV, "getlastmodified") => {
                let info = committed_info(&mut self.revprops, node)?;
                info.date().and_then(entity::http_date).map(Value::Text)
            }
            (NS_DAV, "creator-displayname") => {
                let info = committed_info(&mut self.revprops, node)?;
                info.date_author.author().map(|author| Value::Text(propfind::author(author)))
            }
            (NS_DAV, "checked-in") if !is_version => {
                let rev = node.revision_here(self.revision);
                let version = Resource::Version(rev, node.path().to_owned());
                let slash = if node.path() == "/" { "/" } else { "" };
                Some(href(&format!("{}{slash}", self.session.address(&version))))
            }
            (NS_DAV, "version-controlled-configuration") if !is_version => {
                Some(href(&self.session.address(&Resource::Vcc)))
            }
            (NS_DAV, "supportedlock") => locks_that_there_are(self.session, is_file),
            (NS_DAV, "lockdiscovery") => Some(Value::Xml(self.active_lock(node))),
            (NS_DAV, "auto-version") if self.session.autoversions() && !is_version => {
                text("DAV:checkout-checkin".to_owned())
            }
            (NS_SVN_DAV, "baseline-relative-path") if !is_version => {
                text(to_relpath(node.path()).to_owned())
            }
            (NS_SVN_DAV, "md5-checksum") if is_file => text(node.md5()?.to_hex()),
            (NS_SVN_DAV, "sha1-checksum") if is_file => {
                node.sha1()?.map(|sum| Value::Text(sum.to_hex()))
            }
            (NS_SVN_DAV, "repository-uuid") => text(self.session.uuid.clone()),
            (NS_SVN_DAV, "deadprop-count") => {
                text(if node.has_props()? { "1" } else { "0" }.to_owned())
            }
            _ => None,
        })
    }

    fn active_lock(&self, node: &Node) -> String {
        let found = self.locks.iter().flatten().find(|lock| lock.path == node.path());
        let mut xml = Vec::new();
        if let Some(found) = found {
            let root = self.session.address(&Resource::Public(found.path.clone()));
            lock::active(&mut xml, &super::locks::active_lock(found, &root));
        }
        super::autoversioning::discovered(self.session, node.path(), &mut xml);
        String::from_utf8_lossy(&xml).into_owned()
    }
}

fn locks_that_there_are(session: &Session<'_>, is_file: bool) -> Option<Value> {
    let of = |scope: &str| {
        format!(
            "<D:lockentry><D:lockscope><D:{scope}/></D:lockscope><D:locktype><D:write/>\
             </D:locktype></D:lockentry>"
        )
    };
    Some(match (session.autoversions(), is_file) {
        (true, _) => Value::Xml(of("exclusive") + &of("shared")),
        (false, true) => Value::Xml(of("exclusive")),
        (false, false) => Value::Text(String::new()),
    })
}

/// The properties of something in a transaction.
fn in_transaction(
    session: &Session<'_>,
    exchange: &mut Exchange,
    wanted: &PropfindRequest,
) -> DavResult {
    let (open, path) = super::txn_resource::open(session)?;
    let locked = open.lock();
    let editor = locked.look()?;
    let mut response = Response::default();
    let (props, kind) = match &path {
        None => (editor.props().clone(), None),
        Some(path) => {
            let kind = editor.kind(path)?.ok_or_else(|| {
                Fail::from(SvnError::new(
                    ErrorCode::FS_NOT_FOUND,
                    format!("File not found: transaction '{}', path '{path}'", editor.name()),
                ))
            })?;
            (editor.node_props(path)?, Some(kind))
        }
    };
    let live = [Name::new(NS_DAV, "resourcetype")];
    fill(&mut response, wanted, &live, (&props, false), |name| {
        Ok(match (name.namespace.as_str(), name.name.as_str(), kind) {
            (NS_DAV, "resourcetype", Some(NodeKind::Dir)) => {
                Some(Value::Xml("<D:collection/>".to_owned()))
            }
            (NS_DAV, "resourcetype", _) => Some(Value::Text(String::new())),
            _ => None,
        })
    })?;
    begin(exchange);
    response.write(exchange.out(), &session.address(&session.resource));
    propfind::end(exchange.out());
    Ok(())
}
