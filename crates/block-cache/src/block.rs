//! The bytes of a block's file. `docs/formats/block-cache.md` has the format.
//!
//! Invariant: the sum is of the block's name too, so that no file is taken for another block, whatever moved it.

use sapwood_core::checksum::Sha1Hasher;
use sapwood_core::exact::Exact as _;
use sapwood_core::{Cut as _, Sha1, len64};
use sapwood_objects::Key;

/// Bytes of a block; the last of an object may have fewer.
pub const BLOCK: u64 = 256 << 10;
/// What a file begins with.
const MAGIC: &[u8; 8] = b"swblock1";
/// Bytes before the block's own: the mark, the length, the sum.
const HEAD: u64 = 36;
/// The longest file of a block.
pub(crate) const MOST: u64 = HEAD + BLOCK;

/// A block of an object of a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BlockId {
    /// The sum of the store's address and the object's key.
    pub object: Sha1,
    /// Which block of it, from 0 on.
    pub number: u64,
}

impl BlockId {
    /// A block of an object.
    #[must_use]
    pub fn new(address: &str, key: &Key, number: u64) -> Self {
        Self { object: Sha1::of(format!("{address}\n{key}").as_bytes()), number }
    }

    fn sum(&self, data: &[u8]) -> Sha1 {
        let mut hasher = Sha1Hasher::new();
        hasher.update(&self.object.0);
        hasher.update(&self.number.to_be_bytes());
        hasher.update(data);
        hasher.finish()
    }
}

/// The bytes of a block's file.
#[must_use]
pub fn write(id: &BlockId, data: &[u8]) -> Vec<u8> {
    let len = len64(data.len()).to_be_bytes();
    [MAGIC.as_slice(), &len, &id.sum(data).0, data].concat()
}

/// The block that a file holds; `None` when it is not that block, or not whole.
#[must_use]
pub fn parse<'a>(id: &BlockId, file: &'a [u8]) -> Option<&'a [u8]> {
    let (magic, rest) = file.split_first_chunk::<8>()?;
    let (len, rest) = rest.split_first_chunk::<8>()?;
    let (sum, data) = rest.split_first_chunk::<20>()?;
    let whole = magic == MAGIC && u64::from_be_bytes(*len) == len64(data.len());
    (whole && id.sum(data) == Sha1(*sum)).then_some(data)
}

/// A piece of a block, or what there is of it.
pub(crate) fn piece(data: &[u8], from: u64, to: u64) -> &[u8] {
    let end = sapwood_core::exact::clamped(to).min(data.len());
    let start = sapwood_core::exact::clamped(from).min(end);
    data.piece(start..end)
}

/// The first byte of a block in its object.
pub(crate) fn begin(number: u64) -> u64 {
    number.times(BLOCK)
}
