//! A small seeded random number generator (splitmix64).
//!
//! Invariant: the sequence depends on the seed only, on every machine and in every release, since
//! the names of fixtures are seeds.

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

    /// A number below `limit`, which is not 0.
    pub fn below(&mut self, limit: usize) -> usize {
        (self.draw() % limit as u64) as usize
    }

    /// True in `percent` of 100 calls.
    pub fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    /// One of `items`, which are not empty.
    pub fn pick<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[self.below(items.len())]
    }

    /// A number below `limit` that favours the small ones: the product of two uniform draws.
    pub fn skewed(&mut self, limit: usize) -> usize {
        let a = self.below(limit) as u64 + 1;
        let b = self.below(limit) as u64 + 1;
        ((a * b) / (limit as u64 + 1)) as usize % limit
    }

    /// `len` bytes that do not compress.
    pub fn bytes(&mut self, len: usize) -> Vec<u8> {
        let mut out = Vec::with_capacity(len + 8);
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
        let mut line = " ".repeat(self.below(5) * 2);
        for n in 0..self.below(9) + 1 {
            if n > 0 {
                line.push(' ');
            }
            line.push_str(WORDS[self.below(WORDS.len())]);
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
}
