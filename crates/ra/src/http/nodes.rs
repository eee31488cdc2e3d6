//! Single nodes: what they are, their properties and entries.

use sapwood_core::date::Timestamp;
use sapwood_core::paths::RelPath;
use sapwood_core::{Depth, ErrorCode, NodeKind, PropList, Revnum, SvnError, SvnResult, uri};
use sapwood_wire_dav::multistatus::Resource;
use sapwood_wire_dav::propfind::{Name, PropfindRequest};
use sapwood_wire_dav::report::answer;
use sapwood_wire_dav::report::request::{self, ListFields};
use sapwood_wire_dav::{NS_DAV, NS_SVN_DAV};

use super::client::{Call, expect_status};
use super::endpoints::{path_of, propfind, propfind_call, read_propfind};
use super::locks::locks_call;
use super::request_queue::{Order, RequestQueue};
use super::session::HttpSession;
use crate::session::{
    Dirent, DirentFields, EntryReceiver, FetchedDir, HeadNode, InheritedProps, ListRequest, Nodes,
};

/// The properties from which the wanted fields are made.
fn wanted(fields: DirentFields) -> PropfindRequest {
    let names = [
        // What a node is decides whether the others mean anything.
        (true, NS_DAV, "resourcetype"),
        (fields.size, NS_DAV, "getcontentlength"),
        (fields.has_props, NS_SVN_DAV, "deadprop-count"),
        (fields.created_rev, NS_DAV, "version-name"),
        (fields.time, NS_DAV, "creationdate"),
        (fields.last_author, NS_DAV, "creator-displayname"),
    ];
    let names = names.into_iter().filter(|(on, _, _)| *on);
    PropfindRequest::These(names.map(|(_, namespace, name)| Name::new(namespace, name)).collect())
}

fn dirent(resource: &Resource) -> SvnResult<Dirent> {
    let text = |namespace, name| resource.prop(namespace, name).map(|prop| prop.trimmed());
    let kind = resource.kind();
    let size = text(NS_DAV, "getcontentlength").and_then(|text| text.parse().ok());
    let time = match text(NS_DAV, "creationdate") {
        None | Some("") => None,
        Some(date) => Some(Timestamp::parse(date.as_bytes())?),
    };
    Ok(Dirent {
        kind,
        size: size.filter(|_| kind != Some(NodeKind::Dir)),
        has_props: text(NS_SVN_DAV, "deadprop-count").is_some_and(|count| count != "0"),
        created_rev: text(NS_DAV, "version-name")
            .and_then(|text| Revnum::parse(text.as_bytes()))
            .unwrap_or(Revnum::ZERO),
        time,
        last_author: resource
            .prop(NS_DAV, "creator-displayname")
            .map(|prop| prop.text.clone())
            .filter(|author| !author.is_empty()),
    })
}

/// The only node of a reply; `None` when the server says that there is none.
fn first(found: SvnResult<Vec<Resource>>) -> SvnResult<Option<Resource>> {
    match found {
        Ok(found) => Ok(found.into_iter().next()),
        Err(error) if error.is_no_node() => Ok(None),
        Err(error) => Err(error),
    }
}

impl HttpSession {
    /// Where to ask about a node: of the youngest revision at its own URL, which saves a question.
    fn place(&self, path: &RelPath, revision: Option<Revnum>) -> SvnResult<String> {
        match revision {
            None => Ok(self.public(path)),
            Some(_) => Ok(self.stable(path, revision)?.0),
        }
    }

    /// What is known of a node; `None` when there is none.
    fn look(
        &self,
        path: &RelPath,
        revision: Option<Revnum>,
        wanted: &PropfindRequest,
    ) -> SvnResult<Option<Resource>> {
        let target = self.place(path, revision)?;
        first(propfind(&self.client, &target, "0", wanted, None))
    }

    /// The properties of the node at an address that the server sent.
    pub(super) fn props_at(&self, target: &str) -> SvnResult<(Option<NodeKind>, PropList)> {
        let found = propfind(&self.client, target, "0", &PropfindRequest::All, None)?;
        match found.first() {
            Some(resource) => Ok((resource.kind(), resource.properties()?)),
            None => Ok((None, PropList::new())),
        }
    }
}

impl Nodes for HttpSession {
    fn check_path(&self, path: &RelPath, revision: Option<Revnum>) -> SvnResult<Option<NodeKind>> {
        let wanted = wanted(DirentFields::default());
        Ok(self.look(path, revision, &wanted)?.and_then(|resource| resource.kind()))
    }

    fn stat(&self, path: &RelPath, revision: Option<Revnum>) -> SvnResult<Option<Dirent>> {
        let found = self.look(path, revision, &wanted(DirentFields::ALL))?;
        found.map(|resource| dirent(&resource)).transpose()
    }

    /// The youngest revision, a node in it and its lock: the last two are asked for together.
    fn stat_head(&self, path: &RelPath) -> SvnResult<HeadNode> {
        let (target, revision) = self.stable(path, None)?;
        let public = self.public(path);
        let calls = [
            propfind_call(&target, "0", &wanted(DirentFields::ALL)),
            locks_call(&public, Depth::Empty),
        ];
        let mut replies = Vec::new();
        let mut take = |(): (), _: &Call<'static>, reply| {
            replies.push(reply);
            Ok(())
        };
        let client = &self.client;
        let mut queue = RequestQueue::new(Order::Free);
        let asked = calls
            .into_iter()
            .try_for_each(|call| queue.push(client, call.into_owned(), (), &mut take))
            .and_then(|()| queue.finish(client, &mut take));
        if let Err(error) = asked {
            queue.drain(client);
            return Err(error);
        }
        queue.end(client)?;
        let missing = || SvnError::internal("a request has no reply");
        let mut replies = replies.into_iter();
        let found = replies.next().ok_or_else(missing)?;
        let found = first(read_propfind(found, &target))?;
        let dirent = found.map(|resource| dirent(&resource)).transpose()?;
        let locks = replies.next().ok_or_else(missing)?;
        let lock = self.read_locks(path, Depth::Empty, expect_status(locks, &public, &[200]));
        let own = self.in_repository(path).to_fspath();
        let lock = lock.map(|locks| locks.into_iter().find(|lock| own == *lock.path));
        Ok(HeadNode { revision, dirent, lock })
    }

    fn get_dir(
        &self,
        path: &RelPath,
        revision: Option<Revnum>,
        entries: Option<DirentFields>,
        want_props: bool,
    ) -> SvnResult<FetchedDir> {
        let (target, revision) = self.stable(path, revision)?;
        let mut dir = FetchedDir { revision, ..FetchedDir::default() };
        let not_a_directory =
            || SvnError::new(ErrorCode::FS_NOT_DIRECTORY, "Can't get entries of non-directory");
        if let Some(fields) = entries {
            let own = path_of(&target);
            for resource in propfind(&self.client, &target, "1", &wanted(fields), None)? {
                let place = path_of(&resource.href);
                if place == own {
                    if resource.kind() != Some(NodeKind::Dir) {
                        return Err(not_a_directory());
                    }
                    continue;
                }
                let name = place.rsplit('/').next().unwrap_or("");
                let name = uri::decode_utf8(name)
                    .filter(|name| {
                        !name.is_empty() && !name.contains('/') && name != "." && name != ".."
                    })
                    .ok_or_else(|| {
                        SvnError::new(
                            ErrorCode::RA_DAV_MALFORMED_DATA,
                            format!("Invalid directory entry name '{name}'"),
                        )
                    })?;
                let mut entry = dirent(&resource)?;
                if !fields.kind {
                    entry.kind = None;
                }
                dir.entries.push((name, entry));
            }
        }
        if want_props || entries.is_none() {
            let (kind, props) = self.props_at(&target)?;
            if kind != Some(NodeKind::Dir) {
                return Err(not_a_directory());
            }
            if want_props {
                dir.props = props;
            }
        }
        Ok(dir)
    }

    fn list(&self, request: &ListRequest<'_>, receiver: EntryReceiver<'_>) -> SvnResult<()> {
        if !self.places.knows("list") {
            return Err(SvnError::new(ErrorCode::UNSUPPORTED_FEATURE, ""));
        }
        let (target, revision) = self.stable(RelPath::ROOT, request.revision)?;
        let fields = request.fields;
        let patterns = request.patterns;
        let body = request::List {
            path: request.path.to_string(),
            revision: Some(revision),
            depth: request.depth,
            patterns: patterns.map(|p| p.iter().map(|pattern| (*pattern).to_owned()).collect()),
            fields: ListFields {
                kind: fields.kind,
                size: fields.size,
                has_props: fields.has_props,
                created_rev: fields.created_rev,
                date: fields.time,
                author: fields.last_author,
            },
        };
        let call = Call::new("REPORT", &target)
            .with("accept-encoding", self.client.packings())
            .xml(body.write());
        self.client
            .children(&call, &[200], |child| {
                let Some(item) = answer::list_item(&child)? else { return Ok(()) };
                let is_dir = item.kind == Some(sapwood_core::NodeKind::Dir);
                let dirent = Dirent {
                    kind: item.kind,
                    size: item.size.filter(|_| !is_dir),
                    has_props: item.has_props,
                    created_rev: item.created_rev.unwrap_or(Revnum::ZERO),
                    time: item.date,
                    last_author: item.author,
                };
                receiver(&item.path, &dirent)
            })
            .map(drop)
    }

    fn inherited_props(
        &self,
        path: &RelPath,
        revision: Option<Revnum>,
    ) -> SvnResult<InheritedProps> {
        if !self.places.knows("inherited-props") {
            return Err(SvnError::new(ErrorCode::RA_NOT_IMPLEMENTED, ""));
        }
        let (target, revision) = self.stable(RelPath::ROOT, revision)?;
        let body = request::InheritedProps { path: path.to_string(), revision: Some(revision) };
        let call = Call::new("REPORT", &target).xml(body.write());
        let mut found = InheritedProps::new();
        self.client.children(&call, &[200], |child| {
            found.extend(answer::inherited(&child)?);
            Ok(())
        })?;
        Ok(found)
    }
}
