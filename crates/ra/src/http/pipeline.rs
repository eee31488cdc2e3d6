//! Fetches texts that a report only names, ahead of use and over a few connections. On each,
//! requests are sent before the replies to earlier ones have come (pipelining).
//!
//! Only GETs are sent here. Anything unusual (a server that closes connections, or any status but
//! 200) is left to the single requests of [`Client`], which can handle it. Invariant: replies in
//! flight fit the system's buffers, so neither side waits for the other for ever; nothing but a buffer for each connection is kept in memory.

use std::collections::VecDeque;
use std::io::{self, Read};

use flate2::read::MultiGzDecoder;
use sapwood_core::exact::{Cut as _, Exact as _};
use sapwood_core::{SvnError, SvnResult, len64};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::client::Client;
use super::edits::{is_delta, text_call};
use super::transport::Wire;

/// The most requests in flight on one connection.
const DEPTH: usize = 16;
/// The most bytes of requests in flight on one connection.
const UNANSWERED: usize = 16 << 10;
/// Bytes that are read at a time.
const BUFFER: usize = 16 << 10;
/// The most bytes of a reply's head.
const HEAD: usize = 64 << 10;
/// How often a connection is opened again without a reply in between.
const TRIES: u32 = 2;

/// The requests in flight, in the order in which their replies will be read.
#[derive(Debug)]
pub(super) struct Pipeline {
    lines: Vec<PipelinedConnection>,
    /// The most connections.
    most: usize,
    /// The connection that gets the next request, and the one that is read next.
    ask: usize,
    read: usize,
    /// Something unusual came: no more requests are sent ahead.
    broken: bool,
}

/// One connection.
#[derive(Debug, Default)]
struct PipelinedConnection {
    wire: Option<Open>,
    /// Requests whose replies were not read yet, with their bytes.
    asked: VecDeque<PendingGet>,
    tries: u32,
}

/// A request that was sent.
#[derive(Debug)]
struct PendingGet {
    target: String,
    /// The address of the text that the client has.
    base: Option<String>,
    /// The bytes of the request.
    len: usize,
}

struct Open {
    wire: Box<dyn Wire>,
    buffer: Vec<u8>,
    at: usize,
}

impl std::fmt::Debug for Open {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Open").field("buffered", &self.buffer.len()).finish_non_exhaustive()
    }
}

/// What a reply's head says of its body.
#[derive(Debug, PartialEq, Eq)]
struct Head {
    status: u16,
    /// The length of the body; `None` when it comes in chunks.
    length: Option<u64>,
    gzip: bool,
    /// The body is a delta.
    is_delta: bool,
    /// The server closes the connection after it.
    last: bool,
}

impl Head {
    /// `None` for a head that is not understood here.
    fn parse(text: &str) -> Option<Self> {
        let mut lines = text.split("\r\n");
        let mut first = lines.next()?.split(' ');
        if first.next()? != "HTTP/1.1" {
            return None;
        }
        let status = first.next()?.parse().ok()?;
        let mut head = Self { status, length: None, gzip: false, is_delta: false, last: false };
        let mut chunked = false;
        for line in lines.filter(|line| !line.is_empty()) {
            let (name, value) = line.split_once(':')?;
            let value = value.trim();
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
                "connection" => head.last |= value.eq_ignore_ascii_case("close"),
                _ => {}
            }
        }
        // With both, or neither, the end of the body is unknown.
        (chunked != head.length.is_some()).then_some(head)
    }
}

fn cut() -> SvnError {
    SvnError::from_stream(io::ErrorKind::UnexpectedEof.into())
}

impl Open {
    /// Receives more; false when the server has closed the connection.
    fn fill(&mut self, client: &Client) -> SvnResult<bool> {
        if self.at >= self.buffer.len() {
            self.buffer.clear();
            self.at = 0;
        }
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
    fn head(&mut self, client: &Client) -> SvnResult<Option<Option<Head>>> {
        loop {
            let ready = self.ready();
            if let Some(len) = ready.windows(4).position(|end| end == b"\r\n\r\n") {
                let text = String::from_utf8_lossy(ready.piece(..len)).into_owned();
                let head = Head::parse(&text);
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
                // A server that closes connections may do it this way, too.
                Err(error) if empty && !error.is_cancelled() => {
                    return Ok(None);
                }
                Ok(false) => return Err(cut()),
                Err(error) => return Err(error),
            }
        }
    }
}

/// The body of a reply.
struct Body<'p> {
    open: &'p mut Open,
    client: &'p Client,
    /// Bytes that are left, of the body or of a chunk.
    left: u64,
    /// In chunks: whether the next one's size is still to come, or the first one's.
    chunked: bool,
    first: bool,
    over: bool,
}

impl Body<'_> {
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

impl Read for Body<'_> {
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
        let left = usize::try_from(self.left).unwrap_or(usize::MAX);
        let ready = self.open.ready();
        let len = ready.len().min(left).min(buf.len());
        let len = Read::read(&mut ready.piece(..len), buf)?;
        self.open.at = self.open.at.plus(len);
        self.left = self.left.minus(len64(len));
        Ok(len)
    }
}

impl PipelinedConnection {
    fn send(&mut self, client: &Client, request: &[u8]) -> SvnResult<()> {
        let open = match &mut self.wire {
            Some(open) => open,
            empty => {
                empty.insert(Open { wire: client.transport().open()?, buffer: Vec::new(), at: 0 })
            }
        };
        let sent = client.transport().wait(async {
            open.wire.write_all(request).await?;
            open.wire.flush().await
        })?;
        sent.map_err(|e| SvnError::io(&e, "Error running context"))
    }

    /// Opens the connection again, and sends all requests without a reply again.
    fn renew(&mut self, client: &Client) -> SvnResult<bool> {
        self.tries = self.tries.plus(1);
        if self.tries > TRIES {
            return Ok(false);
        }
        self.wire = None;
        let mut requests = Vec::new();
        for asked in &self.asked {
            requests.extend(request(client, &asked.target, asked.base.as_deref())?);
        }
        self.send(client, &requests)?;
        Ok(true)
    }
}

fn request(client: &Client, target: &str, base: Option<&str>) -> SvnResult<Vec<u8>> {
    client.head_of(&text_call(client, target, base))
}

impl Pipeline {
    /// A pipeline to a server that allows so many connections, of which the report uses one.
    pub(super) fn new(connections: usize) -> Self {
        let most = connections.max(2).minus(1);
        Self { lines: Vec::new(), most, ask: 0, read: 0, broken: false }
    }

    /// Whether more requests may be sent ahead.
    pub(super) fn has_room(&self) -> bool {
        let free = |line: &PipelinedConnection| {
            let bytes = line.asked.iter().fold(0usize, |sum, asked| sum.plus(asked.len));
            line.asked.len() < DEPTH && bytes < UNANSWERED
        };
        !self.broken && (self.lines.len() < self.most || self.lines.get(self.ask).is_none_or(free))
    }

    /// Requests a text that will be read after all that were requested before. Errors are reported
    /// when it is read.
    pub(super) fn ask(&mut self, client: &Client, target: &str, base: Option<&str>) {
        if self.broken {
            return;
        }
        if self.lines.len() < self.most && self.ask == self.lines.len() {
            self.lines.push(PipelinedConnection::default());
        }
        let Some(line) = self.lines.get_mut(self.ask) else { return };
        let Ok(request) = request(client, target, base) else {
            self.broken = true;
            return;
        };
        // A connection that was closed meanwhile is opened again when it is read from, and all that is
        // left is requested again.
        let sends = line.wire.is_some() || line.asked.is_empty();
        let (base, len) = (base.map(str::to_owned), request.len());
        line.asked.push_back(PendingGet { target: target.to_owned(), base, len });
        if sends && line.send(client, &request).is_err() {
            line.wire = None;
        }
        self.ask = self.ask.plus(1) % self.most;
    }

    /// Passes the text that was requested first to `take`, and whether it is a delta; false when it must be requested in the
    /// usual way.
    pub(super) fn text(
        &mut self,
        client: &Client,
        target: &str,
        take: &mut dyn FnMut(&mut dyn Read, bool) -> SvnResult<()>,
    ) -> SvnResult<bool> {
        if self.broken {
            return Ok(false);
        }
        // Until the end of the reply clears it.
        self.broken = true;
        let Some(line) = self.lines.get_mut(self.read) else { return Ok(false) };
        if line.asked.front().is_none_or(|first| first.target != target) {
            return Ok(false);
        }
        let head = loop {
            if line.wire.is_none() && !line.renew(client)? {
                return Ok(false);
            }
            let Some(open) = &mut line.wire else { return Ok(false) };
            match open.head(client)? {
                Some(head) => break head,
                None => line.wire = None,
            }
        };
        let Some(head) = head.filter(|head| head.status == 200) else { return Ok(false) };
        let Some(open) = &mut line.wire else { return Ok(false) };
        let chunked = head.length.is_none();
        let left = head.length.unwrap_or(0);
        let mut body = Body { open, client, left, chunked, first: true, over: false };
        if head.gzip {
            take(&mut MultiGzDecoder::new(&mut body), head.is_delta)?;
        } else {
            take(&mut body, head.is_delta)?;
        }
        // The end was not reached yet: the receiver stopped early.
        io::copy(&mut body, &mut io::sink()).map_err(SvnError::from_stream)?;
        line.asked.pop_front();
        line.tries = 0;
        if head.last {
            line.wire = None;
        }
        self.read = self.read.plus(1) % self.most;
        self.broken = false;
        Ok(true)
    }
}

#[cfg(test)]
mod tests;
