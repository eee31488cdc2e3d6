//! `current`, `min-unpacked-rev` and `txn-current`: files of one line.

use sapwood_core::Revnum;

use crate::base36::{self, Base36};
use crate::error::{Error, Result};
use crate::since;
use crate::text;

/// What `current` says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Current {
    /// The youngest revision.
    pub youngest: Revnum,
    /// The next node id and copy id, in formats 1 and 2.
    pub next_ids: Option<(u64, u64)>,
}

#[allow(clippy::missing_errors_doc, reason = "all: `Error` says what is wrong with the bytes")]
impl Current {
    /// Parses `current`. From format 3 on anything after the revision is ignored: an upgraded
    /// repository may still have the ids there.
    pub fn parse(bytes: &[u8], format: u32) -> Result<Self> {
        let (youngest, rest) = leading_revision(bytes)?;
        if format >= since::LAYOUT {
            return Ok(Self { youngest, next_ids: None });
        }
        let ids = || -> Option<(u64, u64)> {
            let (node, copy) = rest.strip_prefix(b" ")?.strip_suffix(b"\n").and_then(|ids| {
                let at = memchr::memchr(b' ', ids)?;
                Some((ids.get(..at)?, ids.get(at.checked_add(1)?..)?))
            })?;
            Some((base36::parse(node)?, base36::parse(copy)?))
        };
        let next_ids = ids().ok_or_else(|| Error::corrupt("Corrupt 'current' file"))?;
        Ok(Self { youngest, next_ids: Some(next_ids) })
    }
    /// Appends the line.
    pub fn write(&self, out: &mut Vec<u8>) {
        text::push_number(self.youngest.0, out);
        if let Some((node, copy)) = self.next_ids {
            text::push_display(format_args!(" {} {}", Base36(node), Base36(copy)), out);
        }
        out.push(b'\n');
    }
}

/// The revision that the bytes begin with, and what follows its digits.
fn leading_revision(bytes: &[u8]) -> Result<(Revnum, &[u8])> {
    let len = bytes.iter().take_while(|b| b.is_ascii_digit()).count();
    let (digits, rest) = bytes.split_at_checked(len).unwrap_or_default();
    let revision = text::number(digits).ok_or_else(|| Error::revnum(bytes))?;
    Ok((Revnum(revision), rest))
}

/// Parses `min-unpacked-rev`.
#[allow(clippy::missing_errors_doc, reason = "all: `Error` says what is wrong with the bytes")]
pub fn parse_min_unpacked_rev(bytes: &[u8]) -> Result<Revnum> {
    // Errors show the first line, where those of `current` show the file.
    let line = bytes.split(|b| *b == b'\n').next().unwrap_or(&[]);
    leading_revision(line).map(|(revision, _)| revision)
}

/// Parses `txn-current`: the number of the next transaction.
#[allow(clippy::missing_errors_doc, reason = "all: `Error` says what is wrong with the bytes")]
pub fn parse_txn_current(bytes: &[u8]) -> Result<u64> {
    let line = bytes.strip_suffix(b"\n").unwrap_or(bytes);
    base36::parse(line).ok_or_else(|| Error::corrupt("Corrupt 'txn-current' file"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_round_trip() {
        for (text, format) in [("359 j5 v\n", 2), ("0 1 1\n", 1), ("47191\n", 3)] {
            let mut out = Vec::new();
            Current::parse(text.as_bytes(), format).unwrap().write(&mut out);
            assert_eq!(out, text.as_bytes());
        }
        let upgraded = Current::parse(b"359 j5 v\n", 3).unwrap();
        assert_eq!(upgraded, Current { youngest: Revnum(359), next_ids: None });
    }

    #[test]
    fn refusals() {
        for bad in [&b""[..], b"x\n", b"-1\n", b"9223372036854775808\n"] {
            assert!(Current::parse(bad, 8).is_err());
        }
        for bad in [&b"359\n"[..], b"359 j5\n", b"359 j5 v", b"359 j5 V\n", b"359  \n"] {
            assert!(Current::parse(bad, 2).is_err());
        }
        assert_eq!(parse_min_unpacked_rev(b"1000\n"), Ok(Revnum(1000)));
        assert_eq!(parse_txn_current(b"1z\n"), Ok(71));
        assert!(parse_txn_current(b"\n").is_err());
    }
}
