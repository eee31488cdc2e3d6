//! What processes leave that are killed while they write: prototype revisions of no transaction, and files that were
//! to take the place of others.
//!
//! Invariant: nothing is removed that a process may still write. A prototype of no transaction may be that of a
//! commit whose process keeps the rest in memory, for as long as a client may be silent: only older ones go.

use std::io::ErrorKind;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use sapwood_core::{SvnError, SvnResult as Result};
use sapwood_fsfs_format::layout::names;
use sapwood_store::WriteStorage;

/// A commit may rest so long, in nanoseconds: two days, twice the time that a server gives a silent client.
const RESTING: i128 = 2 * 24 * 3600 * 1_000_000_000;

/// A file of no use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leftover {
    /// Its path in the folder `db`.
    pub path: String,
    /// The transaction that its name speaks of, which is not there.
    pub txn: Option<String>,
}

/// The files of one filesystem.
#[derive(Clone, Copy, Debug)]
pub struct Leftovers<'a> {
    /// Where they are.
    pub storage: &'a dyn WriteStorage,
    /// The folder `db`.
    pub db: &'a Path,
    /// The transactions that are there.
    pub txns: &'a [String],
}

impl Leftovers<'_> {
    /// The files that were left, sorted. One of a commit that is under way may be among them.
    ///
    /// # Errors
    /// System errors.
    pub fn list(&self) -> Result<Vec<Leftover>> {
        let mut all = Vec::new();
        for name in self.names_in(self.db)? {
            if name.ends_with(".tmp") {
                all.push(Leftover { path: name, txn: None });
            }
        }
        for name in self.names_in(&self.db.join(names::TXN_PROTOREVS))? {
            let txn = name.strip_suffix(".rev").or_else(|| name.strip_suffix(".rev-lock"));
            let is_free = |txn: &&str| !self.txns.iter().any(|known| known == txn);
            let Some(txn) = txn.filter(is_free) else { continue };
            let (txn, path) = (Some(txn.to_owned()), format!("{}/{name}", names::TXN_PROTOREVS));
            all.push(Leftover { path, txn });
        }
        all.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(all)
    }

    /// The names of the files in a folder, if it is there.
    fn names_in(&self, folder: &Path) -> Result<Vec<String>> {
        match self.storage.list(folder) {
            Ok(list) => Ok(list.into_iter().filter_map(|name| name.into_string().ok()).collect()),
            // Old formats keep them elsewhere. A user who may not look there cannot clear them either.
            Err(e) if matches!(e.kind(), ErrorKind::NotFound | ErrorKind::PermissionDenied) => {
                Ok(Vec::new())
            }
            Err(e) => Err(failed(&e, "Can't open directory", folder)),
        }
    }

    /// Removes files that are certainly unused. All locks of writers are held.
    ///
    /// # Errors
    /// System errors.
    pub fn clear(&self) -> Result<()> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).ok();
        let now = now.and_then(|now| i128::try_from(now.as_nanos()).ok());
        for leftover in self.list()? {
            let path = self.db.join(&leftover.path);
            let is_old = match (self.storage.stamp(&path), now) {
                (Ok(stamp), Some(now)) => now.checked_sub(stamp.modified) > Some(RESTING),
                _ => false,
            };
            if leftover.txn.is_some() && !is_old {
                continue;
            }
            match self.storage.remove_file(&path) {
                Err(e) if e.kind() == ErrorKind::NotFound => {}
                removed => removed.map_err(|e| failed(&e, "Can't remove file", &path))?,
            }
        }
        Ok(())
    }
}

fn failed(error: &std::io::Error, verb: &str, path: &Path) -> SvnError {
    SvnError::io(error, format_args!("{verb} '{}'", path.display()))
}
