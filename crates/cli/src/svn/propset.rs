//! `svn propset`.

use sapwood_client::props::set;
use sapwood_core::{Depth, ErrorCode, SvnError, SvnResult, props};
use sapwood_wc::autoprops::looks_binary;
use sapwood_wc::props::{Change, rules};

use super::options::Opt;
use super::targets::Arg;
use super::usual::too_few;
use super::{Command, Invocation};
use crate::command::usage_error;
use crate::{locale, report};

pub(super) const COMMAND: Command = Command {
    name: "propset",
    aliases: &["pset", "ps"],
    help: "Set the value of a property on files, dirs, or revisions.\n\
        usage: 1. propset PROPNAME PROPVAL PATH...\n       \
        2. propset PROPNAME --revprop -r REV PROPVAL [TARGET]\n",
    options: &[
        Opt::File,
        Opt::Encoding,
        Opt::Quiet,
        Opt::Revision,
        Opt::Targets,
        Opt::Recursive,
        Opt::Depth,
        Opt::Revprop,
        Opt::Force,
        Opt::Changelist,
    ],
    overrides: &[(Opt::File, "the property's value is in the file ARG")],
    run,
    ..Command::DEFAULT
};

fn run(inv: &mut Invocation) -> SvnResult<()> {
    let from_file = inv.opt.file_data.is_some();
    if inv.args.len() < if from_file { 1 } else { 2 } {
        return Err(too_few());
    }
    let name = inv.next_arg()?;
    if !rules::is_valid_name(&name) {
        return Err(SvnError::new(
            ErrorCode::CLIENT_PROPERTY_NAME,
            format!("'{name}' is not a valid Subversion property name"),
        ));
    }
    if !inv.has(Opt::Force) {
        super::propname::check(&name, inv.has(Opt::Revprop), super::propname::Use::Set)?;
    }
    let value = value_of(inv, &name)?;
    let targets = inv.targets()?;
    if inv.has(Opt::Revprop) {
        return on_revision(inv, &name, &value, &targets);
    }
    if inv.has(Opt::Revision) {
        return Err(usage_error(format!(
            "Cannot specify revision for setting versioned property '{name}'"
        )));
    }
    if targets.is_empty() {
        let text = if from_file {
            "Explicit target argument required".to_owned()
        } else {
            let shown = String::from_utf8_lossy(&value);
            format!("Explicit target required ('{shown}' interpreted as prop value)")
        };
        return Err(SvnError::new(ErrorCode::CL_INSUFFICIENT_ARGS, text));
    }
    let mut paths = Vec::new();
    for target in &targets {
        paths.push(target.without_peg()?.to_owned());
    }
    warn_of_binary(inv, &paths, &name, &value)?;
    super::targets::check_one_kind(&targets)?;
    if targets.iter().any(Arg::is_url) {
        return Err(SvnError::new(ErrorCode::ILLEGAL_TARGET, "Targets must be working copy paths"));
    }
    let change = Change { name: &name, value: Some(&value), force: inv.has(Opt::Force) };
    let changelists = inv.opt.changelists.iter().cloned().collect();
    set(&inv.ctx, &paths, change, inv.opt.depth_or(Depth::Empty), &changelists)?;
    if !inv.has(Opt::Quiet) {
        warn_of_boolean(inv, &name, &value);
    }
    Ok(())
}

/// The value, out of a file or off the command line: Subversion's own become UTF-8 with LF.
pub(super) fn value_of(inv: &mut Invocation, name: &str) -> SvnResult<Vec<u8>> {
    let given = match inv.opt.file_data.take() {
        Some(data) => data,
        None => {
            use std::os::unix::ffi::OsStringExt as _;
            let arg = inv.args.pop_front().ok_or_else(too_few)?;
            arg.into_vec()
        }
    };
    if rules::needs_translation(name) {
        let text = match inv.opt.encoding.as_deref() {
            Some(_) | None => locale::decode(given)?,
        };
        return Ok(locale::with_newlines(text)?.into_bytes());
    }
    if inv.opt.encoding.is_some() {
        return Err(SvnError::new(
            ErrorCode::UNSUPPORTED_FEATURE,
            "--encoding option applies only to textual Subversion-controlled properties",
        ));
    }
    Ok(given)
}

/// Warns of a media type that says that a text is none.
fn warn_of_binary(inv: &Invocation, paths: &[String], name: &str, value: &[u8]) -> SvnResult<()> {
    if name != props::names::MIME_TYPE {
        return Ok(());
    }
    for path in paths {
        let abspath = inv.ctx.absolute(path);
        if !std::fs::symlink_metadata(&abspath).is_ok_and(|m| m.is_file()) {
            continue;
        }
        let value = value.trim_ascii();
        rules::check_mime_type(&String::from_utf8_lossy(value))?;
        if !rules::is_binary_mime_type(value) {
            continue;
        }
        if looks_binary(&abspath).is_ok_and(|binary| !binary) {
            report::stderr(&format!(
                "svn: warning: '{}' is a binary mime-type but file '{}' looks like text; diff, \
                 merge, blame, and other operations will stop working on this file\n",
                String::from_utf8_lossy(value),
                abspath.display()
            ));
        }
    }
    Ok(())
}

/// Warns of values that read as "no".
fn warn_of_boolean(inv: &Invocation, name: &str, value: &[u8]) {
    let word = String::from_utf8_lossy(value.trim_ascii()).to_ascii_lowercase();
    if rules::is_boolean(name) && ["", "0", "no", "off", "false"].contains(&word.as_str()) {
        let shown = String::from_utf8_lossy(value);
        inv.out.warn(&SvnError::new(
            ErrorCode::BAD_PROPERTY_VALUE,
            format!(
                "To turn off the {name} property, use 'svn propdel';\n\
                 setting the property to '{shown}' will not turn it off."
            ),
        ));
    }
}

/// Sets a revision property.
fn on_revision(
    inv: &mut Invocation,
    _name: &str,
    _value: &[u8],
    _targets: &[Arg],
) -> SvnResult<()> {
    super::not_there(inv)
}
