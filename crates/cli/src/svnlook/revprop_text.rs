//! Properties as `svnlook` prints them: author, date and message of a revision, and values among others.

use sapwood_core::date::Timestamp;
use sapwood_core::exact::Exact;
use sapwood_core::props::names;
use sapwood_core::{PropList, SvnResult};

use super::Context;
use crate::command::Invocation;
use crate::{locale, user_date};

/// A value as C programs see it: up to the first zero byte.
fn c_string(value: &[u8]) -> &[u8] {
    value.split(|b| *b == 0).next().unwrap_or(b"")
}

/// Prints the author.
pub(super) fn print_author(invocation: &mut Invocation<'_>, context: &Context) -> SvnResult<()> {
    let props = context.revprops()?;
    let author = c_string(props.get(names::AUTHOR).unwrap_or(b""));
    invocation.out.bytes(&locale::encode_bytes(author))?;
    invocation.out.text("\n")
}

/// Prints when it was made.
pub(super) fn print_date(invocation: &mut Invocation<'_>, context: &Context) -> SvnResult<()> {
    let props = context.revprops()?;
    let text = match props.get(names::DATE) {
        Some(value) => user_date::human(Timestamp::parse(c_string(value))?.0),
        None => String::new(),
    };
    invocation.out.text(&format!("{text}\n"))
}

/// Prints the log message; with its length before it if that is wanted.
pub(super) fn print_log(
    invocation: &mut Invocation<'_>,
    context: &Context,
    with_size: bool,
) -> SvnResult<()> {
    let props = context.revprops()?;
    let Some(value) = props.get(names::LOG) else {
        return invocation.out.text(if with_size { "0\n" } else { "\n" });
    };
    let lines = unix_lines(c_string(value));
    let text = locale::encode_bytes(&lines);
    if with_size {
        invocation.out.text(&format!("{}\n", text.len()))?;
    }
    invocation.out.stream(&text)?;
    invocation.out.stream(b"\n")?;
    invocation.out.end_stream()
}

/// The text with all line endings as newlines.
fn unix_lines(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((&first, after)) = rest.split_first() {
        rest = after;
        if first == b'\r' {
            out.push(b'\n');
            rest = rest.strip_prefix(b"\n").unwrap_or(rest);
        } else {
            out.push(first);
        }
    }
    out
}

/// A value with every line indented, and a newline at its end.
fn indented(value: &[u8]) -> Vec<u8> {
    let mut text = c_string(value).to_vec();
    text.push(b'\n');
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text.as_slice();
    while let Some((line, more)) = rest.split_at_checked(line_len(rest)) {
        if line.is_empty() {
            break;
        }
        out.extend_from_slice(b"    ");
        out.extend_from_slice(line);
        rest = more;
    }
    out
}

/// The length of the first line: it ends after a line feed, a carriage return, or one of each in
/// either order.
fn line_len(text: &[u8]) -> usize {
    let is_end = |b: &u8| matches!(b, b'\r' | b'\n');
    let Some(at) = text.iter().position(is_end) else { return text.len() };
    let ends = text.iter().skip(at);
    let pair = ends.clone().nth(1).is_some_and(|b| is_end(b) && ends.clone().next() != Some(b));
    at.plus(if pair { 2 } else { 1 })
}

/// A value as it is shown among others: Subversion's own are text, in the terminal's encoding.
pub(super) fn display_value(name: &str, value: &[u8]) -> Vec<u8> {
    if name.starts_with("svn:") && std::str::from_utf8(value).is_ok() {
        return locale::encode_bytes(value).into_owned();
    }
    value.to_vec()
}

/// Prints properties in the order of their names.
pub(super) fn print_sorted(
    invocation: &mut Invocation<'_>,
    props: &PropList,
    names_only: bool,
) -> SvnResult<()> {
    for (name, value) in props.iter() {
        print_one(invocation, name, value, names_only)?;
    }
    Ok(())
}

/// Prints one property.
pub(super) fn print_one(
    invocation: &mut Invocation<'_>,
    name: &str,
    value: &[u8],
    names_only: bool,
) -> SvnResult<()> {
    invocation.out.text(&format!("  {name}\n"))?;
    if names_only { Ok(()) } else { invocation.out.bytes(&indented(&display_value(name, value))) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_helpers() {
        assert_eq!(unix_lines(b"a\r\nb\rc\n\r"), b"a\nb\nc\n\n");
        assert_eq!(indented(b"a\nb\n"), b"    a\n    b\n    \n");
        assert_eq!(indented(b"a\0b"), b"    a\n");
        assert_eq!(indented(b"a\rb\r\nc\n\rd"), b"    a\r    b\r\n    c\n\r    d\n");
        assert_eq!(indented(b"a\r\r\n\n"), b"    a\r    \r\n    \n    \n");
        assert_eq!(c_string(b""), b"");
    }
}
