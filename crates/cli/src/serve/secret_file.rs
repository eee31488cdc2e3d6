//! Files with one secret.

use std::path::Path;

/// What such a file says, without the end of its line.
///
/// # Errors
/// Why it cannot be used.
pub(super) fn read(path: &Path) -> Result<Vec<u8>, String> {
    let read = crate::input::contents(&path.to_string_lossy());
    let mut secret = read.map_err(|e| e.message().to_owned())?;
    while secret.last().is_some_and(|byte| b"\r\n".contains(byte)) {
        secret.pop();
    }
    if secret.is_empty() {
        return Err(format!("'{}' is empty", path.display()));
    }
    Ok(secret)
}
