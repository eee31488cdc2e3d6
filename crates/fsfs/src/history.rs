//! Walking back through the history of one path.

use sapwood_core::Revnum;

use crate::error::Result;

/// The history of one path, interesting places only, youngest first.
#[derive(Debug)]
pub struct History {}

#[allow(unused_variables)]
impl History {
    /// The next older place: the path there, and the revision. `None` at the end, and, unless
    /// `cross_copies`, where the node was copied from another path.
    ///
    /// # Errors
    /// Corruption and system errors.
    pub fn previous(&mut self, cross_copies: bool) -> Result<Option<(String, Revnum)>> {
        todo!()
    }
}
