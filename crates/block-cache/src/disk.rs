//! The files of blocks in the folder.
//!
//! Invariant: a file is written beside its name and renamed, and read whole before it is believed. What fails is counted, and
//! counts as a block that is not there.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

use sapwood_core::exact::clamped;
use sapwood_core::len64;
use sapwood_objects::Token;

use crate::block::{self, BlockId, MOST};

/// Where the folders of blocks are.
pub(crate) const BLOCKS: &str = "blocks";
/// A file that grows with what all processes write, until some is evicted.
pub(crate) const GROWN: &str = "grown";
/// Bytes of blocks for each byte of that file, and what the length of a file on disk is rounded up to.
pub(crate) const UNIT: u64 = 4096;
/// The time of a file that was not read since it was written, or since the last round of eviction.
pub(crate) const UNUSED: SystemTime = SystemTime::UNIX_EPOCH;

/// What a cache did so far, in this process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Blocks that were found in the folder.
    pub hits: u64,
    /// Blocks that the store was asked for.
    pub misses: u64,
    /// Blocks that another thread was fetching.
    pub shared: u64,
    /// Requests to the store.
    pub requests: u64,
    /// Bytes of blocks that were found in the folder.
    pub bytes_found: u64,
    /// Bytes that the store sent.
    pub bytes_fetched: u64,
    /// Files that did not hold their block.
    pub damaged: u64,
    /// Files that could not be read or written.
    pub failures: u64,
    /// Files that were removed to hold the limit.
    pub evicted: u64,
}

#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(crate) hits: AtomicU64,
    pub(crate) misses: AtomicU64,
    pub(crate) shared: AtomicU64,
    pub(crate) requests: AtomicU64,
    pub(crate) bytes_found: AtomicU64,
    pub(crate) bytes_fetched: AtomicU64,
    pub(crate) damaged: AtomicU64,
    pub(crate) failures: AtomicU64,
    pub(crate) evicted: AtomicU64,
}

pub(crate) fn add(counter: &AtomicU64, more: u64) {
    counter.fetch_add(more, Ordering::Relaxed);
}

impl Counters {
    pub(crate) fn all(&self) -> Counts {
        let of = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Counts {
            hits: of(&self.hits),
            misses: of(&self.misses),
            shared: of(&self.shared),
            requests: of(&self.requests),
            bytes_found: of(&self.bytes_found),
            bytes_fetched: of(&self.bytes_fetched),
            damaged: of(&self.damaged),
            failures: of(&self.failures),
            evicted: of(&self.evicted),
        }
    }
}

/// The folder.
#[derive(Debug)]
pub(crate) struct Disk {
    pub(crate) root: PathBuf,
    /// The most bytes of its files.
    pub(crate) limit: u64,
    pub(crate) counters: Counters,
}

impl Disk {
    fn path(&self, id: &BlockId) -> PathBuf {
        let name = id.object.to_hex();
        let (folder, rest) = name.split_at(2);
        self.root.join(BLOCKS).join(folder).join(format!("{rest}-{:x}", id.number))
    }

    /// What an operation on a file gave; `None` when it failed.
    pub(crate) fn heard<T>(&self, done: io::Result<T>) -> Option<T> {
        match done {
            Ok(done) => Some(done),
            Err(e) if e.kind() == ErrorKind::NotFound => None,
            Err(_) => {
                add(&self.counters.failures, 1);
                None
            }
        }
    }

    /// Whether there is a file of a block, whatever it holds.
    pub(crate) fn has(&self, id: &BlockId) -> bool {
        self.path(id).exists()
    }

    /// A block, if a file holds it.
    pub(crate) fn read(&self, id: &BlockId) -> Option<Vec<u8>> {
        let path = self.path(id);
        let file = self.heard(File::open(&path))?;
        let mut bytes = Vec::with_capacity(clamped(MOST));
        self.heard((&file).take(MOST).read_to_end(&mut bytes))?;
        let Some(data) = block::parse(id, &bytes) else {
            add(&self.counters.damaged, 1);
            self.heard(fs::remove_file(&path));
            return None;
        };
        let data = data.to_vec();
        // Only the first use after a round writes anything.
        let used = file.metadata().and_then(|found| match found.modified()? == UNUSED {
            true => file.set_modified(SystemTime::now()),
            false => Ok(()),
        });
        self.heard(used);
        add(&self.counters.hits, 1);
        add(&self.counters.bytes_found, len64(data.len()));
        Some(data)
    }

    /// Keeps a block. Whether so much was written, by all processes, that some should be evicted.
    pub(crate) fn write(&self, id: &BlockId, data: &[u8]) -> bool {
        let bytes = block::write(id, data);
        let written = place(&self.path(id), &bytes).and_then(|()| self.grow(len64(bytes.len())));
        self.heard(written).unwrap_or(false)
    }

    /// Counts what was written.
    fn grow(&self, bytes: u64) -> io::Result<bool> {
        let grown = File::options().create(true).append(true).open(self.root.join(GROWN));
        let mut grown = grown?;
        grown.write_all(&vec![0; clamped(bytes.div_ceil(UNIT))])?;
        Ok(grown.metadata()?.len() >= (self.limit / 40 / UNIT).max(1))
    }
}

/// Writes a file beside its name, and renames it.
fn place(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let Some(folder) = path.parent() else { return Err(ErrorKind::InvalidInput.into()) };
    fs::create_dir_all(folder)?;
    let token = Token::new().map_err(io::Error::other)?;
    let beside = folder.join(format!(".new-{token}"));
    let written = File::create_new(&beside).and_then(|mut file| {
        file.write_all(bytes)?;
        file.set_modified(UNUSED)?;
        fs::rename(&beside, path)
    });
    if written.is_err() {
        // What is left is evicted, as all that is not read.
        let _ = fs::remove_file(&beside);
    }
    written
}
