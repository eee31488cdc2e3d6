//! The effects of a repository's error on the working copy.

use sapwood_core::{ErrorCode, NodeKind, SvnError};
use sapwood_wc::commit::Item;

/// Says of an error which node it is about, where that helps.
pub(super) fn explain(error: SvnError, item: &Item) -> SvnError {
    let code = error.code();
    let out_of_date = [
        ErrorCode::FS_NOT_FOUND,
        ErrorCode::FS_CONFLICT,
        ErrorCode::FS_ALREADY_EXISTS,
        ErrorCode::FS_TXN_OUT_OF_DATE,
        ErrorCode::RA_DAV_PATH_NOT_FOUND,
        ErrorCode::RA_DAV_ALREADY_EXISTS,
        ErrorCode::RA_DAV_PRECONDITION_FAILED,
    ];
    let locked =
        [ErrorCode::FS_LOCK_OWNER_MISMATCH, ErrorCode::FS_BAD_LOCK_TOKEN, ErrorCode::RA_NOT_LOCKED];
    let is_dir = item.kind == Some(NodeKind::Dir);
    let word = if is_dir { "Directory" } else { "File" };
    let shown = item.abspath();
    let shown = shown.display();
    if out_of_date.contains(&code) || error.has_code(ErrorCode::RA_OUT_OF_DATE) {
        return error
            .wrap(ErrorCode::WC_NOT_UP_TO_DATE, format!("{word} '{shown}' is out of date"));
    }
    if locked.contains(&code) || error.has_code(ErrorCode::FS_NO_LOCK_TOKEN) {
        return error.wrap(
            ErrorCode::CLIENT_NO_LOCK_TOKEN,
            format!("{word} '{shown}' is locked in another working copy"),
        );
    }
    if code == ErrorCode::AUTHZ_UNWRITABLE || error.has_code(ErrorCode::RA_DAV_FORBIDDEN) {
        let word = if is_dir { "directory" } else { "file" };
        return error.wrap(
            ErrorCode::CLIENT_FORBIDDEN_BY_SERVER,
            format!("Changing {word} '{shown}' is forbidden by the server"),
        );
    }
    error
}
