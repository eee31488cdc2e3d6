//! `svnbench null-info`.

use sapwood_core::exact::Exact;
use sapwood_core::paths::{RelPath, RelPathBuf};
use sapwood_core::{Depth, ErrorCode, NodeKind, SvnError, SvnResult};
use sapwood_ra::{DirentFields, Settings};

use super::{depth, located, one_revision, targets, timed};
use crate::command::{Invocation, Runner, Subcommand, name};
use crate::remote::target::Target;
use crate::report;
use crate::revision::RevisionSpec;

/// The entry fields that `svn info` needs.
const FIELDS: DirentFields = DirentFields { size: false, has_props: false, ..DirentFields::ALL };

/// Counts the nodes that `svn info` would report; also the bytes that went over the network.
fn info(
    settings: &Settings,
    target: &Target,
    wanted: RevisionSpec,
    depth: Depth,
) -> SvnResult<(u64, u64)> {
    let located = located(settings, target, wanted)?;
    let session = located.session.as_ref();
    let revision = Some(located.revision);
    let Some(top) = session.stat(RelPath::ROOT, revision)? else {
        return Err(SvnError::new(
            ErrorCode::RA_ILLEGAL_URL,
            format!("URL '{}' non-existent in revision {}", session.url(), located.revision),
        ));
    };
    match session.get_lock(RelPath::ROOT) {
        Err(e) if !e.is_not_implemented() => return Err(e),
        _ => {}
    }
    let mut count = 1u64;
    if depth > Depth::Empty && top.kind == Some(NodeKind::Dir) {
        if matches!(target.peg, RevisionSpec::Unspecified | RevisionSpec::Head) {
            match session.get_locks(RelPath::ROOT, depth) {
                Err(e) if !e.is_not_offered() => {
                    return Err(e);
                }
                _ => {}
            }
        }
        let mut open = vec![RelPathBuf::default()];
        while let Some(dir) = open.pop() {
            for (name, dirent) in session.get_dir(&dir, revision, Some(FIELDS), false)?.entries {
                let is_dir = dirent.kind == Some(NodeKind::Dir);
                if depth >= Depth::Immediates || !is_dir {
                    count.tally(1);
                }
                if depth == Depth::Infinity && is_dir {
                    open.push(dir.child(&name));
                }
            }
        }
    }
    Ok((count, session.bytes_transferred()))
}

pub(super) const COMMAND: Subcommand = Subcommand {
    name: "null-info",
    aliases: &[],
    help: "usage: svnbench null-info [TARGET[@REV]...]\n\n\
         Ask what each TARGET is, as 'svn info' does; with -R also for all below it.\n",
    options: &[name::REVISION, name::RECURSIVE, name::DEPTH, name::TARGETS],
    overrides: &[],
    run: Runner::Arguments(run),
};

fn run(invocation: &mut Invocation<'_>) -> SvnResult<()> {
    let targets = targets(invocation, "null-info", true)?;
    let revision = one_revision(&invocation.options)?;
    let depth = depth(&invocation.options, Depth::Empty)?;
    timed(invocation, |invocation, settings| {
        let (mut bytes, mut missing) = (0, false);
        for target in &targets {
            match info(settings, target, revision, depth) {
                Ok((count, transferred)) => {
                    bytes = transferred;
                    invocation
                        .out
                        .text(&format!("Number of status notifications received: {count}\n"))?;
                }
                Err(error) if error.is_nowhere() => {
                    invocation.out.flush()?;
                    report::warning(&error, "svnbench: ");
                    report::stderr("\n");
                    missing = true;
                }
                Err(error) => return Err(error),
            }
        }
        if missing {
            return Err(SvnError::new(
                ErrorCode::ILLEGAL_TARGET,
                "Could not display info for all targets because some targets don't exist",
            ));
        }
        Ok(bytes)
    })
}
