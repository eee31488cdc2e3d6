//! Just enough of SQLite's file format to read the rows of one table of small rows, in the order
//! in which SQLite itself walks them, without taking locks.
//!
//! Every number from the file is checked against the file before use; the number of pages that a
//! walk may visit is that of the file, so that a cycle ends.

use std::io::{Error, ErrorKind, Result};
use std::sync::Arc;

use crate::storage::StoredFile;

/// What a database begins with.
const MAGIC: &[u8] = b"SQLite format 3\0";
/// Bytes of the header, which lies on the first page.
const HEADER_LEN: usize = 100;

/// A value of a row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Value<'a> {
    Null,
    Int(i64),
    Text(&'a [u8]),
    /// Floating-point numbers and blobs, which no table of ours has.
    Other,
}

/// A database file.
#[derive(Debug)]
pub(super) struct Database {
    file: Arc<dyn StoredFile>,
    page_size: usize,
    /// Bytes of a page that are in use.
    usable: usize,
    pages: u64,
}

fn corrupt() -> Error {
    Error::new(ErrorKind::InvalidData, "database disk image is malformed")
}

fn be16(bytes: &[u8], at: usize) -> Option<usize> {
    let bytes = bytes.get(at..)?.first_chunk::<2>()?;
    Some(usize::from(u16::from_be_bytes(*bytes)))
}

fn be32(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..)?.first_chunk::<4>().map(|b| u32::from_be_bytes(*b))
}

/// Takes a number of one to nine bytes, the highest seven bits first.
fn varint(rest: &mut &[u8]) -> Option<u64> {
    let mut value = 0u64;
    for place in 0..9 {
        let (byte, after) = rest.split_first()?;
        *rest = after;
        if place == 8 {
            return Some((value << 8) | u64::from(*byte));
        }
        value = (value << 7) | u64::from(byte & 0x7f);
        if *byte < 0x80 {
            break;
        }
    }
    Some(value)
}

impl Database {
    pub(super) fn open(file: Arc<dyn StoredFile>) -> Result<Self> {
        let mut header = [0; HEADER_LEN];
        read_full(&*file, &mut header, 0)?;
        if !header.starts_with(MAGIC) {
            return Err(Error::new(ErrorKind::InvalidData, "file is not a database"));
        }
        let page_size = match be16(&header, 16) {
            Some(1) => 65536,
            Some(size) if size >= 512 && size.is_power_of_two() => size,
            _ => return Err(corrupt()),
        };
        let reserved = header.get(20).copied().map_or(0, usize::from);
        let usable = page_size.checked_sub(reserved).filter(|n| *n >= 480).ok_or_else(corrupt)?;
        let step = u64::try_from(page_size).map_err(|_| corrupt())?;
        Ok(Self { pages: file.len()?.div_ceil(step), file, page_size, usable })
    }

    /// The number that changes with every change of the file.
    pub(super) fn change_counter(&self) -> Result<u32> {
        let mut bytes = [0; 4];
        read_full(&*self.file, &mut bytes, 24)?;
        Ok(u32::from_be_bytes(bytes))
    }

    fn page(&self, number: u32) -> Result<Vec<u8>> {
        let at = u64::from(number).checked_sub(1).filter(|at| *at < self.pages);
        let step = u64::try_from(self.page_size).map_err(|_| corrupt())?;
        let at = at.and_then(|at| at.checked_mul(step)).ok_or_else(corrupt)?;
        let mut bytes = vec![0; self.page_size];
        read_full(&*self.file, &mut bytes, at)?;
        Ok(bytes)
    }

    /// Calls `row` with the values of every row of `table`. `None` when there is no such table.
    pub(super) fn rows(
        &self,
        table: &str,
        row: &mut dyn FnMut(&[Value<'_>]) -> Result<()>,
    ) -> Result<Option<()>> {
        let mut root = None;
        self.walk(1, &mut |values| {
            if let [Value::Text(b"table"), Value::Text(name), _, Value::Int(page), ..] = values
                && *name == table.as_bytes()
            {
                root = Some(u32::try_from(*page).map_err(|_| corrupt())?);
            }
            Ok(())
        })?;
        match root {
            None => Ok(None),
            Some(root) => self.walk(root, row).map(Some),
        }
    }

    /// Visits a tree in order: a table's, or that of a table without row numbers, whose inner
    /// pages hold rows too.
    fn walk(&self, root: u32, row: &mut dyn FnMut(&[Value<'_>]) -> Result<()>) -> Result<()> {
        let mut visited = 0;
        let mut stack: Vec<(Tree, usize)> = Vec::new();
        let mut next = Some(root);
        loop {
            if let Some(number) = next.take() {
                visited += 1;
                if visited > self.pages {
                    return Err(corrupt());
                }
                stack.push((Tree::parse(self.page(number)?, number)?, 0));
            }
            let Some((tree, step)) = stack.last_mut() else { return Ok(()) };
            let now = *step;
            *step = step.saturating_add(1);
            // Inner pages have a child, then a row where rows lie in inner pages, and so on.
            let (cell, child_turn) =
                if tree.inner { (now / 2, now.is_multiple_of(2)) } else { (now, false) };
            if cell > tree.cells || (cell == tree.cells && !child_turn) {
                stack.pop();
            } else if child_turn {
                next = Some(tree.child(cell).ok_or_else(corrupt)?);
            } else if let Some(payload) = tree.payload(cell, self.usable).ok_or_else(corrupt)? {
                row(&record(payload).ok_or_else(corrupt)?)?;
            }
        }
    }
}

fn read_full(file: &dyn StoredFile, mut buf: &mut [u8], mut offset: u64) -> Result<()> {
    while !buf.is_empty() {
        match file.read_at(buf, offset) {
            Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
            Ok(n) => {
                buf = buf.get_mut(n..).unwrap_or_default();
                offset = offset.saturating_add(u64::try_from(n).unwrap_or(u64::MAX));
            }
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(())
}

/// One page of a tree.
struct Tree {
    bytes: Vec<u8>,
    /// Where the array of the cells' places begins.
    array: usize,
    cells: usize,
    inner: bool,
    /// Whether the tree is a table with row numbers.
    numbered: bool,
    last_child: u32,
}

impl Tree {
    fn parse(bytes: Vec<u8>, number: u32) -> Result<Self> {
        let start = if number == 1 { HEADER_LEN } else { 0 };
        let (inner, numbered) = match bytes.get(start) {
            Some(2) => (true, false),
            Some(5) => (true, true),
            Some(10) => (false, false),
            Some(13) => (false, true),
            _ => return Err(corrupt()),
        };
        let cells = be16(&bytes, start.saturating_add(3)).ok_or_else(corrupt)?;
        let last_child = match inner {
            true => be32(&bytes, start.saturating_add(8)).ok_or_else(corrupt)?,
            false => 0,
        };
        let array = start.saturating_add(if inner { 12 } else { 8 });
        Ok(Self { bytes, array, cells, inner, numbered, last_child })
    }

    fn cell(&self, at: usize) -> Option<&[u8]> {
        let place = be16(&self.bytes, self.array.checked_add(at.checked_mul(2)?)?)?;
        self.bytes.get(place..)
    }

    fn child(&self, at: usize) -> Option<u32> {
        if at == self.cells {
            return Some(self.last_child);
        }
        be32(self.cell(at)?, 0)
    }

    /// The row in a cell: `Some(None)` where a cell holds none.
    #[allow(clippy::option_option, reason = "damaged, no row, a row")]
    fn payload(&self, at: usize, usable: usize) -> Option<Option<&[u8]>> {
        let mut rest = self.cell(at)?;
        if self.inner {
            if self.numbered {
                return Some(None);
            }
            rest = rest.get(4..)?;
        }
        let len = usize::try_from(varint(&mut rest)?).ok()?;
        // Rows that go on in other pages are far larger than any of the tables read here.
        let limit = match self.numbered {
            true => usable.checked_sub(35)?,
            false => usable.checked_sub(12)?.checked_mul(64)?.checked_div(255)?.checked_sub(23)?,
        };
        if len > limit {
            return None;
        }
        if self.numbered {
            varint(&mut rest)?;
        }
        rest.get(..len).map(Some)
    }
}

/// The values of a row.
fn record(payload: &[u8]) -> Option<Vec<Value<'_>>> {
    let mut types = payload;
    let header_len = usize::try_from(varint(&mut types)?).ok()?;
    let used = payload.len().checked_sub(types.len())?;
    let mut types = types.get(..header_len.checked_sub(used)?)?;
    let mut body = payload.get(header_len..)?;
    let mut values = Vec::new();
    while !types.is_empty() {
        let kind = varint(&mut types)?;
        let len = match kind {
            0 | 8 | 9 => 0,
            1..=4 => kind,
            5 => 6,
            6 | 7 => 8,
            10 | 11 => return None,
            _ => kind.checked_sub(12)?.checked_div(2)?,
        };
        let (bytes, rest) = body.split_at_checked(usize::try_from(len).ok()?)?;
        body = rest;
        values.push(match kind {
            0 => Value::Null,
            8 => Value::Int(0),
            9 => Value::Int(1),
            1..=6 => Value::Int(signed(bytes)),
            _ if kind > 12 && kind % 2 == 1 => Value::Text(bytes),
            _ => Value::Other,
        });
    }
    Some(values)
}

fn signed(bytes: &[u8]) -> i64 {
    let start = match bytes.first() {
        Some(first) if *first >= 0x80 => -1i64,
        _ => 0,
    };
    bytes.iter().fold(start, |value, byte| (value << 8) | i64::from(*byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers() {
        for (bytes, want) in [(&[0x7f][..], 127), (&[0x81, 0x00], 128), (&[0xff; 9], u64::MAX)] {
            let mut rest = bytes;
            assert_eq!(varint(&mut rest), Some(want));
            assert!(rest.is_empty());
        }
        assert_eq!(varint(&mut &[0x80][..]), None);
        for (bytes, want) in [(&[0xff][..], -1), (&[0x01, 0x00], 256), (&[0x80, 0, 0], -8_388_608)]
        {
            assert_eq!(signed(bytes), want);
        }
    }

    #[test]
    fn rows_of_all_types() {
        let payload = [6, 0, 1, 8, 9, 17, 0xfe, b'a', b'b'];
        let values = record(&payload).unwrap();
        let want = [Value::Null, Value::Int(-2), Value::Int(0), Value::Int(1), Value::Text(b"ab")];
        assert_eq!(values, want);
        for len in 0..payload.len() {
            assert!(record(&payload[..len]).is_none(), "{len}");
        }
    }
}
