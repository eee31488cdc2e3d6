//! Temporary files for data that waits for a client: a request's body that arrives slowly, or a reply that is
//! not read. Such a file has no name, so that it disappears with the process, and all of them together have a
//! budget.
//!
//! One network gets at most half of what the others leave, as for all resources that clients may
//! hold.
//!
//! Invariant: what a [`SpoolFile`] holds of the budget is returned when it is dropped.

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::net::IpAddr;
use std::os::unix::fs::FileExt as _;
use std::path::PathBuf;
use std::sync::Arc;

use parking_lot::Mutex;
use sapwood_core::exact::Exact as _;

use crate::common::login_delay::network;

/// The budget is taken in steps of so many bytes.
const STEP: u64 = 1 << 20;

/// The temporary files of a server.
#[derive(Debug)]
pub struct Spool {
    folder: PathBuf,
    limit: u64,
    held: Mutex<SpoolUse>,
}

#[derive(Debug, Default)]
struct SpoolUse {
    all: u64,
    /// Only those that hold something.
    sites: HashMap<Option<IpAddr>, u64>,
}

/// A temporary file.
#[derive(Debug)]
pub(crate) struct SpoolFile {
    spool: Arc<Spool>,
    site: Option<IpAddr>,
    file: File,
    /// What it holds of the budget.
    held: u64,
}

impl Spool {
    /// Files of at most `limit` bytes in all, in a folder.
    pub(crate) fn new(folder: PathBuf, limit: u64) -> Arc<Self> {
        Arc::new(Self { folder, limit, held: Mutex::default() })
    }

    /// An empty file for a client at an address.
    ///
    /// # Errors
    /// System errors.
    pub(crate) fn file(self: &Arc<Self>, address: Option<IpAddr>) -> io::Result<SpoolFile> {
        let file = tempfile::tempfile_in(&self.folder)?;
        Ok(SpoolFile { spool: Arc::clone(self), site: address.map(network), file, held: 0 })
    }

    /// Bytes of the budget that are in use.
    #[must_use]
    pub fn used(&self) -> u64 {
        self.held.lock().all
    }

    /// Takes some of the budget for a site, if it may have it.
    fn take(&self, site: Option<IpAddr>, bytes: u64) -> bool {
        let mut held = self.held.lock();
        let own = held.sites.get(&site).map_or(0, |bytes| *bytes);
        let left = self.limit.saturating_sub(held.all.minus(own));
        if own.plus(bytes) > left / 2 {
            return false;
        }
        held.all = held.all.plus(bytes);
        held.sites.insert(site, own.plus(bytes));
        true
    }

    fn give_back(&self, site: Option<IpAddr>, bytes: u64) {
        let mut held = self.held.lock();
        held.all = held.all.minus(bytes);
        if let Some(own) = held.sites.get_mut(&site) {
            *own = own.minus(bytes);
            if *own == 0 {
                held.sites.remove(&site);
            }
        }
    }
}

impl SpoolFile {
    /// Reserves so many bytes of the budget; `false` if there is no room.
    pub(crate) fn reserve(&mut self, bytes: u64) -> bool {
        let wanted = bytes.div_ceil(STEP).saturating_mul(STEP);
        if let Some(more) = wanted.checked_sub(self.held).filter(|more| *more > 0) {
            if !self.spool.take(self.site, more) {
                return false;
            }
            self.held = wanted;
        }
        true
    }

    /// Writes at a place.
    ///
    /// # Errors
    /// System errors.
    pub(crate) fn write_at(&self, bytes: &[u8], at: u64) -> io::Result<()> {
        self.file.write_all_at(bytes, at)
    }

    /// Reads at a place, as much as there is, up to the length of `buf`.
    ///
    /// # Errors
    /// System errors.
    pub(crate) fn read_at(&self, buf: &mut [u8], at: u64) -> io::Result<usize> {
        self.file.read_at(buf, at)
    }
}

impl Drop for SpoolFile {
    fn drop(&mut self) {
        self.spool.give_back(self.site, self.held);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_network_leaves_room_for_others() {
        let folder = tempfile::tempdir().unwrap();
        let spool = Spool::new(folder.path().to_owned(), 16 * STEP);
        let file = |address: &str| spool.file(Some(address.parse().unwrap())).unwrap();
        let (mut one, mut two) = (file("192.0.2.1"), file("192.0.2.1"));
        assert!(one.reserve(5 * STEP) && two.reserve(3 * STEP - 1) && !two.reserve(3 * STEP + 1));
        let mut other = file("192.0.2.2");
        assert!(other.reserve(4 * STEP) && !other.reserve(5 * STEP));
        assert_eq!(spool.used(), 12 * STEP);
        drop(one);
        assert!(two.reserve(5 * STEP), "what was given back may be taken again");
        drop((two, other));
        assert_eq!(spool.used(), 0);
        assert!(spool.held.lock().sites.is_empty());
    }

    #[test]
    fn what_is_written_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let spool = Spool::new(folder.path().to_owned(), STEP);
        let file = spool.file(None).unwrap();
        file.write_at(b"abcdef", 2).unwrap();
        let mut buf = [0; 8];
        assert_eq!(file.read_at(&mut buf, 4).unwrap(), 4);
        assert_eq!(&buf[..4], b"cdef");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "it has no name");
    }
}
