//! What all transactions of one filesystem share: how to write, the numbers that name transactions, locks, and what was
//! read last.

use std::collections::{HashMap, HashSet};
use std::io::ErrorKind;
use std::sync::Arc;

use parking_lot::Mutex;
use sapwood_core::{ErrorCode, Revnum, Sha1, SvnError};
use sapwood_fs_common::rep_cache::{OpenRepCache, Row};
use sapwood_fsfs_format::base36::Base36;
use sapwood_fsx_format::Id;
use sapwood_fsx_format::layout::{Layout, names};
use sapwood_store::write::{lock_failure, lock_or_create};
use sapwood_store::{HeldLock, WriteStorage, uuid};

use super::engine::TxnNumber;
use super::source::CommittedNodes;
use crate::config::WriteConfig;
use crate::error::{Error, Result};
use crate::filesystem::{Filesystem, uuid_text};

/// How to write.
#[derive(Clone, Debug)]
pub struct WriteOptions {
    /// Whether a commit is made durable before it is reported.
    pub flush_to_disk: bool,
    /// How many transactions' numbers are taken from `txn-current` at once, at least 1; unused ones are lost, which does no
    /// harm.
    pub numbers_at_once: u64,
}

impl Default for WriteOptions {
    fn default() -> Self {
        Self { flush_to_disk: true, numbers_at_once: 1 }
    }
}

/// Writes to one filesystem.
#[derive(Debug)]
pub struct Writer {
    pub(crate) fs: Filesystem,
    pub(crate) storage: Arc<dyn WriteStorage>,
    pub(crate) config: WriteConfig,
    pub(crate) flush: bool,
    numbers_at_once: u64,
    /// Numbers of transactions that were taken: the next one, and the first that is not ours.
    numbers: Mutex<(u64, u64)>,
    pub(super) committed: Arc<CommittedNodes>,
    /// The open `rep-cache.db`.
    pub(super) rep_cache: Mutex<OpenRepCache>,
    pub(super) error_after_commit: Mutex<Option<SvnError>>,
    /// What a bulk commit adds to `rep-cache.db` when its revisions are there.
    pub(super) early_rows: Mutex<HashMap<Sha1, Row>>,
    /// When a bulk commit began in an empty filesystem: beginnings of the SHA-1 of all rows that there may be.
    pub(super) possible_rows: Mutex<Option<HashSet<u64>>>,
    /// How long chains of deltas are, and in how many shards, by their last representation.
    pub(super) chains: Mutex<HashMap<Id, (u64, u32)>>,
}

impl Writer {
    /// Prepares to write to `fs`; reads `fsx.conf`.
    ///
    /// # Errors
    /// E125008 and kin for options that make no sense; system errors.
    pub fn new(fs: &Filesystem, options: WriteOptions) -> Result<Arc<Self>> {
        Ok(Arc::new(Self {
            fs: fs.clone(),
            storage: Arc::clone(&fs.0.storage),
            config: WriteConfig::of(&fs.0)?,
            flush: options.flush_to_disk,
            numbers_at_once: options.numbers_at_once.max(1),
            numbers: Mutex::new((0, 0)),
            committed: Arc::new(CommittedNodes::new(fs)),
            rep_cache: Mutex::default(),
            error_after_commit: Mutex::default(),
            early_rows: Mutex::default(),
            possible_rows: Mutex::default(),
            chains: Mutex::default(),
        }))
    }

    /// The filesystem.
    #[must_use]
    pub const fn fs(&self) -> &Filesystem {
        &self.fs
    }

    /// How new data are stored.
    #[must_use]
    pub const fn config(&self) -> &WriteConfig {
        &self.config
    }

    /// Waits for a lock file, which is made when it is not there.
    pub(crate) fn lock(&self, name: &str) -> Result<Box<dyn HeldLock>> {
        let path = self.fs.0.file(name);
        lock_or_create(&*self.storage, &path).map_err(|error| {
            let sentence = lock_failure(&error, &path);
            Error::Svn(SvnError::io(&error, format_args!("{sentence}")))
        })
    }

    /// The number of a new transaction: one that none on disk has. `recover` begins again with them, also while servers have
    /// some that they took before.
    pub(super) fn next_number(&self) -> Result<TxnNumber> {
        let mut numbers = self.numbers.lock();
        loop {
            if numbers.0 >= numbers.1 {
                *numbers = self.take_numbers()?;
            }
            let number = numbers.0;
            numbers.0 = number.saturating_add(1);
            if !self.is_there(&Layout::txn_dir(number))?
                && !self.is_there(&Layout::proto_rev(number))?
            {
                return Ok(TxnNumber(number));
            }
        }
    }

    /// Whether something below `db` has this name.
    fn is_there(&self, name: &str) -> Result<bool> {
        let path = self.fs.0.file(name);
        match self.storage.stamp(&path) {
            Ok(_) => Ok(true),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
            Err(error) => Err(Error::io("Can't check path", &path, error)),
        }
    }

    /// Whether a transaction can begin without the lock of `txn-current`.
    pub(super) fn has_number(&self) -> bool {
        let numbers = self.numbers.lock();
        numbers.0 < numbers.1
    }

    /// Takes numbers out of `txn-current`: the first one, and the first one left in there.
    fn take_numbers(&self) -> Result<(u64, u64)> {
        let _lock = self.lock(names::TXN_CURRENT_LOCK)?;
        let path = self.fs.0.file(names::TXN_CURRENT);
        let bytes = self.storage.read(&path, 64);
        let bytes = bytes.map_err(|error| Error::io("Can't open file", &path, error))?;
        let first = sapwood_fsfs_format::current::parse_txn_current(&bytes);
        let first = first.map_err(|error| Error::Svn(error.into()))?;
        let end = first.saturating_add(self.numbers_at_once);
        self.replace(names::TXN_CURRENT, format!("{}\n", Base36(end)).as_bytes())?;
        Ok((first, end))
    }

    /// Replaces a small file below `db`, keeping its permissions.
    pub(crate) fn replace(&self, name: &str, contents: &[u8]) -> Result<()> {
        let path = self.fs.0.file(name);
        let done = self.storage.replace(&path, contents, Some(&path), self.flush);
        done.map_err(|error| Error::io("Can't write to file", &path, error))
    }

    /// Gives the repository another UUID, and this copy of it a new identity: a writer to the
    /// filesystem as it is then.
    ///
    /// # Errors
    /// E125008 when it is none; system errors.
    pub fn set_uuid(&self, uuid: &str) -> Result<Arc<Self>> {
        if !uuid::is_uuid(uuid) {
            return Err(Error::new(ErrorCode::BAD_UUID, format!("Malformed UUID '{uuid}'")));
        }
        let path = self.fs.0.file(names::UUID);
        let text = uuid_text(uuid).map_err(|error| Error::io("Can't read file", &path, error))?;
        self.replace(names::UUID, text.as_bytes())?;
        let caches = self.fs.0.cached.caches();
        let renewed = Filesystem::open_with(&self.fs.0.db, Arc::clone(&self.storage), caches)?;
        let options =
            WriteOptions { flush_to_disk: self.flush, numbers_at_once: self.numbers_at_once };
        Self::new(&renewed, options)
    }

    pub(super) fn shard_of(&self, revision: Revnum) -> u64 {
        self.fs.0.layout.0.shard(revision)
    }
}
