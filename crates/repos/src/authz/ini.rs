//! The file syntax that authz files share with every other Subversion configuration file, as a
//! stream of events in file order.
//!
//! Invariant: sections and options are reported in the order of the file and exactly as often as
//! they stand there, because the order of authz sections has a meaning and a repeated one is an
//! error. Names and values are bytes: a file in another encoding than UTF-8 stays readable.

use sapwood_core::{ErrorCode, SvnError, SvnResult};

/// What the parser meets.
pub(super) enum Event<'a> {
    /// `[name]`.
    Section(&'a [u8]),
    /// `option = value` inside the section that came last, continuation lines joined.
    Value(&'a [u8], &'a [u8]),
    /// The end of the section that came last.
    EndSection,
}

/// Whether C's `isspace` (in the POSIX locale) says so.
const fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | 0x0b | 0x0c | b'\r')
}

/// `bytes` without white space at both ends.
pub(super) fn trim(mut bytes: &[u8]) -> &[u8] {
    while let Some((&first, rest)) = bytes.split_first() {
        if !is_space(first) {
            break;
        }
        bytes = rest;
    }
    while let Some((&last, rest)) = bytes.split_last() {
        if !is_space(last) {
            break;
        }
        bytes = rest;
    }
    bytes
}

fn malformed(line: u64, what: &str) -> SvnError {
    SvnError::new(ErrorCode::MALFORMED_FILE, format!("line {line}: {what}"))
}

/// Cuts the first line off `input`, without its newline.
fn take_line<'a>(input: &mut &'a [u8]) -> &'a [u8] {
    let (line, rest) = match memchr::memchr(b'\n', input) {
        Some(at) => (input.get(..at), input.get(at.saturating_add(1)..)),
        None => (Some(*input), None),
    };
    *input = rest.unwrap_or_default();
    line.unwrap_or_default()
}

/// How a line starts: carriage returns before anything else do not count, other white space does.
fn split_indent(line: &[u8]) -> (usize, &[u8]) {
    let mut rest = line;
    while let Some(after) = rest.strip_prefix(b"\r") {
        rest = after;
    }
    let start = rest.len();
    while let Some((&first, after)) = rest.split_first() {
        if !is_space(first) {
            break;
        }
        rest = after;
    }
    (start.saturating_sub(rest.len()), rest)
}

/// Splits `name = value` at the first colon before the first equals sign, or at that.
fn split_option(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let at = memchr::memchr2(b'=', b':', line)?;
    let name = line.get(..at)?;
    let value = line.get(at.saturating_add(1)..)?;
    // Only trailing space of the name goes: a name never starts with any.
    let keep = name.iter().rposition(|b| !is_space(*b)).map_or(0, |last| last.saturating_add(1));
    Some((name.get(..keep)?, trim(value)))
}

/// Reads all of `input` and reports what it holds.
///
/// # Errors
/// E200002 with the line number for a syntax error, and whatever `receive` returns.
pub(super) fn parse(
    input: &[u8],
    mut receive: impl FnMut(Event<'_>) -> SvnResult<()>,
) -> SvnResult<()> {
    let mut input = input.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(input);
    let mut line_number: u64 = 1;
    let mut in_section = false;
    let mut has_name = false;
    let mut joined = Vec::new();
    while !input.is_empty() {
        let line = take_line(&mut input);
        let (indent, text) = split_indent(line);
        match text.first() {
            None => line_number = line_number.saturating_add(1),
            Some(b'[') => {
                if indent != 0 {
                    return Err(malformed(
                        line_number,
                        "Section header must start in the first column",
                    ));
                }
                if in_section {
                    receive(Event::EndSection)?;
                }
                let inner = text.get(1..).unwrap_or_default();
                let Some(end) = memchr::memchr(b']', inner) else {
                    return Err(malformed(line_number, "Section header must end with ']'"));
                };
                let name = inner.get(..end).unwrap_or_default();
                in_section = true;
                has_name = !name.is_empty();
                receive(Event::Section(name))?;
                // The reference does not count the lines of section headers; its line numbers in
                // messages are part of what people compare.
            }
            Some(b'#') => {
                if indent != 0 {
                    return Err(malformed(line_number, "Comment must start in the first column"));
                }
                line_number = line_number.saturating_add(1);
            }
            Some(_) => {
                if !has_name {
                    return Err(malformed(line_number, "Section header expected"));
                }
                if indent != 0 {
                    return Err(malformed(line_number, "Option expected"));
                }
                let Some((name, first)) = split_option(text) else {
                    return Err(malformed(line_number, "Option must end with ':' or '='"));
                };
                joined.clear();
                joined.extend_from_slice(first);
                loop {
                    if input.is_empty() {
                        break;
                    }
                    line_number = line_number.saturating_add(1);
                    let mut ahead = input;
                    let next = take_line(&mut ahead);
                    let (indent, text) = split_indent(next);
                    if text.is_empty() {
                        // An empty line ends the value, and is used up.
                        input = ahead;
                        line_number = line_number.saturating_add(1);
                        break;
                    }
                    if indent == 0 {
                        break;
                    }
                    joined.push(b' ');
                    joined.extend_from_slice(trim(text));
                    input = ahead;
                }
                receive(Event::Value(name, &joined))?;
            }
        }
    }
    if in_section {
        receive(Event::EndSection)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn events(text: &str) -> Result<Vec<String>, String> {
        let mut out = Vec::new();
        parse(text.as_bytes(), |event| {
            out.push(match event {
                Event::Section(name) => format!("[{}]", String::from_utf8_lossy(name)),
                Event::Value(name, value) => {
                    format!("{}|{}", String::from_utf8_lossy(name), String::from_utf8_lossy(value))
                }
                Event::EndSection => "end".to_owned(),
            });
            Ok(())
        })
        .map_err(|e| e.to_string())?;
        Ok(out)
    }

    #[test]
    fn sections_values_and_continuations() {
        let text = "\u{feff}# c\n[a] rest\nx = 1\n y\n\tz \nq: r = s\r\n\n[b]\nk=";
        assert_eq!(events(text).unwrap(), ["[a]", "x|1 y z", "q|r = s", "end", "[b]", "k|", "end"]);
    }

    #[test]
    fn errors_name_the_line() {
        assert_eq!(events("x = 1\n").unwrap_err(), "E200002: line 1: Section header expected");
        assert_eq!(
            events("#\n [a]\n").unwrap_err(),
            "E200002: line 2: Section header must start in the first column"
        );
        assert_eq!(
            events("[a\n").unwrap_err(),
            "E200002: line 1: Section header must end with ']'"
        );
        assert_eq!(events("[a]\n\n b\n").unwrap_err(), "E200002: line 2: Option expected");
        assert_eq!(
            events("[a]\nb\n").unwrap_err(),
            "E200002: line 1: Option must end with ':' or '='"
        );
        assert_eq!(
            events("[a]\nb=c\n\n #\n").unwrap_err(),
            "E200002: line 3: Comment must start in the first column"
        );
    }
}
