//! `svnadmin verify`.

use sapwood_core::exact::Exact;
use sapwood_core::{ErrorCode, Revnum, SvnError, SvnResult};
use sapwood_repos::verify::{VerifyNotice, VerifyOptions, verify};

use crate::command::{Invocation, Options, Runner, Subcommand, name, usage_error};
use crate::output::Output;
use crate::progress::Progress;
use crate::report;
use crate::revision::{self, RevisionSpec};

/// The least width of the column of revisions in the summary.
const COLUMN: usize = 6;

pub(super) const COMMAND: Subcommand = Subcommand {
    name: "verify",
    aliases: &[],
    help: "usage: svnadmin verify REPOS_PATH\n\n\
         Check all that the repository holds.\n",
    options: &[
        name::TRANSACTION,
        name::REVISION,
        name::QUIET,
        name::KEEP_GOING,
        name::MEMORY_CACHE_SIZE,
        name::CHECK_NORMALIZATION,
        name::METADATA_ONLY,
    ],
    overrides: &[],
    run: Runner::Repository(run),
};

/// The transaction to look at, in place of revisions.
fn transaction(options: &Options) -> SvnResult<Option<String>> {
    let (range, unspecified) = (options.revision, RevisionSpec::Unspecified);
    let transaction = options.value(name::TRANSACTION)?;
    if transaction.is_some() && (range.start != unspecified || range.end != unspecified) {
        return Err(usage_error("--revision (-r) and --transaction (-t) are mutually exclusive"));
    }
    Ok(transaction)
}

fn run(invocation: &mut Invocation<'_>) -> SvnResult<()> {
    invocation.take_args(0, 0)?;
    let prefix = invocation.prefix();
    let path = invocation.repository.clone();
    let options = &invocation.options;
    let range = options.revision;
    let transaction = transaction(options)?;
    let repository = crate::repo::open_for_all(&path, options)?;
    let fs = repository.fs();
    if let Some(name) = transaction {
        return Ok(fs.txn_root(&name)?.verify()?);
    }
    let youngest = fs.youngest()?;
    let start = revision::resolve(range.start, fs, youngest)?;
    let end = revision::resolve(range.end, fs, youngest)?.or(start);
    let quiet = options.has(name::QUIET);
    let keep_going = options.has(name::KEEP_GOING);
    let request = VerifyOptions {
        start,
        end,
        check_normalization: options.has(name::CHECK_NORMALIZATION),
        metadata_only: options.has(name::METADATA_ONLY),
        notices: !quiet,
        cancel: &crate::signals::cancel_token(),
        threads: super::threads(),
    };
    let mut progress = Progress::new(start.unwrap_or(Revnum::ZERO), end.unwrap_or(youngest));
    let mut summary: Vec<(Option<Revnum>, SvnError)> = Vec::new();
    let out = &mut invocation.out;
    verify(&repository, &request, &mut |notice| {
        progress.clear();
        if let VerifyNotice::Error(revision, error) = &notice {
            out.flush()?;
            report::stderr(&failure_line(*revision));
            if !keep_going {
                return Err(error.clone());
            }
            report::error(error, &prefix);
            summary.push((*revision, error.clone()));
            return Ok(());
        }
        if !quiet {
            out.text(&notice_line(&notice))?;
            // The administrator sees each line as it comes, as with the reference.
            out.flush()?;
        }
        if let VerifyNotice::Revision(revision) = notice {
            progress.show(revision);
        }
        Ok(())
    })
    .map_err(SvnError::from)?;
    progress.clear();
    if !quiet && start.is_none() {
        out.flush()?;
        super::leftovers::say(fs)?;
    }
    end_of_run(out, &path, &summary)
}

/// Prints the summary of what was found wrong.
///
/// # Errors
/// E205012 when there is something.
fn end_of_run(
    out: &mut Output,
    path: &str,
    summary: &[(Option<Revnum>, SvnError)],
) -> SvnResult<()> {
    if summary.is_empty() {
        return Ok(());
    }
    out.text(&summary_text(summary))?;
    Err(SvnError::new(
        ErrorCode::CL_REPOS_VERIFY_FAILED,
        format!("Failed to verify repository '{}'", crate::repo::local_style(path)),
    ))
}

fn failure_line(revision: Option<Revnum>) -> String {
    match revision {
        None => "* Error verifying repository metadata.\n".to_owned(),
        Some(revision) => format!("* Error verifying revision {revision}.\n"),
    }
}

/// The line for a notice; of an error it is [`failure_line`].
fn notice_line(notice: &VerifyNotice) -> String {
    match notice {
        VerifyNotice::Error(revision, _) => failure_line(*revision),
        VerifyNotice::Warning(kind, text) => format!("WARNING 0x{:04x}: {text}\n", kind.number()),
        VerifyNotice::Revision(revision) => format!("* Verified revision {revision}.\n"),
        VerifyNotice::Metadata(None) => "* Verifying repository metadata ...\n".to_owned(),
        VerifyNotice::Metadata(Some(revision)) => {
            format!("* Verifying metadata at revision {revision} ...\n")
        }
    }
}

/// The summary that `--keep-going` prints at the end.
fn summary_text(summary: &[(Option<Revnum>, SvnError)]) -> String {
    let mut text = String::from("\n-----Summary of corrupt revisions-----\n");
    let mut width = COLUMN;
    let mut last = summary.last().and_then(|(revision, _)| *revision).unwrap_or(Revnum::ZERO).0;
    while last >= 1_000_000 {
        width = width.plus(1);
        last /= 10;
    }
    for (revision, error) in summary {
        let Some(revision) = revision else { continue };
        let revision = format!("r{revision}");
        for link in error.chain() {
            text.push_str(&format!(
                "{revision:>width$}: {}: {}\n",
                link.code(),
                report::best_message(link)
            ));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn summaries() {
        let error =
            SvnError::new(ErrorCode::FS_CORRUPT, "bad").wrap(ErrorCode::FS_CORRUPT, "worse");
        assert_eq!(
            summary_text(&[(None, error.clone()), (Some(Revnum(7)), error)]),
            "\n-----Summary of corrupt revisions-----\n    r7: E160004: worse\n    r7: E160004: bad\n"
        );
    }
}
