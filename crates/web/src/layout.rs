//! What all pages have in common: the head, the path with its links, the row of tabs.

use maud::{DOCTYPE, Markup, html};
use sapwood_core::FsPath;
use sapwood_core::paths::FsPathBuf;
use sapwood_core::{Exact as _, NodeKind, Revnum};

use crate::Request;
use crate::address::Wrap;
use crate::reply::Reply;
use crate::view::{Change, FoundNode};
use crate::{text, times, words};

/// The tab that a page is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tab {
    Node,
    Log,
    Blame,
    Compare,
    Revision,
    Search,
    Locks,
    Branches,
}

/// What a page is about.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Subject<'a> {
    pub(crate) path: &'a FsPath,
    pub(crate) is_file: bool,
    /// The revision that is shown.
    pub(crate) revision: Revnum,
    /// The revision that links go on with.
    pub(crate) sticky: Option<Revnum>,
}

impl<'a> Subject<'a> {
    pub(crate) fn of(found: &'a FoundNode) -> Self {
        Self {
            path: &found.path,
            is_file: found.node.kind() == NodeKind::File,
            revision: found.revision,
            sticky: found.sticky,
        }
    }
}

/// A page.
pub(crate) fn reply(
    request: &Request<'_>,
    title: &str,
    tab: Tab,
    subject: &Subject<'_>,
    body: &Markup,
) -> Reply {
    let links = request.links;
    // Pages of old revisions are without end, and say nothing that the newest do not.
    let is_index = subject.sticky.is_none()
        && matches!(tab, Tab::Node)
        && request.address.query.wrap == Wrap::Below;
    let page = Reply::page(html! {
        (DOCTYPE)
        html lang=(words::LANGUAGE) {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width,initial-scale=1";
                meta name="color-scheme" content="light dark";
                @if !is_index { meta name="robots" content="noindex,nofollow"; }
                title { (text::shown(title)) " · " (text::shown(request.name)) }
                link rel="stylesheet" href=(links.style());
                link rel="icon" type="image/svg+xml" href=(links.icon());
                link rel="alternate" type="application/atom+xml" href=(links.feed(subject.path));
                script src=(links.script()) defer data-words=(words::of_script()) {}
            }
            body {
                a.skip href="#main" { (words::SKIP) }
                header {
                    (request.visitor.line())
                    (crumbs(request, tab, subject))
                    (tabs(request, tab, subject))
                }
                main id="main" { (body) }
                footer {
                    span { (words::MADE_BY) }
                    @if tab == Tab::Node {
                        a rel="nofollow" href=(links.raw(subject.path, subject.revision)) {
                            (if subject.is_file { words::RAW } else { words::PLAIN })
                        }
                    }
                }
            }
        }
    });
    page.with_script()
}

fn crumbs(request: &Request<'_>, tab: Tab, subject: &Subject<'_>) -> Markup {
    let links = request.links;
    // What is shown now, also later.
    let link = match tab {
        Tab::Node => Some(links.tree(subject.path, Some(subject.revision))),
        Tab::Log => Some(links.log(subject.path, Some(subject.revision))),
        Tab::Blame => Some(links.blame(subject.path, Some(subject.revision))),
        Tab::Revision => Some(links.revision(subject.revision)),
        Tab::Compare | Tab::Search | Tab::Locks | Tab::Branches => None,
    };
    let mut path = FsPath::ROOT.to_owned();
    let mut parts: Vec<(FsPathBuf, String)> = Vec::new();
    for name in subject.path.names().filter(|name| !name.is_empty()) {
        path = path.child(name);
        parts.push((path.clone(), text::shown(name).into_owned()));
    }
    let last = parts.len();
    html! {
        nav.crumbs aria-label=(words::NAME) data-path=(subject.path.as_str()) data-revision=(subject.revision) data-link=[link] {
            a.repo href=(links.tree(FsPath::ROOT, subject.sticky)) { (text::shown(request.name)) }
            @for (at, (path, name)) in parts.iter().enumerate() {
                span.sep { "/" }
                a href=(links.tree(path, subject.sticky))
                    aria-current=[(at.plus(1) == last).then_some("page")] { bdi { (name) } }
            }
        }
    }
}

fn tabs(request: &Request<'_>, tab: Tab, subject: &Subject<'_>) -> Markup {
    let (links, path, sticky) = (request.links, subject.path, subject.sticky);
    let one = |of: Tab, word: &str, href: String| {
        html! {
            a href=(href) rel="nofollow" aria-current=[(of == tab).then_some("page")] { (word) }
        }
    };
    let node = if subject.is_file { words::FILE } else { words::FILES };
    html! {
        nav.tabs aria-label=(words::FILES) {
            (one(Tab::Node, node, links.tree(path, sticky)))
            (one(Tab::Log, words::HISTORY, links.log(path, sticky)))
            @if subject.is_file { (one(Tab::Blame, words::BLAME, links.blame(path, sticky))) }
            (one(Tab::Compare, words::COMPARE, links.page("compare", path, sticky)))
            (one(Tab::Branches, words::BRANCHES, links.page("branches", project(path), sticky)))
            a.feed href=(links.feed(path)) rel="nofollow" { (words::FEED) }
            (one(Tab::Locks, words::LOCKS, links.page("locks", path, None)))
            @if request.has_search {
                a.search-tab href=(links.search_form()) rel="nofollow"
                    aria-current=[(tab == Tab::Search).then_some("page")] { (words::SEARCH) }
            }
            @if tab == Tab::Revision {
                span.at { (words::REVISION) " " b { (subject.revision) } }
            } @else if tab != Tab::Search {
                form.at action=(links.tree(path, None)) {
                    label {
                        @match sticky {
                            Some(_) => { a href=(links.tree(path, None)) { (words::SEE_NEWEST) } " · " (words::REVISION) },
                            None => { (words::NEWEST) },
                        }
                        " "
                        input name="p" inputmode="numeric" size="7" placeholder=(subject.revision)
                            value=[sticky.map(|revision| revision.to_string())];
                    }
                    button { (words::GO) }
                }
            }
        }
    }
}

/// The folder that a path's trunk, branches and tags are in.
fn project(path: &FsPath) -> &FsPath {
    let is_one = |name: &str| matches!(name, "trunk" | "branches" | "tags");
    let mut at = path;
    while !at.is_root() {
        if is_one(at.name()) {
            return at.parent();
        }
        at = at.parent();
    }
    FsPath::ROOT
}

/// A line that says who made a change, when, and why.
pub(crate) fn change(request: &Request<'_>, change: &Change) -> Markup {
    html! {
        div.change {
            a.rev href=(request.links.revision(change.revision)) rel="nofollow" { (words::revision(change.revision)) }
            " " (author(change.author.as_deref()))
            " " span.age { (times::ago(change.date.as_deref(), request.now)) }
            " " span.msg { (first_line(change.message.as_deref())) }
        }
    }
}

pub(crate) fn author(author: Option<&str>) -> Markup {
    match author {
        Some(author) => html! { bdi.author { (text::cut(author.to_owned(), 60).0) } },
        None => html! { span.author.dim { (words::NO_AUTHOR) } },
    }
}

pub(crate) fn first_line(message: Option<&str>) -> Markup {
    match message.map(text::first_line) {
        Some(line) if !line.is_empty() => html! { bdi { (line) } },
        _ => html! { span.dim { (words::NO_MESSAGE) } },
    }
}

/// A sentence about what is not on the page.
pub(crate) fn note(words: &str) -> Markup {
    html! { p.note { (words) } }
}
