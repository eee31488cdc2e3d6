//! The history of a path, across copies.
//!
//! Invariant: a page costs what its own revisions cost: the link to the next one names where its first revision is.

use maud::{Markup, html};
use sapwood_core::exact::{Exact as _, clamped};
use sapwood_core::paths::FsPathBuf;
use sapwood_core::{FsPath, Revnum};

use crate::Request;
use crate::budget;
use crate::bugtraq::Issues;
use crate::fault::Result;
use crate::layout::{self, Subject, Tab};
use crate::reply::Reply;
use crate::view::{Change, Found};
use crate::{text, times, words};

/// The changes on one page, and where the next one begins.
pub(crate) struct History {
    pub(crate) changes: Vec<Change>,
    pub(crate) next: Option<(FsPathBuf, Revnum)>,
}

impl History {
    pub(crate) fn read(request: &Request<'_>, found: &Found) -> Result<Self> {
        let most = budget::REVISIONS;
        let mut changes = request.view.log(&found.path, found.revision, most.plus(1))?;
        let next = if changes.len() > clamped(most) { changes.pop() } else { None };
        let next = match next.map(|next| next.revision) {
            Some(next) => {
                let path = request.view.path_in(&found.path, found.revision, next)?;
                path.map(|path| (path, next))
            }
            None => None,
        };
        Ok(Self { changes, next })
    }
}

pub(crate) fn page(request: &Request<'_>) -> Result<Reply> {
    let found = request.view.at(request.address)?;
    let History { changes, next } = History::read(request, &found)?;
    let next = next.map(|(path, revision)| request.links.log(&path, Some(revision)));
    let issues = Issues::of(request, &found.path)?;
    let title = words::history_of(&found.path);
    let body = html! {
        h1 { (words::HISTORY) @if !found.path.is_root() { ": " bdi { (text::shown(found.path.name())) } } }
        @if changes.is_empty() { (layout::note(words::NO_REVISIONS)) }
        ol.log { @for change in &changes { (entry(request, &found, change, issues.as_ref())) } }
        nav.pages {
            @match next {
                Some(next) => a rel="nofollow next" href=(next) { (words::EARLIER) },
                None => span.dim { (words::NO_MORE) },
            }
        }
    };
    Ok(layout::reply(request, &title, Tab::Log, &Subject::of(&found), &body))
}

fn entry(request: &Request<'_>, found: &Found, change: &Change, issues: Option<&Issues>) -> Markup {
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
