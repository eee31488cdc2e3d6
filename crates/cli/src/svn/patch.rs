//! `svn patch`.

use sapwood_client::patch::{Request, patch};
use sapwood_core::{ErrorCode, SvnError, SvnResult};

use super::options::Opt;
use super::targets::check_local;
use super::usual::too_few;
use super::{Command, Invocation};

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
    check_local(&file.path)?;
    if let Some(target) = target {
        check_local(&target.path)?;
    }
    let request = Request {
        patch: file.without_peg()?,
        target: target.map_or(Ok(""), |target| target.without_peg())?,
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
