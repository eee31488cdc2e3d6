//! The compressed sections of svndiff 1 and 2: the original length, then the data, compressed
//! unless that would not be shorter.
//!
//! Compressors are made when first needed and reused: setting one up costs more than most
//! sections do.

use std::fmt;

use flate2::{Compress, Compression, Decompress, FlushCompress, FlushDecompress, Status};
use lz4_flex::block::{CompressTable, compress_into_with_table};

use crate::error::Error;
use crate::varint;
use crate::version::Version;

/// Shorter sections are not worth zlib's header: the reference leaves them as they are, and its
/// own tests count bytes.
const ZLIB_MIN: usize = 512;

/// Takes sections apart.
#[derive(Debug, Default)]
pub(crate) struct Unpacker {
    inflate: Option<Decompress>,
}

impl Unpacker {
    /// The contents of a section: borrowed from `data` when stored as they are, else from `out`,
    /// which is overwritten. They are at most `limit` bytes.
    pub(crate) fn unpack<'a>(
        &mut self,
        version: Version,
        data: &'a [u8],
        limit: usize,
        out: &'a mut Vec<u8>,
    ) -> Result<&'a [u8], Error> {
        if version == Version::V0 {
            return Ok(data);
        }
        let (len, data) = match varint::decode(data) {
            varint::Varint::Number(len, data) => (len, data),
            varint::Varint::Incomplete | varint::Varint::TooLong => {
                return Err(Error::PackedNoSize);
            }
        };
        let len = usize::try_from(len).ok().filter(|l| *l <= limit).ok_or(Error::PackedSize)?;
        if len == data.len() {
            return Ok(data);
        }
        out.clear();
        out.resize(len, 0);
        if version == Version::V1 {
            let inflate = self.inflate.get_or_insert_with(|| Decompress::new(true));
            inflate.reset(true);
            let status =
                inflate.decompress(data, out, FlushDecompress::Finish).map_err(|_| Error::Zlib)?;
            let made = inflate.total_out();
            if status != Status::StreamEnd || usize::try_from(made) != Ok(len) {
                return Err(Error::PackedMismatch);
            }
        } else if lz4_flex::block::decompress_into(data, out).map_err(|_| Error::Lz4)? != len {
            return Err(Error::PackedMismatch);
        }
        Ok(out)
    }
}

/// Makes sections.
#[derive(Debug)]
pub(crate) struct Packer {
    version: Version,
    /// zlib's levels, 0 (store) to 9.
    level: u8,
    deflate: Option<Compress>,
    lz4: Tables,
    scratch: Vec<u8>,
}

/// LZ4's tables, for short and for long sections. Which one is used decides what is found, so a
/// section always gets the one that fits its length.
#[derive(Default)]
struct Tables {
    small: Option<CompressTable>,
    large: Option<CompressTable>,
}

impl fmt::Debug for Tables {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tables").finish_non_exhaustive()
    }
}

/// Bytes of scratch memory that are little.
const SMALL: usize = 40 << 10;
/// Sections from this length on need the larger table.
const LARGE: usize = 0xffff;
/// Shorter sections are never made shorter by LZ4: their last bytes are always stored as they are.
const LZ4_MIN: usize = 13;

impl Packer {
    pub(crate) const fn new(version: Version, level: u8) -> Self {
        let lz4 = Tables { small: None, large: None };
        Self { version, level, deflate: None, lz4, scratch: Vec::new() }
    }

    /// Whether it takes so little memory that hundreds of threads may keep one.
    pub(crate) fn is_small(&self) -> bool {
        self.deflate.is_none() && self.lz4.large.is_none() && self.scratch.capacity() <= SMALL
    }

    /// Replaces `out` by the section that holds `data`.
    pub(crate) fn pack(&mut self, data: &[u8], out: &mut Vec<u8>) {
        out.clear();
        if self.version != Version::V0 {
            varint::encode_len(out, data.len());
        }
        let packed = match self.version {
            Version::V0 => None,
            Version::V1 => self.deflate(data),
            Version::V2 => self.lz4(data),
        };
        let packed = packed.and_then(|len| self.scratch.get(..len));
        out.extend_from_slice(packed.unwrap_or(data));
    }

    /// Compresses into the scratch buffer; `None` unless the result is shorter.
    fn deflate(&mut self, data: &[u8]) -> Option<usize> {
        if data.len() < ZLIB_MIN || self.level == 0 {
            return None;
        }
        let level = Compression::new(u32::from(self.level.min(9)));
        let deflate = self.deflate.get_or_insert_with(|| Compress::new(level, true));
        deflate.reset();
        // Room for less than the data itself, so that what does not help does not fit.
        self.scratch.resize(data.len().saturating_sub(1), 0);
        let status = deflate.compress(data, &mut self.scratch, FlushCompress::Finish).ok()?;
        if status != Status::StreamEnd {
            return None;
        }
        usize::try_from(deflate.total_out()).ok()
    }

    fn lz4(&mut self, data: &[u8]) -> Option<usize> {
        if data.len() < LZ4_MIN {
            return None;
        }
        let room = lz4_flex::block::get_maximum_output_size(data.len());
        if self.scratch.len() < room {
            self.scratch.resize(room, 0);
        }
        let table = if data.len() < LARGE {
            self.lz4.small.get_or_insert_with(CompressTable::small)
        } else {
            self.lz4.large.get_or_insert_with(CompressTable::large)
        };
        let len = compress_into_with_table(data, &mut self.scratch, table).ok()?;
        (len < data.len()).then_some(len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn there_and_back(version: Version, data: &[u8]) -> usize {
        let mut packed = Vec::new();
        let mut packer = Packer::new(version, 5);
        packer.pack(data, &mut packed);
        packer.pack(data, &mut packed);
        let mut unpacker = Unpacker::default();
        for _ in 0..2 {
            let mut out = Vec::new();
            let back = unpacker.unpack(version, &packed, data.len(), &mut out);
            assert_eq!(back, Ok(data));
        }
        packed.len()
    }

    #[test]
    fn reused_tables_make_the_same() {
        let text = |len: u32| -> Vec<u8> {
            (0..len).flat_map(|n| (n % 977 / 3).to_string().into_bytes()).collect()
        };
        let mut packer = Packer::new(Version::V2, 5);
        for len in [3, 40_000, 5, 14, 13, 12, 4000, 21_000, 23_000, 100, 30_000, 4000] {
            let data = text(len);
            let (mut reused, mut fresh) = (Vec::new(), Vec::new());
            packer.pack(&data, &mut reused);
            varint::encode_len(&mut fresh, data.len());
            let mut packed = vec![0; lz4_flex::block::get_maximum_output_size(data.len())];
            let made = lz4_flex::block::compress_into(&data, &mut packed).unwrap();
            fresh.extend_from_slice(if made < data.len() { &packed[..made] } else { &data });
            assert_eq!(reused, fresh, "{len}");
        }
    }

    #[test]
    fn compressible_and_not() {
        let noise: Vec<u8> =
            (0u32..5000).map(|n| (n.wrapping_mul(2_654_435_761) >> 13).to_le_bytes()[0]).collect();
        for version in [Version::V1, Version::V2] {
            assert!(there_and_back(version, &[b'a'; 5000]) < 100);
            assert!(there_and_back(version, &noise) <= 5002);
            assert_eq!(there_and_back(version, b""), 1);
            assert_eq!(there_and_back(version, b"ab"), 3);
        }
        assert_eq!(there_and_back(Version::V1, &[b'a'; 511]), 513);
        assert!(there_and_back(Version::V1, &[b'a'; 512]) < 40);
        assert_eq!(there_and_back(Version::V0, b"ab"), 2);
    }

    #[test]
    fn damage_is_an_error() {
        let data = [b'a'; 5000];
        for version in [Version::V1, Version::V2] {
            let mut packed = Vec::new();
            Packer::new(version, 9).pack(&data, &mut packed);
            let unpack = |bytes: &[u8], limit| {
                let mut out = Vec::new();
                Unpacker::default().unpack(version, bytes, limit, &mut out).map(<[u8]>::len)
            };
            assert_eq!(unpack(&packed, 4999), Err(Error::PackedSize));
            assert_eq!(unpack(b"", 10), Err(Error::PackedNoSize));
            assert_eq!(unpack(b"\x80", 10), Err(Error::PackedNoSize));
            assert!(unpack(&packed[..packed.len() - 2], 5000).is_err());
            // A length that is too small, and one that is too large.
            packed[1] -= 1;
            assert!(unpack(&packed, 5000).is_err());
            packed[1] += 2;
            assert!(unpack(&packed, 6000).is_err());
        }
    }
}
