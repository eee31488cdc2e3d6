//! Reports about nodes: listings, locks, mergeinfo, inherited properties.

use sapwood_core::FsPath;
use sapwood_core::date::Timestamp;
use sapwood_core::path::skip_ancestor;
use sapwood_core::paths::FsPathBuf;
use sapwood_core::{Depth, DirentFields, Inherit, Revnum, SvnResult};
use sapwood_repos::{
    ListEntry, ListReceiver, ListRequest, MergeinfoRequest, PathAuthorizer as _, Protocol,
    inherited_props,
};
use sapwood_wire_dav::report::request::{self, ListFields};
use sapwood_wire_dav::report::{Sink as _, reply};
use sapwood_wire_dav::xml::Element;

use super::super::exchange::Exchange;
use super::super::fail::{DavResult, Fail};
use super::super::session::Session;
use super::{full_path, readable_path, revision_of};
use crate::common::operation_log::Operation;

/// What is sent for a missing date where the protocol requires one.
const EPOCH: &str = "1970-01-01T00:00:00.000000Z";

/// Writes the entries of a listing.
struct ListWriter<'e> {
    exchange: &'e mut Exchange,
    fields: ListFields,
}

impl ListWriter<'_> {
    fn write(&self, entry: &ListEntry<'_>, out: &mut Vec<u8>) {
        let dirent = entry.dirent;
        reply::list_item(
            out,
            &reply::ListItem {
                path: entry.path,
                kind: entry.kind,
                size: dirent.and_then(|d| d.size),
                has_props: dirent.is_some_and(|d| d.has_props),
                created_rev: dirent.map_or(Revnum::ZERO, |d| d.committed.revision),
                date: dirent.and_then(|d| d.committed.date()).unwrap_or(EPOCH),
                author: dirent.and_then(|d| d.committed.author()),
            },
            self.fields,
        );
    }
}

impl ListReceiver for ListWriter<'_> {
    fn entry(&mut self, entry: &ListEntry<'_>) -> SvnResult<()> {
        let mut out = std::mem::take(self.exchange.out());
        self.write(entry, &mut out);
        *self.exchange.out() = out;
        self.exchange.flush_if_large()
    }

    fn form(&self) -> Option<(Protocol, DirentFields)> {
        let fields = dirent_fields(self.fields);
        (!fields.time && !fields.last_author).then_some((Protocol::Dav, fields))
    }

    fn encode(&self, entry: &ListEntry<'_>, out: &mut Vec<u8>) -> SvnResult<()> {
        self.write(entry, out);
        Ok(())
    }

    fn encoded(&mut self, entries: &[u8]) -> SvnResult<()> {
        self.exchange.out().extend_from_slice(entries);
        self.exchange.flush_if_large()
    }
}

/// The same, in the repository's form.
const fn dirent_fields(fields: ListFields) -> DirentFields {
    let ListFields { kind, size, has_props, created_rev, date, author } = fields;
    DirentFields { kind, size, has_props, created_rev, time: date, last_author: author }
}

pub(super) fn list(session: &Session<'_>, root: &Element, exchange: &mut Exchange) -> DavResult {
    let asked = request::List::read(root)?;
    let path = readable_path(session, &asked.path)?;
    let rev = match asked.revision.or(revision_of(&session.resource)) {
        Some(rev) => rev,
        None => session.youngest()?,
    };
    let patterns: Option<Vec<&str>> =
        asked.patterns.as_ref().map(|p| p.iter().map(String::as_str).collect());
    session.log_command(&Operation::List {
        path: &path,
        revision: rev,
        depth: asked.depth,
        patterns: patterns.as_deref(),
    });
    let tree = session.repository.fs().revision_root(rev)?;
    let fields = asked.fields;
    let request = ListRequest {
        path: &path,
        revision: Some(rev),
        patterns: patterns.as_deref(),
        depth: asked.depth,
        fields: dirent_fields(fields),
    };
    reply::begin(exchange.out(), "list-report");
    let mut writer = ListWriter { exchange, fields };
    sapwood_repos::list(
        &tree,
        &request,
        &session.access,
        &session.shared.server.cancel,
        &mut writer,
    )?;
    reply::end(exchange.out(), "list-report");
    Ok(())
}

pub(super) fn locks(session: &Session<'_>, root: &Element, exchange: &mut Exchange) -> DavResult {
    let depth = request::locks_depth(root);
    if !matches!(depth, Depth::Empty | Depth::Files | Depth::Immediates | Depth::Infinity) {
        return Err(Fail::status(400, "Invalid 'depth' specified in get-locks-report request."));
    }
    let path = full_path(session, "")?;
    session.log_command(&Operation::GetLocks { path: &path, depth });
    reply::begin(exchange.out(), "get-locks-report");
    for lock in session.repository.fs().locks(&path, depth)? {
        if !session.access.readable(&lock.path)? {
            continue;
        }
        let created = Timestamp(lock.created).to_string();
        let expires = lock.expires.map(|t| Timestamp(t).to_string());
        reply::lock(
            exchange.out(),
            &reply::Lock {
                path: &lock.path,
                token: &lock.token,
                created: &created,
                expires: expires.as_deref(),
                owner: &lock.owner,
                comment: lock.comment.as_deref(),
            },
        );
        exchange.flush_if_large()?;
    }
    reply::end(exchange.out(), "get-locks-report");
    Ok(())
}

pub(super) fn mergeinfo(
    session: &Session<'_>,
    root: &Element,
    exchange: &mut Exchange,
) -> DavResult {
    let asked = request::Mergeinfo::read(root)?;
    let inherit = asked.inherit.as_deref().and_then(|word| Inherit::from_word(word.as_bytes()));
    let inherit = inherit.unwrap_or(Inherit::Explicit);
    let base = full_path(session, "")?;
    let paths = asked.paths.iter().map(|p| full_path(session, p)).collect::<Result<Vec<_>, _>>()?;
    let paths: Vec<&FsPath> = paths.iter().map(FsPathBuf::as_path).collect();
    session.log_command(&Operation::GetMergeinfo {
        paths: &paths,
        inherit: inherit.word(),
        descendants: asked.descendants,
    });
    reply::begin(exchange.out(), "mergeinfo-report");
    sapwood_repos::mergeinfo_catalog(
        &session.repository,
        &MergeinfoRequest {
            paths: &paths,
            revision: asked.revision,
            inherit,
            include_descendants: asked.descendants,
        },
        &session.access,
        &session.shared.server.cancel,
        &mut |path, mergeinfo| {
            let relative = skip_ancestor(&base, path).unwrap_or(path);
            reply::mergeinfo(exchange.out(), relative, &mergeinfo.to_value());
            exchange.flush_if_large()
        },
    )?;
    reply::end(exchange.out(), "mergeinfo-report");
    Ok(())
}

pub(super) fn inherited(
    session: &Session<'_>,
    root: &Element,
    exchange: &mut Exchange,
) -> DavResult {
    let asked = request::InheritedProps::read(root)?;
    let path = readable_path(session, &asked.path)?;
    let rev = match asked.revision.or(revision_of(&session.resource)) {
        Some(rev) => rev,
        None => session.youngest()?,
    };
    session.log_command(&Operation::GetInheritedProps { path: &path, revision: rev });
    let tree = session.repository.fs().revision_root(rev)?;
    let found =
        inherited_props(&tree, &path, None, &session.access, &session.shared.server.cancel)?;
    reply::begin(exchange.out(), "inherited-props-report");
    for (path, props) in &found {
        reply::inherited(exchange.out(), path, props);
        exchange.flush_if_large()?;
    }
    reply::end(exchange.out(), "inherited-props-report");
    Ok(())
}
