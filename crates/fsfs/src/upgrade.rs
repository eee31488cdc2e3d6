//! Bringing a filesystem to the newest format, changing as little as that takes: layout and
//! addressing stay, and no revision is rewritten.
//!
//! The steps are the reference's, under all locks: what newer formats have besides is added first
//! (older programs do not look at it), then the `format` file is replaced, which is the one moment
//! at which the filesystem changes; then what only older formats look at is removed. Run again
//! after a crash, it finds what is there already.

use std::io::ErrorKind;

use sapwood_core::{CancelToken, ErrorCode};
use sapwood_fsfs_format::FormatFile;
use sapwood_fsfs_format::layout::names;
use sapwood_fsfs_format::since;

use crate::config::RevpropPackConfig;
use crate::create::CONFIG;
use crate::dump_index::check;
use crate::error::{Error, Result};
use crate::filesystem::{Filesystem, SharedState};
use crate::maintenance::MaintenanceOptions;

/// What happens while upgrading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UpgradeNotice {
    /// The revision properties of a shard were packed.
    PackedRevprops(u64),
    /// The filesystem has this format now.
    Bumped(u32),
    /// The unpacked revision properties of a shard were removed.
    RemovedRevprops(u64),
}

impl Filesystem {
    /// Upgrades to the newest format. This value still is what it was opened as: open it anew.
    ///
    /// # Errors
    /// System errors; corruption.
    pub fn upgrade(
        &self,
        options: &MaintenanceOptions,
        cancel: &CancelToken,
        notify: &mut dyn FnMut(UpgradeNotice) -> Result<()>,
    ) -> Result<()> {
        let shared = &self.fs.shared;
        let storage = &*shared.storage;
        self.require_local("upgrade")?;
        let _locks = shared.lock_all(storage)?;
        let path = shared.file(names::CONFIG);
        if storage.list(&path).is_ok() {
            return Err(Error::new(
                ErrorCode::FS_GENERAL,
                format!(
                    "'{}' is not a regular file. Please move it out of the way and try again",
                    path.display()
                ),
            ));
        }
        shared.add_file(options, names::CONFIG, CONFIG.as_bytes())?;
        // Read again: another process may have upgraded while we waited.
        let format = shared.read_format()?;
        if format.number == since::YOUNGEST {
            return Ok(());
        }
        self.add_files_since(options, format.number)?;
        let packed = match format.shard_size {
            Some(size) if (since::PACKING..since::REVPROP_PACKING).contains(&format.number) => {
                shared.refresh_min_unpacked()?.0.checked_div(size).unwrap_or(0)
            }
            _ => 0,
        };
        let config = RevpropPackConfig::new(&shared.read_config(storage)?, format.number)?;
        for shard in 0..packed {
            check(cancel)?;
            shared.pack_revprops(storage, shard, config, options.flush_to_disk)?;
            notify(UpgradeNotice::PackedRevprops(shard))?;
        }
        if options.flush_to_disk {
            let done = storage.sync_dir(&shared.path);
            done.map_err(|e| Error::io(e, "Can't flush directory", &shared.path))?;
        }
        shared.renew_instance(options, since::YOUNGEST)?;
        let mut text = Vec::new();
        FormatFile { number: since::YOUNGEST, ..format }.write(&mut text);
        let path = shared.file(names::FORMAT);
        let like = if storage.stamp(&path).is_ok() { &path } else { &shared.file(names::UUID) };
        options.replace(storage, &path, &text, like)?;
        notify(UpgradeNotice::Bumped(since::YOUNGEST))?;
        for shard in 0..packed {
            shared.remove_unpacked_revprops(storage, shard, false)?;
            notify(UpgradeNotice::RemovedRevprops(shard))?;
        }
        Ok(())
    }

    /// Makes the files that filesystems of an older format do not have.
    fn add_files_since(&self, options: &MaintenanceOptions, format: u32) -> Result<()> {
        let shared = &self.fs.shared;
        if format < since::LAYOUT {
            shared.add_file(options, names::TXN_CURRENT, b"0\n")?;
            shared.add_file(options, names::TXN_CURRENT_LOCK, b"")?;
            let dir = shared.file(names::TXN_PROTOREVS);
            match shared.storage.create_dir(&dir, false) {
                Err(e) if e.kind() == ErrorKind::AlreadyExists => {}
                made => made.map_err(|e| Error::io(e, "Can't create directory", &dir))?,
            }
        }
        if format < since::PACKING {
            shared.add_file(options, names::MIN_UNPACKED_REV, b"0\n")?;
        }
        Ok(())
    }
}

impl SharedState {
    /// Adds a small file, unless it is there.
    fn add_file(&self, options: &MaintenanceOptions, name: &str, contents: &[u8]) -> Result<()> {
        let path = self.file(name);
        match self.storage.stamp(&path) {
            // What an interrupted run left may be empty.
            Ok(stamp) if stamp.len > 0 || contents.is_empty() => Ok(()),
            Err(e) if e.kind() != ErrorKind::NotFound => {
                Err(Error::io(e, "Can't check path", &path))
            }
            _ => options.replace(&*self.storage, &path, contents, &self.file(names::CURRENT)),
        }
    }

    fn read_format(&self) -> Result<FormatFile> {
        let path = self.file(names::FORMAT);
        match self.storage.read(&path, 4096) {
            Ok(bytes) => {
                FormatFile::parse(&bytes, &path.to_string_lossy()).map_err(|e| Error::Svn(e.into()))
            }
            Err(e) if e.kind() == ErrorKind::NotFound => Ok(FormatFile::MISSING),
            Err(e) => Err(Error::io(e, "Can't open file", &path)),
        }
    }
}
