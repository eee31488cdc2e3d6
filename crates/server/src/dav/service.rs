//! A request, from its head to the end of its reply.
//!
//! It has a thread only while there is something to compute. First the user is authenticated and access is
//! checked by the request's head; then the body is collected; then the handler runs, and makes the reply.
//!
//! Invariants: access is checked before the body is read, unless all of a small body is there already; a
//! request that waits, for a thread, a login, memory or its body, ends when its client disconnects.

use std::convert::Infallible;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Instant;

use hyper::body::Incoming;
use hyper::header::EXPECT;
use hyper::{Request, Response};
use sapwood_core::exact::Exact as _;
use sapwood_core::{ErrorCode, SvnError, SvnResult, base64, len64};
use tokio::runtime::Handle;
use tokio::sync::oneshot;

use super::access_log;
use super::autoversioning;
use super::body::{Body, RawBody};
use super::certificate::ClientCertificate;
use super::continued;
use super::exchange::{Exchange, NotBefore};
use super::fail::client_gone;
use super::head::Head;
use super::idle::{TrackedBody, UnderWay};
use super::login;
use super::master::{Forward, ForwardFailure};
use super::methods::{self, Next};
use super::outlet::Outlet;
use super::packing;
use super::peers::forward::{Outcome, PeerForward};
use super::polled_connection::Driver;
use super::reply::ReplyBody;
use super::sign_in::asking::{self, Question, SignInOutcome};
use super::socket::ClientSocket;
use super::stage::Stage;
use super::state::HttpState;
use super::workers::{self, Workers};
use crate::common::fair::{Caller, Permit};
use crate::common::metrics::Limit;
use crate::common::principal::Principal;
use crate::common::request_memory::Share;
use crate::common::users::Verdict;

/// Bytes of a body that are collected in memory.
const WINDOW: usize = 32 << 10;
/// How many times its size a body that is held whole may take, including what is made of it.
const MADE_OF_BODY: usize = 8;

/// The peer of a connection.
#[derive(Clone, Debug)]
pub(super) struct Peer {
    pub(super) address: SocketAddr,
    /// Whether it is encrypted.
    pub(super) secure: bool,
    pub(super) certificate: Option<Arc<ClientCertificate>>,
    /// Whether it has proved that it is another server of the same repositories.
    pub(super) is_server: bool,
}

/// The connection that a request came by.
#[derive(Clone, Debug)]
pub(super) struct Origin {
    pub(super) peer: Peer,
    pub(super) driver: Driver,
    pub(super) line: ClientSocket,
}

/// A request, while no thread has it. It is moved often, and is large: so it is boxed.
struct Job {
    shared: Arc<HttpState>,
    head: Head,
    exchange: Exchange,
    caller: Caller,
    /// The memory that its body and what is made of it may take.
    memory: Option<Share>,
    begun: Instant,
}

type Reply = oneshot::Receiver<Response<ReplyBody>>;

/// Answers a request.
///
/// hyper moves the returned future several times. It should be small, so its rarely used parts are boxed.
pub(super) fn answer(
    shared: Arc<HttpState>,
    origin: Origin,
    under_way: UnderWay,
    request: Request<Incoming>,
) -> impl Future<Output = Result<Response<TrackedBody<ReplyBody>>, Infallible>> + Send {
    let (send, reply) = oneshot::channel();
    let line = origin.line.clone();
    let job = Job::new(shared, origin, under_way.clone(), request, send);
    async move {
        let reply = work(job, &line, reply).await;
        if let Some(NotBefore(time)) = reply.extensions().get() {
            tokio::time::sleep_until((*time).into()).await;
        }
        Ok(reply.map(|body| TrackedBody::new(body, under_way)))
    }
}

/// Takes a request through its stages, until there is a reply.
async fn work(mut job: Box<Job>, line: &ClientSocket, mut reply: Reply) -> Response<ReplyBody> {
    let mut stage = job.first_stage().await;
    loop {
        let Some(permit) = or_gone(line, job.permit()).await else {
            return job.give_up(reply).await;
        };
        let stage_run = tokio::task::spawn_blocking(move || job.run(stage, permit));
        let (next, its) = tokio::select! {
            biased;
            // A handler that ends without a reply has panicked.
            reply = &mut reply => return reply.unwrap_or_else(|_| ReplyBody::internal_error()),
            returned = stage_run => match returned {
                Ok(Some(returned)) => returned,
                _ => return received(reply).await,
            },
        };
        job = its;
        let ready = match next {
            Next::Prove(claim) => {
                let proof = Box::pin(login::prove(&job.shared, &job.head, *claim));
                let proved = or_gone(line, proof).await;
                let (verdict, answer) = proved.map_or((None, None), |(v, a)| (Some(v), a));
                job.exchange.negotiated = answer.map(|answer| base64::encode(&answer));
                job.head.verdict = verdict;
                job.head.verdict.is_some()
            }
            Next::Ask(question) => {
                let asked = Box::pin(asked(&job.shared, &job.head, *question));
                job.head.said = or_gone(line, asked).await;
                job.head.said.is_some()
            }
            // A client that has sent everything may close its sending side; one that has gone ends its body
            // with an error.
            Next::Body => match Box::pin(job.admitted()).await {
                Ok(()) => {
                    stage = Stage::Run;
                    true
                }
                Err(fail) => return job.refuse(&fail.0, fail.1, reply).await,
            },
            Next::Forward(forward) => {
                drop(tokio::spawn(job.forward(*forward)));
                return received(reply).await;
            }
            Next::Peer(forward) => match forwarded(job, *forward, &mut reply).await {
                Ok(reply) => return reply,
                Err(its) => {
                    job = its;
                    stage = job.first_stage().await;
                    true
                }
            },
            Next::Done => return received(reply).await,
        };
        if !ready {
            return job.give_up(reply).await;
        }
    }
}

/// Another server's reply to a request; the request where this server is to answer.
async fn forwarded(
    job: Box<Job>,
    forward: PeerForward,
    reply: &mut Reply,
) -> Result<Response<ReplyBody>, Box<Job>> {
    let forwarding = tokio::spawn(job.forward_to_peer(forward));
    let ended = tokio::select! {
        biased;
        // A task that ends without a reply has panicked.
        reply = &mut *reply => return Ok(reply.unwrap_or_else(|_| ReplyBody::internal_error())),
        ended = forwarding => ended,
    };
    match ended {
        Ok(Some(job)) => Err(job),
        _ => Ok(reply.await.unwrap_or_else(|_| ReplyBody::internal_error())),
    }
}

/// What the provider of OpenID Connect says.
async fn asked(shared: &HttpState, head: &Head, question: Question) -> SignInOutcome {
    let said = match &shared.sign_in {
        Some(sign_in) => asking::ask(sign_in, head.client, question).await,
        None => SignInOutcome::Busy,
    };
    if matches!(said, SignInOutcome::Busy) {
        shared.workers.met(Limit::Logins);
    }
    said
}

async fn received(reply: Reply) -> Response<ReplyBody> {
    reply.await.unwrap_or_else(|_| ReplyBody::internal_error())
}

/// Waits for something as long as the client is there.
async fn or_gone<T>(line: &ClientSocket, work: impl Future<Output = T>) -> Option<T> {
    tokio::select! {
        biased;
        done = work => Some(done),
        () = line.hung_up() => None,
    }
}

impl Job {
    fn new(
        shared: Arc<HttpState>,
        origin: Origin,
        under_way: UnderWay,
        request: Request<Incoming>,
        send: oneshot::Sender<Response<ReplyBody>>,
    ) -> Box<Self> {
        let begun = Instant::now();
        let (parts, body) = request.into_parts();
        let Origin { peer, driver, line } = origin;
        let (http, limits) = (&shared.settings, shared.server.settings.limits);
        let mut head = Head::new(parts, peer.address, peer.secure, &http.trusted_proxies);
        head.arrived(peer.is_server, peer.certificate);
        head.request = Some(shared.server.numbers.next());
        let caller = workers::caller(&head);
        let outlet = Outlet {
            handle: Handle::current(),
            driver: driver.clone(),
            workers: Arc::clone(&shared.workers),
            client: head.client,
            caller,
            line,
            patience: limits.stall,
        };
        let mut raw = RawBody::new(body, Handle::current(), driver, http.limits, under_way);
        if workers::reads_again(&head) {
            raw.keep_collected();
        }
        let mut exchange = Exchange::new(Body::new(raw), send, outlet);
        exchange.request = head.request;
        exchange.takes_gzip = http.gzip && packing::is_taken(&head);
        Box::new(Self { shared, head, exchange, caller, memory: None, begun })
    }

    /// The first stage: for a small body that came with its head, access is not checked in a stage of
    /// its own.
    async fn first_stage(&mut self) -> Stage {
        let raw = self.exchange.body.raw();
        if !raw.has_ended() && !self.head.headers.contains_key(EXPECT) {
            // The body keeps an error in it for all who read on.
            let _ = raw.collect_ready(WINDOW).await;
        }
        if raw.has_ended() { Stage::Run } else { Stage::Admit }
    }

    /// Waits for a thread.
    fn permit(&self) -> impl Future<Output = Permit> + use<> {
        let permits = Arc::clone(self.shared.workers.permits(&self.head.method));
        let caller = self.caller;
        async move { permits.acquire(caller).await }
    }

    /// Runs a stage, in a thread that may block. A request that is not finished is returned.
    fn run(mut self: Box<Self>, stage: Stage, permit: Permit) -> Option<(Next, Box<Self>)> {
        let writes = !workers::reads(&self.head.method);
        let write = writes.then(|| self.shared.server.ending.go_on_writing());
        let next = methods::handle(&self.shared, &self.head, &mut self.exchange, stage);
        drop((permit, write));
        if !matches!(next, Next::Done) {
            return Some((next, self));
        }
        let handle = self.exchange.outlet().handle.clone();
        if self.shared.saves.needs_watch() {
            handle.spawn(autoversioning::flush_due(Arc::clone(&self.shared)));
        }
        if self.exchange.is_for_later() {
            handle.spawn(self.send_rest());
        } else {
            self.log();
        }
        None
    }

    /// Sends the rest of a reply as the client reads it.
    async fn send_rest(mut self: Box<Self>) {
        if let Some(exchange) = continued::send_rest(self.exchange, self.caller).await {
            self.exchange = exchange;
            self.log();
        }
    }

    /// Lets the master make the reply.
    async fn forward(mut self: Box<Self>, forward: Forward) {
        let Self { shared, head, exchange, .. } = &mut *self;
        if let Err(failure) = forward.run(head, exchange).await {
            methods::fail_forwarded(shared, head, exchange, &failure);
        }
        self.log();
    }

    /// Lets another server make the reply. If that has not begun with it, the request is returned, and answered here.
    async fn forward_to_peer(mut self: Box<Self>, forward: PeerForward) -> Option<Box<Self>> {
        let Self { shared, head, exchange, .. } = &mut *self;
        match forward.run(shared, head, exchange).await {
            Outcome::Here => {
                self.head.is_here = true;
                return Some(self);
            }
            Outcome::Done => {}
            Outcome::Failed(error, status) => {
                let failure = ForwardFailure { error, status, repository: "-".to_owned() };
                methods::fail_forwarded(shared, head, exchange, &failure);
            }
        }
        self.log();
        None
    }

    /// Counts the request, and writes its line to the access log.
    fn log(&self) {
        let (_, bytes) = self.exchange.outcome();
        let (method, result) = (self.head.method.as_str(), self.exchange.result());
        self.shared.requests.record(method, result, self.begun.elapsed(), bytes);
        if let Some(log) = &self.shared.access_log {
            let (status, bytes) = self.exchange.outcome();
            log.write(
                &self.head,
                access_log::Outcome {
                    user: self.exchange.user.as_ref().map(Principal::name),
                    status,
                    bytes,
                    time: self.begun.elapsed(),
                },
            );
        }
    }

    /// The client has gone, or has closed its sending side while it had to wait.
    async fn give_up(self: Box<Self>, reply: Reply) -> Response<ReplyBody> {
        self.refuse(&client_gone("by the client"), 408, reply).await
    }

    /// Answers with an error, without a thread: the reply is short.
    async fn refuse(
        mut self: Box<Self>,
        error: &SvnError,
        status: u16,
        reply: Reply,
    ) -> Response<ReplyBody> {
        self.exchange.is_within_connection();
        self.exchange.fail(error, status);
        self.log();
        drop(self);
        received(reply).await
    }

    /// The request was admitted: records its user, and collects its body.
    async fn admitted(&mut self) -> Result<(), (SvnError, u16)> {
        // A header may authenticate a user only once.
        if let Some(user) = self.exchange.user.clone() {
            self.head.verdict = Some(Verdict::Right(user));
        }
        self.collect().await
    }

    /// Collects the body: whole, or as much as is needed for its handler to begin.
    async fn collect(&mut self) -> Result<(), (SvnError, u16)> {
        let is_held = workers::holds_body(&self.head.method);
        let may_stream = !is_held && !workers::reads_again(&self.head);
        loop {
            let workers = Arc::clone(&self.shared.workers);
            let raw = self.exchange.body.raw();
            if raw.has_ended() {
                break;
            }
            if is_held && raw.arrived() > workers::MOST_HELD {
                workers.met(Limit::RequestSize);
                return Err((too_large(), 413));
            }
            if raw.collected() >= WINDOW {
                let stream = workers.streams.try_acquire(self.caller).filter(|_| may_stream);
                if let Some(permit) = stream {
                    raw.stream(permit);
                    break;
                }
                if !spool(raw, &workers, self.head.client).await.map_err(|e| (e, 500))? {
                    workers.met(Limit::TemporaryFiles);
                    if !may_stream {
                        return Err((busy(), 503));
                    }
                    raw.stream(workers.streams.acquire(self.caller).await);
                    break;
                }
            }
            if let Err(error) = raw.collect().await {
                if raw.is_broken() {
                    return Err((error, 400));
                }
                workers.met(Limit::RequestTime);
                return Err((error, 408));
            }
        }
        if is_held {
            let bytes = self.exchange.body.raw().arrived().saturating_mul(MADE_OF_BODY);
            let mut share = self.shared.workers.share(self.head.client);
            if share.grow_async(bytes).await.is_err() {
                self.shared.workers.met(Limit::RequestMemory);
                return Err((busy(), 503));
            }
            self.memory = Some(share);
        }
        Ok(())
    }
}

fn too_large() -> SvnError {
    SvnError::new(ErrorCode::RA_DAV_REQUEST_FAILED, "The body of the request is too large")
}

fn busy() -> SvnError {
    let message = "The server is busy with other large requests; try again later";
    SvnError::new(ErrorCode::RA_DAV_REQUEST_FAILED, message)
}

/// Moves what was collected to the body's temporary file; `false` where there is no room for it.
async fn spool(raw: &mut RawBody, workers: &Workers, client: IpAddr) -> SvnResult<bool> {
    let failed = |e: std::io::Error| SvnError::io(&e, "Can't write to a temporary file");
    let (mut file, written) = match raw.take_file() {
        Some(known) => known,
        None => (workers.spool.file(Some(client)).map_err(failed)?, 0),
    };
    let length = len64(raw.collected());
    let end = written.plus(length);
    let has_room = file.reserve(end);
    if has_room {
        let pieces = raw.take_collected();
        let write = move || {
            let mut at = written;
            for piece in pieces {
                file.write_at(&piece, at)?;
                at = at.plus(len64(piece.len()));
            }
            Ok(file)
        };
        let done = tokio::task::spawn_blocking(write).await;
        file = done.map_err(std::io::Error::other).and_then(|done| done).map_err(failed)?;
    }
    raw.set_file(file, if has_room { end } else { written });
    Ok(has_room)
}
