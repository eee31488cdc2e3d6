//! What of a file is text that can be found.
//!
//! Invariant: no more than [`LARGEST_TEXT`] and one piece are read of a file.

use sapwood_core::len64;
use sapwood_core::props::{is_binary_mime_type, names};
use sapwood_fs::Node;

use crate::error::Result;

/// Bytes of the largest file whose text is searched.
pub const LARGEST_TEXT: u64 = 1 << 20;

/// The text of a file; `None` for files that are binary or larger than [`LARGEST_TEXT`].
///
/// # Errors
/// Corruption and system errors.
pub fn of_file(node: &Node) -> Result<Option<String>> {
    let length = node.length()?;
    if length > LARGEST_TEXT || has_binary_type(node)? {
        return Ok(None);
    }
    let mut bytes = Vec::new();
    let mut contents = node.contents()?;
    while let Some(piece) = contents.next_piece()? {
        bytes.extend_from_slice(piece);
        if piece.contains(&0) || len64(bytes.len()) > LARGEST_TEXT {
            return Ok(None);
        }
    }
    Ok(Some(match String::from_utf8(bytes) {
        Ok(text) => text,
        Err(other) => String::from_utf8_lossy(other.as_bytes()).into_owned(),
    }))
}

fn has_binary_type(node: &Node) -> Result<bool> {
    if !node.has_props()? {
        return Ok(false);
    }
    let props = node.props()?;
    Ok(props.get(names::MIME_TYPE).is_some_and(is_binary_mime_type))
}
