//! A page of the crate `web` as a reply.

use sapwood_web::{Fault, Reply};

use super::exchange::Exchange;
use super::fail::Fail;

/// Writes a page with its status and headers.
pub(super) fn write(exchange: &mut Exchange, reply: Reply) {
    exchange.status(reply.status);
    for (name, value) in &reply.headers {
        exchange.header(name, value);
    }
    exchange.out().extend_from_slice(reply.body.as_bytes());
}

/// Why there is no page, as the request fails.
pub(super) fn failed(fault: Fault) -> Fail {
    match fault {
        Fault::Missing => Fail::Missing,
        Fault::Bad(why) => Fail::status(400, why),
        Fault::TooMuch(why) => Fail::status(403, why),
        Fault::TooLong => Fail::status(503, "This takes too long for a page"),
        Fault::Failed(error) => error.into(),
    }
}
