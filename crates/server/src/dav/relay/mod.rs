//! Requests on their way to another server, and its replies on their way back: a master, or another server of the same repositories.
//!
//! * [`body`]: a request's body, a piece at a time; [`pool`]: connections that are used again; [`reply`]: the pieces of a reply;
//!   [`hop`]: headers that are about one connection only.
//!
//! Invariant: a body that the client does not finish has no end at the other server, and a reply that the other server does not finish
//! none at the client.

pub(super) mod body;
pub(super) mod hop;
pub(super) mod pool;
pub(super) mod reply;
