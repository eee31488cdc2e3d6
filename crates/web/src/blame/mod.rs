//! Who changed each line of a file last.
//!
//! The revisions are walked from the youngest on: a line belongs to the first one that has it and whose predecessor has
//! not. So the walk ends where every line has its revision, or where the page's time does; then the rest is older.

pub(crate) mod merged;

use maud::{Markup, html};
use sapwood_core::exact::Exact as _;
use sapwood_core::paths::FsPathBuf;
use sapwood_core::props::{is_binary_mime_type, names};
use sapwood_core::{FileRev, FsPath, NodeKind, Revnum, SvnResult};
use sapwood_diff::{Options, compare};

use crate::Request;
use crate::budget::{self, Budget};
use crate::delta::is_cheap;
use crate::fault::{Fault, Result};
use crate::highlight::Highlighter;
use crate::layout::{self, Subject, Tab};
use crate::reply::Reply;
use crate::view::{Change, Found, View};
use crate::{code, file, text, times, words};

pub(crate) fn page(request: &Request<'_>) -> Result<Reply> {
    let found = request.view.at(request.address)?;
    if found.node.kind() != NodeKind::File {
        return Err(Fault::Missing);
    }
    let body = html! {
        h1 { (words::BLAME) ": " bdi { (text::shown(found.path.name())) } }
        (switch(request, &found))
        (contents(request, &found)?)
    };
    Ok(layout::reply(request, &found.path, Tab::Blame, &Subject::of(&found), &body))
}

/// The link to the same page with merges, or without.
fn switch(request: &Request<'_>, found: &Found) -> Markup {
    let plain = request.links.blame(&found.path, Some(found.revision));
    html! {
        nav.manner aria-label=(words::BLAME) {
            @if request.address.query.merges { a.button href=(plain) rel="nofollow" { (words::WITHOUT_MERGES) } }
            @else { a.button href={ (plain) "&g=1" } rel="nofollow" { (words::WITH_MERGES) } }
        }
    }
}

/// Where each line of a file is from, or why that is not found out.
pub(crate) enum Lines {
    Of(Walk),
    Binary,
    TooLarge,
}

/// Finds where each line is from, within the limits of a page.
pub(crate) fn lines(request: &Request<'_>, found: &Found) -> Result<Lines> {
    if found.node.props()?.get(names::MIME_TYPE).is_some_and(is_binary_mime_type) {
        return Ok(Lines::Binary);
    }
    if found.node.length()? > budget::TEXT {
        return Ok(Lines::TooLarge);
    }
    let text = file::whole(&found.node)?;
    if text::is_binary(&text) {
        return Ok(Lines::Binary);
    }
    let budget = Budget::new();
    Ok(Lines::Of(match request.address.query.merges {
        true => merged::walk(request.view, found, text, &budget)?,
        false => walk(request.view, found, text, &budget)?,
    }))
}

fn contents(request: &Request<'_>, found: &Found) -> Result<Markup> {
    let merges = request.address.query.merges;
    let (command, ends) = match merges {
        true => ("svn blame -g", words::BLAME_MERGES_END),
        false => ("svn blame", words::BLAME_ENDS),
    };
    let command = html! { (words::see_with("")) code { (command) } };
    let walk = match lines(request, found)? {
        Lines::Binary => return Ok(layout::note(words::BINARY)),
        Lines::TooLarge => return Ok(html! { p.note { (words::TOO_LARGE) " " (command) } }),
        Lines::Of(walk) => walk,
    };
    let rows = rows(request, &found.path, &walk)?;
    Ok(html! {
        @if !walk.is_whole { p.note { (ends) " " (command) } }
        (rows)
    })
}

/// The revision of a line, and the path of the file there.
pub(crate) type Origin = (Revnum, FsPathBuf);

/// What is known of a file's lines.
pub(crate) struct Walk {
    /// The newest text.
    text: Vec<u8>,
    /// For each line where it is from, once that is known.
    pub(crate) origins: Vec<Option<Origin>>,
    /// Whether every line has its revision.
    pub(crate) is_whole: bool,
}

/// The text of the revision that was visited last, and which lines of the newest text its lines are.
struct Younger {
    origin: Origin,
    text: Vec<u8>,
    /// For each of its lines the number of the same line in the newest text, while that has no revision.
    lines: Vec<Option<usize>>,
}

pub(crate) fn walk(view: &View<'_>, found: &Found, text: Vec<u8>, budget: &Budget) -> Result<Walk> {
    let count = text::lines(&text).count();
    let mut origins: Vec<Option<Origin>> = vec![None; count];
    let mut younger: Option<Younger> = None;
    let mut failed = None;
    let mut is_cut = false;
    let mut receive = |rev: &FileRev<'_>, is_other: bool| -> SvnResult<bool> {
        if budget.is_over() {
            is_cut = true;
            return Ok(false);
        }
        let origin = (rev.revision, rev.path.to_owned());
        let Some(last) = younger.take() else {
            let lines = (0..count).map(Some).collect();
            younger = Some(Younger { origin, text: text.clone(), lines });
            return Ok(count > 0);
        };
        if !is_other {
            // The lines are older than the revision that was taken for theirs.
            younger = Some(Younger { origin, ..last });
            return Ok(true);
        }
        match step(view, last, origin, &mut origins) {
            Ok(Some(older)) => {
                let goes_on = older.lines.iter().any(Option::is_some);
                younger = Some(older);
                Ok(goes_on)
            }
            Ok(None) => {
                is_cut = true;
                Ok(false)
            }
            Err(fault) => {
                failed = Some(fault);
                Ok(false)
            }
        }
    };
    view.file_revisions(&found.path, found.revision, false, &mut receive)?;
    if let Some(fault) = failed {
        return Err(fault);
    }
    // What the oldest revision has is from there.
    if let Some(oldest) = younger.filter(|_| !is_cut) {
        attribute(&mut origins, oldest.lines.iter().flatten(), &oldest.origin);
    }
    let is_whole = origins.iter().all(Option::is_some);
    Ok(Walk { text, origins, is_whole })
}

/// The text of a revision; `None` where comparing it with another is too dear.
fn text_of(
    view: &View<'_>,
    path: &FsPath,
    revision: Revnum,
    other: &[u8],
) -> Result<Option<Vec<u8>>> {
    let node = view.find(path, Some(revision), None)?.node;
    if node.length()? > budget::TEXT {
        return Ok(None);
    }
    let text = file::whole(&node)?;
    Ok((!text::is_binary(&text) && is_cheap(&text, other)).then_some(text))
}

fn attribute<'n>(
    origins: &mut [Option<Origin>],
    lines: impl Iterator<Item = &'n usize>,
    origin: &Origin,
) {
    for line in lines {
        if let Some(place) = origins.get_mut(*line) {
            *place = Some(origin.clone());
        }
    }
}

/// Compares a revision with the one before it; `None` where that is too dear.
fn step(
    view: &View<'_>,
    last: Younger,
    origin: Origin,
    origins: &mut [Option<Origin>],
) -> Result<Option<Younger>> {
    let Some(text) = text_of(view, &origin.1, origin.0, &last.text)? else { return Ok(None) };
    let diff = compare(&Options::default(), &text, &last.text);
    let mut lines = Vec::new();
    for range in &diff.ranges {
        let new = last.lines.iter().skip(range.new_start).take(range.new_len);
        if range.common {
            lines.extend(new.copied());
        } else {
            attribute(origins, new.flatten(), &last.origin);
            lines.extend(std::iter::repeat_n(None, range.old_len));
        }
    }
    Ok(Some(Younger { origin, text, lines }))
}

/// What is said of a revision that lines are from.
struct Source {
    change: Change,
    /// Where the file was before it, if it was there.
    before: Option<FsPathBuf>,
}

type Sources = std::collections::BTreeMap<Revnum, Source>;

/// The revisions that lines are from.
fn sources(request: &Request<'_>, walk: &Walk) -> Result<Sources> {
    let budget = Budget::new();
    let mut sources = Sources::new();
    for (revision, path) in walk.origins.iter().flatten() {
        if sources.contains_key(revision) {
            continue;
        }
        let node = request.view.find(path, Some(*revision), None)?.node;
        let mut change = request.view.last_change(&mut request.view.revprops(), &node)?;
        change.message = request.view.message(*revision)?;
        // Links are left out where there are too many to be made in time.
        let before = match revision.prev().filter(|_| !budget.is_over()) {
            Some(before) => request.view.path_in(path, *revision, before)?,
            None => None,
        };
        sources.insert(*revision, Source { change, before });
    }
    Ok(sources)
}

fn rows(request: &Request<'_>, path: &FsPath, walk: &Walk) -> Result<Markup> {
    let changes = sources(request, walk)?;
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
                td class={ "who " (class) } { @if is_first { (who(request, origin.as_ref(), change)) } }
                td.n { a href={ "#L" (number) } { (number) } }
                td.c { (code::line(&line, &highlighter.line(&line), &[])) }
            }
        });
        if number == budget::LINES.times(5) {
            rows.push(html! { tr { td colspan="3" { (layout::note(words::TOO_LONG)) } } });
            break;
        }
    }
    Ok(html! {
        table.code.blame { @for row in &rows { (row) } }
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

fn who(request: &Request<'_>, origin: Option<&Origin>, source: Option<&Source>) -> Markup {
    let (Some((revision, path)), Some(Source { change, before })) = (origin, source) else {
        return html! {};
    };
    let merges = request.address.query.merges;
    let message = text::first_line(change.message.as_deref().unwrap_or(""));
    let before = before.as_ref().zip(revision.prev());
    let before = before.map(|(path, before)| {
        let page = request.links.blame(path, Some(before));
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
