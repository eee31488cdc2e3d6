//! String tables: the paths of a container, each once, with beginnings in common stored once.
//!
//! A table is a frame of packed data. It has sub-tables of up to 4,096 short and 4,096 long strings. A short string is
//! the beginning of another string of its sub-table, followed by a piece of the sub-table's data.

use crate::cursor::Cursor;
use crate::error::{Error, Result};
use crate::limits::STRING_LEN;
use crate::packed::PackedFrame;
use sapwood_core::Exact;

/// Strings of each kind in a sub-table.
pub(crate) const PER_TABLE: usize = 1 << 12;

/// A short string.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Short {
    /// The string that it begins as, and for how many bytes.
    pub(crate) head: usize,
    pub(crate) head_len: usize,
    /// The rest, in the data of the sub-table.
    pub(crate) start: usize,
    pub(crate) len: usize,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct SubTable {
    pub(crate) data: Vec<u8>,
    pub(crate) short: Vec<Short>,
    pub(crate) long: Vec<Box<[u8]>>,
}

impl SubTable {
    fn short(&self, at: usize) -> Option<Vec<u8>> {
        let mut string = *self.short.get(at)?;
        let mut wanted =
            string.head_len.checked_add(string.len).filter(|len| *len <= STRING_LEN)?;
        let mut whole = vec![0; wanted];
        // Each step fills in the end of what is missing. Heads that form a circle end at the number of strings.
        for _ in 0..=self.short.len() {
            let tail = whole.get_mut(string.head_len.min(wanted)..wanted)?;
            let start = string.start;
            tail.copy_from_slice(self.data.get(start..start.checked_add(tail.len())?)?);
            wanted = string.head_len.min(wanted);
            if wanted == 0 {
                return Some(whole);
            }
            string = *self.short.get(string.head)?;
        }
        None
    }
}

/// A table of strings.
#[derive(Clone, Debug, Default)]
pub struct StringTable(pub(crate) Vec<SubTable>);

impl StringTable {
    /// Bytes of memory that it takes.
    #[must_use]
    pub fn byte_len(&self) -> usize {
        let table = |table: &SubTable| {
            let long = table.long.iter().map(|text| text.len()).sum::<usize>();
            table.data.len().plus(table.short.len().times(size_of::<Short>())).plus(long)
        };
        self.0.iter().map(table).sum()
    }

    /// Reads the table that the cursor is at.
    ///
    /// # Errors
    /// E160004 when it is malformed.
    pub fn read(cursor: &mut Cursor<'_>) -> Result<Self> {
        let packed = PackedFrame::read(cursor)?;
        let short = || Error::UnexpectedEnd("string table");
        let (sizes, headers) = (packed.ints(0)?, packed.ints(1)?);
        let (long, data) = (packed.strings(0)?, packed.strings(1)?);
        let size =
            |at: usize| sizes.get(at).and_then(|size| usize::try_from(size).ok()).ok_or_else(short);
        let count = size(0)?;
        if count > data.len() {
            return Err(short());
        }
        let (mut tables, mut next_short, mut next_long) = (Vec::new(), 0usize, 0usize);
        for at in 0..count {
            let shorts = size(at.plus(1))?;
            let longs = size(at.plus(1).plus(count))?;
            let data = data.get(at).ok_or_else(short)?.to_vec();
            let mut table = SubTable { data, ..SubTable::default() };
            for _ in 0..shorts {
                let header = headers.record::<4>(next_short).ok_or_else(short)?;
                table.short.push(short_of(header).ok_or_else(short)?);
                next_short = next_short.plus(1);
            }
            for _ in 0..longs {
                let string = long.get(next_long).ok_or_else(short)?;
                let string = string.strip_suffix(b"\0").ok_or_else(short)?;
                table.long.push(string.into());
                next_long = next_long.plus(1);
            }
            tables.push(table);
        }
        Ok(Self(tables))
    }

    /// The string of an index.
    ///
    /// # Errors
    /// E160004 when there is none.
    pub fn get(&self, index: i64) -> Result<Vec<u8>> {
        let find = || {
            let index = usize::try_from(index).ok()?;
            let (table, at) = (self.0.get(index >> 13)?, index & (PER_TABLE - 1));
            match index & PER_TABLE {
                0 => table.short(at),
                _ => table.long.get(at).map(|string| string.to_vec()),
            }
        };
        find().ok_or_else(|| Error::corrupt(format!("String table has no string {index}")))
    }
}

fn short_of(header: [i64; 4]) -> Option<Short> {
    let [head, head_len, start, len] = header.map(|field| usize::try_from(field).ok());
    Some(Short { head: head?, head_len: head_len?, start: start?, len: len? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_are_joined_and_circles_refused() {
        let short = |head, head_len, start, len| Short { head, head_len, start, len };
        let short = vec![
            short(0, 0, 0, 6),
            short(0, 5, 6, 2),
            short(1, 6, 8, 1),
            short(4, 3, 0, 1),
            short(3, 3, 0, 1),
        ];
        let table = SubTable { data: b"/trunkXYz".to_vec(), short, long: Vec::new() };
        assert_eq!(table.short(1).unwrap(), b"/trunXY");
        assert_eq!(table.short(2).unwrap(), b"/trunXz");
        assert!(table.short(3).is_none(), "a circle");
    }
}
