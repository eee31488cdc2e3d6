//! `svnadmin build-repcache`.

use sapwood_core::{ErrorCode, Revnum, SvnError, SvnResult};

use crate::command::{Invocation, Runner, Subcommand, name};

pub(super) const COMMAND: Subcommand = Subcommand {
    name: "build-repcache",
    aliases: &[],
    help: "usage: svnadmin build-repcache REPOS_PATH [-r LOWER[:UPPER]]\n\n\
     Enter the texts of a range of revisions into the index of shared texts.\n",
    options: &[name::REVISION, name::QUIET, name::MEMORY_CACHE_SIZE],
    overrides: &[],
    run: Runner::Repository(run),
};

fn run(invocation: &mut Invocation<'_>) -> SvnResult<()> {
    invocation.take_args(0, 0)?;
    let options = &invocation.options;
    let repository = crate::repo::open(&invocation.repository, options)?;
    let fs = repository.fs();
    let youngest = fs.youngest()?;
    let (start, end) = options.revision.resolve(fs, youngest)?;
    let last = end.or(start).unwrap_or(youngest);
    // Nothing of revision 0 is worth sharing.
    let first = start.unwrap_or(Revnum(1));
    let quiet = options.has(name::QUIET);
    let out = &mut invocation.out;
    let built = fs.build_rep_cache(first, last, &crate::signals::cancel_token(), &mut |revision| {
        if quiet {
            return Ok(());
        }
        Ok(out.text(&format!("* Processed revision {revision}.\n"))?)
    });
    match built.map_err(SvnError::from) {
        Err(e) if e.code() == ErrorCode::FS_REP_SHARING_NOT_ALLOWED => out.text(
            "svnadmin: Warning - this repository has rep-sharing disabled. Building rep-cache has \
             no effect.\n",
        ),
        built => built,
    }
}
