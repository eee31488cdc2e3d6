//! Items out of bytes.
//!
//! An item is a number, a word, a counted string or a list of items; each ends with white space.
//! [`Decoder`] scans one item, resuming where the bytes ran out, into a flat table of tokens that
//! holds offsets only; [`Item`], [`List`] and [`Tuple`] are views of that table and the bytes. The
//! table is reused for the next item, so that a busy connection does not allocate.

mod view;

use crate::error::{Error, Result};
use sapwood_core::exact::{Cut, Exact};
use view::View;
pub use view::{Item, List, Tuple, as_revision, as_text};

/// How many lists may lie around an item, plus one: an item at this depth is refused.
pub const MAX_NESTING: usize = 64;
/// The longest word, in bytes. (The reference refuses words of 25 and more when it reads.)
pub(crate) const MAX_WORD: usize = 24;
/// The most digits a number or a string's length may be written with; leading zeros count.
const MAX_DIGITS: usize = 64;

/// Room for tokens that a decoder keeps from item to item.
const KEEP_TOKENS: usize = 4096;

/// What one item may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of the whole item. Strings that announce more are refused before they arrive.
    pub bytes: usize,
    /// Numbers, words, strings and lists in the item, all together. A token takes 24 bytes here.
    pub tokens: usize,
}

impl Default for Limits {
    /// 16 MiB, the reference's default, and a million tokens.
    fn default() -> Self {
        Self { bytes: 16 << 20, tokens: 1 << 20 }
    }
}

/// One part of an item. Offsets are from the item's first byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Token {
    Number(u64),
    Word {
        at: usize,
        len: usize,
    },
    Text {
        at: usize,
        len: usize,
    },
    /// A list; `end` is the index of the first token after all that is in it.
    List {
        end: usize,
    },
}

/// What [`Decoder::advance`] found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// The item is complete and takes this many bytes, with the white space after it.
    Complete(usize),
    /// At least this many bytes more are needed.
    NeedMore(usize),
}

/// Finds the end of one item and what is in it.
#[derive(Debug)]
pub struct Decoder {
    limits: Limits,
    tokens: Vec<Token>,
    /// Indices of the lists that are still open.
    open: Vec<usize>,
    /// How much of the buffer is dealt with.
    at: usize,
    complete: bool,
}

impl Decoder {
    /// A decoder that waits for the first byte of an item.
    #[must_use]
    pub fn new(limits: Limits) -> Self {
        Self { limits, tokens: Vec::new(), open: Vec::new(), at: 0, complete: false }
    }

    /// Drops the present item and waits for the next.
    pub fn reset(&mut self) {
        self.tokens.clear();
        self.tokens.shrink_to(KEEP_TOKENS);
        self.open.clear();
        self.at = 0;
        self.complete = false;
    }

    /// The memory that is held, in bytes.
    #[must_use]
    pub const fn memory_used(&self) -> usize {
        self.tokens.capacity().saturating_mul(size_of::<Token>())
    }

    /// Reads `bytes`: all that has arrived since the item began, including what earlier calls
    /// saw.
    ///
    /// # Errors
    /// When the bytes are no item, or more than the limits allow. The connection is of no more
    /// use then, for it is not known where the next item begins.
    pub fn advance(&mut self, bytes: &[u8]) -> Result<Progress> {
        if self.complete {
            return Ok(Progress::Complete(self.at));
        }
        loop {
            let rest = bytes.tail(self.at);
            let Some((first, tail)) = rest.split_first() else { return self.need(bytes, 1) };
            match first {
                b' ' | b'\n' => {
                    self.at = self.at.plus(1);
                    continue;
                }
                b'(' => {
                    if self.open.len().plus(1) >= MAX_NESTING {
                        return Err(Error::NestedTooDeeply);
                    }
                    self.open.push(self.tokens.len());
                    self.push(Token::List { end: 0 })?;
                    self.at = self.at.plus(1);
                    continue;
                }
                b')' => {
                    // The list ends only with the white space behind it.
                    let Some(after) = tail.first() else { return self.need(bytes, 1) };
                    let list = self.open.pop().ok_or(Error::Malformed)?;
                    require_space(*after)?;
                    let end = self.tokens.len();
                    if let Some(slot) = self.tokens.get_mut(list) {
                        *slot = Token::List { end };
                    }
                    self.at = self.at.plus(2);
                }
                _ => {
                    // An atom inside 63 lists is one level too deep, as an inner list would be.
                    if self.open.len().plus(1) >= MAX_NESTING {
                        return Err(Error::NestedTooDeeply);
                    }
                    match scan_atom(rest, self.at, self.limits.bytes)? {
                        Atom::Whole(token, len) => {
                            self.push(token)?;
                            self.at = self.at.plus(len);
                        }
                        Atom::Short(missing) => return self.need(bytes, missing),
                    }
                }
            }
            if self.open.is_empty() {
                self.complete = true;
                return Ok(Progress::Complete(self.at));
            }
        }
    }

    /// The item that was found complete in `bytes`.
    ///
    /// # Errors
    /// [`Error::Malformed`] when there is none.
    pub fn item<'a>(&'a self, bytes: &'a [u8]) -> Result<Item<'a>> {
        if !self.complete {
            return Err(Error::Malformed);
        }
        View { tokens: &self.tokens, bytes }.item(0).ok_or(Error::Malformed)
    }

    /// The item that was found complete in `bytes`, which must be a list.
    ///
    /// # Errors
    /// [`Error::Malformed`] when there is none, or it is no list.
    pub fn tuple<'a>(&'a self, bytes: &'a [u8]) -> Result<Tuple<'a>> {
        self.item(bytes)?.list().map(List::tuple)
    }

    fn need(&self, bytes: &[u8], missing: usize) -> Result<Progress> {
        if bytes.len() >= self.limits.bytes {
            return Err(Error::RequestTooLarge);
        }
        Ok(Progress::NeedMore(missing))
    }

    fn push(&mut self, token: Token) -> Result<()> {
        if self.tokens.len() >= self.limits.tokens {
            return Err(Error::TooManyItems);
        }
        self.tokens.push(token);
        Ok(())
    }
}

enum Atom {
    Whole(Token, usize),
    Short(usize),
}

const fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\n')
}

fn require_space(byte: u8) -> Result<()> {
    if is_space(byte) { Ok(()) } else { Err(Error::Malformed) }
}

/// One number, string or word at the start of `rest`, which lies at `offset` of the item.
fn scan_atom(rest: &[u8], offset: usize, max_bytes: usize) -> Result<Atom> {
    let Some(first) = rest.first() else { return Ok(Atom::Short(1)) };
    if first.is_ascii_digit() {
        return scan_digits(rest, offset, max_bytes);
    }
    if !first.is_ascii_alphabetic() {
        return Err(Error::Malformed);
    }
    let is_letter = |b: &u8| b.is_ascii_alphanumeric() || *b == b'-';
    let len = rest.iter().take(MAX_WORD + 1).take_while(|b| is_letter(b)).count();
    if len > MAX_WORD {
        return Err(Error::WordTooLong);
    }
    let Some(after) = rest.get(len) else { return Ok(Atom::Short(1)) };
    require_space(*after)?;
    Ok(Atom::Whole(Token::Word { at: offset, len }, len.plus(1)))
}

fn scan_digits(rest: &[u8], offset: usize, max_bytes: usize) -> Result<Atom> {
    let mut value: u64 = 0;
    let mut digits = 0usize;
    for byte in rest {
        if !byte.is_ascii_digit() {
            break;
        }
        digits = digits.plus(1);
        if digits > MAX_DIGITS {
            return Err(Error::NumberTooLarge);
        }
        value = value
            .checked_mul(10)
            .and_then(|v| v.checked_add(u64::from(byte.wrapping_sub(b'0'))))
            .ok_or(Error::NumberTooLarge)?;
    }
    match rest.get(digits) {
        None => Ok(Atom::Short(1)),
        Some(b':') => {
            let len = usize::try_from(value).map_err(|_| Error::RequestTooLarge)?;
            if len > max_bytes {
                return Err(Error::RequestTooLarge);
            }
            let start = digits.plus(1);
            let end = start.saturating_add(len);
            match rest.get(end) {
                None => {
                    let want = end.saturating_add(1);
                    Ok(Atom::Short(want.minus(rest.len())))
                }
                Some(after) => {
                    require_space(*after)?;
                    let token = Token::Text { at: offset.plus(start), len };
                    Ok(Atom::Whole(token, end.plus(1)))
                }
            }
        }
        Some(after) => {
            require_space(*after)?;
            Ok(Atom::Whole(Token::Number(value), digits.plus(1)))
        }
    }
}

#[cfg(test)]
mod tests;
