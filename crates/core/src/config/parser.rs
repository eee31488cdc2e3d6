//! The line parser below [`super::Config`], usable on its own where the order and repetition of
//! sections matter (authorization files).

use std::borrow::Cow;

use thiserror::Error;

use crate::error::{ErrorCode, SvnError};

/// Where and why a file is not in the dialect. Lines count from 1, but section headers are not
/// counted: the reference's numbers, which people and tests know.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[allow(missing_docs)]
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
    /// Whoever receives the events refused one.
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

/// What the parser found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event<'a> {
    /// A section begins; it may be empty, and may have begun before.
    Open {
        /// Its name, which may be empty.
        section: &'a str,
    },
    /// An option with its whole value.
    Value {
        /// The section.
        section: &'a str,
        /// The name, without white space around it.
        option: &'a str,
        /// The value, without white space around it; lines that go on are joined by a space.
        value: &'a [u8],
    },
    /// The section ends.
    Close {
        /// Its name.
        section: &'a str,
    },
}

/// Whether a receiver wants more events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// Go on.
    Continue,
    /// That is enough; the rest of the file is not even looked at.
    Stop,
}

/// White space in C's sense.
const fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | 0x09..=0x0d)
}

fn trim_start(bytes: &[u8]) -> &[u8] {
    bytes.get(bytes.iter().take_while(|b| is_space(**b)).count()..).unwrap_or_default()
}

fn trim_end(bytes: &[u8]) -> &[u8] {
    let spaces = bytes.iter().rev().take_while(|b| is_space(**b)).count();
    bytes.get(..bytes.len().saturating_sub(spaces)).unwrap_or_default()
}

fn text(bytes: &[u8]) -> Cow<'_, str> {
    String::from_utf8_lossy(bytes)
}

/// The lines of a file.
struct Lines<'a> {
    rest: Option<&'a [u8]>,
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
        Some(line.get(line.iter().take_while(|b| **b == b'\r').count()..).unwrap_or_default())
    }
}

/// Parses a file and hands every section and option to `receiver`, in the order of the file.
///
/// # Errors
/// The first fault of the file, or the receiver's own error.
pub fn parse_events(
    bytes: &[u8],
    receiver: &mut dyn FnMut(Event<'_>) -> Result<Flow, SvnError>,
) -> Result<(), SyntaxError> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let mut lines = Lines { rest: Some(bytes) };
    let mut line_number: u64 = 1;
    let mut section: Option<Cow<'_, str>> = None;
    let mut value = Vec::new();
    let mut pending = None;
    while let Some(line) = pending.take().or_else(|| lines.next()) {
        let body = trim_start(line);
        let indented = body.len() < line.len();
        let line_now = line_number;
        match body.first() {
            None => line_number = line_number.saturating_add(1),
            Some(b'[') if indented => {
                return Err(SyntaxError::IndentedSection { line: line_now });
            }
            Some(b'[') => {
                if let Some(section) = section.take()
                    && receiver(Event::Close { section: &section })? == Flow::Stop
                {
                    return Ok(());
                }
                let name = body.get(1..).unwrap_or_default();
                let end = memchr::memchr(b']', name);
                let name = end
                    .and_then(|end| name.get(..end))
                    .ok_or(SyntaxError::OpenSection { line: line_now })?;
                let name = section.insert(text(name));
                if receiver(Event::Open { section: name })? == Flow::Stop {
                    return Ok(());
                }
            }
            Some(b'#') if indented => {
                return Err(SyntaxError::IndentedComment { line: line_now });
            }
            Some(b'#') => line_number = line_number.saturating_add(1),
            Some(_) => {
                let section = section
                    .as_deref()
                    .filter(|name| !name.is_empty())
                    .ok_or(SyntaxError::NoSection { line: line_now })?;
                if indented {
                    return Err(SyntaxError::IndentedOption { line: line_now });
                }
                let separator = memchr::memchr2(b'=', b':', line);
                let (name, first) = separator
                    .and_then(|at| Some((line.get(..at)?, line.get(at.saturating_add(1)..)?)))
                    .ok_or(SyntaxError::NoSeparator { line: line_now })?;
                value.clear();
                value.extend_from_slice(trim_end(trim_start(first)));
                line_number = line_number.saturating_add(1);
                // Indented lines go on with the value; an empty one ends it and is used up.
                for next in std::iter::from_fn(|| lines.next()) {
                    let body = trim_start(next);
                    if body.is_empty() {
                        line_number = line_number.saturating_add(1);
                        break;
                    }
                    if body.len() == next.len() {
                        pending = Some(next);
                        break;
                    }
                    line_number = line_number.saturating_add(1);
                    value.push(b' ');
                    value.extend_from_slice(trim_end(body));
                }
                let event = Event::Value { section, option: &text(trim_end(name)), value: &value };
                if receiver(event)? == Flow::Stop {
                    return Ok(());
                }
            }
        }
    }
    if let Some(section) = section {
        receiver(Event::Close { section: &section })?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn events(text: &[u8]) -> Result<Vec<String>, SyntaxError> {
        let mut seen = Vec::new();
        parse_events(text, &mut |event| {
            seen.push(match event {
                Event::Open { section } => format!("[{section}"),
                Event::Value { section, option, value } => {
                    format!("{section}.{option}={}", String::from_utf8_lossy(value))
                }
                Event::Close { section } => format!("{section}]"),
            });
            Ok(Flow::Continue)
        })?;
        Ok(seen)
    }

    #[test]
    fn values_that_go_on() {
        assert_eq!(
            events(b"\xef\xbb\xbf# c\r\n[a] junk\r\nx = 1 \r\n  2\r\n\t#3\r\n\r\ny:z=\n[]\n")
                .unwrap(),
            ["[a", "a.x=1 2 #3", "a.y=z=", "a]", "[", "]"]
        );
        assert_eq!(events(b"[a]\nx=1").unwrap(), ["[a", "a.x=1", "a]"]);
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
    fn a_receiver_may_stop_or_refuse() {
        let mut count = 0;
        let mut stop = |_: Event<'_>| {
            count += 1;
            Ok(if count == 2 { Flow::Stop } else { Flow::Continue })
        };
        assert_eq!(parse_events(b"[a]\nx=1\nnonsense\n", &mut stop), Ok(()));
        assert_eq!(count, 2);
        let refusal = SvnError::new(ErrorCode::AUTHZ_INVALID_CONFIG, "no");
        let result = parse_events(b"[a]\n", &mut |_| Err(refusal.clone()));
        assert_eq!(result.map_err(SvnError::from), Err(refusal));
    }
}
