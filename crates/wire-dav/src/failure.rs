//! Errors on the wire: a status, and an XML body with the E-code and the message.

use sapwood_core::{ErrorCode, SvnError};

use crate::NS_DAV;
use crate::error::Result;
use crate::xml::write::fuzzy;
use crate::xml::{Document, HEADER, Limits, Xml as _};

/// The namespace of the message: mod_dav's own.
const NS_SENTENCE: &str = "http://apache.org/dav/xmlns";

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
