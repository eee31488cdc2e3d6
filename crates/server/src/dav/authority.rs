//! The page that an authority that speaks ACME asks for before it gives a certificate.
//!
//! Invariant: only what an order in progress waits for is answered, and it says nothing of what is served.

use super::exchange::Exchange;
use super::head::Head;
use super::state::HttpState;

/// Answers a request for the text of an order in progress; `false` if it is for anything else.
pub(super) fn answer(shared: &HttpState, head: &Head, exchange: &mut Exchange) -> bool {
    if !head.looks() {
        return false;
    }
    let acme = shared.tls.read().as_ref().and_then(|tls| tls.acme());
    let Some(text) = acme.and_then(|acme| acme.http_answer(&head.path)) else { return false };
    exchange.header("content-type", "application/octet-stream");
    exchange.header("cache-control", "no-store");
    exchange.out().extend_from_slice(text.as_bytes());
    true
}
