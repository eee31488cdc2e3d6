//! Wrong usage as an error, and arguments as text and numbers.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt as _;

use sapwood_core::{ErrorCode, SvnError, SvnResult};

use crate::locale;

/// The error for command lines that make no sense.
pub(crate) fn usage_error(text: impl Into<String>) -> SvnError {
    SvnError::new(ErrorCode::CL_ARG_PARSING_ERROR, text)
}

/// An argument, or the value of an option, as text.
///
/// # Errors
/// E22 for what is not in the encoding of the terminal.
pub(crate) fn to_text(arg: &OsString) -> SvnResult<String> {
    locale::decode(arg.as_bytes().to_vec())
}

/// The value of an option that was looked at when it was taken: numbers, names of transactions
/// and the like count as they are, in whatever encoding.
///
/// # Errors
/// E22 for what is not UTF-8.
pub(crate) fn plain_text(value: &OsString) -> SvnResult<String> {
    match value.to_str() {
        Some(text) => Ok(text.to_owned()),
        None => to_text(value),
    }
}

/// A number argument.
pub(crate) fn parse_number(text: &str) -> SvnResult<u64> {
    let wrong = |text: String| SvnError::new(ErrorCode::INCORRECT_PARAMS, text);
    let word = text.trim_ascii_start();
    let digits = word.strip_prefix(['-', '+']).unwrap_or(word);
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return Err(wrong(format!("Could not convert '{text}' into a number")));
    }
    // The reference counts with signed numbers, whatever it says.
    let number = word.parse::<i64>().ok().and_then(|n| u64::try_from(n).ok());
    number.ok_or_else(|| wrong(format!("Number '{text}' is out of range '[0, {}]'", u64::MAX)))
}
