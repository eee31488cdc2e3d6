//! Several files as one object: each is a line with its length and name, then its bytes.
//!
//! Invariant: the files are in the order of their names, so that equal files make equal bytes.

use std::collections::BTreeMap;
use std::fmt::Write as _;

/// The bytes of the object.
#[must_use]
pub fn join(files: &BTreeMap<String, Vec<u8>>) -> Vec<u8> {
    let mut out = Vec::new();
    for (name, bytes) in files {
        let mut line = String::new();
        let _ = writeln!(line, "{} {name}", bytes.len());
        out.extend_from_slice(line.as_bytes());
        out.extend_from_slice(bytes);
    }
    out
}

/// The files of an object; `None` if it is none of several files, or has a name that leads elsewhere.
#[must_use]
pub fn split(bytes: &[u8]) -> Option<Vec<(&str, &[u8])>> {
    let mut files = Vec::new();
    let mut rest = bytes;
    while !rest.is_empty() {
        let end = rest.iter().position(|b| *b == b'\n')?;
        let (line, behind) = rest.split_at(end);
        let (len, name) = str::from_utf8(line).ok()?.split_once(' ')?;
        let (contents, next) = behind.split_at_checked(1)?.1.split_at_checked(len.parse().ok()?)?;
        if name.contains('/') || !crate::entry::is_path(name) {
            return None;
        }
        files.push((name, contents));
        rest = next;
    }
    Some(files)
}
