//! Hash dumps as they lie in memory: names and values borrowed, in stored order.
//!
//! `sapwood_core::hashdump` makes property lists; this is for the items of this crate that must
//! not allocate a string an entry.

use crate::error::{Error, Result};
use crate::text;

/// One record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Record<'a> {
    /// A name and its value.
    Set(&'a [u8], &'a [u8]),
    /// A name that is no more (only in incremental dumps).
    Delete(&'a [u8]),
    /// The terminating `END` line.
    End,
}

/// Takes the record that `rest` begins with.
pub(crate) fn next<'a>(rest: &mut &'a [u8], incremental: bool) -> Result<Record<'a>> {
    let malformed = |what: &'static str| Error::MalformedHash(what.into());
    let missing = || malformed("Serialized hash missing terminator");
    let (line, after) = text::line(rest).ok_or_else(missing)?;
    *rest = after;
    match line {
        b"END" => Ok(Record::End),
        [b'K', b' ', len @ ..] => {
            let name = counted(rest, len, "Serialized hash malformed key length")?
                .ok_or_else(|| malformed("Serialized hash malformed key data"))?;
            let (line, after) = text::line(rest).ok_or_else(missing)?;
            let len =
                line.strip_prefix(b"V ").ok_or_else(|| malformed("Serialized hash malformed"))?;
            *rest = after;
            let value = counted(rest, len, "Serialized hash malformed value length")?
                .ok_or_else(|| malformed("Serialized hash malformed value data"))?;
            Ok(Record::Set(name, value))
        }
        [b'D', b' ', len @ ..] if incremental => {
            let name = counted(rest, len, "Serialized hash malformed key length")?
                .ok_or_else(|| malformed("Serialized hash malformed key data"))?;
            Ok(Record::Delete(name))
        }
        _ => Err(malformed("Serialized hash malformed")),
    }
}

/// Takes as many bytes as `len` says, and the newline behind them; `None` when they are not there.
fn counted<'a>(rest: &mut &'a [u8], len: &[u8], bad_len: &'static str) -> Result<Option<&'a [u8]>> {
    let len = text::number(len).ok_or_else(|| Error::MalformedHash(bad_len.into()))?;
    let taken = usize::try_from(len).ok().and_then(|len| rest.split_at_checked(len));
    Ok(taken.and_then(|(value, after)| {
        *rest = after.strip_prefix(b"\n")?;
        Some(value)
    }))
}

/// Appends a name with its value.
pub(crate) fn write_set(name: &[u8], value: &[u8], out: &mut Vec<u8>) {
    for (letter, bytes) in [(b'K', name), (b'V', value)] {
        out.extend_from_slice(&[letter, b' ']);
        text::push_number(u64::try_from(bytes.len()).unwrap_or(u64::MAX), out);
        out.push(b'\n');
        out.extend_from_slice(bytes);
        out.push(b'\n');
    }
}

/// Appends the end.
pub(crate) fn write_end(out: &mut Vec<u8>) {
    out.extend_from_slice(b"END\n");
}
