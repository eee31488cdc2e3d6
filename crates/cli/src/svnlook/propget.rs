//! `svnlook propget`.

use sapwood_core::paths::FsPathBuf;
use sapwood_core::{ErrorCode, SvnError, SvnResult};
use sapwood_repos::{Everything, inherited_props};

use super::revprop_text::{print_one, print_sorted};
use super::{Context, Subject, arguments, existing};
use crate::command::{Invocation, Runner, Subcommand, name, usage_error};
use crate::signals::cancel_token;

pub(super) const COMMAND: Subcommand = Subcommand {
    name: "propget",
    aliases: &["pget", "pg"],
    help: "usage: 1. svnlook propget REPOS_PATH PROPNAME PATH_IN_REPOS\n                           \
            2. svnlook propget --revprop REPOS_PATH PROPNAME\n\n\
            Print the value of a property, byte for byte: of a path, or with --revprop of\n\
            the revision.\n",
    options: &[
        name::REVISION,
        name::TRANSACTION,
        name::VERBOSE,
        name::REVPROP,
        name::SHOW_INHERITED_PROPS,
    ],
    overrides: &[],
    run: Runner::Repository(run),
};

/// The property, and the path that it is of.
fn named(args: &[String], revprop: bool) -> SvnResult<(&str, Option<FsPathBuf>)> {
    let missing = |text| Err(SvnError::new(ErrorCode::CL_INSUFFICIENT_ARGS, text));
    match (args, revprop) {
        ([], true) => missing("Missing propname argument"),
        ([], false) => missing("Missing propname and repository path arguments"),
        ([_], false) => missing("Missing propname or repository path argument"),
        ([name], true) => Ok((name, None)),
        ([name, path], false) => Ok((name, Some(FsPathBuf::canonicalize(path)))),
        _ => Err(usage_error("Too many arguments given")),
    }
}

fn run(invocation: &mut Invocation<'_>) -> SvnResult<()> {
    let revprop = invocation.options.has(name::REVPROP);
    let verbose = invocation.options.has(name::VERBOSE);
    let inherit = invocation.options.has(name::SHOW_INHERITED_PROPS);
    let args = arguments(invocation)?;
    let (name, path) = named(&args, revprop)?;
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
        return invocation.out.bytes(own.unwrap_or(b""));
    }
    for (from, props) in &inherited {
        let from = FsPathBuf::canonicalize(from);
        if verbose {
            invocation.out.text(&format!("Inherited properties on '{path}',\nfrom '{from}':\n"))?;
            print_sorted(invocation, props, false)?;
        } else {
            invocation.out.text(&format!("{from} - "))?;
            invocation.out.bytes(props.get(name).unwrap_or(b""))?;
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
