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

/// The first line.
const MAGIC: &str = "sapwood-log 1";
/// What stands before the sum of the entry, at its end.
const SUM: &str = "sum ";
/// The bytes of the line of the sum.
const SUM_LEN: usize = SUM.len() + 64 + 1;
/// The longest path of a file.
const MAX_PATH: usize = 4096;

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

/// An object that an entry names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Object {
    /// Its name.
    pub token: Token,
    /// Its length in bytes.
    pub len: u64,
    /// The sum of its bytes.
    pub digest: Digest,
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
}

/// An item as it was read, with where the first of its bytes stands in the entry as stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found<'a> {
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
    let sum = Digest::of(&out);
    out.extend_from_slice(format!("{SUM}{sum}\n").as_bytes());
    out
}

fn write_item(item: &Item<'_>, out: &mut Vec<u8>) {
    let mut line = String::new();
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
    };
    out.extend_from_slice(line.as_bytes());
    for part in parts {
        out.extend_from_slice(part);
    }
    if !matches!(item, Item::Gone { .. } | Item::Pack { .. }) {
        out.push(b'\n');
    }
}

fn shown(object: &Object) -> String {
    format!("{} {} {}", object.token, object.len, object.digest)
}

/// Whether a path can be that of a file of a repository: relative, without parts that lead elsewhere.
#[must_use]
pub fn is_path(path: &str) -> bool {
    let good = |part: &str| !matches!(part, "" | "." | "..");
    path.len() <= MAX_PATH && !path.contains(['\n', '\0']) && path.split('/').all(good)
}

/// Parses a body that stands `offset` bytes behind the beginning of what is stored.
///
/// # Errors
/// What is wrong, as the end of a sentence about the entry.
pub fn parse(body: &[u8], offset: usize) -> Result<(Head, Vec<Found<'_>>), String> {
    let cut = body.len().checked_sub(SUM_LEN).ok_or("is too short")?;
    let (content, sum) = body.split_at(cut);
    if sum != format!("{SUM}{}\n", Digest::of(content)).as_bytes() {
        return Err("has a wrong sum".to_owned());
    }
    let mut reader = Reader { bytes: content, at: 0 };
    if reader.line()? != MAGIC {
        return Err("has a format that is not known".to_owned());
    }
    let slot = number(field(reader.line()?, "slot")?)?;
    let repository = token(field(reader.line()?, "repository")?)?;
    let before = digest(field(reader.line()?, "before")?)?;
    let mut items = Vec::new();
    while reader.at < content.len() {
        let (item, at) = reader.item()?;
        items.push(Found { item, at: at.plus(offset) });
    }
    Ok((Head { slot, repository, before }, items))
}

/// Reads a content from its beginning to its end.
struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    fn line(&mut self) -> Result<&'a str, String> {
        let rest = self.bytes.get(self.at..).unwrap_or(&[]);
        let end = rest.iter().position(|b| *b == b'\n').ok_or("ends within a line")?;
        let (line, _) = rest.split_at(end);
        self.at = self.at.plus(end).plus(1);
        str::from_utf8(line).map_err(|_| "has a line that is not UTF-8".to_owned())
    }

    fn take(&mut self, len: u64) -> Result<Cow<'a, [u8]>, String> {
        let rest = self.bytes.get(self.at..).unwrap_or(&[]);
        let taken = usize::try_from(len).ok().and_then(|len| rest.split_at_checked(len));
        let (taken, _) = taken.ok_or("ends within an item")?;
        self.at = self.at.plus(taken.len());
        Ok(Cow::Borrowed(taken))
    }

    /// Bytes and the end of their item.
    fn last(&mut self, len: u64) -> Result<Cow<'a, [u8]>, String> {
        let taken = self.take(len)?;
        match *self.take(1)? {
            [b'\n'] => Ok(taken),
            _ => Err("has an item with a wrong length".to_owned()),
        }
    }

    /// An item, and where its bytes begin.
    fn item(&mut self) -> Result<(Item<'a>, usize), String> {
        let line = self.line()?;
        let at = self.at;
        let (word, rest) = line.split_once(' ').ok_or_else(|| unknown(line))?;
        let fields: Vec<&str> = rest.split(' ').collect();
        let item = match (word, fields.as_slice()) {
            ("file" | "program", _) => {
                let (len, path) = rest.split_once(' ').ok_or_else(|| unknown(line))?;
                let bytes = self.last(number(len)?)?;
                Item::File { path: path_of(path)?, executable: word == "program", bytes }
            }
            ("gone", _) => Item::Gone { path: path_of(rest)? },
            ("revision", [revision, data, props]) => Item::Revision {
                revision: number(revision)?,
                data: Data::Inline(self.take(number(data)?)?),
                props: self.last(number(props)?)?,
            },
            ("big", [revision, token, len, digest, props]) => Item::Revision {
                revision: number(revision)?,
                data: Data::Big(object(token, len, digest)?),
                props: self.last(number(props)?)?,
            },
            ("props", [revision, before, len]) => Item::Props {
                revision: number(revision)?,
                before: digest(before)?,
                bytes: self.last(number(len)?)?,
            },
            ("pack", [first, count, a, b, c, d, e, f]) => Item::Pack {
                first: number(first)?,
                count: number(count)?,
                data: object(a, b, c)?,
                props: object(d, e, f)?,
            },
            _ => return Err(unknown(line)),
        };
        Ok((item, at))
    }
}

fn unknown(line: &str) -> String {
    format!("has an item that is not known: '{}'", line.chars().take(80).collect::<String>())
}

fn field<'a>(line: &'a str, name: &str) -> Result<&'a str, String> {
    let value = line.strip_prefix(name).and_then(|rest| rest.strip_prefix(' '));
    value.ok_or_else(|| format!("has no '{name}' where it should be"))
}

/// A number in its one form.
fn number(text: &str) -> Result<u64, String> {
    let number: Option<u64> = text.parse().ok();
    number
        .filter(|number| number.to_string() == text && i64::try_from(*number).is_ok())
        .ok_or_else(|| format!("has '{text}' where a number should be"))
}

fn digest(text: &str) -> Result<Digest, String> {
    Digest::parse(text).ok_or_else(|| format!("has '{text}' where a sum should be"))
}

fn token(text: &str) -> Result<Token, String> {
    Token::parse(text).ok_or_else(|| format!("has '{text}' where a token should be"))
}

fn object(name: &str, len: &str, sum: &str) -> Result<Object, String> {
    Ok(Object { token: token(name)?, len: number(len)?, digest: digest(sum)? })
}

fn path_of(path: &str) -> Result<Cow<'_, str>, String> {
    if is_path(path) { Ok(Cow::Borrowed(path)) } else { Err(format!("has a bad path '{path}'")) }
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
            other => write_item(other, &mut out),
        }
        len64(out.len())
    }
}
