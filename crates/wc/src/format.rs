//! The formats of working copies that this program works on.

/// `PRAGMA user_version` of the format that new working copies have: that of Subversion 1.8 to 1.14.
pub const FORMAT: i64 = 31;
/// The format whose pristine texts may be missing, of Subversion 1.15.
pub const FORMAT_OPTIONAL_PRISTINES: i64 = 32;
