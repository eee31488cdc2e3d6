//! The numbers of the kinds of values that are cached by this crate. Engines have those below 100, and what is above the engines
//! those from 200 on.

/// Date and author of neighbouring revisions.
pub(crate) const DATE_AUTHOR: u8 = 100;
/// Encoded log entries.
pub(crate) const LOG_ENTRIES: u8 = 101;
