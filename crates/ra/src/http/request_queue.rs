//! Requests that change something, sent in order and without waiting for the reply to each (pipelining of HTTP/1.1):
//! fifty files of a commit cost one turn on a long way, not fifty.
//!
//! * The first request waits for a second one: one alone goes the usual way. From the second one on, or from one with a
//!   long body on, the queue uses the connection of the session, which gets it back at the end.
//! * A server may close its connection after any reply that says so. What was sent after that request was not
//!   processed, and is sent again; from then on no more is sent on a connection than the server answers.
//! * A connection that ends without such a reply is an error: what became of the requests is not known.
//! * Where the server wants credentials in the middle, requests go out one at a time from there.
//!
//! Invariants: replies are passed on in the order of the requests; no request is sent again that may have been
//! processed.

use std::collections::VecDeque;

use sapwood_core::exact::Exact as _;
use sapwood_core::{ErrorCode, SvnError, SvnResult};

use super::client::{Call, Client};
use super::raw_connection::RawConnection;
use super::transport::{Reply, closed};

/// The most requests without a reply.
const REQUESTS: usize = 256;
/// The most bytes of bodies without a reply; one request may have more.
const UNANSWERED: u64 = 4 << 20;
/// Bytes of a body with which a request does not wait for a second one: what the server does with it takes longer than a
/// turn, and the caller makes the next body meanwhile.
const LONG_BODY: u64 = 1 << 20;
/// Bytes of a body that are sent at a time.
const PIECE: usize = 64 << 10;

/// Takes the reply to a request, with what the request was queued with.
pub(super) type Take<'t, T> = &'t mut dyn FnMut(T, &Call<'static>, Reply) -> SvnResult<()>;

/// What the requests of a queue have to do with each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// Each needs those before it.
    Strict,
    /// None needs another.
    Free,
}

/// The requests that wait for replies.
#[derive(Debug)]
pub(super) struct RequestQueue<T> {
    order: Order,
    /// The first request, until there is a second one.
    held: Option<(Call<'static>, T)>,
    connection: Option<RawConnection>,
    /// What was sent, and its reply has not been read.
    sent: VecDeque<(Call<'static>, T)>,
    /// Bytes of the bodies of these.
    unanswered: u64,
    /// Requests that were sent on this connection, and replies that were read from it.
    asked: usize,
    answered: usize,
    /// Requests that the server answers on one connection, if it has been seen to close one.
    limit: Option<usize>,
    /// Requests go out one at a time.
    one_at_a_time: bool,
}

impl<T> RequestQueue<T> {
    pub(super) const fn new(order: Order) -> Self {
        Self {
            order,
            held: None,
            connection: None,
            sent: VecDeque::new(),
            unanswered: 0,
            asked: 0,
            answered: 0,
            limit: None,
            one_at_a_time: false,
        }
    }

    /// Whether a request that is queued now goes out on the queue's own connection.
    pub(super) const fn is_open(&self) -> bool {
        self.connection.is_some()
    }

    /// Queues a request. Replies to earlier ones may be passed to `take`.
    ///
    /// # Errors
    /// Errors of the network, and those of `take`. The queue is then to be [drained](RequestQueue::drain).
    pub(super) fn push(
        &mut self,
        client: &Client,
        call: Call<'static>,
        tag: T,
        take: Take<'_, T>,
    ) -> SvnResult<()> {
        if self.one_at_a_time || !client.may_pipeline() {
            self.finish(client, take)?;
            let reply = client.call(&call)?;
            return take(tag, &call, reply);
        }
        match self.held.take() {
            None if self.connection.is_none() && call.payload.len() < LONG_BODY => {
                self.held = Some((call, tag));
                return Ok(());
            }
            None => {}
            Some((first, its)) => self.send(client, first, its, take)?,
        }
        self.send(client, call, tag, take)
    }

    /// Waits for all replies.
    ///
    /// # Errors
    /// As of [`RequestQueue::push`].
    pub(super) fn finish(&mut self, client: &Client, take: Take<'_, T>) -> SvnResult<()> {
        if let Some((call, tag)) = self.held.take() {
            let reply = client.call(&call)?;
            take(tag, &call, reply)?;
        }
        while !self.sent.is_empty() {
            self.receive(client, take)?;
        }
        Ok(())
    }

    /// All was done: the session may use the connection again.
    ///
    /// # Errors
    /// Errors of the network.
    pub(super) fn end(mut self, client: &Client) -> SvnResult<()> {
        self.connection.take().map_or(Ok(()), |connection| connection.give_back(client))
    }

    /// After an error: waits until the server has answered what was sent, so that nothing of it happens later. The
    /// replies are dropped.
    pub(super) fn drain(&mut self, client: &Client) {
        self.held = None;
        while self.connection.is_some()
            && let Some((call, _)) = self.sent.pop_front()
        {
            if !matches!(self.reply_to(client, &call), Ok((_, false))) {
                break;
            }
        }
        self.sent.clear();
        self.connection = None;
    }

    fn send(
        &mut self,
        client: &Client,
        call: Call<'static>,
        tag: T,
        take: Take<'_, T>,
    ) -> SvnResult<()> {
        self.make_room(client, call.payload.len(), take)?;
        if self.one_at_a_time {
            let reply = client.call(&call)?;
            return take(tag, &call, reply);
        }
        let connection = match &mut self.connection {
            Some(open) => open,
            none => {
                (self.asked, self.answered) = (0, 0);
                none.insert(RawConnection::take_over(client)?)
            }
        };
        let written = write(client, connection, &call);
        self.unanswered = self.unanswered.plus(call.payload.len());
        self.asked = self.asked.plus(1);
        self.sent.push_back((call, tag));
        match written {
            Err(error) if error.is_cancelled() => return Err(error),
            // The server has closed the connection: its replies say why.
            Err(_) => self.finish(client, take)?,
            Ok(()) => {}
        }
        // An error should be seen before much more is sent.
        while !self.sent.is_empty()
            && let Some(connection) = &mut self.connection
            && connection.has_input(client)?
        {
            self.receive(client, take)?;
        }
        Ok(())
    }

    /// Reads replies until a request with so long a body may be sent.
    fn make_room(&mut self, client: &Client, bytes: u64, take: Take<'_, T>) -> SvnResult<()> {
        let is_used_up = |queue: &Self| queue.limit.is_some_and(|limit| queue.asked >= limit);
        while !self.sent.is_empty()
            && (self.sent.len() >= REQUESTS
                || self.unanswered.plus(bytes) > UNANSWERED
                || is_used_up(self))
        {
            self.receive(client, take)?;
        }
        if is_used_up(self) {
            self.connection = None;
        }
        Ok(())
    }

    /// Reads the next reply.
    fn receive(&mut self, client: &Client, take: Take<'_, T>) -> SvnResult<()> {
        let Some((call, tag)) = self.sent.pop_front() else { return Ok(()) };
        self.unanswered = self.unanswered.minus(call.payload.len());
        let (reply, is_last) = self.reply_to(client, &call)?;
        self.answered = self.answered.plus(1);
        if reply.status() == 401 {
            return self.authenticate(client, (call, tag), is_last, take);
        }
        if is_last {
            self.connection = None;
            self.limit = Some(self.answered);
            self.one_at_a_time |= self.answered <= 1;
        }
        take(tag, &call, reply)?;
        if is_last { self.send_again(client, take) } else { Ok(()) }
    }

    /// Sends what the server did not process before it closed the connection.
    fn send_again(&mut self, client: &Client, take: Take<'_, T>) -> SvnResult<()> {
        self.unanswered = 0;
        for (call, tag) in std::mem::take(&mut self.sent) {
            self.send(client, call, tag, take)?;
        }
        Ok(())
    }

    /// The reply to a request, and whether it is the last one of the connection.
    fn reply_to(&mut self, client: &Client, call: &Call<'_>) -> SvnResult<(Reply, bool)> {
        let Some(connection) = &mut self.connection else {
            return Err(SvnError::internal("a request that was sent has no connection"));
        };
        let reply = connection.reply(client, call.method != "HEAD");
        if reply.is_err() {
            // Nothing more is expected of it: a server that was silent is not waited for again.
            self.connection = None;
        }
        reply?.ok_or_else(closed)
    }

    /// The server wants credentials for a request, which it did not process. Those after it were sent with the same
    /// ones: where one of them was processed nevertheless, and the order matters, the whole fails.
    fn authenticate(
        &mut self,
        client: &Client,
        first: (Call<'static>, T),
        is_last: bool,
        take: Take<'_, T>,
    ) -> SvnResult<()> {
        self.one_at_a_time = true;
        let mut open = !is_last;
        let mut left = vec![(first, None)];
        for (call, tag) in std::mem::take(&mut self.sent) {
            let mut reply = None;
            if open {
                let (answer, last) = self.reply_to(client, &call)?;
                open = !last;
                reply = Some(answer).filter(|answer| answer.status() != 401);
            }
            if reply.is_some() && self.order == Order::Strict {
                let message = "The server asked for other credentials in the middle of the commit";
                return Err(SvnError::new(ErrorCode::AUTHN_FAILED, message));
            }
            left.push(((call, tag), reply));
        }
        self.connection = None;
        self.unanswered = 0;
        for ((call, tag), reply) in left {
            let reply = match reply {
                Some(reply) => reply,
                None => client.call(&call)?,
            };
            take(tag, &call, reply)?;
        }
        Ok(())
    }
}

/// Sends a request.
pub(super) fn write(
    client: &Client,
    connection: &mut RawConnection,
    call: &Call<'_>,
) -> SvnResult<()> {
    let mut out = client.head_of(call)?;
    let mut at = 0;
    while at < call.payload.len() {
        let piece = call.payload.piece(at, PIECE)?;
        at = at.plus(sapwood_core::len64(piece.len()));
        out.extend_from_slice(&piece);
        if out.len() >= PIECE {
            connection.send(client, &out)?;
            out.clear();
        }
    }
    if out.is_empty() { Ok(()) } else { connection.send(client, &out) }
}

#[cfg(test)]
mod tests;
