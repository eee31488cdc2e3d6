//! Computing a delta: which parts of a target are in the source already.
//!
//! The source is cut into blocks of [`BLOCK`] bytes whose checksums go into a table; a checksum
//! of the same width rolls over the target, and where both agree the bytes are compared and the
//! match is extended in both directions. Choices where several deltas would do (which of two
//! equal blocks, how a match eats into the instruction before it, what is tried at the very end)
//! are made as the reference makes them, so that the same two texts give the same instructions.

use sapwood_core::common::{common_prefix, common_suffix};
use sapwood_core::{Cut, Exact};

use crate::window::{Op, Window};

/// The length of the blocks that are looked up, in bytes. Shorter matches are only found next to
/// others and at both ends of the window.
pub const BLOCK: usize = 64;

/// The shortest match at an end of the window that is worth a copy instruction.
const MIN_END_MATCH: usize = 5;

/// Bits that say whether a checksum may be in the table; a power of two.
const FLAG_BYTES: usize = 4096;

/// A block of the source.
#[derive(Clone, Copy, Debug)]
struct Slot {
    sum: u32,
    /// Where the block starts, [`FREE`] for an unused slot.
    at: u32,
}

const FREE: u32 = u32::MAX;

/// Computes windows; holds the tables, so that they are allocated once.
#[derive(Debug)]
pub struct Xdelta {
    /// Open addressing with linear probing; the length is a power of two, at least twice the
    /// number of blocks.
    slots: Vec<Slot>,
    flags: Box<[u8; FLAG_BYTES]>,
    /// Bytes of the source whose blocks are in the table.
    filled: usize,
}

impl Default for Xdelta {
    fn default() -> Self {
        Self { slots: Vec::new(), flags: Box::new([0; FLAG_BYTES]), filled: 0 }
    }
}

/// The checksum of a block: the plain sum in the low half, the sum of sums in the high half.
fn checksum(block: &[u8]) -> u32 {
    let (mut low, mut high) = (0u32, 0u32);
    for byte in block {
        low = low.wrapping_add(u32::from(*byte));
        high = high.wrapping_add(low);
    }
    (high << 16).wrapping_add(low)
}

/// The checksum one byte further on.
#[inline]
fn roll(sum: u32, leaves: u8, enters: u8) -> u32 {
    const WEIGHT: u32 = 64 << 16;
    let low = sum
        .wrapping_sub(WEIGHT.wrapping_mul(u32::from(leaves)))
        .wrapping_sub(u32::from(leaves))
        .wrapping_add(u32::from(enters));
    low.wrapping_add(low << 16)
}

/// A 32-bit index; `usize` is at least as wide wherever this runs.
#[inline]
fn index(n: u32) -> usize {
    sapwood_core::exact::clamped(n)
}

#[inline]
fn flag_of(sum: u32) -> (usize, u8) {
    (index(sum >> 16) & (FLAG_BYTES - 1), 1u8 << (sum & 7))
}

fn block_at(bytes: &[u8], at: usize) -> Option<&[u8; BLOCK]> {
    bytes.get(at..)?.first_chunk()
}

fn head(bytes: &[u8], end: usize) -> &[u8] {
    bytes.get(..end).unwrap_or(bytes)
}

fn tail(bytes: &[u8], start: usize) -> &[u8] {
    bytes.get(start..).unwrap_or_default()
}

impl Xdelta {
    /// Tables not filled yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Replaces `window` by one that makes `target` of the source view `source`, which starts at
    /// `source_offset`. Neither may be longer than [`crate::WINDOW_MAX`] if the window is to be
    /// encoded.
    pub fn compute(
        &mut self,
        source_offset: u64,
        source: &[u8],
        target: &[u8],
        window: &mut Window,
    ) {
        self.filled = 0;
        self.compute_grown(source_offset, source, target, window);
    }

    /// The same for a source that begins with that of the call before: only what it has more is put into the table.
    pub fn compute_grown(
        &mut self,
        source_offset: u64,
        source: &[u8],
        target: &[u8],
        window: &mut Window,
    ) {
        window.clear();
        window.source_offset = source_offset;
        window.source_len = source.len();
        if source.is_empty() {
            window.push_new(target);
            return;
        }
        let mut done = common_prefix(source, target);
        if done >= MIN_END_MATCH || done == target.len() {
            window.push_source(0, done);
        } else {
            done = 0;
        }
        if target.len().minus(done) >= BLOCK && source.len() >= BLOCK {
            self.fill(source);
            done = self.search(source, target, done, window);
        }
        finish(source, target, done, window);
    }

    /// Puts the blocks of the source into the table that are not there yet.
    fn fill(&mut self, source: &[u8]) {
        let blocks = source.len() / BLOCK;
        let size = blocks.saturating_add(2).next_power_of_two().saturating_mul(2);
        if self.filled == 0 || self.slots.len() < size {
            self.slots.clear();
            self.slots.resize(size, Slot { sum: 0, at: FREE });
            self.flags.fill(0);
            self.filled = 0;
        }
        let mask = self.slots.len().minus(1);
        let positions = (0u32..).step_by(BLOCK).skip(self.filled / BLOCK);
        let rest = tail(source, self.filled).chunks_exact(BLOCK);
        self.filled = blocks.times(BLOCK);
        for (block, at) in rest.zip(positions) {
            let sum = checksum(block);
            let (byte, bit) = flag_of(sum);
            // The table is never full, so this ends; of equal blocks the first stays.
            let mut place = index(sum ^ (sum >> 12)) & mask;
            while let Some(slot) = self.slots.get_mut(place) {
                if slot.at == FREE {
                    *slot = Slot { sum, at };
                    if let Some(flags) = self.flags.get_mut(byte) {
                        *flags |= bit;
                    }
                    break;
                }
                let equal = slot.sum == sum
                    && block_at(source, index(slot.at)).is_some_and(|b| b.as_slice() == block);
                if equal {
                    break;
                }
                place = place.wrapping_add(1) & mask;
            }
        }
    }

    /// Where the source has the block `wanted`.
    fn find(&self, source: &[u8], sum: u32, wanted: &[u8; BLOCK]) -> Option<usize> {
        let mask = self.slots.len().saturating_sub(1);
        let mut place = index(sum ^ (sum >> 12)) & mask;
        loop {
            let slot = self.slots.get(place).filter(|slot| slot.at != FREE)?;
            if slot.sum == sum && block_at(source, index(slot.at)) == Some(wanted) {
                return Some(index(slot.at));
            }
            place = place.wrapping_add(1) & mask;
        }
    }

    /// Advances from `at` to the next position below `upper` whose checksum may be in the table,
    /// or to `upper`.
    #[inline]
    fn skip(&self, target: &[u8], at: &mut usize, upper: usize, sum: &mut u32) {
        let leaving = head(target, upper).get(*at..).unwrap_or_default();
        let entering = tail(target, at.plus(BLOCK));
        let mut now = *sum;
        let mut steps = 0usize;
        for (leaves, enters) in leaving.iter().zip(entering) {
            let (byte, bit) = flag_of(now);
            if self.flags.get(byte).is_some_and(|flags| flags & bit != 0) {
                break;
            }
            now = roll(now, *leaves, *enters);
            steps += 1;
        }
        *sum = now;
        *at = at.plus(steps);
    }

    /// Finds matches from `start` on and appends them and what lies between. Returns where the
    /// target is not covered yet.
    fn search(&self, source: &[u8], target: &[u8], start: usize, window: &mut Window) -> usize {
        let upper = target.len().saturating_sub(BLOCK);
        let mut at = start;
        let mut covered = start;
        let mut sum = block_at(target, at).map_or(0, |b| checksum(b));
        while at < upper {
            self.skip(target, &mut at, upper, &mut sum);
            let Some(wanted) = block_at(target, at) else { break };
            let Some(mut from) = self.find(source, sum, wanted) else {
                if let (Some(leaves), Some(enters)) = (target.get(at), target.get(at.plus(BLOCK))) {
                    sum = roll(sum, *leaves, *enters);
                }
                at += 1;
                continue;
            };
            let after = |n: usize| n.plus(BLOCK);
            let mut len = after(common_prefix(tail(source, after(from)), tail(target, after(at))));
            // Backwards into what would be new data.
            let pending = target.piece(covered..at);
            let mut back = common_suffix(head(source, from), pending);
            from = from.minus(back);
            at = at.minus(back);
            len = len.plus(back);
            if at > covered {
                window.push_new(target.piece(covered..at));
            } else {
                // Backwards over earlier instructions that this match makes needless.
                back = common_suffix(head(source, from), head(target, at));
                back = take_back(window, back);
                from = from.minus(back);
                at = at.minus(back);
                len = len.plus(back);
            }
            window.push_source(from, len);
            at = at.plus(len);
            covered = at;
            if let Some(block) = block_at(target, at) {
                sum = checksum(block);
            }
        }
        covered
    }
}

/// Removes instructions that make the last `limit` bytes of the target at most, copies only
/// whole. Returns how many bytes of target are gone.
fn take_back(window: &mut Window, limit: usize) -> usize {
    let mut gone = 0usize;
    while let Some(op) = window.ops.last_mut() {
        let left = limit.minus(gone);
        match op {
            Op::Source { len, .. } if *len <= left => gone = gone.plus(*len),
            Op::Source { .. } | Op::Target { .. } => break,
            Op::New { len, .. } => {
                let cut = left.min(*len);
                let kept = window.new_data.len().minus(cut);
                window.new_data.truncate(kept);
                *len = len.minus(cut);
                gone = gone.plus(cut);
                if *len > 0 {
                    break;
                }
            }
        }
        window.ops.pop();
    }
    window.target_len = window.target_len.minus(gone);
    gone
}

/// Covers the target from `start` on: what the end of the source has too is copied.
fn finish(source: &[u8], target: &[u8], start: usize, window: &mut Window) {
    let rest = tail(target, start);
    let mut matching = common_suffix(source, rest);
    if matching < MIN_END_MATCH {
        matching = 0;
    }
    window.push_new(head(rest, rest.len().minus(matching)));
    window.push_source(source.len().minus(matching), matching);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A table that grows finds what a new one finds.
    #[test]
    fn a_source_that_grows() {
        let text = noise(20_000, 7);
        let (mut grown, mut window) = (Xdelta::new(), Window::default());
        for len in [0, 100, 130, 4_000, 4_100, 20_000] {
            let source = &text[..len];
            for target in [noise(300, 9), text[50..].to_vec(), text[len / 2..].to_vec()] {
                grown.compute_grown(7, source, &target, &mut window);
                assert_eq!(window, delta(source, &target), "{len}");
            }
        }
    }

    fn delta(source: &[u8], target: &[u8]) -> Window {
        let mut window = Window::default();
        Xdelta::new().compute(7, source, target, &mut window);
        let mut made = Vec::new();
        window.apply(source, &mut made).unwrap();
        assert!(made == target, "{window:?}");
        assert_eq!((window.source_offset, window.source_len), (7, source.len()));
        window
    }

    fn noise(len: usize, seed: u32) -> Vec<u8> {
        let mut state = seed;
        (0..len)
            .map(|_| {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                (state >> 24).to_le_bytes()[0]
            })
            .collect()
    }

    #[test]
    fn checksum_rolls() {
        let bytes = noise(500, 1);
        let mut sum = checksum(&bytes[..BLOCK]);
        for at in 0..bytes.len() - BLOCK {
            assert_eq!(sum, checksum(&bytes[at..at + BLOCK]));
            sum = roll(sum, bytes[at], bytes[at + BLOCK]);
        }
    }

    #[test]
    fn empty_and_equal() {
        assert_eq!(delta(b"", b"abc").ops, [Op::New { offset: 0, len: 3 }]);
        assert_eq!(delta(b"abc", b"").ops, []);
        assert_eq!(delta(b"abc", b"abc").ops, [Op::Source { offset: 0, len: 3 }]);
        assert_eq!(delta(b"abcdef", b"abcdeg").ops.len(), 2);
        assert_eq!(delta(b"abcd-", b"abcd+").ops, [Op::New { offset: 0, len: 5 }]);
    }

    #[test]
    fn a_change_in_the_middle_and_blocks_that_move() {
        let source = noise(20_000, 2);
        let mut target = source.clone();
        target.splice(9_000..9_010, *b"something else");
        let window = delta(&source, &target);
        assert_eq!(
            window.ops,
            [
                Op::Source { offset: 0, len: 9_000 },
                Op::New { offset: 0, len: 14 },
                Op::Source { offset: 9_010, len: 10_990 },
            ]
        );
        let target = [&source[10_000..], &source[..10_000]].concat();
        assert_eq!(delta(&source, &target).ops.len(), 2);
        let window = delta(&source, &noise(20_000, 3));
        assert_eq!(window.as_full_text().map(<[u8]>::len), Some(20_000));
    }

    #[test]
    fn repetitive_texts() {
        let source: Vec<u8> =
            (0..3000u32).flat_map(|n| format!("line {}\n", n % 37).into_bytes()).collect();
        let mut target = source.clone();
        target.drain(5_000..5_400);
        target.splice(100..100, noise(90, 4));
        assert!(delta(&source, &target).new_data.len() < 400);
        delta(&source, &[0; 5000]);
        delta(&[0; 5000], &[0; 7000]);
    }
}
