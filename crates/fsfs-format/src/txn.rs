//! Small files of a transaction's folder.

use crate::base36::{self, Base36};
use crate::error::{Error, Result};
use crate::id::NodeRevId;
use crate::text;

/// What `next-ids` says: the next temporary node id and copy id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NextIds {
    /// The next node id.
    pub node: u64,
    /// The next copy id.
    pub copy: u64,
}

#[allow(clippy::missing_errors_doc, reason = "all: `Error` says what is wrong with the bytes")]
impl NextIds {
    /// Parses `next-ids`.
    pub fn parse(bytes: &[u8]) -> Result<Self> {
        let parse = || {
            // The reference writes a zero byte behind the line.
            let end = memchr::memchr(b'\n', bytes)?;
            let mut rest = bytes.get(..end)?;
            let node = base36::parse(text::word(&mut rest)?)?;
            let copy = base36::parse(text::word(&mut rest)?)?;
            rest.is_empty().then_some(Self { node, copy })
        };
        parse().ok_or_else(|| Error::corrupt("next-id file corrupt"))
    }

    /// Appends the line.
    pub fn write(&self, out: &mut Vec<u8>) {
        text::push_display(format_args!("{} {}\n", Base36(self.node), Base36(self.copy)), out);
    }
}

/// The name of a node-revision's file in the transaction's folder: `node.NODE.COPY`.
#[must_use]
pub fn node_file_name(id: &NodeRevId) -> String {
    format!("node.{}.{}", id.node, id.copy)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn next_ids() {
        let mut out = Vec::new();
        NextIds { node: 71, copy: 0 }.write(&mut out);
        assert_eq!(out, b"1z 0\n");
        assert_eq!(NextIds::parse(&out), Ok(NextIds { node: 71, copy: 0 }));
        assert_eq!(NextIds::parse(b"2 1\n\0"), Ok(NextIds { node: 2, copy: 1 }));
        for bad in [&b""[..], b"1z 0", b"1z\n", b"1 2 3\n", b"A 0\n"] {
            assert!(NextIds::parse(bad).is_err());
        }
    }

    #[test]
    fn names() {
        let id = NodeRevId::parse(b"_3.0-4.t14-g").unwrap();
        assert_eq!(node_file_name(&id), "node._3.0-4");
    }
}
