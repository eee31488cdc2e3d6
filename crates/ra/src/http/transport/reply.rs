//! Replies: the head, and the body as it comes.
//!
//! Invariant: a connection whose reply was not read to its end is closed, never used again.

use std::io::{self, Read};
use std::rc::Rc;

use bytes::{Buf as _, Bytes};
use flate2::read::MultiGzDecoder;
use http_body_util::BodyExt as _;
use hyper::body::{Body as _, Incoming};
use hyper::http::response::Parts;
use hyper::{Response, Version};
use sapwood_core::{SvnError, SvnResult};

use super::{Connection, Transport, broken, says_close};

/// The most bytes that are skipped after the end of compressed data in a body.
const REST: u64 = 64 << 10;

/// A reply: its head, and its body as it comes, decompressed.
pub(in crate::http) struct Reply {
    pub(in crate::http) head: Parts,
    content: Content,
}

enum Content {
    /// All of it.
    Whole(io::Cursor<Vec<u8>>),
    Plain(IncomingBody),
    Gzip(Box<MultiGzDecoder<IncomingBody>>),
}

/// The body of a reply as it comes.
struct IncomingBody {
    body: Incoming,
    piece: Bytes,
    ended: bool,
    transport: Rc<Transport>,
    /// `None` once it was returned to the pool.
    connection: Option<Connection>,
}

impl std::fmt::Debug for Reply {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Reply").field("status", &self.head.status).finish_non_exhaustive()
    }
}

impl Reply {
    /// A reply that begins; its connection goes back to `transport` when it was read to its end.
    pub(super) fn new(
        transport: &Rc<Transport>,
        connection: Connection,
        response: Response<Incoming>,
    ) -> Self {
        let (head, body) = response.into_parts();
        let mut coming = IncomingBody {
            ended: body.is_end_stream(),
            body,
            piece: Bytes::new(),
            transport: Rc::clone(transport),
            connection: Some(connection),
        };
        if coming.ended {
            coming.give_back();
        }
        let packing = head.headers.get("content-encoding").map(|value| value.as_bytes());
        let content = match packing {
            Some(b"gzip" | b"x-gzip") if !coming.ended => {
                Content::Gzip(Box::new(MultiGzDecoder::new(coming)))
            }
            _ => Content::Plain(coming),
        };
        Self { head, content }
    }

    /// A reply that has arrived whole.
    pub(in crate::http) const fn whole(head: Parts, body: Vec<u8>) -> Self {
        Self { head, content: Content::Whole(io::Cursor::new(body)) }
    }

    /// Whether the connection stays open after it.
    pub(in crate::http) fn keeps_alive(&self) -> bool {
        self.head.version == Version::HTTP_11 && !self.headers("connection").any(says_close)
    }

    pub(in crate::http) fn status(&self) -> u16 {
        self.head.status.as_u16()
    }

    /// A header's value, when it is text.
    pub(in crate::http) fn header(&self, name: &str) -> Option<&str> {
        self.head.headers.get(name).and_then(|value| value.to_str().ok())
    }

    /// All values of a header.
    pub(in crate::http) fn headers<'r>(
        &'r self,
        name: &'static str,
    ) -> impl Iterator<Item = &'r str> {
        self.head.headers.get_all(name).iter().filter_map(|value| value.to_str().ok())
    }

    /// The whole body, of at most `limit` bytes: the rest is not read.
    pub(in crate::http) fn bytes(mut self, limit: u64) -> SvnResult<Vec<u8>> {
        let mut bytes = Vec::new();
        (&mut self).take(limit).read_to_end(&mut bytes).map_err(SvnError::from_stream)?;
        Ok(bytes)
    }

    /// Reads a small rest, so that the connection can be used again.
    pub(in crate::http) fn finish(self) -> SvnResult<()> {
        self.bytes(1 << 20).map(drop)
    }
}

impl Read for Reply {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        match &mut self.content {
            Content::Whole(body) => Read::read(body, buf),
            Content::Plain(coming) => coming.read(buf),
            Content::Gzip(packed) => {
                let len = packed.read(buf)?;
                if len == 0 && !buf.is_empty() {
                    // The compressed data end before the body does.
                    io::copy(&mut packed.get_mut().take(REST), &mut io::sink())?;
                }
                Ok(len)
            }
        }
    }
}

impl IncomingBody {
    fn give_back(&mut self) {
        if let Some(connection) = self.connection.take() {
            let mut idle = self.transport.idle.borrow_mut();
            if idle.len() < self.transport.connections && !connection.requests.is_closed() {
                idle.push(connection);
            }
        }
    }

    /// Receives the next piece; false at the end.
    fn fetch(&mut self) -> SvnResult<bool> {
        while !self.ended && self.piece.is_empty() {
            let frame = self.transport.wait(self.body.frame())?;
            match frame {
                None => {
                    self.ended = true;
                    self.give_back();
                }
                Some(Ok(frame)) => self.piece = frame.into_data().unwrap_or_else(|_| Bytes::new()),
                Some(Err(error)) => return Err(broken(&error)),
            }
        }
        Ok(!self.piece.is_empty())
    }
}

impl Read for IncomingBody {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        if buf.is_empty() || !self.fetch().map_err(io::Error::other)? {
            return Ok(0);
        }
        let len = buf.len().min(self.piece.len());
        let Some(into) = buf.get_mut(..len) else {
            return Err(io::Error::other(SvnError::internal("no room to read into")));
        };
        self.piece.copy_to_slice(into);
        // If the end is there already, the connection returns to the pool at once.
        if self.piece.is_empty() && self.body.is_end_stream() && !self.ended {
            self.ended = true;
            self.give_back();
        }
        Ok(len)
    }
}
