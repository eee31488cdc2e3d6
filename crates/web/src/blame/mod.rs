//! Who changed each line of a file last: the page, and what it has in common with the same as JSON.

mod kept;
pub(crate) mod merged;
pub(crate) mod walk;

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use maud::{Markup, html};
use sapwood_core::exact::Exact as _;
use sapwood_core::paths::FsPathBuf;
use sapwood_core::{FsPath, NodeKind, Revnum};
use sapwood_fs::Node;

use crate::Request;
use crate::budget::{self, Budget};
use crate::delta::is_cheap;
use crate::fault::{Fault, Result};
use crate::highlight::Highlighter;
use crate::layout::{self, Subject, Tab};
use crate::links::with_field;
use crate::reply::Reply;
use crate::view::{Change, FoundNode};
use crate::{code, file, text, times, words, wrapping};

pub(crate) fn page(request: &Request<'_>) -> Result<Reply> {
    let found = request.view.at(request.address)?;
    if found.node.kind() != NodeKind::File {
        return Err(Fault::Missing);
    }
    let lines = lines(request, &found)?;
    let body = html! {
        h1 { (words::BLAME) ": " bdi { (text::shown(found.path.name())) } }
        (switch(request, &found))
        (contents(request, &found, &lines)?)
    };
    let reply = layout::reply(request, &found.path, Tab::Blame, &Subject::of(&found), &body);
    Ok(lines.kept_by_browsers(reply))
}

/// The link to the same page with merges, or without.
fn switch(request: &Request<'_>, found: &FoundNode) -> Markup {
    let plain = request.links.blame(&found.path, Some(found.revision));
    let with_merges = with_field(plain.clone(), "g=1");
    let here = if request.address.query.merges { with_merges.clone() } else { plain.clone() };
    html! {
        nav.manner aria-label=(words::BLAME) {
            @if request.address.query.merges { a.button href=(wrapping::same(request, plain)) rel="nofollow" { (words::WITHOUT_MERGES) } }
            @else { a.button href=(wrapping::same(request, with_merges)) rel="nofollow" { (words::WITH_MERGES) } }
            (wrapping::switch(request, here))
        }
    }
}

/// Where each line of a file is from, or why that is not found out.
pub(crate) enum Lines {
    Of(Walk),
    Binary,
    TooLarge,
}

impl Lines {
    /// The reply with them: one that would have more when it is asked for again is kept by no browser.
    pub(crate) fn kept_by_browsers(&self, reply: Reply) -> Reply {
        match self {
            Self::Of(walk) if walk.goes_on => reply.with("cache-control", "private, no-store"),
            _ => reply,
        }
    }
}

/// Finds where each line is from, within the limits of a page.
pub(crate) fn lines(request: &Request<'_>, found: &FoundNode) -> Result<Lines> {
    if file::is_other(&found.node)? {
        return Ok(Lines::Binary);
    }
    if found.node.length()? > budget::TEXT {
        return Ok(Lines::TooLarge);
    }
    let Some(text) = file::text_of(&found.node)? else { return Ok(Lines::Binary) };
    let budget = Budget::new();
    Ok(Lines::Of(match request.address.query.merges {
        true => merged::walk(request.view, found, text, &budget)?,
        false => walk::walk(request.view, found, text, &budget)?,
    }))
}

fn contents(request: &Request<'_>, found: &FoundNode, lines: &Lines) -> Result<Markup> {
    let merges = request.address.query.merges;
    let (command, ends) = match merges {
        true => ("svn blame -g", words::BLAME_MERGES_END),
        false => ("svn blame", words::BLAME_ENDS),
    };
    let command = html! { (words::see_with("")) code { (command) } };
    let walk = match lines {
        Lines::Binary => return Ok(layout::note(words::BINARY)),
        Lines::TooLarge => return Ok(html! { p.note { (words::TOO_LARGE) " " (command) } }),
        Lines::Of(walk) => walk,
    };
    let rows = rows(request, &found.path, walk)?;
    Ok(html! {
        @if walk.goes_on { p.note { (words::BLAME_GOES_ON) } }
        @else if !walk.is_whole { p.note { (ends) " " (command) } }
        (rows)
    })
}

/// A revision, and the path of the file there.
pub(crate) type Origin = (Revnum, FsPathBuf);

/// What is known of a file's lines.
pub(crate) struct Walk {
    /// The newest text.
    text: Vec<u8>,
    /// For each line where it is from, once that is known.
    pub(crate) origins: Vec<Option<Origin>>,
    /// For each revision that lines are from, where the file was before it, if it was there.
    pub(crate) before: BTreeMap<Revnum, Origin>,
    /// Whether every line has its revision.
    pub(crate) is_whole: bool,
    /// Whether more is found when one asks again.
    pub(crate) goes_on: bool,
}

#[cfg(test)]
thread_local! {
    /// Texts of older revisions that were read.
    pub(crate) static TEXTS: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

/// The text of a revision; `None` where comparing it with another is too dear.
fn text_of(node: &Node, other: &[u8]) -> Result<Option<Vec<u8>>> {
    if node.length()? > budget::TEXT {
        return Ok(None);
    }
    #[cfg(test)]
    TEXTS.set(TEXTS.get() + 1);
    Ok(file::text_of(node)?.filter(|text| is_cheap(text, other)))
}

/// What is said of the revisions that lines are from.
fn changes(request: &Request<'_>, walk: &Walk) -> Result<BTreeMap<Revnum, Change>> {
    let mut changes = BTreeMap::new();
    for (revision, _) in walk.origins.iter().flatten() {
        if let Entry::Vacant(place) = changes.entry(*revision) {
            place.insert(request.view.change_in(*revision)?);
        }
    }
    Ok(changes)
}

fn rows(request: &Request<'_>, path: &FsPath, walk: &Walk) -> Result<Markup> {
    let changes = changes(request, walk)?;
    let oldest = changes.keys().next().copied();
    let newest = changes.keys().next_back().copied();
    let mut last = None;
    let mut rows = Vec::new();
    let first_line = text::lines(&walk.text).next().unwrap_or(&[]);
    let mut highlighter = Highlighter::new(path, first_line);
    for ((line, origin), number) in text::lines(&walk.text).zip(&walk.origins).zip(1u64..) {
        let revision = origin.as_ref().map(|(revision, _)| *revision);
        let is_first = last != Some(revision);
        last = Some(revision);
        let change = revision.and_then(|revision| changes.get(&revision));
        let class = heat(revision, oldest, newest);
        let line = text::line(line);
        rows.push(html! {
            tr id={ "L" (number) } .first[is_first] {
                td class={ "who " (class) } { @if is_first { (who(request, walk, origin.as_ref(), change)) } }
                td.n { a href={ "#L" (number) } { (number) } }
                td.c { (code::line(&line, &highlighter.line(&line), &[])) }
            }
        });
        if number == budget::LINES.times(5) {
            rows.push(html! { tr { td colspan="3" { (layout::note(words::TOO_LONG)) } } });
            break;
        }
    }
    let table = html! { table.code.blame { @for row in &rows { (row) } } };
    Ok(html! {
        (wrapping::lines(request.address.query.wrap, &table))
        @if highlighter.is_cut() { (layout::note(words::PLAIN_LINES)) }
    })
}

/// The colour of a revision: the younger, the stronger.
fn heat(revision: Option<Revnum>, oldest: Option<Revnum>, newest: Option<Revnum>) -> &'static str {
    const CLASSES: [&str; 5] = ["h0", "h1", "h2", "h3", "h4"];
    let (Some(at), Some(oldest), Some(newest)) = (revision, oldest, newest) else { return "h0" };
    let span = newest.0.saturating_sub(oldest.0).max(1);
    let step = at.0.saturating_sub(oldest.0).saturating_mul(4) / span;
    CLASSES.get(sapwood_core::exact::clamped(step)).copied().unwrap_or("h4")
}

fn who(
    request: &Request<'_>,
    walk: &Walk,
    origin: Option<&Origin>,
    change: Option<&Change>,
) -> Markup {
    let (Some((revision, path)), Some(change)) = (origin, change) else { return html! {} };
    let merges = request.address.query.merges;
    let message = text::first_line(change.message.as_deref().unwrap_or(""));
    let before = walk.before.get(revision).map(|(before, path)| {
        let page = request.links.blame(path, Some(*before));
        if merges { page + "&g=1" } else { page }
    });
    html! {
        a.rev href=(request.links.revision(*revision)) rel="nofollow" title=(message) { (words::revision(*revision)) }
        @if merges && *path != *request.address.path() { " " span.from title=(text::shown(path)) { "\u{2937}" } }
        " " (layout::author(change.author.as_deref()))
        " " span.age { (times::ago(change.date.as_deref(), request.now)) }
        @if let Some(before) = before {
            " " a.before href=(before) rel="nofollow" title=(words::BLAME_BEFORE) { "\u{2190}" }
        }
    }
}
