//! The update report: checkout, update, switch, status and diff.
//!
//! The request says what is wanted and, with an `entry` for each node that differs from its
//! parent, what the client has. The reply is a tree of elements. With `send-all` ("bulk") texts
//! and properties are in it; without ("skelta") the client fetches texts one by one.

mod editor;
#[cfg(test)]
mod tests;

use sapwood_core::path::canonical_relpath;
use sapwood_core::{Depth, Revnum, uri};

pub use self::editor::{Style, UpdateEditor};
use crate::NS_SVN;
use crate::error::{Error, Result};
use crate::xml::Element;

/// The parameters of the request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UpdateRequest {
    /// The target revision; `None` for the youngest.
    pub revision: Option<Revnum>,
    /// The URL, or its path, of the directory that the client has.
    pub source: String,
    /// The URL, or its path, to switch to or compare with.
    pub destination: Option<String>,
    /// The one name below the source to update; empty for the source itself.
    pub target: String,
    /// The depth.
    pub depth: Depth,
    /// Whether an unrelated node counts as a change and not as a replacement.
    pub ignore_ancestry: bool,
    /// Whether additions may be sent as copies.
    pub copyfrom: bool,
    /// Whether texts are wanted at all.
    pub text_deltas: bool,
    /// Whether texts come in the reply.
    pub send_all: bool,
    /// Whether properties of additions come in the reply.
    pub include_props: bool,
}

/// One entry of the client's report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Item {
    /// The client has a node.
    Entry {
        /// Where, relative to the target.
        path: String,
        /// The fspath of the node, if that does not follow from its parent.
        link: Option<String>,
        /// The revision.
        revision: Revnum,
        /// The depth.
        depth: Depth,
        /// Whether the client has nothing below it.
        start_empty: bool,
        /// The token of the lock that the client has.
        lock_token: Option<String>,
    },
    /// The client has nothing at a path.
    Missing(String),
}

/// Reads a request, child by child of its root.
#[derive(Debug)]
pub struct ReportReader {
    wanted: UpdateRequest,
    seen_source: bool,
    seen_depth: bool,
    seen_recursive: bool,
}

impl ReportReader {
    /// Begins with the root element.
    #[must_use]
    pub fn new(root: &Element) -> Self {
        let send_all = root.attribute("send-all") == Some("true");
        Self {
            wanted: UpdateRequest {
                revision: None,
                source: String::new(),
                destination: None,
                target: String::new(),
                depth: Depth::Unknown,
                ignore_ancestry: false,
                copyfrom: false,
                text_deltas: true,
                send_all,
                include_props: send_all,
            },
            seen_source: false,
            seen_depth: false,
            seen_recursive: false,
        }
    }

    /// Reads a child. Entries of the client's report are returned; the first of them ends the parameters.
    ///
    /// # Errors
    /// For invalid elements.
    pub fn child(&mut self, element: &Element) -> Result<Option<Item>> {
        if element.namespace != NS_SVN {
            return Ok(None);
        }
        let text = element.trimmed();
        let word =
            |name: &'static str| if text.is_empty() { Err(Error::Element(name)) } else { Ok(text) };
        let wanted = &mut self.wanted;
        match element.name.as_str() {
            "target-revision" => {
                wanted.revision = Revnum::parse(word("target-revision")?.as_bytes());
            }
            "src-path" => {
                wanted.source = word("src-path")?.to_owned();
                self.seen_source = true;
            }
            "dst-path" => wanted.destination = Some(word("dst-path")?.to_owned()),
            "update-target" => wanted.target = super::request::relpath(element)?,
            "depth" => {
                wanted.depth = Depth::from_word(word("depth")?.as_bytes());
                self.seen_depth = true;
            }
            "recursive" if !self.seen_depth => {
                let all = word("recursive")? != "no";
                wanted.depth = if all { Depth::Infinity } else { Depth::Files };
                self.seen_recursive = true;
            }
            "ignore-ancestry" => wanted.ignore_ancestry = word("ignore-ancestry")? != "no",
            "send-copyfrom-args" => wanted.copyfrom = word("send-copyfrom-args")? != "no",
            "text-deltas" => wanted.text_deltas = word("text-deltas")? != "no",
            "include-props" => wanted.include_props |= word("include-props")? != "no",
            "entry" => return entry(element).map(Some),
            "missing" => return Ok(Some(Item::Missing(entry_path(element)?))),
            _ => {}
        }
        Ok(None)
    }

    /// The parameters, once all of them were read.
    ///
    /// # Errors
    /// When the source is missing.
    pub fn wanted(&self) -> Result<UpdateRequest> {
        if !self.seen_source {
            return Err(Error::Address(
                "The request did not contain the '<src-path>' element.\nThis may indicate that \
                 your client is too old",
            ));
        }
        let mut wanted = self.wanted.clone();
        if !self.seen_depth && !self.seen_recursive {
            wanted.depth = Depth::Infinity;
        }
        wanted.text_deltas &= wanted.send_all;
        Ok(wanted)
    }
}

/// The path of an entry. Leading and trailing spaces belong to it.
fn entry_path(element: &Element) -> Result<String> {
    let path = element.text.as_str();
    if *canonical_relpath(path) == *path && !path.split('/').any(|part| part == "..") {
        return Ok(path.to_owned());
    }
    Err(Error::NotCanonical(path.to_owned()))
}

fn entry(element: &Element) -> Result<Item> {
    let revision = element.attribute("rev").ok_or(Error::Element("entry"))?;
    let depth = element.attribute("depth");
    Ok(Item::Entry {
        path: entry_path(element)?,
        link: element.attribute("linkpath").map(str::to_owned),
        revision: Revnum::parse(revision.as_bytes()).ok_or(Error::Element("entry"))?,
        depth: depth.map_or(Depth::Infinity, |word| Depth::from_word(word.as_bytes())),
        start_empty: element.attribute("start-empty").is_some(),
        lock_token: element.attribute("lock-token").map(str::to_owned),
    })
}

/// The path of a URL or of an absolute path, percent-encoded, without a query.
#[must_use]
pub fn path_of(address: &str) -> &str {
    let path = if uri::is_url(address) {
        let rest = address.split_once("://").map_or("", |(_, rest)| rest);
        rest.find('/').and_then(|at| rest.get(at..)).unwrap_or("/")
    } else {
        address
    };
    path.split(['?', '#']).next().unwrap_or("/")
}
