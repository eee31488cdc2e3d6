//! The http server: WebDAV, DeltaV and HTTPv2, and pages for people.
//!
//! hyper does http/1.1 (parsing, keep-alive, chunks, `Expect`), on the few threads of an async runtime.
//! A request has a thread only while there is something to compute, with plain synchronous code; while
//! it waits for its client, a login or its turn, it is a task of the runtime and a few buffers.
//!
//! * [`settings`]: the settings of the server; [`state`]: what its connections have in common; `protocol`: its part in what the
//!   server does as a whole.
//! * [`http`]: the listener and the runtime; `socket`: what its connections are made of.
//! * `service`: a request from its head to the end of its reply; `workers`: the threads, memory and files that requests share.
//! * [`head`], [`body`]: the parts of a request; [`exchange`]: the body and the reply as the handler sees them.
//! * [`reply`], `outlet`, `overflow`, `continued`: the reply on its way to the client, and what happens when the client does not read.
//! * `polled_connection`: the connection, which the handler of its request polls, too.
//! * `idle`: connections free their memory while their clients are idle.
//! * [`session`]: the repository, user and resource of a request; `admission`: what is decided before its body is read.
//! * [`fail`]: why a request fails; `tokens`: lock tokens that a request shows; `entity`: tags, dates and media types.
//! * [`credentials`], `authenticate`, [`login`]: the user of a request; [`certificate`]: client certificates; `proxied`: what a reverse proxy says about the client.
//! * [`digest`], `nonce_uses`: Digest authentication; `packing`: gzip.
//! * [`sign_in`], `sign_in_pages`: users who sign in by a provider of OpenID Connect, for pages.
//! * `repository_list`: the repositories in a folder; `media`: what browsers play; `ranges`: a text or a part of it.
//! * `token_pages`: users' tokens; `own_form`: forms of our own pages; `status_page`: how the server is.
//! * `robots`, `security_txt`: files that other sites look for.
//! * `access_log`: a line for each request.
//! * `methods`: calls the handler of each method.
//! * [`txns`]: commits in progress; `txn_resource`: that of a request's resource.
//! * `pages`, `web_reply`: the pages of the crate `web`, as replies.
//! * [`master`]: a mirror passes write requests on to it; `relay`: how requests go to another server, and replies come back.
//! * `peers`: requests for repositories of other servers of the same store.
//! * [`autoversioning`]: commits changes that other programs make at plain URLs; `unversioned`: where that is off.
//!
//! Invariant: access is decided before a body is read.

mod access_log;
mod activity;
mod admission;
mod archives;
mod authenticate;
mod authority;
pub mod autoversioning;
mod blame_shares;
mod blames;
pub mod body;
mod browse;
pub mod certificate;
pub mod connection_slots;
mod continued;
pub mod credentials;
pub mod digest;
mod edit;
mod entity;
mod error_page;
pub mod exchange;
pub mod fail;
mod get;
mod get_conditions;
pub mod handshake;
mod head;
pub mod http;
mod idle;
mod lock_form;
mod locks;
pub mod login;
mod lookup;
pub mod master;
mod media;
mod merge;
mod methods;
mod nonce_uses;
mod only_https;
mod options;
mod outlet;
mod overflow;
mod own_form;
mod packing;
mod pages;
mod peers;
mod piece;
mod polled_connection;
mod propfind;
mod proppatch;
mod protocol;
mod proxied;
mod ranges;
mod relay;
pub mod reply;
mod report;
mod repository_list;
mod robots;
mod security_txt;
mod service;
pub mod session;
pub mod settings;
pub mod sign_in;
mod sign_in_pages;
mod socket;
mod stage;
pub mod state;
mod status_page;
mod ticket;
mod tls;
mod token_pages;
mod tokens;
mod top_page;
mod txn_resource;
pub mod txns;
mod unversioned;
mod web_reply;
pub mod workers;

pub use access_log::{AccessForm, AccessLog};
pub use certificate::{ClientAuthorities, certificate_end};
pub use http::HttpServer;
pub(crate) use http::{runtime, serve_forwarded};
pub use master::Master;
pub use protocol::Http;
pub use state::HttpState;
pub use tls::{CertificateSource, TlsSettings};
