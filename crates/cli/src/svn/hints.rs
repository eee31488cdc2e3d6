//! Hints beside errors that the user can do something about.

use sapwood_core::{ErrorCode, SvnError};

use super::Invocation;
use crate::command::name;

/// Adds a hint to errors that the user can do something about.
pub(super) fn decorate(error: SvnError, invocation: &Invocation) -> SvnError {
    let mut error = error;
    let code = error.code();
    if [ErrorCode::CL_INSUFFICIENT_ARGS, ErrorCode::CL_ARG_PARSING_ERROR].contains(&code) {
        error = error
            .context(format!("Try 'svn help {}' for more information", invocation.command.name));
    }
    if code == ErrorCode::WC_UPGRADE_REQUIRED {
        error = error.context("Please see the 'svn upgrade' command");
    }
    if code == ErrorCode::AUTHN_FAILED && invocation.opt.non_interactive {
        error = error.context(
            "Authentication failed and interactive prompting is disabled; see the \
             --force-interactive option",
        );
        if invocation.opt.file_name.as_deref() == Some("-") {
            error = error.context(
                "Reading file from standard input because of -F option; this can interfere with \
                 interactive prompting",
            );
        }
    }
    if error.has_code(ErrorCode::WC_LOCKED) {
        error = error
            .context("Run 'svn cleanup' to remove locks (type 'svn help cleanup' for details)");
    }
    if code == ErrorCode::SQLITE_BUSY {
        error = error.context(
            "Another process is blocking the working copy database, or the underlying filesystem \
             does not support file locking; if the working copy is on a network filesystem, make \
             sure file locking has been enabled on the file server",
        );
    }
    let session = &invocation.opt.session;
    if error.has_code(ErrorCode::RA_CANNOT_CREATE_TUNNEL)
        && (session.has(name::USERNAME) || session.has(name::PASSWORD))
    {
        error = error.context(
            "When using svn+ssh:// URLs, keep in mind that the --username and --password options \
             are ignored because authentication is performed by SSH, not Subversion",
        );
    }
    error
}
