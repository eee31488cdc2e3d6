//! Representations: the line of a node-revision that says where a text or property list is, and the first line of
//! the item itself.

use std::fmt;

use sapwood_core::{Exact, Md5, Revnum, Sha1};

use crate::error::{Error, Result};
use crate::id::{ChangeSet, Id};

/// Where a text or property list is stored, and what is known of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Representation {
    /// Change set and item number.
    pub id: Id,
    /// Bytes of svndiff, without the first line and the end line.
    pub size: u64,
    /// Bytes of the text.
    pub expanded_size: u64,
    /// MD5 of the text.
    pub md5: Md5,
    /// SHA-1 of the text: of files only.
    pub sha1: Option<Sha1>,
}

impl Representation {
    /// Parses the value of a `text` or `props` line.
    ///
    /// # Errors
    /// E160004 for anything else.
    pub fn parse(value: &[u8]) -> Result<Self> {
        Self::try_parse(value).ok_or_else(|| {
            Error::corrupt(format!(
                "Malformed text representation offset line '{}'",
                value.escape_ascii()
            ))
        })
    }

    fn try_parse(value: &[u8]) -> Option<Self> {
        let mut words = std::str::from_utf8(value).ok()?.split(' ');
        let change_set = ChangeSet::from_disk(words.next()?.parse().ok()?);
        let number = words.next()?.parse().ok()?;
        let size = words.next()?.parse().ok()?;
        let expanded_size = words.next()?.parse().ok()?;
        let md5 = Md5::parse(words.next()?.as_bytes())?;
        let sha1 = words.next().map(|hex| Sha1::parse(hex.as_bytes()));
        let sha1 = match sha1 {
            Some(None) => return None,
            Some(sha1) => sha1,
            None => None,
        };
        let id = Id { change_set, number };
        words.next().is_none().then_some(Self { id, size, expanded_size, md5, sha1 })
    }
}

impl fmt::Display for Representation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let change_set = self.id.change_set.to_disk().ok_or(fmt::Error)?;
        let Self { id, size, expanded_size, md5, .. } = self;
        write!(f, "{change_set} {} {size} {expanded_size} {md5}", id.number)?;
        self.sha1.map_or(Ok(()), |sha1| write!(f, " {sha1}"))
    }
}

/// The first line of a representation that is not in a container.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RepHeader {
    /// The base of the delta: revision, item number, bytes of its svndiff. `None` for the empty text.
    pub base: Option<(Revnum, u64, u64)>,
}

/// The line behind the svndiff of a representation.
pub const END: &[u8] = b"ENDREP\n";

impl RepHeader {
    /// Parses the line that `bytes` begin with; also its length.
    ///
    /// # Errors
    /// E160004 for anything else.
    pub fn parse(bytes: &[u8]) -> Result<(Self, usize)> {
        let within = bytes.get(..128).unwrap_or(bytes);
        let len = memchr::memchr(b'\n', within).ok_or(Error::UnexpectedEnd("representation"))?;
        let line = within.get(..len).unwrap_or_default();
        let malformed =
            || Error::corrupt(format!("Malformed representation header '{}'", line.escape_ascii()));
        let text = std::str::from_utf8(line).map_err(|_| malformed())?;
        let words: Vec<&str> = text.split(' ').collect();
        let base = match words.as_slice() {
            ["DELTA"] => None,
            ["DELTA", revision, item, size] => {
                let numbers = [revision, item, size].map(|word| word.parse::<u64>().ok());
                let [Some(revision), Some(item), Some(size)] = numbers else {
                    return Err(malformed());
                };
                Some((Revnum(revision), item, size))
            }
            _ => return Err(malformed()),
        };
        Ok((Self { base }, len.plus(1)))
    }
}

impl fmt::Display for RepHeader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.base {
            None => f.write_str("DELTA\n"),
            Some((revision, item, size)) => writeln!(f, "DELTA {revision} {item} {size}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ways() {
        for line in [
            "21 5 100 2000 d41d8cd98f00b204e9800998ecf8427e",
            "-3 0 0 0 00000000000000000000000000000000",
            "0 4 1 0 d41d8cd98f00b204e9800998ecf8427e da39a3ee5e6b4b0d3255bfef95601890afd80709",
        ] {
            assert_eq!(Representation::parse(line.as_bytes()).unwrap().to_string(), line);
        }
        for header in ["DELTA\n", "DELTA 3 4 5\n"] {
            let (parsed, len) = RepHeader::parse(header.as_bytes()).unwrap();
            assert_eq!((parsed.to_string().as_str(), len), (header, header.len()));
        }
        for wrong in ["PLAIN\n", "DELTA 1 2\n", "DELTA 1 2 x\n", "DELTA"] {
            assert!(RepHeader::parse(wrong.as_bytes()).is_err(), "{wrong:?}");
        }
        assert!(Representation::parse(b"1 2 3 4").is_err());
        assert!(Representation::parse(b"1 2 3 4 d41d8cd98f00b204e9800998ecf8427e xx").is_err());
    }
}
