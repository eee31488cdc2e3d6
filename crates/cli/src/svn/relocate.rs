//! `svn relocate`.

use sapwood_client::relocate::relocate;
use sapwood_client::working::Node;
use sapwood_core::{ErrorCode, SvnError, SvnResult};

use super::options::Opt;
use super::targets::check_all_local;
use super::{Command, Invocation};
use crate::pegs::Part;

pub(super) const COMMAND: Command = Command {
    name: "relocate",
    help: "Relocate the working copy to point to a different repository root URL.\n\
        usage: 1. relocate FROM-PREFIX TO-PREFIX [PATH...]\n       \
        2. relocate TO-URL [PATH]\n\
        \n  \
        Let a working copy follow its repository to another address.\n\
        \n  \
        1. Its URLs begin with FROM-PREFIX; that is replaced by TO-PREFIX. PREFIXes can be any number of\n     \
        characters, down to the name of the protocol.\n\
        \n  \
        2. The URL of PATH (without it: the current folder) becomes TO-URL.\n\
        \n  \
        It must be the same repository. To go to another place within it, see 'svn help switch'.\n",
    options: &[Opt::IgnoreExternals],
    run,
    ..Command::DEFAULT
};

fn run(inv: &mut Invocation) -> SvnResult<()> {
    let targets = inv.targets()?;
    let ignore_externals = inv.has(Opt::IgnoreExternals);
    let one = match targets.as_slice() {
        [] => return Err(SvnError::new(ErrorCode::CL_INSUFFICIENT_ARGS, "")),
        [to] => Some((to, String::new())),
        [to, path] if to.is_url() && !path.is_url() => Some((to, inv.name(Part::Folder, path)?)),
        _ => None,
    };
    if let Some((to, path)) = one {
        let from = Node::find(&inv.ctx, &path)?.url()?;
        return relocate(&inv.ctx, &path, &from, &inv.name(Part::To, to)?, ignore_externals);
    }
    let [from, to, paths @ ..] = targets.as_slice() else {
        return Err(SvnError::new(ErrorCode::CL_INSUFFICIENT_ARGS, ""));
    };
    let from = inv.name(Part::From, from)?;
    let to = inv.name(Part::To, to)?;
    if paths.is_empty() {
        return relocate(&inv.ctx, "", &from, &to, ignore_externals);
    }
    check_all_local(paths)?;
    for path in inv.names(Part::Folder, paths)? {
        relocate(&inv.ctx, &path, &from, &to, ignore_externals)?;
    }
    Ok(())
}
