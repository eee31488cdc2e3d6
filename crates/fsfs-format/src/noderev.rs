//! Node-revisions: a block of `name: value` lines that a blank line ends.

use sapwood_core::Exact;
use sapwood_core::FsPath;
use std::borrow::Cow;

use sapwood_core::path::is_canonical_fspath;
use sapwood_core::{NodeKind, Revnum, len64, rawname};

use crate::error::{Error, Result};
use crate::id::NodeRevId;
use crate::limits::NODEREV_LEN;
use crate::rep::Representation;
use crate::since;
use crate::text;

/// One node-revision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeRev {
    /// Its id.
    pub id: NodeRevId,
    /// File or directory.
    pub kind: NodeKind,
    /// The id of the node-revision before it.
    pub predecessor: Option<NodeRevId>,
    /// How many node-revisions came before it.
    pub predecessor_count: u64,
    /// The contents; `None` for an empty file or directory.
    pub text: Option<Representation>,
    /// The properties; `None` for none.
    pub props: Option<Representation>,
    /// The fspath at which it was made.
    pub created_path: Box<str>,
    /// Where it was copied from, on the target of a copy.
    pub copy_from: Option<(Revnum, Box<str>)>,
    /// The root of the youngest copy it is part of, when that is not itself: revision (`None`:
    /// in this transaction) and created path. See [`NodeRev::copy_root`].
    pub copy_root: Option<(Option<Revnum>, Box<str>)>,
    /// Set on a transaction's root that nothing has been changed in yet.
    pub is_fresh_txn_root: bool,
    /// How many nodes at and below have `svn:mergeinfo`; negative only in corrupt repositories.
    pub mergeinfo_count: i64,
    /// Whether it has `svn:mergeinfo` itself.
    pub has_mergeinfo: bool,
}

#[allow(clippy::missing_errors_doc, reason = "all: `Error` says what is wrong with the bytes")]
impl NodeRev {
    /// Parses the block that `bytes` begin with; also how many bytes it took with its blank line.
    /// [`crate::Error::UnexpectedEnd`] when there is no blank line.
    pub fn parse(bytes: &[u8]) -> Result<(Self, usize)> {
        let (headers, len) = Headers::split(bytes)?;
        Ok((Self::from_headers(&headers)?, len))
    }

    fn from_headers(h: &Headers<'_>) -> Result<Self> {
        let id_text = h.id.ok_or_else(|| Error::corrupt("Missing id field in node-rev"))?;
        let id = NodeRevId::parse(id_text)?;
        let wrong = |what: &str| Error::corrupt(format!("{what} in node-rev '{id}'"));
        let kind = h.kind.and_then(NodeKind::from_word);
        let rep = |value: Option<&[u8]>| {
            value.map(Representation::parse).transpose().map_err(|e| match e {
                Error::Corrupt(m) => Error::corrupt(format!(
                    "While reading representation offsets for node-revision '{id}': {m}"
                )),
                other => other,
            })
        };
        let created_path = h.cpath.ok_or_else(|| wrong("Missing cpath field"))?;
        Ok(Self {
            id,
            kind: kind.ok_or_else(|| wrong("Missing kind field"))?,
            predecessor: h.pred.map(NodeRevId::parse).transpose()?,
            predecessor_count: match h.count {
                None => 0,
                Some(n) => text::number(n).ok_or_else(|| wrong("Malformed count field"))?,
            },
            text: rep(h.text)?,
            props: rep(h.props)?,
            created_path: fspath(created_path)
                .ok_or_else(|| wrong("Non-canonical cpath field"))?
                .into(),
            copy_from: match h.copyfrom {
                None => None,
                Some(value) => {
                    let (revision, path) = rev_and_path(value)?;
                    let malformed = || wrong("Malformed copyfrom line");
                    let path = fspath(path).ok_or_else(malformed)?;
                    Some((revision.ok_or_else(malformed)?, path.into()))
                }
            },
            copy_root: match h.copyroot {
                None => None,
                Some(value) => {
                    let (revision, path) = rev_and_path(value)?;
                    let path = fspath(path).ok_or_else(|| wrong("Malformed copyroot line"))?;
                    Some((revision, path.into()))
                }
            },
            is_fresh_txn_root: h.fresh,
            mergeinfo_count: match h.minfo_cnt {
                None => 0,
                Some(n) => std::str::from_utf8(n)
                    .ok()
                    .and_then(|n| n.parse().ok())
                    .ok_or_else(|| wrong("Malformed minfo-cnt field"))?,
            },
            has_mergeinfo: h.minfo_here,
        })
    }

    /// The copy root: revision (`None`: in this transaction) and created path.
    #[must_use]
    pub fn copy_root(&self) -> (Option<Revnum>, &FsPath) {
        match &self.copy_root {
            Some((revision, path)) => (*revision, FsPath::trusted(path)),
            None => (self.id.revision(), self.created_path()),
        }
    }

    /// The path at which it was made, which was looked at when it was read.
    #[must_use]
    pub fn created_path(&self) -> &FsPath {
        FsPath::trusted(&self.created_path)
    }

    /// Where it was copied from.
    #[must_use]
    pub fn copied_from(&self) -> Option<(Revnum, &FsPath)> {
        self.copy_from.as_ref().map(|(revision, path)| (*revision, FsPath::trusted(path)))
    }

    /// Appends the text form for a filesystem of `format`, with the blank line.
    pub fn write(&self, format: u32, out: &mut Vec<u8>) {
        out.extend_from_slice(b"id: ");
        self.id.write(out);
        out.extend_from_slice(b"\ntype: ");
        out.extend_from_slice(self.kind.word().as_bytes());
        if let Some(pred) = self.predecessor {
            out.extend_from_slice(b"\npred: ");
            pred.write(out);
        }
        out.extend_from_slice(b"\ncount: ");
        text::push_number(self.predecessor_count, out);
        out.push(b'\n');
        for (name, rep) in [("text", &self.text), ("props", &self.props)] {
            if let Some(rep) = rep {
                out.extend_from_slice(name.as_bytes());
                out.extend_from_slice(b": ");
                rep.write(format, out);
                out.push(b'\n');
            }
        }
        let path_line = |path: &str, out: &mut Vec<u8>| {
            out.extend_from_slice(&rawname::to_bytes(path));
            out.push(b'\n');
        };
        out.extend_from_slice(b"cpath: ");
        path_line(&self.created_path, out);
        if let Some((revision, path)) = &self.copy_from {
            out.extend_from_slice(b"copyfrom: ");
            text::push_number(revision.0, out);
            out.push(b' ');
            path_line(path, out);
        }
        if let Some((revision, path)) = &self.copy_root {
            out.extend_from_slice(b"copyroot: ");
            match revision {
                Some(revision) => text::push_number(revision.0, out),
                None => out.extend_from_slice(b"-1"),
            }
            out.push(b' ');
            path_line(path, out);
        }
        let mut line = |name: &str, value: std::fmt::Arguments<'_>| {
            text::push_display(format_args!("{name}: {value}\n"), out);
        };
        if self.is_fresh_txn_root {
            line("is-fresh-txn-root", format_args!("y"));
        }
        if format >= since::LAYOUT {
            if self.mergeinfo_count > 0 {
                line("minfo-cnt", format_args!("{}", self.mergeinfo_count));
            }
            if self.has_mergeinfo {
                line("minfo-here", format_args!("y"));
            }
        }
        out.push(b'\n');
    }
    /// Bytes of memory it takes, for cache accounting.
    #[must_use]
    pub fn byte_len(&self) -> usize {
        let paths = self.created_path.len()
            + self.copy_from.as_ref().map_or(0, |(_, p)| p.len())
            + self.copy_root.as_ref().map_or(0, |(_, p)| p.len());
        size_of::<Self>() + paths
    }
}

/// The values of the headers, in place. Of a header that is there twice the last one counts, as in
/// the reference; unknown ones are skipped.
#[derive(Default)]
struct Headers<'a> {
    id: Option<&'a [u8]>,
    kind: Option<&'a [u8]>,
    pred: Option<&'a [u8]>,
    count: Option<&'a [u8]>,
    text: Option<&'a [u8]>,
    props: Option<&'a [u8]>,
    cpath: Option<&'a [u8]>,
    copyfrom: Option<&'a [u8]>,
    copyroot: Option<&'a [u8]>,
    minfo_cnt: Option<&'a [u8]>,
    fresh: bool,
    minfo_here: bool,
}

impl<'a> Headers<'a> {
    fn split(bytes: &'a [u8]) -> Result<(Self, usize)> {
        let all = bytes.get(..NODEREV_LEN).unwrap_or(bytes);
        let mut rest = all;
        let mut headers = Self::default();
        loop {
            let Some((line, after)) = text::line(rest) else {
                return Err(match all.len() {
                    NODEREV_LEN.. => Error::TooLarge {
                        what: "node-revision",
                        size: len64(bytes.len()),
                        limit: len64(NODEREV_LEN),
                    },
                    _ => Error::UnexpectedEnd("node-revision"),
                });
            };
            rest = after;
            if line.is_empty() {
                return Ok((headers, all.len().minus(rest.len())));
            }
            let malformed = || {
                let line = text::printable(line);
                Error::corrupt(format!("Found malformed header '{line}' in revision file"))
            };
            let colon = memchr::memchr(b':', line).ok_or_else(malformed)?;
            let (name, value) = line.split_at_checked(colon).ok_or_else(malformed)?;
            // The character after the colon is a space, and skipped whatever it is.
            let value = value.get(2..).ok_or_else(malformed)?;
            match name {
                b"id" => headers.id = Some(value),
                b"type" => headers.kind = Some(value),
                b"pred" => headers.pred = Some(value),
                b"count" => headers.count = Some(value),
                b"text" => headers.text = Some(value),
                b"props" => headers.props = Some(value),
                b"cpath" => headers.cpath = Some(value),
                b"copyfrom" => headers.copyfrom = Some(value),
                b"copyroot" => headers.copyroot = Some(value),
                b"minfo-cnt" => headers.minfo_cnt = Some(value),
                b"minfo-here" => headers.minfo_here = true,
                b"is-fresh-txn-root" => headers.fresh = true,
                _ => {}
            }
        }
    }
}

/// The bytes as a canonical fspath; what is not UTF-8 is spelt as [`rawname`] says.
fn fspath(bytes: &[u8]) -> Option<Cow<'_, str>> {
    rawname::from_bytes(bytes).filter(|path| is_canonical_fspath(path))
}

/// Splits `REV PATH`; revision -1 is `None`.
pub(crate) fn rev_and_path(value: &[u8]) -> Result<(Option<Revnum>, &[u8])> {
    let mut rest = value;
    let word = text::word(&mut rest).unwrap_or_default();
    let revision = match word {
        b"-1" => None,
        _ => Some(Revnum(text::number(word).ok_or_else(|| Error::revnum(word))?)),
    };
    Ok((revision, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "id: 2-1.0.r5/4\ntype: file\npred: 2-1.0.r3/7\ncount: 3\n\
        text: 5 3 40 27 28ef320a82e7bd11eebdf3502d69e608 - 4-5/_3\n\
        props: 3 4 10 0 28ef320a82e7bd11eebdf3502d69e608 - -\n\
        cpath: /trunk/a b.txt\ncopyfrom: 2 /branches/x\ncopyroot: 3 /trunk\n\
        minfo-cnt: 1\nminfo-here: y\n\n";

    fn round_trip(text: &str, format: u32) -> NodeRev {
        let (noderev, len) = NodeRev::parse(format!("{text}more").as_bytes()).unwrap();
        assert_eq!(len, text.len());
        let mut out = Vec::new();
        noderev.write(format, &mut out);
        assert_eq!(String::from_utf8(out).unwrap(), text);
        noderev
    }

    #[test]
    fn samples_round_trip() {
        let noderev = round_trip(FILE, 8);
        assert_eq!(&*noderev.created_path, "/trunk/a b.txt");
        assert_eq!(noderev.copy_root(), (Some(Revnum(3)), FsPath::new("/trunk").unwrap()));
        let root = round_trip("id: 0.0.r0/2\ntype: dir\ncount: 0\ncpath: /\n\n", 1);
        assert_eq!(root.copy_root(), (Some(Revnum(0)), FsPath::ROOT));
        let txn = round_trip(
            "id: 0.0.t5-6\ntype: dir\npred: 0.0.r5/2\ncount: 6\ntext: -1\nprops: -1\n\
             cpath: /\ncopyroot: -1 /x\nis-fresh-txn-root: y\n\n",
            7,
        );
        assert_eq!(txn.copy_root(), (None, FsPath::new("/x").unwrap()));
        assert!(txn.is_fresh_txn_root);
    }

    #[test]
    fn unknown_headers_are_skipped_and_the_last_of_two_counts() {
        let text = "id: 0.0.r0/2\nfuture: 1\ntype: file\ntype: dir\ncpath: /\n\n";
        assert_eq!(NodeRev::parse(text.as_bytes()).unwrap().0.kind, NodeKind::Dir);
    }

    #[test]
    fn damage_is_an_error() {
        for (from, to) in [
            ("id: 2-1", "id: 2_1"),
            ("id:", "di:"),
            ("type: file", "type: link"),
            ("cpath: /", "cpath: "),
            ("a b.txt", "a//b"),
            ("copyfrom: 2 /", "copyfrom: 2 "),
            ("copyfrom: 2 /", "copyfrom: -1 /"),
            ("copyroot: 3 /", "copyroot: x /"),
            ("count: 3", "count: -3"),
            ("minfo-cnt: 1", "minfo-cnt: "),
            ("text: 5 3", "text: 5"),
            ("pred: 2-1.0.r3/7", "pred: "),
            ("type:", "type"),
        ] {
            let text = FILE.replacen(from, to, 1);
            assert!(NodeRev::parse(text.as_bytes()).is_err(), "{from} -> {to}");
        }
        for len in 0..FILE.len() {
            let part = NodeRev::parse(&FILE.as_bytes()[..len]);
            assert_eq!(part, Err(Error::UnexpectedEnd("node-revision")), "{len}");
        }
    }
}
