//! `svn x-unshelve`.

use sapwood_client::shelf::{self, Shelf};
use sapwood_core::{ErrorCode, SvnError, SvnResult};

use super::options::Opt;
use super::shelves::{describe, drop_shelf, experiment, no_more, optional, store, version_of};
use super::{Command, Invocation};

pub(super) const COMMAND: Command = Command {
    name: "x-unshelve",
    help: concat!(
        "Copy shelved changes back into the WC.\n\
         usage: x-unshelve [--drop] [SHELF [VERSION]]\n\
         \n  \
         Bring the changes of SHELF back into the working copy; without SHELF those of the one that was\n  \
         changed last. With VERSION, that version is brought back and newer ones are thrown away. The shelf\n  \
         stays, unless there is --drop and there were no conflicts.\n\
         \n  \
         Nothing is done while a path that the shelf changes has local changes already, or anything else in\n  \
         its place; with --force that is not looked at, and the changes are merged as far as they can be.\n",
        experiment!()
    ),
    options: &[Opt::Drop, Opt::Quiet, Opt::DryRun, Opt::Force],
    run,
    ..Command::DEFAULT
};

fn run(inv: &mut Invocation) -> SvnResult<()> {
    let wc = shelf::working_copy(&inv.ctx, "")?;
    let name = match optional(inv)? {
        Some(name) => name,
        None => {
            let youngest = shelf::list(&wc, store())?.pop();
            let youngest = youngest.ok_or_else(|| {
                SvnError::new(ErrorCode::CL_INSUFFICIENT_ARGS, "No shelves found")
            })?;
            let name = youngest.name;
            inv.out.text(&format!("unshelving the youngest shelf, '{name}'\n"))?;
            name
        }
    };
    let number = optional(inv)?;
    no_more(inv)?;
    let mut shelf = Shelf::open(&wc, store(), &name)?;
    let newest = shelf.newest();
    let version = version_of(&shelf, number.as_deref())?;
    let (quiet, dry_run) = (inv.has(Opt::Quiet), inv.has(Opt::DryRun));
    if !quiet {
        inv.out.text(&format!("--- Unshelve '{name}' in WC root '{}'\n", wc.root().display()))?;
        describe(inv, &shelf, &version, true)?;
    }
    if !inv.has(Opt::Force) {
        shelf::check(&inv.ctx, &shelf, &version).map_err(|error| {
            error.context(
                "Cannot unshelve/restore, as at least one shelved path would conflict with a local \
                 modification or other status in the working copy",
            )
        })?;
    }
    let conflicts = shelf::bring_back(&inv.ctx, &shelf, &version, dry_run)?;
    if !dry_run {
        shelf.keep_up_to(version.number)?;
    }
    if !quiet {
        let done = format!("restored '{name}' version {}", version.number);
        inv.out.text(&match newest.checked_sub(version.number).filter(|newer| *newer > 0) {
            None => format!("{done} (the newest version)\n"),
            Some(1) => format!("{done} and deleted 1 newer version\n"),
            Some(newer) => format!("{done} and deleted {newer} newer versions\n"),
        })?;
    }
    if !inv.has(Opt::Drop) {
        return Ok(());
    }
    if conflicts {
        let why = SvnError::new(
            ErrorCode::WC_FOUND_CONFLICT,
            format!("Shelf '{name}' is kept, because bringing it back left conflicts"),
        );
        inv.out.warn(&why);
        return Ok(());
    }
    if dry_run {
        return if quiet { Ok(()) } else { inv.out.text(&format!("deleted '{name}'\n")) };
    }
    drop_shelf(inv, &wc, &name)
}
