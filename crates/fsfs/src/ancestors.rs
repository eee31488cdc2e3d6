//! The directories on the way down to where a walk is, so that it notices when it goes round.
//!
//! Trees may be as deep as paths can be long; what shows a damaged one is not its depth but a
//! directory inside of itself. Looking that up costs the same at any depth.

use std::collections::HashSet;

use sapwood_fsfs_format::NodeRevId;

use crate::error::{Error, Result};

/// The directories that a walk is inside of.
#[derive(Debug, Default)]
pub(crate) struct Ancestors {
    line: Vec<NodeRevId>,
    inside: HashSet<NodeRevId>,
}

impl Ancestors {
    /// Goes into a directory that has `depth` of the others above it, leaving those that have not.
    ///
    /// # Errors
    /// E160004 when the walk is inside of that directory already.
    pub(crate) fn enter(&mut self, depth: usize, id: &NodeRevId) -> Result<()> {
        while self.line.len() > depth {
            self.leave();
        }
        if !self.inside.insert(*id) {
            let message = format!("Node is its own direct or indirect parent '{id}'");
            return Err(Error::Corrupt(message));
        }
        self.line.push(*id);
        Ok(())
    }

    /// Leaves the directory that was entered last.
    pub(crate) fn leave(&mut self) {
        if let Some(id) = self.line.pop() {
            self.inside.remove(&id);
        }
    }
}

#[cfg(test)]
mod tests {
    use sapwood_fsfs_format::{IdPart, Location, TxnId};

    use super::*;

    #[test]
    fn only_ancestors_count() {
        let txn = TxnId::parse(b"1-1").unwrap();
        let id = |copy: &str| NodeRevId {
            node: IdPart::ROOT,
            copy: IdPart::parse(copy.as_bytes()).unwrap(),
            location: Location::Txn(txn),
        };
        let mut walk = Ancestors::default();
        walk.enter(0, &id("1")).unwrap();
        walk.enter(1, &id("2")).unwrap();
        // Beside the last one, and again below another.
        walk.enter(1, &id("3")).unwrap();
        walk.enter(2, &id("2")).unwrap();
        assert!(walk.enter(3, &id("1")).is_err());
        walk.leave();
        walk.enter(2, &id("2")).unwrap();
    }
}
