//! `svnlook proplist`.

use sapwood_core::SvnResult;
use sapwood_core::paths::FsPathBuf;
use sapwood_repos::{Everything, inherited_props};

use super::revprop_text::{display_value, print_sorted};
use super::{Context, Subject, existing, no_argument, one_argument};
use crate::command::{Invocation, Runner, Subcommand, name};
use crate::signals::cancel_token;
use crate::xml;

pub(super) const COMMAND: Subcommand = Subcommand {
    name: "proplist",
    aliases: &["plist", "pl"],
    help: "usage: 1. svnlook proplist REPOS_PATH PATH_IN_REPOS\n                             \
            2. svnlook proplist --revprop REPOS_PATH\n\n\
            List the properties of a path, or with --revprop of the revision.  With -v,\n\
            print their values too.\n",
    options: &[
        name::REVISION,
        name::TRANSACTION,
        name::VERBOSE,
        name::REVPROP,
        name::XML,
        name::SHOW_INHERITED_PROPS,
    ],
    overrides: &[],
    run: Runner::Repository(run),
};

fn run(invocation: &mut Invocation<'_>) -> SvnResult<()> {
    let path = if invocation.options.has(name::REVPROP) {
        no_argument(invocation)?;
        None
    } else {
        Some(FsPathBuf::canonicalize(&one_argument(invocation)?))
    };
    let context = Context::open(invocation)?;
    let (props, inherited) = match &path {
        None => (context.revprops()?, Vec::new()),
        Some(path) => {
            let root = context.root()?;
            let props = (*existing(&root, path)?.props()?).clone();
            let inherited = if invocation.options.has(name::SHOW_INHERITED_PROPS) {
                inherited_props(&root, path, None, &Everything, &cancel_token())?
            } else {
                Vec::new()
            };
            (props, inherited)
        }
    };
    let names_only = !invocation.options.has(name::VERBOSE);
    if invocation.options.has(name::XML) {
        let mut out = xml::HEADER.to_owned();
        xml::open(&mut out, "properties", xml::Tag::Normal, &[]);
        for (from, props) in &inherited {
            let from = FsPathBuf::canonicalize(from);
            xml::open(&mut out, "target", xml::Tag::Normal, &[("path", &from)]);
            for (name, value) in props.iter() {
                xml_property(&mut out, "inherited_property", name, value, names_only);
            }
            xml::close(&mut out, "target");
        }
        let (element, attribute, value) = match (&path, &context.subject) {
            (Some(path), _) => ("target", "path", path.to_string()),
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
            let from = FsPathBuf::canonicalize(from);
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
        xml::property(out, element, name, &display_value(name, value));
    }
}
