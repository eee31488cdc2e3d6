//! The newest changes of a path, or those that a search finds, as an Atom feed.

use maud::{Markup, PreEscaped, html};
use sapwood_core::FsPath;

use crate::Request;
use crate::address::Section;
use crate::fault::Result;
use crate::reply::Reply;
use crate::search::Hits;
use crate::view::Change;
use crate::{text, words};

/// Changes in a feed.
const ENTRIES: u64 = 30;

/// What a feed is of.
struct Feed<'f> {
    title: &'f str,
    /// Its own address, and that of the page for people.
    own: String,
    page: String,
    /// The newest first.
    changes: Vec<Change>,
}

pub(crate) fn reply(request: &Request<'_>) -> Result<Reply> {
    let found = request.view.at(request.address)?;
    let path: &FsPath = &found.path;
    Ok(atom(
        request,
        &Feed {
            title: path.as_str(),
            own: request.links.feed(path),
            page: request.links.log(path, None),
            changes: request.view.log(path, found.revision, ENTRIES)?,
        },
    ))
}

/// The revisions that a search finds: by their lines, if it is one in these, or else by their messages and authors.
pub(crate) fn of_search(request: &Request<'_>) -> Result<Reply> {
    let query = &request.address.query;
    let wanted = query.words.as_deref().unwrap_or("");
    let section = match query.section {
        Section::Changes => Section::Changes,
        _ => Section::Revisions,
    };
    let hits = Hits::in_section(request, section)?;
    let mut changes = hits.revisions;
    changes.extend(hits.changes.into_iter().map(|hit| hit.change));
    changes.dedup_by_key(|change| change.revision);
    Ok(atom(
        request,
        &Feed {
            title: wanted,
            own: request.links.search_feed(wanted, section),
            page: request.links.search(wanted, section, None),
            changes,
        },
    ))
}

fn atom(request: &Request<'_>, feed: &Feed<'_>) -> Reply {
    let links = request.links;
    // A feed has a date; that of the first revision ever, where there is none.
    let date = |date: Option<&str>| {
        let known = date.filter(|date| crate::times::seconds(date).is_some());
        known.unwrap_or("1970-01-01T00:00:00Z").to_owned()
    };
    let newest = feed.changes.first().and_then(|change| change.date.as_deref());
    let body: Markup = html! {
        (PreEscaped("<?xml version=\"1.0\" encoding=\"utf-8\"?>\n"))
        feed xmlns="http://www.w3.org/2005/Atom" {
            title { (text::shown(request.name)) ": " (text::shown(feed.title)) }
            id { (links.absolute(&feed.own)) }
            updated { (date(newest)) }
            link rel="alternate" href=(links.absolute(&feed.page)) {}
            @for change in &feed.changes {
                entry {
                    title { (words::revision(change.revision)) ": " (text::first_line(change.message.as_deref().unwrap_or(words::NO_MESSAGE))) }
                    id { (links.absolute(&links.revision(change.revision))) }
                    link rel="alternate" href=(links.absolute(&links.revision(change.revision))) {}
                    updated { (date(change.date.as_deref())) }
                    author { name { (change.author.as_deref().unwrap_or(words::NO_AUTHOR)) } }
                    content type="text" { (text::cut(change.message.clone().unwrap_or_else(String::new), crate::budget::VALUE).0) }
                }
            }
        }
    };
    Reply::of("application/atom+xml; charset=utf-8", body.into_string())
}
