//! Keys of cached values, which carry the type of the value.
//!
//! An engine declares a [`Kind`] for each type of value that it keeps: a number of its own, the type
//! and how much memory a value takes. A key that is made of a kind finds values of that type only, so
//! that the cache need not know any of them. Values are kept as `Arc<dyn Any>`: two filesystems never
//! share a number ([`Caches::new_id`](crate::Caches::new_id)), so the kinds of different engines do
//! not meet.

use std::hash::{Hash, Hasher};

/// Values of this kind whose first numbers are neighbours are looked up together.
const NEIGHBOURS: u16 = 1 << 8;
/// Values of this kind may each stand for thousands of others.
const HELD: u16 = 1 << 9;

/// One kind of value that an engine keeps in the caches.
#[derive(Debug)]
pub struct Kind<T> {
    /// The number in the low byte, and the flags above.
    kind: u16,
    weight: fn(&T) -> usize,
}

impl<T> Kind<T> {
    /// The kind with the engine's number `number`; `weight` says how many bytes of memory a value
    /// takes. Number 0 is that of raw blocks.
    #[must_use]
    pub const fn new(number: u8, weight: fn(&T) -> usize) -> Self {
        #[allow(clippy::as_conversions, reason = "there is no other way in a const function")]
        let kind = number as u16;
        Self { kind, weight }
    }

    /// Values whose `a` differs in the lowest four bits only are looked up one after the other, as
    /// by a log: they lie together in the table.
    #[must_use]
    pub const fn of_neighbours(self) -> Self {
        Self { kind: self.kind | NEIGHBOURS, ..self }
    }

    /// A value may stand for thousands of others, so that a request which goes through those asks
    /// for it again and again: as long as one holds it, all find it, even if it is too large for
    /// the cache.
    #[must_use]
    pub const fn found_while_held(self) -> Self {
        Self { kind: self.kind | HELD, ..self }
    }

    /// The name of one value of a filesystem, by up to three numbers: mostly a revision, an item, and
    /// the number of a part.
    #[must_use]
    pub fn key(&self, fs: u32, a: u64, b: u64, part: u64) -> Key<T> {
        Key { name: Name::new(fs, self.kind, a, b, part), weight: self.weight }
    }
}

/// The name of a cached value of type `T`.
pub struct Key<T> {
    pub(super) name: Name,
    pub(super) weight: fn(&T) -> usize,
}

impl<T> Clone for Key<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Key<T> {}

impl<T> std::fmt::Debug for Key<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.name.fmt(f)
    }
}

/// A key without its type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Name {
    /// The filesystem's number in the caches.
    pub(super) fs: u32,
    pub(super) kind: u16,
    pub(super) a: u64,
    pub(super) b: u64,
    pub(super) part: u64,
    /// Of all of the above: a look-up needs it twice.
    hash: u64,
}

impl Name {
    pub(super) fn new(fs: u32, kind: u16, a: u64, b: u64, part: u64) -> Self {
        let mut name = Self { fs, kind, a, b, part, hash: 0 };
        name.hash = name.mixed();
        name
    }

    pub(super) const fn is_found_while_held(&self) -> bool {
        self.kind & HELD != 0
    }

    pub(super) const fn hash64(&self) -> u64 {
        self.hash
    }

    /// A well-mixed hash: folded multiplication with odd constants, which is enough for numbers
    /// that the repository, not a client, chooses. Neighbours get neighbouring hashes, so that they
    /// lie together in the table; they differ in the highest seven bits as well, since by these
    /// hashbrown (the table of `std`) distinguishes entries of one group.
    fn mixed(&self) -> u64 {
        let is_near = self.kind & NEIGHBOURS != 0;
        let near = if is_near { self.a & 15 } else { 0 };
        let head = (u64::from(self.fs) << 8) ^ u64::from(self.kind & 0xff);
        let h = fold(head ^ 0x9e37_79b9_7f4a_7c15 ^ self.a ^ near, 0xbf58_476d_1ce4_e5b9);
        let h = fold(h ^ self.b ^ self.part.rotate_left(32), 0x94d0_49bb_1331_11eb);
        if is_near { ((h & !15) | near) ^ (near << 58) } else { h }
    }
}

impl Hash for Name {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.hash64());
    }
}

/// The two halves of a 128-bit product, mixed.
#[allow(clippy::as_conversions, reason = "each half is wanted alone")]
fn fold(x: u64, by: u64) -> u64 {
    let wide = u128::from(x).wrapping_mul(u128::from(by));
    (wide as u64) ^ ((wide >> 64) as u64)
}

/// A hasher for keys that hash themselves, or are numbers without a pattern: it only passes the number
/// on.
#[derive(Debug, Default)]
pub struct PassThrough(u64);

impl Hasher for PassThrough {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, _: &[u8]) {}
    fn write_u64(&mut self, n: u64) {
        self.0 = n;
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn neighbours_lie_together_and_are_distinguished() {
        const NEAR: Kind<u8> = Kind::new(3, |_| 1).of_neighbours();
        let hashes: Vec<u64> = (32..48).map(|a| NEAR.key(1, a, 0, 7).name.hash64()).collect();
        let low: BTreeSet<u64> = hashes.iter().map(|hash| hash & 15).collect();
        assert_eq!(low.len(), 16);
        assert_eq!(hashes.iter().map(|hash| hash << 8 >> 12).collect::<BTreeSet<_>>().len(), 1);
        assert_eq!(hashes.iter().map(|hash| hash >> 57).collect::<BTreeSet<_>>().len(), 16);
        assert_ne!(NEAR.key(1, 48, 0, 7).name.hash64() << 8 >> 12, hashes[0] << 8 >> 12);
    }
}
