//! The page of a graph: the picture, and the same in words.

use maud::{Markup, html};
use sapwood_core::exact::Exact as _;

use super::picture;
use super::{Event, Graph, Source, What};
use crate::Request;
use crate::fault::Result;
use crate::layout::{self, Subject, Tab};
use crate::reply::Reply;
use crate::{links, text, times, words};

pub(crate) fn page(request: &Request<'_>) -> Result<Reply> {
    let graph = Graph::read(request)?;
    let body = html! {
        h1 { (words::GRAPH) }
        p.actions {
            span { (words::GRAPH_HINT) }
            a.button rel="nofollow" href=(request.links.page("branches", &graph.found.path, graph.found.sticky)) {
                (words::BRANCHES)
            }
        }
        @if graph.events.is_empty() { (layout::note(words::NO_BRANCHES)) }
        @else {
            div.wide tabindex="0" role="region" aria-label=(words::GRAPH) { (picture::of(&graph)) }
            (table(request, &graph))
        }
        @if !graph.is_whole { (layout::note(words::GRAPH_ENDS)) }
        (pages(request, &graph))
    };
    Ok(layout::reply(request, words::GRAPH, Tab::Branches, &Subject::of(&graph.found), &body))
}

fn table(request: &Request<'_>, graph: &Graph) -> Markup {
    html! {
        div.wide { table.list {
            thead { tr {
                th scope="col" { (words::REVISION) } th scope="col" { (words::BRANCH) } th scope="col" { (words::EVENT) }
                th.author scope="col" { (words::AUTHOR) } th.age scope="col" { (words::AGE) }
            } }
            tbody { @for event in &graph.events {
                tr {
                    td { a.rev rel="nofollow" href=(request.links.revision(event.change.revision)) {
                        (words::revision(event.change.revision))
                    } }
                    td.name { (branch(request, graph, event)) }
                    td { (what(request, &event.what)) }
                    td.author { (layout::author(event.change.author.as_deref())) }
                    td.age { (times::ago(event.change.date.as_deref(), request.now)) }
                }
            } }
        } }
    }
}

fn branch(request: &Request<'_>, graph: &Graph, event: &Event) -> Markup {
    let Some(path) = graph.lanes.get(event.lane) else { return html! {} };
    html! {
        a rel="nofollow" href=(request.links.tree(path, Some(event.change.revision))) {
            bdi { (text::shown(path.name())) }
        }
    }
}

fn what(request: &Request<'_>, what: &What) -> Markup {
    let sources = match what {
        What::Changed => return html! { (words::LAST_CHANGE) },
        What::Copied(None) => return html! { (words::COPIED) },
        What::Copied(Some(source)) => std::slice::from_ref(source),
        What::Merged(sources) => sources.as_slice(),
    };
    let word =
        if matches!(what, What::Merged(_)) { words::MERGED_FROM } else { words::COPIED_FROM };
    html! {
        (word) " "
        @for (at, source) in sources.iter().enumerate() {
            @if at > 0 { ", " }
            (place(request, source))
        }
    }
}

fn place(request: &Request<'_>, source: &Source) -> Markup {
    html! {
        a rel="nofollow" href=(request.links.tree(&source.path, Some(source.last))) { bdi { (text::shown(&source.path)) } }
        " " (words::revisions(source.first, source.last))
    }
}

/// Links to older events, and to other branches.
fn pages(request: &Request<'_>, graph: &Graph) -> Markup {
    let path = &graph.found.path;
    let at = |page: u64| {
        let link = request.links.page("graph", path, graph.found.sticky);
        links::with_field(link, &format!("page={page}"))
    };
    html! {
        nav.pages {
            @if graph.page > 1 {
                a rel="nofollow prev" href=(at(graph.page.minus(1))) { (words::PREVIOUS_BRANCHES) }
            }
            @if graph.page < graph.pages {
                a rel="nofollow next" href=(at(graph.page.plus(1))) { (words::MORE_OF_BRANCHES) }
            }
            @if let Some(older) = graph.older {
                a rel="nofollow" href=(request.links.page("graph", path, Some(older))) { (words::EARLIER) }
            }
        }
    }
}
