//! Paths in lines of text: bytes that are no printable ASCII are escaped.

use sapwood_core::{FsPath, Revnum, rawname};

use crate::error::{Error, Result};

const ESCAPE: u8 = 0x1b;

/// Appends a path, escaped.
pub(crate) fn escape_path(path: &str, out: &mut Vec<u8>) {
    for byte in rawname::to_bytes(path).iter() {
        match *byte {
            // Escaped they would be a NUL and a line end: 1.14 cannot read what it writes of them.
            plain @ (0xc0 | 0xca) => out.push(plain),
            escaped @ (0..0x20 | 0x80..) => {
                out.extend_from_slice(&[ESCAPE, escaped.wrapping_add(0x40)]);
            }
            plain => out.push(plain),
        }
    }
}

/// A path without escapes; `None` when it is not canonical.
pub(crate) fn unescape_path(bytes: &[u8]) -> Option<Box<str>> {
    if memchr::memchr(ESCAPE, bytes).is_none() {
        return canonical(bytes);
    }
    let mut plain = Vec::with_capacity(bytes.len());
    let mut rest = bytes.iter();
    while let Some(byte) = rest.next() {
        plain.push(match *byte {
            ESCAPE => rest.next()?.wrapping_sub(0x40),
            plain => plain,
        });
    }
    canonical(&plain)
}

/// Parses `REV PATH`.
pub(crate) fn rev_and_path(value: &[u8]) -> Result<(Revnum, Box<str>)> {
    let space = memchr::memchr(b' ', value);
    let parts = space.and_then(|at| Some((value.get(..at)?, value.get(at.checked_add(1)?..)?)));
    let parsed =
        parts.and_then(|(revision, path)| Some((Revnum::parse(revision)?, unescape_path(path)?)));
    parsed
        .ok_or_else(|| Error::corrupt(format!("Malformed copy source '{}'", value.escape_ascii())))
}

/// A path of a container or a line: canonical, and text (names that are not UTF-8 are spelt as [`rawname`] says).
pub(crate) fn canonical(bytes: &[u8]) -> Option<Box<str>> {
    let path = rawname::from_bytes(bytes)?;
    FsPath::new(&path).ok().map(|path| path.as_str().into())
}
