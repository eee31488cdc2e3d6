//! Text deltas as a series of chunks of svndiff.

use sapwood_core::SvnResult;
use sapwood_delta::{TextDelta, Version};

/// Hands `delta` to `chunk` as svndiff not newer than `newest`: stored bytes as they are where
/// that can be, else encoded window by window. There is always at least one chunk, the header.
///
/// # Errors
/// What the delta and the receiver of chunks return.
pub fn send_delta(
    delta: &mut dyn TextDelta,
    newest: Version,
    compression: u8,
    chunk: &mut dyn FnMut(&[u8]) -> SvnResult<()>,
) -> SvnResult<()> {
    if let Some(encoded) = delta.encoded(newest) {
        while let Some(bytes) = encoded.next_bytes()? {
            chunk(bytes)?;
        }
        return Ok(());
    }
    let _ = compression;
    todo!("svndiff encoder")
}
