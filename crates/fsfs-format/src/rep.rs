//! Representations: the reference to one in a node-revision, and the line that one begins with.

use sapwood_core::Exact;
use std::fmt;

use sapwood_core::{Md5, Revnum, Sha1};

use crate::base36::{self, Base36};
use crate::error::{Error, Result};
use crate::id::TxnId;
use crate::limits::REP_HEADER_LEN;
use crate::since;
use crate::text;

/// Where a representation is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RepLocation {
    /// In a revision: item index (logical addressing) or offset (physical addressing).
    Rev {
        /// The revision.
        revision: Revnum,
        /// Item index or offset.
        item: u64,
    },
    /// In the prototype revision file of the transaction (`-1 ITEM LEN ...`).
    ProtoRev {
        /// Item index or offset.
        item: u64,
    },
    /// In a file beside the node-revision's, in the transaction's folder (`-1` alone).
    TxnFile,
}

/// What keeps representations apart that share one text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Uniquifier {
    /// The transaction of the node-revision.
    pub txn: TxnId,
    /// A number unique in it.
    pub number: u64,
}

impl Uniquifier {
    /// What formats 4 to 7 write when there is none.
    const NONE: Self = Self { txn: TxnId { base: Revnum(0), number: 0 }, number: 0 };
}

impl Uniquifier {
    /// Appends the text form, as `Display` writes it, but faster.
    fn write(&self, out: &mut Vec<u8>) {
        text::push_number(self.txn.base.0, out);
        out.push(b'-');
        base36::push(self.txn.number, out);
        out.extend_from_slice(b"/_");
        base36::push(self.number, out);
    }
}

impl fmt::Display for Uniquifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/_{}", self.txn, Base36(self.number))
    }
}

/// The value of a node-revision's `text` or `props` header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Representation {
    /// Where it is.
    pub location: RepLocation,
    /// Bytes on disk, without the header line and the trailing `ENDREP`.
    pub size: u64,
    /// Bytes of the expanded text as written. May be 0 although the text is not empty (legal for
    /// PLAIN property and directory representations, and for DELTA ones written by 1.8.0-1.8.11):
    /// then it is [`Representation::size`] unless the MD5 is that of the empty text.
    pub expanded_size: u64,
    /// MD5 of the expanded text; all zeros when unknown.
    pub md5: Md5,
    /// SHA-1 of the expanded text, where recorded.
    pub sha1: Option<Sha1>,
    /// See [`Uniquifier`].
    pub uniquifier: Option<Uniquifier>,
}

#[allow(clippy::missing_errors_doc, reason = "all: `Error` says what is wrong with the bytes")]
impl Representation {
    /// Parses the whole value of a `text` or `props` header.
    pub fn parse(value: &[u8]) -> Result<Self> {
        let malformed = || Error::corrupt("Malformed text representation offset line in node-rev");
        let mut rest = value;
        let revision = match text::word(&mut rest) {
            Some(b"-1") => None,
            Some(word) => Some(Revnum(text::number(word).ok_or_else(|| Error::revnum(word))?)),
            None => return Err(malformed()),
        };
        let number =
            |rest: &mut &[u8]| text::word(rest).map(|w| text::number(w).ok_or_else(malformed));
        let location = match (revision, number(&mut rest).transpose()?) {
            (Some(revision), Some(item)) => RepLocation::Rev { revision, item },
            (None, Some(item)) => RepLocation::ProtoRev { item },
            (Some(_), None) => return Err(malformed()),
            (None, None) => return Ok(Self::in_txn_file()),
        };
        let size = number(&mut rest).transpose()?.ok_or_else(malformed)?;
        let expanded_size = number(&mut rest).transpose()?.ok_or_else(malformed)?;
        let md5 = text::word(&mut rest).and_then(Md5::parse).ok_or_else(malformed)?;
        let mut rep = Self { location, size, expanded_size, md5, sha1: None, uniquifier: None };
        match text::word(&mut rest) {
            None => return Ok(rep),
            Some(b"-") => {}
            Some(word) => {
                let sha1 = Sha1::parse(word).ok_or_else(malformed)?;
                rep.sha1 = (sha1.0 != [0; 20]).then_some(sha1);
            }
        }
        match text::word(&mut rest) {
            None => return Err(malformed()),
            Some(b"-") => {}
            Some(word) => {
                let slash = memchr::memchr(b'/', word).ok_or_else(malformed)?;
                let (txn, number) = word.split_at_checked(slash).ok_or_else(malformed)?;
                let txn = TxnId::parse(txn)?;
                let number = number.strip_prefix(b"/_").and_then(base36::parse);
                let number = number.ok_or_else(malformed)?;
                let unique = Uniquifier { txn, number };
                rep.uniquifier = (unique != Uniquifier::NONE).then_some(unique);
            }
        }
        if rest.is_empty() { Ok(rep) } else { Err(malformed()) }
    }

    /// The value `-1`: directory entries or properties in a file of the transaction.
    #[must_use]
    pub const fn in_txn_file() -> Self {
        Self {
            location: RepLocation::TxnFile,
            size: 0,
            expanded_size: 0,
            md5: Md5([0; 16]),
            sha1: None,
            uniquifier: None,
        }
    }

    /// The revision, `None` in a transaction.
    #[must_use]
    pub const fn revision(&self) -> Option<Revnum> {
        match self.location {
            RepLocation::Rev { revision, .. } => Some(revision),
            _ => None,
        }
    }
    /// The MD5, `None` when it is not known.
    #[must_use]
    pub fn known_md5(&self) -> Option<Md5> {
        (self.md5.0 != [0; 16]).then_some(self.md5)
    }
    /// Appends the text form for a filesystem of `format`. A representation in a transaction's
    /// file is `-1`.
    pub fn write(&self, format: u32, out: &mut Vec<u8>) {
        let item = match self.location {
            RepLocation::TxnFile => return out.extend_from_slice(b"-1"),
            RepLocation::ProtoRev { item } => {
                out.extend_from_slice(b"-1 ");
                item
            }
            RepLocation::Rev { revision, item } => {
                text::push_number(revision.0, out);
                out.push(b' ');
                item
            }
        };
        let Self { size, expanded_size, md5, .. } = self;
        for number in [item, *size, *expanded_size] {
            text::push_number(number, out);
            out.push(b' ');
        }
        text::push_hex(&md5.0, out);
        let unique = self.uniquifier;
        if format >= since::SVNDIFF2 {
            match self.sha1 {
                Some(sha1) => {
                    out.push(b' ');
                    text::push_hex(&sha1.0, out);
                }
                None => out.extend_from_slice(b" -"),
            }
            match unique {
                Some(unique) => {
                    out.push(b' ');
                    unique.write(out);
                }
                None => out.extend_from_slice(b" -"),
            }
        } else if let (true, Some(sha1)) = (format >= since::PACKING, self.sha1) {
            // These formats have both values or none.
            let unique = unique.unwrap_or(Uniquifier::NONE);
            text::push_display(format_args!(" {sha1} {unique}"), out);
        }
    }
}

/// The first line of a representation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RepHeader {
    /// The text follows as it is.
    Plain,
    /// Svndiff against the empty text follows.
    SelfDelta,
    /// Svndiff against another representation follows.
    Delta {
        /// The base's revision.
        revision: Revnum,
        /// The base's item index or offset.
        item: u64,
        /// The base's [`Representation::size`].
        length: u64,
    },
}

/// What a representation ends with, directly after its data.
pub const ENDREP: &[u8] = b"ENDREP\n";

#[allow(clippy::missing_errors_doc, reason = "all: `Error` says what is wrong with the bytes")]
impl RepHeader {
    /// Parses the line that `bytes` begin with; also the line's length with its newline.
    /// [`crate::limits::REP_HEADER_LEN`] bytes are always enough.
    pub fn parse(bytes: &[u8]) -> Result<(Self, usize)> {
        let malformed = || Error::corrupt("Malformed representation header");
        let head = bytes.get(..REP_HEADER_LEN).unwrap_or(bytes);
        let Some((line, _)) = text::line(head) else {
            return Err(match head.len() {
                REP_HEADER_LEN.. => malformed(),
                _ => Error::UnexpectedEnd("representation header"),
            });
        };
        let len = line.len().plus(1);
        let header = match line {
            b"PLAIN" => Self::Plain,
            b"DELTA" => Self::SelfDelta,
            _ => {
                let mut rest = line.strip_prefix(b"DELTA ").ok_or_else(malformed)?;
                let mut number =
                    || text::word(&mut rest).and_then(text::number).ok_or_else(malformed);
                let (revision, item, length) = (Revnum(number()?), number()?, number()?);
                if !rest.is_empty() {
                    return Err(malformed());
                }
                Self::Delta { revision, item, length }
            }
        };
        Ok((header, len))
    }
    /// Appends the line.
    pub fn write(&self, out: &mut Vec<u8>) {
        match self {
            Self::Plain => out.extend_from_slice(b"PLAIN\n"),
            Self::SelfDelta => out.extend_from_slice(b"DELTA\n"),
            Self::Delta { revision, item, length } => {
                out.extend_from_slice(b"DELTA ");
                text::push_number(revision.0, out);
                for number in [*item, *length] {
                    out.push(b' ');
                    text::push_number(number, out);
                }
                out.push(b'\n');
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MD5: &str = "28ef320a82e7bd11eebdf3502d69e608";
    const SHA1: &str = "a9993e364706816aba3e25717850c26c9cd0d89d";

    fn round_trip(text: &str, format: u32) {
        let rep = Representation::parse(text.as_bytes()).unwrap();
        let mut out = Vec::new();
        rep.write(format, &mut out);
        assert_eq!(String::from_utf8(out).unwrap(), text);
    }

    #[test]
    fn historical_forms_round_trip() {
        round_trip(&format!("15 0 563 7809 {MD5}"), 1);
        round_trip(&format!("15 0 563 7809 {MD5}"), 4);
        round_trip(&format!("15 12 563 7809 {MD5} {SHA1} 14-g/_5"), 6);
        round_trip(&format!("15 12 563 7809 {MD5} {SHA1} 0-0/_0"), 6);
        round_trip(&format!("15 12 563 7809 {MD5} - 14-g/_5"), 8);
        round_trip(&format!("15 12 563 7809 {MD5} {SHA1} -"), 8);
        round_trip(&format!("15 12 563 7809 {MD5} - -"), 8);
        round_trip(&format!("-1 12 563 7809 {MD5} - -"), 8);
        round_trip("-1", 8);
    }

    #[test]
    fn malformed_values() {
        for bad in [
            String::new(),
            "15".into(),
            "15 0".into(),
            "15 0 1".into(),
            "15 0 1 2".into(),
            "-2 0 1 2".into(),
            format!("15 0 563 -1 {MD5}"),
            format!("15 0 563 7809 {MD5}0"),
            format!("15 0 563 7809 {MD5} {SHA1}"),
            format!("15 0 563 7809 {MD5} {SHA1} 14-g/5"),
            format!("15 0 563 7809 {MD5} {SHA1} 14g/_5"),
            format!("15 0 563 7809 {MD5} {SHA1} 14-g/_5 x"),
        ] {
            assert!(Representation::parse(bad.as_bytes()).is_err(), "{bad}");
        }
    }

    #[test]
    fn headers() {
        for line in ["PLAIN\n", "DELTA\n", "DELTA 12 345 6789\n"] {
            let (header, len) = RepHeader::parse(format!("{line}SVN").as_bytes()).unwrap();
            let mut out = Vec::new();
            header.write(&mut out);
            assert_eq!((out.as_slice(), len), (line.as_bytes(), line.len()));
        }
        assert_eq!(
            RepHeader::parse(b"DELTA 12 3"),
            Err(Error::UnexpectedEnd("representation header"))
        );
        for bad in ["", "PLAIN ", "DELTA ", "DELTA 1 2", "DELTA 1 2 3 4", "DELTA -1 2 3", "SVN"] {
            let bad = format!("{bad}\n");
            assert!(matches!(RepHeader::parse(bad.as_bytes()), Err(Error::Corrupt(_))), "{bad}");
        }
        assert!(matches!(RepHeader::parse(&[b'D'; 4000]), Err(Error::Corrupt(_))));
    }
}
