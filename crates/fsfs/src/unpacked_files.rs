//! What a log wants of revisions that have files of their own, read straight from these files.
//!
//! A log of a repository that is not packed opens two files a revision, and nearly all of its time
//! goes into that. So here each file costs three system calls (open, below a folder that is kept
//! open; read, as a whole; close), and of what was read only the changed paths and the properties
//! go to the caches: no block, no index page. Files that the system would have to fetch first are
//! asked for together, and read at the end of the batch.
//!
//! All of this is a hint: whatever is not as expected (damage, a file that has just been packed, a
//! file that is long) is left to the request's own way, which also reports it.

use sapwood_core::Exact;
use std::sync::Arc;

use sapwood_core::Revnum;
use sapwood_fsfs_format::l2p::ITEM_CHANGES;
use sapwood_fsfs_format::{Footer, L2pHeader, L2pPage, Trailer};

use sapwood_fs_common::changes::ChangedPaths;

use crate::changes::{self, CHANGES};
use crate::filesystem::Fs;
use crate::index::root_id;
use crate::revision_store::{Near, Object};
use crate::revprop_shards::PropsPlace;
use sapwood_store::StoredFile;
use sapwood_store::storage::PAGE;

/// Files shorter than this are read here.
const LEN: usize = 64 << 10;

/// A file to be read, and what for.
#[derive(Debug)]
struct PendingRead {
    revision: Revnum,
    /// The version of properties; `None` for changed paths.
    version: Option<u64>,
    file: Arc<dyn StoredFile>,
}

/// The folders of one request, and what it needs of them.
#[derive(Debug, Default)]
pub(crate) struct LooseFiles {
    /// All of it can be read into.
    buffer: Vec<u8>,
    revs: Near,
    props: Near,
    waiting: Vec<PendingRead>,
}

impl LooseFiles {
    /// Brings the changed paths of a revision into the caches, now or in [`LooseFiles::finish`], and
    /// says how many bytes they take there, as far as that is known. `None` when this is not the
    /// way to read them.
    pub(crate) fn changes(&mut self, fs: &Fs, revision: Revnum) -> Option<usize> {
        let key = CHANGES.key(fs.id, revision.0, 0, 0);
        if let Some(changes) = fs.caches.get(key) {
            return Some(changes.byte_len());
        }
        let file = fs.rev_file(revision);
        if file.key.packed || fs.has_first_block(&file) {
            return None;
        }
        let open = open(fs, &mut self.revs, Object::Revision(revision))?;
        self.take(fs, PendingRead { revision, version: None, file: open })
    }

    /// The same of a revision's properties, of which `unread` is known.
    pub(crate) fn revprops(
        &mut self,
        fs: &Fs,
        unread: PropsPlace,
        revision: Revnum,
    ) -> Option<usize> {
        let version = match unread {
            PropsPlace::Known(bytes) => return Some(bytes),
            PropsPlace::InFile { version } => version,
            PropsPlace::Elsewhere => return None,
        };
        let open = open(fs, &mut self.props, Object::Props(revision))?;
        self.take(fs, PendingRead { revision, version: Some(version), file: open })
    }

    /// The same of properties, without waiting: the file, when it has to be waited for.
    pub(crate) fn revprops_now(
        &mut self,
        fs: &Fs,
        unread: PropsPlace,
        revision: Revnum,
    ) -> Option<Arc<dyn StoredFile>> {
        self.revprops(fs, unread, revision)?;
        self.waiting.pop().map(|waiting| waiting.file)
    }

    /// Reads a file if that can be done without waiting.
    fn take(&mut self, fs: &Fs, file: PendingRead) -> Option<usize> {
        self.buffer.resize(LEN, 0);
        if fs.caches.may_be_in_memory() {
            if let Some(read) = file.file.read_now(&mut self.buffer, 0) {
                fs.work.note_read();
                return self.rest(fs, file, read);
            }
            fs.caches.was_not_in_memory();
        }
        file.file.will_need(0, LEN.try_into().unwrap_or(u64::MAX));
        self.waiting.push(file);
        Some(0)
    }

    /// Reads what was waited for; gives its bytes in the caches.
    pub(crate) fn finish(&mut self, fs: &Fs) -> usize {
        let mut bytes = 0usize;
        for file in std::mem::take(&mut self.waiting) {
            fs.work.note_read();
            bytes = bytes.plus(self.rest(fs, file, 0).unwrap_or(0));
        }
        bytes
    }

    /// Reads on to the end of the file behind the first `have` bytes, and keeps what is wanted.
    fn rest(&mut self, fs: &Fs, file: PendingRead, mut have: usize) -> Option<usize> {
        // A read that gives whole pages may have met one that was not in memory.
        let mut at_end = have.checked_rem(PAGE) != Some(0) && file.file.short_read_is_end();
        while !at_end && have < LEN {
            let room = self.buffer.get_mut(have..)?;
            let read = file.file.read_at(room, u64::try_from(have).ok()?).ok()?;
            have = have.plus(read);
            let ragged = have.checked_rem(PAGE) != Some(0);
            at_end = read == 0 || (ragged && file.file.short_read_is_end());
        }
        if !at_end {
            // Long: by the blocks that are wanted of it.
            if file.version.is_none() {
                fs.caches.files().keep(fs.rev_file(file.revision).key, file.file);
            }
            return None;
        }
        let whole = self.buffer.get(..have)?;
        if let Some(version) = file.version {
            return fs.keep_revprops(file.revision, version, whole);
        }
        let changes = changes_of(fs, file.revision, whole)?;
        let key = CHANGES.key(fs.id, file.revision.0, 0, 0);
        Some(fs.caches.put(key, changes).byte_len())
    }
}

/// The changed paths in the file of a revision, unless something is wrong with it: that the
/// request finds.
fn changes_of(fs: &Fs, revision: Revnum, file: &[u8]) -> Option<ChangedPaths> {
    let from = |at: u64| file.get(usize::try_from(at).ok()?..);
    if fs.layout.is_logical() {
        return changes::parse(from(place_of_changes(revision, file)?)?, true).ok();
    }
    let trailer = Trailer::parse(file, revision).ok()?;
    let root = root_id(from(trailer.root)?)?;
    if root.revision() != Some(revision) {
        return None;
    }
    let changes = changes::parse_last(from(trailer.changes)?, true, &trailer).ok()?;
    (!changes.is_empty()).then_some(changes)
}

/// Where the changed paths begin in the file of a revision with logical addressing.
fn place_of_changes(revision: Revnum, file: &[u8]) -> Option<u64> {
    let footer = Footer::parse(file, u64::try_from(file.len()).ok()?, revision).ok()?;
    let start = usize::try_from(footer.l2p_offset).ok()?;
    let index = file.get(start..usize::try_from(footer.p2l_offset).ok()?)?;
    let header = L2pHeader::parse(index, u64::try_from(index.len()).ok()?, revision, 1).ok()?;
    let slot = header.find(revision, ITEM_CHANGES).ok()?;
    let at = usize::try_from(slot.info.offset).ok()?;
    let page = index.get(at..at.checked_add(usize::try_from(slot.info.size).ok()?)?)?;
    let found = L2pPage::find(page, &slot, revision, ITEM_CHANGES).ok()??;
    (found < footer.l2p_offset).then_some(found)
}

fn open(fs: &Fs, near: &mut Near, object: Object<'_>) -> Option<Arc<dyn StoredFile>> {
    fs.caches.files().count();
    fs.revisions.open_near(near, object).ok()
}
