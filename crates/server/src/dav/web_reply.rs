//! A page of the crate `web` as a reply.

use sapwood_web::Reply;

use super::exchange::Exchange;

/// Writes a page with its status and headers.
pub(super) fn write(exchange: &mut Exchange, reply: Reply) {
    exchange.status(reply.status);
    for (name, value) in &reply.headers {
        exchange.header(name, value);
    }
    exchange.out().extend_from_slice(reply.body.as_bytes());
}
