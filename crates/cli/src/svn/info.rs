//! `svn info`.

mod conflict;
mod item;
mod print;
mod viewspec;

use sapwood_client::info::{Info, remote};
use sapwood_client::{Revision, info_local};
use sapwood_core::{Depth, ErrorCode, SvnError, SvnResult};

use self::item::Item;
use self::print::Printer;
use super::options::Opt;
use super::targets::Arg;
use super::{Command, Invocation, xml_out};
use crate::command::usage_error;
use crate::pegs::Part;

pub(super) const COMMAND: Command = Command {
    name: "info",
    help: "Display information about a local or remote item.\n\
        usage: info [TARGET[@REV]...]\n\
        \n  \
        Print what is known of each TARGET, a URL or a local path; without one of the current\n  \
        folder. REV says in which revision a TARGET is looked up, -r as of which revision it is\n  \
        wanted: then a local path means what the repository has.\n\
        \n  \
        With --show-item, only one value is printed, without its name; for several TARGETs, or with\n  \
        -R, followed by the TARGET.\n",
    options: &[
        Opt::Revision,
        Opt::Recursive,
        Opt::HumanReadable,
        Opt::Depth,
        Opt::Targets,
        Opt::Incremental,
        Opt::Xml,
        Opt::Changelist,
        Opt::IncludeExternals,
        Opt::ShowItem,
        Opt::NoNewline,
        Opt::Viewspec,
    ],
    overrides: &[(Opt::HumanReadable, "sizes with units (B, K, M, G, T, P, E), for people")],
    run,
    ..Command::DEFAULT
};

/// In which form the values are printed.
enum Form {
    Lines,
    Xml,
    Item(Item),
}

fn form(invocation: &Invocation, targets: usize) -> SvnResult<Form> {
    let wrong = |text: &str| Err(usage_error(text));
    let opt = &invocation.opt;
    if opt.has(Opt::Xml) {
        if opt.show_item.is_some() {
            return wrong("--show-item is not valid in --xml mode");
        }
        if opt.has(Opt::NoNewline) || opt.has(Opt::Strict) {
            return wrong("--no-newline is not valid in --xml mode");
        }
        if opt.has(Opt::HumanReadable) {
            return wrong("--human-readable is not valid in --xml mode");
        }
        return Ok(Form::Xml);
    }
    if opt.has(Opt::Incremental) {
        return wrong("--incremental is only valid in --xml mode");
    }
    let Some(word) = &opt.show_item else {
        if opt.has(Opt::NoNewline) {
            return wrong("--no-newline' is only valid with --show-item");
        }
        return Ok(Form::Lines);
    };
    let several = targets > 1 || opt.depth.is_some_and(|depth| depth > Depth::Empty);
    if several && opt.has(Opt::NoNewline) {
        return wrong(
            "--no-newline is only available for single-target, non-recursive info operations",
        );
    }
    Item::new(word, several).map(Form::Item)
}

fn run(invocation: &mut Invocation) -> SvnResult<()> {
    let targets = invocation.targets_or_here()?;
    if let Some(form) = &invocation.opt.viewspec {
        return viewspec::print(invocation, &targets, form);
    }
    let mut form = form(invocation, targets.len())?;
    let out = invocation.out.clone();
    let whole = matches!(form, Form::Xml) && !invocation.has(Opt::Incremental);
    if whole {
        xml_out::header(&out, "info")?;
    }
    let printer = Printer::new(invocation);
    let depth = invocation.opt.depth_or(Depth::Empty);
    let revision = invocation.opt.revision();
    let mut missing = false;
    invocation.announce(&targets);
    let inv = &*invocation;
    let asks = revision.is_given() || targets.iter().any(Arg::asks);
    inv.each_target(&targets, asks, &mut |arg| {
        inv.ctx.check_cancel()?;
        let target = inv.target(Part::Target, arg)?;
        let is_url = target.is_url();
        let peg = if is_url { target.peg.or(Revision::Head) } else { target.peg };
        let mut take = |path: &str, info: &Info| match &mut form {
            Form::Lines => printer.lines(path, info),
            Form::Xml => printer.xml(path, info),
            Form::Item(item) => item.print(&printer, path, info, is_url),
        };
        let ctx = &inv.ctx;
        let result = if peg.is_given() || revision.is_given() {
            remote(ctx, &target.text, peg, revision, depth, &mut take)
        } else {
            info_local::info(ctx, &target.text, depth, &inv.opt.changelists, &mut take)
        };
        match result {
            Err(error) if error.is_nowhere() => {
                out.warn(&error);
                out.stderr("\n");
                missing = true;
                Ok(())
            }
            other => other.map(drop),
        }
    })?;
    match form {
        Form::Xml if whole => xml_out::footer(&out, "info")?,
        Form::Item(item) if item.printed && !invocation.has(Opt::NoNewline) => out.text("\n")?,
        _ => {}
    }
    if missing {
        return Err(SvnError::new(
            ErrorCode::ILLEGAL_TARGET,
            "Could not display info for all targets because some targets don't exist",
        ));
    }
    Ok(())
}
