//! `svn proplist`.

use sapwood_client::props::{FoundProps, Request, list};
use sapwood_client::revprops;
use sapwood_core::{Depth, ErrorCode, SvnError, SvnResult};

use super::options::Opt;
use super::prop_tools::{print_props, refuse_inherited, revprop_target, xml_props};
use super::targets::{Arg, local_style};
use super::{Command, Invocation, xml_out};
use crate::pegs::Part;
use crate::xml::{self, Tag};

pub(super) const COMMAND: Command = Command {
    name: "proplist",
    aliases: &["plist", "pl"],
    help: "List all properties on files, dirs, or revisions.\n\
        usage: 1. proplist [TARGET[@REV]...]\n       \
        2. proplist --revprop -r REV [TARGET]\n\
        \n  \
        1. List the properties of each TARGET, a URL or a local path (without one: of the current\n     \
        folder). REV says in which revision a TARGET is looked up.\n\
        \n  \
        2. List the properties of a revision, which belong to no file and have no history. TARGET\n     \
        only says in which repository.\n\
        \n  \
        With -v the values are shown too.\n",
    options: &[
        Opt::Verbose,
        Opt::Recursive,
        Opt::Depth,
        Opt::Revision,
        Opt::Quiet,
        Opt::Revprop,
        Opt::Xml,
        Opt::Changelist,
        Opt::ShowInheritedProps,
    ],
    overrides: &[
        (Opt::Verbose, "path, name and value on lines of their own"),
        (Opt::Quiet, "leave paths out"),
    ],
    run,
    ..Command::DEFAULT
};

fn of_revision(invocation: &Invocation, targets: &[super::targets::Arg]) -> SvnResult<()> {
    refuse_inherited(invocation)?;
    let (url, revision) = revprop_target(invocation, targets)?;
    let (props, revision) = revprops::list(&invocation.ctx, &url, revision)?;
    let names_only = !invocation.has(Opt::Verbose);
    let out = &invocation.out;
    if !invocation.has(Opt::Xml) {
        out.text(&format!("Unversioned properties on revision {revision}:\n"))?;
        return print_props(out, &props, names_only);
    }
    let mut text = String::new();
    xml::open(&mut text, "revprops", Tag::Normal, &[("rev", &revision.to_string())]);
    xml_props(&mut text, &props, names_only, false);
    xml::close(&mut text, "revprops");
    xml_out::header(out, "properties")?;
    out.bytes(text.as_bytes())?;
    xml_out::footer(out, "properties")
}

fn print(invocation: &Invocation, found: &FoundProps) -> SvnResult<()> {
    let names_only = !invocation.has(Opt::Verbose);
    let quiet = invocation.has(Opt::Quiet);
    let (out, path) = (&invocation.out, local_style(&found.path));
    for (from, props) in &found.inherited {
        if !quiet {
            out.text(&format!("Inherited properties on '{path}',\nfrom '{from}':\n"))?;
        }
        print_props(out, props, names_only)?;
    }
    if let Some(props) = found.props.as_ref().filter(|props| !props.is_empty()) {
        if !quiet {
            out.text(&format!("Properties on '{path}':\n"))?;
        }
        print_props(out, props, names_only)?;
    }
    Ok(())
}

fn print_xml(invocation: &Invocation, found: &FoundProps) -> SvnResult<()> {
    let names_only = !invocation.has(Opt::Verbose);
    let mut text = String::new();
    for (from, props) in &found.inherited {
        xml::open(&mut text, "target", Tag::Normal, &[("path", from)]);
        xml_props(&mut text, props, names_only, true);
        xml::close(&mut text, "target");
    }
    if let Some(props) = &found.props {
        xml::open(&mut text, "target", Tag::Normal, &[("path", local_style(&found.path))]);
        xml_props(&mut text, props, names_only, false);
        xml::close(&mut text, "target");
    }
    invocation.out.bytes(text.as_bytes())
}

fn run(invocation: &mut Invocation) -> SvnResult<()> {
    let targets = invocation.targets_or_here()?;
    if invocation.has(Opt::Revprop) {
        return of_revision(invocation, &targets);
    }
    let xml = invocation.has(Opt::Xml);
    if xml {
        xml_out::header(&invocation.out, "properties")?;
    }
    let mut seen = Vec::new();
    invocation.announce(&targets);
    let revision = invocation.opt.revision();
    let asks = revision.is_given()
        || invocation.has(Opt::ShowInheritedProps)
        || targets.iter().any(Arg::asks);
    let inv = &*invocation;
    inv.each_target(&targets, asks, &mut |arg| {
        inv.ctx.check_cancel()?;
        let target = inv.target(Part::Target, arg)?;
        let request = Request {
            target: &target.text,
            peg: target.peg,
            revision,
            depth: inv.opt.depth_or(Depth::Empty),
            changelists: &inv.opt.changelists,
            inherited: inv.has(Opt::ShowInheritedProps),
            name: None,
        };
        let listed = list(&inv.ctx, &request, &mut |found| {
            if xml { print_xml(inv, found) } else { print(inv, found) }
        });
        let codes = [ErrorCode::UNVERSIONED_RESOURCE, ErrorCode::ENTRY_NOT_FOUND];
        inv.tolerate(listed, &codes, &mut seen).map(drop)
    })?;
    if xml {
        xml_out::footer(&invocation.out, "properties")?;
    }
    if seen.is_empty() {
        return Ok(());
    }
    let mut error = SvnError::new(ErrorCode::ILLEGAL_TARGET, "");
    for code in seen {
        let words = match code {
            ErrorCode::ENTRY_NOT_FOUND => "don't exist",
            _ => "are not versioned",
        };
        error = error.context(format!(
            "Could not display properties of all targets because some targets {words}"
        ));
    }
    Err(error)
}
