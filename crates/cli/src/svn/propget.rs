//! `svn propget`.

use sapwood_client::props::Found;
use sapwood_core::{Depth, ErrorCode, SvnError, SvnResult};
use sapwood_wc::props::rules;

use super::options::Opt;
use super::proplist::{listing_of, locale_form, print};
use super::targets::{Arg, local_style};
use super::{Command, Invocation, xml_out};
use crate::command::usage_error;
use crate::xml::{self, Tag};

pub(super) const COMMAND: Command = Command {
    name: "propget",
    aliases: &["pget", "pg"],
    help: "Print the value of a property on files, dirs, or revisions.\n\
        usage: 1. propget PROPNAME [TARGET[@REV]...]\n       \
        2. propget PROPNAME --revprop -r REV [TARGET]\n",
    options: &[
        Opt::Verbose,
        Opt::Recursive,
        Opt::Depth,
        Opt::Revision,
        Opt::Revprop,
        Opt::Strict,
        Opt::NoNewline,
        Opt::Xml,
        Opt::Changelist,
        Opt::ShowInheritedProps,
    ],
    overrides: &[(Opt::Verbose, "path, name and value on lines of their own")],
    run,
    ..Command::DEFAULT
};

fn run(inv: &mut Invocation) -> SvnResult<()> {
    let plain = inv.has(Opt::NoNewline) || inv.has(Opt::Strict);
    if inv.has(Opt::Verbose) && (inv.has(Opt::Revprop) || plain || inv.has(Opt::Xml)) {
        return Err(SvnError::new(
            ErrorCode::CL_MUTUALLY_EXCLUSIVE_ARGS,
            "--verbose cannot be used with --revprop or --no-newline or --xml",
        ));
    }
    let name = inv.next_arg()?;
    if !rules::is_valid_name(&name) {
        return Err(SvnError::new(
            ErrorCode::CLIENT_PROPERTY_NAME,
            format!("'{name}' is not a valid Subversion property name"),
        ));
    }
    let targets = inv.targets_or_here()?;
    if inv.has(Opt::Revprop) {
        if inv.has(Opt::ShowInheritedProps) {
            return Err(usage_error("--show-inherited-props can't be used with --revprop"));
        }
        return on_revision(inv, &name, &targets);
    }
    let xml = inv.has(Opt::Xml);
    if xml {
        xml_out::header(&inv.out, "properties")?;
    }
    let depth = inv.opt.depth_or(Depth::Empty);
    let inherited = inv.has(Opt::ShowInheritedProps);
    if plain && (targets.len() > 1 || depth != Depth::Empty || inherited) {
        return Err(usage_error(
            "--no-newline is only available for single-target, non-recursive propget operations",
        ));
    }
    let many = targets.len() > 1;
    let mut warned = false;
    for target in &targets {
        let found = listing_of(inv, target, Some(&name))?;
        let names = !plain && (depth > Depth::Empty || many || inherited || inv.has(Opt::Verbose));
        let print_names = names && (!plain || inv.has(Opt::Verbose));
        let nothing = found.own.is_empty() && found.inherited.is_empty();
        if nothing && depth == Depth::Empty {
            inv.out.warn(&SvnError::new(
                ErrorCode::PROPERTY_NOT_FOUND,
                format!("Property '{name}' not found on '{}'", target.text()),
            ));
            warned = true;
        }
        if xml {
            show_xml(inv, &found.inherited, "inherited_property")?;
            show_xml(inv, &found.own, "property")?;
            continue;
        }
        for above in &found.inherited {
            show(inv, target, &name, above, print_names, true)?;
        }
        for own in &found.own {
            show(inv, target, &name, own, print_names, false)?;
        }
    }
    if xml {
        xml_out::footer(&inv.out, "properties")?;
    }
    if warned {
        return Err(SvnError::new(ErrorCode::BASE, ""));
    }
    Ok(())
}

/// Prints one value, after the name of its place where several may come.
fn show(
    inv: &Invocation,
    target: &Arg,
    name: &str,
    found: &Found,
    with_name: bool,
    inherited: bool,
) -> SvnResult<()> {
    let verbose = inv.has(Opt::Verbose);
    if with_name {
        let path = local_style(&found.path);
        let shown = shown_from_here(inv, path);
        let head = match (verbose, inherited) {
            (true, true) => {
                let target = local_style(&target.path);
                format!("Inherited properties on '{target}',\nfrom '{shown}':\n")
            }
            (true, false) => format!("Properties on '{shown}':\n"),
            (false, _) => format!("{shown} - "),
        };
        inv.out.text(&head)?;
    }
    if verbose {
        return print(inv, &found.props, true);
    }
    let value = found.props.get(name).unwrap_or_default();
    inv.out.stream(&locale_form(name, value))?;
    if inv.has(Opt::NoNewline) || inv.has(Opt::Strict) { Ok(()) } else { inv.out.stream(b"\n") }
}

/// An absolute path below the current folder is shown relative to it.
fn shown_from_here(inv: &Invocation, path: &str) -> String {
    let here = inv.ctx.here.to_string_lossy();
    match path.strip_prefix('/') {
        Some(_) => super::notify::shown_below(&here, path),
        None => path.to_owned(),
    }
}

fn show_xml(inv: &Invocation, found: &[Found], element: &str) -> SvnResult<()> {
    let mut text = String::new();
    for found in found {
        let path = if sapwood_core::uri::is_url(&found.path) || found.path.starts_with('/') {
            found.path.clone()
        } else {
            inv.ctx.absolute(&found.path).to_string_lossy().into_owned()
        };
        xml::open(&mut text, "target", Tag::Normal, &[("path", &path)]);
        for (name, value) in found.props.iter() {
            xml::property(&mut text, element, name, value);
        }
        xml::close(&mut text, "target");
    }
    inv.out.bytes(text.as_bytes())
}

/// Prints a revision property.
fn on_revision(inv: &mut Invocation, _name: &str, _targets: &[Arg]) -> SvnResult<()> {
    super::not_there(inv)
}
