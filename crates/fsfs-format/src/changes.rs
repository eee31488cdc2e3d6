//! Changed paths of a revision or transaction: two lines a change, ended by a blank line.

use sapwood_core::FsPath;
use sapwood_core::{Cut, Exact};
use std::collections::BTreeMap;
use std::ops::Bound;

use sapwood_core::{ChangeKind, NodeKind, Revnum, rawname};

use crate::error::{Error, Result};
use crate::id::NodeRevId;
use crate::limits::PATH_LEN;
use crate::noderev::rev_and_path;
use crate::since;
use crate::text::{self, fspath};

/// Bytes after which a line must have ended: two paths, an id and flags.
const LINE_LEN: usize = 2 * PATH_LEN + 1024;

/// One change as it is stored, borrowed from its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChangeRef<'a> {
    /// The node-revision after the change (before it, for a deletion); `None` for a reset.
    pub id: Option<NodeRevId>,
    /// What happened.
    pub kind: ChangeKind,
    /// File or directory, where recorded (format 4 and later).
    pub node_kind: Option<NodeKind>,
    /// Whether the text changed.
    pub text_mod: bool,
    /// Whether properties changed.
    pub prop_mod: bool,
    /// Whether `svn:mergeinfo` changed, where recorded (format 7 and later).
    pub mergeinfo_mod: Option<bool>,
    /// The path.
    pub path: &'a FsPath,
    /// Where it was copied from.
    pub copy_from: Option<(Revnum, &'a FsPath)>,
}

/// The raw changes in `bytes`, in stored order, without allocating. Ends at a blank line or at the
/// end of the bytes; an error ends it too.
#[derive(Clone, Debug)]
pub struct Changes<'a> {
    bytes: &'a [u8],
    at: usize,
    done: bool,
    failed: bool,
    /// Whether names that are not UTF-8 are spelt as [`rawname`] says: on disk no path holds a NUL.
    is_spelt: bool,
}

impl<'a> Changes<'a> {
    /// Reads the list that `bytes` begin with.
    #[must_use]
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0, done: false, failed: false, is_spelt: false }
    }
    /// The same of what [`spell_names`] made.
    #[must_use]
    pub const fn spelt(bytes: &'a [u8]) -> Self {
        Self { is_spelt: true, ..Self::new(bytes) }
    }
    /// Whether `bytes` hold a list to its end, or to what more bytes would not make sound: what is cut off need not be
    /// parsed before more of it was read.
    #[must_use]
    pub fn may_be_whole(bytes: &[u8]) -> bool {
        let is_cut = |error| matches!(error, Error::UnexpectedEnd(_));
        if ChangeRef::parse(bytes).is_err_and(|error| !is_cut(error)) {
            return true;
        }
        let mut rest = bytes;
        loop {
            match text::line(rest) {
                Some((b"", _)) => return true,
                Some((_, source)) => match text::line(source) {
                    Some((_, after)) => rest = after,
                    None => return rest.len() > LINE_LEN,
                },
                None => return rest.len() > LINE_LEN,
            }
        }
    }
    /// How many bytes have been taken, with the blank line once it was met.
    #[must_use]
    pub const fn consumed(&self) -> usize {
        self.at
    }
    /// Whether the list ended with a blank line.
    #[must_use]
    pub const fn is_terminated(&self) -> bool {
        self.done
    }
}

impl<'a> Iterator for Changes<'a> {
    type Item = Result<ChangeRef<'a>>;
    fn next(&mut self) -> Option<Self::Item> {
        let rest = self.bytes.tail(self.at);
        if self.done || self.failed || rest.is_empty() {
            return None;
        }
        let parsed = ChangeRef::parse(rest).and_then(|(change, len)| {
            let is_sound = self.is_spelt || memchr::memchr(0, rest.head(len)).is_none();
            let nul = || Error::corrupt("Invalid path in changes line");
            if is_sound { Ok((change, len)) } else { Err(nul()) }
        });
        match parsed {
            Ok((change, len)) => {
                self.at = self.at.plus(len);
                self.done = change.is_none();
                change.map(Ok)
            }
            Err(e) => {
                self.failed = true;
                Some(Err(e))
            }
        }
    }
}

impl<'a> ChangeRef<'a> {
    /// The change that `bytes` begin with (`None` for the blank line that ends the list), and its
    /// length.
    fn parse(bytes: &'a [u8]) -> Result<(Option<Self>, usize)> {
        let wrong = |what: &'static str| Error::corrupt(what);
        let invalid = || wrong("Invalid changes line in rev-file");
        let end = || match bytes.len() {
            0..=LINE_LEN => Error::UnexpectedEnd("changed paths"),
            _ => invalid(),
        };
        let (line, after) = text::line(bytes).ok_or_else(end)?;
        if line.is_empty() {
            return Ok((None, 1));
        }
        let mut rest = line;
        let id = match text::word(&mut rest).ok_or_else(invalid)? {
            b"reset" => None,
            id => Some(NodeRevId::parse(id)?),
        };
        let action = text::word(&mut rest).ok_or_else(invalid)?;
        let (action, node_kind) = action_and_kind(action).ok_or_else(invalid)?;
        let kind = ChangeKind::from_word(action)
            .ok_or_else(|| wrong("Invalid change kind in rev file"))?;
        if id.is_none() && kind != ChangeKind::Reset {
            return Err(invalid());
        }
        let mut flag = |name: &'static str| match text::word(&mut rest) {
            Some(b"true") => Ok(true),
            Some(b"false") => Ok(false),
            Some(_) => Err(wrong(name)),
            None => Err(invalid()),
        };
        let text_mod = flag("Invalid text-mod flag in rev-file")?;
        let prop_mod = flag("Invalid prop-mod flag in rev-file")?;
        let mergeinfo_mod = match rest.first() {
            Some(b'/') => None,
            _ => match text::word(&mut rest) {
                Some(b"true") => Some(true),
                Some(b"false") => Some(false),
                Some(_) => return Err(wrong("Invalid mergeinfo-mod flag in rev-file")),
                None => return Err(invalid()),
            },
        };
        let path = fspath(rest).ok_or_else(|| wrong("Invalid path in changes line"))?;
        let (source, after) = text::line(after).ok_or_else(end)?;
        let copy_from = copy_source(source)?;
        let change =
            Self { id, kind, node_kind, text_mod, prop_mod, mergeinfo_mod, path, copy_from };
        Ok((Some(change), bytes.len().minus(after.len())))
    }

    /// Appends the two lines for a filesystem of `format` (what the format cannot say is left
    /// out). Transactions always store the node kind.
    pub fn write(&self, format: u32, in_txn: bool, out: &mut Vec<u8>) {
        let word = |flag| if flag { "true" } else { "false" };
        match self.id {
            Some(id) => id.write(out),
            None => out.extend_from_slice(b"reset"),
        }
        text::push_display(format_args!(" {}", self.kind.word()), out);
        if let (true, Some(kind)) = (in_txn || format >= since::PACKING, self.node_kind) {
            text::push_display(format_args!("-{}", kind.word()), out);
        }
        text::push_display(format_args!(" {} {} ", word(self.text_mod), word(self.prop_mod)), out);
        if let (true, Some(flag)) = (format >= since::LOGICAL, self.mergeinfo_mod) {
            text::push_display(format_args!("{} ", word(flag)), out);
        }
        out.extend_from_slice(&rawname::to_bytes(self.path));
        out.push(b'\n');
        if let Some((revision, path)) = self.copy_from {
            text::push_display(format_args!("{revision} "), out);
            out.extend_from_slice(&rawname::to_bytes(path));
        }
        out.push(b'\n');
    }
}

/// The word of an action, `modify` or `modify-file`, and the kind of node that it may name.
fn action_and_kind(word: &[u8]) -> Option<(&[u8], Option<NodeKind>)> {
    let Some(at) = memchr::memchr(b'-', word) else { return Some((word, None)) };
    let (action, kind) = word.split_at_checked(at)?;
    Some((action, Some(kind.get(1..).and_then(NodeKind::from_word)?)))
}

/// The source of a copy, of which a blank line says that there is none.
fn copy_source(line: &[u8]) -> Result<Option<(Revnum, &FsPath)>> {
    if line.is_empty() {
        return Ok(None);
    }
    let (revision, path) = rev_and_path(line)?;
    let path =
        fspath(path).ok_or_else(|| Error::corrupt("Invalid copy-from path in changes line"))?;
    Ok(revision.map(|revision| (revision, path)))
}

/// A list of changes in which names that are not UTF-8 are spelt as [`rawname`] says. `None` when
/// it has no such names.
#[must_use]
pub fn spell_names(bytes: &[u8]) -> Option<Vec<u8>> {
    std::str::from_utf8(bytes).err()?;
    let mut out = Vec::with_capacity(bytes.len().plus(64));
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        out.extend_from_slice(rawname::from_bytes(line)?.as_bytes());
    }
    Some(out)
}

/// Folds raw changes into one a path, as readers of a transaction see them, in the bytewise order
/// of paths.
///
/// # Errors
/// E160004 when changes contradict each other.
pub fn fold<'a>(changes: impl IntoIterator<Item = ChangeRef<'a>>) -> Result<Vec<ChangeRef<'a>>> {
    let mut folded = FoldedChanges::default();
    for change in changes {
        folded.add(change)?;
    }
    Ok(folded.changes.into_values().collect())
}

#[derive(Default)]
struct FoldedChanges<'a> {
    changes: BTreeMap<&'a str, ChangeRef<'a>>,
    /// What was deleted where there is a replacement now.
    deletions: BTreeMap<&'a str, ChangeRef<'a>>,
}

impl<'a> FoldedChanges<'a> {
    fn add(&mut self, new: ChangeRef<'a>) -> Result<()> {
        let path = new.path.as_str();
        match self.changes.get_mut(path) {
            None => {
                self.changes.insert(path, new);
            }
            Some(old) => {
                let merged = merge(old, &new, self.deletions.get(path))?;
                if merged.is_some_and(|m| m.kind == ChangeKind::Replace)
                    && matches!(new.kind, ChangeKind::Add | ChangeKind::Replace)
                {
                    self.deletions.insert(path, *old);
                }
                match merged {
                    Some(merged) => *old = merged,
                    None => {
                        self.changes.remove(path);
                    }
                }
            }
        }
        if matches!(new.kind, ChangeKind::Delete | ChangeKind::Replace) {
            self.forget_below(new.path);
        }
        Ok(())
    }

    /// Removes what was changed below a path that is no more. Children of `/a` are the paths from
    /// `/a/` up to `/a0`, for `0` follows `/`.
    fn forget_below(&mut self, path: &str) {
        let base = path.trim_end_matches('/');
        let (first, last) = (format!("{base}/"), format!("{base}0"));
        let range = (Bound::Excluded(first.as_str()), Bound::Excluded(last.as_str()));
        let below: Vec<&str> = self.changes.range::<str, _>(range).map(|(p, _)| *p).collect();
        for path in below {
            self.changes.remove(path);
        }
    }
}

/// What two changes of one path come to; `None` when nothing is left.
fn merge<'a>(
    old: &ChangeRef<'a>,
    new: &ChangeRef<'a>,
    deletion: Option<&ChangeRef<'a>>,
) -> Result<Option<ChangeRef<'a>>> {
    use ChangeKind::{Add, Delete, Modify, Replace, Reset};
    if new.id.is_some() && old.id != new.id && old.kind != Delete {
        return Err(Error::corrupt("Invalid change ordering: new node revision ID without delete"));
    }
    if old.kind == Delete && !matches!(new.kind, Replace | Reset | Add) {
        return Err(Error::corrupt("Invalid change ordering: non-add change on deleted path"));
    }
    if new.kind == Add && !matches!(old.kind, Delete | Reset) {
        return Err(Error::corrupt("Invalid change ordering: add change on preexisting path"));
    }
    Ok(match new.kind {
        Reset => None,
        Delete if old.kind == Add => None,
        // Deleting a replacement brings the first deletion back.
        Delete if old.kind == Replace => Some(*deletion.unwrap_or(new)),
        Delete => Some(*new),
        Add | Replace => Some(ChangeRef { kind: Replace, ..*new }),
        Modify => Some(ChangeRef {
            text_mod: old.text_mod || new.text_mod,
            prop_mod: old.prop_mod || new.prop_mod,
            mergeinfo_mod: match new.mergeinfo_mod {
                Some(true) => Some(true),
                _ => old.mergeinfo_mod,
            },
            ..*old
        }),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIST: &str = "2-1.0.r5/4 modify-file true false false /trunk/a b\n\n\
        0-5.1-5.r5/6 add-dir false false true /branches/x\n4 /trunk\n\
        1-1.0.r1/2 delete-file false false false /trunk/c\n\n\n";

    #[test]
    fn list_round_trips() {
        let mut list = Changes::new(LIST.as_bytes());
        let all = list.by_ref().collect::<Result<Vec<_>>>().unwrap();
        assert!(list.is_terminated());
        assert_eq!(list.consumed(), LIST.len());
        assert_eq!(all[1].copy_from, Some((Revnum(4), FsPath::new("/trunk").unwrap())));
        assert_eq!(all[0].path, "/trunk/a b");
        let mut out = Vec::new();
        all.iter().for_each(|c| c.write(8, false, &mut out));
        out.push(b'\n');
        assert_eq!(String::from_utf8(out).unwrap(), LIST);
    }

    #[test]
    fn no_path_on_disk_holds_a_nul() {
        let text = b"2-1.0.r5/4 modify-file true false false /a\0E9\n\n";
        assert!(Changes::new(text).next().unwrap().is_err());
        let raw = spell_names(b"2-1.0.r5/4 modify-file true false false /a\xe9\n\n").unwrap();
        assert_eq!(Changes::spelt(&raw).next().unwrap().unwrap().path, "/a\0E9");
    }

    #[test]
    fn older_formats_say_less() {
        let text = "2-1.0.r5/4 modify true false /trunk/a b\n\n";
        let change = Changes::new(text.as_bytes()).next().unwrap().unwrap();
        assert_eq!((change.node_kind, change.mergeinfo_mod), (None, None));
        let mut out = Vec::new();
        Changes::new(LIST.as_bytes()).next().unwrap().unwrap().write(3, false, &mut out);
        assert_eq!(out, text.as_bytes());
    }

    #[test]
    fn a_cut_list_asks_for_more() {
        for len in 1..LIST.len() {
            let last = Changes::new(&LIST.as_bytes()[..len]).last().unwrap();
            let at_border = LIST.match_indices("\n\n").any(|(at, _)| at + 2 == len)
                || LIST[..len].ends_with("/trunk\n");
            assert_eq!(last.is_ok(), at_border, "{len}");
            if !at_border {
                assert_eq!(last, Err(Error::UnexpectedEnd("changed paths")));
            }
        }
    }

    #[test]
    fn damage_is_an_error() {
        for (from, to) in [
            ("modify-file", "modify-link"),
            ("modify-file", "modified"),
            ("true false", "True false"),
            ("false false /trunk/a", "false maybe /trunk/a"),
            ("/trunk/a b", "trunk/a b"),
            ("/trunk/a b", "/trunk/"),
            ("4 /trunk", "x /trunk"),
            ("4 /trunk", "4 trunk"),
            ("2-1.0.r5/4", "2-1.0.r5"),
            ("2-1.0.r5/4", "reset"),
        ] {
            let text = LIST.replacen(from, to, 1);
            let all: Result<Vec<_>> = Changes::new(text.as_bytes()).collect();
            assert!(all.is_err(), "{from} -> {to}");
        }
        let long = [b"0.0.r1/2 modify true false /".as_slice(), &[b'a'; LINE_LEN]].concat();
        assert!(matches!(Changes::new(&long).next(), Some(Err(Error::Corrupt(_)))));
    }

    fn folded(lines: &[&str]) -> Result<Vec<String>> {
        let text = lines.iter().map(|l| format!("{l}\n\n")).collect::<String>();
        let raw: Vec<_> = Changes::new(text.as_bytes()).collect::<Result<_>>()?;
        Ok(fold(raw)?.iter().map(|c| format!("{} {}", c.kind.word(), c.path)).collect())
    }

    #[test]
    fn folding() {
        let a = |action: &str, path: &str| format!("1.0.t1-1 {action} true false {path}");
        let b = |action: &str, path: &str| format!("2.0.t1-1 {action} true false {path}");
        let run = |lines: &[String]| folded(&lines.iter().map(String::as_str).collect::<Vec<_>>());
        assert_eq!(run(&[a("add", "/a"), a("modify", "/a")]).unwrap(), ["add /a"]);
        assert_eq!(run(&[a("add", "/a"), a("delete", "/a")]).unwrap(), <[&str; 0]>::default());
        assert_eq!(run(&[a("delete", "/a"), b("add", "/a")]).unwrap(), ["replace /a"]);
        assert_eq!(
            run(&[a("delete", "/a"), b("add", "/a"), b("delete", "/a")]).unwrap(),
            ["delete /a"]
        );
        assert_eq!(
            run(&[a("modify", "/a/b"), a("modify", "/a0"), b("modify", "/a-"), a("delete", "/a")])
                .unwrap(),
            ["delete /a", "modify /a-", "modify /a0"]
        );
        assert_eq!(run(&[a("modify", "/x"), a("delete", "/")]).unwrap(), ["delete /"]);
        assert!(run(&[a("modify", "/a"), b("modify", "/a")]).is_err());
        assert!(run(&[a("delete", "/a"), a("modify", "/a")]).is_err());
        assert!(run(&[a("modify", "/a"), a("add", "/a")]).is_err());
    }
}
