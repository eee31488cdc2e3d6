//! XML pieces that several subcommands write.

use sapwood_core::SvnResult;
use sapwood_core::date::Timestamp;
use sapwood_ra::Lock;

use super::out::Out;
use crate::xml::{self, Tag};

/// Writes the begin of a document.
pub(crate) fn header(out: &Out, root: &str) -> SvnResult<()> {
    let mut text = xml::HEADER.to_owned();
    xml::open(&mut text, root, Tag::Normal, &[]);
    out.bytes(text.as_bytes())
}

/// Writes the end of a document.
pub(crate) fn footer(out: &Out, root: &str) -> SvnResult<()> {
    let mut text = String::new();
    xml::close(&mut text, root);
    out.bytes(text.as_bytes())
}

/// Appends an element that is nothing but text.
pub(crate) fn text_element(to: &mut String, name: &str, text: &str) {
    xml::open(to, name, Tag::Text, &[]);
    xml::escape(to, text, false);
    xml::close(to, name);
}

/// The same if there is a text.
pub(crate) fn optional_element(to: &mut String, name: &str, text: Option<&str>) {
    if let Some(text) = text {
        text_element(to, name, text);
    }
}

/// Appends the element about the last change of a node.
pub(crate) fn commit(to: &mut String, revision: &str, author: Option<&str>, date: Option<&str>) {
    xml::open(to, "commit", Tag::Normal, &[("revision", revision)]);
    optional_element(to, "author", author);
    optional_element(to, "date", date);
    xml::close(to, "commit");
}

/// Appends the element about a lock.
pub(crate) fn lock(to: &mut String, lock: &Lock) {
    xml::open(to, "lock", Tag::Normal, &[]);
    text_element(to, "token", &lock.token);
    text_element(to, "owner", &lock.owner);
    optional_element(to, "comment", lock.comment.as_deref());
    text_element(to, "created", &Timestamp(lock.created).to_string());
    if let Some(expires) = lock.expires {
        text_element(to, "expires", &Timestamp(expires).to_string());
    }
    xml::close(to, "lock");
}
