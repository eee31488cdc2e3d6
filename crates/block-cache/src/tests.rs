//! What is asked of a store, by how many threads and processes, and all that can happen to the folder.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a failure is a failed test"
)]

mod ahead;
mod form;
mod harm;
mod limits;
mod reads;

use std::path::{Path, PathBuf};

use sapwood_objects::{Blobs, Key};

/// Bytes that differ from block to block.
fn noise(len: usize) -> Vec<u8> {
    let mut state = 88_172_645_463_325_252_u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()
    };
    let mut bytes = Vec::with_capacity(len + 8);
    while bytes.len() < len {
        bytes.extend_from_slice(&next());
    }
    bytes.truncate(len);
    bytes
}

fn key(name: &str) -> Key {
    Key::new(format!("big/{name}")).unwrap()
}

fn put(store: &dyn Blobs, name: &str, len: usize) -> Vec<u8> {
    let bytes = noise(len);
    store.put(&key(name), &bytes).unwrap();
    bytes
}

/// All files of blocks in a folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let Ok(folders) = std::fs::read_dir(folder.join("blocks")) else { return found };
    for folder in folders {
        let entries = std::fs::read_dir(folder.unwrap().path()).unwrap();
        found.extend(entries.map(|entry| entry.unwrap().path()));
    }
    found.sort();
    found
}
