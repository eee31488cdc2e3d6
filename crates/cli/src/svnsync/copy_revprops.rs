//! `svnsync copy-revprops`.

use sapwood_client::Range;
use sapwood_core::{ErrorCode, SvnError, SvnResult};

use super::{on_mirror, url_argument};
use crate::command::{Invocation, Runner, Subcommand, name, usage_error};
use crate::repo;
use crate::revision::RevisionSpec;

pub(super) const COMMAND: Subcommand = Subcommand {
    name: "copy-revprops",
    aliases: &[],
    help: "usage: 1. svnsync copy-revprops DEST_URL [SOURCE_URL]\n       \
         2. svnsync copy-revprops DEST_URL REV[:REV2]\n\n\
         Copy the revision properties of revisions (-r; else of all) once more from the\n\
         source to the mirror.  The second form is old, and the same as -r.\n",
    options: &[
        name::CONFIG_OPTION,
        name::SOURCE_PROP_ENCODING,
        name::QUIET,
        name::REVISION,
        name::DISABLE_LOCKING,
        name::STEAL_LOCK,
        name::SKIP_UNCHANGED,
        name::MEMORY_CACHE_SIZE,
    ],
    overrides: &[],
    run: Runner::Arguments(run),
};

fn run(invocation: &mut Invocation<'_>) -> SvnResult<()> {
    let mut args = invocation.take_args(0, usize::MAX)?;
    if args.len() > 2 {
        return Err(usage_error(""));
    }
    let mut range = invocation.options.revision;
    if let Some(text) = args.get(1).filter(|text| !repo::is_url(text)) {
        if range.start != RevisionSpec::Unspecified {
            return Err(usage_error(
                "Cannot specify revisions via both command-line arguments and the --revision \
                 (-r) option",
            ));
        }
        let bad = || usage_error(format!("Invalid revision range '{text}' provided"));
        range.take(text).map_err(|_| bad())?;
        args.truncate(1);
    }
    let Some(to) = args.first() else {
        return Err(SvnError::new(ErrorCode::CL_INSUFFICIENT_ARGS, ""));
    };
    let to = url_argument(to)?;
    let from = args.get(1).map(|from| url_argument(from)).transpose()?;
    let range = Range { start: range.start, end: range.end };
    on_mirror(invocation, &to, |mirror| mirror.copy_revprops(from.as_deref(), range))
}
