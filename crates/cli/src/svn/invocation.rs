//! What the subcommands have in common: errors that do not stop them, and what they say of their commits.

use sapwood_core::{ErrorCode, SvnError, SvnResult};

use super::Invocation;
use super::options::Opt;

/// E205009: what is not committed takes no message.
pub(super) fn local_operation_has_no_message() -> SvnError {
    SvnError::new(
        ErrorCode::CL_UNNECESSARY_LOG_MESSAGE,
        "Local, non-commit operations do not take a log message or revision properties",
    )
}

impl Invocation {
    /// An error when an external could not be fetched: the cause is already reported.
    pub(crate) fn check_externals(&self) -> SvnResult<()> {
        if !self.notifier.externals_failed() {
            return Ok(());
        }
        Err(SvnError::new(
            ErrorCode::CL_ERROR_PROCESSING_EXTERNALS,
            "Failure occurred processing one or more externals definitions",
        ))
    }

    /// Whether an option was given.
    pub(crate) fn has(&self, opt: Opt) -> bool {
        self.opt.has(opt)
    }

    /// Passes over an error of one target, as a warning, when its code is one of those that are no
    /// reason to stop; `Ok(None)` then.
    pub(crate) fn tolerate<T>(
        &self,
        result: SvnResult<T>,
        codes: &[ErrorCode],
        seen: &mut Vec<ErrorCode>,
    ) -> SvnResult<Option<T>> {
        match result {
            Ok(value) => Ok(Some(value)),
            Err(error) if codes.contains(&error.code()) => {
                if !seen.contains(&error.code()) {
                    seen.push(error.code());
                }
                if !self.has(Opt::Quiet) {
                    self.out.warn(&error);
                }
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// Has committed revisions reported, unless that is not wanted.
    pub(crate) fn notify_commits(&mut self) {
        if !self.has(Opt::Quiet) {
            self.always_notify_commits(String::new());
        }
    }

    /// Has committed revisions reported, after another line.
    pub(crate) fn always_notify_commits(&mut self, before: String) {
        let out = self.out.clone();
        self.ctx.committed = Some(Box::new(move |info| {
            out.text(&before)?;
            let gargle = "SVN_I_LOVE_PANGALACTIC_GARGLE_BLASTERS";
            let answer = if info.revision.0 == 42 && std::env::var_os(gargle).is_some() {
                " (the answer to life, the universe, and everything)"
            } else {
                ""
            };
            out.text(&format!("Committed revision {}{answer}.\n", info.revision))?;
            if let Some(warning) = &info.post_commit_error {
                out.text(&format!("\nWarning: {warning}\n"))?;
            }
            out.show()
        }));
    }
}
