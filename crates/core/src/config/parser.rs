//! The line parser below [`super::Config`], usable on its own where the order and repetition of
//! sections matter (authorization files).
//!
//! Invariant: sections and options are reported in the order of the file, and exactly as often as they
//! stand there.

use crate::{Cut, Exact};
use thiserror::Error;

use crate::error::{ErrorCode, SvnError};

/// Where and why a file is not in the dialect. Lines count from 1, but section headers are not
/// counted: the reference's numbers, which people and tests know.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[allow(missing_docs, reason = "each variant says what its `line` is about")]
pub enum SyntaxError {
    /// A `[` after white space.
    #[error("line {line}: Section header must start in the first column")]
    IndentedSection { line: u64 },
    /// A `#` after white space, where no value can go on.
    #[error("line {line}: Comment must start in the first column")]
    IndentedComment { line: u64 },
    /// An option before the first section.
    #[error("line {line}: Section header expected")]
    NoSection { line: u64 },
    /// An indented line where no value can go on.
    #[error("line {line}: Option expected")]
    IndentedOption { line: u64 },
    /// A `[` without `]`.
    #[error("line {line}: Section header must end with ']'")]
    OpenSection { line: u64 },
    /// A line without `=` and `:`.
    #[error("line {line}: Option must end with ':' or '='")]
    NoSeparator { line: u64 },
    /// The receiver of the events refused one.
    #[error("{0}")]
    Receiver(SvnError),
}

impl From<SyntaxError> for SvnError {
    fn from(error: SyntaxError) -> Self {
        match error {
            SyntaxError::Receiver(error) => error,
            other => Self::new(ErrorCode::MALFORMED_FILE, other.to_string()),
        }
    }
}

impl From<SvnError> for SyntaxError {
    fn from(error: SvnError) -> Self {
        Self::Receiver(error)
    }
}

/// What the parser found. Names and values are bytes: a file in another encoding than UTF-8 stays
/// readable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event<'a> {
    /// A section begins; it may be empty, and may have begun before.
    Open {
        /// Its name, which may be empty.
        section: &'a [u8],
    },
    /// An option with its whole value.
    Value {
        /// The section.
        section: &'a [u8],
        /// The name, without white space around it.
        option: &'a [u8],
        /// The value, without white space around it; lines that go on are joined by a space.
        value: &'a [u8],
    },
    /// The section that was open ends.
    Close,
}

/// White space in C's sense.
const fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | 0x09..=0x0d)
}

fn trim_start(bytes: &[u8]) -> &[u8] {
    bytes.tail(bytes.iter().take_while(|b| is_space(**b)).count())
}

fn trim_end(bytes: &[u8]) -> &[u8] {
    let spaces = bytes.iter().rev().take_while(|b| is_space(**b)).count();
    bytes.head(bytes.len().minus(spaces))
}

/// `bytes` without white space (in C's sense) at both ends.
#[must_use]
pub fn trim(bytes: &[u8]) -> &[u8] {
    trim_end(trim_start(bytes))
}

/// The lines of a file.
struct Lines<'a> {
    rest: Option<&'a [u8]>,
    /// The number of the line that comes next.
    number: u64,
}

impl<'a> Lines<'a> {
    /// The next line without its newline; carriage returns at its start do not count. `None`
    /// after the last: a file that ends in a newline has an empty last line.
    fn next(&mut self) -> Option<&'a [u8]> {
        let rest = self.rest?;
        let line = match memchr::memchr(b'\n', rest).and_then(|at| rest.split_at_checked(at)) {
            Some((line, after)) => {
                self.rest = after.get(1..);
                line
            }
            None => {
                self.rest = None;
                rest
            }
        };
        Some(line.tail(line.iter().take_while(|b| **b == b'\r').count()))
    }

    /// Counts a line that was read.
    fn count(&mut self) {
        self.number += 1;
    }

    /// Appends the indented lines that go on with a value; an empty one ends it and is used up.
    fn read_on(&mut self, value: &mut Vec<u8>) {
        loop {
            let before = self.rest;
            let Some(line) = self.next() else { return };
            let body = trim_start(line);
            if !body.is_empty() && body.len() == line.len() {
                self.rest = before;
                return;
            }
            self.count();
            if body.is_empty() {
                return;
            }
            value.push(b' ');
            value.extend_from_slice(trim_end(body));
        }
    }
}

/// Parses a file and hands every section and option to `receiver`, in the order of the file.
///
/// # Errors
/// The first fault of the file, or the receiver's own error.
pub fn parse_events(
    bytes: &[u8],
    receiver: &mut dyn FnMut(Event<'_>) -> Result<(), SvnError>,
) -> Result<(), SyntaxError> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let mut lines = Lines { rest: Some(bytes), number: 1 };
    let mut open: Option<&[u8]> = None;
    let mut value = Vec::new();
    while let Some(text) = lines.next() {
        let body = trim_start(text);
        let indented = body.len() < text.len();
        let line = lines.number;
        match body.first() {
            None => lines.count(),
            Some(b'[') if indented => return Err(SyntaxError::IndentedSection { line }),
            Some(b'[') => {
                if open.take().is_some() {
                    receiver(Event::Close)?;
                }
                let name = body.tail(1);
                let end = memchr::memchr(b']', name);
                let name =
                    end.and_then(|end| name.get(..end)).ok_or(SyntaxError::OpenSection { line })?;
                open = Some(name);
                receiver(Event::Open { section: name })?;
            }
            Some(b'#') if indented => return Err(SyntaxError::IndentedComment { line }),
            Some(b'#') => lines.count(),
            Some(_) => {
                let section =
                    open.filter(|name| !name.is_empty()).ok_or(SyntaxError::NoSection { line })?;
                if indented {
                    return Err(SyntaxError::IndentedOption { line });
                }
                let (name, first) = memchr::memchr2(b'=', b':', text)
                    .and_then(|at| Some((text.get(..at)?, text.get(at.plus(1)..)?)))
                    .ok_or(SyntaxError::NoSeparator { line })?;
                lines.count();
                value.clear();
                value.extend_from_slice(trim(first));
                lines.read_on(&mut value);
                receiver(Event::Value { section, option: trim_end(name), value: &value })?;
            }
        }
    }
    if open.is_some() {
        receiver(Event::Close)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn events(bytes: &[u8]) -> Result<Vec<String>, SyntaxError> {
        let text = String::from_utf8_lossy;
        let mut seen = Vec::new();
        parse_events(bytes, &mut |event| {
            seen.push(match event {
                Event::Open { section } => format!("[{}", text(section)),
                Event::Value { section, option, value } => {
                    format!("{}.{}={}", text(section), text(option), text(value))
                }
                Event::Close => "]".to_owned(),
            });
            Ok(())
        })?;
        Ok(seen)
    }

    #[test]
    fn values_that_go_on() {
        assert_eq!(
            events(b"\xef\xbb\xbf# c\r\n[a] junk\r\nx = 1 \r\n  2\r\n\t#3\r\n\r\ny:z=\n[]\n")
                .unwrap(),
            ["[a", "a.x=1 2 #3", "a.y=z=", "]", "[", "]"]
        );
        assert_eq!(events(b"[a]\nx=1").unwrap(), ["[a", "a.x=1", "]"]);
        assert_eq!(events(b"").unwrap(), Vec::<String>::new());
    }

    /// The numbers are those that `svnauthz validate` of the reference prints.
    #[test]
    fn line_numbers_of_the_reference() {
        for (text, error) in [
            (&b"[/]\nx=r\n\n\n  y=2\n"[..], SyntaxError::IndentedOption { line: 4 }),
            (b"x=r\n", SyntaxError::NoSection { line: 1 }),
            (b"\r\n[/]\r\n*=r\r\n\r\nbad\r\n", SyntaxError::NoSeparator { line: 4 }),
            (b"[/]\n*=r\n   \nbad\n", SyntaxError::NoSeparator { line: 3 }),
            (b"[/]\n*=r\n#\nbad\n", SyntaxError::NoSeparator { line: 3 }),
            (b" [a]\n", SyntaxError::IndentedSection { line: 1 }),
            (b"[a]\n # x\n", SyntaxError::IndentedComment { line: 1 }),
            (b"\n[a\n", SyntaxError::OpenSection { line: 2 }),
        ] {
            assert_eq!(events(text), Err(error), "{:?}", String::from_utf8_lossy(text));
        }
    }

    #[test]
    fn bytes_that_are_no_text() {
        let mut seen = Vec::new();
        let mut keep = |event: Event<'_>| {
            if let Event::Value { section, option, value } = event {
                seen.extend([section.to_vec(), option.to_vec(), value.to_vec()]);
            }
            Ok(())
        };
        parse_events(b"[\xe9]\n\xff = \x0b\xfe\n", &mut keep).unwrap();
        assert_eq!(seen, [b"\xe9", b"\xff", b"\xfe"]);
    }

    #[test]
    fn a_receiver_may_refuse() {
        let refusal = SvnError::new(ErrorCode::AUTHZ_INVALID_CONFIG, "no");
        let result = parse_events(b"[a]\nnonsense\n", &mut |_| Err(refusal.clone()));
        assert_eq!(result.map_err(SvnError::from), Err(refusal));
    }
}
