//! The page of a file: its lines, or what else a browser can show of it.

use maud::{Markup, html};
use sapwood_core::exact::{Exact as _, len64};
use sapwood_core::props::{is_binary_mime_type, names};
use sapwood_core::{FsPath, NodeKind};
use sapwood_fs::Node;

use crate::Request;
use crate::budget;
use crate::encoding::{self, Decoder, begins_as_utf16};
use crate::fault::{Fault, Result};
use crate::highlight::Highlighter;
use crate::layout::{self, Subject, Tab};
use crate::links::with_field;
use crate::reply::Reply;
use crate::view::FoundNode;
use crate::{code, locks, media, text, times, words, wrapping};

pub(crate) fn page(request: &Request<'_>, found: &FoundNode) -> Result<Reply> {
    let last = request.view.change_of(&found.node)?;
    let raw = request.links.raw(&found.path, found.revision);
    let size = found.node.length()?;
    let contents = contents(request, found, &raw)?;
    let (here, has_lines) = (own_address(request, found), contents.has_lines);
    let contents = contents.shown;
    let body = html! {
        (layout::change(request, &last))
        @if let Some(lock) = lock(request, found)? { (lock) }
        div.actions {
            span { (text::size(size)) }
            @if has_lines { (wrapping::switch(request, here)) }
            a.button href=(raw) rel="nofollow" { (words::RAW) }
            a.button href=(raw) rel="nofollow" download { (words::DOWNLOAD) }
        }
        (contents)
        (properties(&found.node)?)
    };
    let reply = layout::reply(request, &found.path, Tab::Node, &Subject::of(found), &body);
    Ok(match media::policy(found)? {
        Some(more) => reply.and_allows(more),
        None => reply,
    })
}

/// The address of this page, but for how its lines are wrapped.
fn own_address(request: &Request<'_>, found: &FoundNode) -> String {
    let query = &request.address.query;
    let address = request.links.tree(&found.path, found.sticky);
    match (query.page, query.lines) {
        (Some(page), _) => with_field(address, &format!("page={page}")),
        (None, Some((first, last))) => with_field(address, &format!("l={first}-{last}")),
        (None, None) => address,
    }
}

fn lock(request: &Request<'_>, found: &FoundNode) -> Result<Option<Markup>> {
    // Locks are on paths of the newest revision.
    if found.sticky.is_some() {
        return Ok(None);
    }
    let Some(lock) = request.view.lock(&found.path)? else { return Ok(None) };
    let (since, comment) = (locks::since(&lock), locks::reason(&lock));
    Ok(Some(html! {
        p.lock {
            (words::LOCKED) " " bdi { b { (text::shown(&lock.owner)) } } " " (words::SINCE) " " (times::at(&since))
            @if !comment.is_empty() { ": " bdi { (comment) } }
        }
    }))
}

/// Whether browsers show a file as a picture, by its property or the name's ending.
pub(crate) fn is_picture(path: &FsPath, media: Option<&str>) -> bool {
    const ENDINGS: [&str; 8] = [".png", ".jpg", ".jpeg", ".gif", ".webp", ".avif", ".bmp", ".ico"];
    let name = path.name().to_ascii_lowercase();
    // `svn add` gives this one to all that is no text.
    let media = media.map(str::trim).filter(|media| *media != "application/octet-stream");
    match media {
        Some(media) => media.starts_with("image/"),
        None => ENDINGS.iter().any(|ending| name.ends_with(ending)),
    }
}

/// What is shown of a file's contents.
struct Contents {
    shown: Markup,
    /// Whether these are lines of text.
    has_lines: bool,
}

impl Contents {
    const fn other(shown: Markup) -> Self {
        Self { shown, has_lines: false }
    }
}

fn contents(request: &Request<'_>, found: &FoundNode, raw: &str) -> Result<Contents> {
    let props = found.node.props()?;
    let media = props.get_str(names::MIME_TYPE);
    let is_picture = is_picture(&found.path, media);
    let is_svg = media.is_some_and(|media| media.contains("svg"));
    if is_picture && !is_svg {
        return Ok(Contents::other(picture(found, raw)));
    }
    if let Some(shown) = media::shown(request, found)? {
        return Ok(Contents::other(shown));
    }
    if is_other(&found.node)? && !is_svg {
        return Ok(Contents::other(layout::note(words::BINARY)));
    }
    let query = &request.address.query;
    let first = match (query.page, query.lines) {
        (Some(0), _) => return Err(Fault::Missing),
        (Some(line), _) => line.minus(1),
        (None, Some((line, _))) if line > NEAR => line.minus(ABOVE),
        (None, _) => 0,
    };
    let marked = query.lines;
    let piece = Piece::read(&found.node, first)?;
    let has_lines = matches!(piece, Piece::Lines { .. });
    let lines = match piece {
        Piece::Binary => layout::note(words::BINARY),
        Piece::TooFar => layout::note(words::TOO_FAR),
        Piece::Lines { first, lines, is_end } if lines.is_empty() && is_end => {
            if first > 0 {
                return Err(Fault::Missing);
            }
            layout::note(words::NO_LINES)
        }
        Piece::Lines { first, lines, is_end } => {
            let pages = pages(request, found, first, len64(lines.len()), is_end);
            let wrap = query.wrap;
            let lines = numbered(&found.path, &lines, first, marked);
            html! { (pages) (wrapping::lines(wrap, &lines)) (pages) }
        }
    };
    let shown = html! { @if is_svg { (picture(found, raw)) } (lines) };
    Ok(Contents { shown, has_lines })
}

fn picture(found: &FoundNode, raw: &str) -> Markup {
    html! { figure.picture { img src=(raw) alt=(text::shown(found.path.name())); } }
}

/// A range of lines that begins no later is shown with the beginning of the file.
const NEAR: u64 = 500;
/// Lines above another range.
const ABOVE: u64 = 20;

/// Lines with their numbers, which are links, and their colours, as if the text began with them. `first` counts from 0.
fn numbered(path: &FsPath, lines: &[String], first: u64, marked: Option<(u64, u64)>) -> Markup {
    let first_line = lines.first().filter(|_| first == 0).map_or(&[][..], |line| line.as_bytes());
    let mut highlighter = Highlighter::new(path, first_line);
    html! {
        table.code {
            @for (line, number) in lines.iter().zip(first.plus(1)..) {
                @let is_marked = marked.is_some_and(|(first, last)| (first..=last).contains(&number));
                tr id={ "L" (number) } .marked[is_marked] {
                    td.n { a href={ "#L" (number) } { (number) } }
                    td.c { (code::line(line, &highlighter.line(line), &[])) }
                }
            }
        }
        @if highlighter.is_cut() { (layout::note(words::PLAIN_LINES)) }
    }
}

fn pages(request: &Request<'_>, found: &FoundNode, first: u64, count: u64, is_end: bool) -> Markup {
    if first == 0 && is_end {
        return html! {};
    }
    let base = request.links.tree(&found.path, found.sticky);
    let mark = if found.sticky.is_some() { '&' } else { '?' };
    let at = |line: u64| wrapping::same(request, format!("{base}{mark}page={line}"));
    let end = first.saturating_add(count);
    html! {
        nav.pages {
            @if first > 0 {
                a rel="nofollow prev" href=(at(first.saturating_sub(budget::LINES).plus(1))) { (words::EARLIER_LINES) }
            }
            span { (words::range_of_lines(first.plus(1), end)) }
            @if !is_end { a rel="nofollow next" href=(at(end.plus(1))) { (words::LATER_LINES) } }
        }
    }
}

/// Some lines of a file.
enum Piece {
    Lines { first: u64, lines: Vec<String>, is_end: bool },
    Binary,
    TooFar,
}

impl Piece {
    /// The lines from `first` on, as many as a page has.
    fn read(node: &Node, first: u64) -> Result<Self> {
        let mut decoder = Decoder::new(node.props()?.get_str(names::MIME_TYPE));
        let mut contents = node.contents()?;
        let (mut skip, mut passed, mut bytes) = (text::Skip::new(first), 0u64, Vec::new());
        let (mut is_end, mut is_over) = (true, false);
        while !is_over {
            let piece = contents.next_piece()?;
            is_over = piece.is_none();
            let piece = match piece {
                Some(piece) => decoder.piece(piece),
                None => decoder.end().into(),
            };
            if text::is_binary(&piece) {
                return Ok(Self::Binary);
            }
            let rest = skip.pass(&piece);
            passed.tally(len64(piece.len().minus(rest.len())));
            if passed > budget::PASSED_OVER {
                return Ok(Self::TooFar);
            }
            bytes.extend_from_slice(rest);
            // A whole line more shows that there are more.
            if bytes.len() > budget::PIECE
                || len64(text::lines(&bytes).count()) > budget::LINES.plus(1)
            {
                is_end = false;
                break;
            }
        }
        let mut lines: Vec<String> = Vec::new();
        let mut count = 0usize;
        for line in text::lines(&bytes) {
            count = count.plus(line.len());
            if len64(lines.len()) == budget::LINES || (count > budget::PIECE && !lines.is_empty()) {
                is_end = false;
                break;
            }
            lines.push(text::line(line));
        }
        Ok(Self::Lines { first, lines, is_end })
    }
}

/// Whether the type of a file says that it is no text. `svn add` says that of texts in UTF-16, too.
pub(crate) fn is_other(node: &Node) -> Result<bool> {
    let props = node.props()?;
    let Some(media) = props.get(names::MIME_TYPE).filter(|media| is_binary_mime_type(media)) else {
        return Ok(false);
    };
    let begin = match (media, node.contents()?.next_piece()?) {
        (b"application/octet-stream", Some(piece)) => piece.get(..4).unwrap_or(piece).to_vec(),
        _ => return Ok(true),
    };
    Ok(!begins_as_utf16(&begin))
}

/// The text of a file whose length was checked: UTF-8, where it is in UTF-16; nothing for what is no text.
pub(crate) fn text_of(node: &Node) -> Result<Option<Vec<u8>>> {
    if is_other(node)? {
        return Ok(None);
    }
    let text = encoding::decoded(whole(node)?, node.props()?.get_str(names::MIME_TYPE));
    Ok(Some(text).filter(|text| !text::is_binary(text)))
}

/// All bytes of a file whose length was checked.
fn whole(node: &Node) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut contents = node.contents()?;
    while let Some(piece) = contents.next_piece()? {
        bytes.extend_from_slice(piece);
        if len64(bytes.len()) > budget::TEXT {
            break;
        }
    }
    Ok(bytes)
}

/// The properties of a node.
pub(crate) fn properties(node: &Node) -> Result<Markup> {
    let props = node.props()?;
    if props.is_empty() {
        return Ok(html! {});
    }
    let is_file = node.kind() == NodeKind::File;
    Ok(html! {
        details.props open[is_file && props.len() < 4] {
            summary { (words::PROPERTIES) " (" (props.len()) ")" }
            dl {
                @for (name, value) in props.iter().take(budget::PROPERTIES) {
                    dt { bdi { (text::shown(name)) } }
                    dd { pre { (value_text(value)) } }
                }
            }
        }
    })
}

/// The value of a property, as much as a page shows.
pub(crate) fn value_text(value: &[u8]) -> String {
    text::part_of(value, budget::VALUE)
}
