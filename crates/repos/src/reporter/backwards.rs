//! A second thread for reports that send a whole tree and have to read it: it reads what they need
//! last into the caches first, until the two meet. With two processors this takes
//! half the time.
//!
//! It caches texts in the form in which the receiver requested them. Nothing is
//! reported here: the request itself finds errors and unreadable nodes.

use sapwood_core::Exact;
use std::sync::atomic::{AtomicBool, Ordering};

use sapwood_core::NodeKind;
use sapwood_delta::Version;
use sapwood_fs::read_ahead::{Helper, Novelty};
use sapwood_fs::{Directory, Filesystem, Node};

use crate::error::Result;

/// After so many nodes in a row that were in the caches, the thread has met the request.
const MET: u32 = 64;
/// The thread fills no more than this part of the caches: one in so many bytes.
const SHARE: u64 = 4;
/// About the bytes that a node takes in the caches beside its text.
const NODE: u64 = 2048;

/// Begins at the end of the tree `top`. `None` when no reader permit is free, or no text
/// was requested yet, so that their form is unknown.
pub(super) fn start(fs: &Filesystem, top: &Node) -> Option<Helper> {
    let newest = fs.svndiff_asked_for()?;
    let top = top.clone();
    Helper::start(fs, "export-ahead", move |fs, over| {
        read_backwards(fs, top.by_way_of(fs), newest, over)
    })
}

/// A directory, and how many of its entries are left.
struct Level {
    dir: Node,
    entries: Directory,
    order: Option<Vec<u32>>,
    left: usize,
}

impl Level {
    fn new(fs: &Filesystem, dir: Node) -> Result<Self> {
        let entries = dir.entries()?;
        let order = fs.sending_order(&entries);
        Ok(Self { dir, left: entries.len(), entries, order })
    }
}

fn read_backwards(fs: &Filesystem, top: Node, newest: Version, over: &AtomicBool) -> Result<()> {
    let mut revprops = fs.revprops_snapshot();
    let mut novelty = Novelty::new(fs);
    let mut left = fs.cache_capacity().checked_div(SHARE).unwrap_or(0);
    let mut stack = vec![Level::new(fs, top)?];
    while let Some(level) = stack.last_mut() {
        let Some(at) = level.left.checked_sub(1) else {
            stack.pop();
            continue;
        };
        level.left = at;
        let place = match &level.order {
            Some(order) => order.get(at).and_then(|at| usize::try_from(*at).ok()),
            None => Some(at),
        };
        let Some(entry) = place.and_then(|place| level.entries.get(place)) else { continue };
        if over.load(Ordering::Acquire) {
            return Ok(());
        }
        let node = level.dir.child_of(&entry)?;
        if let Some(created) = node.created_rev() {
            revprops.date_author(created)?;
        }
        node.props()?;
        let mut bytes = NODE;
        if entry.kind == NodeKind::Dir {
            let below = Level::new(fs, node)?;
            bytes = bytes.plus(u64::try_from(below.entries.byte_len()).unwrap_or(0));
            stack.push(below);
        } else {
            bytes = bytes.plus(node.encode_ahead(newest)?);
        }
        let Some(rest) = left.checked_sub(bytes) else { return Ok(()) };
        left = rest;
        if novelty.known_in_a_row() >= MET {
            return Ok(());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use sapwood_core::Revnum;
    use sapwood_delta::TextDelta as _;
    use sapwood_fs::{Caches, OpenOptions};
    use sapwood_testkit::fspath;
    use sapwood_testkit::{Packing, Repository, Shape};

    /// Requests all texts below a directory.
    fn export(dir: &Node) -> Vec<u8> {
        let mut all = Vec::new();
        for entry in dir.entries().unwrap().iter() {
            let node = dir.child_of(&entry).unwrap();
            if entry.kind == NodeKind::Dir {
                all.extend(export(&node));
                continue;
            }
            let mut delta = node.delta_from(None).unwrap();
            let encoded = delta.encoded(Version::V2).unwrap();
            while let Some(bytes) = encoded.next_bytes().unwrap() {
                all.extend(bytes);
            }
        }
        all
    }

    /// The text of some file.
    fn first_text(dir: &Node) -> Option<sapwood_fs::ContentsDelta> {
        dir.entries().unwrap().iter().find_map(|entry| {
            let node = dir.child_of(&entry).unwrap();
            match entry.kind {
                NodeKind::Dir => first_text(&node),
                _ => Some(node.delta_from(None).unwrap()),
            }
        })
    }

    #[test]
    fn what_was_brought_is_not_read_again() {
        let shape = Shape::new("1.10").shard(7).pack(Packing::Half);
        let repo = Repository::random(&shape, 11, 60);
        let open = || {
            let caches = Caches::new(64 << 20);
            let db = repo.path().join("db");
            let fs = Filesystem::open(&db, &caches, &OpenOptions::default()).unwrap();
            let top = fs.revision_root(Revnum(60)).unwrap().node(fspath("/")).unwrap();
            (caches, fs, top)
        };
        let (_, _, top) = open();
        let want = export(&top);
        assert!(want.len() > 1000);
        let (caches, fs, top) = open();
        // The form of texts is known from the first that was requested.
        assert!(start(&fs, &top).is_none());
        first_text(&top).unwrap().encoded(Version::V2).unwrap();
        start(&fs, &top).unwrap().finish();
        let reads = caches.stats().block_reads;
        assert!(reads > 0);
        assert!(export(&top) == want);
        assert_eq!(caches.stats().block_reads, reads);
        // When it is asked to end, it ends.
        let (caches, fs, top) = open();
        read_backwards(&fs, top, Version::V2, &AtomicBool::new(true)).unwrap();
        assert!(caches.stats().block_reads < reads);
    }
}
