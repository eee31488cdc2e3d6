//! `svnsync initialize`.

use sapwood_core::{ErrorCode, SvnError, SvnResult};

use super::{on_mirror, url_argument};
use crate::command::{Invocation, Runner, Subcommand, name};

pub(super) const COMMAND: Subcommand = Subcommand {
    name: "initialize",
    aliases: &["init"],
    help: "usage: svnsync initialize DEST_URL SOURCE_URL\n\n\
         Make DEST_URL, the root of a repository, the mirror of SOURCE_URL, a repository\n\
         or a part of one.  DEST_URL must allow changes of revision properties and have\n\
         no revisions; with --allow-non-empty, those that it has must be the source's.\n\
         From then on, nobody but svnsync should commit to it.\n",
    options: &[
        name::CONFIG_OPTION,
        name::SOURCE_PROP_ENCODING,
        name::QUIET,
        name::ALLOW_NON_EMPTY,
        name::DISABLE_LOCKING,
        name::STEAL_LOCK,
        name::MEMORY_CACHE_SIZE,
    ],
    overrides: &[],
    run: Runner::Arguments(run),
};

fn run(invocation: &mut Invocation<'_>) -> SvnResult<()> {
    let args = invocation.take_args(0, usize::MAX)?;
    let [to, from] = args.as_slice() else {
        let code = if args.len() < 2 {
            ErrorCode::CL_INSUFFICIENT_ARGS
        } else {
            ErrorCode::CL_ARG_PARSING_ERROR
        };
        return Err(SvnError::new(code, ""));
    };
    let (to, from) = (url_argument(to)?, url_argument(from)?);
    let allowed = invocation.options.has(name::ALLOW_NON_EMPTY);
    on_mirror(invocation, &to, |mirror| mirror.initialize(&from, allowed))
}
