//! The page of a search: a form, and what was found.

use maud::{Markup, html};
use sapwood_core::FsPath;

use crate::Request;
use crate::address::Section;
use crate::fault::{Fault, Result};
use crate::layout::{self, Subject, Tab};
use crate::reply::Reply;
use crate::search::{ChangeHit, Hits, PropertyHit, TextHit};
use crate::view::Change;
use crate::{text, times, words};

pub(crate) fn page(request: &Request<'_>) -> Result<Reply> {
    let query = &request.address.query;
    let asked = query.words.as_deref().unwrap_or("");
    let (hits, wrong) = match request.index {
        None if request.has_search => (None, Some(words::INDEX_GROWS)),
        None => (None, Some(words::NO_INDEX)),
        Some(_) if asked.trim().is_empty() => (None, None),
        Some(_) => match Hits::read(request) {
            // What was typed means nothing: the form says why, and has it.
            Err(Fault::Bad(why)) => (None, Some(why)),
            hits => (Some(hits?), None),
        },
    };
    let body = html! {
        h1 { (words::SEARCH) }
        (form(request, asked))
        @if let Some(wrong) = wrong { (layout::note(wrong)) }
        @if let Some(hits) = &hits { (found(request, asked, hits)) }
    };
    let subject = Subject {
        path: FsPath::ROOT,
        is_file: false,
        revision: request.view.youngest()?,
        sticky: None,
    };
    Ok(layout::reply(request, words::SEARCH, Tab::Search, &subject, &body))
}

fn form(request: &Request<'_>, asked: &str) -> Markup {
    let chosen = request.address.query.section;
    let sections = [
        (Section::All, words::EVERYWHERE),
        (Section::Paths, words::PATHS),
        (Section::Revisions, words::REVISIONS),
        (Section::Texts, words::TEXTS),
        (Section::Properties, words::PROPERTIES),
        (Section::Changes, words::CHANGES),
    ];
    html! {
        form.search role="search" action=(request.links.search_form()) {
            input name="q" type="search" aria-label=(words::SEARCH) value=(text::shown(asked))
                maxlength="1000" autofocus[asked.is_empty()];
            select name="in" aria-label=(words::SEARCH) {
                @for (section, word) in sections {
                    option value=(section.as_str()) selected[section == chosen] { (word) }
                }
            }
            button { (words::GO) }
        }
        p.dim { (words::SEARCH_HINT) }
    }
}

fn found(request: &Request<'_>, asked: &str, hits: &Hits) -> Markup {
    let section = request.address.query.section;
    let more = |of: Section, is_full: bool| {
        let is_more = section == Section::All && is_full;
        html! {
            @if is_more {
                p { a rel="nofollow" href=(request.links.search(asked, of, None)) { (words::MORE_HITS) } }
            }
        }
    };
    let few = crate::budget::FEW_HITS;
    let has_feed = !matches!(section, Section::Paths | Section::Texts | Section::Properties);
    html! {
        @if has_feed {
            div.actions {
                a.feed href=(request.links.search_feed(asked, section)) rel="nofollow" { (words::FEED) }
            }
        }
        @if hits.complete_to.is_none() { (layout::note(words::INDEX_GROWS)) }
        @if hits.is_empty() { (layout::note(words::NOTHING_FOUND)) }
        @if !hits.paths.is_empty() {
            h2 { (words::PATHS) }
            ul.hits { @for one in &hits.paths {
                li { a href=(request.links.tree(&one.path, None)) {
                    bdi { (text::shown(one.path.as_str())) } @if one.is_dir { "/" }
                } }
            } }
            (more(Section::Paths, hits.paths.len() == few))
        }
        @if !hits.revisions.is_empty() {
            h2 { (words::REVISIONS) }
            ol.log { @for change in &hits.revisions { (revision(request, change)) } }
            (more(Section::Revisions, hits.revisions.len() == few))
        }
        @if !hits.texts.is_empty() {
            h2 { (words::TEXTS) }
            @for hit in &hits.texts { (file(request, hit)) }
            (more(Section::Texts, hits.texts.len() == few))
        }
        @if !hits.properties.is_empty() {
            h2 { (words::PROPERTIES) }
            @for hit in &hits.properties { (properties(request, hit)) }
            (more(Section::Properties, hits.properties.len() == few))
        }
        @if !hits.changes.is_empty() {
            h2 { (words::CHANGES) }
            @for hit in &hits.changes { (changes(request, hit)) }
            (more(Section::Changes, hits.changes.len() == few))
        }
        @if section == Section::Changes { (layout::note(&words::history_from(hits.history))) }
        @if !hits.is_whole { (layout::note(words::SEARCH_ENDS)) }
        @if let Some(next) = &hits.next {
            nav.pages {
                a rel="nofollow next" href=(request.links.search(asked, section, Some(next))) { (words::MORE_HITS) }
            }
        }
    }
}

fn revision(request: &Request<'_>, change: &Change) -> Markup {
    html! {
        li {
            a.rev href=(request.links.revision(change.revision)) rel="nofollow" { (words::revision(change.revision)) }
            div.what {
                div.first { (layout::first_line(change.message.as_deref())) }
                div.who {
                    (layout::author(change.author.as_deref())) " · "
                    (times::ago(change.date.as_deref(), request.now))
                }
            }
        }
    }
}

fn file(request: &Request<'_>, hit: &TextHit) -> Markup {
    let link = request.links.tree(&hit.path, None);
    html! {
        section.hit {
            h3 { a href=(link) { bdi { (text::shown(hit.path.as_str())) } } }
            @for (number, line) in &hit.lines {
                div.line {
                    a.dim href=(line_link(&link, *number)) { (number) } " " code { bdi { (line) } }
                }
            }
        }
    }
}

fn properties(request: &Request<'_>, hit: &PropertyHit) -> Markup {
    html! {
        section.hit {
            h3 { a href=(request.links.tree(&hit.path, None)) {
                bdi { (text::shown(hit.path.as_str())) } @if hit.is_dir { "/" }
            } }
            @for line in &hit.lines { div.line { code { bdi { (line) } } } }
        }
    }
}

/// A file that a revision changed, with the lines that were found.
fn changes(request: &Request<'_>, hit: &ChangeHit) -> Markup {
    let revision = hit.change.revision;
    let at = if hit.is_deleted { revision.prev().unwrap_or(revision) } else { revision };
    html! {
        section.hit {
            h3 {
                a.rev rel="nofollow" href=(request.links.revision(revision)) { (words::revision(revision)) } " "
                a rel="nofollow" href=(request.links.tree(&hit.path, Some(at))) { bdi { (text::shown(hit.path.as_str())) } }
                @if hit.is_deleted { " " span.dim { (words::DELETED) } }
            }
            p.dim {
                (layout::author(hit.change.author.as_deref())) " · "
                (times::ago(hit.change.date.as_deref(), request.now)) " · "
                (layout::first_line(hit.change.message.as_deref()))
            }
            @for (is_added, line) in &hit.lines {
                div.line {
                    span.sign { (if *is_added { "+" } else { "\u{2212}" }) } " "
                    span.skip { (if *is_added { words::ADDED } else { words::DELETED }) }
                    code { bdi { (line) } }
                }
            }
        }
    }
}

/// The link to a line of a file: on the page that has it.
fn line_link(link: &str, number: u64) -> String {
    format!("{link}?l={number}#L{number}")
}
