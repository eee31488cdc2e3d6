//! What setlog, setrevprop and delrevprop have in common: which revision is meant, the value that
//! stands in a file, and the change.

use sapwood_core::{Revnum, SvnResult};
use sapwood_repos::{
    Everything, Hooks, RevpropHooks, RevpropRequest, change_revision_prop, change_txn_prop,
};

use crate::command::{Invocation, Options, name, usage_error};
use crate::locale;
use crate::revision::{RevisionRange, RevisionSpec};

/// The property to change.
pub(super) enum Target {
    Revision(Revnum),
    Transaction(String),
}

/// The one revision that `-r` names, by number.
pub(super) fn revision(options: &Options) -> SvnResult<Revnum> {
    match options.revision {
        RevisionRange { start: RevisionSpec::Number(revision), end: RevisionSpec::Unspecified } => {
            Ok(revision)
        }
        RevisionRange { start: RevisionSpec::Number(_), .. } => {
            Err(usage_error("Only one revision allowed"))
        }
        _ => Err(usage_error("Missing revision")),
    }
}

/// The subject that `-r` or `-t` names.
pub(super) fn target(options: &Options) -> SvnResult<Target> {
    let Some(name) = options.value(name::TRANSACTION)? else {
        return revision(options).map(Target::Revision);
    };
    if options.revision != RevisionRange::default() {
        return Err(usage_error("--revision (-r) and --transaction (-t) are mutually exclusive"));
    }
    let hooks = hooks(options);
    if hooks.pre || hooks.post {
        return Err(usage_error("Calling hooks is incompatible with --transaction (-t)"));
    }
    Ok(Target::Transaction(name))
}

/// The hooks that the options ask for.
pub(super) fn hooks(options: &Options) -> RevpropHooks {
    RevpropHooks {
        pre: options.has(name::USE_PRE_REVPROP_CHANGE_HOOK),
        post: options.has(name::USE_POST_REVPROP_CHANGE_HOOK),
    }
}

/// The path of a file that an argument names.
pub(super) fn file_path(arg: &str) -> SvnResult<String> {
    if crate::repo::is_url(arg) {
        return Err(usage_error(format!("Path '{arg}' is not a local path")));
    }
    Ok(crate::repo::canonical_path(arg))
}

/// Reads a file (`-` is standard input) up to the first NUL.
pub(super) fn file_contents(path: &str) -> SvnResult<Vec<u8>> {
    // The canonical form of "." is empty: no file, as in the reference.
    let mut bytes =
        if path.is_empty() { Err(crate::input::nowhere()) } else { crate::input::contents(path) }?;
    if let Some(end) = bytes.iter().position(|b| *b == 0) {
        bytes.truncate(end);
    }
    Ok(bytes)
}

/// A property's value out of the file that an argument names: in UTF-8, with single newlines.
pub(super) fn value_in_file(arg: &str) -> SvnResult<String> {
    locale::with_newlines(locale::decode(file_contents(&file_path(arg)?)?)?)
}

/// Changes a property of a revision or transaction.
pub(super) fn change(
    invocation: &Invocation<'_>,
    target: &Target,
    name: &str,
    value: Option<&str>,
    hooks: RevpropHooks,
) -> SvnResult<()> {
    let repository = crate::repo::open(&invocation.repository, &invocation.options)?;
    let value = value.map(str::as_bytes);
    match target {
        Target::Revision(revision) => {
            let request = RevpropRequest {
                revision: *revision,
                name,
                expected: None,
                value,
                user: None,
                hooks,
            };
            change_revision_prop(
                &repository,
                &Hooks::without_environment(&repository),
                &request,
                &Everything,
            )
        }
        Target::Transaction(txn) => change_txn_prop(&repository, txn, name, value),
    }
}
