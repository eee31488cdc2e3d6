//! `svnlook author`, `date`, `log`, `info`, `propget` and `proplist`.

use sapwood_core::date::Timestamp;
use sapwood_core::props::names;
use sapwood_core::{ErrorCode, PropList, SvnError, SvnResult, path};
use sapwood_repos::{Everything, inherited_props};

use super::{Context, Subject, arguments, existing, no_argument, one_argument};
use crate::command::{Invocation, usage_error};
use crate::locale;
use crate::signals::cancel_token;
use crate::user_date;
use crate::xml;

/// `svnlook author`.
pub(super) fn author(invocation: &mut Invocation<'_>) -> SvnResult<()> {
    no_argument(invocation)?;
    let context = Context::open(invocation)?;
    print_author(invocation, &context)
}

/// `svnlook date`.
pub(super) fn date(invocation: &mut Invocation<'_>) -> SvnResult<()> {
    no_argument(invocation)?;
    let context = Context::open(invocation)?;
    print_date(invocation, &context)
}

/// `svnlook log`.
pub(super) fn log(invocation: &mut Invocation<'_>) -> SvnResult<()> {
    no_argument(invocation)?;
    let context = Context::open(invocation)?;
    print_log(invocation, &context, false)
}

/// `svnlook info`.
pub(super) fn info(invocation: &mut Invocation<'_>) -> SvnResult<()> {
    no_argument(invocation)?;
    let context = Context::open(invocation)?;
    print_author(invocation, &context)?;
    print_date(invocation, &context)?;
    print_log(invocation, &context, true)
}

/// A value as C programs see it: up to the first zero byte.
fn c_string(value: &[u8]) -> &[u8] {
    value.split(|b| *b == 0).next().unwrap_or_default()
}

fn print_author(invocation: &mut Invocation<'_>, context: &Context) -> SvnResult<()> {
    let props = context.revprops()?;
    let author = c_string(props.get(names::AUTHOR).unwrap_or_default());
    invocation.out.bytes(&locale::encode_bytes(author))?;
    invocation.out.text("\n")
}

fn print_date(invocation: &mut Invocation<'_>, context: &Context) -> SvnResult<()> {
    let props = context.revprops()?;
    let text = match props.get(names::DATE) {
        Some(value) => user_date::human(Timestamp::parse(c_string(value))?.0),
        None => String::new(),
    };
    invocation.out.text(&format!("{text}\n"))
}

fn print_log(invocation: &mut Invocation<'_>, context: &Context, with_size: bool) -> SvnResult<()> {
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
    at.saturating_add(if pair { 2 } else { 1 })
}

/// A value as it is shown among others: Subversion's own are text, in the terminal's encoding.
fn shown(name: &str, value: &[u8]) -> Vec<u8> {
    if name.starts_with("svn:") && std::str::from_utf8(value).is_ok() {
        return locale::encode_bytes(value).into_owned();
    }
    value.to_vec()
}

/// Prints properties in the order of their names.
fn print_sorted(
    invocation: &mut Invocation<'_>,
    props: &PropList,
    names_only: bool,
) -> SvnResult<()> {
    for (name, value) in props.iter() {
        print_one(invocation, name, value, names_only)?;
    }
    Ok(())
}

fn print_one(
    invocation: &mut Invocation<'_>,
    name: &str,
    value: &[u8],
    names_only: bool,
) -> SvnResult<()> {
    invocation.out.text(&format!("  {name}\n"))?;
    if names_only { Ok(()) } else { invocation.out.bytes(&indented(&shown(name, value))) }
}

/// `svnlook propget`.
pub(super) fn propget(invocation: &mut Invocation<'_>) -> SvnResult<()> {
    let revprop = invocation.options.has("revprop");
    let verbose = invocation.options.has("verbose");
    let inherit = invocation.options.has("show-inherited-props");
    let args = arguments(invocation)?;
    let missing = |text| Err(SvnError::new(ErrorCode::CL_INSUFFICIENT_ARGS, text));
    let (name, path) = match (args.as_slice(), revprop) {
        ([], true) => return missing("Missing propname argument"),
        ([], false) => return missing("Missing propname and repository path arguments"),
        ([_], false) => return missing("Missing propname or repository path argument"),
        ([name], true) => (name, None),
        ([name, path], false) => (name, Some(path::canonical_fspath(path).into_owned())),
        _ => {
            return Err(usage_error("Too many arguments given"));
        }
    };
    let context = Context::open(invocation)?;
    let Some(path) = path else {
        context.root()?;
        let props = context.revprops()?;
        let Some(value) = props.get(name) else {
            return Err(not_found(&context, name, None, false));
        };
        if !verbose {
            return invocation.out.bytes(value);
        }
        invocation.out.text("Properties on '(null)':\n")?;
        return print_one(invocation, name, value, false);
    };
    let root = context.root()?;
    let props = existing(&root, &path)?.props()?;
    let own = props.get(name);
    let inherited = if inherit {
        inherited_props(&root, &path, Some(name), &Everything, &cancel_token())?
    } else {
        Vec::new()
    };
    if own.is_none() && inherited.is_empty() {
        return Err(not_found(&context, name, Some(&path), inherit));
    }
    if !verbose && !inherit {
        return invocation.out.bytes(own.unwrap_or_default());
    }
    for (from, props) in &inherited {
        let from = path::canonical_fspath(from);
        if verbose {
            invocation.out.text(&format!("Inherited properties on '{path}',\nfrom '{from}':\n"))?;
            print_sorted(invocation, props, false)?;
        } else {
            invocation.out.text(&format!("{from} - "))?;
            invocation.out.bytes(props.get(name).unwrap_or_default())?;
            if inherited.len() > 1 || own.is_some() {
                invocation.out.text("\n")?;
            }
        }
    }
    if let Some(value) = own {
        if verbose {
            invocation.out.text(&format!("Properties on '{path}':\n"))?;
            print_one(invocation, name, value, false)?;
        } else {
            invocation.out.text(&format!("{path} - "))?;
            invocation.out.bytes(value)?;
        }
    }
    Ok(())
}

fn not_found(context: &Context, name: &str, path: Option<&str>, inherit: bool) -> SvnError {
    let inherited = if inherit { " or inherited from a parent" } else { "" };
    let text = match (path, &context.subject) {
        (None, Subject::Revision(revision)) => {
            format!("Property '{name}' not found on revision {revision}")
        }
        (None, Subject::Transaction(txn)) => {
            format!("Property '{name}' not found on transaction {txn}")
        }
        (Some(path), Subject::Revision(revision)) => {
            format!(
                "Property '{name}' not found on path '{path}'{inherited} in revision {revision}"
            )
        }
        (Some(path), Subject::Transaction(txn)) => {
            format!("Property '{name}' not found on path '{path}'{inherited} in transaction {txn}")
        }
    };
    SvnError::new(ErrorCode::PROPERTY_NOT_FOUND, text)
}

/// `svnlook proplist`.
pub(super) fn proplist(invocation: &mut Invocation<'_>) -> SvnResult<()> {
    let path = if invocation.options.has("revprop") {
        no_argument(invocation)?;
        None
    } else {
        Some(path::canonical_fspath(&one_argument(invocation)?).into_owned())
    };
    let context = Context::open(invocation)?;
    let (props, inherited) = match &path {
        None => (context.revprops()?, Vec::new()),
        Some(path) => {
            let root = context.root()?;
            let props = (*existing(&root, path)?.props()?).clone();
            let inherited = if invocation.options.has("show-inherited-props") {
                inherited_props(&root, path, None, &Everything, &cancel_token())?
            } else {
                Vec::new()
            };
            (props, inherited)
        }
    };
    let names_only = !invocation.options.has("verbose");
    if invocation.options.has("xml") {
        let mut out = xml::HEADER.to_owned();
        xml::open(&mut out, "properties", xml::Tag::Normal, &[]);
        for (from, props) in &inherited {
            let from = path::canonical_fspath(from);
            xml::open(&mut out, "target", xml::Tag::Normal, &[("path", &from)]);
            for (name, value) in props.iter() {
                xml_property(&mut out, "inherited_property", name, value, names_only);
            }
            xml::close(&mut out, "target");
        }
        let (element, attribute, value) = match (&path, &context.subject) {
            (Some(path), _) => ("target", "path", path.clone()),
            (None, Subject::Revision(revision)) => ("revprops", "rev", revision.to_string()),
            (None, Subject::Transaction(name)) => ("revprops", "txn", name.clone()),
        };
        xml::open(&mut out, element, xml::Tag::Normal, &[(attribute, &value)]);
        for (name, value) in props.iter() {
            xml_property(&mut out, "property", name, value, names_only);
        }
        xml::close(&mut out, element);
        xml::close(&mut out, "properties");
        return invocation.out.bytes(out.as_bytes());
    }
    if let Some(path) = &path {
        for (from, props) in &inherited {
            let from = path::canonical_fspath(from);
            invocation.out.text(&format!("Inherited properties on '{path}',\nfrom '{from}':\n"))?;
            print_sorted(invocation, props, names_only)?;
        }
        invocation.out.text(&format!("Properties on '{path}':\n"))?;
    }
    print_sorted(invocation, &props, names_only)
}

fn xml_property(out: &mut String, element: &str, name: &str, value: &[u8], names_only: bool) {
    if names_only {
        xml::open(out, element, xml::Tag::Empty, &[("name", name)]);
    } else {
        xml::property(out, element, name, &shown(name, value));
    }
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
