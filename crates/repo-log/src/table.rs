//! The bytes of a table of representations: rows in the order of their SHA-1, in blocks, and behind them what says which block may have
//! a text. `docs/formats/repository-log.md` has the format.
//!
//! Invariant: a table has one form, which follows from its rows; a block or an end with a wrong sum is never taken for what it was.

use std::ops::Range;

use sapwood_core::exact::{Cut as _, Exact as _, clamped};
use sapwood_core::{Sha1, len64};

use crate::digest::Digest;
use crate::reps::Rep;

/// What the end begins with.
const MAGIC: &[u8; 8] = b"swreps 1";
/// The rows of a block; the last has what is left.
const BLOCK_ROWS: u64 = 256;
/// The bytes of a block's filter: ten bits for each row.
const FILTER: usize = 320;
/// How many bits a row sets there.
const PROBES: u64 = 7;
/// The bytes of a SHA-1.
const KEY: usize = 20;
/// The bytes of a sum.
const SUM: usize = 32;
/// The most rows.
const MOST: u64 = 1 << 40;

/// Where the parts of a table are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Form {
    rows: u64,
}

/// What stands before the index: what it is, and the number of rows.
const HEAD: usize = MAGIC.len() + 8;

impl Form {
    /// The form of so many rows; `None` when no table has so many.
    #[must_use]
    pub fn new(rows: u64) -> Option<Self> {
        (rows <= MOST).then_some(Self { rows })
    }

    /// How many rows there are.
    #[must_use]
    pub const fn rows(self) -> u64 {
        self.rows
    }

    /// How many blocks there are.
    #[must_use]
    pub fn blocks(self) -> u64 {
        self.rows.div_ceil(BLOCK_ROWS)
    }

    /// Where a block is, which is one of them.
    #[must_use]
    pub fn block(self, number: u64) -> Range<u64> {
        let before = number.times(BLOCK_ROWS);
        let rows = self.rows.minus(before).min(BLOCK_ROWS);
        let start = Self { rows: before }.end().start;
        start..start.plus(rows.times(len64(Rep::LEN))).plus(len64(SUM))
    }

    /// Where the end is: the index and the filters.
    #[must_use]
    pub fn end(self) -> Range<u64> {
        let blocks = self.blocks();
        let start = self.rows.times(len64(Rep::LEN)).plus(blocks.times(len64(SUM)));
        let of_each = blocks.times(len64(KEY.plus(FILTER)));
        start..start.plus(len64(HEAD.plus(SUM))).plus(of_each)
    }

    /// The bytes of the whole.
    #[must_use]
    pub fn bytes(self) -> u64 {
        self.end().end
    }

    /// The rows of a block; `None` when these are not its bytes.
    #[must_use]
    pub fn rows_of(self, number: u64, bytes: &[u8]) -> Option<Vec<Rep>> {
        if number >= self.blocks() {
            return None;
        }
        let Range { start, end } = self.block(number);
        if len64(bytes.len()) != end.minus(start) {
            return None;
        }
        let (rows, sum) = bytes.split_at(bytes.len().minus(SUM));
        if block_sum(number, rows).bytes() != sum {
            return None;
        }
        let rows: Vec<Rep> = rows.chunks_exact(Rep::LEN).map(Rep::parse).collect::<Option<_>>()?;
        rows.is_sorted_by(|a, b| a.sha1 < b.sha1).then_some(rows)
    }
}

/// The sum of a block's rows: another block's are not taken for them.
fn block_sum(number: u64, rows: &[u8]) -> Digest {
    Digest::of(&[&number.to_be_bytes(), rows].concat())
}

/// Makes the bytes of a table out of rows.
#[derive(Debug)]
pub struct TableBuilder {
    rows: u64,
    last: Option<Sha1>,
    /// The rows of the block that is not full.
    block: Vec<u8>,
    filter: [u8; FILTER],
    /// The first text and the filter of each block.
    index: Vec<u8>,
}

impl Default for TableBuilder {
    fn default() -> Self {
        Self { rows: 0, last: None, block: Vec::new(), filter: [0; FILTER], index: Vec::new() }
    }
}

impl TableBuilder {
    /// Adds a row, if its text comes after the one before: of equal texts the first counts. Bytes that come next in the table.
    pub fn add(&mut self, rep: &Rep) -> Vec<u8> {
        if self.last.is_some_and(|last| last >= rep.sha1) {
            return Vec::new();
        }
        let is_first = self.rows.is_multiple_of(BLOCK_ROWS);
        let full = if is_first { self.end_block() } else { Vec::new() };
        if is_first {
            self.index.extend_from_slice(&rep.sha1.0);
        }
        self.block.extend_from_slice(&rep.row());
        for (byte, mask) in bits(&rep.sha1) {
            if let Some(byte) = self.filter.get_mut(byte) {
                *byte |= mask;
            }
        }
        self.last = Some(rep.sha1);
        self.rows.tally(1);
        full
    }

    /// Ends the block, if there is one.
    fn end_block(&mut self) -> Vec<u8> {
        if self.block.is_empty() {
            return Vec::new();
        }
        let mut block = std::mem::take(&mut self.block);
        let number = self.rows.minus(1) / BLOCK_ROWS;
        let sum = block_sum(number, &block);
        block.extend_from_slice(sum.bytes());
        self.index.extend_from_slice(&std::mem::replace(&mut self.filter, [0; FILTER]));
        block
    }

    /// The form of the table, and its last bytes.
    #[must_use]
    pub fn finish(mut self) -> (Form, Vec<u8>) {
        let mut bytes = self.end_block();
        let mut end = [MAGIC.as_slice(), &self.rows.to_be_bytes(), &self.index].concat();
        end.extend_from_slice(Digest::of(&end).bytes());
        bytes.extend_from_slice(&end);
        (Form { rows: self.rows }, bytes)
    }
}

/// The bits that a text sets in its block's filter: bytes, and masks in them. The first bytes of texts of a block are alike.
fn bits(sha1: &Sha1) -> impl Iterator<Item = (usize, u8)> {
    let number = |bytes: &[u8]| bytes.iter().fold(0, |sum, byte| (sum << 8) | u64::from(*byte));
    let (first, step) = (number(sha1.0.piece(4..12)), number(sha1.0.piece(12..20)) | 1);
    (0..PROBES).map(move |probe| {
        let bit = first.wrapping_add(probe.wrapping_mul(step)) % len64(FILTER).times(8);
        (clamped(bit / 8), 1 << (bit % 8))
    })
}

/// The end of a table: which of its blocks may have a text.
#[derive(Debug)]
pub struct Table {
    form: Form,
    /// The first text of each block.
    firsts: Vec<Sha1>,
    /// The filters, one after the other.
    filters: Vec<u8>,
}

/// What was found of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lookup {
    /// Its row.
    Row(Rep),
    /// There is none.
    Nothing,
    /// The block that would have it is not what it was.
    Damage,
}

impl Table {
    /// Parses the end of a table; `None` when it is none, or that of another number of rows.
    #[must_use]
    pub fn parse(form: Form, end: &[u8]) -> Option<Self> {
        let (content, sum) = end.split_at_checked(end.len().checked_sub(SUM)?)?;
        let (magic, content_behind) = content.split_first_chunk::<8>()?;
        let (rows, index) = content_behind.split_first_chunk::<8>()?;
        let Range { start, end: last } = form.end();
        if len64(end.len()) != last.minus(start)
            || magic != MAGIC
            || u64::from_be_bytes(*rows) != form.rows
            || Digest::of(content).bytes() != sum
        {
            return None;
        }
        let (mut firsts, mut filters) = (Vec::new(), Vec::new());
        for block in index.chunks_exact(KEY.plus(FILTER)) {
            let (first, filter) = block.split_first_chunk::<KEY>()?;
            firsts.push(Sha1(*first));
            filters.extend_from_slice(filter);
        }
        firsts.is_sorted_by(|a, b| a < b).then_some(Self { form, firsts, filters })
    }

    /// About how many bytes of memory it takes.
    #[must_use]
    pub fn memory(&self) -> u64 {
        len64(self.filters.len()).plus(len64(self.firsts.len()).times(len64(KEY)))
    }

    /// The block that has a text if any has; `None` when none has it.
    #[must_use]
    pub(crate) fn block_with(&self, sha1: &Sha1) -> Option<u64> {
        let block = self.firsts.partition_point(|first| first <= sha1).checked_sub(1)?;
        let filter = self.filters.tail(block.times(FILTER)).head(FILTER);
        let is_set = |(byte, mask): (usize, u8)| filter.get(byte).is_some_and(|b| b & mask != 0);
        bits(sha1).all(is_set).then_some(len64(block))
    }

    /// Looks for a text. `read` reads a range of the table, and is called once at most.
    ///
    /// # Errors
    /// Those of `read`.
    pub fn find<E>(
        &self,
        sha1: &Sha1,
        read: impl FnOnce(Range<u64>) -> Result<Vec<u8>, E>,
    ) -> Result<Lookup, E> {
        let Some(block) = self.block_with(sha1) else { return Ok(Lookup::Nothing) };
        let bytes = read(self.form.block(block))?;
        let rows = self.form.rows_of(block, &bytes).filter(|rows| {
            rows.first().map(|row| row.sha1) == self.firsts.get(clamped(block)).copied()
        });
        let Some(rows) = rows else { return Ok(Lookup::Damage) };
        let row = rows.into_iter().find(|row| row.sha1 == *sha1);
        Ok(row.map_or(Lookup::Nothing, Lookup::Row))
    }
}
