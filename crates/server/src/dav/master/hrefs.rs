//! Addresses in `href` elements of XML, which is processed a piece at a time.
//!
//! Only these elements are parsed; everything else is copied unchanged. Memory is bounded by the longest
//! address.

use super::addresses::AddressMap;

/// A longer address is not one of ours, and is not changed.
const MAX_ADDRESS: usize = 64 << 10;
/// Bytes of an element's name that are checked.
const MAX_NAME: usize = 64;

/// The state of the parser.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Text,
    /// In a tag: the quotes that are open.
    Tag(Option<u8>),
    /// In what ends with such bytes: comments, CDATA, instructions.
    Until(&'static [u8]),
    /// In the text of a `href`.
    Address,
}

/// Rewrites addresses.
#[derive(Debug)]
pub(super) struct Hrefs<'b> {
    moved: AddressMap<'b>,
    /// The server of whole URLs; without one these are left as they are, but for their paths.
    origin: Option<&'b str>,
    state: State,
    /// The beginning of a tag, or an address.
    held: Vec<u8>,
    /// The last bytes, in which an end is looked for.
    last: [u8; 3],
}

impl<'b> Hrefs<'b> {
    pub(super) const fn new(moved: AddressMap<'b>, origin: Option<&'b str>) -> Self {
        Self { moved, origin, state: State::Text, held: Vec::new(), last: [0; 3] }
    }

    /// Takes a piece, and writes what is clear.
    pub(super) fn push(&mut self, piece: &[u8], out: &mut Vec<u8>) {
        for byte in piece {
            self.byte(*byte, out);
        }
    }

    /// There is no more.
    pub(super) fn finish(&mut self, out: &mut Vec<u8>) {
        if self.state == State::Address {
            out.append(&mut self.held);
            self.state = State::Text;
        }
    }

    fn byte(&mut self, byte: u8, out: &mut Vec<u8>) {
        match self.state {
            State::Text => {
                if byte == b'<' {
                    self.held.clear();
                    self.state = State::Tag(None);
                }
                out.push(byte);
            }
            State::Tag(quote) => {
                out.push(byte);
                self.tag(byte, quote);
            }
            State::Until(end) => {
                out.push(byte);
                self.last.rotate_left(1);
                let [.., last] = &mut self.last;
                *last = byte;
                if self.last.ends_with(end) {
                    self.state = State::Text;
                }
            }
            State::Address if byte == b'<' => {
                self.address(out);
                self.held.clear();
                self.state = State::Tag(None);
                out.push(byte);
            }
            State::Address => {
                self.held.push(byte);
                if self.held.len() > MAX_ADDRESS {
                    out.append(&mut self.held);
                    self.state = State::Text;
                }
            }
        }
    }

    /// A byte of a tag.
    fn tag(&mut self, byte: u8, quote: Option<u8>) {
        match (byte, quote) {
            (byte, Some(quote)) if byte == quote => self.state = State::Tag(None),
            (_, Some(_)) => {}
            (b'>', None) => {
                let opens = self.held.last() != Some(&b'/') && is_href(&self.held);
                self.held.clear();
                self.state = if opens { State::Address } else { State::Text };
            }
            (b'"' | b'\'', None) => self.state = State::Tag(Some(byte)),
            (byte, None) => {
                if self.held.len() < MAX_NAME {
                    self.held.push(byte);
                } else if let Some(last) = self.held.last_mut() {
                    // The last byte says whether the element is empty.
                    *last = byte;
                }
                self.last = [0; 3];
                match &*self.held {
                    b"!--" => self.state = State::Until(b"-->"),
                    b"![CDATA[" => self.state = State::Until(b"]]>"),
                    b"?" => self.state = State::Until(b"?>"),
                    _ => {}
                }
            }
        }
    }

    /// Writes an address, rewritten where it is one of the other side.
    fn address(&self, out: &mut Vec<u8>) {
        let Ok(text) = std::str::from_utf8(&self.held) else {
            return out.extend_from_slice(&self.held);
        };
        let address = text.trim();
        let origin = self.origin.unwrap_or("");
        match self.moved.address_in_xml(address, origin) {
            Some(moved) => out.extend_from_slice(text.replacen(address, &moved, 1).as_bytes()),
            None => out.extend_from_slice(&self.held),
        }
    }
}

/// Whether the beginning of a tag opens a `href` of any name space.
fn is_href(tag: &[u8]) -> bool {
    let name = tag.split(|byte| byte.is_ascii_whitespace() || *byte == b'/').next();
    let name = name.unwrap_or(&[]);
    name.rsplit(|byte| *byte == b':').next() == Some(b"href") && !tag.starts_with(b"/")
}

#[cfg(test)]
mod tests {
    use super::super::addresses::Base;
    use super::*;

    /// What becomes of a text, whatever pieces it comes in.
    fn of(text: &str) -> String {
        let (from, to) = (Base::of("svn"), Base::of("mi&rror"));
        let moved = AddressMap { from: &from, to: &to };
        let mut results: Vec<String> = [1, 2, 7, 1000]
            .into_iter()
            .map(|size| {
                let mut hrefs = Hrefs::new(moved, Some("http://here"));
                let mut out = Vec::new();
                text.as_bytes().chunks(size).for_each(|piece| hrefs.push(piece, &mut out));
                hrefs.finish(&mut out);
                String::from_utf8(out).unwrap()
            })
            .collect();
        results.dedup();
        assert_eq!(results.len(), 1, "{results:?}");
        results.remove(0)
    }

    #[test]
    fn addresses_are_rewritten() {
        for (text, wanted) in [
            ("<D:href>/svn/r/f</D:href>", "<D:href>/mi&amp;rror/r/f</D:href>"),
            ("<href a=\"x>y\" >\n /svn/r\n</href>", "<href a=\"x>y\" >\n /mi&amp;rror/r\n</href>"),
            ("<a:href>http://m:1/svn/%20</a:href>", "<a:href>http://here/mi&amp;rror/%20</a:href>"),
            ("<href>/s%76n</href><b/>", "<href>/mi&amp;rror</href><b/>"),
        ] {
            assert_eq!(of(text), wanted);
        }
    }

    #[test]
    fn all_else_stays() {
        for text in [
            "",
            "<href/>/svn/x",
            "<D:href />/svn/x<a>/svn/y</a>",
            "<xhref>/svn/x</xhref><hrefs>/svn/x</hrefs>",
            "<a href=\"/svn/x\">/svn/x</a>",
            "<!-- <href>/svn/x</href> --><?x <href>/svn/x</href>?>",
            "<![CDATA[<href>/svn/x</href>]]>",
            "<href>/svnx/y</href><href>/other</href><href>mailto:x</href>",
            "&lt;href>/svn/x&lt;/href>",
            "<href>/svn/x",
        ] {
            assert_eq!(of(text), text);
        }
        let long = format!("<href>/svn/{}</href>", "x".repeat(MAX_ADDRESS));
        assert_eq!(of(&long), long);
    }
}
