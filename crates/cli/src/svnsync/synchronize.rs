//! `svnsync synchronize`.

use sapwood_core::{ErrorCode, SvnError, SvnResult};

use super::{on_mirror, url_argument};
use crate::command::{Invocation, Runner, Subcommand, name, usage_error};

pub(super) const COMMAND: Subcommand = Subcommand {
    name: "synchronize",
    aliases: &["sync"],
    help: "usage: svnsync synchronize DEST_URL [SOURCE_URL]\n\n\
         Copy all new revisions from the source to the mirror.  SOURCE_URL is where the\n\
         source is now, when that is not where the mirror believes it to be.\n",
    options: &[
        name::CONFIG_OPTION,
        name::SOURCE_PROP_ENCODING,
        name::QUIET,
        name::DISABLE_LOCKING,
        name::STEAL_LOCK,
        name::MEMORY_CACHE_SIZE,
    ],
    overrides: &[],
    run: Runner::Arguments(run),
};

fn run(invocation: &mut Invocation<'_>) -> SvnResult<()> {
    let args = invocation.take_args(0, usize::MAX)?;
    if args.len() > 2 {
        return Err(usage_error(""));
    }
    let Some(to) = args.first() else {
        return Err(SvnError::new(ErrorCode::CL_INSUFFICIENT_ARGS, ""));
    };
    let to = url_argument(to)?;
    let from = args.get(1).map(|from| url_argument(from)).transpose()?;
    on_mirror(invocation, &to, |mirror| mirror.synchronize(from.as_deref()))
}
