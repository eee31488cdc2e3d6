//! `svn patch`.

use sapwood_client::patch::{Request, patch};
use sapwood_core::{ErrorCode, SvnError, SvnResult};

use super::options::Opt;
use super::targets::check_local_names;
use super::usual::too_few;
use super::{Command, Invocation};
use crate::pegs::Part;

pub(super) const COMMAND: Command = Command {
    name: "patch",
    help: "Apply a patch to a working copy.\n\
        usage: patch PATCHFILE [WCPATH]\n\
        \n  \
        Changes the files of WCPATH (of the current folder, without it) as the unified diff in PATCHFILE says,\n  \
        which may be one of svn, git or diff. Paths in it are taken below WCPATH; --strip leaves out\n  \
        their first parts. What does not fit is looked for near by, and what does not fit anywhere is left in a\n  \
        file that ends with .svnpatch.rej, beside the one that it is about. New files are added, those that\n  \
        lose their last line deleted.\n",
    options: &[Opt::Quiet, Opt::DryRun, Opt::Strip, Opt::ReverseDiff, Opt::IgnoreWhitespace],
    run,
    ..Command::DEFAULT
};

fn run(inv: &mut Invocation) -> SvnResult<()> {
    let targets = inv.targets()?;
    let (file, target) = match targets.as_slice() {
        [] => return Err(too_few()),
        [file] => (file, None),
        [file, target] => (file, Some(target)),
        _ => return Err(SvnError::new(ErrorCode::CL_ARG_PARSING_ERROR, "")),
    };
    let mut paths = vec![inv.name(Part::Patch, file)?];
    paths.extend(target.map(|target| inv.name(Part::Folder, target)).transpose()?);
    check_local_names(&paths)?;
    let request = Request {
        patch: paths.first().map_or("", String::as_str),
        target: paths.get(1).map_or("", String::as_str),
        dry_run: inv.has(Opt::DryRun),
        strip: inv.opt.strip,
        reverse: inv.has(Opt::ReverseDiff),
        ignore_whitespace: inv.has(Opt::IgnoreWhitespace),
    };
    patch(&inv.ctx, &request)?;
    if !inv.has(Opt::Quiet) {
        let summary = inv.notifier.stats().borrow().summary();
        inv.out.text(&summary)?;
    }
    Ok(())
}
