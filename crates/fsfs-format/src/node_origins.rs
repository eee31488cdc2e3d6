//! Files in `node-origins`: where nodes with old global ids began.

use sapwood_core::hashdump::{END, Entry, Reader};

use crate::error::Result;
use crate::id::{IdPart, NodeRevId};

/// The entry of `node` in the file's contents.
#[allow(clippy::missing_errors_doc, reason = "all: `Error` says what is wrong with the bytes")]
pub fn find(bytes: &[u8], node: IdPart) -> Result<Option<NodeRevId>> {
    let wanted = node.to_string();
    let mut entries = Reader::new(bytes, Some(END));
    while let Some(Entry::Set { name, value }) = entries.next_entry()? {
        if name == wanted.as_bytes() {
            return NodeRevId::parse(value).map(Some);
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds() {
        let bytes = b"K 2\nj5\nV 10\nj5.0.r9/44\nK 2\nj6\nV 10\nj6.0.r9/91\nEND\n";
        let node = |text: &[u8]| IdPart::parse(text).unwrap();
        assert_eq!(find(bytes, node(b"j6")).unwrap().unwrap().to_string(), "j6.0.r9/91");
        assert_eq!(find(bytes, node(b"j7")), Ok(None));
        assert!(find(&bytes[..40], node(b"j7")).is_err());
    }
}
