//! Revision properties, packed: the manifest of a shard, and the pack files it names.
//!
//! Unpacked ones are plain hash dumps (`sapwood_core::hashdump`).

use sapwood_core::{Cut, Exact, len64};
use std::ops::Range;

use sapwood_core::Revnum;

use crate::error::{Error, Result};
use crate::limits::REVPROP_PACK_LEN;
use crate::text;

/// The manifest of one shard: the name of the pack file of each revision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RevpropManifest {
    /// The names of the pack files, one after the other.
    names: Box<str>,
    packs: Box<[Pack]>,
    /// The first revision behind the shard.
    end: Revnum,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Pack {
    /// The first revision whose line names this pack.
    first: Revnum,
    start: u32,
    len: u32,
}

#[allow(clippy::missing_errors_doc, reason = "all: `Error` says what is wrong with the bytes")]
impl RevpropManifest {
    /// Parses the manifest of the shard that begins with revision `shard_start` (of `shard_size`
    /// revisions; revision 0 is never packed).
    pub fn parse(bytes: &[u8], shard_start: Revnum, shard_size: u64) -> Result<Self> {
        let wrong = |what: &str| {
            Error::corrupt(format!("Packed revprop manifest for r{shard_start} {what}"))
        };
        let end = Revnum(shard_start.0.saturating_add(shard_size));
        let mut revision = Revnum(shard_start.0.max(1));
        let mut names = String::new();
        let mut packs: Vec<Pack> = Vec::new();
        let mut last: Option<&[u8]> = None;
        let mut rest = bytes;
        while !rest.is_empty() {
            let (line, after) = text::line(rest).ok_or_else(|| wrong("not properly terminated"))?;
            rest = after;
            if revision >= end {
                return Err(wrong("has too many entries"));
            }
            if last != Some(line) {
                let name = pack_name(line).ok_or_else(|| wrong("holds a malformed file name"))?;
                let fits = |n: usize| u32::try_from(n).map_err(|_| wrong("is too large"));
                let (start, len) = (fits(names.len())?, fits(name.len())?);
                names.push_str(name);
                packs.push(Pack { first: revision, start, len });
                last = Some(line);
            }
            revision = revision.next();
        }
        if revision < end {
            return Err(wrong("has too few entries"));
        }
        Ok(Self { names: names.into_boxed_str(), packs: packs.into_boxed_slice(), end })
    }

    /// The name of the pack file that holds a revision, and the range of revisions whose lines
    /// name it.
    #[must_use]
    pub fn find(&self, revision: Revnum) -> Option<(&str, Range<u64>)> {
        let at = self.packs.partition_point(|pack| pack.first <= revision).checked_sub(1)?;
        self.view(at).filter(|(_, range)| range.contains(&revision.0))
    }

    /// All pack files: name and range of revisions.
    pub fn packs(&self) -> impl Iterator<Item = (&str, Range<u64>)> {
        (0..self.packs.len()).filter_map(|at| self.view(at))
    }

    fn view(&self, at: usize) -> Option<(&str, Range<u64>)> {
        let pack = self.packs.get(at)?;
        let end = self.packs.get(at.plus(1)).map_or(self.end, |next| next.first);
        let start = usize::try_from(pack.start).ok()?;
        let name = self.names.get(start..start.checked_add(usize::try_from(pack.len).ok()?)?)?;
        Some((name, pack.first.0..end.0))
    }

    /// Bytes of memory it takes, for cache accounting.
    #[must_use]
    pub fn byte_len(&self) -> usize {
        size_of::<Self>() + self.names.len() + size_of_val(&*self.packs)
    }
}

/// `REV.COUNTER`, and nothing else: a name never leads out of the folder.
fn pack_name(line: &[u8]) -> Option<&str> {
    let dot = memchr::memchr(b'.', line)?;
    text::number(line.get(..dot)?)?;
    text::number(line.get(dot.checked_add(1)?..)?)?;
    std::str::from_utf8(line).ok()
}

/// One pack file, expanded.
#[derive(Clone, PartialEq, Eq)]
pub struct RevpropPack {
    first: Revnum,
    data: Box<[u8]>,
    /// Where the hash dump of each revision begins in `data`, and where the last one ends.
    bounds: Box<[u32]>,
}

impl std::fmt::Debug for RevpropPack {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "RevpropPack(r{}, {} revisions)", self.first, self.len())
    }
}

#[allow(clippy::missing_errors_doc, reason = "all: `Error` says what is wrong with the bytes")]
impl RevpropPack {
    /// Parses a whole pack file, compressed or not.
    pub fn parse(bytes: &[u8]) -> Result<Self> {
        let data = expand(bytes)?;
        let eof = || Error::corrupt("Unexpected EOF");
        let mut rest: &[u8] = &data;
        let mut number = || {
            let (line, after) = text::line(rest).ok_or_else(eof)?;
            rest = after;
            text::number(line).ok_or_else(|| {
                Error::corrupt(format!("Number '{}' invalid or too large", text::printable(line)))
            })
        };
        let first = Revnum(number()?);
        let count = number()?;
        // A size takes two bytes at least.
        let most = len64(data.len() / 2);
        if count == 0 || count > most {
            return Err(Error::corrupt(format!("Revprop pack claims to hold {count} revisions")));
        }
        let sizes = (0..count).map(|_| number()).collect::<Result<Vec<u64>>>()?;
        let body =
            rest.strip_prefix(b"\n").ok_or_else(|| Error::corrupt("Header end not found"))?;
        let mut at = len64(data.len().saturating_sub(body.len()));
        let end = len64(data.len());
        let mut bounds = Vec::with_capacity(sizes.len().plus(1));
        for size in [0].iter().chain(&sizes) {
            at = at.saturating_add(*size);
            let bound = u32::try_from(at).ok().filter(|_| at <= end);
            bounds.push(
                bound
                    .ok_or_else(|| Error::corrupt("Packed revprop size exceeds pack file size"))?,
            );
        }
        Ok(Self { first, bounds: bounds.into_boxed_slice(), data: data.into_boxed_slice() })
    }

    /// The first revision.
    #[must_use]
    pub const fn first_revision(&self) -> Revnum {
        self.first
    }

    /// How many revisions.
    #[must_use]
    pub fn len(&self) -> usize {
        self.bounds.len().minus(1)
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The hash dump of a revision's properties.
    #[must_use]
    pub fn get(&self, revision: Revnum) -> Option<&[u8]> {
        let at = usize::try_from(revision.0.checked_sub(self.first.0)?).ok()?;
        let bound = |at: usize| usize::try_from(*self.bounds.get(at)?).ok();
        self.data.get(bound(at)?..bound(at.checked_add(1)?)?)
    }
}

/// Takes off the compression: a length in the form of svndiff, then that many bytes as they are,
/// or a zlib stream of them.
fn expand(bytes: &[u8]) -> Result<Vec<u8>> {
    let failed = |what: &'static str| Error::corrupt(what);
    let mut len = 0u64;
    let mut used = 0usize;
    loop {
        let byte = bytes
            .get(used)
            .ok_or_else(|| failed("Decompression of zlib compressed data failed: no size"))?;
        used += 1;
        len = len
            .checked_mul(128)
            .map(|high| high | u64::from(byte & 0x7f))
            .filter(|len| *len <= REVPROP_PACK_LEN)
            .ok_or_else(|| {
                failed("Decompression of zlib compressed data failed: size too large")
            })?;
        if *byte < 0x80 {
            break;
        }
    }
    let body = bytes.tail(used);
    let expected = sapwood_core::exact::clamped(len);
    if body.len() == expected {
        return Ok(body.to_vec());
    }
    // Deflate cannot expand by more than about 1032: no more is taken than can come out.
    let reserve = expected.min(body.len().saturating_mul(1040));
    let mut out = Vec::with_capacity(reserve.plus(1));
    let mut inflate = flate2::Decompress::new(true);
    let status = inflate.decompress_vec(body, &mut out, flate2::FlushDecompress::Finish);
    match status {
        Ok(flate2::Status::StreamEnd) if out.len() == expected => Ok(out),
        Ok(flate2::Status::StreamEnd) => {
            Err(failed("Size of uncompressed data does not match stored original length"))
        }
        _ => Err(failed("Decompression of svndiff data failed")),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    #[test]
    fn manifest() {
        let manifest = RevpropManifest::parse(b"1.0\n1.0\n3.2\n3.2\n", Revnum(0), 5).unwrap();
        assert_eq!(manifest.find(Revnum(0)), None);
        assert_eq!(manifest.find(Revnum(2)), Some(("1.0", 1..3)));
        assert_eq!(manifest.find(Revnum(4)), Some(("3.2", 3..5)));
        assert_eq!(manifest.find(Revnum(5)), None);
        assert_eq!(manifest.packs().count(), 2);
        let one = RevpropManifest::parse(b"5.0\n5.0\n", Revnum(5), 2).unwrap();
        assert_eq!(one.find(Revnum(5)), Some(("5.0", 5..7)));
        for (bytes, what) in [
            (&b"1.0\n"[..], "too few"),
            (b"1.0\n1.0\n1.0\n", "too many"),
            (b"1.0\n1.0", "terminated"),
            (b"1.0\n../x\n", "malformed"),
            (b"1.0\n\n", "malformed"),
            (b"1.0\n1.\n", "malformed"),
        ] {
            let error = RevpropManifest::parse(bytes, Revnum(0), 3).unwrap_err().to_string();
            assert!(error.contains(what), "{error}");
        }
    }

    const BODY: &[u8] = b"1\n2\n4\n15\n\nEND\nK 1\na\nV 0\n\nEND\n";

    fn len_prefix(len: usize) -> Vec<u8> {
        vec![u8::try_from(len).unwrap()]
    }

    fn stored() -> Vec<u8> {
        [len_prefix(BODY.len()), BODY.to_vec()].concat()
    }

    fn compressed() -> Vec<u8> {
        let mut zlib = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::best());
        zlib.write_all(BODY).unwrap();
        [len_prefix(BODY.len()), zlib.finish().unwrap()].concat()
    }

    #[test]
    fn packs_stored_and_compressed() {
        for bytes in [stored(), compressed()] {
            let pack = RevpropPack::parse(&bytes).unwrap();
            assert_eq!((pack.first_revision(), pack.len()), (Revnum(1), 2));
            assert_eq!(pack.get(Revnum(1)), Some(&b"END\n"[..]));
            assert_eq!(pack.get(Revnum(2)), Some(&b"K 1\na\nV 0\n\nEND\n"[..]));
            assert_eq!((pack.get(Revnum(0)), pack.get(Revnum(3))), (None, None));
        }
    }

    #[test]
    fn damage_never_panics() {
        for bytes in [stored(), compressed()] {
            for at in 0..bytes.len() {
                assert!(RevpropPack::parse(&bytes[..at]).is_err());
                for byte in 0..=255 {
                    let mut bad = bytes.clone();
                    bad[at] = byte;
                    if let Ok(pack) = RevpropPack::parse(&bad) {
                        assert!(pack.len() <= BODY.len());
                    }
                }
            }
        }
        let huge = [vec![0xff; 8], vec![0x7f], BODY.to_vec()].concat();
        assert!(RevpropPack::parse(&huge).is_err());
    }
}
