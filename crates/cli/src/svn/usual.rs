//! Ends and refusals that several subcommands have in common.

use sapwood_core::{ErrorCode, SvnError, SvnResult};

use super::Invocation;
use super::options::Opt;

/// Fewer arguments than the subcommand needs.
pub(super) fn too_few() -> SvnError {
    SvnError::new(ErrorCode::CL_INSUFFICIENT_ARGS, "")
}

/// The error at the end of a run that had to leave targets out. `words` has the sentence for a code.
pub(super) fn not_all(
    seen: &[ErrorCode],
    words: impl Fn(ErrorCode) -> Option<&'static str>,
) -> SvnResult<()> {
    if seen.is_empty() {
        return Ok(());
    }
    let mut error = SvnError::new(ErrorCode::ILLEGAL_TARGET, "");
    for words in seen.iter().filter_map(|code| words(*code)) {
        error = error.context(words);
    }
    Err(error)
}

impl Invocation {
    /// Refuses what only commits take.
    ///
    /// # Errors
    /// E205009.
    pub(super) fn refuse_message(&self) -> SvnResult<()> {
        if self.opt.message.is_some() || self.has(Opt::File) || self.opt.revprops.is_some() {
            return Err(SvnError::new(
                ErrorCode::CL_UNNECESSARY_LOG_MESSAGE,
                "Local, non-commit operations do not take a log message or revision properties",
            ));
        }
        Ok(())
    }
}
