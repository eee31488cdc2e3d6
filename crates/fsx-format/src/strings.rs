//! String tables: the paths of a container, each once, with beginnings in common stored once.
//!
//! A table is a frame of packed data. It has sub-tables of up to 4,096 short and 4,096 long strings. A short string is
//! the beginning of another string of its sub-table, followed by a piece of the sub-table's data.

use crate::cursor::Cursor;
use crate::error::{Error, Result};
use crate::limits::STRING_LEN;
use crate::packed::{Coding, Ints, Packed};
use sapwood_core::Exact;
use sapwood_core::exact::signed;
use sapwood_core::len64;

/// Strings of each kind in a sub-table.
const PER_TABLE: usize = 1 << 12;
/// Bytes of the data of a sub-table: its offsets have 16 bits.
const DATA_LEN: usize = 0xffff - 8;
/// Bytes of a short string.
const SHORT_LEN: usize = 0x3fff;
/// Zero bytes behind the data of a sub-table, for 1.14 reads eight bytes at a time.
const PADDING: [u8; 8] = [0; 8];

/// A short string.
#[derive(Clone, Copy, Debug)]
struct Short {
    head: usize,
    head_len: usize,
    start: usize,
    len: usize,
}

#[derive(Clone, Debug, Default)]
struct SubTable {
    data: Vec<u8>,
    short: Vec<Short>,
    long: Vec<Box<[u8]>>,
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
pub struct StringTable(Vec<SubTable>);

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
        let packed = Packed::read(cursor)?;
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

    /// Appends a string that shares nothing with others, and returns its index.
    ///
    /// # Errors
    /// E160004 for more strings than indexes have room for.
    pub fn push(&mut self, string: &[u8]) -> Result<i64> {
        let fits = |table: &SubTable| match string.len() {
            0..=SHORT_LEN => {
                table.short.len() < PER_TABLE && table.data.len().plus(string.len()) <= DATA_LEN
            }
            _ => table.long.len() < PER_TABLE,
        };
        if !self.0.last().is_some_and(fits) {
            self.0.push(SubTable::default());
        }
        let number = self.0.len().minus(1);
        let table =
            self.0.last_mut().ok_or_else(|| Error::corrupt("String table without a table"))?;
        let at = if string.len() <= SHORT_LEN {
            let start = table.data.len();
            table.data.extend_from_slice(string);
            table.short.push(Short { head: 0, head_len: 0, start, len: string.len() });
            table.short.len().minus(1)
        } else {
            table.long.push(string.into());
            table.long.len().minus(1) | PER_TABLE
        };
        i64::try_from((number << 13) | at).map_err(|_| Error::corrupt("String table is full"))
    }

    /// Appends the table.
    ///
    /// # Errors
    /// As [`Packed::write`].
    pub fn write(&self, out: &mut Vec<u8>) -> std::io::Result<()> {
        let int = |len: usize| signed(len64(len));
        let mut sizes = Ints::new(Coding::Plain);
        sizes.push(int(self.0.len()));
        self.0.iter().for_each(|table| sizes.push(int(table.short.len())));
        self.0.iter().for_each(|table| sizes.push(int(table.long.len())));
        let mut headers =
            Ints::split(&[Coding::Delta, Coding::Plain, Coding::Delta, Coding::Plain]);
        for string in self.0.iter().flat_map(|table| &table.short) {
            let Short { head, head_len, start, len } = *string;
            [head, head_len, start, len].iter().for_each(|field| headers.push(int(*field)));
        }
        let long: Vec<Vec<u8>> =
            self.0.iter().flat_map(|table| &table.long).map(|s| [s, &b"\0"[..]].concat()).collect();
        let data: Vec<Vec<u8>> =
            self.0.iter().map(|table| [&table.data, &PADDING[..]].concat()).collect();
        let mut packed = Packed { ints: vec![sizes, headers], strings: Vec::new() };
        packed.push_strings(long.iter().map(Vec::as_slice));
        packed.push_strings(data.iter().map(Vec::as_slice));
        packed.write(out)
    }
}

fn short_of(header: [i64; 4]) -> Option<Short> {
    let [head, head_len, start, len] = header.map(|field| usize::try_from(field).ok());
    Some(Short { head: head?, head_len: head_len?, start: start?, len: len? })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn both_ways(table: &StringTable) -> StringTable {
        let mut bytes = Vec::new();
        table.write(&mut bytes).unwrap();
        let mut cursor = Cursor::new(&bytes, "test");
        let read = StringTable::read(&mut cursor).unwrap();
        cursor.finish().unwrap();
        read
    }

    #[test]
    fn many_strings_of_all_lengths() {
        let mut table = StringTable::default();
        let strings: Vec<Vec<u8>> = (0..5000)
            .map(|i| format!("/trunk/{i}").into_bytes())
            .chain([
                Vec::new(),
                vec![b'x'; SHORT_LEN],
                vec![b'y'; SHORT_LEN + 1],
                vec![b'z'; 70_000],
            ])
            .collect();
        let indexes: Vec<i64> = strings.iter().map(|s| table.push(s).unwrap()).collect();
        let read = both_ways(&table);
        for (index, string) in indexes.iter().zip(&strings) {
            assert_eq!(read.get(*index).as_ref(), Ok(string));
        }
        assert!(indexes.iter().any(|index| index >> 13 > 0), "more than one sub-table");
        assert!(read.get(-1).is_err());
        assert!(read.get(i64::MAX).is_err());
    }

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
        let table =
            StringTable(vec![SubTable { data: b"/trunkXYz".to_vec(), short, long: Vec::new() }]);
        let read = both_ways(&table);
        assert_eq!(read.get(1).unwrap(), b"/trunXY");
        assert_eq!(read.get(2).unwrap(), b"/trunXz");
        assert!(read.get(3).is_err(), "a circle");
    }
}
