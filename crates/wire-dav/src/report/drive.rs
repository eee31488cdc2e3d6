//! Replies that drive an editor: [`update`] (update reports), [`replay`] (replayed revisions), and
//! [`file_revs`] (a series of texts).
//!
//! Invariant: only a piece of a reply is in memory at a time: an element's attributes, a
//! property, a window of a text; of open directories only the names. Names that would lead out of the
//! directory are refused here, whatever the editor does.

pub mod file_revs;
pub mod replay;
mod text;
pub mod update;

use sapwood_core::paths::RelPath;
use sapwood_core::{Md5, PropList, Revnum, SvnResult};
use sapwood_delta::TextDelta;

pub use text::Text;

use crate::error::{Error, Result};
use crate::xml::Element;

/// The greatest depth of directories in an edit.
pub const MAX_DEPTH: usize = 100_000;

/// The most bytes of a property's value or checksum.
const MAX_VALUE: usize = 1 << 30;

/// Fetches what a report without texts ("skelta") only names. All addresses are as the server sent
/// them.
#[allow(clippy::missing_errors_doc, reason = "all: errors of the connection and of `take`")]
pub trait Fetch {
    /// The properties of a node, those of its last change (`svn:entry:...`) among them.
    fn props(&mut self, address: &str) -> SvnResult<PropList>;

    /// Whether more texts may be announced.
    fn has_room(&self) -> bool {
        false
    }

    /// The address of the client's own text of the file that is now at `address` and was there, by the same
    /// path, in `revision`; `None` if that is not known, or not wanted.
    fn base(&self, _address: &str, _revision: Revnum) -> Option<String> {
        None
    }

    /// The text at `address` will be fetched, with that base, after all that were announced before.
    fn announce(&mut self, _address: &str, _base: Option<&str>) {}

    /// Passes a file's text to `take`, as a delta against nothing, or against the text at `base`.
    fn text(
        &mut self,
        address: &str,
        base: Option<&str>,
        take: &mut dyn FnMut(&mut dyn TextDelta) -> SvnResult<()>,
    ) -> SvnResult<()>;
}

/// The attribute that names a child of a directory.
fn child_name(element: &Element) -> Result<&str> {
    let name = element.attribute("name").unwrap_or("");
    if name.is_empty() || name == "." || name == ".." || name.contains(['/', '\0']) {
        return Err(Error::ReplyPath(name.to_owned()));
    }
    Ok(name)
}

/// The attribute that is a path below the edit's root.
fn below_name(element: &Element) -> Result<&RelPath> {
    let name = element.attribute("name").ok_or(Error::Reply("name"))?;
    match RelPath::new(name) {
        Ok(path) if !path.is_root() && !path.names().any(|part| matches!(part, "." | "..")) => {
            Ok(path)
        }
        _ => Err(Error::ReplyPath(name.to_owned())),
    }
}

/// A revision; `None` for -1 and for a missing attribute.
fn revision(element: &Element, name: &'static str) -> Result<Option<Revnum>> {
    match element.attribute(name).map(str::trim) {
        None | Some("" | "-1") => Ok(None),
        Some(text) => Revnum::parse(text.as_bytes()).map(Some).ok_or(Error::Reply(name)),
    }
}

/// Where something was copied from.
fn copy_from(element: &Element) -> Result<Option<(&str, Revnum)>> {
    match element.attribute("copyfrom-path") {
        None => Ok(None),
        Some(path) => {
            let revision =
                revision(element, "copyfrom-rev")?.ok_or(Error::Reply("copyfrom-rev"))?;
            Ok(Some((path, revision)))
        }
    }
}

fn md5(text: &str) -> Result<Md5> {
    Md5::parse(text.trim().as_bytes()).ok_or(Error::Reply("checksum"))
}

#[cfg(test)]
mod tests;
