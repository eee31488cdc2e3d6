//! `svn x-shelve`.

use sapwood_client::shelf::{self, Save, SaveResult, Shelf};
use sapwood_core::exact::Exact as _;
use sapwood_core::props::names;
use sapwood_core::{Depth, ErrorCode, PropList, SvnError, SvnResult};

use super::options::Opt;
use super::shelves::{describe, experiment, store};
use super::targets::check_all_local;
use super::{Command, Invocation, status};
use crate::pegs::Part;

pub(super) const COMMAND: Command = Command {
    name: "x-shelve",
    help: concat!(
        "Move local changes onto a shelf.\n\
         usage: x-shelve [--keep-local] SHELF [PATH...]\n\
         \n  \
         Make a new version of SHELF of the local changes at and below the PATHs, and take them out of the\n  \
         working copy, unless there is --keep-local. The shelf is made if there is none of this\n  \
         name; -m and -F set its log message. 'svn x-unshelve SHELF' brings the changes back.\n\
         \n  \
         In the store that 'shelf2' names, files that were changed, added or deleted can be shelved, and\n  \
         properties, but no copies, moves, and directories that come or go; in that of 'shelf3' all that can\n  \
         be committed. Conflicts, missing and unversioned files can never be. Where something cannot, nothing is.\n\
         \n  \
         Shelves are kept in the working copy, in .svn/experimental/shelves.\n",
        experiment!()
    ),
    options: &[
        Opt::Quiet,
        Opt::DryRun,
        Opt::KeepLocal,
        Opt::Depth,
        Opt::Targets,
        Opt::Changelist,
        Opt::Message,
        Opt::File,
        Opt::ForceLog,
        Opt::EditorCmd,
        Opt::Encoding,
        Opt::WithRevprop,
    ],
    run,
    ..Command::DEFAULT
};

fn run(inv: &mut Invocation) -> SvnResult<()> {
    let keep_local = inv.has(Opt::KeepLocal);
    shelve(inv, keep_local)
}

/// Makes a new version, and takes the changes out of the working copy if they are not to stay.
pub(super) fn shelve(inv: &mut Invocation, keep_local: bool) -> SvnResult<()> {
    let name = inv.next_arg()?;
    let given = inv.targets_or_here()?;
    check_all_local(&given)?;
    let targets = inv.names(Part::Target, &given)?;
    let (quiet, dry_run) = (inv.has(Opt::Quiet), inv.has(Opt::DryRun));
    inv.ask_for_message(None)?;
    let mut revprops = PropList::new();
    if let Some(given) = inv.opt.revprops.take() {
        revprops = given;
    }
    if let Some(message) = inv.ctx.message_for(&[])? {
        revprops.set(names::LOG, message);
    }
    let first = targets.first().map_or("", String::as_str);
    let wc = shelf::working_copy(&inv.ctx, first)?;
    let mut shelf = Shelf::open_or_create(&wc, store(), &name, dry_run)?;
    let previous = shelf.newest_version()?;
    if !quiet {
        let what = match keep_local {
            true => format!("Save a new version of '{name}'"),
            false => format!("Shelve '{name}'"),
        };
        inv.out.text(&format!("--- {what} in WC root '{}'\n", wc.root().display()))?;
        if let Some(previous) = &previous {
            describe(inv, &shelf, previous, true)?;
        }
        inv.out.text(if keep_local { "--- Saving...\n" } else { "--- Shelving...\n" })?;
    }
    let what = Save {
        targets: &targets,
        depth: inv.opt.depth_or(Depth::Infinity),
        changelists: &inv.opt.changelists,
        dry_run,
    };
    let out = inv.out.clone();
    let saved = shelf::save(&inv.ctx, &mut shelf, &what, &mut |status, shelved| {
        if !shelved || !quiet {
            status::print_one(&out, inv.ctx.config(), &wc, status)?;
        }
        if !shelved {
            out.text("      >   not shelved\n")?;
        }
        Ok(())
    })?;
    let done = if keep_local { "saved" } else { "shelved" };
    check_saved(&saved, done)?;
    let mut number = previous.map_or(0, |previous| previous.number).plus(1);
    if let Some(version) = &saved.version {
        number = version.number;
        if !keep_local {
            shelf::take_out(&inv.ctx, &shelf, version)?;
        }
        shelf.set_revprops(revprops)?;
    }
    if !quiet {
        inv.out.text(&format!("{done} '{name}' version {number}\n"))?;
    }
    Ok(())
}

/// That something was taken, and nothing refused.
fn check_saved(saved: &SaveResult, done: &str) -> SvnResult<()> {
    let failed = |message: String| Err(SvnError::new(ErrorCode::ILLEGAL_TARGET, message));
    match saved.refused {
        0 if saved.shelved == 0 => failed(format!("No local modifications could be {done}")),
        0 => Ok(()),
        1 => failed("1 path could not be shelved".to_owned()),
        count => failed(format!("{count} paths could not be shelved")),
    }
}
