//! Representations in entries and tables: rows of a fixed length.
//!
//! Invariant: a row that is read is written back the same.

use sapwood_core::Sha1;
use sapwood_core::exact::Exact as _;

/// A representation, and the text that it is found by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rep {
    /// The sum of the text.
    pub sha1: Sha1,
    /// The revision whose data it is in.
    pub revision: u64,
    /// Its item number there.
    pub item: u64,
    /// Its length in bytes, as it is stored.
    pub size: u64,
    /// The length of the text in bytes.
    pub expanded: u64,
}

impl Rep {
    /// The bytes of a row: the sum, and four numbers of 64 bits, the highest byte first.
    pub(crate) const LEN: usize = 52;

    pub(crate) fn row(&self) -> Vec<u8> {
        let mut row = self.sha1.0.to_vec();
        for number in [self.revision, self.item, self.size, self.expanded] {
            row.extend_from_slice(&number.to_be_bytes());
        }
        row
    }

    /// The row as a word of a line: hex digits, in lower case.
    pub(crate) fn shown(&self) -> String {
        self.row().iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// What such a word says.
    pub(crate) fn parse_shown(word: &str) -> Option<Self> {
        let is_digit = |b: u8| b.is_ascii_digit() || matches!(b, b'a'..=b'f');
        if word.len() != Self::LEN.times(2) || !word.bytes().all(is_digit) {
            return None;
        }
        let pairs = word.as_bytes().chunks_exact(2);
        let byte = |pair: &[u8]| u8::from_str_radix(str::from_utf8(pair).ok()?, 16).ok();
        Self::parse(&pairs.map(byte).collect::<Option<Vec<u8>>>()?)
    }

    pub(crate) fn parse(row: &[u8]) -> Option<Self> {
        let (sha1, numbers) = row.split_first_chunk::<20>()?;
        let mut numbers = numbers.as_chunks::<8>().0.iter().map(|bytes| u64::from_be_bytes(*bytes));
        Some(Self {
            sha1: Sha1(*sha1),
            revision: numbers.next()?,
            item: numbers.next()?,
            size: numbers.next()?,
            expanded: numbers.next()?,
        })
    }
}
