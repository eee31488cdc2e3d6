//! Many revisions one after the other: see [`Bulk`].

use std::sync::Arc;

use sapwood_core::Revnum;

use crate::backend;
use crate::error::{Error, Result};
use crate::filesystem::other_engine;
use crate::of::{both, each, of};
use crate::transaction::Txn;
use crate::writer::Writer;

/// Makes many revisions one after the other, each of which need not be durable before the next.
#[derive(Debug)]
pub struct Bulk {
    writer: Arc<Writer>,
    of: of!(Bulk),
}

#[allow(clippy::missing_errors_doc, reason = "each fails as its engine does: `Error` says how")]
impl Bulk {
    /// Of a writer; `None` when the filesystem is such that revisions are made one by one.
    pub fn new(writer: &Arc<Writer>) -> Result<Option<Self>> {
        let of = each!(writer.engine(), writer, wrap => backend::Writer::bulk(writer)?.map(wrap));
        Ok(of.map(|of| Self { writer: Arc::clone(writer), of }))
    }

    /// Begins the next transaction.
    pub fn begin(&self) -> Result<Txn> {
        let of = each!(&self.of, bulk, wrap => wrap(backend::Bulk::begin(bulk)?));
        Ok(Txn::of(&self.writer, of))
    }

    /// What went wrong in another thread.
    #[must_use]
    pub fn failure(&self) -> Option<Error> {
        each!(&self.of, bulk => backend::Bulk::failure(bulk))
    }

    /// The youngest revision, made or in the making.
    pub fn youngest(&self) -> Result<Revnum> {
        each!(&self.of, bulk => backend::Bulk::youngest(bulk))
    }

    /// Makes a revision of a transaction.
    pub fn commit(&self, txn: Txn) -> Result<Revnum> {
        both!(&self.of, txn.of, (bulk, txn) => backend::Bulk::commit(bulk, txn), else Err(other_engine()))
    }

    /// The youngest revision that others see.
    #[must_use]
    pub fn published(&self) -> Revnum {
        each!(&self.of, bulk => backend::Bulk::published(bulk))
    }

    /// Waits until all is durable.
    pub fn sync(&self) -> Result<()> {
        each!(&self.of, bulk => backend::Bulk::sync(bulk))
    }
}
