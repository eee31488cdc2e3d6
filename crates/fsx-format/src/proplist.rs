//! Property lists: those of nodes after their deltas were resolved, and those of revisions.
//!
//! A count, then for each property its name, a NUL, the length of its value, the value and a NUL. Numbers have their highest
//! bits first.

use sapwood_core::{PropList, len64, rawname};

use crate::cursor::{Cursor, put_big};
use crate::error::{Error, Result};

/// Parses a whole property list.
///
/// # Errors
/// E160004 when it is malformed or has a name twice.
pub fn parse(bytes: &[u8]) -> Result<PropList> {
    let mut cursor = Cursor::new(bytes, "property list");
    let mut props = PropList::new();
    let count = cursor.big()?;
    for _ in 0..count {
        let name = cursor.until_nul()?;
        let len = cursor.big()?;
        let value = cursor.take(len)?;
        if cursor.take(1)? != b"\0" {
            return Err(Error::corrupt("Property value without its end"));
        }
        let name = rawname::from_bytes(name)
            .ok_or_else(|| Error::corrupt("Property name that is not text"))?;
        if props.set(name.as_ref(), value).is_some() {
            return Err(Error::corrupt(format!("Property '{name}' is there twice")));
        }
    }
    cursor.finish()?;
    Ok(props)
}

/// Appends a property list.
pub fn write(props: &PropList, out: &mut Vec<u8>) {
    put_big(out, len64(props.len()));
    for (name, value) in props.iter() {
        out.extend_from_slice(&rawname::to_bytes(name));
        out.push(0);
        put_big(out, len64(value.len()));
        out.extend_from_slice(value);
        out.push(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ways() {
        let mut props = PropList::new();
        props.set("svn:log", b"a\0b".as_slice());
        props.set("empty", b"".as_slice());
        let mut bytes = Vec::new();
        write(&props, &mut bytes);
        assert_eq!(parse(&bytes), Ok(props));
        assert_eq!(parse(b"\0"), Ok(PropList::new()));
        assert!(parse(b"\x02a\0\x01x\0a\0\x01y\0").is_err(), "a name twice");
        assert!(parse(&bytes[..bytes.len() - 1]).is_err());
        assert!(parse(b"\0x").is_err());
    }
}
