//! `svnsync copy-revprops`.

use sapwood_core::{ErrorCode, Revnum, SvnError, SvnResult};
use sapwood_ra::Session;

use super::{copy_props, invalid, locked, open_mirror, open_source, tell_normalized, url_argument};
use crate::command::{Invocation, Run, Subcommand, name, usage_error};
use crate::repo;
use crate::revision::{RevisionRange, RevisionSpec};

/// The range that is meant; the last merged revision stands for `HEAD`.
fn resolve(range: RevisionRange, last: Revnum) -> (Revnum, Revnum) {
    let one = |spec| match spec {
        RevisionSpec::Number(revision) => Some(revision),
        RevisionSpec::Unspecified => None,
        _ => Some(last),
    };
    match (one(range.start), one(range.end)) {
        (None, _) => (Revnum::ZERO, last),
        (Some(start), end) => (start, end.unwrap_or(start)),
    }
}

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
    run: Run::Arguments(run),
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
    let mirror = open_mirror(invocation, &to)?;
    locked(invocation, mirror.as_ref(), |invocation| {
        copy(invocation, mirror.as_ref(), from.as_deref(), range)
    })
}

fn copy(
    invocation: &mut Invocation<'_>,
    mirror: &dyn Session,
    from: Option<&str>,
    range: RevisionRange,
) -> SvnResult<()> {
    let (source, last) = open_source(invocation, mirror, from)?;
    let (start, end) = resolve(range, last);
    if let Some(revision) = [start, end].into_iter().find(|revision| *revision > last) {
        return Err(invalid(format!(
            "Cannot copy revprops for a revision ({revision}) that has not been synchronized yet"
        )));
    }
    let mut normalized = 0u64;
    let mut revision = start;
    loop {
        let count = copy_props(invocation, source.as_ref(), mirror, revision, true)?;
        normalized = normalized.saturating_add(count);
        if revision == end {
            break;
        }
        revision = if start > end { revision.prev().unwrap_or(end) } else { revision.next() };
    }
    tell_normalized(invocation, normalized, 0)
}
