//! Commits over http in progress, found by name by each request.
//!
//! A commit lives in memory (large ones in their transaction's files). It ends when it is merged or
//! deleted, or after a day without a request for it. When there are too many, the one that was idle
//! longest is aborted, if it was idle long enough. An aborted commit leaves nothing behind.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::{Mutex, MutexGuard};
use sapwood_core::{ErrorCode, SvnError, SvnResult};
use sapwood_repos::TxnEditor;

use super::settings::HttpSettings;

/// A commit with a request so recently is not aborted to make room for others.
const FRESH: Duration = Duration::from_secs(60);

/// The names of a commit, of three kinds.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Name {
    /// The transaction's own.
    Txn(String),
    /// One that the client chose, for HTTPv2.
    Virtual(String),
    /// One that the client chose, for DeltaV.
    Activity(String),
}

impl std::fmt::Display for Name {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (Self::Txn(name) | Self::Virtual(name) | Self::Activity(name)) = self;
        f.write_str(name)
    }
}

/// A commit; `None` once it has ended.
#[derive(Clone, Debug)]
pub struct OpenTxn(Arc<Mutex<Option<TxnEditor>>>);

/// The commit while a request works on it. Others for the same commit wait.
#[derive(Debug)]
pub struct LockedTxn<'a>(MutexGuard<'a, Option<TxnEditor>>);

#[derive(Debug)]
struct Entry {
    txn: OpenTxn,
    used: Instant,
}

/// The name that clients get of a transaction of the server with this tag.
fn tagged(name: &str, tag: Option<&str>) -> String {
    match tag {
        Some(tag) => format!("{name}.{tag}"),
        None => name.to_owned(),
    }
}

/// All commits in progress.
#[derive(Debug, Default)]
pub struct OpenTxns {
    open: Mutex<HashMap<(PathBuf, Name), Entry>>,
}

fn not_found(name: &Name) -> SvnError {
    match name {
        Name::Txn(name) => SvnError::new(
            ErrorCode::FS_NO_SUCH_TRANSACTION,
            format!("No transaction named '{name}'"),
        ),
        Name::Virtual(name) | Name::Activity(name) => SvnError::new(
            ErrorCode::APMOD_ACTIVITY_NOT_FOUND,
            format!("The activity or transaction '{name}' could not be found."),
        ),
    }
}

impl OpenTxn {
    /// Takes the commit for this request.
    #[must_use]
    pub fn lock(&self) -> LockedTxn<'_> {
        LockedTxn(self.0.lock())
    }

    /// Whether it was committed or aborted.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.0.lock().is_none()
    }
}

impl LockedTxn<'_> {
    /// The commit.
    ///
    /// # Errors
    /// E160007 when it has ended.
    pub fn editor(&mut self) -> SvnResult<&mut TxnEditor> {
        self.0.as_mut().ok_or_else(over)
    }

    /// The commit, for reading.
    ///
    /// # Errors
    /// E160007 when it has ended.
    pub fn look(&self) -> SvnResult<&TxnEditor> {
        self.0.as_ref().ok_or_else(over)
    }

    /// Takes the commit out, to end it.
    ///
    /// # Errors
    /// E160007 when it has ended.
    pub fn take(&mut self) -> SvnResult<TxnEditor> {
        self.0.take().ok_or_else(over)
    }
}

fn over() -> SvnError {
    SvnError::new(ErrorCode::FS_NO_SUCH_TRANSACTION, "The transaction is over")
}

impl OpenTxns {
    /// Stores a new commit under its transaction's name, with the tag of this server if it has one, and under another one if there is
    /// one. Returns the name for its client.
    ///
    /// # Errors
    /// E160000 when there are too many commits.
    pub fn keep(
        &self,
        repository: &Path,
        editor: TxnEditor,
        other: Option<Name>,
        settings: &HttpSettings,
        tag: Option<&str>,
    ) -> SvnResult<String> {
        let shown = tagged(&editor.name(), tag);
        let name = Name::Txn(shown.clone());
        let txn = OpenTxn(Arc::new(Mutex::new(Some(editor))));
        let now = Instant::now();
        let mut open = self.open.lock();
        let mut ended = Vec::new();
        let idle = settings.transaction_idle;
        open.retain(|_, entry| {
            let keep = now.duration_since(entry.used) < idle;
            if !keep {
                ended.push(entry.txn.clone());
            }
            keep
        });
        // Each may have two names.
        if open.len() >= settings.transactions.saturating_mul(2) {
            let oldest = open
                .iter()
                .filter(|(_, entry)| now.duration_since(entry.used) >= FRESH)
                .min_by_key(|(_, entry)| entry.used)
                .map(|(key, _)| key.clone());
            match oldest.and_then(|key| open.remove(&key)) {
                Some(entry) => ended.push(entry.txn),
                None => {
                    return Err(SvnError::new(
                        ErrorCode::FS_GENERAL,
                        "Too many commits are under way; try again later",
                    ));
                }
            }
        }
        for name in other.into_iter().chain([name]) {
            let entry = Entry { txn: txn.clone(), used: now };
            open.insert((repository.to_owned(), name), entry);
        }
        drop(open);
        // Aborting may have to remove files.
        ended.iter().for_each(|txn| drop(txn.lock().0.take()));
        Ok(shown)
    }

    /// How many there are.
    #[must_use]
    pub fn count(&self) -> usize {
        let open = self.open.lock();
        open.keys().filter(|(_, name)| matches!(name, Name::Txn(_))).count()
    }

    /// Whether there was a request for any of them within this time.
    #[must_use]
    pub(crate) fn was_used_within(&self, time: Duration) -> bool {
        let open = self.open.lock();
        open.iter()
            .any(|((_, name), entry)| matches!(name, Name::Txn(_)) && entry.used.elapsed() < time)
    }

    /// The commit of a name.
    ///
    /// # Errors
    /// E160007 or E190002 when there is none.
    pub fn get(&self, repository: &Path, name: &Name) -> SvnResult<OpenTxn> {
        let mut open = self.open.lock();
        match open.get_mut(&(repository.to_owned(), name.clone())) {
            Some(entry) => {
                entry.used = Instant::now();
                Ok(entry.txn.clone())
            }
            None => Err(not_found(name)),
        }
    }

    /// Notes that a commit has ended: removes all its names except that of an activity, which its
    /// client deletes.
    pub(crate) fn forget_finished(&self, txn: &OpenTxn) {
        self.open.lock().retain(|(_, name), entry| {
            matches!(name, Name::Activity(_)) || !Arc::ptr_eq(&entry.txn.0, &txn.0)
        });
    }

    /// Removes all names of a commit.
    pub fn forget(&self, txn: &OpenTxn) {
        self.open.lock().retain(|_, entry| !Arc::ptr_eq(&entry.txn.0, &txn.0));
    }
}
