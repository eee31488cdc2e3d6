//! `svn cat`.

use sapwood_client::cat::cat;
use sapwood_core::{ErrorCode, SvnError, SvnResult};

use super::options::Opt;
use super::{Command, Invocation};
use crate::pegs::Part;

pub(super) const COMMAND: Command = Command {
    name: "cat",
    help: "Output the content of specified files or URLs.\n\
        usage: cat TARGET[@REV]...\n\
        \n  \
        Write what is in the files. REV says in which revision each one is looked up, -r in\n  \
        which revision its contents are wanted. Of a working copy without a revision: what was\n  \
        checked out, without local changes.\n",
    options: &[Opt::Revision, Opt::IgnoreKeywords],
    run,
    ..Command::DEFAULT
};

/// Errors that are no reason not to go on with the next target, and what they say of all of them.
const PASSED_OVER: [(ErrorCode, &str); 4] = [
    (ErrorCode::UNVERSIONED_RESOURCE, "are not versioned"),
    (ErrorCode::ENTRY_NOT_FOUND, "don't exist"),
    (ErrorCode::CLIENT_IS_DIRECTORY, "are directories"),
    (ErrorCode::FS_NOT_FOUND, "don't exist"),
];

fn run(invocation: &mut Invocation) -> SvnResult<()> {
    let targets = invocation.targets()?;
    if targets.is_empty() {
        return Err(SvnError::new(ErrorCode::CL_INSUFFICIENT_ARGS, ""));
    }
    let codes = PASSED_OVER.map(|(code, _)| code);
    let mut seen = Vec::new();
    invocation.announce(&targets);
    for arg in targets {
        invocation.ctx.check_cancel()?;
        let target = invocation.target(Part::Target, &arg)?;
        let result = cat(
            &invocation.ctx,
            &target.text,
            target.peg,
            invocation.opt.revision(),
            !invocation.has(Opt::IgnoreKeywords),
            &mut invocation.out.clone(),
        );
        invocation.tolerate(result, &codes, &mut seen)?;
    }
    if seen.is_empty() {
        return Ok(());
    }
    let mut error = SvnError::new(ErrorCode::ILLEGAL_TARGET, "");
    for code in seen {
        let words = PASSED_OVER.iter().find(|(other, _)| *other == code).map_or("", |(_, w)| w);
        error = error.context(format!("Could not cat all targets because some targets {words}"));
    }
    Err(error)
}
