//! Bodies of requests.
//!
//! Invariant: a body can be sent again from its beginning; a file is read piece by piece.

use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::os::unix::fs::FileExt as _;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};
use sapwood_core::exact::Exact;
use sapwood_core::{SvnError, SvnResult, len64};

/// Bytes of a file that are sent at a time.
const CHUNK: usize = 64 << 10;

/// The body of a request. It can be sent again.
#[derive(Debug, Default)]
pub(in crate::http) enum Payload {
    /// Nothing.
    #[default]
    None,
    /// Bytes.
    Bytes(Bytes),
    /// A whole file, with its length in bytes.
    File(std::fs::File, u64),
}

impl Payload {
    pub(in crate::http) fn len(&self) -> u64 {
        match self {
            Self::None => 0,
            Self::Bytes(bytes) => len64(bytes.len()),
            Self::File(_, len) => *len,
        }
    }

    /// Bytes at a position, at most as many as `most`.
    pub(in crate::http) fn piece(&self, at: u64, most: usize) -> SvnResult<Bytes> {
        let left = usize::try_from(self.len().minus(at)).unwrap_or(most).min(most);
        match self {
            Self::None => Ok(Bytes::new()),
            Self::Bytes(bytes) => {
                let at = usize::try_from(at).map_err(|_| SvnError::internal("a long body"))?;
                Ok(bytes.slice(at..at.plus(left)))
            }
            Self::File(file, _) => {
                let mut piece = vec![0; left];
                let read = file.read_exact_at(&mut piece, at);
                read.map_err(|e| SvnError::io(&e, "Can't read body"))?;
                Ok(piece.into())
            }
        }
    }

    /// A body that sends it from the beginning.
    /// When `chunked`, its length is not sent.
    pub(in crate::http) fn body(&self, chunked: bool) -> SvnResult<OutgoingBody> {
        let what = match self {
            Self::None => OutgoingData::Bytes(Bytes::new()),
            Self::Bytes(bytes) => OutgoingData::Bytes(bytes.clone()),
            Self::File(file, len) => {
                let mut file = file.try_clone().map_err(|e| SvnError::io(&e, "Can't read body"))?;
                file.seek(SeekFrom::Start(0)).map_err(|e| SvnError::io(&e, "Can't read body"))?;
                OutgoingData::File { file, left: *len }
            }
        };
        Ok(OutgoingBody { what, chunked })
    }
}

/// A request's body while it is sent.
#[derive(Debug)]
pub(in crate::http) struct OutgoingBody {
    what: OutgoingData,
    chunked: bool,
}

#[derive(Debug)]
enum OutgoingData {
    Bytes(Bytes),
    File { file: std::fs::File, left: u64 },
}

impl Body for OutgoingBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        match &mut self.what {
            OutgoingData::Bytes(bytes) if bytes.is_empty() => Poll::Ready(None),
            OutgoingData::Bytes(bytes) => Poll::Ready(Some(Ok(Frame::data(std::mem::take(bytes))))),
            OutgoingData::File { left: 0, .. } => Poll::Ready(None),
            OutgoingData::File { file, left } => {
                // A temporary file that was just written: the read does not wait for the disk.
                let len = usize::try_from(*left).unwrap_or(CHUNK).min(CHUNK);
                let mut chunk = vec![0; len];
                if let Err(error) = file.read_exact(&mut chunk) {
                    return Poll::Ready(Some(Err(error)));
                }
                *left = left.minus(len64(len));
                Poll::Ready(Some(Ok(Frame::data(chunk.into()))))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.what {
            OutgoingData::Bytes(bytes) => bytes.is_empty(),
            OutgoingData::File { left, .. } => *left == 0,
        }
    }

    fn size_hint(&self) -> SizeHint {
        if self.chunked {
            return SizeHint::default();
        }
        SizeHint::with_exact(match &self.what {
            OutgoingData::Bytes(bytes) => len64(bytes.len()),
            OutgoingData::File { left, .. } => *left,
        })
    }
}
