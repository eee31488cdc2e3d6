//! What all transactions of one filesystem in this process share: how to write, and the numbers
//! that name transactions.

use std::sync::Arc;

use parking_lot::Mutex;
use sapwood_core::{ErrorCode, Revnum, SvnError};
use sapwood_fsfs_format::TxnId;
use sapwood_fsfs_format::base36::{self, Base36};
use sapwood_fsfs_format::layout::names;
use sapwood_fsfs_format::since;

use super::Common;
use super::rep_batch::Batch;
use crate::config::{RevpropPackConfig, WriteConfig};
use crate::error::{Error, Result};
use crate::filesystem::Filesystem;
use crate::maintenance::uuid_text;
use sapwood_store::write::{HeldLock, WriteStorage};

/// How to write.
#[derive(Clone, Debug)]
pub struct WriteOptions {
    /// Whether a commit is made durable before it is reported.
    pub flush_to_disk: bool,
    /// How many transactions' numbers are taken from `txn-current` at once, at least 1. A process
    /// that begins thousands of them saves a write and two syncs for each; unused numbers are lost,
    /// which does no harm.
    pub numbers_at_once: u64,
    /// Whether rows for `rep-cache.db` are written by the thousand, and the database is read
    /// only for what it may have: for a process that commits many revisions one after the other.
    pub batch_reps: bool,
}

impl Default for WriteOptions {
    fn default() -> Self {
        Self { flush_to_disk: true, numbers_at_once: 1, batch_reps: false }
    }
}

/// Writes to one filesystem.
#[derive(Debug)]
pub struct Writer {
    pub(crate) fs: Filesystem,
    pub(crate) storage: Arc<dyn WriteStorage>,
    /// What all writers to the filesystem share.
    pub(super) common: Arc<Common>,
    pub(super) config: WriteConfig,
    /// How packs of revision properties are written.
    pub(super) revprop_packing: RevpropPackConfig,
    pub(crate) flush: bool,
    numbers_at_once: u64,
    pub(super) batch_reps: bool,
    /// Used by bulk writers only.
    pub(super) batch: Mutex<Batch>,
    pub(super) error_after_commit: Mutex<Option<SvnError>>,
}

/// Tries to find a free name for a transaction of format 1 or 2, as in the reference.
const NAME_TRIES: u64 = 99_999;

impl Writer {
    /// Prepares to write to `fs`; reads `fsfs.conf`, once for each opening of the filesystem.
    ///
    /// # Errors
    /// E125008 and kin for options that make no sense; system errors.
    pub fn new(fs: &Filesystem, options: WriteOptions) -> Result<Arc<Self>> {
        let number = fs.fs.layout.format.number;
        let (config, packing) = match fs.fs.write_config.get() {
            Some(known) => *known,
            None => {
                let config = fs.fs.shared.read_config(&*fs.fs.storage)?;
                let both =
                    (WriteConfig::new(&config, number)?, RevpropPackConfig::new(&config, number)?);
                *fs.fs.write_config.get_or_init(|| both)
            }
        };
        Ok(Arc::new(Self {
            fs: fs.clone(),
            common: fs.fs.shared.extension()?,
            config,
            revprop_packing: packing,
            storage: Arc::clone(&fs.fs.storage),
            flush: options.flush_to_disk,
            numbers_at_once: options.numbers_at_once.max(1),
            batch_reps: options.batch_reps,
            batch: Mutex::default(),
            error_after_commit: Mutex::default(),
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

    /// Waits for a lock file.
    pub(crate) fn lock(&self, name: &str) -> Result<Box<dyn HeldLock>> {
        self.fs.fs.lock_file(&*self.storage, name)
    }

    /// A name for a new transaction based on `base`. In formats 1 and 2 its folder is made with
    /// it, because only that keeps names apart; whether it was.
    pub(super) fn new_id(&self, base: Revnum) -> Result<(TxnId, bool)> {
        if self.fs.fs.layout.format.number >= since::LAYOUT {
            return Ok((TxnId { base, number: self.next_number()? }, false));
        }
        for attempt in 1..=NAME_TRIES {
            // The names are decimal there, and read as base 36.
            let Some(number) = base36::parse(attempt.to_string().as_bytes()) else { continue };
            let id = TxnId { base, number };
            let path = self.fs.fs.file(&self.fs.fs.layout.txn_dir(&id));
            match self.storage.create_dir(&path, false) {
                Ok(()) => return Ok((id, true)),
                Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => {}
                Err(e) => return Err(Error::io(e, "Can't create directory", &path)),
            }
        }
        Err(Error::new(
            ErrorCode::IO_UNIQUE_NAMES_EXHAUSTED,
            format!(
                "Unable to create transaction directory in '{}' for revision {base}",
                self.fs.path().display()
            ),
        ))
    }

    /// Whether a transaction can begin without taking numbers from `txn-current`.
    pub(super) fn has_number(&self) -> bool {
        let numbers = self.fs.fs.txn_numbers.lock();
        numbers.0 < numbers.1 || self.fs.fs.layout.format.number < since::LAYOUT
    }

    fn next_number(&self) -> Result<u64> {
        let mut numbers = self.fs.fs.txn_numbers.lock();
        if numbers.0 >= numbers.1 {
            *numbers = self.take_numbers()?;
        }
        let number = numbers.0;
        numbers.0 = number.saturating_add(1);
        Ok(number)
    }

    /// Takes numbers out of `txn-current`: the first one, and the first one left in there.
    fn take_numbers(&self) -> Result<(u64, u64)> {
        let _lock = self.lock(names::TXN_CURRENT_LOCK)?;
        let path = self.fs.fs.file(names::TXN_CURRENT);
        let bytes =
            self.storage.read(&path, 64).map_err(|e| Error::io(e, "Can't open file", &path))?;
        let first = sapwood_fsfs_format::current::parse_txn_current(&bytes)
            .map_err(|error| Error::File { path: path.clone(), error })?;
        let end = first.saturating_add(self.numbers_at_once);
        let next = format!("{}\n", Base36(end));
        let done = self.storage.replace(&path, next.as_bytes(), Some(&path), self.flush);
        done.map_err(|e| Error::replacing(e, &path))?;
        Ok((first, end))
    }

    /// Gives the repository another UUID, and this copy of it a new identity: a writer to the
    /// filesystem as it is then.
    ///
    /// # Errors
    /// E125008 when it is none; system errors.
    pub fn set_uuid(&self, uuid: &str) -> Result<Arc<Self>> {
        if !crate::uuid::is_uuid(uuid) {
            return Err(Error::new(ErrorCode::BAD_UUID, format!("Malformed UUID '{uuid}'")));
        }
        let path = self.fs.fs.file(names::UUID);
        let contents = uuid_text(uuid, self.fs.fs.layout.format.number, &path)?;
        let like = self.fs.fs.file(names::CURRENT);
        match self.fs.fs.revisions.as_log() {
            Some(log) => log.replace_file(&path, contents.as_bytes())?,
            None => {
                let done =
                    self.storage.replace(&path, contents.as_bytes(), Some(&like), self.flush);
                done.map_err(|e| Error::replacing(e, &path))?;
            }
        }
        let renewed = self.fs.opened_anew(&self.fs.fs.caches)?;
        let options = WriteOptions {
            flush_to_disk: self.flush,
            numbers_at_once: self.numbers_at_once,
            batch_reps: self.batch_reps,
        };
        Self::new(&renewed, options)
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        if self.batch_reps {
            self.flush_reps();
        }
    }
}
