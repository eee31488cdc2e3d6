//! XML as the reference's programs write it: one attribute a line, entities for what is special.

use std::borrow::Cow;

use sapwood_core::base64;
use sapwood_core::exact::Exact;

/// The first line of every document.
pub(crate) const HEADER: &str = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n";

/// The text after an opening tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tag {
    /// A newline, and elements.
    Normal,
    /// Text, which begins right away.
    Text,
    /// Nothing: the element is empty.
    Empty,
}

/// Appends an opening tag.
pub(crate) fn open(out: &mut String, name: &str, tag: Tag, attributes: &[(&str, &str)]) {
    out.push('<');
    out.push_str(name);
    for (name, value) in attributes {
        out.push_str("\n   ");
        out.push_str(name);
        out.push_str("=\"");
        escape(out, value, true);
        out.push('"');
    }
    out.push_str(match tag {
        Tag::Normal => ">\n",
        Tag::Text => ">",
        Tag::Empty => "/>\n",
    });
}

/// Appends a closing tag.
pub(crate) fn close(out: &mut String, name: &str) {
    out.push_str("</");
    out.push_str(name);
    out.push_str(">\n");
}

/// What a character is written as, if not as itself.
const fn entity(c: char, attribute: bool) -> Option<&'static str> {
    Some(match c {
        '&' => "&amp;",
        '<' => "&lt;",
        '>' => "&gt;",
        '\r' => "&#13;",
        '"' if attribute => "&quot;",
        '\'' if attribute => "&apos;",
        '\n' if attribute => "&#10;",
        '\t' if attribute => "&#9;",
        _ => return None,
    })
}

/// Appends text with entities.
pub(crate) fn escape(out: &mut String, text: &str, attribute: bool) {
    for piece in text.split_inclusive(|c| entity(c, attribute).is_some()) {
        let mut chars = piece.chars();
        match chars.next_back().and_then(|last| entity(last, attribute)) {
            Some(entity) => {
                out.push_str(chars.as_str());
                out.push_str(entity);
            }
            None => out.push_str(piece),
        }
    }
}

/// Text in which what XML cannot hold is written as `?\\DDD`, by the codes of its bytes.
pub(crate) fn fuzzy(text: &str) -> Cow<'_, str> {
    let odd = |c: char| c.is_ascii_control() && !matches!(c, '\n' | '\r' | '\t' | '\x7f');
    if !text.contains(odd) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len().plus(8));
    for c in text.chars() {
        if odd(c) {
            out.push_str(&format!("?\\{:03}", u32::from(c)));
        } else {
            out.push(c);
        }
    }
    Cow::Owned(out)
}

/// The value as text, if XML can hold all of it.
fn as_text(value: &[u8]) -> Option<&str> {
    let text = std::str::from_utf8(value).ok()?;
    let plain = |b: u8| !b.is_ascii_control() || matches!(b, b'\t' | b'\n' | b'\r' | 0x7f);
    text.bytes().all(plain).then_some(text)
}

/// Appends a property with its value, in base64 when XML cannot hold it.
pub(crate) fn property(out: &mut String, element: &str, name: &str, value: &[u8]) {
    match as_text(value) {
        Some(text) => {
            open(out, element, Tag::Text, &[("name", name)]);
            escape(out, text, false);
        }
        None => {
            open(out, element, Tag::Text, &[("name", name), ("encoding", "base64")]);
            out.push_str(&base64::encode_lines(value));
        }
    }
    close(out, element);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements() {
        let mut out = String::new();
        open(&mut out, "a", Tag::Normal, &[("x", "<\"'\n>")]);
        property(&mut out, "property", "p", b"a<\r\n");
        property(&mut out, "property", "b", b"a\0b\xff");
        open(&mut out, "e", Tag::Empty, &[]);
        close(&mut out, "a");
        assert_eq!(
            out,
            "<a\n   x=\"&lt;&quot;&apos;&#10;&gt;\">\n<property\n   name=\"p\">a&lt;&#13;\n</property>\n\
             <property\n   name=\"b\"\n   encoding=\"base64\">YQBi/w==\n</property>\n<e/>\n</a>\n"
        );
    }
}
