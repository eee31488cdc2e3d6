//! What monitoring programs ask, over http at an address of its own: `/metrics`, `/healthz`, `/readyz`, and `/status` for
//! `sapwood status`; browsers get a page at `/`.
//!
//! * `health`: whether the server can serve.
//! * `pages`: the replies; `common/status` has that for people.
//!
//! Invariants: nothing of this is answered at the addresses of other protocols; a disk that does not answer delays what
//! is about the disk only, and leaves no more than one thread waiting for it.

mod health;
mod pages;

use std::convert::Infallible;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1::Builder;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use sapwood_core::{SvnError, SvnResult};
use tokio::runtime::{self, Runtime};
use tokio::sync::Semaphore;

use self::pages::{Page, Pages};
use crate::common::current::Current;
use crate::common::state::ServerState;

/// Connections that are open at a time; more wait.
const CONNECTIONS: usize = 32;
/// Time for the head of a request, and between two.
const HEAD_TIME: Duration = Duration::from_secs(10);
/// The longest time of a connection.
const CONNECTION_TIME: Duration = Duration::from_secs(300);
/// Threads that may wait for a disk.
const THREADS: usize = 4;
const STACK: usize = 1 << 20;

/// A running server for monitoring programs. It ends when this is dropped.
#[derive(Debug)]
pub struct Monitor {
    address: SocketAddr,
    runtime: Option<Runtime>,
}

impl Monitor {
    /// Answers at `socket`, which listens already, in threads of its own.
    ///
    /// # Errors
    /// System errors.
    pub fn start(socket: TcpListener, server: &Arc<Current<ServerState>>) -> SvnResult<Self> {
        let failed = |e: std::io::Error| SvnError::io(&e, "Can't start the server for metrics");
        let address = socket.local_addr().map_err(failed)?;
        socket.set_nonblocking(true).map_err(failed)?;
        let runtime = runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .max_blocking_threads(THREADS)
            .thread_stack_size(STACK)
            .enable_io()
            .enable_time()
            .build()
            .map_err(failed)?;
        let listener = {
            let _inside = runtime.enter();
            tokio::net::TcpListener::from_std(socket).map_err(failed)?
        };
        runtime.spawn(accept(listener, Arc::new(Pages::new(server))));
        Ok(Self { address, runtime: Some(runtime) })
    }

    /// Where it listens.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Monitor {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

async fn accept(listener: tokio::net::TcpListener, pages: Arc<Pages>) {
    let room = Arc::new(Semaphore::new(CONNECTIONS));
    loop {
        let Ok(slot) = Arc::clone(&room).acquire_owned().await else { return };
        let Ok((stream, _)) = listener.accept().await else {
            // There are no file handles left.
            tokio::time::sleep(Duration::from_millis(100)).await;
            continue;
        };
        let pages = Arc::clone(&pages);
        tokio::spawn(async move {
            let service = service_fn(move |request| answer(Arc::clone(&pages), request));
            let connection = Builder::new()
                .timer(TokioTimer::new())
                .header_read_timeout(HEAD_TIME)
                .serve_connection(TokioIo::new(stream), service);
            let _ = tokio::time::timeout(CONNECTION_TIME, connection).await;
            drop(slot);
        });
    }
}

async fn answer(
    pages: Arc<Pages>,
    request: Request<Incoming>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let page = match (request.method(), request.uri().path()) {
        (&Method::GET | &Method::HEAD, path) => {
            let accepts = request.headers().get(hyper::header::ACCEPT);
            let accepts = accepts.and_then(|value| value.to_str().ok()).unwrap_or("");
            pages.page(path, accepts).await
        }
        _ => Page::text(405, "Only GET is possible here\n"),
    };
    let mut response = Response::new(Full::new(Bytes::from(page.body)));
    *response.status_mut() =
        StatusCode::from_u16(page.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let kind = hyper::header::HeaderValue::from_static(page.kind);
    response.headers_mut().insert(hyper::header::CONTENT_TYPE, kind);
    for (name, value) in page.headers {
        let value = hyper::header::HeaderValue::try_from(value);
        if let (Ok(value), name) = (value, hyper::header::HeaderName::from_static(name)) {
            response.headers_mut().insert(name, value);
        }
    }
    Ok(response)
}
