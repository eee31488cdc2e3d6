//! The text form of mergeinfo: one line a merge source, and the sentences for malformed ones.

use crate::{Cut, Exact};
use std::collections::btree_map::Entry;

use super::{MergeRange, Mergeinfo, RangeList};
use crate::error::{ErrorCode, SvnError, SvnResult};
use crate::path;

/// The greatest revision number that mergeinfo may name: the reference's are 31 bits wide.
const MAX_REVISION: u64 = 0x7fff_ffff;

/// Parses a whole property value. Like the reference's, the text ends at the first NUL.
pub(super) fn parse(value: &[u8]) -> SvnResult<Mergeinfo> {
    let text = value.split(|b| *b == 0).next().unwrap_or(&[]);
    parse_lines(text).map_err(|e| {
        if e.code() == ErrorCode::MERGEINFO_PARSE_ERROR {
            e
        } else {
            e.wrap(
                ErrorCode::MERGEINFO_PARSE_ERROR,
                format!("Could not parse mergeinfo string '{}'", String::from_utf8_lossy(text)),
            )
        }
    })
}

fn parse_lines(text: &[u8]) -> SvnResult<Mergeinfo> {
    let mut out = Mergeinfo::new();
    let mut rest = text;
    while !rest.is_empty() {
        let end = rest.iter().position(|b| *b == b'\n').unwrap_or(rest.len());
        let (line, after) = rest.split_at_checked(end).unwrap_or((rest, &[]));
        // What follows the line matters to one sentence only: see `Cursor::tail`.
        parse_line(line, rest, &mut out)?;
        // The last line may have no end.
        rest = after.get(1..).unwrap_or(&[]);
    }
    Ok(out)
}

fn malformed(message: impl Into<String>) -> SvnError {
    SvnError::new(ErrorCode::MERGEINFO_PARSE_ERROR, message)
}

fn parse_line(line: &[u8], from_here: &[u8], out: &mut Mergeinfo) -> SvnResult<()> {
    let Some(colon) = line.iter().rposition(|b| *b == b':') else {
        return Err(malformed("Pathname not terminated by ':'"));
    };
    let (name, ranges) = line.split_at_checked(colon).unwrap_or((line, &[]));
    let name = String::from_utf8_lossy(name);
    let source = path::canonical_fspath(&name).into_owned();
    let ranges = ranges.tail(1);
    let tail = from_here.tail(colon.plus(1));
    let mut list = parse_ranges(ranges, tail)?;
    if list.is_empty() {
        return Err(malformed(format!("Mergeinfo for '{source}' maps to an empty revision range")));
    }
    list.canonicalize()?;
    match out.0.entry(source) {
        // Old clients wrote sources that differ in the leading slash only.
        Entry::Occupied(mut earlier) => earlier.get_mut().merge(&list),
        Entry::Vacant(place) => {
            place.insert(list);
        }
    }
    Ok(())
}

/// Where the parser of a range list stands.
struct Cursor<'a> {
    /// What is left of the line.
    line: &'a [u8],
    /// The same place with everything that follows in the property, as messages quote it.
    tail: &'a [u8],
}

impl Cursor<'_> {
    fn peek(&self) -> Option<u8> {
        self.line.first().copied()
    }

    fn advance(&mut self, by: usize) {
        self.line = self.line.tail(by);
        self.tail = self.tail.tail(by);
    }

    fn revision(&mut self) -> SvnResult<u64> {
        let digits = self.line.iter().take_while(|b| b.is_ascii_digit()).count();
        let quoted = || String::from_utf8_lossy(self.tail);
        let bad = |words: &str| {
            Err(SvnError::new(ErrorCode::REVNUM_PARSE_FAILURE, format!("{words} '{}'", quoted())))
        };
        if digits == 0 {
            return bad(match self.peek() {
                Some(b'-') => "Negative revision number found parsing",
                _ => "Invalid revision number found parsing",
            });
        }
        if digits > 10 {
            return bad("Revision number longer than 10 digits");
        }
        let number = self.line.get(..digits).and_then(crate::revnum::parse_u64);
        match number {
            Some(n) if n <= MAX_REVISION => {
                self.advance(digits);
                Ok(n)
            }
            _ => bad("Revision number too large"),
        }
    }
}

fn parse_ranges(line: &[u8], tail: &[u8]) -> SvnResult<RangeList> {
    let mut at = Cursor { line, tail };
    let blanks = line.iter().take_while(|b| b.is_ascii_whitespace() || **b == 0x0b).count();
    at.advance(blanks);
    let mut ranges = Vec::new();
    while at.peek().is_some() {
        let first = at.revision()?;
        if let Some(other) = at.peek().filter(|b| !matches!(b, b'-' | b',' | b'*')) {
            return Err(unexpected(other, "revision list"));
        }
        if first == 0 {
            return Err(malformed("Invalid revision number '0' found in range list"));
        }
        let mut range =
            MergeRange { start: first.saturating_sub(1), end: first, inheritable: true };
        if at.peek() == Some(b'-') {
            at.advance(1);
            let last = at.revision()?;
            if first > last {
                return Err(malformed(format!(
                    "Unable to parse reversed revision range '{first}-{last}'"
                )));
            }
            if first == last {
                return Err(malformed(format!(
                    "Unable to parse revision range '{first}-{last}' with same start and end \
                     revisions"
                )));
            }
            range.end = last;
        }
        if at.peek() == Some(b'*') {
            range.inheritable = false;
            at.advance(1);
        }
        ranges.push(range);
        match at.peek() {
            None => return Ok(RangeList(ranges)),
            Some(b',') => at.advance(1),
            Some(other) => return Err(unexpected(other, "range list")),
        }
    }
    // A comma with nothing behind it is an error at the end of the value, not of a line.
    if !ranges.is_empty() && at.tail.is_empty() {
        return Err(malformed("Range list parsing ended before hitting newline"));
    }
    Ok(RangeList(ranges))
}

fn unexpected(byte: u8, place: &str) -> SvnError {
    malformed(format!("Invalid character '{}' found in {place}", char::from(byte)))
}
