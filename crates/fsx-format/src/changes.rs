//! Changed paths of a revision, as text: the form in revision files and transactions.
//!
//! Each change is a line `ACTION-KIND TEXT PROPS MERGEINFO PATH` and a line `REV PATH` for the source of a copy, which is empty
//! when there is none. An empty line ends the list in a revision file.

use sapwood_core::{Exact, NodeKind, Revnum};

use crate::error::{Error, Result};
use crate::text_path::{escape_path, rev_and_path, unescape_path};

/// What was done to a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeKind {
    /// Its text or properties were changed.
    Modify,
    /// It was added.
    Add,
    /// It was deleted.
    Delete,
    /// It was deleted, and another one was added.
    Replace,
}

impl ChangeKind {
    const WORDS: [(Self, &'static str); 4] = [
        (Self::Add, "add"),
        (Self::Delete, "delete"),
        (Self::Replace, "replace"),
        (Self::Modify, "modify"),
    ];
}

/// One changed path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The path.
    pub path: Box<str>,
    /// What was done.
    pub kind: ChangeKind,
    /// File or directory.
    pub node_kind: NodeKind,
    /// Whether the text was changed.
    pub text: bool,
    /// Whether properties were changed.
    pub props: bool,
    /// Whether `svn:mergeinfo` was changed.
    pub mergeinfo: bool,
    /// The source of a copy.
    pub copy_from: Option<(Revnum, Box<str>)>,
}

/// Parses a list with the empty line that ends it; also how many bytes it took.
///
/// # Errors
/// E160004 when it is malformed.
pub fn parse(bytes: &[u8]) -> Result<(Vec<Change>, usize)> {
    let mut rest = bytes;
    let mut changes = Vec::new();
    loop {
        let line = take_line(&mut rest)?;
        if line.is_empty() {
            return Ok((changes, bytes.len().minus(rest.len())));
        }
        changes.push(one(line, take_line(&mut rest)?)?);
    }
}

/// Parses the file of a transaction, which has no empty line at its end: all changes, in the order in which they were made.
///
/// # Errors
/// E160004 when it is malformed.
pub fn parse_txn(bytes: &[u8]) -> Result<Vec<Change>> {
    let mut rest = bytes;
    let mut changes = Vec::new();
    while !rest.is_empty() {
        changes.push(one(take_line(&mut rest)?, take_line(&mut rest)?)?);
    }
    Ok(changes)
}

fn take_line<'a>(rest: &mut &'a [u8]) -> Result<&'a [u8]> {
    let len = memchr::memchr(b'\n', rest).ok_or(Error::UnexpectedEnd("changed paths"))?;
    let (line, after) = rest.split_at_checked(len).unwrap_or_default();
    *rest = after.get(1..).unwrap_or_default();
    Ok(line)
}

fn one(line: &[u8], source: &[u8]) -> Result<Change> {
    let malformed = || Error::corrupt(format!("Invalid changes line '{}'", line.escape_ascii()));
    let mut words = line.splitn(5, |byte| *byte == b' ');
    let mut word = || words.next().ok_or_else(malformed);
    let action = std::str::from_utf8(word()?).map_err(|_| malformed())?;
    let (action, node_kind) = action.split_once('-').ok_or_else(malformed)?;
    let node_kind = NodeKind::from_word(node_kind.as_bytes()).ok_or_else(malformed)?;
    let kind = ChangeKind::WORDS.iter().find(|(_, word)| *word == action);
    let (kind, _) = *kind.ok_or_else(malformed)?;
    let flag = |word: &[u8]| match word {
        b"true" => Ok(true),
        b"false" => Ok(false),
        _ => Err(malformed()),
    };
    let (text, props, mergeinfo) = (flag(word()?)?, flag(word()?)?, flag(word()?)?);
    let path = unescape_path(word()?).ok_or_else(malformed)?;
    let copy_from = if source.is_empty() { None } else { Some(rev_and_path(source)?) };
    Ok(Change { path, kind, node_kind, text, props, mergeinfo, copy_from })
}

/// Appends one change.
pub fn write(change: &Change, out: &mut Vec<u8>) {
    let action = ChangeKind::WORDS.iter().find(|(kind, _)| *kind == change.kind);
    let action = action.map_or("modify", |(_, word)| word);
    let Change { text, props, mergeinfo, node_kind, .. } = change;
    let head = format!("{action}-{} {text} {props} {mergeinfo} ", node_kind.word());
    out.extend_from_slice(head.as_bytes());
    escape_path(&change.path, out);
    out.push(b'\n');
    if let Some((revision, path)) = &change.copy_from {
        out.extend_from_slice(format!("{revision} ").as_bytes());
        escape_path(path, out);
    }
    out.push(b'\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIST: &str =
        "add-dir false true false /trunk/a b\n3 /trunk/old\nmodify-file true false true /x\n\n\n";

    #[test]
    fn both_ways() {
        let (changes, len) = parse(LIST.as_bytes()).unwrap();
        assert_eq!(len, LIST.len());
        assert_eq!(changes[0].copy_from, Some((Revnum(3), "/trunk/old".into())));
        assert_eq!((&*changes[0].path, changes[0].node_kind), ("/trunk/a b", NodeKind::Dir));
        let mut out = Vec::new();
        changes.iter().for_each(|change| write(change, &mut out));
        assert_eq!(parse_txn(&out).as_ref(), Ok(&changes));
        out.push(b'\n');
        assert_eq!(out, LIST.as_bytes());
    }

    #[test]
    fn malformed_ones_are_refused() {
        for wrong in [
            "",
            "add-dir",
            "add-dir false true false /a\n",
            "add false true false /a\n\n\n",
            "grow-file true true true /a\n\n\n",
            "add-file 1 true true /a\n\n\n",
            "add-file true true true a\n\n\n",
            "add-file true true true /a\nx /b\n\n",
        ] {
            assert!(parse(wrong.as_bytes()).is_err(), "{wrong:?}");
        }
    }
}
