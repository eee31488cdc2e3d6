//! Properties of other programs than Subversion: any name in any namespace, with a text or with
//! elements as its value.
//!
//! They are kept as properties whose names Subversion's clients can show and set:
//! `dav:NAMESPACE:NAME` where the value is text, `davx:NAMESPACE:NAME` where it is XML. In both parts,
//! each character but ASCII letters, digits, dots and hyphens is `_` and two hexadecimal digits for each byte.
//!
//! Invariant: decoding an encoded name gives the same name, and every encoded name is one that
//! Subversion allows.

use crate::property_name::{Name, is_name};
use crate::xml::{Document, Limits};

/// The prefix of names of properties with text.
const TEXT: &str = "dav:";
/// The prefix of names of properties with XML.
const MARKUP: &str = "davx:";

fn escape(out: &mut String, text: &str) {
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-') {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("_{byte:02X}"));
        }
    }
}

fn unescape(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        rest = rest.get(first.len_utf8()..)?;
        if first == '_' {
            let digits = rest.get(..2).filter(|d| d.bytes().all(|b| b.is_ascii_hexdigit()))?;
            bytes.push(u8::from_str_radix(digits, 16).ok()?);
            rest = rest.get(2..)?;
        } else {
            bytes.push(u8::try_from(first).ok().filter(u8::is_ascii)?);
        }
    }
    String::from_utf8(bytes).ok()
}

/// The Subversion property that holds the value of `name`, which is XML or text.
#[must_use]
pub fn property(name: &Name, is_xml: bool) -> String {
    let mut out = String::from(if is_xml { MARKUP } else { TEXT });
    escape(&mut out, &name.namespace);
    out.push(':');
    escape(&mut out, &name.name);
    out
}

/// The name of which a property holds the value, and whether that is XML; `None` for properties of
/// Subversion.
#[must_use]
pub fn name_of(property: &str) -> Option<(Name, bool)> {
    let (rest, is_xml) = match property.strip_prefix(TEXT) {
        Some(rest) => (rest, false),
        None => (property.strip_prefix(MARKUP)?, true),
    };
    let (namespace, name) = rest.split_once(':')?;
    let name = Name { namespace: unescape(namespace)?, name: unescape(name)? };
    is_name(&name.name).then_some((name, is_xml))
}

/// Whether a value may stand within another element as it is. (Any user may have set the property.)
#[must_use]
pub fn is_sound(value: &[u8]) -> bool {
    let mut whole = b"<x>".to_vec();
    whole.extend_from_slice(value);
    whole.extend_from_slice(b"</x>");
    // A closed root is not enough: it must not close too soon.
    Document::open(&*whole, Limits::default()).is_ok_and(|mut document| {
        loop {
            match document.next_event() {
                Ok(Some(_)) => {}
                Ok(None) => return document.is_over(),
                Err(_) => return false,
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn names() {
        let name = Name::new("http://x.org/a_b/", "prop-é");
        let kept = property(&name, false);
        assert_eq!(kept, "dav:http_3A_2F_2Fx.org_2Fa_5Fb_2F:prop-_C3_A9");
        assert_eq!(name_of(&kept), Some((name.clone(), false)));
        assert_eq!(name_of(&property(&name, true)), Some((name, true)));
        let bare = Name::new("", "p");
        assert_eq!(name_of(&property(&bare, false)), Some((bare, false)));
        for other in ["svn:log", "dav", "dav:", "dav:a", "dav::_", "dav:_2:a", "dav:é:a", "dav::1"]
        {
            assert_eq!(name_of(other), None, "{other}");
        }
    }

    #[test]
    fn values() {
        for sound in ["", "text", "<a xmlns='b'>t<c/></a>", "a<b/>c&amp;"] {
            assert!(is_sound(sound.as_bytes()), "{sound}");
        }
        for bad in ["<a>", "</x><x>", "</x>", "&e;", "<p:a/>", "a & b", "<!DOCTYPE x>"] {
            assert!(!is_sound(bad.as_bytes()), "{bad}");
        }
        assert!(!is_sound(b"\xff"));
    }

    proptest! {
        #[test]
        fn there_and_back(namespace in ".{0,12}", name in "[a-zé][a-z0-9é._:-]{0,8}", xml: bool) {
            let name = Name { namespace, name };
            prop_assert_eq!(name_of(&property(&name, xml)), Some((name, xml)));
        }
    }
}
