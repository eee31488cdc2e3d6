//! Many revisions one after the other: see [`crate::txn::Bulk`].

use std::sync::Arc;

use sapwood_core::Revnum;
use sapwood_fsfs::txn as fsfs;
use sapwood_fsx::txn as fsx;

use crate::error::{Error, Result};
use crate::of::{Of, each};
use crate::txn::{Txn, Writer};

/// Makes many revisions one after the other, each of which need not be durable before the next.
#[derive(Debug)]
pub struct Bulk {
    writer: Arc<Writer>,
    of: Of<fsfs::Bulk, fsx::Bulk>,
}

#[allow(clippy::missing_errors_doc)]
impl Bulk {
    /// Of a writer; `None` when the filesystem is such that revisions are made one by one.
    pub fn new(writer: &Arc<Writer>) -> Result<Option<Self>> {
        let of = match writer.engine() {
            Of::Fsfs(engine) => fsfs::Bulk::new(engine)?.map(Of::Fsfs),
            Of::Fsx(engine) => fsx::Bulk::new(engine).map(Of::Fsx),
        };
        Ok(of.map(|of| Self { writer: Arc::clone(writer), of }))
    }

    /// Begins the next transaction.
    pub fn begin(&self) -> Result<Txn> {
        Ok(self.writer.txn(match &self.of {
            Of::Fsfs(bulk) => Of::Fsfs(bulk.begin()?),
            Of::Fsx(bulk) => Of::Fsx(bulk.begin()?),
        }))
    }

    /// What went wrong in another thread.
    #[must_use]
    pub fn failure(&self) -> Option<Error> {
        each!(&self.of, bulk => bulk.failure().map(Error::from))
    }

    /// The youngest revision, made or in the making.
    pub fn youngest(&self) -> Result<Revnum> {
        Ok(each!(&self.of, bulk => bulk.youngest()?))
    }

    /// Makes a revision of a transaction.
    pub fn commit(&self, txn: Txn) -> Result<Revnum> {
        match (&self.of, txn.of) {
            (Of::Fsfs(bulk), Of::Fsfs(txn)) => Ok(bulk.commit(txn)?),
            (Of::Fsx(bulk), Of::Fsx(txn)) => Ok(bulk.commit(txn)?),
            _ => Err(crate::filesystem::other_engine()),
        }
    }

    /// The youngest revision that others see.
    #[must_use]
    pub fn published(&self) -> Revnum {
        each!(&self.of, bulk => bulk.published())
    }

    /// Waits until all is durable.
    pub fn sync(&self) -> Result<()> {
        each!(&self.of, bulk => Ok(bulk.sync()?))
    }
}
