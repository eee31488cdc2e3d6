//! The footer of a revision or pack file with logical addressing, which says where the indexes
//! are.

use sapwood_core::{Md5, Revnum, len64};

use crate::error::{Error, Result};
use crate::text;

/// Offsets are from the start of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Footer {
    /// Where the log-to-phys index begins, which is where the items end.
    pub l2p_offset: u64,
    /// MD5 of that index.
    pub l2p_md5: Md5,
    /// Where the phys-to-log index begins, which is where the log-to-phys index ends.
    pub p2l_offset: u64,
    /// MD5 of that index.
    pub p2l_md5: Md5,
    /// Where the footer begins, which is where the phys-to-log index ends.
    pub footer_offset: u64,
}

#[allow(clippy::missing_errors_doc, reason = "all: `Error` says what is wrong with the bytes")]
impl Footer {
    /// Parses the footer at the end of `tail`, the last bytes (at least the last
    /// [`crate::limits::FOOTER_LEN`], or all) of a file of `file_len` bytes. `revision` is for
    /// error sentences.
    pub fn parse(tail: &[u8], file_len: u64, revision: Revnum) -> Result<Self> {
        let invalid = || Error::corrupt(format!("Invalid r{revision} footer"));
        let (len, before) = tail.split_last().ok_or_else(invalid)?;
        let len = usize::from(*len);
        let start = before.len().checked_sub(len).ok_or_else(invalid)?;
        let footer = before.get(start..).ok_or_else(invalid)?;
        let footer_len = len64(len).saturating_add(1);
        let footer_offset = file_len.checked_sub(footer_len).ok_or_else(invalid)?;
        // As the reference does: any number of spaces between words, and whatever follows them.
        let mut words = footer.split(|b| *b == 0).next().unwrap_or(&[]);
        let mut word = || {
            let spaces = words.iter().take_while(|b| **b == b' ').count();
            words = words.get(spaces..).unwrap_or_default();
            text::word(&mut words).ok_or_else(invalid)
        };
        let offset = |word: &[u8], which: &str| {
            offset(word, footer_offset).map_err(|cause| Error::FooterOffset {
                sentence: format!("Invalid {which} offset in r{revision} footer"),
                cause,
            })
        };
        let md5 = |word: &[u8]| word.get(..32).and_then(Md5::parse).ok_or(Error::FooterChecksum);
        let l2p_offset = offset(word()?, "L2P")?;
        let l2p_md5 = md5(word()?)?;
        let p2l_offset = offset(word()?, "P2L")?;
        if p2l_offset <= l2p_offset {
            return Err(Error::corrupt(format!(
                "P2L offset 0x{p2l_offset:x} must be larger than L2P offset 0x{l2p_offset:x} in \
                 r{revision} footer",
            )));
        }
        Ok(Self { l2p_offset, l2p_md5, p2l_offset, p2l_md5: md5(word()?)?, footer_offset })
    }

    /// Appends the footer with its length byte.
    pub fn write(&self, out: &mut Vec<u8>) {
        let start = out.len();
        let Self { l2p_offset, l2p_md5, p2l_offset, p2l_md5, .. } = self;
        text::push_display(format_args!("{l2p_offset} {l2p_md5} {p2l_offset} {p2l_md5}"), out);
        // At most 2 * (20 + 32) + 3 bytes.
        out.push(u8::try_from(out.len().saturating_sub(start)).unwrap_or(u8::MAX));
    }

    /// How many bytes the log-to-phys index has.
    #[must_use]
    pub const fn l2p_len(&self) -> u64 {
        self.p2l_offset.saturating_sub(self.l2p_offset)
    }

    /// How many bytes the phys-to-log index has.
    #[must_use]
    pub const fn p2l_len(&self) -> u64 {
        self.footer_offset.saturating_sub(self.p2l_offset)
    }
}

/// An offset before `end`, or the reference's sentence why it is none.
fn offset(word: &[u8], end: u64) -> std::result::Result<u64, String> {
    let digits = word.strip_prefix(b"+").or_else(|| word.strip_prefix(b"-")).unwrap_or(word);
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return Err(format!("Could not convert '{}' into a number", text::printable(word)));
    }
    let number = text::number(digits).filter(|n| *n == 0 || !word.starts_with(b"-"));
    number.filter(|offset| *offset < end).ok_or_else(|| {
        let last = end.saturating_sub(1);
        format!("Number '{}' is out of range '[0, {last}]'", text::printable(word))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use sapwood_core::SvnError;

    fn sample() -> (Footer, Vec<u8>, u64) {
        let footer = Footer {
            l2p_offset: 100,
            l2p_md5: Md5::of(b"a"),
            p2l_offset: 150,
            p2l_md5: Md5::of(b"b"),
            footer_offset: 200,
        };
        let mut out = vec![b'x'; 20];
        footer.write(&mut out);
        let len = 200 + u64::try_from(out.len()).unwrap() - 20;
        (footer, out, len)
    }

    #[test]
    fn round_trip() {
        let (footer, out, len) = sample();
        assert_eq!(Footer::parse(&out, len, Revnum(7)), Ok(footer));
        assert_eq!((footer.l2p_len(), footer.p2l_len()), (50, 50));
    }

    #[test]
    fn damage_is_an_error() {
        let (footer, out, len) = sample();
        let parse = |bytes: &[u8], len| Footer::parse(bytes, len, Revnum(7));
        assert!(parse(b"", 0).is_err());
        assert!(parse(&out[21..], len).is_err());
        assert!(parse(&out, 3).is_err());
        assert!(parse(&out, len - 60).is_err());
        let mut swapped = Vec::new();
        Footer { l2p_offset: 150, ..footer }.write(&mut swapped);
        let error = parse(&swapped, len).unwrap_err().to_string();
        assert_eq!(error, "P2L offset 0x96 must be larger than L2P offset 0x96 in r7 footer");
        let md5 = Md5::of(b"a");
        for (text, code, sentence) in [
            ("", 160_004, "Invalid r7 footer"),
            ("1x", 200_004, "Could not convert '1x' into a number"),
            ("-1 a", 200_004, "Number '-1' is out of range '[0, 199]'"),
            ("200 a", 200_004, "Number '200' is out of range '[0, 199]'"),
            ("100 00", 125_012, "Invalid character in hex checksum"),
            (&format!("100 {md5}"), 160_004, "Invalid r7 footer"),
            (&format!("100 {md5} y"), 200_004, "Could not convert 'y' into a number"),
            (&format!("100 {md5} 101 "), 160_004, "Invalid r7 footer"),
        ] {
            let mut file = text.as_bytes().to_vec();
            file.push(u8::try_from(text.len()).unwrap());
            let end = 200 + u64::try_from(file.len()).unwrap();
            let error = SvnError::from(parse(&file, end).unwrap_err());
            assert_eq!(error.code().0, code, "{text}");
            let innermost = error.cause().unwrap_or(&error);
            assert_eq!(innermost.message(), sentence, "{text}");
        }
        // What the reference reads too.
        let loose = format!("  +100  {md5} 150 {}0 more\n", Md5::of(b"b"));
        let mut file = loose.as_bytes().to_vec();
        file.push(u8::try_from(loose.len()).unwrap());
        let end = 200 + u64::try_from(file.len()).unwrap();
        assert_eq!(parse(&file, end), Ok(footer));
        for at in 20..out.len() {
            let mut bad = out.clone();
            bad[at] = b'?';
            assert!(parse(&bad, len).is_err(), "{at}");
        }
    }
}
