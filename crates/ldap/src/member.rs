//! A user whom a directory has accepted.

/// A user of a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// The name, as the directory spells it.
    pub name: String,
    /// The names of the user's groups, sorted.
    pub groups: Vec<String>,
}
