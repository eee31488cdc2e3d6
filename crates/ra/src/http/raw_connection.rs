//! A connection on which requests are sent before the replies to earlier ones have come: bytes out, and heads
//! and bodies of replies in. hyper's client has one request on a connection at a time.
//!
//! Invariant: only what HTTP/1.1 says clearly is understood. A reply whose end is not known ends the connection.

use std::io::{self, Read};
use std::pin::Pin;
use std::task::{Context, Poll};

use hyper::Response;
use hyper::header::{HeaderMap, HeaderName, HeaderValue};
use sapwood_core::exact::{Cut as _, Exact as _};
use sapwood_core::{ErrorCode, SvnError, SvnResult, len64};
use tokio::io::{AsyncRead as _, AsyncReadExt as _, AsyncWrite as _, ReadBuf};

use super::client::Client;
use super::text_request::is_delta;
use super::transport::{Reply, Wire, closed, is_timeout, says_close};

/// Bytes that are read at a time.
const BUFFER: usize = 16 << 10;
/// The most bytes of a reply's head.
const HEAD: usize = 64 << 10;
/// The most bytes of replies that are taken while a request is sent.
const TAKEN: usize = 1 << 20;
/// The most bytes of the body of a reply that is read whole: of properties, or of an error.
const REPLY: u64 = 16 << 20;

/// Reads what has arrived.
fn poll_into(
    wire: &mut Box<dyn Wire>,
    buffer: &mut Vec<u8>,
    cx: &mut Context<'_>,
) -> Poll<io::Result<usize>> {
    let mut piece = [0; 4 << 10];
    let mut read = ReadBuf::new(&mut piece);
    let polled = Pin::new(wire).poll_read(cx, &mut read);
    polled.map_ok(|()| {
        buffer.extend_from_slice(read.filled());
        read.filled().len()
    })
}

/// A connection, and what has arrived on it and was not read.
pub(super) struct RawConnection {
    wire: Box<dyn Wire>,
    buffer: Vec<u8>,
    at: usize,
}

impl std::fmt::Debug for RawConnection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RawConnection")
            .field("buffered", &self.buffer.len())
            .finish_non_exhaustive()
    }
}

/// What a reply's head says of its body.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) status: u16,
    /// The length of the body; `None` when it comes in chunks.
    pub(super) length: Option<u64>,
    pub(super) gzip: bool,
    /// The body is a delta.
    pub(super) is_delta: bool,
    /// The server closes the connection after it.
    pub(super) last: bool,
    /// All its headers.
    pub(super) headers: HeaderMap,
}

impl Head {
    /// `None` for a head that is not understood here. A reply to HEAD has no body, whatever length it says.
    fn parse(text: &str, has_body: bool) -> Option<Self> {
        let mut lines = text.split("\r\n");
        let mut first = lines.next()?.split(' ');
        if first.next()? != "HTTP/1.1" {
            return None;
        }
        let status = first.next()?.parse().ok()?;
        let mut head = Self {
            status,
            length: None,
            gzip: false,
            is_delta: false,
            last: false,
            headers: HeaderMap::new(),
        };
        let mut chunked = false;
        for line in lines.filter(|line| !line.is_empty()) {
            let (name, value) = line.split_once(':')?;
            let value = value.trim();
            let known = HeaderName::from_bytes(name.as_bytes()).ok()?;
            head.headers.append(known, HeaderValue::from_str(value).ok()?);
            match name.to_ascii_lowercase().as_str() {
                "content-length" => {
                    let length = value.parse().ok()?;
                    if head.length.is_some_and(|other| other != length) {
                        return None;
                    }
                    head.length = Some(length);
                }
                "transfer-encoding" if value.eq_ignore_ascii_case("chunked") => chunked = true,
                "transfer-encoding" => return None,
                "content-encoding" => match value {
                    "gzip" | "x-gzip" => head.gzip = true,
                    "identity" => {}
                    _ => return None,
                },
                "content-type" => head.is_delta = is_delta(value),
                "connection" => head.last |= says_close(value),
                _ => {}
            }
        }
        if !has_body || matches!(status, 100..=199 | 204 | 304) {
            head.length = Some(0);
            return Some(head);
        }
        // With both, or neither, the end of the body is unknown.
        (chunked != head.length.is_some()).then_some(head)
    }
}

fn cut() -> SvnError {
    SvnError::from_stream(io::ErrorKind::UnexpectedEof.into())
}

impl RawConnection {
    /// A new connection to the server.
    pub(super) fn open(client: &Client) -> SvnResult<Self> {
        Ok(Self { wire: client.transport().open()?, buffer: Vec::new(), at: 0 })
    }

    /// The session's idle connection, or a new one.
    pub(super) fn take_over(client: &Client) -> SvnResult<Self> {
        Ok(Self { wire: client.transport().take_over()?, buffer: Vec::new(), at: 0 })
    }

    /// The session may use it again: all replies were read.
    pub(super) fn give_back(self, client: &Client) -> SvnResult<()> {
        // What no request asked for ends it.
        if self.ready().is_empty() { client.transport().give_back(self.wire) } else { Ok(()) }
    }

    /// Sends bytes, and takes what arrives meanwhile: the peer may wait until its replies are taken.
    pub(super) fn send(&mut self, client: &Client, bytes: &[u8]) -> SvnResult<()> {
        self.forget_read();
        let Self { wire, buffer, .. } = self;
        let mut left = bytes;
        let sent = client.transport().wait(std::future::poll_fn(|cx| {
            loop {
                if left.is_empty() {
                    return Pin::new(&mut *wire).poll_flush(cx);
                }
                match Pin::new(&mut *wire).poll_write(cx, left) {
                    Poll::Ready(Ok(0)) => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                    Poll::Ready(Ok(count)) => left = left.tail(count),
                    Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
                    Poll::Pending if buffer.len() > TAKEN => return Poll::Pending,
                    Poll::Pending => match poll_into(wire, buffer, cx) {
                        Poll::Ready(Ok(0)) => {
                            return Poll::Ready(Err(io::ErrorKind::ConnectionReset.into()));
                        }
                        Poll::Ready(Ok(_)) => {}
                        Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
                        Poll::Pending => return Poll::Pending,
                    },
                }
            }
        }))?;
        sent.map_err(|e| SvnError::io(&e, "Error running context"))
    }

    /// Whether a part of a reply is there; takes what has arrived, and does not wait for it.
    pub(super) fn has_input(&mut self, client: &Client) -> SvnResult<bool> {
        if self.ready().is_empty() {
            self.forget_read();
            let Self { wire, buffer, .. } = self;
            // The end of the connection, and errors, are found when the reply is read.
            client.transport().wait(std::future::poll_fn(|cx| {
                let _ = poll_into(wire, buffer, cx);
                Poll::Ready(())
            }))?;
        }
        Ok(!self.ready().is_empty())
    }

    /// The next reply, with its body, and whether it is the last one of the connection; `None` when the server has closed
    /// the connection before it.
    pub(super) fn reply(
        &mut self,
        client: &Client,
        has_body: bool,
    ) -> SvnResult<Option<(Reply, bool)>> {
        loop {
            let Some(head) = self.head(client, has_body)? else { return Ok(None) };
            // No coding was asked for.
            let head = head.filter(|head| !head.gzip).ok_or_else(|| {
                let message = "The server sent a reply that cannot be understood";
                SvnError::new(ErrorCode::RA_DAV_MALFORMED_DATA, message)
            })?;
            let mut bytes = Vec::new();
            let mut body = self.body(client, head.length).take(REPLY.plus(1));
            body.read_to_end(&mut bytes).map_err(SvnError::from_stream)?;
            if body.limit() == 0 {
                let message = "The server sent a reply that is too long";
                return Err(SvnError::new(ErrorCode::RA_DAV_MALFORMED_DATA, message));
            }
            if head.status < 200 {
                continue;
            }
            let mut response = Response::builder().status(head.status);
            if let Some(headers) = response.headers_mut() {
                *headers = head.headers;
            }
            let response = response.body(());
            let (parts, ()) = response.map_err(|_| closed())?.into_parts();
            return Ok(Some((Reply::whole(parts, bytes), head.last)));
        }
    }

    /// The body of the reply whose head was read, with the length that it says; without one it comes in chunks.
    pub(super) fn body<'p>(&'p mut self, client: &'p Client, length: Option<u64>) -> RawBody<'p> {
        let left = length.unwrap_or(0);
        RawBody { open: self, client, left, chunked: length.is_none(), first: true, over: false }
    }

    /// Empties the buffer when all of it was read.
    fn forget_read(&mut self) {
        if self.at >= self.buffer.len() {
            self.buffer.clear();
            self.at = 0;
        }
    }

    /// Receives more; false when the server has closed the connection.
    fn fill(&mut self, client: &Client) -> SvnResult<bool> {
        self.forget_read();
        let Self { wire, buffer, .. } = self;
        buffer.reserve(BUFFER);
        let got = client.transport().wait(wire.read_buf(buffer))?;
        got.map(|count| count > 0).map_err(|e| SvnError::io(&e, "Error running context"))
    }

    fn ready(&self) -> &[u8] {
        self.buffer.tail(self.at)
    }

    /// A line up to its end, which is not part of it; of a chunk, or after one.
    fn line(&mut self, client: &Client) -> SvnResult<String> {
        loop {
            let ready = self.ready();
            if let Some(len) = ready.windows(2).position(|pair| pair == b"\r\n") {
                let line = ready.piece(..len);
                let line = String::from_utf8_lossy(line).into_owned();
                self.at = self.at.plus(len).plus(2);
                return Ok(line);
            }
            if ready.len() > HEAD || !self.fill(client)? {
                return Err(cut());
            }
        }
    }

    /// The head of the next reply; `None` when the server has closed the connection before it.
    pub(super) fn head(
        &mut self,
        client: &Client,
        has_body: bool,
    ) -> SvnResult<Option<Option<Head>>> {
        loop {
            let ready = self.ready();
            if let Some(len) = ready.windows(4).position(|end| end == b"\r\n\r\n") {
                let text = String::from_utf8_lossy(ready.piece(..len)).into_owned();
                let head = Head::parse(&text, has_body);
                self.at = self.at.plus(len).plus(4);
                return Ok(Some(head));
            }
            if ready.len() > HEAD {
                return Ok(Some(None));
            }
            let empty = ready.is_empty();
            match self.fill(client) {
                Ok(true) => {}
                Ok(false) if empty => return Ok(None),
                // A server that closes connections may do it this way, too; one that is silent has not closed it.
                Err(error) if empty && !error.is_cancelled() && !is_timeout(&error) => {
                    return Ok(None);
                }
                Ok(false) => return Err(cut()),
                Err(error) => return Err(error),
            }
        }
    }
}

/// The body of a reply.
pub(super) struct RawBody<'p> {
    open: &'p mut RawConnection,
    client: &'p Client,
    /// Bytes that are left, of the body or of a chunk.
    left: u64,
    /// In chunks: whether the next one's size is still to come, or the first one's.
    chunked: bool,
    first: bool,
    over: bool,
}

impl RawBody<'_> {
    /// Goes on to the next chunk; false after the last.
    fn next_chunk(&mut self) -> SvnResult<bool> {
        if !std::mem::take(&mut self.first) && !self.open.line(self.client)?.is_empty() {
            return Err(cut());
        }
        let line = self.open.line(self.client)?;
        let size = line.split(';').next().unwrap_or("").trim();
        self.left = u64::from_str_radix(size, 16).map_err(|_| cut())?;
        if self.left == 0 {
            // The trailers, up to an empty line.
            while !self.open.line(self.client)?.is_empty() {}
            return Ok(false);
        }
        Ok(true)
    }
}

impl Read for RawBody<'_> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        if self.left == 0 {
            if self.chunked && !self.over {
                self.over = !self.next_chunk().map_err(io::Error::other)?;
            }
            if !self.chunked || self.over {
                self.over = true;
                return Ok(0);
            }
        }
        if self.open.ready().is_empty() && !self.open.fill(self.client).map_err(io::Error::other)? {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let left = sapwood_core::exact::clamped(self.left);
        let ready = self.open.ready();
        let len = ready.len().min(left).min(buf.len());
        let len = Read::read(&mut ready.piece(..len), buf)?;
        self.open.at = self.open.at.plus(len);
        self.left = self.left.minus(len64(len));
        Ok(len)
    }
}

#[cfg(test)]
mod tests {
    use super::Head;

    #[test]
    fn heads() {
        let parse = |text: &str| {
            let head = Head::parse(&text.replace('\n', "\r\n"), true)?;
            Some((head.status, head.length, head.gzip, head.last))
        };
        let plain = (200, Some(5), false, false);
        assert_eq!(parse("HTTP/1.1 200 OK\nContent-Length: 5"), Some(plain));
        let other = (404, None, true, true);
        let text =
            "HTTP/1.1 404\nconnection: Close\nTransfer-Encoding: chunked\nContent-Encoding: gzip";
        assert_eq!(parse(text), Some(other));
        assert_eq!(parse("HTTP/1.1 204 No Content"), Some((204, Some(0), false, false)));
        assert_eq!(parse("HTTP/1.1 100 Continue"), Some((100, Some(0), false, false)));
        let without_body =
            Head::parse("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nX: y", false).unwrap();
        assert_eq!(without_body.length, Some(0));
        assert_eq!(without_body.headers["x"], "y");
        for odd in [
            "",
            "HTTP/1.0 200 OK\nContent-Length: 5",
            "HTTP/1.1 200 OK",
            "HTTP/1.1 200 OK\nContent-Length: 5\nContent-Length: 6",
            "HTTP/1.1 200 OK\nContent-Length: 5\nTransfer-Encoding: chunked",
            "HTTP/1.1 200 OK\nTransfer-Encoding: gzip, chunked",
            "HTTP/1.1 200 OK\nContent-Length: x",
            "HTTP/1.1 200 OK\nContent-Length: 5\nContent-Encoding: br",
            "HTTP/1.1 200 OK\nno colon",
        ] {
            assert_eq!(parse(odd), None, "{odd}");
        }
    }
}
