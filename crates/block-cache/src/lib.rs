//! Blocks of objects of stores, kept in one folder of this machine for all its processes.
//!
//! - [`BlockCache`]: reads ranges of objects, of which it asks the store what it does not have;
//! - `ahead`: what will be wanted soon is fetched by threads of its own;
//! - [`block`]: the bytes of a block's file, `docs/formats/block-cache.md`;
//! - [`shared()`]: the one of a program;
//! - its folder is bounded in size, and may be deleted at any moment, whole or in part, while it is in use.
//!
//! Invariant: what is read is what the store has: objects are never changed, and no block is believed that its sum does not
//! hold for. What is wrong with the folder costs time, never an answer.

mod ahead;
pub mod block;
mod cache;
mod disk;
mod error;
mod evict;
mod flights;
mod recent;
mod shared;
#[cfg(test)]
mod tests;
mod wanted;

pub use cache::BlockCache;
pub use disk::Counts;
pub use error::{Error, Result};
pub use shared::{opened, set_shared, shared};
