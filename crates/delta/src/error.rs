//! What can be wrong with a text delta.

use sapwood_core::{ErrorCode, SvnError};
use thiserror::Error;

/// Why bytes are not a text delta, or why one cannot be applied. Instruction numbers count from 0
/// within their window.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Error {
    /// The stream does not begin with `SVN` and a known version.
    #[error("Svndiff has invalid header")]
    Header,
    /// The numbers at the start of a window are longer than numbers get.
    #[error("Svndiff contains a too-large window header")]
    LongWindowHeader,
    /// A window is larger than windows may be.
    #[error("Svndiff contains a too-large window")]
    LargeWindow,
    /// The numbers at the start of a window overflow.
    #[error("Svndiff contains corrupt window header")]
    WindowHeader,
    /// The source views of two windows in a row go backwards.
    #[error("Svndiff has backwards-sliding source views")]
    BackwardView,
    /// The stream ends within its header or within a window.
    #[error("Unexpected end of svndiff input")]
    UnexpectedEnd,
    /// An instruction is cut short or of an unknown kind.
    #[error("Invalid diff stream: insn {0} cannot be decoded")]
    Undecodable(usize),
    /// An instruction that makes nothing.
    #[error("Invalid diff stream: insn {0} has length zero")]
    ZeroLength(usize),
    /// An instruction makes more than the window says.
    #[error("Invalid diff stream: insn {0} overflows the target view")]
    TargetOverflow(usize),
    /// An instruction copies from beyond the source view.
    #[error("Invalid diff stream: [src] insn {0} overflows the source view")]
    SourceOverflow(usize),
    /// An instruction copies from a part of the target that is not there yet.
    #[error("Invalid diff stream: [tgt] insn {0} starts beyond the target view position")]
    TargetStart(usize),
    /// An instruction takes more new data than there is.
    #[error("Invalid diff stream: [new] insn {0} overflows the new data section")]
    NewOverflow(usize),
    /// The instructions make less than the window says.
    #[error("Delta does not fill the target window")]
    TargetShort,
    /// The instructions leave new data over.
    #[error("Delta does not contain enough new data")]
    NewShort,
    /// A compressed section has no length in front.
    #[error("Decompression of compressed data failed: no size")]
    PackedNoSize,
    /// A compressed section is larger than sections may be.
    #[error("Decompression of compressed data failed: size too large")]
    PackedSize,
    /// A compressed section does not have the length that stands in front of it.
    #[error("Size of uncompressed data does not match stored original length")]
    PackedMismatch,
    /// A zlib section is damaged.
    #[error("zlib (uncompress): corrupt data: Decompression of svndiff data failed")]
    Zlib,
    /// An LZ4 section is damaged.
    #[error("LZ4 decompression failed")]
    Lz4,
    /// The text that a delta applies to is shorter than the delta needs.
    #[error("Delta source ended unexpectedly")]
    SourceEnd,
    /// Two windows do not fit together.
    #[error("Delta windows do not fit together")]
    Mismatch,
}

impl From<Error> for SvnError {
    fn from(error: Error) -> Self {
        let code = match error {
            Error::Header => ErrorCode::SVNDIFF_INVALID_HEADER,
            Error::LongWindowHeader | Error::LargeWindow | Error::WindowHeader => {
                ErrorCode::SVNDIFF_CORRUPT_WINDOW
            }
            Error::BackwardView => ErrorCode::SVNDIFF_BACKWARD_VIEW,
            Error::UnexpectedEnd => ErrorCode::SVNDIFF_UNEXPECTED_END,
            Error::Undecodable(_)
            | Error::ZeroLength(_)
            | Error::TargetOverflow(_)
            | Error::SourceOverflow(_)
            | Error::TargetStart(_)
            | Error::NewOverflow(_)
            | Error::TargetShort
            | Error::NewShort
            | Error::Mismatch => ErrorCode::SVNDIFF_INVALID_OPS,
            Error::PackedNoSize | Error::PackedSize | Error::PackedMismatch => {
                ErrorCode::SVNDIFF_INVALID_COMPRESSED_DATA
            }
            Error::Zlib => ErrorCode::STREAM_MALFORMED_DATA,
            Error::Lz4 => ErrorCode::LZ4_DECOMPRESSION_FAILED,
            Error::SourceEnd => ErrorCode::INCOMPLETE_DATA,
        };
        Self::new(code, error.to_string())
    }
}
