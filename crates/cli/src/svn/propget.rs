//! `svn propget`.

use sapwood_client::props::{FoundProps, Request, list};
use sapwood_client::revprops;
use sapwood_core::{Depth, ErrorCode, PropList, SvnError, SvnResult, path};

use super::notify::display_below;
use super::options::Opt;
use super::prop_tools::{
    check_valid, display_value, print_props, refuse_inherited, revision_word, revprop_target,
};
use super::targets::Arg;
use super::{Command, Invocation, xml_out};
use crate::command::usage_error;
use crate::locale;
use crate::pegs::Part;
use crate::xml::{self, Tag};

pub(super) const COMMAND: Command = Command {
    name: "propget",
    aliases: &["pget", "pg"],
    help: "Print the value of a property on files, dirs, or revisions.\n\
        usage: 1. propget PROPNAME [TARGET[@REV]...]\n       \
        2. propget PROPNAME --revprop -r REV [TARGET]\n\
        \n  \
        1. Print the value of a property of each TARGET, a URL or a local path (without one: of\n     \
        the current folder). REV says in which revision a TARGET is looked up.\n\
        \n  \
        2. Print the value of a property of a revision. TARGET only says in which repository.\n\
        \n  \
        With several TARGETs, or with -R, the path comes before each value. --no-newline, for one\n  \
        TARGET, writes the value and nothing more, as for files.\n",
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

fn of_revision(invocation: &Invocation, name: &str, targets: &[Arg]) -> SvnResult<()> {
    refuse_inherited(invocation)?;
    let (url, revision) = revprop_target(invocation, targets)?;
    let (value, number) = revprops::get(&invocation.ctx, &url, name, revision)?;
    let Some(value) = value else {
        return Err(SvnError::new(
            ErrorCode::PROPERTY_NOT_FOUND,
            format!("Property '{name}' not found on revision {}", revision_word(revision)),
        ));
    };
    let out = &invocation.out;
    if !invocation.has(Opt::Xml) {
        out.bytes(&display_value(name, &value)?)?;
        return if omits_newline(invocation) { Ok(()) } else { out.text("\n") };
    }
    let mut text = String::new();
    xml::open(&mut text, "revprops", Tag::Normal, &[("rev", &number.to_string())]);
    xml::property(&mut text, "property", name, &value);
    xml::close(&mut text, "revprops");
    xml_out::header(out, "properties")?;
    out.bytes(text.as_bytes())?;
    xml_out::footer(out, "properties")
}

fn omits_newline(invocation: &Invocation) -> bool {
    invocation.has(Opt::NoNewline) || invocation.has(Opt::Strict)
}

/// How values of one target are printed.
struct Printer<'a> {
    invocation: &'a Invocation,
    name: &'a str,
    target: String,
    names_paths: bool,
}

impl Printer<'_> {
    fn display_path(&self, path: &str) -> String {
        display_below(&self.invocation.ctx.here.to_string_lossy(), path)
    }

    fn value(&self, path: &str, props: &PropList, inherited: bool) -> SvnResult<()> {
        let Some(value) = props.get(self.name) else { return Ok(()) };
        let out = &self.invocation.out;
        let like_list = self.invocation.has(Opt::Verbose) && !omits_newline(self.invocation);
        if self.names_paths {
            let path = self.display_path(path);
            let header = match (like_list, inherited) {
                (true, true) => {
                    let target = self.display_path(&self.target);
                    format!("Inherited properties on '{target}',\nfrom '{path}':\n")
                }
                (true, false) => format!("Properties on '{path}':\n"),
                (false, _) => format!("{path} - "),
            };
            out.bytes(&locale::encode(&header))?;
        }
        if like_list {
            let one: PropList = [(self.name, value)].into_iter().collect();
            return print_props(out, &one, false);
        }
        out.bytes(&display_value(self.name, value)?)?;
        if omits_newline(self.invocation) { Ok(()) } else { out.text("\n") }
    }

    fn xml(&self, path: &str, props: &PropList, inherited: bool) -> SvnResult<()> {
        let Some(value) = props.get(self.name) else { return Ok(()) };
        let element = if inherited { "inherited_property" } else { "property" };
        let mut text = String::new();
        xml::open(&mut text, "target", Tag::Normal, &[("path", path)]);
        xml::property(&mut text, element, self.name, value);
        xml::close(&mut text, "target");
        self.invocation.out.bytes(text.as_bytes())
    }

    fn print(&self, found: &[FoundProps]) -> SvnResult<()> {
        let xml = self.invocation.has(Opt::Xml);
        let one = |path: &str, props: &PropList, inherited| match xml {
            true => self.xml(path, props, inherited),
            false => self.value(path, props, inherited),
        };
        for (from, props) in found.iter().flat_map(|found| &found.inherited) {
            one(from, props, true)?;
        }
        for found in found {
            if let Some(props) = &found.props {
                one(&found.path, props, false)?;
            }
        }
        Ok(())
    }
}

/// E205002 where `--verbose` has no meaning.
fn check_verbose(invocation: &Invocation) -> SvnResult<()> {
    if invocation.has(Opt::Verbose)
        && (invocation.has(Opt::Revprop) || omits_newline(invocation) || invocation.has(Opt::Xml))
    {
        return Err(SvnError::new(
            ErrorCode::CL_MUTUALLY_EXCLUSIVE_ARGS,
            "--verbose cannot be used with --revprop or --no-newline or --xml",
        ));
    }
    Ok(())
}

/// What was found of a target, in the order of paths.
fn sorted(invocation: &Invocation, request: &Request<'_>) -> SvnResult<Vec<FoundProps>> {
    let mut all: Vec<FoundProps> = Vec::new();
    list(&invocation.ctx, request, &mut |found| {
        all.push(found.clone());
        Ok(())
    })?;
    all.sort_by(|a, b| path::compare(&a.path, &b.path));
    Ok(all)
}

fn run(invocation: &mut Invocation) -> SvnResult<()> {
    check_verbose(invocation)?;
    let name = invocation.next_arg()?;
    check_valid(&name)?;
    let targets = invocation.targets_or_here()?;
    if invocation.has(Opt::Revprop) {
        return of_revision(invocation, &name, &targets);
    }
    let xml = invocation.has(Opt::Xml);
    if xml {
        xml_out::header(&invocation.out, "properties")?;
    }
    let depth = invocation.opt.depth_or(Depth::Empty);
    let inherited = invocation.has(Opt::ShowInheritedProps);
    if omits_newline(invocation) && (targets.len() > 1 || depth != Depth::Empty || inherited) {
        return Err(usage_error(
            "--no-newline is only available for single-target, non-recursive propget operations",
        ));
    }
    let several = targets.len() > 1 || depth > Depth::Empty;
    let mut missing = false;
    invocation.announce(&targets);
    for arg in targets {
        invocation.ctx.check_cancel()?;
        let target = invocation.target(Part::Target, &arg)?;
        let text = match target.is_url() {
            true => target.text.clone(),
            false => invocation.ctx.absolute(&target.text).to_string_lossy().into_owned(),
        };
        let request = Request {
            target: &text,
            peg: target.peg,
            revision: invocation.opt.revision(),
            depth,
            changelists: &invocation.opt.changelists,
            inherited,
            name: Some(&name),
        };
        let all = sorted(invocation, &request)?;
        let set = all.iter().filter(|f| f.props.as_ref().is_some_and(|p| !p.is_empty())).count();
        if depth == Depth::Empty && !inherited && set == 0 {
            invocation.out.warn(&SvnError::new(
                ErrorCode::PROPERTY_NOT_FOUND,
                format!("Property '{name}' not found on '{}'", arg.text()),
            ));
            missing = true;
        }
        let names_paths = (several || set > 1 || invocation.has(Opt::Verbose) || inherited)
            && !omits_newline(invocation);
        Printer { invocation, name: &name, target: text, names_paths }.print(&all)?;
    }
    if xml {
        xml_out::footer(&invocation.out, "properties")?;
    }
    if missing {
        return Err(SvnError::new(ErrorCode::BASE, ""));
    }
    Ok(())
}
