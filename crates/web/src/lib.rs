//! The web pages of a repository: what is at an address, as a value that a server sends.
//!
//! [`Address`] parses what stands in the URL; [`View`] is all that a page may ask of the repository, by the rights of
//! one user; [`answer`] makes the [`Reply`], [`archive()`] what is sent piece by piece. docs/web.md describes the addresses.
//!
//! Invariants: a page reads the repository through its [`View`] only, which answers for what may not be read as for what
//! is not there ([`Fault::Missing`]). All that is stored is written through `maud`, which escapes it by its type. A page
//! costs no more than its limits (`budget`), and says so where they end it.

mod address;
mod archive;
mod archive_form;
mod blame;
mod branches;
mod budget;
mod bugtraq;
mod code;
mod compare;
mod delta;
mod dir;
mod encoding;
mod fault;
mod feed;
mod file;
mod graph;
mod highlight;
mod history;
mod json;
mod layout;
mod links;
mod locks;
mod markdown;
mod media;
mod pictures;
mod reply;
pub mod repositories;
mod revision;
mod search;
mod search_page;
pub mod site;
pub mod status;
mod style;
mod tag;
mod text;
mod times;
pub mod tokens;
mod view;
pub mod words;
mod wrapping;

#[cfg(test)]
mod tests;

use address::Form;

pub use address::{Address, Kind, Prefix, Query, Section};
pub use archive::{Archive, archive};
pub use fault::{Fault, Result};
pub use links::Links;
pub use locks::Breaks;
pub use media::{Media, media};
pub use reply::Reply;
pub use search::{ChangeHit, Hits, PropertyHit, TextHit};
pub use text::size;
pub use times::{full as full_date, rounded_age, seconds};
pub use view::{Change, View};

/// A request for a page.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// What the user may see.
    pub view: &'a View<'a>,
    /// The address.
    pub address: &'a Address,
    /// Where the pages and the plain addresses of the repository are.
    pub links: &'a Links,
    /// The repository's name, for titles.
    pub name: &'a str,
    /// Seconds since 1970.
    pub now: i64,
    /// Whether the server keeps search indexes.
    pub has_search: bool,
    /// That of the repository, for a search, if there is one that can be used.
    pub index: Option<&'a sapwood_search::Index>,
    /// Who looks at it.
    pub visitor: &'a site::Visitor,
    /// Which locks the visitor may break, if any.
    pub breaker: Option<&'a dyn Breaks>,
}

/// The tag of a page: as long as it is the same, the page is. `None` where a page has none.
///
/// # Errors
/// [`Fault::Missing`] where there is no page for this user; system errors.
pub fn tag(request: &Request<'_>) -> Result<Option<String>> {
    tag::of(request)
}

/// Makes a page.
///
/// # Errors
/// [`Fault::Missing`] where there is no page for this user, [`Fault::Bad`] for numbers that mean nothing; corruption and
/// system errors.
pub fn answer(request: &Request<'_>) -> Result<Reply> {
    let address = request.address;
    if address.form() == Form::Json {
        return json::reply(request);
    }
    match address.kind() {
        Kind::Style => style::reply(address),
        Kind::Home => Ok(Reply::moved(request.links.start())),
        Kind::Revision(revision) => revision::page(request, revision),
        Kind::Tree => {
            let found = request.view.at(address)?;
            match found.node.kind() {
                sapwood_core::NodeKind::Dir => dir::page(request, &found),
                sapwood_core::NodeKind::File => file::page(request, &found),
            }
        }
        Kind::Log => history::page(request),
        Kind::Blame => blame::page(request),
        Kind::Compare => compare::page(request),
        Kind::Feed => feed::reply(request),
        Kind::Search => search_page::page(request),
        Kind::SearchFeed => feed::of_search(request),
        Kind::Locks => locks::page(request),
        Kind::Branches => branches::page(request),
        Kind::Graph => graph::page(request),
        Kind::Archive(_)
        | Kind::Media
        | Kind::Differences(_)
        | Kind::SignIn
        | Kind::Description => Err(Fault::Missing),
    }
}

/// The lines of a text as pages show them, in the colours that the file's name gives them: each as text and as HTML.
#[must_use]
pub fn coloured(path: &sapwood_core::FsPath, text: &[u8]) -> Vec<(String, String)> {
    let text = &encoding::decoded(text.to_vec(), None);
    let first_line = text::lines(text).next().unwrap_or(&[]);
    let mut highlighter = highlight::Highlighter::new(path, first_line);
    let line = |line: &[u8]| {
        let shown = text::line(line);
        let html = code::line(&shown, &highlighter.line(&shown), &[]).into_string();
        (shown, html)
    };
    text::lines(text).map(line).collect()
}
