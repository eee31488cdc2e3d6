//! The manifest of a packed shard with physical addressing: where each revision begins.

use crate::error::{Error, Result};
use crate::text;

/// Offsets of revisions in a pack file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Manifest {
    offsets: Box<[u64]>,
}

#[allow(clippy::missing_errors_doc, reason = "all: `Error` says what is wrong with the bytes")]
impl Manifest {
    /// Parses a manifest that must hold `shard_size` numbers, ascending.
    pub fn parse(bytes: &[u8], shard_size: u64) -> Result<Self> {
        // A line is two bytes at least: no more is taken than the file can hold.
        let expected = sapwood_core::exact::clamped(shard_size);
        let mut offsets = Vec::with_capacity(expected.min(bytes.len() / 2));
        let mut rest = bytes;
        while !rest.is_empty() {
            let (line, after) = text::line(rest)
                .ok_or_else(|| Error::corrupt("Pack manifest lacks trailing newline"))?;
            rest = after;
            let offset = text::number(line).ok_or_else(|| {
                Error::corrupt(format!("Number '{}' invalid or too large", text::printable(line)))
            })?;
            if offsets.last().is_some_and(|last| *last >= offset) {
                return Err(Error::corrupt("Offsets in pack manifest are not ascending"));
            }
            offsets.push(offset);
        }
        if offsets.len() == expected {
            return Ok(Self { offsets: offsets.into_boxed_slice() });
        }
        let found = offsets.len();
        Err(Error::corrupt(format!(
            "Pack manifest has {found} entries where {shard_size} are expected"
        )))
    }
    /// Where the revision at a place in the shard (0 for its first) begins.
    #[must_use]
    pub fn offset(&self, place: u64) -> Option<u64> {
        usize::try_from(place).ok().and_then(|at| self.offsets.get(at)).copied()
    }
    /// How many revisions.
    #[must_use]
    pub fn len(&self) -> usize {
        self.offsets.len()
    }
    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.offsets.is_empty()
    }
    /// Appends the text form.
    pub fn write(&self, out: &mut Vec<u8>) {
        for offset in &self.offsets {
            text::push_number(*offset, out);
            out.push(b'\n');
        }
    }
    /// Bytes of memory it takes, for cache accounting.
    #[must_use]
    pub fn byte_len(&self) -> usize {
        size_of::<Self>() + size_of_val(&*self.offsets)
    }
}

impl FromIterator<u64> for Manifest {
    fn from_iter<I: IntoIterator<Item = u64>>(iter: I) -> Self {
        Self { offsets: iter.into_iter().collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn round_trip_and_damage() {
        let manifest = Manifest::parse(b"0\n115\n300\n", 3).unwrap();
        assert_eq!(manifest.offset(1), Some(115));
        assert_eq!(manifest.offset(3), None);
        let mut out = Vec::new();
        manifest.write(&mut out);
        assert_eq!(out, b"0\n115\n300\n");
        for bad in
            [&b""[..], b"0\n115\n", b"0\n115\n300", b"0\n300\n115\n", b"0\n\n3\n", b"0\n1\n2\n3\n"]
        {
            assert!(Manifest::parse(bad, 3).is_err(), "{bad:?}");
        }
        assert!(Manifest::parse(b"0\n", u64::MAX).is_err());
    }
}
