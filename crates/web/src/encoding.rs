//! Texts in UTF-16, as UTF-8: by the mark at their beginning, or the `charset` of `svn:mime-type`.
//!
//! Invariant: what comes out is UTF-8 where the text was UTF-16, wherever its pieces end; all else comes out as it is.

use std::borrow::Cow;

use sapwood_core::exact::Exact as _;

/// The marks at the beginning of texts: U+FEFF in both orders of bytes.
const LITTLE: [u8; 2] = [0xff, 0xfe];
const BIG: [u8; 2] = [0xfe, 0xff];

/// The order of the bytes of UTF-16.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Order {
    Little,
    Big,
}

/// What a text is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Encoding {
    /// UTF-8, or else one character a byte.
    Bytes,
    Utf16(Order),
}

/// Whether a text begins as one in UTF-16 does. Four bytes are enough: the mark of UTF-32 begins like that of UTF-16.
pub(crate) fn begins_as_utf16(begin: &[u8]) -> bool {
    let is_utf32 = begin.starts_with(&[0xff, 0xfe, 0, 0]);
    !is_utf32 && (begin.starts_with(&LITTLE) || begin.starts_with(&BIG))
}

/// The encoding that a media type names, if that is UTF-16.
fn named(media: Option<&str>) -> Option<Order> {
    let lower = media?.to_ascii_lowercase();
    let parameters = lower.split(';').skip(1);
    let charset = parameters.filter_map(|one| one.trim().strip_prefix("charset=")).next()?;
    match charset.trim_matches('"') {
        "utf-16le" => Some(Order::Little),
        // Without a mark, it is the order of networks.
        "utf-16" | "utf-16be" => Some(Order::Big),
        _ => None,
    }
}

/// A text that comes in pieces.
#[derive(Debug)]
pub(crate) struct Decoder {
    named: Option<Order>,
    encoding: Option<Encoding>,
    /// Bytes that were not enough: of the beginning, or of a character.
    rest: Vec<u8>,
    /// Whether its first character has come out: a mark before it is no part of the text.
    is_begun: bool,
}

impl Decoder {
    /// Of a text whose `svn:mime-type` is this one.
    pub(crate) fn new(media: Option<&str>) -> Self {
        Self { named: named(media), encoding: None, rest: Vec::new(), is_begun: false }
    }

    /// The next piece.
    pub(crate) fn piece<'p>(&mut self, piece: &'p [u8]) -> Cow<'p, [u8]> {
        self.next(piece, false)
    }

    /// What is left at the end of the text.
    pub(crate) fn end(&mut self) -> Vec<u8> {
        self.next(&[], true).into_owned()
    }

    fn next<'p>(&mut self, piece: &'p [u8], is_end: bool) -> Cow<'p, [u8]> {
        let bytes: Cow<'p, [u8]> = if self.rest.is_empty() {
            Cow::Borrowed(piece)
        } else {
            Cow::Owned([std::mem::take(&mut self.rest).as_slice(), piece].concat())
        };
        let encoding = match self.encoding {
            Some(encoding) => encoding,
            None if bytes.len() < 4 && !is_end => {
                self.rest = bytes.into_owned();
                return Cow::Borrowed(&[]);
            }
            None => *self.encoding.insert(self.of(&bytes)),
        };
        match encoding {
            Encoding::Bytes => bytes,
            Encoding::Utf16(order) => Cow::Owned(self.decoded(&bytes, order, is_end)),
        }
    }

    /// The encoding of a text that begins so.
    fn of(&self, begin: &[u8]) -> Encoding {
        match (begins_as_utf16(begin), self.named) {
            (true, _) if begin.starts_with(&LITTLE) => Encoding::Utf16(Order::Little),
            (true, _) => Encoding::Utf16(Order::Big),
            (false, Some(order)) => Encoding::Utf16(order),
            (false, None) => Encoding::Bytes,
        }
    }

    /// As UTF-8, without marks; keeps the beginning of a character that is not whole yet.
    fn decoded(&mut self, bytes: &[u8], order: Order, is_end: bool) -> Vec<u8> {
        let mut units: Vec<u16> =
            bytes.chunks_exact(2).filter_map(|pair| unit(pair, order)).collect();
        let odd = bytes.len() % 2;
        let is_open = units.last().is_some_and(|last| (0xd800..0xdc00).contains(last));
        let kept = if is_end { 0 } else { odd.plus(if is_open { 2 } else { 0 }) };
        if is_open && !is_end {
            units.pop();
        }
        self.rest = bytes.get(bytes.len().minus(kept)..).unwrap_or(&[]).to_vec();
        let mark = !self.is_begun && units.first() == Some(&0xfeff);
        self.is_begun |= !units.is_empty();
        let units = units.into_iter().skip(usize::from(mark));
        let characters = char::decode_utf16(units);
        let mut text: String =
            characters.map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER)).collect();
        if is_end && odd > 0 {
            text.push(char::REPLACEMENT_CHARACTER);
        }
        text.into_bytes()
    }
}

fn unit(pair: &[u8], order: Order) -> Option<u16> {
    let pair = pair.try_into().ok()?;
    Some(match order {
        Order::Little => u16::from_le_bytes(pair),
        Order::Big => u16::from_be_bytes(pair),
    })
}

/// A whole text as UTF-8, if it is in UTF-16, and otherwise as it is.
pub(crate) fn decoded(bytes: Vec<u8>, media: Option<&str>) -> Vec<u8> {
    let mut decoder = Decoder::new(media);
    if decoder.of(&bytes) == Encoding::Bytes {
        return bytes;
    }
    let mut text = decoder.piece(&bytes).into_owned();
    text.extend(decoder.end());
    text
}

#[cfg(test)]
pub(crate) mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A text in UTF-16 with its mark.
    pub(crate) fn utf16(text: &str, is_little: bool) -> Vec<u8> {
        let units = std::iter::once(0xfeff).chain(text.encode_utf16());
        let bytes = |unit: u16| if is_little { unit.to_le_bytes() } else { unit.to_be_bytes() };
        units.flat_map(bytes).collect()
    }

    #[test]
    fn texts_are_what_their_marks_and_types_say() {
        assert_eq!(decoded(utf16("ä\n🌲", true), None), "ä\n🌲".as_bytes());
        assert_eq!(
            decoded(utf16("ä\n🌲", false), Some("text/plain; charset=utf-16le")),
            "ä\n🌲".as_bytes()
        );
        let plain = utf16("ab", false).split_off(2);
        assert_eq!(decoded(plain.clone(), Some("text/plain; Charset=\"UTF-16\"")), b"ab");
        assert_eq!(decoded(plain.clone(), Some("text/plain; charset=utf-16be")), b"ab");
        assert_eq!(decoded(plain.clone(), Some("text/plain; charset=utf-8")), plain);
        assert_eq!(decoded(plain.clone(), None), plain);
        // The mark of UTF-32 begins like that of UTF-16.
        let wide = b"\xff\xfe\0\0a\0\0\0".to_vec();
        assert_eq!(decoded(wide.clone(), None), wide);
        // Half a character, and half a pair.
        assert_eq!(decoded(b"\xff\xfea\0\x3d\xd8".to_vec(), None), "a\u{fffd}".as_bytes());
        assert_eq!(decoded(b"\xff\xfea\0b".to_vec(), None), "a\u{fffd}".as_bytes());
        assert_eq!(decoded(b"\xff\xfe".to_vec(), None), b"");
        assert_eq!(decoded(b"a".to_vec(), None), b"a");
    }

    proptest! {
        /// Wherever pieces end, the text is the same.
        #[test]
        fn pieces_end_anywhere(text in "\\PC{0,40}", is_little: bool, cuts in proptest::collection::vec(0usize..90, 0..6)) {
            let bytes = utf16(&text, is_little);
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(bytes.len())).collect();
            cuts.extend([0, bytes.len()]);
            cuts.sort_unstable();
            let mut decoder = Decoder::new(None);
            let mut found = Vec::new();
            for pair in cuts.windows(2) {
                found.extend(decoder.piece(&bytes[pair[0]..pair[1]]).into_owned());
            }
            found.extend(decoder.end());
            prop_assert_eq!(found, text.into_bytes());
        }

        /// What is no UTF-16 comes out as it is, and nothing else makes an error.
        #[test]
        fn any_bytes(bytes in proptest::collection::vec(any::<u8>(), 0..40), cut in 0usize..40) {
            let mut decoder = Decoder::new(None);
            let (one, two) = bytes.split_at(cut.min(bytes.len()));
            let mut found = decoder.piece(one).into_owned();
            found.extend(decoder.piece(two).into_owned());
            found.extend(decoder.end());
            prop_assert_eq!(&found, &decoded(bytes.clone(), None));
            prop_assert!(begins_as_utf16(&bytes) || found == bytes);
        }
    }
}
