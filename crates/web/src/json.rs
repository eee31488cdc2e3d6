//! The values of pages as JSON, below `/-/api/v1/`. `openapi.json` describes them.
//!
//! Invariant: they are made by the functions that the pages are made by, so that rules and limits are the same.

use sapwood_core::NodeKind;
use sapwood_core::exact::clamped;
use serde_json::{Map, Value, json};

use crate::Request;
use crate::address::Kind;
use crate::blame::{self, Lines};
use crate::branches::{Branch, Branches, Count};
use crate::budget::{self, Budget};
use crate::dir::Listing;
use crate::fault::{Fault, Result};
use crate::graph::{Event, Graph, Source, What};
use crate::history::History;
use crate::locks::{Locks, reason, since};
use crate::reply::Reply;
use crate::revision::RevisionDetails;
use crate::search::{ChangeHit, Hits, PropertyHit, TextHit};
use crate::view::{Change, FoundNode};
use crate::{compare, file, revision};

const DESCRIPTION: &str = include_str!("openapi.json");

pub(crate) fn reply(request: &Request<'_>) -> Result<Reply> {
    let value = match request.address.kind() {
        Kind::Description => return Ok(as_json(DESCRIPTION.to_owned())),
        Kind::Tree => tree(request)?,
        Kind::Log => log(request)?,
        Kind::Blame => return lines(request),
        Kind::Revision(revision) => of_revision(&RevisionDetails::read(request, revision)?),
        Kind::Locks => locks(&Locks::read(request)?),
        Kind::Branches => branches(&Branches::read(request)?),
        Kind::Differences(revision) => revision::differences(request, revision)?,
        Kind::Compare => compare::value(request)?,
        Kind::Graph => graph(&Graph::read(request)?),
        Kind::Search => found(&Hits::read(request)?),
        Kind::Home
        | Kind::Feed
        | Kind::SearchFeed
        | Kind::Archive(_)
        | Kind::Media
        | Kind::Style
        | Kind::SignIn => {
            return Err(Fault::Missing);
        }
    };
    Ok(as_json(value.to_string()))
}

pub(crate) fn as_json(body: String) -> Reply {
    Reply::of("application/json", body)
}

fn change(change: &Change) -> Value {
    json!({
        "revision": change.revision.0,
        "author": change.author,
        "date": change.date,
        "message": change.message,
    })
}

fn properties<'p>(all: impl Iterator<Item = (&'p str, String)>) -> Value {
    all.take(budget::PROPERTIES)
        .map(|(name, value)| (name.to_owned(), Value::from(value)))
        .collect::<Map<_, _>>()
        .into()
}

fn tree(request: &Request<'_>) -> Result<Value> {
    let found = request.view.at(request.address)?;
    let last = request.view.change_of(&found.node)?;
    let props = found.node.props()?;
    let props = properties(props.iter().map(|(name, value)| (name, file::value_text(value))));
    let (path, revision) = (found.path.as_str(), found.revision.0);
    if found.node.kind() == NodeKind::File {
        return Ok(json!({
            "kind": "file", "path": path, "revision": revision, "size": found.node.length()?,
            "raw": request.links.raw(&found.path, found.revision), "last_change": change(&last),
            "properties": props,
        }));
    }
    let listing = Listing::read(request, &found, &Budget::new())?;
    let entry = |row: &crate::dir::Row| {
        json!({
            "name": row.name.name, "kind": if row.name.is_dir { "directory" } else { "file" },
            "size": row.size, "last_change": change(&row.change),
        })
    };
    Ok(json!({
        "kind": "directory", "path": path, "revision": revision, "last_change": change(&last),
        "properties": props, "page": listing.page, "pages": listing.pages, "count": listing.all,
        "first": listing.first, "entries": listing.rows.iter().map(entry).collect::<Vec<_>>(),
    }))
}

fn log(request: &Request<'_>) -> Result<Value> {
    let found = request.view.at(request.address)?;
    let history = History::read(request, &found)?;
    let next = history.next.as_ref();
    Ok(json!({
        "path": found.path.as_str(), "revision": found.revision.0,
        "changes": history.changes.iter().map(change).collect::<Vec<_>>(),
        "next": next.map(|(path, revision)| json!({ "path": path.as_str(), "revision": revision.0 })),
    }))
}

fn of_revision(seen: &RevisionDetails) -> Value {
    let path = |changed: &crate::revision::ChangedPath| {
        let source = changed.copy_from.as_ref();
        json!({
            "path": changed.path.as_str(), "action": changed.action.to_string(),
            "kind": if changed.is_dir { "directory" } else { "file" },
            "copy_from": source.map(|(path, revision)| json!({ "path": path.as_str(), "revision": revision.0 })),
        })
    };
    let props = seen.props.iter().map(|(name, value)| (name.as_str(), value.clone()));
    let mut value = change(&seen.change);
    if let Some(map) = value.as_object_mut() {
        map.insert("paths".to_owned(), seen.paths.iter().map(path).collect());
        map.insert("more_paths".to_owned(), seen.more.into());
        map.insert("properties".to_owned(), properties(props));
    }
    value
}

fn lines(request: &Request<'_>) -> Result<Reply> {
    let found: FoundNode = request.view.at(request.address)?;
    if found.node.kind() != NodeKind::File {
        return Err(Fault::Missing);
    }
    let all = blame::lines(request, &found)?;
    let (why, walk) = match &all {
        Lines::Binary => (Some("binary"), None),
        Lines::TooLarge => (Some("too large"), None),
        Lines::Of(walk) => (None, Some(walk)),
    };
    let origin = |origin: &Option<blame::Origin>| match origin {
        Some((revision, path)) => json!({ "revision": revision.0, "path": path.as_str() }),
        None => Value::Null,
    };
    let most = clamped(budget::LINES).saturating_mul(5);
    let lines: Vec<Value> =
        walk.iter().flat_map(|walk| walk.origins.iter()).take(most).map(origin).collect();
    let is_whole = walk.is_some_and(|walk| walk.is_whole && walk.origins.len() <= most);
    let value = json!({
        "path": found.path.as_str(), "revision": found.revision.0, "refused": why,
        "complete": is_whole, "lines": lines,
    });
    Ok(all.kept_by_browsers(as_json(value.to_string())))
}

fn found(hits: &Hits) -> Value {
    let path = |one: &sapwood_search::PathCandidate| json!({ "path": one.path.as_str(), "kind": if one.is_dir { "directory" } else { "file" } });
    let text = |hit: &TextHit| {
        let line = |(number, line): &(u64, String)| json!({ "number": number, "text": line });
        json!({
            "path": hit.path.as_str(), "lines": hit.lines.iter().map(line).collect::<Vec<_>>(),
        })
    };
    let property = |hit: &PropertyHit| {
        json!({
            "path": hit.path.as_str(), "kind": if hit.is_dir { "directory" } else { "file" }, "lines": hit.lines,
        })
    };
    let changed = |hit: &ChangeHit| {
        let line = |(is_added, line): &(bool, String)| json!({ "kind": if *is_added { "added" } else { "deleted" }, "text": line });
        json!({
            "path": hit.path.as_str(), "revision": hit.change.revision.0,
            "lines": hit.lines.iter().map(line).collect::<Vec<_>>(),
        })
    };
    json!({
        "index": hits.complete_to.map(|revision| revision.0), "complete": hits.is_whole,
        "history": hits.history.map(|revision| revision.0),
        "properties": hits.properties.iter().map(property).collect::<Vec<_>>(),
        "changes": hits.changes.iter().map(changed).collect::<Vec<_>>(),
        "paths": hits.paths.iter().map(path).collect::<Vec<_>>(),
        "revisions": hits.revisions.iter().map(change).collect::<Vec<_>>(),
        "texts": hits.texts.iter().map(text).collect::<Vec<_>>(),
        "next": hits.next,
    })
}

fn branches(read: &Branches) -> Value {
    let count = |count: Option<Count>| {
        count.map(|count| json!({ "revisions": count.revisions, "least": count.is_least }))
    };
    let one = |branch: &Branch| {
        let from = branch.from.as_ref();
        json!({
            "path": branch.path.as_str(), "last_change": change(&branch.change),
            "from": from.map(|(path, revision)| json!({ "path": path.as_str(), "revision": revision.0 })),
            "ahead": count(branch.ahead), "behind": count(branch.behind),
        })
    };
    json!({
        "path": read.found.path.as_str(), "revision": read.found.revision.0, "more": read.are_more,
        "branches": read.branches.iter().map(one).collect::<Vec<_>>(),
        "tags": read.tags.iter().map(one).collect::<Vec<_>>(),
    })
}

fn graph(read: &Graph) -> Value {
    let source = |source: &Source| json!({ "path": source.path.as_str(), "first": source.first.0, "last": source.last.0 });
    let event = |event: &Event| {
        let (action, sources) = match &event.what {
            What::Copied(from) => ("copied", from.iter().map(source).collect()),
            What::Merged(from) => ("merged", from.iter().map(source).collect()),
            What::Changed => ("changed", Vec::new()),
        };
        json!({
            "revision": event.change.revision.0, "author": event.change.author, "date": event.change.date,
            "branch": read.lanes.get(event.lane).map(|path| path.as_str()), "action": action, "from": sources,
        })
    };
    json!({
        "path": read.found.path.as_str(), "revision": read.found.revision.0,
        "branches": read.lanes.iter().map(|path| path.as_str()).collect::<Vec<_>>(),
        "events": read.events.iter().map(event).collect::<Vec<_>>(),
        "older": read.older.map(|revision| revision.0), "page": read.page, "pages": read.pages,
        "complete": read.is_whole,
    })
}

fn locks(read: &Locks) -> Value {
    let lock = |lock: &sapwood_core::Lock| {
        json!({
            "path": lock.path.as_str(), "owner": lock.owner, "reason": reason(lock), "since": since(lock),
        })
    };
    json!({
        "path": read.found.path.as_str(), "more": read.are_more,
        "locks": read.locks.iter().map(lock).collect::<Vec<_>>(),
    })
}
