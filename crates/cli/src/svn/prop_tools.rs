//! Helpers of the subcommands about properties.

use sapwood_client::Revision;
use sapwood_client::open::url_of;
use sapwood_core::exact::Cut;
use sapwood_core::paths::UrlBuf;
use sapwood_core::props::names;
use sapwood_core::{ErrorCode, PropList, SvnError, SvnResult};
use sapwood_wc::props::rules::{
    check_mime_type, is_binary_mime_type, is_boolean, known_node_props, known_revision_props,
    needs_translation,
};
use sapwood_wc::translate::{Eol, Translator};

use super::out::Out;
use super::targets::Arg;
use super::{Invocation, Opt};
use crate::command::usage_error;
use crate::pegs::Part;
use crate::similarity::{Likeness, closest, score};
use crate::xml::{self, Tag};
use crate::{input, locale};

/// The action on a property, for error messages.
#[derive(Clone, Copy, Debug)]
pub(super) enum Use {
    Set,
    Edit,
}

impl Use {
    fn word(self) -> &'static str {
        match self {
            Self::Set => "set",
            Self::Edit => "edit",
        }
    }
}

/// E195011 for a name that no property can have.
pub(super) fn check_valid(name: &str) -> SvnResult<()> {
    if names::is_valid(name) {
        return Ok(());
    }
    Err(SvnError::new(
        ErrorCode::CLIENT_PROPERTY_NAME,
        format!("'{name}' is not a valid Subversion property name"),
    ))
}

/// Checks that a name in the namespace `svn:`, or nearly in it, is one that is known there.
pub(super) fn check_spelling(name: &str, revprop: bool, what: Use) -> SvnResult<()> {
    let prefix = names::PREFIX;
    let known: Vec<&'static str> = match revprop {
        true => known_revision_props().collect(),
        false => known_node_props().collect(),
    };
    let known: Vec<&'static str> =
        known.into_iter().filter_map(|name| name.strip_prefix(prefix)).collect();
    let bytes = name.as_bytes();
    let Some((start, rest)) = bytes.split_at_checked(prefix.len()) else { return Ok(()) };
    if start.last() != Some(&b':') {
        return Ok(());
    }
    let wrong = format!("'{name}' is not a valid {prefix} property name");
    let refuse = |suggestion: &str| {
        let use_force = format!("Use '--force' to {} the '{name}' property.", what.word());
        Err(SvnError::new(
            ErrorCode::CLIENT_PROPERTY_NAME,
            format!("{wrong}; did you mean {suggestion}?"),
        )
        .context(use_force))
    };
    let (_, different) = score(start, prefix.as_bytes());
    match different {
        0 => {}
        // Where the prefix has a slip, the rest must be right.
        1 => {
            return match known.iter().find(|known| known.as_bytes() == rest) {
                Some(meant) => refuse(&format!("'{prefix}{meant}'")),
                None => Ok(()),
            };
        }
        _ => return Ok(()),
    }
    // A name that is not UTF-8 counts as empty.
    let rest = std::str::from_utf8(rest).unwrap_or("");
    match closest(rest, &known) {
        Likeness::Exact(_) => Ok(()),
        Likeness::Near(near) => match near.suggestion_with(prefix) {
            Some(suggestion) => refuse(&suggestion),
            None => Err(SvnError::new(
                ErrorCode::CLIENT_PROPERTY_NAME,
                format!("{wrong}; use '--force' to {} it", what.word()),
            )),
        },
    }
}

/// Warns of a value that does not do what it seems to.
pub(super) fn check_boolean(out: &Out, name: &str, value: &[u8]) {
    let word = value.trim_ascii().to_ascii_lowercase();
    let off = [&b""[..], b"0", b"no", b"off", b"false"].contains(&word.as_slice());
    if is_boolean(name) && off {
        let value = String::from_utf8_lossy(value);
        out.warn(&SvnError::new(
            ErrorCode::BAD_PROPERTY_VALUE,
            format!(
                "To turn off the {name} property, use 'svn propdel';\nsetting the property to \
                 '{value}' will not turn it off."
            ),
        ));
    }
}

/// The URL of the repository and the revision that `--revprop` is about.
pub(super) fn revprop_target(
    invocation: &Invocation,
    targets: &[Arg],
) -> SvnResult<(UrlBuf, Revision)> {
    let revision = invocation.opt.revision();
    if !matches!(revision, Revision::Number(_) | Revision::Date(_) | Revision::Head) {
        return Err(usage_error(
            "Must specify the revision as a number, a date or 'HEAD' when operating on a revision \
             property",
        ));
    }
    let [target] = targets else { return Err(usage_error("Wrong number of targets specified")) };
    let place = invocation.name(Part::Repository, target)?;
    Ok((url_of(&invocation.ctx, &place)?, revision))
}

/// A revision as errors name it.
pub(super) fn revision_word(revision: Revision) -> String {
    match revision {
        Revision::Number(number) => number.to_string(),
        Revision::Date(micros) => sapwood_core::date::Timestamp(micros).to_string(),
        _ => "head".to_owned(),
    }
}

/// A value in the encoding of the terminal and with its line ends, if it is text.
///
/// # Errors
/// E135000 for mixed line ends.
pub(super) fn display_value(name: &str, value: &[u8]) -> SvnResult<Vec<u8>> {
    if !needs_translation(name) {
        return Ok(value.to_vec());
    }
    let text = Translator::new(Some(Eol::NATIVE), false, None, false).whole(value)?;
    Ok(locale::encode_bytes(&text).into_owned())
}

/// Prints names, or names and values.
pub(super) fn print_props(out: &Out, props: &PropList, names_only: bool) -> SvnResult<()> {
    for (name, value) in props.iter() {
        out.text(&format!("  {name}\n"))?;
        if names_only {
            continue;
        }
        let mut text = Vec::new();
        let value = display_value(name, value)?;
        // A value ends where C's strings do.
        let end = value.iter().position(|b| *b == 0).unwrap_or(value.len());
        for line in value.head(end).split(|b| *b == b'\n') {
            text.extend_from_slice(b"    ");
            text.extend_from_slice(line);
            text.push(b'\n');
        }
        out.bytes(&text)?;
    }
    Ok(())
}

/// Appends properties as XML.
pub(super) fn xml_props(to: &mut String, props: &PropList, names_only: bool, inherited: bool) {
    let element = if inherited { "inherited_property" } else { "property" };
    for (name, value) in props.iter() {
        if names_only {
            xml::open(to, element, Tag::Empty, &[("name", name)]);
        } else {
            xml::property(to, element, name, value);
        }
    }
}

/// E205000 for `--show-inherited-props` with `--revprop`.
pub(super) fn refuse_inherited(invocation: &Invocation) -> SvnResult<()> {
    match invocation.has(Opt::ShowInheritedProps) {
        true => Err(usage_error("--show-inherited-props can't be used with --revprop")),
        false => Ok(()),
    }
}

/// Warns when a file that looks like text gets an invalid media type.
pub(super) fn warn_of_binary_type(
    invocation: &Invocation,
    name: &str,
    value: &[u8],
    paths: &[String],
) {
    use std::io::Read as _;
    // A value that is not a media type at all is reported elsewhere.
    let valid = std::str::from_utf8(value.trim_ascii()).is_ok_and(|v| check_mime_type(v).is_ok());
    if !valid || name != names::MIME_TYPE || !is_binary_mime_type(value.trim_ascii()) {
        return;
    }
    for path in paths {
        let abspath = invocation.ctx.absolute(path);
        let Ok(file) = input::open(&abspath.to_string_lossy()) else { continue };
        let mut start = Vec::new();
        let read = file.take(BINARY_LOOK).read_to_end(&mut start);
        if read.is_err() || !abspath.is_file() || sapwood_wc::autoprops::is_binary(&start) {
            continue;
        }
        invocation.out.stderr(&format!(
            "svn: warning: '{}' is a binary mime-type but file '{}' looks like text; diff, merge, \
             blame, and other operations will stop working on this file\n",
            String::from_utf8_lossy(value.trim_ascii()),
            abspath.display(),
        ));
    }
}

/// How much of a file is looked at to know whether it is text, in bytes.
const BINARY_LOOK: u64 = 1024;
