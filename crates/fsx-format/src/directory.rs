//! Directories: the list that a directory's text is, and the incremental form in transactions.
//!
//! A count, then for each entry its name, a NUL, one byte for the kind, and the identifier of the node-revision. Numbers have
//! their highest bits first. In a transaction changes are appended to an empty list: an entry whose change set is
//! none stands for a removed name, and later entries replace earlier ones.

use std::collections::BTreeMap;

use sapwood_core::{NodeKind, len64, rawname};

use crate::cursor::{Cursor, put_big, zigzag};
use crate::error::{Error, Result};
use crate::id::{ChangeSet, Id};

/// One entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The name, one path component.
    pub name: Box<str>,
    /// File or directory.
    pub kind: NodeKind,
    /// The node-revision.
    pub id: Id,
}

fn read_entry(cursor: &mut Cursor<'_>) -> Result<Entry> {
    let name = cursor.until_nul()?;
    let text = rawname::from_bytes(name).filter(|name| !name.is_empty() && !name.contains('/'));
    let name = text.ok_or_else(|| {
        Error::corrupt(format!("Directory entry with the malformed name '{}'", name.escape_ascii()))
    })?;
    let kind = match cursor.take(1)? {
        [1] => NodeKind::File,
        [2] => NodeKind::Dir,
        _ => return Err(Error::corrupt(format!("Directory entry '{name}' of no known kind"))),
    };
    let change_set = ChangeSet::from_disk(cursor.big_signed()?);
    Ok(Entry { name: name.into(), kind, id: Id { change_set, number: cursor.big()? } })
}

/// Parses the text of a directory of a revision: all entries, in the order of their names.
///
/// # Errors
/// E160004 when it is malformed, not in order, or has an entry without a node-revision.
pub fn parse(bytes: &[u8]) -> Result<Vec<Entry>> {
    let mut cursor = Cursor::new(bytes, "directory");
    let count = cursor.big()?;
    let mut entries: Vec<Entry> = Vec::new();
    for _ in 0..count {
        let entry = read_entry(&mut cursor)?;
        if entry.id.change_set == ChangeSet::None {
            return Err(Error::corrupt(format!("Directory entry '{}' without a node", entry.name)));
        }
        if entries.last().is_some_and(|before| *before.name >= *entry.name) {
            return Err(Error::corrupt(format!("Directory entry '{}' out of order", entry.name)));
        }
        entries.push(entry);
    }
    cursor.finish()?;
    Ok(entries)
}

/// Appends the text of a directory. `entries` are in the order of their names.
///
/// # Errors
/// E160004 for an identifier that has no form on disk.
pub fn write(entries: &[Entry], out: &mut Vec<u8>) -> Result<()> {
    put_big(out, len64(entries.len()));
    entries.iter().try_for_each(|entry| write_entry(&entry.name, Some((entry.kind, entry.id)), out))
}

/// Appends one entry; `None` stands for a removed name, in transactions.
///
/// # Errors
/// E160004 for an identifier that has no form on disk.
pub fn write_entry(name: &str, node: Option<(NodeKind, Id)>, out: &mut Vec<u8>) -> Result<()> {
    let (kind, id) =
        node.unwrap_or((NodeKind::File, Id { change_set: ChangeSet::None, number: 0 }));
    let change_set = id.change_set.to_disk();
    let change_set = change_set.ok_or_else(|| Error::corrupt("Change set out of range"))?;
    out.extend_from_slice(&rawname::to_bytes(name));
    out.push(0);
    out.push(if kind == NodeKind::File { 1 } else { 2 });
    put_big(out, zigzag(change_set));
    put_big(out, id.number);
    Ok(())
}

/// Parses the file of a directory that a transaction changed: the entries that are there now.
///
/// # Errors
/// E160004 when it is malformed.
pub fn parse_changed(bytes: &[u8]) -> Result<Vec<Entry>> {
    let mut cursor = Cursor::new(bytes, "directory of a transaction");
    // The count is that of the list that the file began with; changes follow it.
    cursor.big()?;
    let mut entries = BTreeMap::new();
    while !cursor.is_at_end() {
        let entry = read_entry(&mut cursor)?;
        match entry.id.change_set {
            ChangeSet::None => entries.remove(&entry.name),
            ChangeSet::Revision(_) | ChangeSet::Txn(_) => entries.insert(entry.name.clone(), entry),
        };
    }
    Ok(entries.into_values().collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use sapwood_core::Revnum;

    fn entry(name: &str, number: u64) -> Entry {
        let id = Id { change_set: ChangeSet::Revision(Revnum(300)), number };
        Entry { name: name.into(), kind: NodeKind::File, id }
    }

    #[test]
    fn both_ways() {
        let entries = [entry("a", 4), Entry { kind: NodeKind::Dir, ..entry("b", 1 << 40) }];
        let mut bytes = Vec::new();
        write(&entries, &mut bytes).unwrap();
        assert_eq!(parse(&bytes).as_deref(), Ok(&entries[..]));
        assert!(parse(&bytes[..bytes.len() - 1]).is_err());
    }

    #[test]
    fn malformed_ones_are_refused() {
        for entries in [
            [entry("b", 4), entry("a", 5)],
            [entry("a", 4), entry("a", 5)],
            [entry("a/b", 4), entry("c", 4)],
        ] {
            let mut bytes = Vec::new();
            write(&entries, &mut bytes).unwrap();
            assert!(parse(&bytes).is_err(), "{entries:?}");
        }
    }

    #[test]
    fn changes_of_a_transaction() {
        let mut bytes = vec![0];
        write_entry("a", Some((NodeKind::File, Id::ROOT)), &mut bytes).unwrap();
        write_entry("b", Some((NodeKind::Dir, Id::ROOT)), &mut bytes).unwrap();
        write_entry("a", None, &mut bytes).unwrap();
        write_entry("b", Some((NodeKind::File, Id::ROOT)), &mut bytes).unwrap();
        let left = parse_changed(&bytes).unwrap();
        assert_eq!(left, [Entry { name: "b".into(), kind: NodeKind::File, id: Id::ROOT }]);
    }
}
