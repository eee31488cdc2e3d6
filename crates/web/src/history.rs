//! The history of a path, across copies: all of it, or the changes that have some words, an author, a date.
//!
//! Invariants: a page costs what its own revisions cost: the link to the next one names where its first revision is. One that searches
//! ends with the page's time, and the link says from where it goes on: however rare a word is, no page looks at more than that.

use maud::{Markup, html};
use sapwood_core::exact::{Exact as _, clamped};
use sapwood_core::paths::FsPathBuf;
use sapwood_core::{FsPath, Revnum};
use sapwood_search::Query;

use crate::Request;
use crate::budget::{self, Budget};
use crate::bugtraq::Issues;
use crate::fault::{Fault, Result};
use crate::layout::{self, Subject, Tab};
use crate::links::{field, with_field};
use crate::reply::Reply;
use crate::view::{Change, FoundNode};
use crate::{text, times, words};

/// The changes on one page, and where the next one begins.
#[derive(Default)]
pub(crate) struct History {
    pub(crate) changes: Vec<Change>,
    pub(crate) next: Option<(FsPathBuf, Revnum)>,
}

impl History {
    pub(crate) fn read(request: &Request<'_>, found: &FoundNode) -> Result<Self> {
        match asked(request) {
            Some(words) => Self::search(request, found, &Query::parse(words)?, &Budget::new()),
            None => {
                let most = budget::REVISIONS;
                let mut changes = request.view.log(&found.path, found.revision, most.plus(1))?;
                let next = if changes.len() > clamped(most) { changes.pop() } else { None };
                Self::of(request, found, changes, next.map(|next| next.revision))
            }
        }
    }

    /// The changes that a query allows. The page ends where it is full or its time is over.
    pub(crate) fn search(
        request: &Request<'_>,
        found: &FoundNode,
        query: &Query,
        budget: &Budget,
    ) -> Result<Self> {
        if query.is_about_files() {
            return Err(Fault::Bad(words::HISTORY_HAS_NO_FILES));
        }
        let (first, last) = query.revisions().unwrap_or((0, u64::MAX));
        let Some(start) = begin(request, found, Revnum(last))? else { return Ok(Self::default()) };
        let (mut changes, mut next) = (Vec::new(), None);
        let most = clamped(budget::REVISIONS);
        let range = (start.1, Revnum(first.max(1)));
        request
            .view
            .log_until(&start.0, range, &mut |change| {
                // One change is looked at in any case, so that a page always goes on.
                let is_over = budget.is_over() && next.is_some();
                next = Some(change.revision);
                if is_over || changes.len() == most {
                    return false;
                }
                if is_wanted(query, &change) {
                    changes.push(change);
                }
                true
            })?
            .then(|| next = None);
        Self::of(request, found, changes, next)
    }

    fn of(
        request: &Request<'_>,
        found: &FoundNode,
        changes: Vec<Change>,
        next: Option<Revnum>,
    ) -> Result<Self> {
        let Some(next) = next else { return Ok(Self { changes, next: None }) };
        let path = request.view.path_in(&found.path, found.revision, next)?;
        Ok(Self { changes, next: path.map(|path| (path, next)) })
    }
}

/// What is searched for.
fn asked<'r>(request: &'r Request<'_>) -> Option<&'r str> {
    request.address.query.words.as_deref().map(str::trim).filter(|words| !words.is_empty())
}

/// Where a search begins: in the youngest revision that may be found, if what was found was there.
fn begin(
    request: &Request<'_>,
    found: &FoundNode,
    last: Revnum,
) -> Result<Option<(FsPathBuf, Revnum)>> {
    if last >= found.revision {
        return Ok(Some((found.path.clone(), found.revision)));
    }
    let path = request.view.path_in(&found.path, found.revision, last)?;
    Ok(path.map(|path| (path, last)))
}

/// Whether what may be seen of a change is what is searched for: words of its message or author.
fn is_wanted(query: &Query, change: &Change) -> bool {
    let (author, date) = (change.author.as_deref(), change.date.as_deref());
    let message = change.message.as_deref().unwrap_or("");
    query.is_in(&format!("{message}\n{}", author.unwrap_or("")))
        && query.allows_change(author, date)
}

pub(crate) fn page(request: &Request<'_>) -> Result<Reply> {
    let found = request.view.at(request.address)?;
    let (history, wrong) = match History::read(request, &found) {
        Ok(history) => (history, None),
        Err(Fault::Bad(why)) => (History::default(), Some(why)),
        Err(fault) => return Err(fault),
    };
    let issues = Issues::of(request, &found.path)?;
    let title = words::history_of(&found.path);
    let body = html! {
        h1 { (words::HISTORY) @if !found.path.is_root() { ": " bdi { (text::shown(found.path.name())) } } }
        (form(request, &found))
        @if let Some(wrong) = wrong { (layout::note(wrong)) }
        @else { (list(request, &found, &history, issues.as_ref())) }
    };
    Ok(layout::reply(request, &title, Tab::Log, &Subject::of(&found), &body))
}

/// The form that searches in this history.
fn form(request: &Request<'_>, found: &FoundNode) -> Markup {
    html! {
        form.search role="search" action=(request.links.log(&found.path, None)) {
            input name="q" type="search" aria-label=(words::SEARCH_HISTORY) placeholder=(words::SEARCH_HISTORY_HINT)
                value=[asked(request).map(text::shown)] maxlength="1000";
            @if let Some(sticky) = found.sticky { input type="hidden" name="p" value=(sticky); }
            button { (words::SEARCH) }
        }
    }
}

fn list(
    request: &Request<'_>,
    found: &FoundNode,
    history: &History,
    issues: Option<&Issues>,
) -> Markup {
    let History { changes, next } = history;
    let asked = asked(request);
    let none = if asked.is_some() { words::NOTHING_FOUND } else { words::NO_REVISIONS };
    let at = |(path, revision): &(FsPathBuf, Revnum)| {
        let page = request.links.log(path, Some(*revision));
        asked.map_or(page.clone(), |words| with_field(page, &format!("q={}", field(words))))
    };
    html! {
        @match next {
            Some((_, next)) if asked.is_some() && changes.len() < clamped(budget::REVISIONS) => {
                (layout::note(&words::searched_to(*next)))
            },
            _ if changes.is_empty() => (layout::note(none)),
            _ => {},
        }
        ol.log { @for change in changes { (entry(request, found, change, issues)) } }
        nav.pages {
            @match next {
                Some(next) => a rel="nofollow next" href=(at(next)) { (words::EARLIER) },
                None => span.dim { (words::NO_MORE) },
            }
        }
    }
}

fn entry(
    request: &Request<'_>,
    found: &FoundNode,
    change: &Change,
    issues: Option<&Issues>,
) -> Markup {
    let links = request.links;
    let here = format!("{}&r={}", links.tree(&found.path, Some(found.revision)), change.revision);
    let message = change.message.as_deref().unwrap_or("").trim();
    let rest = message.split_once('\n').map_or("", |(_, rest)| rest.trim());
    let rest = text::cut(rest.to_owned(), budget::VALUE).0;
    let first = text::first_line(message);
    html! {
        li {
            a.rev href=(links.revision(change.revision)) rel="nofollow" { (words::revision(change.revision)) }
            div.what {
                div.first {
                    @match issues {
                        Some(issues) if !first.is_empty() => bdi { (issues.links(&first)) },
                        _ => (layout::first_line(Some(message))),
                    }
                }
                @if !rest.is_empty() {
                    details {
                        summary { "\u{2026}" }
                        pre.log {
                            @match issues { Some(issues) => (issues.links(&rest)), None => (rest) }
                        }
                    }
                }
                div.who {
                    (layout::author(change.author.as_deref())) " · " (times::ago(change.date.as_deref(), request.now))
                    @if !found.path.is_root() { " · " a href=(here) rel="nofollow" { (words::FILE) } }
                    @else { " · " a href=(links.tree(FsPath::ROOT, Some(change.revision))) rel="nofollow" { (words::FILES) } }
                }
            }
        }
    }
}
