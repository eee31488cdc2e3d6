//! An item that was found, as values that borrow from its bytes.
//!
//! Invariant: nothing is copied, and nothing is scanned a second time.

use std::borrow::Cow;

use sapwood_core::Revnum;
use sapwood_core::exact::Exact;
use sapwood_core::paths::{FsPath, FsPathBuf, RelPath, RelPathBuf};

use super::Token;
use crate::error::{Error, Result};

/// The tokens of an item with the bytes that they lie in.
#[derive(Clone, Copy, Debug)]
pub(super) struct View<'a> {
    pub(super) tokens: &'a [Token],
    pub(super) bytes: &'a [u8],
}

impl<'a> View<'a> {
    /// The item whose first token is at `index`.
    pub(super) fn item(self, index: usize) -> Option<Item<'a>> {
        let slice = |at: usize, len: usize| self.bytes.get(at..at.checked_add(len)?);
        Some(match *self.tokens.get(index)? {
            Token::Number(n) => Item::Number(n),
            // Words are made of ASCII letters only, so this never loses anything.
            Token::Word { at, len } => Item::Word(std::str::from_utf8(slice(at, len)?).ok()?),
            Token::Text { at, len } => Item::Text(slice(at, len)?),
            Token::List { end } => {
                Item::List(List { view: self, next: index.checked_add(1)?, end })
            }
        })
    }

    /// The index of the item after the one at `index`.
    fn after(self, index: usize) -> usize {
        match self.tokens.get(index) {
            Some(Token::List { end }) => *end,
            _ => index.plus(1),
        }
    }
}

/// One item, borrowed from the bytes it arrived in.
#[derive(Clone, Copy, Debug)]
pub enum Item<'a> {
    /// A number.
    Number(u64),
    /// A word: ASCII letters, digits and hyphens.
    Word(&'a str),
    /// A counted string, any bytes.
    Text(&'a [u8]),
    /// A list.
    List(List<'a>),
}

impl<'a> Item<'a> {
    /// The list, when it is one.
    ///
    /// # Errors
    /// [`Error::Malformed`] when it is something else.
    pub fn list(self) -> Result<List<'a>> {
        match self {
            Self::List(list) => Ok(list),
            _ => Err(Error::Malformed),
        }
    }
}

/// A list of items; iterating takes them one by one.
#[derive(Clone, Copy, Debug)]
pub struct List<'a> {
    view: View<'a>,
    next: usize,
    end: usize,
}

impl<'a> List<'a> {
    /// The same items, to be taken apart as a tuple.
    #[must_use]
    pub fn tuple(self) -> Tuple<'a> {
        Tuple { rest: self }
    }

    /// Whether nothing is left.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.next >= self.end
    }

    /// How many items are left. Walks them.
    #[must_use]
    pub fn count_items(&self) -> usize {
        Iterator::count(*self)
    }
}

impl<'a> Iterator for List<'a> {
    type Item = Item<'a>;

    fn next(&mut self) -> Option<Item<'a>> {
        if self.next >= self.end {
            return None;
        }
        let item = self.view.item(self.next)?;
        self.next = self.view.after(self.next);
        Some(item)
    }
}

/// Reads a list part by part. A tuple may have more parts than are read: they are
/// ignored, as the protocol demands.
///
/// The `opt_` methods are for parts after a place where the tuple may end: they give `None` at the
/// end, and an error when something of another type is there.
#[derive(Clone, Copy, Debug)]
pub struct Tuple<'a> {
    rest: List<'a>,
}

#[allow(
    clippy::missing_errors_doc,
    reason = "all: `Error::Malformed` when the part is missing or of another type, `Error::NoText` when it has to be text"
)]
impl<'a> Tuple<'a> {
    /// Whether nothing is left.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// How many parts are left. Walks them.
    #[must_use]
    pub fn remaining(&self) -> usize {
        self.rest.count_items()
    }

    /// The rest, as a list.
    #[must_use]
    pub const fn rest(self) -> List<'a> {
        self.rest
    }

    /// Passes over the next part. Logs and edits are made of millions of parts: an [`Item`] for
    /// each would be felt.
    #[inline]
    fn token(&mut self) -> Result<Token> {
        let list = &mut self.rest;
        if list.next >= list.end {
            return Err(Error::Malformed);
        }
        let token = *list.view.tokens.get(list.next).ok_or(Error::Malformed)?;
        list.next = match token {
            Token::List { end } => end,
            _ => list.next.plus(1),
        };
        Ok(token)
    }

    #[inline]
    fn slice(&self, at: usize, len: usize) -> Result<&'a [u8]> {
        self.rest.view.bytes.get(at..at.plus(len)).ok_or(Error::Malformed)
    }

    /// A number.
    #[inline]
    pub fn number(&mut self) -> Result<u64> {
        match self.token()? {
            Token::Number(n) => Ok(n),
            _ => Err(Error::Malformed),
        }
    }

    /// A number, or the end.
    pub fn opt_number(&mut self) -> Result<Option<u64>> {
        if self.is_empty() { Ok(None) } else { self.number().map(Some) }
    }

    /// A revision number; [`Error::NoRevision`] for what cannot be one.
    pub fn rev(&mut self) -> Result<Revnum> {
        self.number().and_then(as_revision)
    }

    /// A list that holds a revision number or nothing: `[ rev:number ]`. The reference writes the number
    /// of no revision, -1, without its sign, and reads such a number as none.
    pub fn bracketed_rev(&mut self) -> Result<Option<Revnum>> {
        let mut inner = self.tuple()?;
        if inner.is_empty() { Ok(None) } else { Ok(as_revision(inner.number()?).ok()) }
    }

    /// The bytes of a word.
    #[inline]
    pub(crate) fn word_bytes(&mut self) -> Result<&'a [u8]> {
        match self.token()? {
            Token::Word { at, len } => self.slice(at, len),
            _ => Err(Error::Malformed),
        }
    }

    /// A word.
    pub fn word(&mut self) -> Result<&'a str> {
        std::str::from_utf8(self.word_bytes()?).map_err(|_| Error::Malformed)
    }

    /// A word, or the end.
    pub fn opt_word(&mut self) -> Result<Option<&'a str>> {
        if self.is_empty() { Ok(None) } else { self.word().map(Some) }
    }

    /// One of the words `true` and `false`.
    #[inline]
    pub fn bool(&mut self) -> Result<bool> {
        match self.word_bytes()? {
            b"true" => Ok(true),
            b"false" => Ok(false),
            _ => Err(Error::Malformed),
        }
    }

    /// One of the words `true` and `false`, or the end.
    pub fn opt_bool(&mut self) -> Result<Option<bool>> {
        if self.is_empty() { Ok(None) } else { self.bool().map(Some) }
    }

    /// A string, any bytes.
    #[inline]
    pub fn bytes(&mut self) -> Result<&'a [u8]> {
        match self.token()? {
            Token::Text { at, len } => self.slice(at, len),
            _ => Err(Error::Malformed),
        }
    }

    /// A string, any bytes, or the end.
    pub fn opt_bytes(&mut self) -> Result<Option<&'a [u8]>> {
        if self.is_empty() { Ok(None) } else { self.bytes().map(Some) }
    }

    /// A list that holds a string or nothing: `[ value:string ]`.
    pub fn bracketed_bytes(&mut self) -> Result<Option<&'a [u8]>> {
        self.tuple()?.opt_bytes()
    }

    /// A string that must be UTF-8 without a NUL.
    pub fn text(&mut self) -> Result<&'a str> {
        as_text(self.bytes()?)
    }

    /// A string that must be UTF-8, or the end.
    pub fn opt_text(&mut self) -> Result<Option<&'a str>> {
        if self.is_empty() { Ok(None) } else { self.text().map(Some) }
    }

    /// A list that holds a UTF-8 string or nothing.
    pub fn bracketed_text(&mut self) -> Result<Option<&'a str>> {
        self.tuple()?.opt_text()
    }

    /// A relative path, made canonical.
    pub fn relpath(&mut self) -> Result<Cow<'a, RelPath>> {
        self.text().map(|text| match RelPath::new(text) {
            Ok(path) => Cow::Borrowed(path),
            Err(_) => Cow::Owned(RelPathBuf::canonicalize(text)),
        })
    }

    /// An absolute path, made canonical.
    pub fn fspath(&mut self) -> Result<Cow<'a, FsPath>> {
        self.text().map(|text| match FsPath::new(text) {
            Ok(path) => Cow::Borrowed(path),
            Err(_) => Cow::Owned(FsPathBuf::canonicalize(text)),
        })
    }

    /// A list.
    #[inline]
    pub fn list(&mut self) -> Result<List<'a>> {
        let (view, next) = (self.rest.view, self.rest.next.plus(1));
        match self.token()? {
            Token::List { end } => Ok(List { view, next, end }),
            _ => Err(Error::Malformed),
        }
    }

    /// A list, or the end.
    pub fn opt_list(&mut self) -> Result<Option<List<'a>>> {
        if self.is_empty() { Ok(None) } else { self.list().map(Some) }
    }

    /// A list, to be taken apart itself.
    pub fn tuple(&mut self) -> Result<Tuple<'a>> {
        self.list().map(List::tuple)
    }
}

/// A number as a revision.
///
/// # Errors
/// [`Error::NoRevision`] when it is more than 63 bits.
pub fn as_revision(number: u64) -> Result<Revnum> {
    i64::try_from(number).map(|_| Revnum(number)).map_err(|_| Error::NoRevision(number))
}

/// A string as text: UTF-8 without a NUL, which no path, name or URL holds.
///
/// # Errors
/// [`Error::NoText`] when it is not.
pub fn as_text(bytes: &[u8]) -> Result<&str> {
    let text = std::str::from_utf8(bytes).map_err(|_| Error::NoText)?;
    // Not a search that stops early: this compiles to a few wide instructions.
    let nul = bytes.iter().fold(false, |found, byte| found | (*byte == 0));
    if nul { Err(Error::NoText) } else { Ok(text) }
}
