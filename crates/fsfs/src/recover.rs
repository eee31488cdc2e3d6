//! Makes a new `current` from the existing revisions.
//!
//! All that a crash of the machine can damage is the small files that say how far the filesystem
//! is. A revision counts when its file and its properties are there. Revisions themselves are never
//! touched.

use std::collections::HashSet;
use std::io::ErrorKind;
use std::path::PathBuf;

use sapwood_core::{CancelToken, NodeKind, Revnum};
use sapwood_fs_common::leftovers::Leftovers;
use sapwood_fsfs_format::current::Current;
use sapwood_fsfs_format::layout::names;
use sapwood_fsfs_format::since;
use sapwood_fsfs_format::{NodeRev, limits};

use crate::dump_index::check;
use crate::error::{Error, Result};
use crate::filesystem::{Filesystem, SharedState};
use crate::maintenance::MaintenanceOptions;
use crate::revision_store::Object;
use crate::revprop_shards::Shard;
use sapwood_store::Stamp;

impl Filesystem {
    /// Finds the youngest revision, and writes it to `current`. Removes files that killed processes left.
    ///
    /// # Errors
    /// E160004 when `current` names a revision that is not there, or properties are missing; system
    /// errors.
    pub fn recover(&self, options: &MaintenanceOptions, cancel: &CancelToken) -> Result<()> {
        let shared = &self.fs.shared;
        let storage = &*shared.storage;
        self.require_local("recover")?;
        let _locks = shared.lock_all(storage)?;
        // A plain copy of the repository may be in use elsewhere.
        let format = shared.layout.format.number;
        shared.renew_instance_for_recovery(options)?;
        shared.refresh_min_unpacked()?;
        let found = shared.largest_revision()?;
        let expected = shared.current_or_zero();
        if expected > found {
            return Err(Error::Corrupt(format!(
                "Expected current rev to be <= {found} but found {expected}"
            )));
        }
        let next_ids =
            if format < since::LAYOUT { Some(self.next_ids(found, cancel)?) } else { None };
        let packed = shared.layout.is_revprop_packed(found, shared.min_unpacked());
        let props = Object::Props(found);
        if shared.revisions.list(props).is_ok() {
            return Err(Error::Corrupt(format!(
                "Revision {found} has a non-file where its revprops file should be"
            )));
        }
        let number = shared.layout.shard(found).unwrap_or(0);
        let props = if packed { Object::PropsOf(Shard { packed, number }) } else { props };
        let looked_at = shared.revisions.version(props);
        if !is_there(looked_at, || shared.revisions.place(props))? {
            return Err(Error::Corrupt(format!(
                "Revision {found} has a revs file but no revprops file"
            )));
        }
        // Rows of revisions that are gone would be taken for those of later ones.
        let reps = shared.file(names::REP_CACHE);
        if format >= since::PACKING && is_there(storage.stamp(&reps), || reps.clone())? {
            shared.open_rep_cache(storage)?.remove_younger(found)?;
        }
        let mut text = Vec::new();
        Current { youngest: found, next_ids }.write(&mut text);
        let path = shared.file(names::CURRENT);
        let like = if storage.stamp(&path).is_ok() { &path } else { &shared.file(names::UUID) };
        options.replace(storage, &path, &text, like)?;
        let (storage, db, txns) = (storage, &*shared.path, &*self.transactions()?);
        Ok(Leftovers { storage, db, txns }.clear()?)
    }

    /// The next node id and copy id of old formats, which count them for all revisions.
    fn next_ids(&self, youngest: Revnum, cancel: &CancelToken) -> Result<(u64, u64)> {
        let fs = &self.fs;
        let (mut node_id, mut copy_id) = (0u64, 0u64);
        for revision in (0..=youngest.0).map(Revnum) {
            let mut todo = vec![fs.trailer(revision)?.root];
            // In a tree each is met once.
            let mut seen = HashSet::new();
            while let Some(item) = todo.pop() {
                check(cancel)?;
                let node = fs.with_file(revision, |file| {
                    let at = fs.item_offset(file, revision, item)?;
                    let parse = |bytes: &[u8], _| NodeRev::parse(bytes);
                    Ok(fs.parse_at(file, revision, at, limits::NODEREV_LEN, parse)?.0)
                })?;
                if node.kind != NodeKind::Dir || !seen.insert(item) {
                    return Err(Error::Corrupt("Recovery encountered a non-directory node".into()));
                }
                // A directory's unchanged entries were seen in an earlier revision.
                if node.text.and_then(|rep| rep.revision()) != Some(revision) {
                    continue;
                }
                for entry in fs.directory(&node)?.iter() {
                    if entry.id.revision() != Some(revision) {
                        continue;
                    }
                    node_id = node_id.max(entry.id.node.number());
                    copy_id = copy_id.max(entry.id.copy.number());
                    if let (NodeKind::Dir, Some(item)) = (entry.kind, entry.id.item()) {
                        todo.push(item);
                    }
                }
            }
        }
        Ok((node_id.saturating_add(1), copy_id.saturating_add(1)))
    }
}

impl SharedState {
    /// As [`SharedState::renew_instance`], when `current`, whose permissions are taken, may be missing.
    fn renew_instance_for_recovery(&self, options: &MaintenanceOptions) -> Result<()> {
        let current = self.file(names::CURRENT);
        if self.storage.stamp(&current).is_err() {
            let format = self.layout.format.number;
            let text: &[u8] = if format < since::LAYOUT { b"0 1 1\n" } else { b"0\n" };
            options.replace(&*self.storage, &current, text, &self.file(names::UUID))?;
        }
        self.renew_instance(options, self.layout.format.number)
    }

    /// The revision in `current`; 0 when it is empty, unreadable or missing, because it is made again.
    fn current_or_zero(&self) -> Revnum {
        let bytes = self.revisions.read(Object::Youngest, 256).unwrap_or_default();
        Current::parse(&bytes, self.layout.format.number).map_or(Revnum::ZERO, |c| c.youngest)
    }

    /// The largest revision whose file is there, by the reference's search.
    fn largest_revision(&self) -> Result<Revnum> {
        let exists = |revision: u64| -> Result<bool> {
            let revision = Revnum(revision);
            let object = Object::Revision(revision);
            if revision < self.min_unpacked() {
                return Ok(true);
            }
            // One that cannot be read is no youngest revision, nor is it missing.
            match self.revisions.open(object) {
                Ok(_) => Ok(true),
                Err(e) if e.kind() == ErrorKind::NotFound => Ok(false),
                Err(e) => Err(Error::io(e, "Can't open file", &self.revisions.place(object))),
            }
        };
        let mut right = 1u64;
        while right < u64::MAX >> 1 && exists(right)? {
            right <<= 1;
        }
        let mut left = right >> 1;
        while left.saturating_add(1) < right {
            let probe = left.midpoint(right);
            if exists(probe)? { left = probe } else { right = probe }
        }
        Ok(Revnum(left))
    }
}

/// Whether there is such a file. An inaccessible file does not count as missing: a revision
/// that did not count because of its permissions would be made again.
fn is_there(stamp: std::io::Result<Stamp>, path: impl FnOnce() -> PathBuf) -> Result<bool> {
    match stamp {
        Ok(_) => Ok(true),
        Err(e) if e.kind() == ErrorKind::NotFound => Ok(false),
        Err(e) => Err(Error::io(e, "Can't check path", &path())),
    }
}
