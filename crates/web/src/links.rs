//! Links between pages, and to the plain addresses of files.

use sapwood_core::{FsPath, Revnum, uri};

use crate::address::{Prefix, Section};
use crate::style;
use crate::view::FoundNode;

/// Makes links.
#[derive(Clone, Debug)]
pub struct Links {
    origin: String,
    root: String,
    pages: String,
}

impl Links {
    /// Links of a repository at a percent-encoded path of the server, without a slash at its end.
    #[must_use]
    pub fn new(root: &str, prefix: Prefix) -> Self {
        let pages = format!("{root}{}", prefix.as_str());
        Self { origin: String::new(), root: root.to_owned(), pages }
    }

    /// The same on a server at `origin` (`http://HOST`), for links that are read elsewhere.
    #[must_use]
    pub fn of_server(self, origin: String) -> Self {
        Self { origin, ..self }
    }

    /// The address of a link on this server.
    pub(crate) fn absolute(&self, link: &str) -> String {
        format!("{}{link}", self.origin)
    }

    /// The page of the repository's root.
    #[must_use]
    pub fn start(&self) -> String {
        format!("{}/tree/", self.pages)
    }

    /// The page of a directory: the newest, or that of a revision.
    #[must_use]
    pub fn of_directory(&self, path: &FsPath, revision: Option<Revnum>) -> String {
        self.tree(path, revision)
    }

    /// The page of a revision.
    #[must_use]
    pub fn of_revision(&self, revision: Revnum) -> String {
        self.revision(revision)
    }

    /// The page of the locks on a path and below it.
    #[must_use]
    pub fn of_locks(&self, path: &FsPath) -> String {
        self.page("locks", path, None)
    }

    pub(crate) fn style(&self) -> String {
        format!("{}/style/{}", self.pages, style::name())
    }

    pub(crate) fn icon(&self) -> String {
        format!("{}/style/{}", self.pages, style::icon_name())
    }

    pub(crate) fn script(&self) -> String {
        format!("{}/style/{}", self.pages, style::script_name())
    }

    /// Where a browser is asked for a password, and sent back to a path with its query.
    #[must_use]
    pub fn sign_in(&self, path: &str, query: Option<&str>) -> String {
        let query = query.map_or(String::new(), |query| format!("?{query}"));
        format!("{}/signin?to={}", self.pages, field(&format!("{path}{query}")))
    }

    /// Whether a path of the server is that of the repository, or below it.
    #[must_use]
    pub fn are_of(&self, path: &str) -> bool {
        path.strip_prefix(&self.root).is_some_and(|below| below.starts_with('/'))
    }

    /// A page of a kind about a path, found in a revision.
    pub(crate) fn page(&self, kind: &str, path: &FsPath, peg: Option<Revnum>) -> String {
        let query = peg.map_or(String::new(), |peg| format!("?p={peg}"));
        format!("{}/{kind}{}{query}", self.pages, escaped(path))
    }

    pub(crate) fn tree(&self, path: &FsPath, peg: Option<Revnum>) -> String {
        self.page("tree", path, peg)
    }

    pub(crate) fn log(&self, path: &FsPath, peg: Option<Revnum>) -> String {
        self.page("log", path, peg)
    }

    pub(crate) fn blame(&self, path: &FsPath, peg: Option<Revnum>) -> String {
        self.page("blame", path, peg)
    }

    pub(crate) fn revision(&self, revision: Revnum) -> String {
        format!("{}/rev/{revision}", self.pages)
    }

    /// The comparison of two places.
    pub(crate) fn compare(&self, old: &FoundNode, new: &FoundNode) -> String {
        let page = self.page("compare", &new.path, Some(new.revision));
        format!("{page}&from={}&with={}", old.revision, field(&old.path))
    }

    /// The page of a search: whose words and section, and behind which hit it begins.
    pub(crate) fn search(&self, words: &str, section: Section, after: Option<&str>) -> String {
        let after = after.map_or(String::new(), |after| format!("&after={}", field(after)));
        let (pages, section) = (&self.pages, section.as_str());
        format!("{pages}/search?q={}&in={section}{after}", field(words))
    }

    /// The feed of a search.
    pub(crate) fn search_feed(&self, words: &str, section: Section) -> String {
        format!("{}/search.atom?q={}&in={}", self.pages, field(words), section.as_str())
    }

    /// Where the form of searches leads.
    pub(crate) fn search_form(&self) -> String {
        format!("{}/search", self.pages)
    }

    pub(crate) fn feed(&self, path: &FsPath) -> String {
        self.page("feed", path, None)
    }

    /// An address below the repository's URL.
    pub(crate) fn below_root(&self, below: &str) -> String {
        format!("{}/{below}", self.root)
    }

    /// The bytes of a file, or the plain listing of a directory.
    pub(crate) fn raw(&self, path: &FsPath, peg: Revnum) -> String {
        format!("{}{}?p={peg}", self.root, escaped(path))
    }
}

/// An address with one more field in its query.
pub(crate) fn with_field(mut address: String, field: &str) -> String {
    address.push(if address.contains('?') { '&' } else { '?' });
    address.push_str(field);
    address
}

/// The value of a field in an address.
pub(crate) fn field(text: &str) -> String {
    let mut escaped = String::new();
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'/' => {
                escaped.push(char::from(byte));
            }
            other => escaped += &format!("%{other:02X}"),
        }
    }
    escaped
}

fn escaped(path: &FsPath) -> String {
    if path.is_root() { "/".to_owned() } else { uri::encode(path).into_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_escaped() {
        let links = Links::new("/svn/repo", Prefix::Short);
        let path = FsPath::new("/a b/#?%\"<").unwrap();
        assert_eq!(links.tree(path, Some(Revnum(3))), "/svn/repo/-/tree/a%20b/%23%3F%25%22%3C?p=3");
        assert_eq!(links.raw(path, Revnum(3)), "/svn/repo/a%20b/%23%3F%25%22%3C?p=3");
        assert_eq!(links.start(), "/svn/repo/-/tree/");
        let search = links.search("a&b=\"ü", Section::Texts, Some("/x y"));
        assert_eq!(search, "/svn/repo/-/search?q=a%26b%3D%22%C3%BC&in=texts&after=/x%20y");
        let reserved = Links::new("", Prefix::Reserved);
        assert_eq!(reserved.log(FsPath::ROOT, None), "/!svn/-/log/");
    }
}
