//! The svndiff encodings, and the header by which a stream says its own; see `docs/formats/svndiff.md`.

use crate::error::Error;

/// The length of a stream's header, `SVN` and a version byte.
pub const STREAM_HEADER_LEN: usize = 4;

/// A svndiff encoding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Version {
    /// `SVN\0`: plain.
    V0,
    /// `SVN\1`: sections compressed with zlib.
    V1,
    /// `SVN\2`: sections compressed with LZ4.
    V2,
}

impl Version {
    /// The header of a stream in this encoding.
    #[must_use]
    pub const fn header(self) -> [u8; STREAM_HEADER_LEN] {
        match self {
            Self::V0 => *b"SVN\0",
            Self::V1 => *b"SVN\x01",
            Self::V2 => *b"SVN\x02",
        }
    }

    /// The encoding that a stream's first bytes announce.
    ///
    /// # Errors
    /// When they announce none that is known.
    pub fn of_header(header: [u8; STREAM_HEADER_LEN]) -> Result<Self, Error> {
        match &header {
            b"SVN\0" => Ok(Self::V0),
            b"SVN\x01" => Ok(Self::V1),
            b"SVN\x02" => Ok(Self::V2),
            _ => Err(Error::Header),
        }
    }
}
