//! `svnsync initialize`.

use sapwood_core::{ErrorCode, Revnum, SvnError, SvnResult};
use sapwood_ra::{Capability, Session};

use super::{
    FROM_URL, FROM_UUID, LAST_MERGED, copy_props, invalid, locked, open_at, open_mirror, set,
    tell_normalized, url_argument,
};
use crate::command::{Invocation, Run, Subcommand, name};

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
    run: Run::Arguments(run),
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
    let mirror = open_mirror(invocation, &to)?;
    locked(invocation, mirror.as_ref(), |invocation| initialize(invocation, mirror.as_ref(), &from))
}

fn initialize(invocation: &mut Invocation<'_>, mirror: &dyn Session, from: &str) -> SvnResult<()> {
    let latest = mirror.latest_revnum()?;
    let allowed = invocation.options.has(name::ALLOW_NON_EMPTY);
    if latest != Revnum::ZERO && !allowed {
        return Err(invalid(
            "Destination repository already contains revision history; consider using \
             --allow-non-empty if the repository's revisions are known to mirror their respective \
             revisions in the source repository",
        ));
    }
    if let Some(url) = mirror.rev_prop(Revnum::ZERO, FROM_URL)?
        && !allowed
    {
        return Err(invalid(format!(
            "Destination repository is already synchronizing from '{}'",
            String::from_utf8_lossy(&url)
        )));
    }
    let source = open_at(invocation, from)?;
    let source = source.as_ref();
    if source.root_url() != from && !source.has_capability(Capability::PartialReplay)? {
        return Err(SvnError::new(ErrorCode::RA_PARTIAL_REPLAY_NOT_SUPPORTED, ""));
    }
    if latest != Revnum::ZERO && source.latest_revnum()? < latest {
        return Err(invalid("Destination repository has more revisions than source repository"));
    }
    set(mirror, FROM_URL, Some(from.as_bytes()))?;
    set(mirror, FROM_UUID, Some(source.uuid().as_bytes()))?;
    set(mirror, LAST_MERGED, Some(latest.to_string().as_bytes()))?;
    let normalized = copy_props(invocation, source, mirror, latest, false)?;
    tell_normalized(invocation, normalized, 0)
}
