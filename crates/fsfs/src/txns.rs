//! Transactions: which there are, and their properties.

use sapwood_core::PropList;

use crate::error::Result;
use crate::filesystem::Filesystem;

#[allow(clippy::missing_errors_doc, unused_variables)]
impl Filesystem {
    /// The names of all transactions, sorted.
    pub fn transactions(&self) -> Result<Vec<String>> {
        todo!()
    }

    /// The properties of a transaction.
    pub fn txn_props(&self, name: &str) -> Result<PropList> {
        todo!()
    }
}
