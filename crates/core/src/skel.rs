//! Skels: nested lists of byte strings, such as `(file-remove 3 a/b)`, in which wc.db keeps
//! property lists, work items and conflicts.
//!
//! An atom is either a name (starts with a letter, ends before white space or a parenthesis) or
//! `length SPACE bytes`. Parsing borrows atoms from the input; nesting is capped at
//! [`MAX_DEPTH`], so that no input can exhaust the stack.

use crate::{Cut, Exact};
use thiserror::Error;

use crate::error::{ErrorCode, SvnError};

/// How deep lists may nest. The reference's own skels never go beyond four.
pub const MAX_DEPTH: usize = 64;

/// Why bytes are not a skel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("Malformed skeleton")]
pub struct Error;

impl From<Error> for SvnError {
    fn from(error: Error) -> Self {
        Self::new(ErrorCode::FS_MALFORMED_SKEL, error.to_string())
    }
}

/// A list or an atom.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Skel<'a> {
    /// A string of any bytes.
    Atom(&'a [u8]),
    /// Any number of skels.
    List(Vec<Skel<'a>>),
}

impl<'a> Skel<'a> {
    /// Parses the skel at the start of `bytes`; what follows it is ignored, as in the reference.
    ///
    /// # Errors
    /// When there is no well-formed skel, or lists nest deeper than [`MAX_DEPTH`].
    pub fn parse(bytes: &'a [u8]) -> Result<Self, Error> {
        let mut rest = bytes;
        parse_one(&mut rest, 0)
    }

    /// The bytes of an atom.
    #[must_use]
    pub const fn atom(&self) -> Option<&'a [u8]> {
        match self {
            Self::Atom(bytes) => Some(bytes),
            Self::List(_) => None,
        }
    }

    /// The members of a list.
    #[must_use]
    pub fn list(&self) -> Option<&[Self]> {
        match self {
            Self::List(members) => Some(members),
            Self::Atom(_) => None,
        }
    }

    /// Appends the form that [`Skel::parse`] reads, spelled as the reference spells it: short
    /// names as they are, all else with a length.
    pub fn write(&self, out: &mut Vec<u8>) {
        match self {
            Self::Atom(bytes) if is_plain_name(bytes) => out.extend_from_slice(bytes),
            Self::Atom(bytes) => {
                out.extend_from_slice(itoa::Buffer::new().format(bytes.len()).as_bytes());
                out.push(b' ');
                out.extend_from_slice(bytes);
            }
            Self::List(members) => {
                out.push(b'(');
                for (at, member) in members.iter().enumerate() {
                    if at > 0 {
                        out.push(b' ');
                    }
                    member.write(out);
                }
                out.push(b')');
            }
        }
    }
}

const fn is_space(byte: u8) -> bool {
    matches!(byte, b'\t' | b'\n' | 0x0c | b'\r' | b' ')
}

const fn is_paren(byte: u8) -> bool {
    matches!(byte, b'(' | b')' | b'[' | b']')
}

/// The longest atom that is written without its length.
const MAX_PLAIN_NAME: usize = 99;

fn is_plain_name(bytes: &[u8]) -> bool {
    bytes.len() <= MAX_PLAIN_NAME
        && bytes.first().is_some_and(u8::is_ascii_alphabetic)
        && !bytes.iter().any(|b| is_space(*b) || is_paren(*b))
}

fn skip_space(rest: &mut &[u8]) {
    let spaces = rest.iter().take_while(|b| is_space(**b)).count();
    *rest = rest.tail(spaces);
}

fn parse_one<'a>(rest: &mut &'a [u8], depth: usize) -> Result<Skel<'a>, Error> {
    match rest.first() {
        Some(b'(') => {
            if depth >= MAX_DEPTH {
                return Err(Error);
            }
            *rest = rest.tail(1);
            let mut members = Vec::new();
            loop {
                skip_space(rest);
                if let Some(after) = rest.strip_prefix(b")") {
                    *rest = after;
                    return Ok(Skel::List(members));
                }
                members.push(parse_one(rest, depth.plus(1))?);
            }
        }
        Some(first) if first.is_ascii_alphabetic() => {
            let len = rest.iter().take_while(|b| !is_space(**b) && !is_paren(**b)).count();
            take(rest, len)
        }
        _ => {
            let digits = rest.iter().take_while(|b| b.is_ascii_digit()).count();
            let (number, after) = rest.split_at_checked(digits).ok_or(Error)?;
            let len = crate::revnum::parse_u64(number).ok_or(Error)?;
            let (space, after) = after.split_first().ok_or(Error)?;
            if !is_space(*space) {
                return Err(Error);
            }
            *rest = after;
            take(rest, usize::try_from(len).map_err(|_| Error)?)
        }
    }
}

fn take<'a>(rest: &mut &'a [u8], len: usize) -> Result<Skel<'a>, Error> {
    let (atom, after) = rest.split_at_checked(len).ok_or(Error)?;
    *rest = after;
    Ok(Skel::Atom(atom))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_atoms_and_lists() {
        assert_eq!(Skel::parse(b"abc def"), Ok(Skel::Atom(b"abc")));
        assert_eq!(Skel::parse(b"3 a)b"), Ok(Skel::Atom(b"a)b")));
        assert_eq!(Skel::parse(b"0 "), Ok(Skel::Atom(b"")));
        assert_eq!(
            Skel::parse(b"( a (b 2 (( )\n3 xyz)"),
            Ok(Skel::List(vec![
                Skel::Atom(b"a"),
                Skel::List(vec![Skel::Atom(b"b"), Skel::Atom(b"((")]),
                Skel::Atom(b"xyz"),
            ]))
        );
    }

    #[test]
    fn refuses() {
        for bad in [
            &b""[..],
            b"(",
            b"(a",
            b")",
            b"4 abc",
            b"3",
            b"3abc",
            b"99999999999999999999999 a",
            b"-1 a",
            b"(a]",
        ] {
            assert_eq!(Skel::parse(bad), Err(Error), "{:?}", String::from_utf8_lossy(bad));
        }
        let deep = vec![b'('; 1_000_000];
        assert_eq!(Skel::parse(&deep), Err(Error));
    }

    #[test]
    fn writing_is_the_inverse() {
        let skel = Skel::List(vec![
            Skel::Atom(b"name"),
            Skel::Atom(b""),
            Skel::Atom(b"1x"),
            Skel::Atom(b"two words"),
            Skel::List(vec![]),
        ]);
        let mut out = Vec::new();
        skel.write(&mut out);
        assert_eq!(out, b"(name 0  2 1x 9 two words ())");
        assert_eq!(Skel::parse(&out), Ok(skel));
    }
}
