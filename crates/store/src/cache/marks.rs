//! Marks of evicted entries of a cache: how long ago they were used.
//!
//! A table of buckets that drops the oldest mark of a full bucket. It may take one entry for
//! another (one look-up in some 2^36), which costs no more than a wrong guess what to keep.

use sapwood_core::Exact;

/// Marks in a bucket: half a cache line.
const BUCKET: usize = 4;
/// The table has at least so many places for each entry of the cache.
const PLACES: usize = 2;
/// The low bits of a mark are the tick, the high ones those of the hash.
const TICK_BITS: u32 = 24;
/// The part of a mark that is the tick.
const TICK: u64 = (1 << TICK_BITS) - 1;

/// The marks.
#[derive(Debug, Default)]
pub(super) struct Marks {
    /// The number of buckets is a power of two; 0 is an empty slot.
    buckets: Vec<[u64; BUCKET]>,
}

/// The hash's part of a mark. Shards and tables take other bits of the hash as they are.
const fn spread(hash: u64) -> u64 {
    hash.wrapping_mul(0x9e37_79b9_7f4a_7c15) & !TICK
}

/// The tick's part of a mark: never 0, which is an empty place.
const fn tick(at: u32) -> u64 {
    #[allow(clippy::as_conversions, reason = "there is no other way in a const function")]
    let at = at as u64;
    if at & TICK == 0 { 1 } else { at & TICK }
}

/// Ticks from a mark's to `now`.
fn age(mark: u64, now: u32) -> u32 {
    u32::try_from(tick(now).wrapping_sub(mark) & TICK).unwrap_or(u32::MAX)
}

impl Marks {
    fn bucket(&mut self, mark: u64) -> Option<&mut [u64; BUCKET]> {
        // The highest bits, so that a bucket is halved when the table is doubled.
        let bits = self.buckets.len().checked_ilog2()?;
        let at = mark.checked_shr(u64::BITS.minus(bits)).unwrap_or(0);
        self.buckets.get_mut(usize::try_from(at).ok()?)
    }

    /// Marks an entry that was used last at tick `used` and is evicted at `now`, from a cache of `entries`.
    pub(super) fn add(&mut self, hash: u64, used: u32, now: u32, entries: usize) {
        let wanted = entries.max(32).times(PLACES).div_ceil(BUCKET);
        if self.buckets.len() < wanted {
            let larger = vec![[0; BUCKET]; wanted.next_power_of_two()];
            for mark in std::mem::replace(&mut self.buckets, larger).into_iter().flatten() {
                if mark != 0 {
                    self.insert(mark, now);
                }
            }
        }
        self.insert(spread(hash) | tick(used), now);
    }

    fn insert(&mut self, mark: u64, now: u32) {
        let Some(bucket) = self.bucket(mark) else { return };
        let oldest = |old: &&mut u64| if **old == 0 { u32::MAX } else { age(**old, now) };
        if let Some(place) = bucket.iter_mut().max_by_key(oldest) {
            *place = mark;
        }
    }

    /// Takes a mark away: for how many ticks it was not used.
    pub(super) fn take(&mut self, hash: u64, now: u32) -> Option<u32> {
        let name = spread(hash);
        let place = self.bucket(name)?.iter_mut().find(|m| **m != 0 && **m & !TICK == name)?;
        Some(age(std::mem::take(place), now))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn remembers_more_than_there_are_entries() {
        let mut marks = Marks::default();
        assert_eq!(marks.take(7, 9), None);
        for n in 0..2000 {
            marks.add(u64::from(n), n, n, 1000);
        }
        let known: Vec<u32> = (0..2000)
            .filter(|n| marks.take(u64::from(*n), 2000) == Some(2000 - n.max(&1)))
            .collect();
        assert!(known.len() > 1500, "{}", known.len());
        assert!(known.iter().filter(|n| **n >= 1000).count() > 950);
        // Each mark is good once.
        assert_eq!(marks.take(1999, 2000), None);
    }

    #[test]
    fn keeps_its_marks_when_it_grows() {
        let mut marks = Marks::default();
        for n in 0..32 {
            marks.add(n, 5, 6, 32);
        }
        marks.add(99, 0, 6, 100_000);
        assert!((0..32).filter(|n| marks.take(*n, 8) == Some(3)).count() > 28);
        assert_eq!(marks.take(99, 8), Some(7));
    }

    #[test]
    fn time_goes_round() {
        let mut marks = Marks::default();
        marks.add(1, u32::MAX, u32::MAX, 1);
        assert_eq!(marks.take(1, 4), Some(5));
    }
}
