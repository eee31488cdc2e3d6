//! `svn proplist`.

use sapwood_client::Revision;
use sapwood_client::props::{Found, List, Listing, list};
use sapwood_core::{Depth, ErrorCode, PropList, SvnResult};

use super::options::Opt;
use super::targets::{Arg, local_style};
use super::usual::not_all;
use super::{Command, Invocation, xml_out};
use crate::command::usage_error;
use crate::locale;
use crate::xml::{self, Tag};

pub(super) const COMMAND: Command = Command {
    name: "proplist",
    aliases: &["plist", "pl"],
    help: "List all properties on files, dirs, or revisions.\n\
        usage: 1. proplist [TARGET[@REV]...]\n       \
        2. proplist --revprop -r REV [TARGET]\n",
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

fn run(inv: &mut Invocation) -> SvnResult<()> {
    let targets = inv.targets_or_here()?;
    if inv.has(Opt::Revprop) {
        if inv.has(Opt::ShowInheritedProps) {
            return Err(usage_error("--show-inherited-props can't be used with --revprop"));
        }
        return on_revision(inv, &targets);
    }
    if inv.has(Opt::Xml) {
        xml_out::header(&inv.out, "properties")?;
    }
    let mut seen = Vec::new();
    for target in &targets {
        let result = listing_of(inv, target, None).and_then(|found| show(inv, target, &found));
        let tolerated = [ErrorCode::UNVERSIONED_RESOURCE, ErrorCode::ENTRY_NOT_FOUND];
        inv.tolerate(result, &tolerated, &mut seen)?;
    }
    if inv.has(Opt::Xml) {
        xml_out::footer(&inv.out, "properties")?;
    }
    not_all(&seen, |code| match code {
        ErrorCode::ENTRY_NOT_FOUND => {
            Some("Could not display properties of all targets because some targets don't exist")
        }
        ErrorCode::UNVERSIONED_RESOURCE => Some(
            "Could not display properties of all targets because some targets are not versioned",
        ),
        _ => None,
    })
}

/// The properties of one target: of the working copy, or of a repository where the target is a URL
/// or a revision is asked for.
pub(super) fn listing_of(
    inv: &mut Invocation,
    target: &Arg,
    name: Option<&str>,
) -> SvnResult<Listing> {
    let what = List {
        name: name.map(str::to_owned),
        depth: inv.opt.depth_or(Depth::Empty),
        pristine: false,
        inherited: inv.has(Opt::ShowInheritedProps),
        changelists: inv.opt.changelists.iter().cloned().collect(),
    };
    let at = target.target()?;
    let local = |revision: &Revision| {
        matches!(revision, Revision::Unspecified | Revision::Working | Revision::Base)
    };
    let revision = match inv.opt.revision() {
        Revision::Unspecified => at.peg,
        given => given,
    };
    if target.is_url() || !local(&at.peg) || !local(&revision) {
        return on_repository(inv, target, &what);
    }
    let what = List { pristine: revision == Revision::Base, ..what };
    list(&inv.ctx, &target.path, &what)
}

fn show(inv: &Invocation, target: &Arg, found: &Listing) -> SvnResult<()> {
    if inv.has(Opt::Xml) {
        return show_xml(inv, found);
    }
    let (verbose, quiet) = (inv.has(Opt::Verbose), inv.has(Opt::Quiet));
    for above in &found.inherited {
        if !quiet {
            let shown = local_style(&target.path);
            inv.out
                .text(&format!("Inherited properties on '{shown}',\nfrom '{}':\n", above.path))?;
        }
        print(inv, &above.props, verbose)?;
    }
    for own in &found.own {
        if !quiet {
            inv.out.text(&format!("Properties on '{}':\n", local_style(&own.path)))?;
        }
        print(inv, &own.props, verbose)?;
    }
    Ok(())
}

/// Prints names, and values with an indent.
pub(super) fn print(inv: &Invocation, props: &PropList, values: bool) -> SvnResult<()> {
    for (name, value) in props.iter() {
        inv.out.text(&format!("  {name}\n"))?;
        if !values {
            continue;
        }
        // The reference takes values for C strings here.
        let value = value.split(|b| *b == 0).next().unwrap_or_default();
        let value = locale_form(name, value);
        let mut indented = Vec::with_capacity(value.len().saturating_add(8));
        for line in value.split_inclusive(|b| *b == b'\n') {
            indented.extend_from_slice(b"    ");
            indented.extend_from_slice(line);
        }
        if value.ends_with(b"\n") || value.is_empty() {
            indented.extend_from_slice(b"    ");
        }
        indented.push(b'\n');
        inv.out.bytes(&indented)?;
    }
    Ok(())
}

/// A value as it is printed: Subversion's own are text.
pub(super) fn locale_form(name: &str, value: &[u8]) -> Vec<u8> {
    if !sapwood_wc::props::rules::needs_translation(name) {
        return value.to_vec();
    }
    locale::encode_bytes(value).into_owned()
}

fn show_xml(inv: &Invocation, found: &Listing) -> SvnResult<()> {
    let verbose = inv.has(Opt::Verbose);
    let mut text = String::new();
    let mut target = |found: &Found, element: &str| {
        xml::open(&mut text, "target", Tag::Normal, &[("path", local_style(&found.path))]);
        for (name, value) in found.props.iter() {
            if verbose {
                xml::property(&mut text, element, name, value);
            } else {
                xml::open(&mut text, element, Tag::Empty, &[("name", name)]);
            }
        }
        xml::close(&mut text, "target");
    };
    found.inherited.iter().for_each(|f| target(f, "inherited_property"));
    found.own.iter().for_each(|f| target(f, "property"));
    inv.out.bytes(text.as_bytes())
}

/// Lists properties out of a repository.
fn on_repository(inv: &mut Invocation, _target: &Arg, _what: &List) -> SvnResult<Listing> {
    super::not_there(inv).map(|()| Listing::default())
}

/// Lists revision properties.
fn on_revision(inv: &mut Invocation, _targets: &[Arg]) -> SvnResult<()> {
    super::not_there(inv)
}
