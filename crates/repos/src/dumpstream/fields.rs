//! The small parts of a dump stream: lines, header blocks, counted strings, numbers.

use std::fmt::Display;
use std::io::{BufRead, Read};

use sapwood_core::exact::clamped;
use sapwood_core::{ErrorCode, SvnError, SvnResult, len64};

use super::{MAX_HEADER_LINE, MAX_HEADERS, NEWEST_VERSION, header};

/// The reference reads the first line with this limit, so that a file of another kind does not
/// come into memory whole.
const MAX_MAGIC_LINE: u64 = 80;

/// The headers of one record, in the order of the stream. Where a name comes twice, the last
/// value holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Headers(Vec<(Vec<u8>, Vec<u8>)>);

impl Headers {
    /// The value of `name`.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&[u8]> {
        self.0.iter().find(|(n, _)| n == name.as_bytes()).map(|(_, v)| v.as_slice())
    }

    /// Whether `name` is there and says `true`.
    #[must_use]
    pub(crate) fn is_true(&self, name: &str) -> bool {
        self.get(name) == Some(b"true")
    }

    /// The number in `name`, read as leniently as the reference does: what is no number is 0, blank
    /// space before it and anything after it does not count, and what is too large is the largest.
    #[must_use]
    pub fn number(&self, name: &str) -> Option<i64> {
        self.get(name).map(lenient_number)
    }

    /// Bytes of all names and values.
    pub(crate) fn byte_len(&self) -> usize {
        self.iter().fold(0, |sum, (n, v)| sum.saturating_add(n.len()).saturating_add(v.len()))
    }

    /// Names and values.
    pub fn iter(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        self.0.iter().map(|(n, v)| (n.as_slice(), v.as_slice()))
    }

    /// Reads the block whose first line is in `line`, and its blank line.
    pub(super) fn read(input: &mut dyn BufRead, line: &mut Vec<u8>) -> SvnResult<Self> {
        let mut headers = Self::default();
        loop {
            headers.add(line)?;
            let ended = read_line(input, line)?;
            if line.is_empty() {
                return Ok(headers);
            }
            if !ended {
                return Err(ran_dry());
            }
        }
    }

    fn add(&mut self, line: &[u8]) -> SvnResult<()> {
        let bad = |which: &str, part: &[u8]| {
            let part = String::from_utf8_lossy(part.get(..20).unwrap_or(part)).into_owned();
            SvnError::new(
                ErrorCode::STREAM_MALFORMED_DATA,
                format!("Dump stream contains a malformed header (with no {which}) at '{part}'"),
            )
        };
        // The reference's lines are strings of C, which end at a NUL.
        let line = line.split(|b| *b == 0).next().unwrap_or(line);
        let colon = line.iter().position(|b| *b == b':').ok_or_else(|| bad("':'", line))?;
        let (name, value) = line.split_at_checked(colon).unwrap_or((line, b""));
        // The byte after the colon is a space and not looked at, as in the reference.
        let value = value.get(2..).ok_or_else(|| bad("value", name))?;
        if let Some((_, old)) = self.0.iter_mut().find(|(n, _)| n == name) {
            *old = value.to_vec();
        } else if self.0.len() >= MAX_HEADERS {
            return Err(malformed());
        } else {
            self.0.push((name.to_vec(), value.to_vec()));
        }
        Ok(())
    }
}

impl<N: Into<Vec<u8>>, V: Into<Vec<u8>>> FromIterator<(N, V)> for Headers {
    fn from_iter<I: IntoIterator<Item = (N, V)>>(iter: I) -> Self {
        Self(iter.into_iter().map(|(n, v)| (n.into(), v.into())).collect())
    }
}

pub(super) fn ran_dry() -> SvnError {
    SvnError::new(ErrorCode::INCOMPLETE_DATA, "Premature end of content data in dumpstream")
}

pub(super) fn malformed() -> SvnError {
    SvnError::new(ErrorCode::STREAM_MALFORMED_DATA, "Dumpstream data appears to be malformed")
}

/// An input's own error: an [`SvnError`] inside comes out as it is.
fn read_error(error: std::io::Error) -> SvnError {
    match error.get_ref().and_then(|e| e.downcast_ref::<SvnError>()) {
        Some(inner) => inner.clone(),
        None => SvnError::io(&error, "Can't read from dump stream"),
    }
}

/// What the input has now; empty only at its end.
pub(super) fn fill(input: &mut dyn BufRead) -> SvnResult<&[u8]> {
    // Interrupted reads first, by themselves: the borrow of the buffer cannot leave a loop.
    while let Err(error) = input.fill_buf() {
        if error.kind() != std::io::ErrorKind::Interrupted {
            return Err(read_error(error));
        }
    }
    input.fill_buf().map_err(read_error)
}

/// Reads a line into `line`, without its end: whether there was one.
pub(super) fn read_line(input: &mut dyn BufRead, line: &mut Vec<u8>) -> SvnResult<bool> {
    line.clear();
    input.take(MAX_HEADER_LINE).read_until(b'\n', line).map_err(read_error)?;
    if line.last() == Some(&b'\n') {
        line.pop();
        return Ok(true);
    }
    let full = len64(line.len()) >= MAX_HEADER_LINE;
    if full { Err(malformed()) } else { Ok(false) }
}

/// Reads and checks the stream's first line.
pub(super) fn read_magic(input: &mut dyn BufRead) -> SvnResult<i64> {
    let mut line = Vec::new();
    input.take(MAX_MAGIC_LINE).read_until(b'\n', &mut line).map_err(read_error)?;
    let ended = line.last() == Some(&b'\n');
    if ended {
        line.pop();
    } else if len64(line.len()) < MAX_MAGIC_LINE {
        return Err(ran_dry());
    } else {
        // 80 bytes and their end are still a line.
        let next = fill(input)?.first().copied().ok_or_else(ran_dry)?;
        if next == b'\n' {
            input.consume(1);
        } else {
            return Err(bad_magic(&line));
        }
    }
    let version = line.strip_prefix(header::MAGIC.as_bytes()).and_then(|l| l.strip_prefix(b":"));
    let version = parse_version(version.ok_or_else(|| bad_magic(&line))?)?;
    if version > NEWEST_VERSION {
        return Err(SvnError::new(
            ErrorCode::STREAM_MALFORMED_DATA,
            format!("Unsupported dumpfile version: {version}"),
        ));
    }
    Ok(version)
}

fn bad_magic(line: &[u8]) -> SvnError {
    let line = String::from_utf8_lossy(line);
    SvnError::new(ErrorCode::STREAM_MALFORMED_DATA, format!("Malformed dumpfile header '{line}'"))
}

/// Reads `length` bytes and the newline after them.
pub(super) fn read_counted(input: &mut dyn BufRead, length: u64) -> SvnResult<Vec<u8>> {
    let mut bytes = Vec::new();
    let got = input.take(length).read_to_end(&mut bytes).map_err(read_error)?;
    if u64::try_from(got).ok() != Some(length) {
        return Err(ran_dry());
    }
    match fill(input)?.first() {
        None => Err(ran_dry()),
        Some(b'\n') => {
            input.consume(1);
            Ok(bytes)
        }
        Some(_) => Err(malformed()),
    }
}

/// Skips `length` bytes.
pub(super) fn skip(input: &mut dyn BufRead, mut length: u64) -> SvnResult<()> {
    while length > 0 {
        let have = fill(input)?.len();
        if have == 0 {
            return Err(ran_dry());
        }
        let step = clamped(length).min(have);
        input.consume(step);
        length = length.saturating_sub(len64(step));
    }
    Ok(())
}

/// Splits what C's `strtol` would read off the front of `text`: sign, digits, rest.
fn split_number(text: &[u8]) -> (bool, &[u8], &[u8]) {
    let text = text.trim_ascii_start();
    let (negative, text) = match text {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        _ => (false, text),
    };
    let digits = text.iter().position(|b| !b.is_ascii_digit()).unwrap_or(text.len());
    let (digits, rest) = text.split_at_checked(digits).unwrap_or((text, b""));
    (negative, digits, rest)
}

/// The version of a stream.
pub(super) fn parse_version(text: &[u8]) -> SvnResult<i64> {
    let range = (i32::MIN, i32::MAX);
    let version = parse_number(text, range)?;
    if i32::try_from(version).is_ok() { Ok(version) } else { Err(out_of_range(text, range)) }
}

/// A whole number that is all of `text`; `range` is what an error says that it may be.
fn parse_number<T: Display>(text: &[u8], range: (T, T)) -> SvnResult<i64> {
    let (negative, digits, rest) = split_number(text);
    let shown = String::from_utf8_lossy(text);
    if digits.is_empty() || !rest.is_empty() {
        return Err(SvnError::new(
            ErrorCode::INCORRECT_PARAMS,
            format!("Could not convert '{shown}' into a number"),
        ));
    }
    match sapwood_core::revnum::parse_u64(digits).and_then(|n| i64::try_from(n).ok()) {
        Some(n) => Ok(if negative { n.saturating_neg() } else { n }),
        None => Err(out_of_range(text, range)),
    }
}

/// The length of a property's name: all of `text`, and at most `limit`.
pub(super) fn parse_name_length(text: &[u8], limit: u64) -> SvnResult<u64> {
    let range = (0, u64::MAX);
    let number = parse_number(text, range)?;
    let number = u64::try_from(number).map_err(|_| out_of_range(text, range))?;
    if number > limit { Err(malformed()) } else { Ok(number) }
}

/// The length of a property's value: all of `text`, and at most `limit`. A negative one wants more
/// than any stream has.
pub(super) fn parse_value_length(text: &[u8], limit: u64) -> SvnResult<u64> {
    let number = u64::try_from(parse_number(text, (i64::MIN, i64::MAX))?).map_err(|_| ran_dry())?;
    if number > limit { Err(malformed()) } else { Ok(number) }
}

fn out_of_range<T: Display>(text: &[u8], (least, most): (T, T)) -> SvnError {
    let shown = String::from_utf8_lossy(text);
    SvnError::new(
        ErrorCode::INCORRECT_PARAMS,
        format!("Number '{shown}' is out of range '[{least}, {most}]'"),
    )
}

/// What [`Headers::number`] says of a value.
pub(super) fn lenient_number(text: &[u8]) -> i64 {
    let (negative, digits, _) = split_number(text);
    if digits.is_empty() {
        return 0;
    }
    let number = sapwood_core::revnum::parse_u64(digits).and_then(|n| i64::try_from(n).ok());
    match (number, negative) {
        (Some(number), false) => number,
        (Some(number), true) => number.wrapping_neg(),
        (None, false) => i64::MAX,
        (None, true) => i64::MIN,
    }
}

/// The bytes that a length in a header announces: a negative one is more than any stream has, as
/// in the reference, so that the stream ends before them.
pub(super) fn lenient_length(text: &[u8]) -> u64 {
    lenient_number(text).cast_unsigned()
}
