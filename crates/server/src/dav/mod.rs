//! The http server: WebDAV, DeltaV and HTTPv2, and pages for people.
//!
//! hyper does http/1.1 (parsing, keep-alive, chunks, `Expect`), on the few threads of an async runtime
//! that nothing outside [`http`] knows of. Each request is handled by a thread that may block,
//! with plain synchronous code: it reads the request's body and writes the reply through
//! bounded channels ([`exchange`]), so that a client that stops reading costs a thread and a few
//! buffers, and no time of others.
//!
//! * [`http`]: the listener and the runtime.
//! * [`exchange`]: one request's body and reply.
//! * `driven`: the connection, which the handler of its request drives, too.
//! * `idle`: connections give back their memory when their clients ask for nothing.
//! * [`session`]: what a request is about: repository, user, resource; access decisions.
//! * `who`: the user that makes a request; [`certificate`]: what clients show over https; `proxied`: what a reverse proxy says of the client.
//! * [`digest`]: proofs of Digest authentication; `packing`: gzip.
//! * `access_log`: a line for each request.
//! * `methods`: which method is answered where.
//! * [`txns`]: commits that are under way.
//! * [`master`]: what writes is passed on by a mirror.
//! * [`auto`]: what other programs do at plain URLs becomes revisions.
//!
//! Invariant: access is decided before a body is read.

mod access_log;
mod activity;
pub mod auto;
mod browse;
pub mod certificate;
pub mod digest;
mod driven;
mod edit;
pub mod exchange;
mod get;
pub mod http;
mod idle;
mod locks;
mod lookup;
pub mod master;
mod merge;
mod methods;
mod options;
mod packing;
mod piece;
pub mod places;
mod propfind;
mod proppatch;
mod proxied;
mod report;
pub mod session;
mod tls;
pub mod txns;
mod who;

pub use access_log::AccessLog;
pub use certificate::ClientAuthorities;
pub use http::HttpServer;
pub use master::Master;
pub use tls::TlsFiles;
