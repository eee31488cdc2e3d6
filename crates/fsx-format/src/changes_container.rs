//! Containers of change lists: those of many revisions of a packed shard.

use std::borrow::Borrow;

use sapwood_core::{Exact, NodeKind, Revnum, rawname};

use crate::changes::{Change, ChangeKind};
use crate::cursor::Cursor;
use crate::error::{Error, Result};
use crate::packed::{Coding, Ints, PackedFrame};
use crate::string_builder::StringTableBuilder;
use crate::strings::StringTable;
use crate::text_path::canonical;

/// A container of change lists.
#[derive(Clone, Debug)]
pub struct ChangesContainer {
    paths: StringTable,
    packed: PackedFrame,
}

const TEXT: i64 = 1;
const PROPS: i64 = 2;
const MERGEINFO: i64 = 4;

/// Flags, path, revision and path of the source.
type Record = [i64; 4];

impl ChangesContainer {
    /// Bytes of memory that it takes.
    #[must_use]
    pub fn byte_len(&self) -> usize {
        self.paths.byte_len().plus(self.packed.byte_len())
    }

    /// Reads a whole container.
    ///
    /// # Errors
    /// E160004 when it is malformed.
    pub fn read(bytes: &[u8]) -> Result<Self> {
        let mut cursor = Cursor::new(bytes, "container of changes");
        let paths = StringTable::read(&mut cursor)?;
        let packed = PackedFrame::read(&mut cursor)?;
        cursor.finish()?;
        Ok(Self { paths, packed })
    }

    /// How many lists there are.
    ///
    /// # Errors
    /// E160004 when it is malformed.
    pub fn len(&self) -> Result<usize> {
        Ok(self.packed.ints(0)?.len().minus(1))
    }

    /// Whether there is no list.
    ///
    /// # Errors
    /// E160004 when it is malformed.
    pub fn is_empty(&self) -> Result<bool> {
        Ok(self.len()? == 0)
    }

    /// The list at a position.
    ///
    /// # Errors
    /// E160004 when there is none, or when it is malformed.
    pub fn get(&self, at: usize) -> Result<Vec<Change>> {
        let (offsets, records) = (self.packed.ints(0)?, self.packed.ints(1)?);
        let offset = |at: usize| offsets.get(at).and_then(|offset| usize::try_from(offset).ok());
        let range = offset(at).zip(at.checked_add(1).and_then(offset));
        let (start, end) = range
            .filter(|(start, end)| start <= end)
            .ok_or_else(|| Error::corrupt(format!("Container of changes has no list {at}")))?;
        (start..end).map(|at| self.change(records.record(at))).collect()
    }

    fn change(&self, record: Option<Record>) -> Result<Change> {
        let [flags, path_index, source_revision, source] =
            record.ok_or(Error::UnexpectedEnd("container of changes"))?;
        let wrong = || Error::corrupt("Invalid change in container");
        let path = |index: i64| canonical(&self.paths.get(index)?).ok_or_else(wrong);
        let node_kind = match (flags >> 3) & 3 {
            1 => NodeKind::File,
            2 => NodeKind::Dir,
            _ => return Err(wrong()),
        };
        let kind = match (flags >> 5) & 3 {
            0 => ChangeKind::Modify,
            1 => ChangeKind::Add,
            2 => ChangeKind::Delete,
            _ => ChangeKind::Replace,
        };
        let copy_from = match u64::try_from(source_revision) {
            Ok(revision) => Some((Revnum(revision), path(source)?)),
            Err(_) => None,
        };
        let has = |flag: i64| flags & flag != 0;
        let (text, props, mergeinfo) = (has(TEXT), has(PROPS), has(MERGEINFO));
        Ok(Change { path: path(path_index)?, kind, node_kind, text, props, mergeinfo, copy_from })
    }

    /// Appends a container of these lists.
    ///
    /// # Errors
    /// E160004 for more paths or larger revisions than the format has room for.
    pub fn write(lists: &[impl Borrow<Vec<Change>>], out: &mut Vec<u8>) -> Result<()> {
        let mut paths = StringTableBuilder::default();
        let mut offsets = Ints::new(Coding::Delta);
        let codings = [Coding::Delta, Coding::Delta, Coding::SignedDelta, Coding::Delta];
        let mut records = Ints::split(&codings);
        offsets.push(0);
        let mut end = 0i64;
        for list in lists {
            for change in list.borrow() {
                records.push_record(record_of(change, &mut paths)?);
                end += 1;
            }
            offsets.push(end);
        }
        let packed = PackedFrame { ints: vec![offsets, records], strings: Vec::new() };
        let failed = |error: std::io::Error| Error::corrupt(error.to_string());
        paths.write(out).map_err(failed)?;
        packed.write(out).map_err(failed)
    }
}

fn record_of(change: &Change, paths: &mut StringTableBuilder) -> Result<Record> {
    let flag = |is_set: bool, flag: i64| if is_set { flag } else { 0 };
    let node_kind = if change.node_kind == NodeKind::File { 1 } else { 2 };
    let kind = match change.kind {
        ChangeKind::Modify => 0,
        ChangeKind::Add => 1,
        ChangeKind::Delete => 2,
        ChangeKind::Replace => 3,
    };
    let flags = flag(change.text, TEXT)
        | flag(change.props, PROPS)
        | flag(change.mergeinfo, MERGEINFO)
        | (node_kind << 3)
        | (kind << 5);
    let path = paths.push(&rawname::to_bytes(&change.path))?;
    let source = match &change.copy_from {
        None => (-1, 0),
        Some((revision, source)) => {
            let revision = i64::try_from(revision.0);
            let revision = revision.map_err(|_| Error::corrupt("Revision out of range"))?;
            (revision, paths.push(&rawname::to_bytes(source))?)
        }
    };
    Ok([flags, path, source.0, source.1])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ways() {
        let change = |path: &str, kind, copy_from| Change {
            path: path.into(),
            kind,
            node_kind: NodeKind::File,
            text: true,
            props: false,
            mergeinfo: true,
            copy_from,
        };
        let lists = [
            vec![
                change("/a", ChangeKind::Add, Some((Revnum(7), "/b".into()))),
                change("/c", ChangeKind::Delete, None),
            ],
            vec![],
            vec![Change { node_kind: NodeKind::Dir, ..change("/d", ChangeKind::Replace, None) }],
        ];
        let mut bytes = Vec::new();
        ChangesContainer::write(&lists, &mut bytes).unwrap();
        let container = ChangesContainer::read(&bytes).unwrap();
        assert_eq!(container.len(), Ok(3));
        for (at, list) in lists.iter().enumerate() {
            assert_eq!(container.get(at).as_ref(), Ok(list));
        }
        assert!(container.get(3).is_err());
        assert!(ChangesContainer::read(&bytes[..bytes.len() - 1]).is_err());
    }
}
