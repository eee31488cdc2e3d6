//! Lines of words with a sum behind them: what entries and checkpoints have in common.
//!
//! Invariant: each value has one form, so that what is read is written back the same. An error is the end of a sentence about
//! what was read.

use std::borrow::Cow;

use sapwood_core::exact::Exact as _;
use sapwood_objects::Token;

use crate::digest::Digest;

/// What stands before the sum, in the last line.
const SUM: &str = "sum ";
/// The bytes of that line.
const SUM_LEN: usize = SUM.len() + 64 + 1;
/// The longest path of a file.
const MAX_PATH: usize = 4096;

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

/// Whether a path can be that of a file of a repository: relative, without parts that lead elsewhere.
#[must_use]
pub fn is_path(path: &str) -> bool {
    let good = |part: &str| !matches!(part, "" | "." | "..");
    path.len() <= MAX_PATH && !path.contains(['\n', '\0']) && path.split('/').all(good)
}

/// Appends the line with the sum of all before it.
pub(crate) fn close(out: &mut Vec<u8>) {
    let sum = Digest::of(out);
    out.extend_from_slice(format!("{SUM}{sum}\n").as_bytes());
}

/// Reads a content from its beginning to its end.
pub(crate) struct Reader<'a> {
    bytes: &'a [u8],
    /// How far it has come.
    pub(crate) at: usize,
}

impl<'a> Reader<'a> {
    /// What stands before a sum, which must be right.
    pub(crate) fn new(bytes: &'a [u8]) -> Result<Self, String> {
        let cut = bytes.len().checked_sub(SUM_LEN).ok_or("is too short")?;
        let (content, sum) = bytes.split_at(cut);
        if sum != format!("{SUM}{}\n", Digest::of(content)).as_bytes() {
            return Err("has a wrong sum".to_owned());
        }
        Ok(Self { bytes: content, at: 0 })
    }

    pub(crate) fn is_at_end(&self) -> bool {
        self.at >= self.bytes.len()
    }

    pub(crate) fn line(&mut self) -> Result<&'a str, String> {
        let rest = self.bytes.get(self.at..).unwrap_or(&[]);
        let end = rest.iter().position(|b| *b == b'\n').ok_or("ends within a line")?;
        let (line, _) = rest.split_at(end);
        self.at = self.at.plus(end).plus(1);
        str::from_utf8(line).map_err(|_| "has a line that is not UTF-8".to_owned())
    }

    pub(crate) fn take(&mut self, len: u64) -> Result<&'a [u8], String> {
        let rest = self.bytes.get(self.at..).unwrap_or(&[]);
        let taken = usize::try_from(len).ok().and_then(|len| rest.split_at_checked(len));
        let (taken, _) = taken.ok_or("ends within an item")?;
        self.at = self.at.plus(taken.len());
        Ok(taken)
    }

    /// Bytes and the end of their item.
    pub(crate) fn last(&mut self, len: u64) -> Result<&'a [u8], String> {
        let taken = self.take(len)?;
        match self.take(1)? {
            [b'\n'] => Ok(taken),
            _ => Err("has an item with a wrong length".to_owned()),
        }
    }
}

/// What is said of a line that is not known.
pub(crate) fn unknown(line: &str) -> String {
    format!("has an item that is not known: '{}'", line.chars().take(80).collect::<String>())
}

/// The value of a line that begins with a name.
pub(crate) fn field<'a>(line: &'a str, name: &str) -> Result<&'a str, String> {
    let value = line.strip_prefix(name).and_then(|rest| rest.strip_prefix(' '));
    value.ok_or_else(|| format!("has no '{name}' where it should be"))
}

/// A number in its one form.
pub(crate) fn number(text: &str) -> Result<u64, String> {
    let number: Option<u64> = text.parse().ok();
    number
        .filter(|number| number.to_string() == text && i64::try_from(*number).is_ok())
        .ok_or_else(|| format!("has '{text}' where a number should be"))
}

/// Numbers, as they stand in a line.
pub(crate) fn numbers(numbers: &[u64]) -> String {
    numbers.iter().map(u64::to_string).collect::<Vec<_>>().join(" ")
}

pub(crate) fn numbers_of(text: &str) -> Result<Vec<u64>, String> {
    text.split(' ').map(number).collect()
}

pub(crate) fn digest(text: &str) -> Result<Digest, String> {
    Digest::parse(text).ok_or_else(|| format!("has '{text}' where a sum should be"))
}

pub(crate) fn token(text: &str) -> Result<Token, String> {
    Token::parse(text).ok_or_else(|| format!("has '{text}' where a token should be"))
}

pub(crate) fn object(name: &str, len: &str, sum: &str) -> Result<Object, String> {
    Ok(Object { token: token(name)?, len: number(len)?, digest: digest(sum)? })
}

/// An object, as it stands in a line.
pub(crate) fn shown(object: &Object) -> String {
    format!("{} {} {}", object.token, object.len, object.digest)
}

pub(crate) fn path_of(path: &str) -> Result<Cow<'_, str>, String> {
    if is_path(path) { Ok(Cow::Borrowed(path)) } else { Err(format!("has a bad path '{path}'")) }
}
