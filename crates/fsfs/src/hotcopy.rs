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
//!    where one without the other would be wrong ([`publish`]), and then the rep-cache, so that none
//!    of its rows names a revision that is not there;
//! 3. files of revisions that are now packed are removed.

mod files;
mod publish;

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use sapwood_core::{CancelToken, ErrorCode, Revnum, SvnError};
use sapwood_fsfs_format::layout::{names, since};

use self::files::Order;
use crate::dump_index::check;
use crate::error::{Error, Result};
use crate::filesystem::{Filesystem, SharedState};
use crate::maintenance::rep_cache_schema;
use crate::maintenance::uuid_text;
use crate::revprop_pack::remove_dir_all;
use sapwood_fs_common::rep_cache::RepCache;
use sapwood_store::Caches;
use sapwood_store::write::WriteStorage;

/// How to copy.
#[derive(Clone, Debug)]
pub struct HotcopyOptions {
    /// Whether the copy is made durable before it counts.
    pub flush_to_disk: bool,
    /// Copy only what an earlier copy lacks.
    pub incremental: bool,
    /// Whether files are copied by two threads.
    pub threads: bool,
}

impl Default for HotcopyOptions {
    fn default() -> Self {
        Self { flush_to_disk: true, incremental: false, threads: true }
    }
}

/// The longest `txn-current` that is copied.
const SMALL: usize = 256;

/// Revisions that a pack file holds, or one, were copied: the first and the last.
pub type Notify<'a> = &'a mut dyn FnMut(Revnum, Revnum) -> Result<()>;

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
        let source = &*self.fs.shared;
        let storage = &*source.storage;
        let incremental = options.incremental
            && match storage.stamp(&to.join(names::FORMAT)) {
                Ok(_) => true,
                Err(e) if e.kind() == ErrorKind::NotFound => false,
                Err(e) => return Err(Error::io(e, "Can't check path", &to.join(names::FORMAT))),
            };
        let mut target = None;
        let mut _locks = Vec::new();
        if incremental {
            let opened = Self::open(to, &Caches::new(1 << 20), &source.same_storage())?;
            check_destination(source, &opened.fs.shared)?;
            _locks = opened.fs.shared.lock_all(storage)?;
            target = Some(opened);
        }
        let mut copy = Hotcopy {
            source,
            to,
            options,
            cancel,
            in_use: target.is_some(),
            youngest: Revnum::ZERO,
            next_ids: None,
            known: None,
            known_unpacked: Revnum::ZERO,
        };
        if target.is_none() {
            copy.make_folders()?;
        }
        copy.config(false)?;
        copy.read_current()?;
        if let Some(target) = &target {
            copy.sync()?;
            let known = target.fs.shared.refresh_youngest()?;
            if copy.youngest < known {
                return Err(Error::new(
                    ErrorCode::UNSUPPORTED_FEATURE,
                    format!(
                        "The hotcopy destination already contains more revisions ({known}) than \
                         the hotcopy source contains ({}); are source and destination swapped?",
                        copy.youngest
                    ),
                ));
            }
            copy.known = Some(known);
            copy.known_unpacked = target.fs.shared.refresh_min_unpacked()?;
            let unpacked = source.refresh_min_unpacked()?;
            if unpacked < copy.known_unpacked {
                return Err(Error::new(
                    ErrorCode::UNSUPPORTED_FEATURE,
                    format!(
                        "The hotcopy destination already contains more packed revisions ({}) than \
                         the hotcopy source contains ({})",
                        copy.known_unpacked.0.wrapping_sub(1),
                        unpacked.0.wrapping_sub(1).cast_signed(),
                    ),
                ));
            }
        }
        copy.run(notify)
    }
}

/// An incremental copy goes only to what was made as a copy of the same filesystem.
fn check_destination(source: &SharedState, target: &SharedState) -> Result<()> {
    let unsupported = |text: String| Err(Error::new(ErrorCode::UNSUPPORTED_FEATURE, text));
    let (from, to) = (source.layout.format, target.layout.format);
    if from.number != to.number {
        return unsupported(format!(
            "The FSFS format ({}) of the hotcopy source does not match the FSFS format ({}) of \
             the hotcopy destination; please upgrade both repositories to the same format",
            from.number, to.number
        ));
    }
    if source.uuid != target.uuid {
        return Err(Error::new(
            ErrorCode::RA_UUID_MISMATCH,
            "The UUID of the hotcopy source does not match the UUID of the hotcopy destination",
        ));
    }
    if from.shard_size != to.shard_size {
        return unsupported(
            "The sharding layout configuration of the hotcopy source does not match the sharding \
             layout configuration of the hotcopy destination"
                .into(),
        );
    }
    Ok(())
}

/// One run.
struct Hotcopy<'a> {
    source: &'a SharedState,
    to: &'a Path,
    options: &'a HotcopyOptions,
    cancel: &'a CancelToken,
    /// Whether the destination is a filesystem already.
    in_use: bool,
    /// The youngest revision to copy.
    youngest: Revnum,
    /// The counters of old formats.
    next_ids: Option<(u64, u64)>,
    /// The youngest revision that the destination has; `None` when it is new.
    known: Option<Revnum>,
    /// The first revision that is not packed in the destination.
    known_unpacked: Revnum,
}

impl Hotcopy<'_> {
    fn storage(&self) -> &dyn WriteStorage {
        &*self.source.storage
    }

    fn format(&self) -> u32 {
        self.source.layout.format.number
    }

    fn target(&self, name: &str) -> PathBuf {
        self.to.join(name)
    }

    /// The folders of a new copy, and its UUID.
    fn make_folders(&self) -> Result<()> {
        for top in [names::REVS, names::REVPROPS, names::TRANSACTIONS] {
            self.make_dir(&self.target(top))?;
        }
        if self.format() >= since::LAYOUT {
            self.make_dir(&self.target(names::TXN_PROTOREVS))?;
        }
        let path = self.target(names::UUID);
        let uuid = uuid_text(&self.source.uuid, self.format(), &path)?;
        self.replace(&path, uuid.as_bytes(), &self.source.file(names::CURRENT))
    }

    /// What a new copy gets only now: the reference, which takes up a copy that was stopped, makes
    /// these files itself and fails if they are there.
    fn last_files(&self) -> Result<()> {
        self.config(true)?;
        if self.format() >= since::LAYOUT {
            let from = self.source.file(names::TXN_CURRENT);
            let next = self.storage().read(&from, SMALL);
            let next = next.map_err(|e| Error::io(e, "Can't open file", &from))?;
            self.replace(&self.target(names::TXN_CURRENT), &next, &from)?;
        }
        for (name, first) in [(names::WRITE_LOCK, 1), (names::TXN_CURRENT_LOCK, since::LAYOUT)] {
            if self.format() >= first {
                let path = self.target(name);
                let made = self.storage().create_over(&path);
                made.map_err(|e| Error::io(e, "Can't create file", &path))?;
            }
        }
        Ok(())
    }

    /// `fsfs.conf`, first of all: if it is missing, that is reported before the work. A new copy gets it
    /// at the `last`.
    fn config(&self, last: bool) -> Result<()> {
        if self.format() < since::PACKING {
            return Ok(());
        }
        let (from, to) = (self.source.file(names::CONFIG), self.target(names::CONFIG));
        let done = if self.in_use || last {
            self.copy_whole(&from, &to, self.options.flush_to_disk)
        } else {
            let there = self.storage().stamp(&from).map(drop);
            there.map_err(|e| Error::io(e, "Can't open file", &from))
        };
        done.map_err(|error| match &error {
            Error::Io { error: io, .. } if io.kind() == ErrorKind::NotFound => {
                let parent = |path: &Path| {
                    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
                    path.parent().unwrap_or(&path).display().to_string()
                };
                let (to, source) = (parent(self.to), parent(&self.source.path));
                Error::Svn(SvnError::from(error).context(format!(
                    "Failed to create hotcopy at '{to}'. The file '{}' is missing from the source \
                     repository. Please create this file, for instance by running 'svnadmin \
                     upgrade {source}'",
                    from.display()
                )))
            }
            _ => error,
        })
    }

    fn read_current(&mut self) -> Result<()> {
        let current = self.source.revisions.youngest()?;
        self.youngest = current.youngest;
        self.next_ids = current.next_ids;
        Ok(())
    }

    fn run(&mut self, notify: Notify<'_>) -> Result<()> {
        // Readers of a copy that is in use see new revisions only when they are published: they are
        // reported at the end.
        let mut published = Vec::new();
        let packed = if self.in_use {
            self.revisions(&mut |first, last| {
                published.push((first, last));
                Ok(())
            })?
        } else {
            self.revisions(notify)?
        };
        // What was committed and packed meanwhile came with the pack.
        self.youngest = self.youngest.max(Revnum(packed.0.saturating_sub(1)));
        self.node_origins()?;
        if self.in_use && self.format() >= since::LAYOUT {
            let from = self.source.file(names::TXN_CURRENT);
            self.copy_over(&from, &self.target(names::TXN_CURRENT))?;
        }
        self.locks()?;
        // Without it, and with a format, it would be taken for one of Berkeley DB.
        let fs_type = self.target(names::FS_TYPE);
        self.replace(&fs_type, b"fsfs\n", &self.source.file(names::FS_TYPE))?;
        if !self.in_use {
            self.remove_packed(packed)?;
            self.rep_cache()?;
        }
        self.publish(packed)?;
        if self.in_use {
            // Not before: a row of a revision that is not there yet would make the copy a broken
            // one if we were stopped. Rows that are missing only cost some sharing.
            self.rep_cache()?;
            self.remove_packed(packed)?;
        } else {
            self.last_files()?;
        }
        let mut format = Vec::new();
        self.source.layout.format.write(&mut format);
        self.replace(&self.target(names::FORMAT), &format, &self.source.file(names::FORMAT))?;
        published.into_iter().try_for_each(|(first, last)| notify(first, last))
    }

    /// Copies all revisions with their properties: the first that is not packed in the copy.
    fn revisions(&self, notify: Notify<'_>) -> Result<Revnum> {
        let size = self.source.layout.format.shard_size.unwrap_or(0);
        let mut next = Revnum::ZERO;
        let mut packed = Revnum::ZERO;
        loop {
            check(self.cancel)?;
            // Another program may pack while we copy.
            if next < self.source.refresh_min_unpacked()? && size > 0 {
                // What was copied as it was before is copied once more: packs begin at the start.
                next = packed;
                let last = Revnum(next.0.saturating_add(size).saturating_sub(1));
                if self.packed_shard(next, size)? {
                    notify(next, last)?;
                }
                next = last.next();
                packed = next;
                continue;
            }
            if next > self.youngest {
                return Ok(packed);
            }
            let end = match size {
                0 => self.youngest.next(),
                size => self.youngest.next().min(Revnum(
                    next.0.checked_div(size).unwrap_or(0).saturating_add(1).saturating_mul(size),
                )),
            };
            match self.unpacked(next.0..end.0) {
                Ok(copied) => {
                    for revision in copied {
                        notify(revision, revision)?;
                    }
                    next = end;
                }
                Err(Error::Io { what, error }) if error.kind() == ErrorKind::NotFound => {
                    // The pack of this shard is copied next, and the shard's unpacked files are removed.
                    if next >= self.source.refresh_min_unpacked()? {
                        return Err(Error::Io { what, error });
                    }
                }
                Err(error) => return Err(error),
            }
        }
    }

    fn node_origins(&self) -> Result<()> {
        let origins = self.source.file(names::NODE_ORIGINS);
        if self.storage().stamp(&origins).is_ok() {
            let to = self.target(names::NODE_ORIGINS);
            if !self.in_use {
                // What a run that was stopped left.
                self.remove_tree(&to)?;
            }
            let order = if self.in_use { Order::InUse } else { Order::Any };
            self.copy_dir(&origins, &to, order)?;
        }
        Ok(())
    }

    fn rep_cache(&self) -> Result<()> {
        let reps = self.source.file(names::REP_CACHE);
        if self.format() < since::PACKING || self.storage().stamp(&reps).is_err() {
            return Ok(());
        }
        let to = self.target(names::REP_CACHE);
        let followed = self.in_use
            && RepCache::follow(&reps, to.clone(), self.youngest, rep_cache_schema(self.format()))
                .is_ok();
        // Also over one that is broken.
        if !followed {
            RepCache::hotcopy(reps, to.clone(), self.youngest)?;
        }
        // The source's may be read-only, which the copy must not be.
        let like = self.target(names::TXN_CURRENT);
        let like =
            if self.storage().stamp(&like).is_ok() { like } else { self.target(names::UUID) };
        let done = self.storage().copy_permissions(&like, &to);
        done.map_err(|e| Error::io(e, "Can't set permissions on", &to))
    }

    /// Locks on paths are those of the source.
    fn locks(&self) -> Result<()> {
        let (from, to) = (self.source.file(names::LOCKS), self.target(names::LOCKS));
        match self.storage().list(&from) {
            Ok(_) => self.follow_tree(&from, &to),
            Err(e) if e.kind() == ErrorKind::NotFound => self.remove_tree(&to),
            Err(e) => Err(Error::io(e, "Can't open directory", &from)),
        }
    }

    /// Removes files that the packs of the destination replace.
    fn remove_packed(&self, packed: Revnum) -> Result<()> {
        let Some(size) = self.source.layout.format.shard_size else { return Ok(()) };
        let layout = &self.source.layout;
        for shard in 0..packed.0.checked_div(size).unwrap_or(0) {
            let first = Revnum(shard.saturating_mul(size));
            let file = self.target(&layout.rev_file(first));
            if let Some(dir) = file.parent() {
                remove_dir_all(self.storage(), dir, false)?;
            }
            if self.format() < since::REVPROP_PACKING {
                continue;
            }
            if shard > 0 {
                remove_dir_all(self.storage(), &self.target(&layout.revprops_dir(first)), false)?;
                continue;
            }
            let dir = self.target(&layout.revprops_dir(first));
            let kept = std::ffi::OsStr::new("0");
            let names = match self.storage().list(&dir) {
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
                listed => listed.map_err(|e| Error::io(e, "Can't open directory", &dir))?,
            };
            for name in names {
                if name != kept {
                    self.remove(&dir.join(name))?;
                }
            }
        }
        Ok(())
    }
}
