//! Writing XML: escapes, and the few forms of elements that the bodies have.

use sapwood_core::base64;

/// Appends XML to a buffer.
pub trait Xml {
    /// As it is.
    fn raw(&mut self, text: &str);

    /// Text between elements.
    fn text(&mut self, text: &str);

    /// Text within an attribute's double quotes.
    fn attribute_text(&mut self, text: &str);

    /// A number.
    fn number(&mut self, number: u64);

    /// A property's value: as text, or with `encoding="base64"` in the start tag when it holds
    /// what XML cannot. Writes the tag's end, the value and the end tag `</name>`; the tag was
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

/// What is escaped in text, and in attributes.
const IN_TEXT: u8 = 1;
const IN_ATTRIBUTES: u8 = 2;

/// Where each byte is escaped.
static ESCAPED: [u8; 256] = {
    let mut table = [0; 256];
    let mut at = 0;
    while at < 256 {
        #[allow(clippy::indexing_slicing, clippy::as_conversions)]
        #[allow(clippy::arithmetic_side_effects, clippy::cast_possible_truncation)]
        {
            // While it is compiled.
            table[at] = match at as u8 {
                b'<' | b'>' | b'&' | b'\r' => IN_TEXT | IN_ATTRIBUTES,
                b'"' | b'\n' | b'\t' => IN_ATTRIBUTES,
                _ => 0,
            };
            at += 1;
        }
    }
    table
};

fn escape(out: &mut Vec<u8>, text: &str, place: u8) {
    let is_escaped =
        |byte: &u8| ESCAPED.get(usize::from(*byte)).is_some_and(|places| places & place != 0);
    let mut rest = text.as_bytes();
    while let Some(at) = rest.iter().position(is_escaped) {
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
        escape(self, text, IN_TEXT);
    }

    fn attribute_text(&mut self, text: &str) {
        escape(self, text, IN_ATTRIBUTES);
    }

    fn number(&mut self, number: u64) {
        self.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
    }

    fn value(&mut self, name: &str, value: &[u8]) {
        match std::str::from_utf8(value) {
            Ok(text) if is_xml_safe(value) => {
                self.raw(">");
                self.text(text);
            }
            _ => {
                self.raw(" encoding=\"base64\">");
                self.raw(&base64::encode(value));
            }
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

/// Text with what XML cannot carry shown as `?\ddd`, the reference's way to show what it must not
/// send as it is.
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
