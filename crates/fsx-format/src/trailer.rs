//! The checksum at the end of property files, manifests and packs of revision properties: FNV-1a 32x4 of all bytes
//! before it, as four bytes, the highest first.

use sapwood_fsfs_format::fnv::Fnv1a32x4;

use crate::error::{Error, Result};

/// The contents of a file without its checksum. `what` names the kind of file in errors.
///
/// # Errors
/// E160004 when the checksum is not that of the contents.
pub fn checked<'a>(file: &'a [u8], what: &'static str) -> Result<&'a [u8]> {
    let (contents, sum) = file.split_last_chunk::<4>().ok_or(Error::UnexpectedEnd(what))?;
    let (expected, actual) = (u32::from_be_bytes(*sum), Fnv1a32x4::of(contents));
    if expected == actual { Ok(contents) } else { Err(Error::Checksum { what, expected, actual }) }
}

/// Appends the checksum of everything in `file`.
pub fn append(file: &mut Vec<u8>) {
    let sum = Fnv1a32x4::of(file);
    file.extend_from_slice(&sum.to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ways() {
        let mut file = b"some contents".to_vec();
        append(&mut file);
        assert_eq!(checked(&file, "test"), Ok(&b"some contents"[..]));
        file[3] ^= 1;
        assert!(matches!(checked(&file, "test"), Err(Error::Checksum { .. })));
        assert_eq!(checked(b"abc", "test"), Err(Error::UnexpectedEnd("test")));
    }
}
