//! The pieces of a reply on their way to the client.

use bytes::Bytes;
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use sapwood_core::SvnError;

use super::super::exchange::{CHUNK, Exchange};
use super::body::patiently;

/// Why a reply has no end.
#[derive(Debug)]
pub(in crate::dav) enum ReplyFailure {
    /// The client has gone, or nothing happens for too long.
    Client(SvnError),
    /// The other server does not finish it.
    Server(hyper::Error),
}

/// Passes the body of a reply on. `write` gets each piece and where it goes.
///
/// # Errors
/// Which side failed.
pub(in crate::dav) async fn pass(
    exchange: &mut Exchange,
    mut body: Incoming,
    mut write: impl FnMut(&Bytes, &mut Vec<u8>),
) -> Result<(), ReplyFailure> {
    let patience = exchange.outlet().patience;
    loop {
        let next = patiently(patience, body.frame());
        let next = exchange.parts().1.while_there(next).await.and_then(|next| next);
        let Some(frame) = next.map_err(ReplyFailure::Client)? else { return Ok(()) };
        let Ok(data) = frame.map_err(ReplyFailure::Server)?.into_data() else { continue };
        write(&data, exchange.out());
        if exchange.out().len() >= CHUNK {
            exchange.send_collected().await.map_err(ReplyFailure::Client)?;
        }
    }
}

/// The reply is complete: what is left of it goes out.
///
/// # Errors
/// The client has gone.
pub(in crate::dav) async fn end(exchange: &mut Exchange) -> Result<(), ReplyFailure> {
    if exchange.has_begun() && !exchange.out().is_empty() {
        exchange.send_collected().await.map_err(ReplyFailure::Client)?;
    }
    exchange.finish();
    Ok(())
}
