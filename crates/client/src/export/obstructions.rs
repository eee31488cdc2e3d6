//! What is in the way of an export.
//!
//! Invariant: no directory is replaced by a file, and no file that was there without `--force`.

use std::fs;
use std::path::Path;

use sapwood_core::{ErrorCode, SvnError, SvnResult};

use super::Export;

/// E155000.
pub(super) fn obstructed(message: String) -> SvnError {
    SvnError::new(ErrorCode::WC_OBSTRUCTED_UPDATE, message)
}

/// Refuses what is in the way of a file; `shown` is its path as the user knows it.
pub(super) fn refuse_existing(path: &Path, shown: &str, how: &Export) -> SvnResult<()> {
    let message = match fs::symlink_metadata(path) {
        Ok(found) if found.is_dir() => {
            format!("Destination '{shown}' exists. Cannot overwrite directory with non-directory")
        }
        Ok(_) if !how.overwrite => {
            format!("Destination file '{shown}' exists, and will not be overwritten unless forced")
        }
        _ => return Ok(()),
    };
    Err(SvnError::new(ErrorCode::ILLEGAL_TARGET, message))
}

/// Whether a directory is at a path; refuses everything else that is in the way.
pub(super) fn is_dir_there(path: &Path, shown: &str, how: &Export) -> SvnResult<bool> {
    match fs::symlink_metadata(path) {
        Ok(found) if found.is_file() => {
            let message = format!("'{shown}' exists and is not a directory");
            Err(SvnError::new(ErrorCode::WC_NOT_WORKING_COPY, message))
        }
        Ok(found) if !found.is_dir() || !how.overwrite => {
            Err(obstructed(format!("'{shown}' already exists")))
        }
        found => Ok(found.is_ok()),
    }
}
