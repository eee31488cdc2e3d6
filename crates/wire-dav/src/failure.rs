//! Errors on the wire: a status, and an XML body with the E-code and the message.

use sapwood_core::{ErrorCode, SvnError};

use crate::NS_DAV;
use crate::error::Result;
use crate::xml::write::fuzzy;
use crate::xml::{Document, HEADER, Limits, Xml as _};

/// The namespace of the message: mod_dav's own.
const NS_SENTENCE: &str = "http://apache.org/dav/xmlns";

/// The status for an E-code, if there is a special one.
#[must_use]
pub fn status_of(code: ErrorCode) -> Option<u16> {
    Some(match code {
        ErrorCode::FS_NOT_FOUND | ErrorCode::FS_NO_SUCH_REVISION => 404,
        ErrorCode::UNSUPPORTED_FEATURE => 501,
        ErrorCode::FS_LOCK_OWNER_MISMATCH | ErrorCode::FS_PATH_ALREADY_LOCKED => 423,
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

/// Appends the body of an error: the outermost of its chain.
pub fn write(out: &mut Vec<u8>, error: &SvnError) {
    let message = match error.message() {
        "" => error.code().generic_message(),
        message => message,
    };
    out.raw(HEADER);
    out.raw(
        "<D:error xmlns:D=\"DAV:\" xmlns:m=\"http://apache.org/dav/xmlns\" xmlns:C=\"svn:\">\n",
    );
    out.raw("<C:error/>\n<m:human-readable errcode=\"");
    out.number(error.code().0.into());
    out.raw("\">\n");
    out.text(&fuzzy(message.as_bytes()));
    out.raw("\n</m:human-readable>\n</D:error>\n");
}

/// The error in a body; `None` when the body is not of that kind.
///
/// # Errors
/// When the body is not XML.
pub fn read(body: &[u8]) -> Result<Option<SvnError>> {
    let root = Document::open(body, Limits::default())?.into_root()?;
    if !root.is(NS_DAV, "error") {
        return Ok(None);
    }
    Ok(root.child(NS_SENTENCE, "human-readable").and_then(|sentence| {
        let code = sentence.attribute("errcode").and_then(|code| code.trim().parse().ok())?;
        // One newline on each side belongs to the format.
        let text = sentence.text.strip_prefix('\n').unwrap_or(&sentence.text);
        let text = text.strip_suffix('\n').unwrap_or(text);
        Some(SvnError::new(ErrorCode(code), text))
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_and_back() {
        for (code, message) in [(160_013, "Path '/a<b>' not found"), (165_001, "a\nb\n"), (0, "x")]
        {
            let error = SvnError::new(ErrorCode(code), message);
            let mut body = Vec::new();
            write(&mut body, &error);
            assert_eq!(read(&body).unwrap(), Some(error));
        }
        assert_eq!(read(b"<html/>").unwrap(), None);
        assert!(read(b"nothing").is_err());
    }
}
