//! Copying a filesystem that may be in use.
//!
//! The source is not locked: revisions never change, and what does is replaced whole. `current` is
//! read first, and what comes after it is left out. When a shard is packed under our feet, its
//! pack is copied instead; packed revision properties are copied again until the manifest and the
//! files that it names belong together.
//!
//! A new copy is no filesystem before its `format` file is written, which is the last step; just
//! before come the files that the reference would make anew when it takes up a copy that was
//! stopped. An incremental one holds all locks of the destination, whose readers go on: what they
//! may look at is only replaced whole, and the order of steps is
//!
//! 1. packs that the destination does not have, everything newer than its `current` (whatever of it
//!    an interrupted run left behind is not trusted), properties and locks that have changed: what
//!    is replaced is durable before it gets its name;
//! 2. everything else is made durable, then `min-unpacked-rev` and `current` are replaced, at once
//!    where one without the other would be wrong ([`Copier::publish`]), and then the rep-cache, so that none
//!    of its rows names a revision that is not there;
//! 3. files of revisions that are now packed are removed.

mod files;

use std::path::Path;

use sapwood_core::{CancelToken, Revnum};
use sapwood_fs_common::hotcopy::{Copier, CopyError, Extent, Kind, NewState, Order};
use sapwood_fsfs_format::current::Current;
use sapwood_fsfs_format::layout::names;
use sapwood_fsfs_format::since;
use sapwood_store::Caches;

pub use sapwood_fs_common::hotcopy::HotcopyOptions;

use self::files::Revisions;
use crate::error::{Error, Result};
use crate::filesystem::{Filesystem, SharedState};
use crate::maintenance::{rep_cache_schema, uuid_text};

/// The longest `txn-current` that is copied.
const SMALL: usize = 256;

/// Revisions that a pack file holds, or one, were copied: the first and the last.
pub type Notify<'a> = &'a mut dyn FnMut(Revnum, Revnum) -> Result<()>;

impl From<CopyError> for Error {
    fn from(error: CopyError) -> Self {
        match error {
            CopyError::Io { what, error } => Self::Io { what, error },
            CopyError::Svn(error) => Self::Svn(error),
        }
    }
}

/// The other way: a missing file stays one.
fn copy_error(error: Error) -> CopyError {
    match error {
        Error::Io { what, error } => CopyError::Io { what, error },
        error => CopyError::Svn(error.into()),
    }
}

impl Filesystem {
    /// Copies this filesystem to the folder `to` (a `db` folder, which must exist).
    ///
    /// # Errors
    /// E200007 and kin for a destination that is no earlier copy of this; system errors.
    pub fn hotcopy(
        &self,
        to: &Path,
        options: &HotcopyOptions,
        cancel: &CancelToken,
        notify: Notify<'_>,
    ) -> Result<()> {
        self.require_local("hotcopy")?;
        let source = &*self.fs.shared;
        let storage = &*source.storage;
        let copier = Copier { storage, from: &source.path, to, options, cancel, known: None };
        let incremental = copier.follows_earlier_copy(names::FORMAT)?;
        let mut copy = Hotcopy { source, copier, current: source.revisions.youngest()? };
        if !incremental {
            copy.make_folders()?;
            copy.config(false)?;
            return copy.run(notify);
        }
        let opened = Self::open(to, &Caches::new(1 << 20), &source.same_storage())?;
        opened.require_local("hotcopy")?;
        let target = &opened.fs.shared;
        source.kind().check(&target.kind())?;
        let _locks = target.lock_all(storage)?;
        // Nothing of it is looked at before it is what it says.
        copier.sync()?;
        copy.copier.known = Some(target.extent()?);
        copy.config(false)?;
        copy.current = source.revisions.youngest()?;
        let from =
            Extent { youngest: copy.current.youngest, unpacked: source.refresh_min_unpacked()? };
        from.check(&target.extent()?)?;
        copy.run(notify)
    }
}

impl SharedState {
    fn kind(&self) -> Kind<'_> {
        let format = self.layout.format;
        Kind {
            engine: "FSFS",
            format: format.number,
            uuid: &self.uuid,
            shard_size: format.shard_size,
        }
    }

    fn extent(&self) -> Result<Extent> {
        Ok(Extent { youngest: self.refresh_youngest()?, unpacked: self.refresh_min_unpacked()? })
    }
}

/// One run.
struct Hotcopy<'a> {
    source: &'a SharedState,
    copier: Copier<'a>,
    /// What `current` says that is copied.
    current: Current,
}

impl Hotcopy<'_> {
    fn format(&self) -> u32 {
        self.source.layout.format.number
    }

    /// The folders of a new copy, and its UUID.
    fn make_folders(&self) -> Result<()> {
        for top in [names::REVS, names::REVPROPS, names::TRANSACTIONS] {
            self.copier.make_dir(&self.copier.target(top))?;
        }
        if self.format() >= since::LAYOUT {
            self.copier.make_dir(&self.copier.target(names::TXN_PROTOREVS))?;
        }
        let path = self.copier.target(names::UUID);
        let uuid = uuid_text(&self.source.uuid, self.format(), &path)?;
        Ok(self.copier.replace(&path, uuid.as_bytes(), &self.source.file(names::CURRENT))?)
    }

    /// What a new copy gets only now: the reference, which takes up a copy that was stopped, makes
    /// these files itself and fails if they are there.
    fn last_files(&self) -> Result<()> {
        self.config(true)?;
        if self.format() >= since::LAYOUT {
            let from = self.source.file(names::TXN_CURRENT);
            let next = self.copier.storage.read(&from, SMALL);
            let next = next.map_err(|e| Error::io(e, "Can't open file", &from))?;
            self.copier.replace(&self.copier.target(names::TXN_CURRENT), &next, &from)?;
        }
        for (name, first) in [(names::WRITE_LOCK, 1), (names::TXN_CURRENT_LOCK, since::LAYOUT)] {
            if self.format() >= first {
                let path = self.copier.target(name);
                let made = self.copier.storage.create_over(&path);
                made.map_err(|e| Error::io(e, "Can't create file", &path))?;
            }
        }
        Ok(())
    }

    fn config(&self, last: bool) -> Result<()> {
        match self.format() >= since::PACKING {
            true => Ok(self.copier.config(names::CONFIG, last)?),
            false => Ok(()),
        }
    }

    fn run(&mut self, notify: Notify<'_>) -> Result<()> {
        // Readers of a copy that is in use see new revisions only when they are published: they are
        // reported at the end.
        let mut published = Vec::new();
        let copier = self.copier;
        let (files, youngest) = (Revisions(self.source), self.current.youngest);
        let packed = if copier.in_use() {
            copier.revisions::<Error>(&files, youngest, &mut |first, last| {
                published.push((first, last));
                Ok(())
            })?
        } else {
            copier.revisions(&files, youngest, notify)?
        };
        // What was committed and packed meanwhile came with the pack.
        self.current.youngest = self.current.youngest.max(Revnum(packed.0.saturating_sub(1)));
        self.node_origins()?;
        if self.copier.in_use() && self.format() >= since::LAYOUT {
            let from = self.source.file(names::TXN_CURRENT);
            self.copier.renew_copy(&from, &self.copier.target(names::TXN_CURRENT))?;
        }
        copier.locks()?;
        // Without it, and with a format, it would be taken for one of Berkeley DB.
        let fs_type = self.copier.target(names::FS_TYPE);
        self.copier.renew(&fs_type, b"fsfs\n", &self.source.file(names::FS_TYPE))?;
        if !self.copier.in_use() {
            self.remove_packed(packed)?;
            self.rep_cache()?;
        }
        let mut current = Vec::new();
        self.current.write(&mut current);
        let has_packs = self.format() >= since::PACKING;
        copier.publish(NewState { packed, has_packs, current: &current })?;
        if self.copier.in_use() {
            // Not before: a row of a revision that is not there yet would make the copy a broken
            // one if we were stopped. Rows that are missing only cost some sharing.
            self.rep_cache()?;
            self.remove_packed(packed)?;
        } else {
            self.last_files()?;
        }
        let mut format = Vec::new();
        self.source.layout.format.write(&mut format);
        self.copier.renew(
            &self.copier.target(names::FORMAT),
            &format,
            &self.source.file(names::FORMAT),
        )?;
        published.into_iter().try_for_each(|(first, last)| notify(first, last))
    }

    fn node_origins(&self) -> Result<()> {
        let origins = self.source.file(names::NODE_ORIGINS);
        if self.copier.storage.stamp(&origins).is_ok() {
            let to = self.copier.target(names::NODE_ORIGINS);
            if !self.copier.in_use() {
                // What a run that was stopped left.
                self.copier.remove_tree(&to)?;
            }
            let order = if self.copier.in_use() { Order::InUse } else { Order::Any };
            self.copier.copy_dir(&origins, &to, order)?;
        }
        Ok(())
    }

    fn rep_cache(&self) -> Result<()> {
        let format = self.format();
        if format < since::PACKING {
            return Ok(());
        }
        let counter = if format >= since::LAYOUT { names::TXN_CURRENT } else { names::UUID };
        Ok(self.copier.rep_cache(self.current.youngest, rep_cache_schema(format), counter)?)
    }

    /// Removes files that the packs of the destination replace.
    fn remove_packed(&self, packed: Revnum) -> Result<()> {
        let Some(size) = self.source.layout.format.shard_size else { return Ok(()) };
        let layout = &self.source.layout;
        for shard in 0..packed.0.checked_div(size).unwrap_or(0) {
            let first = Revnum(shard.saturating_mul(size));
            let file = self.copier.target(&layout.rev_file(first));
            if let Some(dir) = file.parent() {
                self.copier.remove_tree(dir)?;
            }
            if self.format() < since::REVPROP_PACKING {
                continue;
            }
            if shard > 0 {
                self.copier.remove_tree(&self.copier.target(&layout.revprops_dir(first)))?;
                continue;
            }
            let dir = self.copier.target(&layout.revprops_dir(first));
            let kept = std::ffi::OsStr::new("0");
            let names = match self.copier.storage.list(&dir) {
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
                listed => listed.map_err(|e| Error::io(e, "Can't open directory", &dir))?,
            };
            for name in names {
                if name != kept {
                    self.copier.remove(&dir.join(name))?;
                }
            }
        }
        Ok(())
    }
}
