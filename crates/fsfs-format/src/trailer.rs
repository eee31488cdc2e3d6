//! The last line of a revision with physical addressing.

use sapwood_core::Cut;
use sapwood_core::Revnum;

use crate::error::{Error, Result};
use crate::limits::TRAILER_LEN;
use crate::text;

/// Offsets from the start of the revision's data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trailer {
    /// Of the root directory's node-revision.
    pub root: u64,
    /// Of the changed paths.
    pub changes: u64,
}

#[allow(clippy::missing_errors_doc, reason = "all: `Error` says what is wrong with the bytes")]
impl Trailer {
    /// Parses the trailer at the end of `tail`, the last bytes of the revision (at most
    /// [`crate::limits::TRAILER_LEN`] of them are looked at).
    pub fn parse(tail: &[u8], revision: Revnum) -> Result<Self> {
        let wrong = |what: &str| Error::corrupt(what.replace("{}", &revision.to_string()));
        let start = tail.len().saturating_sub(TRAILER_LEN);
        let tail = tail.tail(start);
        let Some(body) = tail.strip_suffix(b"\n") else {
            return Err(wrong("Revision file (r{}) lacks trailing newline"));
        };
        let Some(at) = memchr::memrchr(b'\n', body) else {
            return Err(wrong("Final line in revision file (r{}) longer than 64 characters"));
        };
        let line = body.get(at.saturating_add(1)..).unwrap_or_default();
        let Some(space) = memchr::memchr(b' ', line) else {
            return Err(wrong("Final line in revision file r{} missing space"));
        };
        let (root, changes) = line.split_at_checked(space).unwrap_or_default();
        let number = |bytes: &[u8]| {
            text::number(bytes)
                .ok_or_else(|| wrong("Final line in revision file r{} holds a malformed number"))
        };
        Ok(Self { root: number(root)?, changes: number(changes.get(1..).unwrap_or_default())? })
    }
    /// Appends the line (not the newline before it).
    pub fn write(&self, out: &mut Vec<u8>) {
        text::push_display(format_args!("{} {}\n", self.root, self.changes), out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn round_trip_and_damage() {
        let mut out = b"\n".to_vec();
        let trailer = Trailer { root: 123, changes: 4567 };
        trailer.write(&mut out);
        assert_eq!(out, b"\n123 4567\n");
        assert_eq!(Trailer::parse(&out, Revnum(3)), Ok(trailer));
        for (bytes, want) in [
            (&b"\n1 2"[..], "Revision file (r3) lacks trailing newline"),
            (b"", "Revision file (r3) lacks trailing newline"),
            (b"1 2\n", "Final line in revision file (r3) longer than 64 characters"),
            (b"\n12\n", "Final line in revision file r3 missing space"),
        ] {
            assert_eq!(Trailer::parse(bytes, Revnum(3)).unwrap_err().to_string(), want);
        }
        for bad in [&b"\n 2\n"[..], b"\n1 \n", b"\n1 x\n", b"\n-1 2\n", b"\n1 2 3\n"] {
            assert!(Trailer::parse(bad, Revnum(3)).is_err());
        }
    }
}
