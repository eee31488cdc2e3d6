//! `svn unlock`.

use sapwood_client::lock;
use sapwood_core::notify::Action;
use sapwood_core::{ErrorCode, SvnError, SvnResult};

use super::lock::{files, watch};
use super::options::Opt;
use super::{Command, Invocation};

pub(super) const COMMAND: Command = Command {
    name: "unlock",
    help: "Unlock working copy paths or URLs.\n\
        usage: unlock TARGET...\n\
        \n  \
        Give up locks of each TARGET, a local path or a URL. With --force, locks of others or of your other\n  \
        working copies too.\n",
    options: &[Opt::Targets, Opt::Force, Opt::Quiet],
    overrides: &[(Opt::Force, "break locks of others")],
    run,
    ..Command::DEFAULT
};

fn run(invocation: &mut Invocation) -> SvnResult<()> {
    let targets = files(invocation)?;
    let failed = watch(invocation, Action::FailedUnlock);
    lock::unlock(&invocation.ctx, &targets, invocation.has(Opt::Force))?;
    if failed.get() {
        return Err(SvnError::new(
            ErrorCode::ILLEGAL_TARGET,
            "One or more locks could not be released",
        ));
    }
    Ok(())
}
