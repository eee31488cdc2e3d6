//! Replies: `( success ( ... ) )` and `( failure ( error ... ) )`.

use sapwood_core::{ErrorCode, SvnError, SvnResult};

use crate::decode::{List, Tuple};
use crate::encode::Encode;
use crate::error::Error;

/// Most errors of one chain that are written or read; the rest is left out.
const MAX_CHAIN: usize = 100;

/// Appends a failure reply for the chain of `error`. Source file and line are never sent.
pub fn write_failure(out: &mut Vec<u8>, error: &SvnError) {
    out.raw(b"( failure ( ");
    for link in error.chain().take(MAX_CHAIN) {
        let message = match link.message() {
            "" => link.code().generic_message(),
            message => message,
        };
        out.open();
        out.number(u64::from(link.code().0));
        out.text(message);
        out.raw(b"0: 0 ) ");
    }
    out.raw(b") ) ");
}

/// Appends the reply of success without data.
pub fn write_success(out: &mut Vec<u8>) {
    out.raw(b"( success ( ) ) ");
}

/// Takes a reply apart: the parameters of a success, or the error of a failure.
///
/// # Errors
/// The failure that was sent, or that the reply is malformed.
pub fn read_reply(mut reply: Tuple<'_>) -> SvnResult<Tuple<'_>> {
    let status = reply.word()?;
    let params = reply.list()?;
    match status {
        "success" => Ok(params.tuple()),
        "failure" => Err(read_failure(params)),
        other => Err(Error::UnknownStatus(other.to_owned()).into()),
    }
}

/// The chain of errors in the list of a failure reply. Links that only wrap an error for the
/// server's own use (E210000) are left out.
#[must_use]
pub fn read_failure(errors: List<'_>) -> SvnError {
    if errors.is_empty() {
        return Error::Part("Empty error list").into();
    }
    let mut links = Vec::new();
    for item in errors.take(MAX_CHAIN) {
        let Ok(list) = item.list() else { return Error::Part("Malformed error list").into() };
        let mut tuple = list.tuple();
        let (Ok(code), Ok(message)) = (tuple.number(), tuple.bytes()) else {
            return Error::Part("Malformed error list").into();
        };
        let code = ErrorCode(u32::try_from(code).unwrap_or(0));
        if code != ErrorCode::RA_SVN_CMD_ERR {
            links.push(SvnError::new(code, String::from_utf8_lossy(message)));
        }
    }
    let mut links = links.into_iter();
    let Some(first) = links.next() else { return Error::Part("Malformed error list").into() };
    links.fold(first, SvnError::with_cause)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode::{Decoder, Limits, Progress};

    fn parse(bytes: &[u8]) -> SvnResult<usize> {
        let mut decoder = Decoder::new(Limits::default());
        assert_eq!(decoder.advance(bytes).unwrap(), Progress::Complete(bytes.len()));
        read_reply(decoder.tuple(bytes)?).map(|params| params.remaining())
    }

    #[test]
    fn chains_survive() {
        let error = SvnError::new(ErrorCode::FS_NOT_FOUND, "inner")
            .wrap(ErrorCode::RA_NOT_AUTHORIZED, "")
            .wrap(ErrorCode::RA_SVN_MALFORMED_DATA, "outer");
        let mut bytes = Vec::new();
        write_failure(&mut bytes, &error);
        let back = parse(&bytes).unwrap_err();
        let codes: Vec<u32> = back.chain().map(|e| e.code().0).collect();
        assert_eq!(codes, [210004, 170001, 160013]);
        // A missing sentence travels as the generic one.
        assert_eq!(back.cause().unwrap().message(), "Authorization failed");
    }

    #[test]
    fn odd_replies() {
        assert_eq!(parse(b"( success ( 1 2 ) ) ").unwrap(), 2);
        for (bytes, words) in [
            (&b"( failure ( ) ) "[..], "Empty error list"),
            (b"( failure ( 1 ) ) ", "Malformed error list"),
            (b"( failure ( ( 210000 0: 0: 0 ) ) ) ", "Malformed error list"),
            (b"( maybe ( ) ) ", "Unknown status 'maybe' in command response"),
        ] {
            assert_eq!(parse(bytes).unwrap_err().message(), words);
        }
    }
}
