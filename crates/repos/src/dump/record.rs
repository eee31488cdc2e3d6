//! The records of dump streams, as bytes.

use std::io::Write as _;

use sapwood_core::{ErrorCode, PropList, Revnum, SvnError, hashdump};

use crate::dumpstream::header;

/// One header line.
pub(super) fn header_line(out: &mut Vec<u8>, name: &str, value: &[u8]) {
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(b": ");
    out.extend_from_slice(value);
    out.push(b'\n');
}

/// One header line with a value that formats itself.
pub(super) fn header_value(out: &mut Vec<u8>, name: &str, value: impl std::fmt::Display) {
    out.extend_from_slice(name.as_bytes());
    // Writing to a Vec cannot fail.
    let _ = writeln!(out, ": {value}");
}

/// The records at the very beginning: format version and UUID.
pub(super) fn write_magic(out: &mut Vec<u8>, version: u32, uuid: &str) {
    header_value(out, header::MAGIC, version);
    out.push(b'\n');
    header_line(out, header::UUID, uuid.as_bytes());
    out.push(b'\n');
}

/// A revision's record, with its properties (no property block at all when `None`).
pub fn write_revision(out: &mut Vec<u8>, revision: Revnum, props: Option<&PropList>) {
    header_value(out, header::REVISION_NUMBER, revision);
    let mut block = Vec::new();
    if let Some(props) = props {
        hashdump::write(&mut block, props, Some(hashdump::PROPS_END));
        header_value(out, header::PROP_CONTENT_LENGTH, block.len());
        header_value(out, header::CONTENT_LENGTH, block.len());
    }
    out.push(b'\n');
    out.extend_from_slice(&block);
    out.push(b'\n');
}

/// The error for output that cannot be written.
pub(super) fn write_error(error: std::io::Error) -> SvnError {
    match error.get_ref().and_then(|inner| inner.downcast_ref::<SvnError>()) {
        Some(inner) => inner.clone(),
        // The reader has gone: a code of its own, which programs do not report.
        None if error.kind() == std::io::ErrorKind::BrokenPipe => {
            SvnError::new(ErrorCode::IO_PIPE_WRITE_ERROR, "")
        }
        None => SvnError::io(&error, "Can't write to stream"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn revision_records() {
        let mut props = PropList::new();
        props.set("svn:log", b"x".as_slice());
        let mut out = Vec::new();
        write_revision(&mut out, Revnum(3), Some(&props));
        assert_eq!(
            out,
            b"Revision-number: 3\nProp-content-length: 28\nContent-length: 28\n\n\
              K 7\nsvn:log\nV 1\nx\nPROPS-END\n\n"
        );
        out.clear();
        write_revision(&mut out, Revnum(0), Some(&PropList::new()));
        assert_eq!(
            out,
            b"Revision-number: 0\nProp-content-length: 10\nContent-length: 10\n\nPROPS-END\n\n"
        );
    }
}
