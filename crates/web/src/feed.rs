//! The newest changes of a path as an Atom feed.

use maud::{Markup, PreEscaped, html};
use sapwood_core::FsPath;

use crate::Request;
use crate::fault::Result;
use crate::reply::Reply;
use crate::{text, words};

/// Changes in a feed.
const ENTRIES: u64 = 30;

pub(crate) fn reply(request: &Request<'_>) -> Result<Reply> {
    let found = request.view.at(request.address)?;
    let changes = request.view.log(&found.path, found.revision, ENTRIES)?;
    let links = request.links;
    let path: &FsPath = &found.path;
    // A feed has a date; that of the first revision ever, where there is none.
    let date = |date: Option<&str>| {
        let known = date.filter(|date| crate::times::seconds(date).is_some());
        known.unwrap_or("1970-01-01T00:00:00Z").to_owned()
    };
    let newest = changes.first().and_then(|change| change.date.as_deref());
    let body: Markup = html! {
        (PreEscaped("<?xml version=\"1.0\" encoding=\"utf-8\"?>\n"))
        feed xmlns="http://www.w3.org/2005/Atom" {
            title { (text::shown(request.name)) ": " (text::shown(path)) }
            id { (links.absolute(&links.feed(path))) }
            updated { (date(newest)) }
            link rel="alternate" href=(links.absolute(&links.log(path, None))) {}
            @for change in &changes {
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
    Ok(Reply::of("application/atom+xml; charset=utf-8", body.into_string()))
}
