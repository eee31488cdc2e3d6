//! The one style sheet. Its address holds a digest of it, so that browsers keep it for ever.

use crate::address::Address;
use crate::fault::{Fault, Result};
use crate::reply::Reply;

const STYLE: &str = include_str!("style.css");

/// The digest of a text (FNV-1a, 64 bits): it only has to differ between versions of the program.
const fn digest(text: &str) -> u64 {
    let mut rest = text.as_bytes();
    let mut sum: u64 = 0xcbf2_9ce4_8422_2325;
    while let [first, more @ ..] = rest {
        let [a, b, c, d, e, f, g, h] = sum.to_le_bytes();
        sum = u64::from_le_bytes([a ^ *first, b, c, d, e, f, g, h]).wrapping_mul(0x0100_0000_01b3);
        rest = more;
    }
    sum
}

const DIGEST: u64 = digest(STYLE);

/// The name of the sheet.
pub(crate) fn name() -> String {
    format!("{DIGEST:016x}.css")
}

pub(crate) fn reply(address: &Address) -> Result<Reply> {
    if address.name() != name() {
        return Err(Fault::Missing);
    }
    Ok(sheet())
}

/// The sheet.
pub(crate) fn sheet() -> Reply {
    let reply = Reply::of("text/css; charset=utf-8", STYLE.to_owned());
    reply.with("cache-control", "public, max-age=31536000, immutable")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_sheet_has_another_name() {
        assert_ne!(digest("a{}"), digest("b{}"));
        assert_eq!(digest("a"), 0xaf63_dc4c_8601_ec8c);
        assert!(!STYLE.contains("url("), "the sheet asks for nothing else");
    }
}
