//! The bytes of an entry of a repository's log: a head, and items. `docs/formats/repository-log.md` has the format.
//!
//! Invariant: what is written is read back the same, and what is read is written back the same, byte for byte: there is
//! one form of each entry. An item is not read before the sum of the whole entry was found right.

use std::borrow::Cow;
use std::fmt::Write as _;

use sapwood_core::exact::Exact as _;
use sapwood_core::len64;
use sapwood_objects::Token;

use crate::digest::Digest;
pub use crate::lines::{Object, is_path};
use crate::lines::{
    Reader, close, digest, field, number, numbers, numbers_of, object, path_of, shown, token,
    unknown,
};
pub use crate::reps::Rep;
use crate::table::Form;

/// The first line.
const MAGIC: &str = "sapwood-log 1";

/// What an entry follows, and where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// The number of the entry.
    pub slot: u64,
    /// The repository: an entry of another one is never taken for one of this.
    pub repository: Token,
    /// The sum of the entry before, with its token; of nothing for the first.
    pub before: Digest,
}

/// The data of a revision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Data<'a> {
    /// In the entry.
    Inline(Cow<'a, [u8]>),
    /// In `big/TOKEN`.
    Big(Object),
}

/// One change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Item<'a> {
    /// A file of the repository is this from now on.
    File {
        /// Where it is in the repository's folder.
        path: Cow<'a, str>,
        /// Whether it can be executed.
        executable: bool,
        /// All of it.
        bytes: Cow<'a, [u8]>,
    },
    /// A file is not there any more.
    Gone {
        /// Where it was.
        path: Cow<'a, str>,
    },
    /// The next revision.
    Revision {
        /// Its number.
        revision: u64,
        /// All of its data.
        data: Data<'a>,
        /// Its properties, as they are stored.
        props: Cow<'a, [u8]>,
    },
    /// Properties of a revision that is there.
    Props {
        /// The revision.
        revision: u64,
        /// The sum of those before; that of nothing where they were packed.
        before: Digest,
        /// The new ones.
        bytes: Cow<'a, [u8]>,
    },
    /// All revisions of a shard are in one file from now on. Some or all may have been there before; the others are there now.
    Pack {
        /// The first of them.
        first: u64,
        /// How many.
        count: u64,
        /// Their data, in `pack/TOKEN`.
        data: Object,
        /// Their properties, in `props/TOKEN`.
        props: Object,
    },
    /// Entries are in an object too, one after the other as they are stored.
    Segment {
        /// The first of them.
        first: u64,
        /// The length in bytes of each.
        lens: Vec<u64>,
        /// All their bytes, in `seg/TOKEN`.
        data: Object,
    },
    /// Representations that are new in revisions of this entry, or of earlier ones: for writers that share equal texts.
    Reps(Vec<Rep>),
    /// The representations that entries have brought are in a table from now on.
    Table {
        /// The first of the entries.
        first: u64,
        /// The first behind them, which is not behind this one.
        end: u64,
        /// Where the parts of the table are.
        form: Form,
        /// The table, in `reps/TOKEN`.
        data: Object,
    },
}

/// An item as it was read, with where the first of its bytes stands in the entry as stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundItem<'a> {
    /// The item.
    pub item: Item<'a>,
    /// The offset.
    pub at: usize,
}

/// The body of an entry.
#[must_use]
pub fn write(head: &Head, items: &[Item<'_>]) -> Vec<u8> {
    let Head { slot, repository, before } = head;
    let mut out =
        format!("{MAGIC}\nslot {slot}\nrepository {repository}\nbefore {before}\n").into_bytes();
    items.iter().for_each(|item| write_item(item, &mut out));
    close(&mut out);
    out
}

fn write_item(item: &Item<'_>, out: &mut Vec<u8>) {
    let mut line = String::new();
    let rows;
    let parts: [&[u8]; 2] = match item {
        Item::File { path, executable, bytes } => {
            let word = if *executable { "program" } else { "file" };
            let _ = writeln!(line, "{word} {} {path}", bytes.len());
            [bytes, b""]
        }
        Item::Gone { path } => {
            let _ = writeln!(line, "gone {path}");
            [b"", b""]
        }
        Item::Revision { revision, data, props } => match data {
            Data::Inline(data) => {
                let _ = writeln!(line, "revision {revision} {} {}", data.len(), props.len());
                [data, props]
            }
            Data::Big(object) => {
                let _ = writeln!(line, "big {revision} {} {}", shown(object), props.len());
                [props, b""]
            }
        },
        Item::Props { revision, before, bytes } => {
            let _ = writeln!(line, "props {revision} {before} {}", bytes.len());
            [bytes, b""]
        }
        Item::Pack { first, count, data, props } => {
            let _ = writeln!(line, "pack {first} {count} {} {}", shown(data), shown(props));
            [b"", b""]
        }
        Item::Segment { first, lens, data } => {
            let _ = writeln!(line, "seg {first} {}\n{}", shown(data), numbers(lens));
            [b"", b""]
        }
        Item::Reps(reps) => {
            let _ = writeln!(line, "reps {}", reps.len());
            rows = reps.iter().flat_map(Rep::row).collect::<Vec<u8>>();
            [&rows, b""]
        }
        Item::Table { first, end, form, data } => {
            let _ = writeln!(line, "table {first} {end} {} {}", form.rows(), shown(data));
            [b"", b""]
        }
    };
    out.extend_from_slice(line.as_bytes());
    for part in parts {
        out.extend_from_slice(part);
    }
    let is_line = matches!(
        item,
        Item::Gone { .. } | Item::Pack { .. } | Item::Segment { .. } | Item::Table { .. }
    );
    if !is_line {
        out.push(b'\n');
    }
}

/// Parses a body that stands `offset` bytes behind the beginning of what is stored.
///
/// # Errors
/// What is wrong, as the end of a sentence about the entry.
pub fn parse(body: &[u8], offset: usize) -> Result<(Head, Vec<FoundItem<'_>>), String> {
    let mut reader = Reader::new(body)?;
    if reader.line()? != MAGIC {
        return Err("has a format that is not known".to_owned());
    }
    let slot = number(field(reader.line()?, "slot")?)?;
    let repository = token(field(reader.line()?, "repository")?)?;
    let before = digest(field(reader.line()?, "before")?)?;
    let mut items = Vec::new();
    while !reader.is_at_end() {
        let (item, at) = item(&mut reader)?;
        items.push(FoundItem { item, at: at.plus(offset) });
    }
    Ok((Head { slot, repository, before }, items))
}

/// An item, and where its bytes begin.
fn item<'a>(reader: &mut Reader<'a>) -> Result<(Item<'a>, usize), String> {
    let line = reader.line()?;
    let at = reader.at;
    let (word, rest) = line.split_once(' ').ok_or_else(|| unknown(line))?;
    let fields: Vec<&str> = rest.split(' ').collect();
    let item = match (word, fields.as_slice()) {
        ("file" | "program", _) => {
            let (len, path) = rest.split_once(' ').ok_or_else(|| unknown(line))?;
            let bytes = reader.last(number(len)?)?.into();
            Item::File { path: path_of(path)?, executable: word == "program", bytes }
        }
        ("gone", _) => Item::Gone { path: path_of(rest)? },
        ("revision", [revision, data, props]) => Item::Revision {
            revision: number(revision)?,
            data: Data::Inline(reader.take(number(data)?)?.into()),
            props: reader.last(number(props)?)?.into(),
        },
        ("big", [revision, token, len, digest, props]) => Item::Revision {
            revision: number(revision)?,
            data: Data::Big(object(token, len, digest)?),
            props: reader.last(number(props)?)?.into(),
        },
        ("props", [revision, before, len]) => Item::Props {
            revision: number(revision)?,
            before: digest(before)?,
            bytes: reader.last(number(len)?)?.into(),
        },
        ("pack", [first, count, a, b, c, d, e, f]) => Item::Pack {
            first: number(first)?,
            count: number(count)?,
            data: object(a, b, c)?,
            props: object(d, e, f)?,
        },
        ("seg", [first, token, len, digest]) => Item::Segment {
            first: number(first)?,
            lens: numbers_of(reader.line()?)?,
            data: object(token, len, digest)?,
        },
        ("reps", [count]) => {
            let len = number(count)?.checked_mul(len64(Rep::LEN)).ok_or_else(|| unknown(line))?;
            let rows = reader.last(len)?.chunks_exact(Rep::LEN).map(Rep::parse);
            Item::Reps(rows.collect::<Option<_>>().ok_or_else(|| unknown(line))?)
        }
        ("table", [first, end, rows, token, len, digest]) => Item::Table {
            first: number(first)?,
            end: number(end)?,
            form: Form::new(number(rows)?).ok_or_else(|| unknown(line))?,
            data: object(token, len, digest)?,
        },
        _ => return Err(unknown(line)),
    };
    Ok((item, at))
}

impl Item<'_> {
    /// About how many bytes it takes in an entry.
    #[must_use]
    pub fn weight(&self) -> u64 {
        let mut out = Vec::new();
        match self {
            Self::Revision { data: Data::Inline(data), props, .. } => {
                return len64(data.len()).plus(len64(props.len())).plus(100);
            }
            Self::File { bytes, .. } => return len64(bytes.len()).plus(100),
            Self::Reps(reps) => return len64(reps.len()).times(len64(Rep::LEN)).plus(100),
            other => write_item(other, &mut out),
        }
        len64(out.len())
    }
}
