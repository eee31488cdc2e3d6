//! The page of a directory: its entries, each with its last change, and its README.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use maud::{Markup, html};
use sapwood_core::exact::{Exact as _, clamped};
use sapwood_core::{FsPath, NodeKind, Revnum};
use sapwood_fs::Node;

use crate::Request;
use crate::archive_form::ArchiveForm;
use crate::budget::{self, Budget};
use crate::fault::{Fault, Result};
use crate::layout::{self, Subject, Tab};
use crate::reply::Reply;
use crate::view::{Change, FoundNode, Name};
use crate::{file, markdown, text, times, words};

/// An entry with what its row shows.
pub(crate) struct Row {
    pub(crate) name: Name,
    pub(crate) size: Option<u64>,
    pub(crate) change: Change,
}

/// The entries that are on one page.
pub(crate) struct Listing {
    pub(crate) rows: Vec<Row>,
    /// The number of the page, from 1, and how many there are.
    pub(crate) page: usize,
    pub(crate) pages: usize,
    /// How many entries come before, and how many there are.
    pub(crate) first: usize,
    pub(crate) all: usize,
    readme: Option<String>,
}

impl Listing {
    pub(crate) fn read(request: &Request<'_>, found: &FoundNode, budget: &Budget) -> Result<Self> {
        let names = request.view.entries(found)?;
        let (all, readme) = (names.len(), readme_of(&names));
        let pages = all.div_ceil(budget::ENTRIES).max(1);
        let page = clamped(request.address.query.page.unwrap_or(1));
        if page == 0 || page > pages {
            return Err(Fault::Missing);
        }
        let first = page.minus(1).times(budget::ENTRIES);
        let shown: Vec<Name> = names.into_iter().skip(first).take(budget::ENTRIES).collect();
        let rows = rows(request, found, shown, budget)?;
        Ok(Self { rows, page, pages, first, all, readme })
    }
}

pub(crate) fn page(request: &Request<'_>, found: &FoundNode) -> Result<Reply> {
    let budget = Budget::new();
    let listing = Listing::read(request, found, &budget)?;
    let last = request.view.change_of(&found.node)?;
    let readme = listing.readme.as_ref().filter(|_| listing.page == 1 && !budget.is_over());
    let readme = match readme {
        Some(name) => readme_body(request, found, name)?,
        None => None,
    };
    let subject = Subject::of(found);
    let body = html! {
        (layout::change(request, &last))
        (table(request, found, &listing.rows))
        @if listing.rows.is_empty() { (layout::note(words::EMPTY)) }
        @if listing.pages > 1 { (page_links(request, found, &listing)) }
        (archives(request, found))
        (file::properties(&found.node)?)
        @if let Some(readme) = readme { (readme) }
    };
    let title = if found.path.is_root() { request.name } else { found.path.as_str() };
    Ok(layout::reply(request, title, Tab::Node, &subject, &body))
}

fn rows(
    request: &Request<'_>,
    found: &FoundNode,
    names: Vec<Name>,
    budget: &Budget,
) -> Result<Vec<Row>> {
    let mut revprops = request.view.revprops();
    let mut rows: Vec<Row> = Vec::with_capacity(names.len());
    let mut messages: BTreeMap<Revnum, Option<String>> = BTreeMap::new();
    for name in names {
        let node = found.node.child(&name.name)?.ok_or(Fault::Missing)?;
        let size = if name.is_dir { None } else { Some(node.length()?) };
        let mut change = request.view.last_change(&mut revprops, &node)?;
        // Many entries have their last change in common.
        if let Entry::Vacant(unread) = messages.entry(change.revision)
            && !budget.is_over()
        {
            let message = request.view.message(change.revision)?;
            unread.insert(message.map(|message| text::first_line(&message)));
        }
        if !budget.is_over() {
            change.message = messages.get(&change.revision).cloned().flatten();
        }
        rows.push(Row { name, size, change });
    }
    Ok(rows)
}

fn table(request: &Request<'_>, found: &FoundNode, rows: &[Row]) -> Markup {
    let links = request.links;
    html! {
        table.list {
            thead { tr {
                th { (words::NAME) } th { (words::LAST_CHANGE) } th.author { (words::AUTHOR) }
                th.age { (words::AGE) } th.size { (words::SIZE) }
            } }
            tbody {
                @if !found.path.is_root() {
                    tr.up { td colspan="5" {
                        a href=(links.tree(found.path.parent(), found.sticky)) title=(words::PARENT) { ".." }
                    } }
                }
                @for row in rows {
                    tr.dir[row.name.is_dir] {
                        td.name { (name(request, found, row)) }
                        td.msg {
                            a href=(links.revision(row.change.revision)) rel="nofollow" {
                                (layout::first_line(row.change.message.as_deref()))
                            }
                        }
                        td.author { (layout::author(row.change.author.as_deref())) }
                        td.age { (times::ago(row.change.date.as_deref(), request.now)) }
                        td.size { @if let Some(size) = row.size { (text::size(size)) } }
                    }
                }
            }
        }
    }
}

fn name(request: &Request<'_>, found: &FoundNode, row: &Row) -> Markup {
    let path = found.path.child(&row.name.name);
    let mark = if row.name.is_dir { "icon folder" } else { "icon file" };
    html! {
        span class=(mark) aria-hidden="true" {}
        a href=(request.links.tree(&path, found.sticky)) {
            bdi { (text::shown(&row.name.name)) } @if row.name.is_dir { "/" }
        }
    }
}

/// The links to archives of a directory.
fn archives(request: &Request<'_>, found: &FoundNode) -> Markup {
    html! {
        div.actions {
            span {}
            (words::ARCHIVE) ":"
            @for form in [ArchiveForm::TarGz, ArchiveForm::Zip] {
                a.button rel="nofollow" download
                    href=(request.links.page(form.as_str(), &found.path, Some(found.revision))) {
                    "." (form.as_str())
                }
            }
        }
    }
}

/// The links to the pages before and after one of many.
fn page_links(request: &Request<'_>, found: &FoundNode, listing: &Listing) -> Markup {
    let Listing { rows, page, pages, first, all, .. } = listing;
    let base = request.links.tree(&found.path, found.sticky);
    let mark = if found.sticky.is_some() { '&' } else { '?' };
    html! {
        nav.pages {
            @if *page > 1 { a rel="nofollow prev" href={ (base) (mark) "page=" (page.minus(1)) } { (words::PREVIOUS_PAGE) } }
            span { (words::entries(first.plus(1), first.plus(rows.len()), *all)) }
            @if page < pages { a rel="nofollow next" href={ (base) (mark) "page=" (page.plus(1)) } { (words::NEXT_PAGE) } }
        }
    }
}

/// The name of the file that introduces a directory.
fn readme_of(names: &[Name]) -> Option<String> {
    let rank = |name: &Name| {
        let lower = name.name.to_ascii_lowercase();
        let known = ["readme.md", "readme.markdown", "readme", "readme.txt"];
        known.iter().position(|known| *known == lower)
    };
    let files = names.iter().filter(|name| !name.is_dir);
    let best = files.filter_map(|name| Some((rank(name)?, name))).min_by_key(|(rank, _)| *rank)?;
    Some(best.1.name.clone())
}

fn readme_body(request: &Request<'_>, found: &FoundNode, name: &str) -> Result<Option<Markup>> {
    let Some(node) = found.node.child(name)? else { return Ok(None) };
    let Some(text) = short_text(&node)? else { return Ok(None) };
    let path = found.path.child(name);
    let base = markdown::Base {
        links: request.links,
        dir: &found.path,
        revision: found.revision,
        sticky: found.sticky,
    };
    let is_markdown = is_markdown(&path);
    Ok(Some(html! {
        section.readme {
            h2 { a href=(request.links.tree(&path, found.sticky)) { bdi { (text::shown(name)) } } }
            @if is_markdown { div.prose { (markdown::render(&text, &base)) } }
            @else { pre { (text) } }
        }
    }))
}

pub(crate) fn is_markdown(path: &FsPath) -> bool {
    let name = path.name().to_ascii_lowercase();
    name.ends_with(".md") || name.ends_with(".markdown")
}

/// The text of a file that is not too long for a README.
fn short_text(node: &Node) -> Result<Option<String>> {
    if node.kind() != NodeKind::File || node.length()? > budget::README {
        return Ok(None);
    }
    Ok(file::text_of(node)?.map(|text| text::of_bytes(&text)))
}
