//! Errors and warnings in the reference's form: `svnadmin: E160013: ...`, one line a
//! link of the chain.

use std::collections::HashSet;
use std::io::Write as _;

use sapwood_core::{SvnError, rawname};

use crate::locale;

/// The lines that report `error`, each starting with `prefix` (`svnadmin: `). Of errors without a
/// message of their own, each code is printed once. Names in it that are not UTF-8 are made readable.
pub(crate) fn lines(error: &SvnError, prefix: &str) -> String {
    let mut shown = HashSet::new();
    let mut out = String::new();
    for link in error.chain() {
        if link.message().is_empty() && !shown.insert(link.code()) {
            continue;
        }
        let message = rawname::printable(best_message(link));
        out.push_str(&format!("{prefix}{}: {message}\n", link.code()));
    }
    out
}

/// The same in one line, without an end.
pub(crate) fn one_line(error: &SvnError) -> String {
    lines(error, "").trim_end().replace(":\n", ": ").replace('\n', ": ")
}

/// The error's own sentence, else that of its code.
pub(crate) fn best_message(error: &SvnError) -> &str {
    match error.message() {
        "" => error.code().generic_message(),
        message => message,
    }
}

/// Writes an error to stderr; a closed pipe is no error.
pub(crate) fn error(error: &SvnError, prefix: &str) {
    stderr(&lines(error, prefix));
}

/// Writes a warning to stderr.
pub(crate) fn warning(error: &SvnError, prefix: &str) {
    let message = rawname::printable(best_message(error));
    stderr(&format!("{prefix}warning: W{:06}: {message}\n", error.code().0));
}

/// Writes text to stderr, ignoring that it may be closed.
pub(crate) fn stderr(text: &str) {
    crate::terminal::make_room(text.as_bytes());
    let _ = std::io::stderr().write_all(&locale::encode(text));
}

/// Writes what the user typed back to the terminal as it came from there.
pub(crate) fn as_it_is(text: &str) {
    let _ = std::io::stderr().write_all(text.as_bytes());
}

/// Says that a program could not be started: as the reference has it, whose child process says so,
/// without a newline.
pub(crate) fn exec_failed(program: &str, error: &std::io::Error) {
    let words = error.to_string();
    let words = words.split(" (os error").next().unwrap_or("");
    stderr(&format!("exec of '{program}' failed: {words}"));
}

/// Ends a program: prints an error, unless it only says that the reader of our output has gone.
pub(crate) fn exit_error(error: &SvnError, prefix: &str) {
    if !error.is_closed_pipe() {
        self::error(error, prefix);
    }
}

#[cfg(test)]
mod tests {
    use sapwood_core::ErrorCode;

    use super::*;

    #[test]
    fn chains_and_generic_sentences() {
        let error = SvnError::new(ErrorCode::FS_NOT_FOUND, "File not found: revision 3, path '/x'")
            .wrap(ErrorCode::FS_NOT_FOUND, "")
            .wrap(ErrorCode::FS_NOT_FOUND, "");
        assert_eq!(
            lines(&error, "svnlook: "),
            format!(
                "svnlook: E160013: {}\nsvnlook: E160013: File not found: revision 3, path '/x'\n",
                ErrorCode::FS_NOT_FOUND.generic_message()
            )
        );
    }
}
