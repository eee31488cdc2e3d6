//! Makes string tables: each string is there once, as the beginning of one before it and a rest.
//!
//! The beginnings are found by looking at the string before, and at those that it begins as: paths come in an order in which
//! neighbours are alike. No string needs more than [`DEPTH`] others.

use std::collections::HashMap;

use sapwood_core::common::common_prefix;
use sapwood_core::exact::signed;
use sapwood_core::{Cut, Exact, len64};

use crate::error::{Error, Result};
use crate::packed::{Coding, Ints, PackedFrame};
use crate::strings::{PER_TABLE, Short, StringTable, SubTable};

/// Bytes of the data of a sub-table: its offsets have 16 bits.
const DATA_LEN: usize = 0xffff - 8;
/// Bytes of a short string.
const SHORT_LEN: usize = 0x3fff;
/// Zero bytes behind the data of a sub-table, for 1.14 reads eight bytes at a time.
const PADDING: [u8; 8] = [0; 8];
/// How many strings are put together for one, at most.
const DEPTH: usize = 32;

/// Collects strings into a table.
#[derive(Debug, Default)]
pub struct StringTableBuilder {
    table: StringTable,
    /// The indexes of all strings.
    indexes: HashMap<Box<[u8]>, i64>,
    /// The last string, if it is a short one of the last sub-table.
    last: Vec<u8>,
    /// The strings that the last one is made of, itself last: their positions in the sub-table.
    chain: Vec<usize>,
}

impl StringTableBuilder {
    /// The index of a string, which is added unless it is there.
    ///
    /// # Errors
    /// E160004 for more strings than indexes have room for.
    pub fn push(&mut self, string: &[u8]) -> Result<i64> {
        if let Some(index) = self.indexes.get(string) {
            return Ok(*index);
        }
        let fits = |table: &SubTable| match string.len() {
            0..=SHORT_LEN => {
                table.short.len() < PER_TABLE && table.data.len().plus(string.len()) <= DATA_LEN
            }
            _ => table.long.len() < PER_TABLE,
        };
        if !self.table.0.last().is_some_and(fits) {
            self.table.0.push(SubTable::default());
            self.chain.clear();
        }
        let number = self.table.0.len().minus(1);
        let full = || Error::corrupt("String table is full");
        let table = self.table.0.last_mut().ok_or_else(full)?;
        let at = if string.len() <= SHORT_LEN {
            let (head, head_len) = head_of(string, &self.last, &mut self.chain, &table.short);
            let rest = string.tail(head_len);
            let start = table.data.len();
            table.data.extend_from_slice(rest);
            table.short.push(Short { head, head_len, start, len: rest.len() });
            let at = table.short.len().minus(1);
            self.chain.push(at);
            self.last.clear();
            self.last.extend_from_slice(string);
            at
        } else {
            table.long.push(string.into());
            table.long.len().minus(1) | PER_TABLE
        };
        let index = i64::try_from((number << 13) | at).map_err(|_| full())?;
        self.indexes.insert(string.into(), index);
        Ok(index)
    }

    /// Appends the table.
    ///
    /// # Errors
    /// As [`PackedFrame::write`].
    pub fn write(&self, out: &mut Vec<u8>) -> std::io::Result<()> {
        let int = |len: usize| signed(len64(len));
        let mut sizes = Ints::new(Coding::Plain);
        sizes.push(int(self.table.0.len()));
        self.table.0.iter().for_each(|table| sizes.push(int(table.short.len())));
        self.table.0.iter().for_each(|table| sizes.push(int(table.long.len())));
        let mut headers =
            Ints::split(&[Coding::Delta, Coding::Plain, Coding::Delta, Coding::Plain]);
        for string in self.table.0.iter().flat_map(|table| &table.short) {
            let Short { head, head_len, start, len } = *string;
            headers.push_record([head, head_len, start, len].map(int));
        }
        let long: Vec<Vec<u8>> = self
            .table
            .0
            .iter()
            .flat_map(|table| &table.long)
            .map(|s| [s, &b"\0"[..]].concat())
            .collect();
        let data: Vec<Vec<u8>> =
            self.table.0.iter().map(|table| [&table.data, &PADDING[..]].concat()).collect();
        let mut packed = PackedFrame { ints: vec![sizes, headers], strings: Vec::new() };
        packed.push_strings(long.iter().map(Vec::as_slice));
        packed.push_strings(data.iter().map(Vec::as_slice));
        packed.write(out)
    }
}

/// The string that `string` is to begin as, and for how many bytes: the last one, or one of those that it is made of. `chain` keeps
/// what the new string is made of.
fn head_of(
    string: &[u8],
    last: &[u8],
    chain: &mut Vec<usize>,
    strings: &[Short],
) -> (usize, usize) {
    let common = common_prefix(string, last);
    // Where a string takes as much from another, that one has it.
    let is_needless = |at: &usize| strings.get(*at).is_some_and(|short| short.head_len >= common);
    while chain.last().is_some_and(is_needless) {
        chain.pop();
    }
    match chain.last() {
        Some(head) if common > 0 && chain.len() < DEPTH => (*head, common),
        _ => {
            chain.clear();
            (0, 0)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cursor::Cursor;

    fn both_ways(builder: &StringTableBuilder) -> StringTable {
        let mut bytes = Vec::new();
        builder.write(&mut bytes).unwrap();
        let mut cursor = Cursor::new(&bytes, "test");
        let read = StringTable::read(&mut cursor).unwrap();
        cursor.finish().unwrap();
        read
    }

    #[test]
    fn many_strings_of_all_lengths() {
        let mut table = StringTableBuilder::default();
        let strings: Vec<Vec<u8>> = (0..5000)
            .map(|i| format!("/trunk/{}/{i}", i * 7 % 100).into_bytes())
            .chain([
                Vec::new(),
                vec![b'x'; SHORT_LEN],
                vec![b'y'; SHORT_LEN + 1],
                vec![b'z'; 70_000],
            ])
            .collect();
        let indexes: Vec<i64> = strings.iter().map(|s| table.push(s).unwrap()).collect();
        let again: Vec<i64> = strings.iter().map(|s| table.push(s).unwrap()).collect();
        assert_eq!(indexes, again, "each is there once");
        let read = both_ways(&table);
        for (index, string) in indexes.iter().zip(&strings) {
            assert_eq!(read.get(*index).as_ref(), Ok(string));
        }
        assert!(indexes.iter().any(|index| index >> 13 > 0), "more than one sub-table");
        assert!(read.get(-1).is_err());
        assert!(read.get(i64::MAX).is_err());
    }

    #[test]
    fn beginnings_are_shared() {
        let mut table = StringTableBuilder::default();
        for path in ["/trunk/a/one", "/trunk/a/two", "/trunk/b", "/trunk/b/c", "/tags"] {
            table.push(path.as_bytes()).unwrap();
        }
        assert_eq!(table.table.0[0].data, b"/trunk/a/onetwob/cags");
        // Each is the beginning of the next: the chain of none is too long.
        let mut table = StringTableBuilder::default();
        let strings: Vec<Vec<u8>> = (1..=100).map(|len| vec![b'a'; len]).collect();
        let indexes: Vec<i64> = strings.iter().map(|s| table.push(s).unwrap()).collect();
        let read = both_ways(&table);
        for (index, string) in indexes.iter().zip(&strings) {
            assert_eq!(read.get(*index).as_ref(), Ok(string));
        }
        assert_eq!(table.table.0[0].short.iter().filter(|short| short.head_len == 0).count(), 4);
    }
}
