//! Transactions: which there are, and their properties. (Their trees are
//! [`crate::Root`]s like those of revisions.)

use std::io::ErrorKind;

use sapwood_core::hashdump::{self, END};
use sapwood_core::{PropList, SvnError};
use sapwood_fsfs_format::TxnId;
use sapwood_fsfs_format::layout::names;

use crate::error::{Error, Result};
use crate::filesystem::Filesystem;

/// The longest file of transaction properties that is read.
const PROPS_LEN: usize = 1 << 28;

#[allow(clippy::missing_errors_doc, reason = "all: `Error` says what its variants mean")]
impl Filesystem {
    /// The names of all transactions, sorted. As in the reference these are all names in the
    /// folder that end with `.txn`, whether or not they are well formed.
    pub fn transactions(&self) -> Result<Vec<String>> {
        let dir = self.fs.file(names::TRANSACTIONS);
        let all =
            self.fs.storage.list(&dir).map_err(|e| Error::io(e, "Can't open directory", &dir))?;
        let name = |file: std::ffi::OsString| {
            let name = file.to_str()?.strip_suffix(".txn")?;
            (!name.is_empty()).then(|| name.to_owned())
        };
        let mut all: Vec<String> = all.into_iter().filter_map(name).collect();
        all.sort();
        Ok(all)
    }

    /// The properties of a transaction; E160007 when there is none of that name.
    pub fn txn_props(&self, name: &str) -> Result<PropList> {
        let id = TxnId::parse(name.as_bytes()).map_err(|e| Error::Svn(e.into()))?;
        let dir = self.fs.layout.txn_dir(&id);
        let path = self.fs.file(&format!("{dir}/{}", names::TXN_PROPS));
        let bytes = match self.fs.storage.read(&path, PROPS_LEN) {
            Ok(bytes) => bytes,
            Err(e) if e.kind() == ErrorKind::NotFound => {
                // Without the folder there is no transaction; without the file it is damaged.
                return Err(match self.fs.storage.stamp(&self.fs.file(&dir)) {
                    Err(_) => Error::NoSuchTransaction(name.to_owned()),
                    Ok(_) => Error::io(e, "Can't open file", &path),
                });
            }
            Err(e) => return Err(Error::io(e, "Can't open file", &path)),
        };
        hashdump::parse(&bytes, Some(END)).map_err(|e| {
            let shown = path.display();
            Error::Svn(
                SvnError::from(e)
                    .context(format!("malformed property list in transaction '{shown}'")),
            )
        })
    }
}
