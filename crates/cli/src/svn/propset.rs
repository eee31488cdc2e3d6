//! `svn propset`.

use std::os::unix::ffi::OsStrExt as _;

use sapwood_client::{props, revprops};
use sapwood_core::{Depth, ErrorCode, SvnError, SvnResult};
use sapwood_wc::props::Change;
use sapwood_wc::props::rules::needs_translation;

use super::options::Opt;
use super::prop_tools::{Use, check_boolean, check_spelling, check_valid, revprop_target};
use super::targets::Arg;
use super::{Command, Invocation};
use crate::command::usage_error;
use crate::pegs::Part;
use crate::remote::revprops::translated;

pub(super) const COMMAND: Command = Command {
    name: "propset",
    aliases: &["pset", "ps"],
    help: "Set the value of a property on files, dirs, or revisions.\n\
        usage: 1. propset PROPNAME PROPVAL PATH...\n       \
        2. propset PROPNAME --revprop -r REV PROPVAL [TARGET]\n\
        \n  \
        1. Set a property of each local PATH. The value is PROPVAL, or with -F what is in a file.\n\
        \n  \
        2. Set a property of a revision. TARGET only says in which repository.\n\
        \n  \
        Properties of Subversion itself begin with svn:. Of files:\n    \
        svn:keywords    keywords that are expanded: Id, Rev, Date, Author, URL, Header, and\n                    \
        own ones as NAME=FORMAT (%a %b %d %D %P %r %R %u %_ %%)\n    \
        svn:eol-style   line ends: native, LF, CR or CRLF\n    \
        svn:mime-type   media type; what is not text/* is not merged and not compared by lines\n    \
        svn:executable  the file can be executed\n    \
        svn:needs-lock  the file is read-only as long as there is no lock of it\n    \
        svn:special     a symbolic link; set by the programs themselves\n  \
        Of folders:\n    \
        svn:ignore      patterns of names that are not to be versioned, one a line\n    \
        svn:global-ignores  the same, for all folders below too\n    \
        svn:auto-props  properties for new files, by patterns of their names: *.c = NAME=VALUE\n    \
        svn:externals   what else belongs into the folder, one a line: [-r N] URL[@PEG] PATH\n  \
        Of both:\n    \
        svn:mergeinfo   what was merged here; kept by merges\n\
        \n  \
        The values of svn:executable, svn:needs-lock and svn:special do not matter: to turn them\n  \
        off, delete the property.\n",
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

fn run(invocation: &mut Invocation) -> SvnResult<()> {
    let from_file = invocation.opt.file_data.is_some();
    let needed = if from_file { 1 } else { 2 };
    if invocation.args.len() < needed {
        return Err(SvnError::new(ErrorCode::CL_INSUFFICIENT_ARGS, ""));
    }
    let name = invocation.next_arg()?;
    check_valid(&name)?;
    let (force, revprop) = (invocation.has(Opt::Force), invocation.has(Opt::Revprop));
    if !force {
        check_spelling(&name, revprop, Use::Set)?;
    }
    let given = match &invocation.opt.file_data {
        Some(data) => data.clone(),
        None => invocation.args.pop_front().unwrap_or_default().as_bytes().to_vec(),
    };
    let encoding = invocation.opt.encoding.as_deref();
    let value = match needs_translation(&name) {
        true => translated(&given, encoding, "")?,
        false if encoding.is_some() => return Err(encoding_is_for_text()),
        false => given,
    };
    let mut targets = invocation.targets()?;
    if revprop && targets.is_empty() {
        targets.push(Arg::here());
    }
    let part = if revprop { Part::Repository } else { Part::Target };
    let paths = invocation.names(part, &targets)?;
    if revprop {
        let (url, revision) = revprop_target(invocation, &targets)?;
        let change = revprops::Change { name: &name, value: Some(&value), expected: None, force };
        revprops::set(&invocation.ctx, &url, revision, &change)?;
        return Ok(());
    }
    if invocation.opt.revision().is_given() {
        return Err(usage_error(format!(
            "Cannot specify revision for setting versioned property '{name}'"
        )));
    }
    if paths.is_empty() {
        let value = String::from_utf8_lossy(&value);
        return Err(SvnError::new(
            ErrorCode::CL_INSUFFICIENT_ARGS,
            match from_file {
                true => "Explicit target argument required".to_owned(),
                false => {
                    format!("Explicit target required ('{value}' interpreted as prop value)")
                }
            },
        ));
    }
    super::prop_tools::warn_of_binary_type(invocation, &name, &value, &paths);
    let change = Change { name: &name, value: Some(&value), force };
    let depth = invocation.opt.depth_or(Depth::Empty);
    props::set_local(&invocation.ctx, change, &paths, depth, &invocation.opt.changelists)?;
    if !invocation.has(Opt::Quiet) {
        check_boolean(&invocation.out, &name, &value);
    }
    Ok(())
}

/// The error of `--encoding` with a property that is not text.
pub(super) fn encoding_is_for_text() -> SvnError {
    SvnError::new(
        ErrorCode::UNSUPPORTED_FEATURE,
        "--encoding option applies only to textual Subversion-controlled properties",
    )
}
