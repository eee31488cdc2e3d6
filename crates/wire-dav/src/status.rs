//! Which http status an E-code has, and which E-code a client takes a status for.

use sapwood_core::ErrorCode;

/// The status for an E-code, if there is a special one.
#[must_use]
pub fn status_of(code: ErrorCode) -> Option<u16> {
    Some(match code {
        ErrorCode::FS_NOT_FOUND | ErrorCode::FS_NO_SUCH_REVISION => 404,
        ErrorCode::UNSUPPORTED_FEATURE => 501,
        ErrorCode::FS_LOCK_OWNER_MISMATCH
        | ErrorCode::FS_BAD_LOCK_TOKEN
        | ErrorCode::FS_NO_LOCK_TOKEN
        | ErrorCode::FS_NO_USER
        | ErrorCode::FS_PATH_ALREADY_LOCKED => 423,
        ErrorCode::FS_PROP_BASEVALUE_MISMATCH => 412,
        ErrorCode::AUTHZ_UNREADABLE
        | ErrorCode::AUTHZ_UNWRITABLE
        | ErrorCode::AUTHZ_ROOT_UNREADABLE
        | ErrorCode::RA_NOT_AUTHORIZED => 403,
        ErrorCode::FS_CONFLICT | ErrorCode::FS_TXN_OUT_OF_DATE => 409,
        ErrorCode::XML_MALFORMED | ErrorCode::APMOD_MALFORMED_URI | ErrorCode::FS_PATH_SYNTAX => {
            400
        }
        _ => return None,
    })
}

/// The E-code to which a client maps a status without a body.
#[must_use]
pub fn code_of(status: u16) -> ErrorCode {
    match status {
        300..=399 => ErrorCode::RA_DAV_RELOCATED,
        403 => ErrorCode::RA_DAV_FORBIDDEN,
        404 => ErrorCode::FS_NOT_FOUND,
        405 => ErrorCode::RA_DAV_METHOD_NOT_ALLOWED,
        409 => ErrorCode::FS_CONFLICT,
        412 => ErrorCode::RA_DAV_PRECONDITION_FAILED,
        423 => ErrorCode::FS_NO_LOCK_TOKEN,
        501 => ErrorCode::UNSUPPORTED_FEATURE,
        _ => ErrorCode::RA_DAV_REQUEST_FAILED,
    }
}
