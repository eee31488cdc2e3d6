//! The three svndiff encodings; see `docs/formats/svndiff.md`.

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
