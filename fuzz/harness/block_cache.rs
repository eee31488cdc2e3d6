//! Files of blocks in a cache: one form of each, and none is taken for another block.

use sapwood_block_cache::block::{BlockId, parse, write};
use sapwood_objects::Key;

pub fn run(data: &[u8]) {
    let Ok(key) = Key::new("big/x") else { return };
    let id = BlockId::new("memory:", &key, 7);
    if let Some(block) = parse(&id, data) {
        assert_eq!(write(&id, block), data);
        assert_eq!(parse(&BlockId { number: 8, ..id }, data), None);
    }
}
