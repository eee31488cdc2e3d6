//! What was changed of wc.db between two of its states.

/// What was changed from one state to another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Changes<S> {
    /// The paths of rows whose status columns changed, and whether each is a directory.
    pub(crate) touched: Vec<(S, bool)>,
    /// The paths whose rows of BASE changed only in their revision; `None` when they were too many to list.
    pub(crate) revised: Option<Vec<S>>,
    /// The revision to which all rows of BASE were brought, before or after the others changed.
    pub(crate) bumped: Option<u64>,
}

impl<S> Changes<S> {
    /// No changes.
    pub(crate) const fn none() -> Self {
        Self { touched: Vec::new(), revised: Some(Vec::new()), bumped: None }
    }
}
