//! The footer of a revision or pack file with logical addressing, which says where the indexes
//! are.

use sapwood_core::{Md5, Revnum};

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

#[allow(clippy::missing_errors_doc)]
impl Footer {
    /// Parses the footer at the end of `tail`, the last bytes (at least the last
    /// [`crate::limits::FOOTER_LEN`], or all) of a file of `file_len` bytes. `revision` is for
    /// error sentences.
    pub fn parse(tail: &[u8], file_len: u64, revision: Revnum) -> Result<Self> {
        let invalid = || Error::corrupt(format!("Invalid r{revision} footer"));
        let (len, before) = tail.split_last().ok_or_else(invalid)?;
        let len = usize::from(*len);
        let start = before.len().checked_sub(len).ok_or_else(invalid)?;
        let mut rest = before.get(start..).ok_or_else(invalid)?;
        let footer_len = u64::try_from(len).unwrap_or(u64::MAX).saturating_add(1);
        let footer_offset = file_len.checked_sub(footer_len).ok_or_else(invalid)?;
        let offset = |word: Option<&[u8]>, which: &str| {
            let word = word.ok_or_else(invalid)?;
            text::number(word).filter(|offset| *offset < footer_offset).ok_or_else(|| {
                Error::corrupt(format!("Invalid {which} offset in r{revision} footer"))
            })
        };
        let md5 = |word: Option<&[u8]>| word.and_then(Md5::parse).ok_or_else(invalid);
        let footer = Self {
            l2p_offset: offset(text::word(&mut rest), "L2P")?,
            l2p_md5: md5(text::word(&mut rest))?,
            p2l_offset: offset(text::word(&mut rest), "P2L")?,
            p2l_md5: md5(text::word(&mut rest))?,
            footer_offset,
        };
        if footer.p2l_offset <= footer.l2p_offset {
            return Err(Error::corrupt(format!(
                "P2L offset 0x{:x} must be larger than L2P offset 0x{:x} in r{revision} footer",
                footer.p2l_offset, footer.l2p_offset
            )));
        }
        if rest.is_empty() { Ok(footer) } else { Err(invalid()) }
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

#[cfg(test)]
mod tests {
    use super::*;

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
        for at in 20..out.len() {
            let mut bad = out.clone();
            bad[at] = b'?';
            assert!(parse(&bad, len).is_err(), "{at}");
        }
    }
}
