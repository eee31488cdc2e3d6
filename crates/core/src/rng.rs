//! A small seeded random number generator (splitmix64), and the texts made of it: for repositories
//! and histories that come out the same everywhere.
//!
//! Invariant: the sequence depends on the seed only, on every machine and in every release, since
//! fixtures and benchmark repositories are named by their seeds. Nothing secret is made of it.

use crate::Exact;

/// The generator.
#[derive(Clone, Debug)]
pub struct Rng(u64);

impl Rng {
    /// A generator for `seed`.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self(seed ^ 0x9e37_79b9_7f4a_7c15)
    }

    /// The next 64 bits.
    pub fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `limit`; 0 if that is 0.
    pub fn below(&mut self, limit: usize) -> usize {
        let limit = crate::exact::len64(limit);
        usize::try_from(self.draw().checked_rem(limit).unwrap_or(0)).unwrap_or(0)
    }

    /// A number from `low` to `high`.
    pub fn between(&mut self, low: usize, high: usize) -> usize {
        low.plus(self.below(high.minus(low).plus(1)))
    }

    /// True in `percent` of 100 calls.
    pub fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    /// One of `items`, if there are any.
    pub fn choose<'a, T>(&mut self, items: &'a [T]) -> Option<&'a T> {
        items.get(self.below(items.len()))
    }

    /// A number below `limit` that favours the small ones: the product of two uniform draws.
    pub fn skewed(&mut self, limit: usize) -> usize {
        let a = self.below(limit).plus(1);
        let b = self.below(limit).plus(1);
        let product = a.times(b).checked_div(limit.plus(1)).unwrap_or(0);
        product.checked_rem(limit).unwrap_or(0)
    }

    /// `len` bytes that do not compress.
    pub fn bytes(&mut self, len: usize) -> Vec<u8> {
        let mut out = Vec::with_capacity(len.plus(8));
        while out.len() < len {
            out.extend_from_slice(&self.draw().to_le_bytes());
        }
        out.truncate(len);
        out
    }

    /// One line of text that looks like a program's, with its line feed.
    pub fn line(&mut self) -> String {
        const WORDS: [&str; 24] = [
            "svn", "node", "revision", "pool", "return", "if", "else", "path", "the", "apr", "of",
            "status", "err", "delta", "window", "NULL", "int", "const", "char", "file", "to", "in",
            "a", "entry",
        ];
        let mut line = " ".repeat(self.below(5).times(2));
        for n in 0..self.below(9).plus(1) {
            if n > 0 {
                line.push(' ');
            }
            line.push_str(self.choose(&WORDS).copied().unwrap_or_default());
        }
        if self.chance(40) {
            line.push_str(&format!(" {:x};", self.draw() & 0xffff));
        }
        line.push('\n');
        line
    }

    /// `count` lines.
    pub fn lines(&mut self, count: usize) -> Vec<u8> {
        (0..count).map(|_| self.line()).collect::<String>().into_bytes()
    }

    /// A text with a few lines changed, taken out or put in: never the same text.
    pub fn change_lines(&mut self, old: &[u8]) -> Vec<u8> {
        let mut lines: Vec<&[u8]> = old.split_inclusive(|b| *b == b'\n').collect();
        let count = self.below(3).plus(1);
        // What is put in has to live as long as the list of lines does.
        let mut edits = Vec::with_capacity(count);
        let mut len = lines.len();
        for _ in 0..count {
            let at = self.below(len.plus(1));
            let edit = match self.below(4) {
                0 if at < len => Edit::Remove,
                1 if at < len => Edit::Replace(self.line()),
                _ => Edit::Insert(self.line()),
            };
            match edit {
                Edit::Remove => len = len.saturating_sub(1),
                Edit::Replace(_) => {}
                Edit::Insert(_) => len = len.plus(1),
            }
            edits.push((at, edit));
        }
        for (at, edit) in &edits {
            match edit {
                Edit::Remove => drop(lines.remove(*at)),
                Edit::Replace(line) => {
                    if let Some(slot) = lines.get_mut(*at) {
                        *slot = line.as_bytes();
                    }
                }
                Edit::Insert(line) => lines.insert(*at, line.as_bytes()),
            }
        }
        let mut new = lines.concat();
        if new == old {
            new.extend_from_slice(self.line().as_bytes());
        }
        new
    }
}

/// A change of one line.
enum Edit {
    Remove,
    Replace(String),
    Insert(String),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sequence_is_fixed() {
        // Fixtures and benchmark repositories everywhere are named by their seeds.
        let mut rng = Rng::new(7);
        let first: Vec<u64> = (0..3).map(|_| rng.draw()).collect();
        assert_eq!(first, [0xec779c3693f88501, 0xfed9eeb4936de39d, 0x6f9fb04b092bd30a]);
        let mut rng = Rng::new(7);
        assert_eq!(rng.lines(2), b"        revision path window entry path the\nin if to\n");
    }

    #[test]
    fn numbers_are_in_range() {
        let mut rng = Rng::new(1);
        for limit in [1, 2, 7, 1_000] {
            for _ in 0..200 {
                assert!(rng.below(limit) < limit && rng.skewed(limit) < limit);
                assert!((3..=3 + limit).contains(&rng.between(3, 3 + limit)));
            }
        }
        assert_eq!((rng.below(0), rng.skewed(0)), (0, 0));
        assert_eq!(rng.choose::<u8>(&[]), None);
        assert_eq!(rng.bytes(13).len(), 13);
    }

    #[test]
    fn a_changed_text_is_another() {
        let mut rng = Rng::new(5);
        for text in [&b""[..], b"one", b"one\ntwo\n", b"a\nb\nc\nd\ne\nf\n"] {
            for _ in 0..100 {
                assert_ne!(rng.change_lines(text), text);
            }
        }
    }
}
