//! `svn cleanup`.

use sapwood_client::cleanup::{Cleanup, cleanup};
use sapwood_core::{ErrorCode, SvnResult};

use super::options::Opt;
use super::targets::check_all_local;
use super::{Command, Invocation};
use crate::pegs::Part;

pub(super) const COMMAND: Command = Command {
    name: "cleanup",
    help: "Either recover from an interrupted operation that left the working\n\
        copy locked, or remove unwanted files.\n\
        usage: 1. cleanup [WCPATH...]\n       \
        2. cleanup --remove-unversioned [WCPATH...]\n          \
        cleanup --remove-ignored [WCPATH...]\n       \
        3. cleanup --vacuum-pristines [WCPATH...]\n\
        \n  \
        Mend a working copy after a program that was stopped: break its locks and finish the work that it\n  \
        wrote down. Do not do that while another program is at work in it.\n\
        \n  \
        With --remove-unversioned or --remove-ignored nothing is mended, and files that are not versioned\n  \
        are deleted; with --vacuum-pristines, texts that are kept for no file any more.\n",
    options: &[
        Opt::RemoveUnversioned,
        Opt::RemoveIgnored,
        Opt::VacuumPristines,
        Opt::IncludeExternals,
        Opt::Quiet,
        Opt::Diff3Cmd,
    ],
    overrides: &[(Opt::Diff3Cmd, "old, and without effect")],
    run,
    ..Command::DEFAULT
};

fn run(inv: &mut Invocation) -> SvnResult<()> {
    let targets = inv.targets_or_here()?;
    check_all_local(&targets)?;
    let paths = inv.names(Part::Target, &targets)?;
    let has = |opt| inv.has(opt);
    let vacuum =
        has(Opt::RemoveUnversioned) || has(Opt::RemoveIgnored) || has(Opt::VacuumPristines);
    let how = Cleanup {
        mend: !vacuum,
        remove_unversioned: has(Opt::RemoveUnversioned),
        remove_ignored: has(Opt::RemoveIgnored),
        vacuum_pristines: has(Opt::VacuumPristines) || !vacuum,
        include_externals: has(Opt::IncludeExternals),
    };
    for path in &paths {
        inv.ctx.check_cancel()?;
        cleanup(&inv.ctx, path, &how).map_err(|error| match error.code() {
            ErrorCode::WC_LOCKED if vacuum => error.wrap(
                ErrorCode::WC_LOCKED,
                "Working copy locked; if no other Subversion client is currently using the working \
                 copy, try running 'svn cleanup' without the --remove-unversioned and \
                 --remove-ignored options first.",
            ),
            ErrorCode::WC_NOT_WORKING_COPY if vacuum => error.wrap(
                ErrorCode::CL_ARG_PARSING_ERROR,
                "Cannot remove unversioned or ignored items from something that is not a working \
                 copy",
            ),
            ErrorCode::WC_LOCKED => {
                let root = inv.ctx.working_copy(&inv.ctx.absolute(path));
                let root = root.map_or(String::new(), |(wc, _)| wc.root().display().to_string());
                error.wrap(
                    ErrorCode::WC_LOCKED,
                    format!(
                        "Working copy locked; try running 'svn cleanup' on the root of the working \
                         copy ('{root}') instead."
                    ),
                )
            }
            _ => error,
        })?;
    }
    Ok(())
}
