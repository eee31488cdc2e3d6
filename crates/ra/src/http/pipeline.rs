//! Fetches texts that a report only names, ahead of use and over a few connections. On each,
//! requests are sent before the replies to earlier ones have come (pipelining).
//!
//! Only GETs are sent here. Anything unusual (a server that closes connections, or any status but
//! 200) is left to the single requests of [`Client`], which can handle it. Invariant: replies in
//! flight fit the system's buffers, so neither side waits for the other for ever; nothing but a buffer for each connection is kept in memory.

use std::collections::VecDeque;
use std::io::{self, Read};

use flate2::read::MultiGzDecoder;
use sapwood_core::exact::Exact as _;
use sapwood_core::{SvnError, SvnResult};

use super::client::Client;
use super::raw_connection::RawConnection;
use super::text_request::text_call;

/// The most requests in flight on one connection.
const DEPTH: usize = 16;
/// The most bytes of requests in flight on one connection.
const UNANSWERED: usize = 16 << 10;
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
    wire: Option<RawConnection>,
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

impl PipelinedConnection {
    fn send(&mut self, client: &Client, request: &[u8]) -> SvnResult<()> {
        let open = match &mut self.wire {
            Some(open) => open,
            empty => empty.insert(RawConnection::open(client)?),
        };
        open.send(client, request)
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
            match open.head(client, true)? {
                Some(head) => break head,
                None => line.wire = None,
            }
        };
        let Some(head) = head.filter(|head| head.status == 200) else { return Ok(false) };
        let Some(open) = &mut line.wire else { return Ok(false) };
        let mut body = open.body(client, head.length);
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
