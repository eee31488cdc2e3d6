//! The reply to a log report.

use sapwood_core::{NodeKind, Revnum};

use crate::xml::write::fuzzy;
use crate::xml::{HEADER, Xml as _, is_xml_safe};

/// Appends the beginning of the reply.
pub fn begin(out: &mut Vec<u8>) {
    out.raw(HEADER);
    out.raw("<S:log-report xmlns:S=\"svn:\" xmlns:D=\"DAV:\">\n");
}

/// Appends its end.
pub fn end(out: &mut Vec<u8>) {
    out.raw("</S:log-report>\n");
}

/// A changed path.
#[derive(Clone, Copy, Debug)]
pub struct Change<'a> {
    /// The fspath.
    pub path: &'a str,
    /// `A`, `D`, `M` or `R`.
    pub action: u8,
    /// Where it was copied from.
    pub copy_from: Option<(Revnum, &'a str)>,
    /// File or directory, where that is known.
    pub kind: Option<NodeKind>,
    /// Whether the text changed.
    pub text_mod: bool,
    /// Whether properties changed.
    pub prop_mod: bool,
}

/// Appends a changed path.
pub fn change(out: &mut Vec<u8>, change: &Change<'_>) {
    let element = match change.action {
        b'A' => "S:added-path",
        b'R' => "S:replaced-path",
        b'D' => "S:deleted-path",
        _ => "S:modified-path",
    };
    out.raw("<");
    out.raw(element);
    if let (Some((revision, path)), b'A' | b'R') = (change.copy_from, change.action) {
        out.attribute("copyfrom-path", path);
        out.raw(" copyfrom-rev=\"");
        out.number(revision.0);
        out.raw("\"");
    }
    out.raw(" node-kind=\"");
    out.raw(match change.kind {
        Some(NodeKind::File) => "file",
        Some(NodeKind::Dir) => "dir",
        None => "unknown",
    });
    let flag = |on: bool| if on { "true" } else { "false" };
    out.raw("\" text-mods=\"");
    out.raw(flag(change.text_mod));
    out.raw("\" prop-mods=\"");
    out.raw(flag(change.prop_mod));
    out.raw("\">");
    out.text(change.path);
    out.raw("</");
    out.raw(element);
    out.raw(">\n");
}

/// Appends the beginning of an entry. Changed paths follow, then [`revision`].
pub fn begin_entry(out: &mut Vec<u8>) {
    out.raw("<S:log-item>\n");
}

/// Appends the revision; `None` ends a list of merged revisions.
pub fn revision(out: &mut Vec<u8>, revision: Option<Revnum>) {
    out.raw("<D:version-name>");
    match revision {
        Some(revision) => out.number(revision.0),
        None => out.raw("-1"),
    }
    out.raw("</D:version-name>\n");
}

/// Appends a revision property. With `encode`, values that XML cannot hold are sent as base64; clients before
/// 1.8 do not know that, and get escapes.
pub fn revprop(out: &mut Vec<u8>, name: &str, value: &[u8], encode: bool) {
    let element = match name {
        "svn:author" => "D:creator-displayname",
        "svn:date" => "S:date",
        "svn:log" => "D:comment",
        _ => "S:revprop",
    };
    out.raw("<");
    out.raw(element);
    if element == "S:revprop" {
        out.attribute("name", name);
    }
    if encode || is_xml_safe(value) {
        out.value(element, value);
    } else {
        out.value(element, fuzzy(value).as_bytes());
    }
}

/// Appends the end of an entry.
pub fn end_entry(out: &mut Vec<u8>, has_children: bool, subtractive: bool) {
    if has_children {
        out.raw("<S:has-children/>");
    }
    if subtractive {
        out.raw("<S:subtractive-merge/>");
    }
    out.raw("</S:log-item>\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry() {
        let mut out = Vec::new();
        begin_entry(&mut out);
        change(
            &mut out,
            &Change {
                path: "/a&b",
                action: b'A',
                copy_from: Some((Revnum(3), "/c")),
                kind: Some(NodeKind::Dir),
                text_mod: false,
                prop_mod: true,
            },
        );
        revision(&mut out, Some(Revnum(4)));
        revprop(&mut out, "svn:log", b"\x01", true);
        revprop(&mut out, "x", b"\x01", false);
        end_entry(&mut out, true, false);
        assert_eq!(
            String::from_utf8(out).unwrap(),
            "<S:log-item>\n<S:added-path copyfrom-path=\"/c\" copyfrom-rev=\"3\" node-kind=\"dir\" \
             text-mods=\"false\" prop-mods=\"true\">/a&amp;b</S:added-path>\n\
             <D:version-name>4</D:version-name>\n<D:comment encoding=\"base64\">AQ==</D:comment>\n\
             <S:revprop name=\"x\">?\\001</S:revprop>\n<S:has-children/></S:log-item>\n"
        );
    }
}
