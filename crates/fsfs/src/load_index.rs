//! Giving a revision or pack file new indexes (`svnfsfs load-index`), for formats 7 and 8.
//!
//! The input is the phys-to-log index, as `dump-index` prints it; the other index and the
//! checksums follow from it and from the file. The file is made anew beside the old one, which it
//! then replaces: a reader meanwhile, or after a kill, sees one of the two, whole. (The
//! reference cuts the file itself and writes on.)

use std::path::Path;

use sapwood_core::{CancelToken, Cut as _, ErrorCode, Exact as _, len64};
use sapwood_fsfs_format::fnv::Fnv1a32x4;
use sapwood_fsfs_format::index_write::{ItemOffsets, write_indexes};
use sapwood_fsfs_format::layout::names;
use sapwood_fsfs_format::{ItemType, P2lEntry};

use crate::dump_index::check;
use crate::error::{Error, Result};
use crate::filesystem::{Filesystem, Fs};
use crate::maintenance::MaintenanceOptions;
use crate::revfile::RevFile;
use crate::txn::WriteConfig;
use sapwood_store::StoredFile;
use sapwood_store::write::{NewFile, WriteStorage};

/// What is read at once to sum it up, in bytes.
const PIECE: usize = 1 << 16;

impl Filesystem {
    /// Makes `entries` the index of the file that holds the first revision that they name, and
    /// that file only. Their order is of no concern, nor are their checksums: they are made anew.
    /// Nothing happens when there are none.
    ///
    /// # Errors
    /// E160043 when the filesystem addresses items physically; E200043 when the entries overlap,
    /// leave gaps, end elsewhere than the old index did (or, where that cannot be read, behind the
    /// end of the file), or belong to revisions that are not in the file; system errors.
    pub fn load_index(
        &self,
        mut entries: Vec<P2lEntry>,
        options: &MaintenanceOptions,
        cancel: &CancelToken,
    ) -> Result<()> {
        self.require_local("load-index")?;
        let fs = &self.fs;
        if !fs.layout.is_logical() {
            return Err(Error::new(ErrorCode::FS_UNSUPPORTED_FORMAT, ""));
        }
        let Some(first) = entries.iter().find(|entry| entry.item_type != ItemType::Unused) else {
            return Ok(());
        };
        let revision = first.revision;
        let storage = &*self.fs.storage;
        // No packing or commit goes on meanwhile.
        let _pack = fs.shared.lock_file(storage, names::PACK_LOCK)?;
        let _write = fs.shared.lock_file(storage, names::WRITE_LOCK)?;
        fs.refresh_min_unpacked()?;
        fs.ensure_exists(revision)?;
        let file = fs.rev_file(revision);
        let config = WriteConfig::new(&fs.shared.read_config(storage)?, fs.layout.format.number)?;

        entries.sort_by_key(|entry| entry.offset);
        let end = covered(&entries)?;
        fs.check_end(&file, end)?;
        for entry in &mut entries {
            check(cancel)?;
            entry.fnv1 = fs.item_sum(&file, entry)?;
        }
        let offsets = log_to_phys(&file, &entries)?;
        let mut tail = Vec::new();
        let (l2p, p2l) = (config.l2p_page_size, config.p2l_page_size);
        write_indexes(file.first, end, &offsets, l2p, &entries, p2l, &mut tail);
        let path = fs.rev_file_path(file.key);
        replace_tail(storage, &path, (end, &tail), options.flush_to_disk)
    }
}

impl Fs {
    /// That the items end where the old index says, or, when it is not readable, within the file.
    fn check_end(&self, file: &RevFile, end: u64) -> Result<()> {
        match self.footer(file) {
            Ok(footer) if footer.l2p_offset != end => Err(invalid(format!(
                "New index data ends at {end:x}, old index ended at {:x}",
                footer.l2p_offset
            ))),
            Ok(_) => Ok(()),
            Err(_) => {
                let len = self.file_len(file)?;
                match end > len {
                    true => {
                        Err(invalid(format!("New index data ends at {end:x}, the file at {len:x}")))
                    }
                    false => Ok(()),
                }
            }
        }
    }

    /// The checksum of an item.
    fn item_sum(&self, file: &RevFile, entry: &P2lEntry) -> Result<u32> {
        if entry.item_type == ItemType::Unused {
            return Ok(0);
        }
        let mut sum = Fnv1a32x4::new();
        let mut at = entry.offset;
        while at < entry.end() {
            let left = sapwood_core::exact::clamped(entry.end().saturating_sub(at));
            let bytes = self.bytes(file, at, left.min(PIECE))?;
            if bytes.is_empty() {
                return Err(invalid(format!("Item at offset {:x} is cut off", entry.offset)));
            }
            sum.update(&bytes);
            at = at.plus(len64(bytes.len()));
        }
        Ok(sum.finish())
    }
}

fn invalid(message: String) -> Error {
    Error::new(ErrorCode::INVALID_INPUT, message)
}

/// Where sorted entries end that follow each other without a gap from the start of the file.
fn covered(entries: &[P2lEntry]) -> Result<u64> {
    let mut expected = 0u64;
    for entry in entries {
        let what = match entry.offset.cmp(&expected) {
            std::cmp::Ordering::Less => "Overlapping",
            std::cmp::Ordering::Greater => "Missing",
            std::cmp::Ordering::Equal => {
                expected = entry.offset.checked_add(entry.size).ok_or_else(|| {
                    invalid(format!("Overlapping index data for offset {expected:x}"))
                })?;
                continue;
            }
        };
        return Err(invalid(format!("{what} index data for offset {expected:x}")));
    }
    Ok(expected)
}

/// The other index: where the items of each revision of the file are.
fn log_to_phys(file: &RevFile, entries: &[P2lEntry]) -> Result<Vec<ItemOffsets>> {
    let count = sapwood_core::exact::clamped(file.count);
    let mut offsets: Vec<ItemOffsets> = Vec::new();
    for entry in entries.iter().filter(|entry| entry.item_type != ItemType::Unused) {
        let at = entry.revision.0.checked_sub(file.first.0);
        let at = at.and_then(|at| usize::try_from(at).ok()).filter(|at| *at < count);
        let Some(at) = at else {
            return Err(invalid(format!(
                "Revision {} is not in the file that begins with r{}",
                entry.revision, file.first
            )));
        };
        if at >= offsets.len() {
            offsets.resize(at.plus(1), ItemOffsets::new());
        }
        if !offsets.get_mut(at).is_some_and(|items| items.set(entry.item, entry.offset)) {
            return Err(invalid(format!("Item number {} is too large", entry.item)));
        }
    }
    offsets.resize(count, ItemOffsets::new());
    Ok(offsets)
}

/// Copies the first `len` bytes of a file.
fn copy_start(from: &dyn StoredFile, len: u64, to: &mut dyn NewFile) -> std::io::Result<()> {
    let mut at = 0u64;
    let mut piece = vec![0; PIECE];
    while at < len {
        let left = sapwood_core::exact::clamped(len.saturating_sub(at));
        piece.truncate(left);
        let read = from.read_at(&mut piece, at)?;
        if read == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        to.append(piece.head(read))?;
        at = at.plus(len64(read));
    }
    Ok(())
}

/// Replaces all of a read-only file from `end` on.
fn replace_tail(
    storage: &dyn WriteStorage,
    path: &Path,
    (end, tail): (u64, &[u8]),
    flush: bool,
) -> Result<()> {
    let failed = |e| Error::io(e, "Can't write to file", path);
    let mut name = path.as_os_str().to_owned();
    name.push(".load-index");
    let temporary = Path::new(&name);
    // What an earlier run may have left.
    match storage.remove_file(temporary) {
        Err(e) if e.kind() != std::io::ErrorKind::NotFound => return Err(failed(e)),
        _ => {}
    }
    // Written and given its mode by the handle that made it: who is no superuser could not open a
    // file again that has the mode of this one.
    let written = storage.create(temporary).and_then(|mut file| {
        copy_start(&*storage.open(path)?, end, &mut *file)?;
        file.append(tail)?;
        file.set_mode((storage.mode(path)? | 0o400) & !0o222)?;
        if flush {
            file.sync()?;
        }
        storage.rename(temporary, path, flush)
    });
    written.map_err(|e| {
        // Best effort: the error that matters is returned.
        let _ = storage.remove_file(temporary);
        failed(e)
    })
}

#[cfg(test)]
mod tests {
    use sapwood_core::Revnum;

    use super::*;

    fn entry(offset: u64, size: u64) -> P2lEntry {
        let item_type = ItemType::FileRep;
        P2lEntry { offset, size, item_type, fnv1: 0, revision: Revnum(1), item: 3 }
    }

    #[test]
    fn entries_follow_each_other() {
        assert_eq!(covered(&[entry(0, 5), entry(5, 11)]).unwrap(), 16);
        let gap = covered(&[entry(0, 5), entry(17, 1)]).unwrap_err();
        assert_eq!(gap.to_string(), "E200043: Missing index data for offset 5");
        let overlap = covered(&[entry(0, 17), entry(16, 1)]).unwrap_err();
        assert_eq!(overlap.to_string(), "E200043: Overlapping index data for offset 11");
        assert!(covered(&[entry(0, u64::MAX), entry(u64::MAX, 1)]).is_err());
    }
}
