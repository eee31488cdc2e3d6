//! Sessions over http: WebDAV and DeltaV as mod_dav_svn speaks them, and HTTPv2.
//! `docs/formats/http-dav.md` describes the protocol.
//!
//! * `transport`: connections, under hyper; `tls`: certificates; `login`: Basic and Digest; `client`: requests with both;
//!   `clients`: one for all sessions to a server.
//! * `endpoints`: what a server announced, and the addresses that follow from it.
//! * `raw_connection`: requests before the replies to earlier ones have come; `pipeline`: texts that are fetched so;
//!   `request_queue`: changes that are sent so.
//! * `text_request`: the request for a text.
//! * `session`: the session; `revprops`, `nodes`, `files`, `history`, `locks`, `edits`, `commit`: its requests, a trait each;
//!   `log`: an entry of a log.
//!
//! Update reports are requested with all texts in them, where the server allows that: one request
//! for a checkout, and texts as they are stored.

mod client;
mod clients;
mod commit;
mod edits;
mod endpoints;
mod files;
mod greetings;
mod history;
mod identity;
mod locks;
mod log;
mod login;
mod nodes;
mod options;
mod origin;
mod pipeline;
mod raw_connection;
mod request_queue;
mod revprops;
mod session;
mod settings;
#[cfg(test)]
mod test_client;
mod text_request;
mod ticket;
mod tls;
mod transport;

pub use clients::HttpClients;
pub use session::HttpSession;
pub use settings::ClientSettings;
