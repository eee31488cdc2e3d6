//! A transaction as it was before a revision was made of it: in a store that other servers add to, the revision may be
//! overtaken by theirs, and is made again on top of that.
//!
//! Invariant: what is made after [`Txn::restore`] is what would be made of a transaction that was never tried before.

use std::collections::HashMap;

use sapwood_core::{PropList, Sha1};
use sapwood_fsfs_format::Representation;
use sapwood_txn_rules::SavedTree;

use super::Txn;
use super::engine::Fsfs;
use super::prepared::PreparedRevision;
use super::proto::SavedProto;
use crate::error::{Error, Result};

/// What making a revision takes from a transaction.
#[derive(Debug)]
pub(super) struct SavedTxn {
    tree: SavedTree<Fsfs>,
    proto: SavedProto,
    props: PropList,
    shared: HashMap<Sha1, Representation>,
}

impl Txn {
    /// Notes what it is now.
    pub(super) fn save(&mut self) {
        self.saved = Some(Box::new(SavedTxn {
            tree: self.tree.save(),
            proto: self.proto.save(),
            props: self.info.props.clone(),
            shared: self.shared.clone(),
        }));
    }

    /// Makes it again what it was then. `prepared` is the revision that was made of it, if one was, and is not to be.
    pub(super) fn restore(&mut self, prepared: Option<PreparedRevision>) -> Result<()> {
        let saved = self.saved.take().ok_or_else(|| Error::internal("nothing was saved"))?;
        let SavedTxn { tree, proto, props, shared } = *saved;
        self.tree.restore(tree);
        self.proto.restore(proto, prepared.and_then(|prepared| prepared.new.spooled))?;
        (self.info.props, self.shared) = (props, shared);
        Ok(())
    }
}
