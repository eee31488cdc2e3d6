//! Writing XML: escapes, and the few kinds of elements that the bodies have.

use sapwood_core::base64;

/// Appends XML to a buffer.
pub trait Xml {
    /// Appends text unchanged.
    fn raw(&mut self, text: &str);

    /// Text between elements.
    fn text(&mut self, text: &str);

    /// Text within an attribute's double quotes.
    fn attribute_text(&mut self, text: &str);

    /// A number.
    fn number(&mut self, number: u64);

    /// A property's value: as text, or with `encoding="base64"` in the start tag when the value holds
    /// bytes that XML cannot. Writes the tag's end, the value and the end tag `</name>`; the tag was
    /// begun before.
    fn value(&mut self, name: &str, value: &[u8]);

    /// ` name="..."`
    fn attribute(&mut self, name: &str, value: &str);

    /// `<name>text</name>`
    fn element(&mut self, name: &str, text: &str);
}

/// Whether XML 1.0 can carry the bytes as text: UTF-8 without control characters. (A carriage
/// return could be carried, but parsers make a newline of it.)
#[must_use]
pub fn is_xml_safe(bytes: &[u8]) -> bool {
    std::str::from_utf8(bytes).is_ok_and(|text| {
        text.chars()
            .all(|c| !matches!(c, '\0'..='\x08' | '\x0b'..='\x1f' | '\u{fffe}' | '\u{ffff}'))
    })
}

/// Whether a byte is escaped in text.
const fn is_special(byte: u8) -> bool {
    matches!(byte, b'<' | b'>' | b'&' | b'\r')
}

/// Whether a byte is escaped in an attribute.
const fn is_special_in_attributes(byte: u8) -> bool {
    is_special(byte) || matches!(byte, b'"' | b'\n' | b'\t')
}

/// Whether a value is text that needs no escapes. Checks all bytes without branches, which compilers turn into a few
/// instructions for many bytes.
fn is_plain(value: &[u8]) -> bool {
    value.iter().fold(true, |plain, byte| {
        plain & matches!(*byte, b' '..=b'~' | b'\n' | b'\t') & !is_special(*byte)
    })
}

/// Appends text, most of which has nothing to escape: all of it is checked first, many bytes at a time.
fn escape(out: &mut Vec<u8>, text: &str, is_special: impl Fn(u8) -> bool) {
    let text = text.as_bytes();
    if text.iter().fold(false, |found, byte| found | is_special(*byte)) {
        escape_each(out, text, is_special);
    } else {
        out.extend_from_slice(text);
    }
}

fn escape_each(out: &mut Vec<u8>, mut rest: &[u8], is_special: impl Fn(u8) -> bool) {
    while let Some(at) = rest.iter().position(|byte| is_special(*byte)) {
        let (before, after) = rest.split_at_checked(at).unwrap_or((rest, &[]));
        out.extend_from_slice(before);
        let (byte, after) = after.split_first().map_or((b'?', after), |(b, rest)| (*b, rest));
        let escaped: &[u8] = match byte {
            b'<' => b"&lt;",
            b'>' => b"&gt;",
            b'&' => b"&amp;",
            b'"' => b"&quot;",
            b'\r' => b"&#13;",
            b'\n' => b"&#10;",
            b'\t' => b"&#9;",
            _ => b"?",
        };
        out.extend_from_slice(escaped);
        rest = after;
    }
    out.extend_from_slice(rest);
}

impl Xml for Vec<u8> {
    fn raw(&mut self, text: &str) {
        self.extend_from_slice(text.as_bytes());
    }

    fn text(&mut self, text: &str) {
        escape(self, text, is_special);
    }

    fn attribute_text(&mut self, text: &str) {
        escape(self, text, is_special_in_attributes);
    }

    fn number(&mut self, number: u64) {
        self.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
    }

    fn value(&mut self, name: &str, value: &[u8]) {
        if is_plain(value) {
            self.raw(">");
            self.extend_from_slice(value);
        } else if let Some(text) = std::str::from_utf8(value).ok().filter(|_| is_xml_safe(value)) {
            self.raw(">");
            self.text(text);
        } else {
            self.raw(" encoding=\"base64\">");
            self.raw(&base64::encode(value));
        }
        self.raw("</");
        self.raw(name);
        self.raw(">\n");
    }

    fn attribute(&mut self, name: &str, value: &str) {
        self.raw(" ");
        self.raw(name);
        self.raw("=\"");
        self.attribute_text(value);
        self.raw("\"");
    }

    fn element(&mut self, name: &str, text: &str) {
        self.raw("<");
        self.raw(name);
        self.raw(">");
        self.text(text);
        self.raw("</");
        self.raw(name);
        self.raw(">\n");
    }
}

/// Text with `?\ddd` in place of characters that XML cannot hold: the reference's form of bytes that it
/// must not send.
#[must_use]
pub fn fuzzy(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            let mut encoded = [0; 4];
            let text = c.encode_utf8(&mut encoded);
            if is_xml_safe(text.as_bytes()) {
                out.push(c);
            } else {
                text.bytes().for_each(|b| out.push_str(&format!("?\\{b:03}")));
            }
        }
        chunk.invalid().iter().for_each(|b| out.push_str(&format!("?\\{b:03}")));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_special_is_escaped_wherever_it_stands() {
        let long = "plain text of some length, with nothing in it";
        for (special, escaped) in [("<", "&lt;"), (">", "&gt;"), ("&", "&amp;"), ("\r", "&#13;")] {
            let mut out = Vec::new();
            out.text(&format!("{special}{long}{special}{special}{long}"));
            out.attribute("a", &format!("{long}\"\n{special}"));
            out.text(long);
            let text = format!(
                "{escaped}{long}{escaped}{escaped}{long} a=\"{long}&quot;&#10;{escaped}\"{long}"
            );
            assert_eq!(String::from_utf8(out).unwrap(), text);
        }
    }

    #[test]
    fn values_that_xml_cannot_carry() {
        let mut out = Vec::new();
        out.raw("<p");
        out.value("p", b"a<b");
        out.raw("<p");
        out.value("p", b"\x01\xff");
        let text = "<p>a&lt;b</p>\n<p encoding=\"base64\">Af8=</p>\n";
        assert_eq!(String::from_utf8(out).unwrap(), text);
        assert_eq!(fuzzy(b"a\x01\xffb"), "a?\\001?\\255b");
    }
}
