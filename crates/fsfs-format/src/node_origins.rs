//! Files in `node-origins`: where nodes with old global ids began.

use crate::error::Result;
use crate::hash::{self, Record};
use crate::id::{IdPart, NodeRevId};

/// The entry of `node` in the file's contents.
#[allow(clippy::missing_errors_doc)]
pub fn find(bytes: &[u8], node: IdPart) -> Result<Option<NodeRevId>> {
    let wanted = node.to_string();
    let mut rest = bytes;
    while let Record::Set(name, value) = hash::next(&mut rest, false)? {
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
        assert!(find(&bytes[..60], node(b"j7")).is_err());
    }
}
