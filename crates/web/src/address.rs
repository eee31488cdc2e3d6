//! Addresses of pages: what stands behind the repository's URL, parsed.
//!
//! `/-/KIND/PATH?p=PEG&r=REVISION` (docs/web.md). `p` and `r` mean what they mean in plain addresses. Invariant: an
//! address has a path that is canonical, without `..`.

use sapwood_core::paths::FsPathBuf;
use sapwood_core::{FsPath, Revnum, uri};

use crate::archive_form::ArchiveForm;
use crate::fault::{Fault, Result};

/// Where pages are, below the repository's URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Prefix {
    /// `/-`, unless the repository has a folder of that name.
    Short,
    /// `/!svn/-`, where no path of a repository can be.
    Reserved,
}

impl Prefix {
    /// The prefix of a percent-encoded path below a repository's URL, and what follows it.
    #[must_use]
    pub fn split(below: &str) -> Option<(Self, &str)> {
        [Self::Short, Self::Reserved].into_iter().find_map(|prefix| {
            let rest = below.strip_prefix(prefix.as_str())?;
            (rest.is_empty() || rest.starts_with('/')).then_some((prefix, rest))
        })
    }

    /// As it stands in addresses.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Short => "/-",
            Self::Reserved => "/!svn/-",
        }
    }
}

/// The kinds of pages.
#[derive(Clone, Copy, Debug, Hash, PartialEq, Eq)]
pub enum Kind {
    /// `/-/`: leads to the root.
    Home,
    /// `tree/PATH`: a directory or a file.
    Tree,
    /// `log/PATH`: its history.
    Log,
    /// `blame/PATH`: who changed each line.
    Blame,
    /// `compare/PATH`: differences to another place.
    Compare,
    /// `feed/PATH`: the newest changes, for programs that read news.
    Feed,
    /// `rev/N`: a revision.
    Revision(Revnum),
    /// `api/v1/diff/N`: the differences that a revision made, for programs; people see them on its page.
    Differences(Revnum),
    /// `locks/PATH`: who has locked what is there.
    Locks,
    /// `tar.gz/PATH` and `zip/PATH`: all that is in a directory, as one file.
    Archive(ArchiveForm),
    /// `media/PATH`: the bytes of what browsers show or play within a page.
    Media,
    /// `branches/PATH`: the branches and tags of a project.
    Branches,
    /// `graph/PATH`: their copies and merges.
    Graph,
    /// `search`: what has some words in it.
    Search,
    /// `search.atom`: the newest revisions that have them, for programs that read news.
    SearchFeed,
    /// `style/DIGEST.css` and `style/DIGEST.svg`.
    Style,
    /// `signin`: asks a browser for a password, and sends it back. The server answers it.
    SignIn,
    /// `api/v1/openapi.json`: the description of the JSON.
    Description,
}

/// What a page is sent as.
#[derive(Clone, Copy, Debug, Hash, PartialEq, Eq)]
pub(crate) enum Form {
    /// For people.
    Html,
    /// For programs: the same values, below `api/v1`.
    Json,
}

impl Kind {
    /// Whether such a page is about a path; others are about a revision, or about nothing stored.
    #[must_use]
    pub const fn has_path(self) -> bool {
        !matches!(
            self,
            Self::Home
                | Self::Revision(_)
                | Self::Differences(_)
                | Self::Search
                | Self::SearchFeed
                | Self::Style
                | Self::SignIn
                | Self::Description
        )
    }

    /// Whether it is made of a search: it follows the index, not the newest revision.
    #[must_use]
    pub const fn is_search(self) -> bool {
        matches!(self, Self::Search | Self::SearchFeed)
    }
}

/// Where something is searched for.
#[derive(Clone, Copy, Debug, Default, Hash, PartialEq, Eq)]
pub enum Section {
    /// Everywhere: a few hits of each kind.
    #[default]
    All,
    /// `paths`: names of files and directories.
    Paths,
    /// `revisions`: log messages and authors.
    Revisions,
    /// `texts`: texts of files.
    Texts,
    /// `properties`: properties of files and directories.
    Properties,
    /// `changes`: lines that were added or removed.
    Changes,
}

impl Section {
    /// As it stands in addresses.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::All => "all",
            Self::Paths => "paths",
            Self::Revisions => "revisions",
            Self::Texts => "texts",
            Self::Properties => "properties",
            Self::Changes => "changes",
        }
    }

    /// The one that stands in an address so.
    ///
    /// # Errors
    /// [`Fault::Bad`]: there is none.
    pub fn named(name: &str) -> Result<Self> {
        let kinds = [Self::All, Self::Paths, Self::Revisions, Self::Texts];
        let mut all = kinds.into_iter().chain([Self::Properties, Self::Changes]);
        let found = all.find(|one| one.as_str() == name);
        found.ok_or(Fault::Bad("There is no such kind of search"))
    }
}

/// What becomes of lines that are longer than the page is wide.
#[derive(Clone, Copy, Debug, Default, Hash, PartialEq, Eq)]
pub enum Wrap {
    /// They go on below.
    #[default]
    Below,
    /// They go on to the right.
    Beside,
}

/// What follows the `?`.
#[derive(Clone, Debug, Default, Hash, PartialEq, Eq)]
pub struct Query {
    /// `p`: the revision in which the path is looked up.
    pub peg: Option<Revnum>,
    /// `r`: the revision that is shown of what was found.
    pub revision: Option<Revnum>,
    /// `l`: the first and the last line of a range, from 1.
    pub lines: Option<(u64, u64)>,
    /// `from`: the older revision of a comparison.
    pub from: Option<Revnum>,
    /// `with`: the path of the older side, if it is another.
    pub with: Option<FsPathBuf>,
    /// `page`: the number of the page, from 1.
    pub page: Option<u64>,
    /// `q`: what is searched for.
    pub words: Option<String>,
    /// `in`: where it is searched for.
    pub section: Section,
    /// `view=split`: both sides of differences beside each other.
    pub is_split: bool,
    /// `w=1`: white space does not count in differences.
    pub ignores_space: bool,
    /// `wrap=0`: long lines are not wrapped.
    pub wrap: Wrap,
    /// `g=1`: blame looks into merges.
    pub merges: bool,
    /// `after`: the hit behind which the page begins.
    pub after: Option<String>,
    /// `to`: where a browser goes after it was asked for a password.
    pub to: Option<String>,
}

/// The address of a page.
#[derive(Clone, Debug, Hash, PartialEq, Eq)]
pub struct Address {
    kind: Kind,
    form: Form,
    path: FsPathBuf,
    name: String,
    /// What follows the `?`.
    pub query: Query,
}

impl Address {
    /// Parses what follows the prefix, percent-encoded; `None` where no kind of page is named.
    ///
    /// # Errors
    /// [`Fault::Bad`] for numbers and paths that mean nothing.
    pub fn parse(rest: &str, query: Option<&str>) -> Result<Option<Self>> {
        let inner = rest.strip_prefix('/').unwrap_or(rest);
        let (form, inner) = match inner.strip_prefix("api/v1/") {
            Some(inner) => (Form::Json, inner),
            None => (Form::Html, inner),
        };
        let (word, below) = inner.split_once('/').unwrap_or((inner, ""));
        let kind = match word {
            "tree" => Kind::Tree,
            "log" => Kind::Log,
            "blame" => Kind::Blame,
            "locks" => Kind::Locks,
            "branches" => Kind::Branches,
            "graph" => Kind::Graph,
            "search" if below.is_empty() => Kind::Search,
            "rev" => Kind::Revision(number(below.trim_end_matches('/'))?),
            "compare" => Kind::Compare,
            "diff" if form == Form::Json => Kind::Differences(number(below.trim_end_matches('/'))?),
            "openapi.json" if form == Form::Json && below.is_empty() => Kind::Description,
            _ if form == Form::Json => return Ok(None),
            "" if below.is_empty() => Kind::Home,
            "feed" => Kind::Feed,
            "search.atom" if below.is_empty() => Kind::SearchFeed,
            "tar.gz" => Kind::Archive(ArchiveForm::TarGz),
            "media" => Kind::Media,
            "zip" => Kind::Archive(ArchiveForm::Zip),
            "style" => Kind::Style,
            "signin" if below.is_empty() => Kind::SignIn,
            _ => return Ok(None),
        };
        let has_path = kind.has_path();
        let path = if has_path { path(below)? } else { FsPath::ROOT.to_owned() };
        Ok(Some(Self { kind, form, path, name: below.to_owned(), query: Query::parse(query)? }))
    }

    /// The kind.
    #[must_use]
    pub const fn kind(&self) -> Kind {
        self.kind
    }

    /// Whether it is that of a page of locks.
    #[must_use]
    pub fn is_page_of_locks(&self) -> bool {
        self.kind == Kind::Locks && self.form == Form::Html
    }

    pub(crate) const fn form(&self) -> Form {
        self.form
    }

    /// The path that the page is about; the root, where it is about none.
    #[must_use]
    pub fn path(&self) -> &FsPath {
        &self.path
    }

    /// What follows the kind, as it was sent.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }
}

impl Query {
    pub(crate) fn parse(query: Option<&str>) -> Result<Self> {
        let mut parsed = Self::default();
        let parts = query.unwrap_or("").split('&').filter_map(|part| part.split_once('='));
        // A form sends its empty fields too.
        for (name, value) in parts.filter(|(_, value)| !value.is_empty()) {
            match name {
                "p" => parsed.peg = Some(number(value)?),
                "r" => parsed.revision = Some(number(value)?),
                "from" => parsed.from = Some(number(value)?),
                "with" => parsed.with = Some(canonical(&field(value)?)?),
                "page" => parsed.page = Some(number(value)?.0),
                "l" => parsed.lines = Some(lines(value)?),
                "q" => parsed.words = Some(field(value)?),
                "in" => parsed.section = Section::named(value)?,
                "view" => parsed.is_split = is(value, "split", "unified")?,
                "wrap" if is(value, "0", "1")? => parsed.wrap = Wrap::Beside,
                "g" => parsed.merges = is(value, "1", "0")?,
                "w" => parsed.ignores_space = is(value, "1", "0")?,
                "after" => parsed.after = Some(field(value)?),
                "to" => parsed.to = Some(field(value)?),
                _ => {}
            }
        }
        Ok(parsed)
    }
}

fn number(text: &str) -> Result<Revnum> {
    let text = text.strip_prefix('r').unwrap_or(text);
    Revnum::parse(text.as_bytes()).ok_or(Fault::Bad("There is no such number"))
}

/// Whether a field has the one value, and not the other.
fn is(value: &str, yes: &str, no: &str) -> Result<bool> {
    match value {
        _ if value == yes => Ok(true),
        _ if value == no => Ok(false),
        _ => Err(Fault::Bad("A field has a value that means nothing")),
    }
}

fn lines(text: &str) -> Result<(u64, u64)> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let (first, last) = (number(first)?.0, number(last)?.0);
    if first == 0 || last < first {
        return Err(Fault::Bad("There is no such range of lines"));
    }
    Ok((first, last))
}

/// The text of a field of a form.
fn field(value: &str) -> Result<String> {
    uri::decode_utf8(&value.replace('+', " ")).ok_or(Fault::Bad("The text is not UTF-8"))
}

/// The canonical path of percent-encoded text.
fn path(text: &str) -> Result<FsPathBuf> {
    canonical(&uri::decode_utf8(text).ok_or(BAD_PATH)?)
}

const BAD_PATH: Fault = Fault::Bad("The path is not UTF-8, or has a '..' or a NUL byte");

fn canonical(path: &str) -> Result<FsPathBuf> {
    if path.contains('\0') || path.split('/').any(|part| part == "..") {
        return Err(BAD_PATH);
    }
    Ok(FsPathBuf::canonicalize(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(rest: &str, query: &str) -> Option<Address> {
        Address::parse(rest, Some(query)).unwrap()
    }

    #[test]
    fn prefixes() {
        assert_eq!(Prefix::split("/-/tree/a"), Some((Prefix::Short, "/tree/a")));
        assert_eq!(Prefix::split("/-"), Some((Prefix::Short, "")));
        assert_eq!(Prefix::split("/!svn/-/log"), Some((Prefix::Reserved, "/log")));
        for path in ["/-x/tree", "/a/-/tree", "", "/", "/!svn/me", "/%2d/tree"] {
            assert_eq!(Prefix::split(path), None, "{path}");
        }
    }

    #[test]
    fn kinds_and_paths() {
        let address = parsed("/tree/a%20b//c/", "p=12&r=3&l=5-9").unwrap();
        assert_eq!((address.kind(), address.path().as_str()), (Kind::Tree, "/a b/c"));
        assert_eq!(address.query.peg, Some(Revnum(12)));
        assert_eq!(address.query.revision, Some(Revnum(3)));
        assert_eq!(address.query.lines, Some((5, 9)));
        assert_eq!(parsed("/rev/r7", "").unwrap().kind(), Kind::Revision(Revnum(7)));
        assert_eq!(parsed("/", "").unwrap().kind(), Kind::Home);
        assert_eq!(parsed("/log", "p=").unwrap().path().as_str(), "/");
        let json = parsed("/api/v1/tree/a?", "").unwrap();
        assert_eq!((json.kind(), json.form()), (Kind::Tree, Form::Json));
        assert_ne!(Some(json), parsed("/tree/a?", ""));
        assert_eq!(parsed("/api/v1/openapi.json", "").unwrap().kind(), Kind::Description);
        for none in ["/api/v1/", "/api/v2/tree", "/api/v1/feed", "/openapi.json", "/api"] {
            assert_eq!(parsed(none, ""), None, "{none}");
        }
        let search = parsed("/search", "q=a+b%2B&in=texts").unwrap();
        assert_eq!((search.kind(), search.query.section), (Kind::Search, Section::Texts));
        assert_eq!(search.query.words.as_deref(), Some("a b+"));
        assert_eq!(parsed("/search/x", ""), None);
        assert_eq!(parsed("/unknown/x", ""), None);
        assert_eq!(parsed("/trees", ""), None);
    }

    #[test]
    fn what_means_nothing() {
        for (rest, query) in [
            ("/tree/../x", ""),
            ("/tree/a/%2e%2e/b", ""),
            ("/tree/a%00", ""),
            ("/tree/%ff", ""),
            ("/rev/x", ""),
            ("/rev/99999999999999999999", ""),
            ("/tree", "p=-1"),
            ("/tree", "l=9-5"),
            ("/tree", "l=0"),
            ("/rev/1", "view=both"),
            ("/rev/1", "w=yes"),
            ("/rev/1", "wrap=2"),
            ("/search", "in=nothing"),
            ("/search", "q=%ff"),
            ("/compare", "with=/../x"),
        ] {
            assert!(
                matches!(Address::parse(rest, Some(query)), Err(Fault::Bad(_))),
                "{rest}?{query}"
            );
        }
    }
}
