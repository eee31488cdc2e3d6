//! `svn x-shelf-list-by-paths`.

use std::collections::BTreeMap;

use sapwood_client::shelf::{self, Shelf, several_working_copies};
use sapwood_core::paths::RelPathBuf;
use sapwood_core::{SvnResult, path};

use super::shelves::{cut, experiment, padded, store};
use super::targets::{check_local, local_style};
use super::{Command, Invocation};
use crate::pegs::Part;

pub(super) const COMMAND: Command = Command {
    name: "x-shelf-list-by-paths",
    help: concat!(
        "List which shelf affects each path.\n\
         usage: x-shelf-list-by-paths [PATH...]\n\
         \n  \
         List the paths at and below the PATHs that shelves change, each with a shelf: of several the one\n  \
         that was left alone for the longest time.\n",
        experiment!()
    ),
    run,
    ..Command::DEFAULT
};

fn run(inv: &mut Invocation) -> SvnResult<()> {
    let mut found = None;
    let mut targets = Vec::new();
    for target in inv.targets_or_here()? {
        check_local(&target)?;
        let (wc, relpath) =
            inv.ctx.working_copy(&inv.ctx.absolute(&inv.name(Part::Target, &target)?))?;
        targets.push(relpath);
        match &found {
            None => found = Some(wc),
            Some(known) if known.root() == wc.root() => {}
            Some(_) => return Err(several_working_copies()),
        }
    }
    let Some(wc) = found else { return Ok(()) };
    let mut shelved: BTreeMap<RelPathBuf, String> = BTreeMap::new();
    for listed in shelf::list(&wc, store())? {
        let shelf = Shelf::open(&wc, store(), &listed.name)?;
        let Some(version) = shelf.newest_version()? else { continue };
        for path in shelf::paths(&inv.ctx, &shelf, &version)? {
            if targets.iter().any(|target| path.is_at_or_below(target)) {
                shelved.entry(path).or_insert_with(|| shelf.name().to_owned());
            }
        }
    }
    let mut lines: Vec<(RelPathBuf, String)> = shelved.into_iter().collect();
    lines.sort_by(|a, b| path::compare(&a.0, &b.0));
    for (path, name) in lines {
        let name = padded(&cut(&name, 20), 20);
        inv.out.text(&format!("{name} {}\n", local_style(&path)))?;
    }
    Ok(())
}
