//! Handshakes of TLS while an authority that speaks ACME may ask: whose connection it is, its first message says.
//!
//! Invariant: a connection of an authority ends after its handshake.

use std::sync::Arc;
use std::time::Duration;

use rustls::ServerConfig;
use rustls::server::Acceptor;
use sapwood_acme::Certificates;
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;
use tokio_rustls::{FallibleAccept, LazyConfigAcceptor, StartHandshake, TlsAcceptor};

/// How long the end of an authority's connection may take.
const FAREWELL: Duration = Duration::from_secs(2);

/// Begins a handshake, for no longer than `patience`; `None` if it was an authority's, which has got its answer, or no
/// handshake at all.
pub(super) async fn begin(
    acme: Option<Arc<Certificates>>,
    acceptor: TlsAcceptor,
    stream: TcpStream,
    patience: Duration,
) -> Option<FallibleAccept<TcpStream>> {
    let Some(acme) = acme else { return Some(acceptor.accept(stream).into_fallible()) };
    let hello = LazyConfigAcceptor::new(Acceptor::default(), stream);
    let start = tokio::time::timeout(patience, hello).await.ok()?.ok()?;
    let Some(config) = acme.question(&start.client_hello()) else {
        let config = Arc::clone(acceptor.config());
        return Some(start.into_stream(config).into_fallible());
    };
    // The authority has seen what it wanted, however this ends.
    drop(tokio::time::timeout(patience, prove(start, config)).await);
    None
}

/// Shows the authority the certificate of its question.
async fn prove(start: StartHandshake<TcpStream>, config: Arc<ServerConfig>) {
    if let Ok(mut stream) = start.into_stream(config).await {
        drop(tokio::time::timeout(FAREWELL, stream.shutdown()).await);
    }
}
