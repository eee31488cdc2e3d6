//! The short replies, and the elements of the others.

use sapwood_core::{NodeKind, PropList, Revnum, SvnResult};
use sapwood_delta::{TextDelta, Version, write_svndiff};

use super::Sink;
use super::request::ListFields;
use crate::xml::{HEADER, Xml as _};
use sapwood_core::base64::Encoder;

/// Appends the beginning of a reply; `name` is that of its root element.
pub fn begin(out: &mut Vec<u8>, name: &str) {
    out.raw(HEADER);
    out.raw("<S:");
    out.raw(name);
    out.raw(" xmlns:S=\"svn:\" xmlns:D=\"DAV:\">\n");
}

/// Appends the end of a reply.
pub fn end(out: &mut Vec<u8>, name: &str) {
    out.raw("</S:");
    out.raw(name);
    out.raw(">\n");
}

/// Appends the whole reply that is one revision: `dated-rev-report`, `get-deleted-rev-report`. No
/// revision is -1.
pub fn one_revision(out: &mut Vec<u8>, name: &str, revision: Option<Revnum>) {
    begin(out, name);
    super::log::revision(out, revision);
    end(out, name);
}

/// Appends an element of `get-locations-report`.
pub fn location(out: &mut Vec<u8>, revision: Revnum, path: &str) {
    out.raw("<S:location rev=\"");
    out.number(revision.0);
    out.raw("\"");
    out.attribute("path", path);
    out.raw("/>\n");
}

/// Appends an element of `get-location-segments-report`; without a path it is a gap.
pub fn segment(out: &mut Vec<u8>, path: Option<&str>, start: Revnum, end: Revnum) {
    out.raw("<S:location-segment");
    if let Some(path) = path {
        out.attribute("path", path);
    }
    out.raw(" range-start=\"");
    out.number(start.0);
    out.raw("\" range-end=\"");
    out.number(end.0);
    out.raw("\"/>\n");
}

/// Appends an element of `mergeinfo-report`.
pub fn mergeinfo(out: &mut Vec<u8>, path: &str, info: &str) {
    out.raw("<S:mergeinfo-item>\n");
    out.element("S:mergeinfo-path", path);
    out.element("S:mergeinfo-info", info);
    out.raw("</S:mergeinfo-item>");
}

/// Appends an element of `inherited-props-report`.
pub fn inherited(out: &mut Vec<u8>, path: &str, props: &PropList) {
    out.raw("<S:iprop-item>\n");
    out.element("S:iprop-path", path);
    for (name, value) in props.iter() {
        out.element("S:iprop-propname", name);
        out.raw("<S:iprop-propval");
        out.value("S:iprop-propval", value);
    }
    out.raw("</S:iprop-item>\n");
}

/// A lock as `get-locks-report` sends it.
#[derive(Clone, Copy, Debug)]
pub struct Lock<'a> {
    /// The fspath.
    pub path: &'a str,
    /// The token.
    pub token: &'a str,
    /// When it was created, in the form of `svn:date`.
    pub created: &'a str,
    /// When it expires.
    pub expires: Option<&'a str>,
    /// The user that owns it.
    pub owner: &'a str,
    /// The comment.
    pub comment: Option<&'a str>,
}

/// Appends an element of `get-locks-report`.
pub fn lock(out: &mut Vec<u8>, lock: &Lock<'_>) {
    out.raw("<S:lock>\n");
    out.element("S:path", lock.path);
    out.element("S:token", lock.token);
    out.element("S:creationdate", lock.created);
    if let Some(expires) = lock.expires {
        out.element("S:expirationdate", expires);
    }
    out.raw("<S:owner");
    out.value("S:owner", lock.owner.as_bytes());
    if let Some(comment) = lock.comment {
        out.raw("<S:comment");
        out.value("S:comment", comment.as_bytes());
    }
    out.raw("</S:lock>\n");
}

/// An entry as `list-report` sends it.
#[derive(Clone, Copy, Debug)]
pub struct ListItem<'a> {
    /// The fspath.
    pub path: &'a str,
    /// File or directory.
    pub kind: NodeKind,
    /// A file's length.
    pub size: Option<u64>,
    /// Whether there are properties.
    pub has_props: bool,
    /// The revision of the last change.
    pub created_rev: Revnum,
    /// Its date.
    pub date: &'a str,
    /// Its author.
    pub author: Option<&'a str>,
}

/// Appends an element of `list-report`.
pub fn list_item(out: &mut Vec<u8>, item: &ListItem<'_>, fields: ListFields) {
    out.raw("<S:item node-kind=\"");
    out.raw(match item.kind {
        NodeKind::File => "file",
        NodeKind::Dir => "dir",
    });
    out.raw("\"");
    if let (true, Some(size)) = (fields.size, item.size) {
        out.raw(" size=\"");
        out.number(size);
        out.raw("\"");
    }
    if fields.has_props {
        out.attribute("has-props", if item.has_props { "true" } else { "false" });
    }
    if fields.created_rev {
        out.raw(" created-rev=\"");
        out.number(item.created_rev.0);
        out.raw("\"");
    }
    if fields.date {
        out.attribute("date", item.date);
    }
    out.raw(">");
    out.text(item.path);
    if let (true, Some(author)) = (fields.author, item.author) {
        out.raw("<D:creator-displayname>");
        out.text(&crate::propfind::author(author.as_bytes()));
        out.raw("</D:creator-displayname>");
    }
    out.raw("</S:item>\n");
}

/// Appends a property of `file-revs-report` and of the update report: `element` is `S:rev-prop`
/// or `S:set-prop`; no value is `S:remove-prop`.
pub fn prop(out: &mut Vec<u8>, element: &str, name: &str, value: Option<&[u8]>) {
    out.raw("<");
    out.raw(if value.is_some() { element } else { "S:remove-prop" });
    out.attribute("name", name);
    match value {
        Some(value) => out.value(element, value),
        None => out.raw("/>\n"),
    }
}

/// Bytes that are encoded before the sink is flushed: more would only copy data in memory.
const ENCODED_AT_ONCE: usize = 12 << 10;

/// Writes a text delta as base64 of svndiff. A delta that is stored as svndiff is passed on unchanged.
///
/// # Errors
/// Errors of the delta and of the sink.
pub fn text_delta(
    sink: &mut dyn Sink,
    delta: &mut dyn TextDelta,
    version: Version,
    level: u8,
) -> SvnResult<()> {
    let mut encoder = Encoder::default();
    write_svndiff(delta, version, level, &mut |bytes| {
        for piece in bytes.chunks(ENCODED_AT_ONCE) {
            encoder.write(piece, sink.buffer());
            sink.flush_if_large()?;
        }
        Ok(())
    })?;
    encoder.finish(sink.buffer());
    Ok(())
}
