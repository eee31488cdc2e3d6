//! Holding the limit of the folder: a hand goes around its blocks, and removes those that were not read since it came by.
//!
//! Invariant: one process at a time does it, by a lock of the system; it has the names of one of the 256 folders in memory.

use std::fs::{self, DirEntry, File};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use sapwood_core::exact::Exact as _;
use sapwood_store::{LocalStorage, WriteStorage as _};

use crate::disk::{BLOCKS, Disk, GROWN, UNIT, UNUSED, add};

/// The file whose lock the one process has.
const LOCK: &str = "evict.lock";
/// Where the hand is: the number of a folder.
const HAND: &str = "hand";
/// The folders of blocks.
const FOLDERS: u64 = 256;
/// Rounds: one clears marks, one finds them cleared, and the last takes what is read again and again meanwhile.
const ROUNDS: u64 = 3;

impl Disk {
    /// Removes what is over the limit, unless another does. What fails is left for the next time.
    pub(crate) fn evict(&self) {
        self.heard(self.evict_alone());
    }

    fn evict_alone(&self) -> io::Result<()> {
        let lock = self.root.join(LOCK);
        File::options().create(true).append(true).open(&lock)?;
        let Some(_held) = LocalStorage.try_lock(&lock)? else { return Ok(()) };
        let grown = File::options().create(true).append(true).open(self.root.join(GROWN))?;
        let before = grown.metadata()?.len();
        let mut total = 0_u64;
        for folder in 0..FOLDERS {
            for (_, bytes, _) in self.files(folder)? {
                total.tally(bytes);
            }
        }
        // A part stays free, for what is written until the next time.
        let target = self.limit.minus(self.limit / 20);
        let hand = self.root.join(HAND);
        let begin = hand_of(&hand);
        let mut at = begin;
        while total > target && at < begin.plus(FOLDERS * ROUNDS) {
            let last_round = at >= begin.plus(FOLDERS * (ROUNDS - 1));
            self.pass(at % FOLDERS, last_round, target, &mut total)?;
            at = at.plus(1);
        }
        fs::write(hand, format!("{:02x}\n", at % FOLDERS))?;
        // What came meanwhile counts for the next time. A process that was killed before this leaves it to the next.
        let after = grown.metadata()?.len();
        grown.set_len(after.minus(before.min(after)))
    }

    /// The hand goes over a folder.
    fn pass(&self, folder: u64, all: bool, target: u64, total: &mut u64) -> io::Result<()> {
        for (path, bytes, used) in self.files(folder)? {
            if *total <= target {
                return Ok(());
            }
            if used && !all {
                self.heard(File::open(&path).and_then(|file| file.set_modified(UNUSED)));
            } else if self.heard(fs::remove_file(&path)).is_some() {
                add(&self.counters.evicted, 1);
                *total = total.minus(bytes.min(*total));
            }
        }
        Ok(())
    }

    /// The files of a folder: how many bytes each has on disk, and whether it was used.
    fn files(&self, folder: u64) -> io::Result<Vec<(PathBuf, u64, bool)>> {
        let entries = match fs::read_dir(self.root.join(BLOCKS).join(format!("{folder:02x}"))) {
            Err(e) if e.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries?,
        };
        let mut found = Vec::new();
        for entry in entries {
            found.extend(self.heard(entry.and_then(|entry| file(&entry))));
        }
        Ok(found)
    }
}

fn file(entry: &DirEntry) -> io::Result<(PathBuf, u64, bool)> {
    let found = entry.metadata()?;
    let bytes = found.len().div_ceil(UNIT).times(UNIT);
    Ok((entry.path(), bytes, found.modified()? != UNUSED))
}

/// Where the hand is: at the beginning when it is not known.
fn hand_of(path: &Path) -> u64 {
    let text = fs::read_to_string(path).ok();
    let number = text.and_then(|text| u64::from_str_radix(text.trim_end(), 16).ok());
    number.filter(|number| *number < FOLDERS).unwrap_or(0)
}
