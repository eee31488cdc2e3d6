//! `svnbench null-blame`.

use sapwood_core::exact::Exact;
use sapwood_core::paths::RelPath;
use sapwood_core::{ErrorCode, Revnum, SvnError, SvnResult, len64};
use sapwood_delta::TextDelta;
use sapwood_ra::{FileRev, FileRevReceiver, FileRevsRequest, Settings};

use super::{located, number, one_range, table, targets, timed};
use crate::command::{Invocation, Runner, Subcommand, name};
use crate::remote::target::{Target, move_to};
use crate::report;
use crate::revision::{RevisionRange, RevisionSpec};

#[derive(Debug, Default)]
struct Counts {
    revisions: u64,
    deltas: u64,
    bytes: u64,
}

impl FileRevReceiver for Counts {
    fn file_rev(&mut self, _: &FileRev<'_>, delta: Option<&mut dyn TextDelta>) -> SvnResult<()> {
        self.revisions.tally(1);
        if let Some(delta) = delta {
            self.deltas.tally(1);
            while let Some(window) = delta.next_window()? {
                let len = len64(window.target_len);
                self.bytes.tally(len);
            }
        }
        Ok(())
    }
}

fn blame(
    invocation: &mut Invocation<'_>,
    settings: &Settings,
    target: &Target,
    range: RevisionRange,
) -> SvnResult<u64> {
    let located = located(settings, target, RevisionSpec::Unspecified)?;
    let session = located.session.as_ref();
    let start = number(settings, session, target, range.start)?;
    let end = number(settings, session, target, range.end)?;
    move_to(session, located.peg, start.max(end))?;
    // The changes of the first revision are only seen beside the one before it.
    let start = if start > end { start } else { start.prev().unwrap_or(Revnum::ZERO) };
    let mut counts = Counts::default();
    session.file_revs(
        &FileRevsRequest {
            path: RelPath::ROOT,
            start: Some(start),
            end: Some(end),
            include_merged_revisions: invocation.options.has(name::USE_MERGE_HISTORY),
        },
        &mut counts,
    )?;
    let Counts { revisions, deltas, bytes } = counts;
    table(invocation, &[(revisions, "revisions"), (deltas, "deltas"), (bytes, "bytes in deltas")])?;
    Ok(session.bytes_transferred())
}

pub(super) const COMMAND: Subcommand = Subcommand {
    name: "null-blame",
    aliases: &[],
    help: "usage: svnbench null-blame [-r M:N] TARGET[@REV]...\n\n\
         Get all versions of a file, as 'svn blame' does.  Without -r these are all up to\n\
         REV, with -r those from M to N, backwards if M is the younger.\n",
    options: &[name::REVISION, name::USE_MERGE_HISTORY],
    overrides: &[],
    run: Runner::Arguments(run),
};

fn run(invocation: &mut Invocation<'_>) -> SvnResult<()> {
    let targets = targets(invocation, "null-blame", false)?;
    if targets.is_empty() {
        return Err(SvnError::new(ErrorCode::CL_INSUFFICIENT_ARGS, ""));
    }
    let first = RevisionSpec::Number(Revnum(1));
    let given = one_range(&invocation.options)?;
    let range = match (given.start, given.end) {
        (RevisionSpec::Unspecified, end) => RevisionRange { start: first, end },
        (start, RevisionSpec::Unspecified) => RevisionRange { start: first, end: start },
        _ => given,
    };
    timed(invocation, |invocation, settings| {
        let (mut bytes, mut missing) = (0, false);
        for target in &targets {
            let end = match range.end {
                RevisionSpec::Unspecified if target.peg != RevisionSpec::Unspecified => target.peg,
                RevisionSpec::Unspecified if target.is_url() => RevisionSpec::Head,
                RevisionSpec::Unspecified => RevisionSpec::Working,
                end => end,
            };
            match blame(invocation, settings, target, RevisionRange { end, ..range }) {
                Ok(transferred) => bytes = transferred,
                Err(error)
                    if [
                        ErrorCode::WC_PATH_NOT_FOUND,
                        ErrorCode::ENTRY_NOT_FOUND,
                        ErrorCode::FS_NOT_FILE,
                        ErrorCode::FS_NOT_FOUND,
                    ]
                    .contains(&error.code()) =>
                {
                    invocation.out.flush()?;
                    report::warning(&error, "svn: ");
                    missing = true;
                }
                Err(error) => return Err(error),
            }
        }
        if missing {
            return Err(SvnError::new(
                ErrorCode::ILLEGAL_TARGET,
                "Could not perform blame on all targets because some targets don't exist",
            ));
        }
        Ok(bytes)
    })
}
