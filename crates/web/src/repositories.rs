//! The list of the repositories in a folder, as a page and as values.
//!
//! Invariant: the server has left out what the visitor may not read; nothing here says that there is any.

use maud::{Markup, html};
use sapwood_core::FsPath;
use sapwood_core::NodeKind;
use serde_json::{Value, json};

use crate::address::Query;
use crate::fault::{Fault, Result};
use crate::links::field;
use crate::reply::Reply;
use crate::site::{self, Visitor};
use crate::view::{Change, View};
use crate::{json as values, layout, text, times, words};

/// Where the values are, below the URL of the folder.
pub const VALUES: &str = "-/api/v1/repositories";
/// Repositories on a page.
pub const PAGE: usize = 100;

/// Which part of the list is asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListQuery {
    /// `q`: words that are parts of the name, upper and lower case alike.
    pub words: String,
    /// `after`: the name behind which the page begins.
    pub after: Option<String>,
}

impl ListQuery {
    /// Parses what follows the `?` of an address.
    ///
    /// # Errors
    /// [`Fault::Bad`] for text that is not UTF-8, or too long.
    pub fn parse(query: Option<&str>) -> Result<Self> {
        const LONGEST: usize = 1_000;
        let Query { words, after, .. } = Query::parse(query)?;
        let words = words.unwrap_or_else(String::new);
        if words.len() > LONGEST {
            return Err(Fault::Bad("The question is too long"));
        }
        Ok(Self { words, after })
    }

    /// The names, of sorted ones, that are behind the pages before and have all the words. What nothing takes is not looked at.
    pub fn of<'n>(&self, names: &'n [String]) -> impl Iterator<Item = &'n String> {
        let after = self.after.as_deref();
        let first = after.map_or(0, |after| names.partition_point(|name| name.as_str() <= after));
        let words = self.words.to_lowercase();
        let has_all = move |name: &str| {
            let mut words = words.split_whitespace().peekable();
            if words.peek().is_none() {
                return true;
            }
            let lower = name.to_lowercase();
            words.all(|word| lower.contains(word))
        };
        names.iter().skip(first).filter(move |name| has_all(name))
    }

    /// The address of a page with the same words.
    fn at(&self, after: Option<&str>) -> String {
        let after = after.map_or(String::new(), |after| format!("&after={}", field(after)));
        format!("?q={}{after}", field(&self.words))
    }
}

/// A repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedRepository {
    /// Its name.
    pub name: String,
    /// The path of its URL, percent-encoded, with a slash at its end.
    pub url: String,
    /// The last change; `None` where it cannot be read now.
    pub change: Option<Change>,
    /// The page of that change, where the repository has pages.
    pub page: Option<String>,
}

/// A page of the list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RepositoryList {
    /// What the folder is called.
    pub title: String,
    /// What was asked for.
    pub query: ListQuery,
    /// What is on the page, by name.
    pub rows: Vec<ListedRepository>,
    /// Whether there are more behind it.
    pub are_more: bool,
}

/// The last change of a repository, as its page shows it: that of its root.
///
/// # Errors
/// [`Fault::Missing`] where the root may not be read; corruption and system errors.
pub fn last_change(view: &View<'_>) -> Result<Change> {
    let found = view.find(FsPath::ROOT, None, None)?;
    debug_assert!(found.node.kind() == NodeKind::Dir, "a root is a directory");
    view.last_change(&mut view.revprops(), &found.node)
}

impl RepositoryList {
    /// The name behind which the next page begins.
    fn next(&self) -> Option<&str> {
        self.rows.last().filter(|_| self.are_more).map(|row| row.name.as_str())
    }

    /// The page. `now`: seconds since 1970.
    #[must_use]
    pub fn page(&self, visitor: &Visitor, now: i64) -> Reply {
        let rel = if self.is_index() { "next" } else { "nofollow next" };
        let body = html! {
            @if self.is_long() { (self.form()) }
            @if self.rows.is_empty() { p.note { (words::NOTHING_FOUND) } }
            @else { (self.table(now)) }
            nav.pages {
                @if self.query.after.is_some() { a rel="nofollow" href=(self.query.at(None)) { (words::FIRST_PAGE) } }
                @if let Some(next) = self.next() { a rel=(rel) href=(self.query.at(Some(next))) { (words::NEXT_PAGE) } }
            }
        };
        site::page_with_script(&self.title, visitor, &body, self.is_index())
    }

    /// Whether crawlers may find it: of what may be asked for there is no end.
    fn is_index(&self) -> bool {
        self.query.words.is_empty()
    }

    /// Whether one would search in it.
    fn is_long(&self) -> bool {
        const FEW: usize = 8;
        self.are_more || self.rows.len() > FEW || self.query != ListQuery::default()
    }

    fn form(&self) -> Markup {
        html! {
            form.search.search-names role="search" {
                input name="q" type="search" aria-label=(words::SEARCH) value=(text::shown(&self.query.words)) maxlength="1000";
                button { (words::SEARCH) }
            }
        }
    }

    fn table(&self, now: i64) -> Markup {
        html! {
            table.list {
                thead { tr { th { (words::NAME) } th { (words::LAST_CHANGE) } th.author { (words::AUTHOR) } th.age { (words::AGE) } } }
                tbody { @for row in &self.rows { (Self::row(row, now)) } }
            }
        }
    }

    fn row(row: &ListedRepository, now: i64) -> Markup {
        let ListedRepository { name, url, change, page } = row;
        html! {
            tr.dir {
                td.name { a href=(url) { (text::shown(name)) } }
                @match change {
                    Some(change) => {
                        td.msg {
                            @match page {
                                Some(page) => a href=(page) rel="nofollow" { (words::revision(change.revision)) },
                                None => (words::revision(change.revision)),
                            }
                        }
                        td.author { (layout::author(change.author.as_deref())) }
                        td.age { (times::ago(change.date.as_deref(), now)) }
                    },
                    None => td.dim colspan="3" { (words::NOT_READABLE) },
                }
            }
        }
    }

    /// The same as JSON; `openapi.json` describes it as `Repositories`.
    #[must_use]
    pub fn values(&self) -> Reply {
        let change = |change: &Change| json!({ "revision": change.revision.0, "author": change.author, "date": change.date });
        let one = |row: &ListedRepository| json!({ "name": row.name, "url": row.url, "last_change": row.change.as_ref().map(change) });
        let all: Vec<Value> = self.rows.iter().map(one).collect();
        values::as_json(json!({ "repositories": all, "next": self.next() }).to_string())
    }
}
