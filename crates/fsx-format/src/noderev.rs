//! Node-revisions as text: the form in revision files and transactions. Lines `key: value`, ended by an empty line.
//!
//! In paths each byte below 0x20, and each byte of 0x80 and above, is written as ESC and the byte plus 0x40, modulo 256. (The
//! reference compares signed bytes with a space.)

use sapwood_core::{Exact, NodeKind, Revnum};

use crate::error::{Error, Result};
use crate::id::Id;
use crate::rep::Representation;
use crate::text_path::{escape_path, rev_and_path, unescape_path};

/// One node-revision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeRev {
    /// The node-revision's own identifier.
    pub id: Id,
    /// The node: the same for all its revisions.
    pub node: Id,
    /// The copy that it belongs to; [`Id::ROOT`] for what was never copied.
    pub copy: Id,
    /// File or directory.
    pub kind: NodeKind,
    /// The node-revision before it.
    pub predecessor: Option<Id>,
    /// How many node-revisions came before it.
    pub predecessor_count: u64,
    /// The text.
    pub text: Option<Representation>,
    /// The properties.
    pub props: Option<Representation>,
    /// The path at which it was made.
    pub created_path: Box<str>,
    /// The source, on the target of a copy.
    pub copy_from: Option<(Revnum, Box<str>)>,
    /// The root of the youngest copy that it belongs to; `None` when that is the node-revision itself.
    pub copy_root: Option<(Revnum, Box<str>)>,
    /// How many nodes at and below it have `svn:mergeinfo`.
    pub mergeinfo_count: u64,
    /// Whether it has `svn:mergeinfo` itself.
    pub has_mergeinfo: bool,
}

/// The values of the lines, as they stand.
#[derive(Default)]
struct Lines<'a> {
    values: [Option<&'a [u8]>; KEYS.len()],
}

const KEYS: [&str; 13] = [
    "id",
    "node",
    "copy",
    "type",
    "pred",
    "count",
    "text",
    "props",
    "cpath",
    "copyfrom",
    "copyroot",
    "minfo-cnt",
    "minfo-here",
];

impl<'a> Lines<'a> {
    /// Splits the lines up to the empty one; also how many bytes they took.
    fn split(bytes: &'a [u8]) -> Result<(Self, usize)> {
        let mut lines = Self::default();
        let mut taken = 0usize;
        loop {
            let rest = bytes.get(taken..).unwrap_or_default();
            let len = memchr::memchr(b'\n', rest).ok_or(Error::UnexpectedEnd("node-revision"))?;
            let line = rest.get(..len).unwrap_or_default();
            taken = taken.plus(len).plus(1);
            if line.is_empty() {
                return Ok((lines, taken));
            }
            let malformed = || {
                Error::corrupt(format!(
                    "Found malformed header '{}' in revision file",
                    line.escape_ascii()
                ))
            };
            let colon = memchr::memmem::find(line, b": ").ok_or_else(malformed)?;
            let (key, value) = line.split_at_checked(colon).ok_or_else(malformed)?;
            let slot = KEYS.iter().zip(&mut lines.values).find(|(name, _)| name.as_bytes() == key);
            // Unknown keys are passed over, as 1.14 does.
            if let Some((_, slot)) = slot {
                *slot = value.get(2..);
            }
        }
    }

    fn get(&self, key: &str) -> Option<&'a [u8]> {
        KEYS.iter().zip(self.values).find(|(name, _)| **name == key).and_then(|(_, value)| value)
    }

    fn required(&self, key: &str) -> Result<&'a [u8]> {
        let missing = || Error::corrupt(format!("Missing {key} field in node-rev"));
        self.get(key).ok_or_else(missing)
    }
}

impl NodeRev {
    /// Parses the lines that `bytes` begin with; also how many bytes they took, with the empty line.
    ///
    /// # Errors
    /// E160004 when they are malformed.
    pub fn parse(bytes: &[u8]) -> Result<(Self, usize)> {
        let (lines, len) = Lines::split(bytes)?;
        let malformed = |key: &str| Error::corrupt(format!("Malformed {key} field in node-rev"));
        let number = |key: &str, value: &[u8]| {
            sapwood_core::revnum::parse_u64(value).ok_or_else(|| malformed(key))
        };
        let node = Self {
            id: Id::parse(lines.required("id")?)?,
            node: Id::parse(lines.required("node")?)?,
            copy: Id::parse(lines.required("copy")?)?,
            kind: NodeKind::from_word(lines.required("type")?).ok_or_else(|| malformed("type"))?,
            predecessor: lines.get("pred").map(Id::parse).transpose()?,
            predecessor_count: number("count", lines.required("count")?)?,
            text: lines.get("text").map(Representation::parse).transpose()?,
            props: lines.get("props").map(Representation::parse).transpose()?,
            created_path: unescape_path(lines.required("cpath")?)
                .ok_or_else(|| malformed("cpath"))?,
            copy_from: lines.get("copyfrom").map(rev_and_path).transpose()?,
            copy_root: lines.get("copyroot").map(rev_and_path).transpose()?,
            mergeinfo_count: lines
                .get("minfo-cnt")
                .map_or(Ok(0), |value| number("minfo-cnt", value))?,
            has_mergeinfo: lines.get("minfo-here").is_some(),
        };
        Ok((node, len))
    }

    /// Parses a node-revision of a transaction. Its copy root may be in the transaction, which is written as revision -1: then
    /// the path of that is returned too.
    ///
    /// # Errors
    /// E160004 when it is malformed.
    pub fn parse_in_txn(bytes: &[u8]) -> Result<(Self, Option<Box<str>>)> {
        let (lines, _) = Lines::split(bytes)?;
        let root = lines.get("copyroot").and_then(|value| value.strip_prefix(b"-1 "));
        let Some(path) = root else { return Ok((Self::parse(bytes)?.0, None)) };
        let path = unescape_path(path);
        let path = path.ok_or_else(|| Error::corrupt("Malformed copyroot field in node-rev"))?;
        let without: Vec<u8> = bytes
            .split_inclusive(|byte| *byte == b'\n')
            .filter(|line| !line.starts_with(b"copyroot: "))
            .flatten()
            .copied()
            .collect();
        Ok((Self::parse(&without)?.0, Some(path)))
    }

    /// Appends a node-revision of a transaction. `root_in_txn` is the path of its copy root, when that is in the transaction and
    /// not the node-revision itself.
    pub fn write_in_txn(&self, root_in_txn: Option<&str>, out: &mut Vec<u8>) {
        let Some(path) = root_in_txn else { return self.write(out) };
        // The line stands before those about mergeinfo.
        let plain =
            Self { copy_root: None, mergeinfo_count: 0, has_mergeinfo: false, ..self.clone() };
        plain.write(out);
        out.pop();
        out.extend_from_slice(b"copyroot: -1 ");
        escape_path(path, out);
        out.push(b'\n');
        self.write_mergeinfo(out);
    }

    fn write_mergeinfo(&self, out: &mut Vec<u8>) {
        if self.mergeinfo_count > 0 {
            out.extend_from_slice(format!("minfo-cnt: {}\n", self.mergeinfo_count).as_bytes());
        }
        if self.has_mergeinfo {
            out.extend_from_slice(b"minfo-here: y\n");
        }
        out.push(b'\n');
    }

    /// Its own revision and path, as a copy root; `None` in a transaction.
    pub(crate) fn own_copy_root(&self) -> Option<(Revnum, Box<str>)> {
        self.id.change_set.revision().map(|revision| (revision, self.created_path.clone()))
    }

    /// Appends the lines, with the empty one.
    pub fn write(&self, out: &mut Vec<u8>) {
        let mut line = |key: &str, value: &dyn std::fmt::Display| {
            out.extend_from_slice(format!("{key}: {value}\n").as_bytes());
        };
        line("id", &self.id);
        line("node", &self.node);
        line("copy", &self.copy);
        line("type", &self.kind.word());
        if let Some(id) = &self.predecessor {
            line("pred", id);
        }
        line("count", &self.predecessor_count);
        for (key, rep) in [("text", &self.text), ("props", &self.props)] {
            if let Some(rep) = rep {
                line(key, rep);
            }
        }
        out.extend_from_slice(b"cpath: ");
        escape_path(&self.created_path, out);
        out.push(b'\n');
        for (key, source) in [("copyfrom", &self.copy_from), ("copyroot", &self.copy_root)] {
            if let Some((revision, path)) = source {
                out.extend_from_slice(format!("{key}: {revision} ").as_bytes());
                escape_path(path, out);
                out.push(b'\n');
            }
        }
        self.write_mergeinfo(out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NODE: &str = "id: 5+l\nnode: 1+2\ncopy: 0+0\ntype: file\npred: 4+k\ncount: 3\n\
        text: 21 4 10 20 d41d8cd98f00b204e9800998ecf8427e\ncpath: /a\x1bAb\ncopyfrom: 3 /old\n\
        copyroot: 2 /new\nminfo-cnt: 1\nminfo-here: y\n\n";

    #[test]
    fn both_ways() {
        let (node, len) = NodeRev::parse(NODE.as_bytes()).unwrap();
        assert_eq!(len, NODE.len());
        assert_eq!(&*node.created_path, "/a\u{1}b");
        let mut out = Vec::new();
        node.write(&mut out);
        assert_eq!(String::from_utf8(out).unwrap(), NODE);
    }

    #[test]
    fn in_transactions_a_copy_root_may_be_new() {
        let (mut node, _) = NodeRev::parse(NODE.as_bytes()).unwrap();
        node.copy_root = None;
        let mut out = Vec::new();
        node.write_in_txn(Some("/new"), &mut out);
        let text = String::from_utf8(out).unwrap();
        assert_eq!(text, NODE.replace("copyroot: 2 /new", "copyroot: -1 /new"));
        let read = NodeRev::parse_in_txn(text.as_bytes()).unwrap();
        assert_eq!(read, (node, Some("/new".into())));
        assert_eq!(NodeRev::parse_in_txn(NODE.as_bytes()).unwrap().1, None);
    }

    #[test]
    fn bytes_that_are_not_printable_ascii_are_escaped() {
        let mut escaped = Vec::new();
        escape_path("/\u{65e5}\n", &mut escaped);
        assert_eq!(escaped, b"/\x1b&\x1b\xd7\x1b\xe5\x1bJ");
        assert_eq!(unescape_path(&escaped).as_deref(), Some("/\u{65e5}\n"));
        assert_eq!(unescape_path("/\u{65e5}".as_bytes()).as_deref(), Some("/\u{65e5}"));
        assert_eq!(unescape_path(b"/a\x1b"), None);
        let mut plain = Vec::new();
        escape_path("/\u{2b0}", &mut plain);
        assert_eq!(plain, b"/\xca\x1b\xf0");
        assert_eq!(unescape_path(&plain).as_deref(), Some("/\u{2b0}"));
    }

    #[test]
    fn malformed_ones_are_refused() {
        for (from, to) in [
            ("id: 5+l\n", ""),
            ("node: 1+2\n", ""),
            ("type: file", "type: link"),
            ("count: 3", "count: x"),
            ("cpath: /a", "cpath: a"),
            ("\n\n", "\n"),
            ("copyfrom: 3 ", "copyfrom: "),
            ("pred: 4+k", "pred: 4"),
            ("id: 5+l", "id 5+l"),
        ] {
            let wrong = NODE.replacen(from, to, 1);
            assert_ne!(wrong, NODE);
            assert!(NodeRev::parse(wrong.as_bytes()).is_err(), "{wrong:?}");
        }
    }
}
