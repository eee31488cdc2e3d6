//! A bucket, and the stores in it.
//!
//! - `connection`: one for a bucket and its settings, with threads of its own that all its stores share;
//! - `buckets`: one of each kind: S3, Azure's, Google's;
//! - `store`: the promises of [`sapwood_objects`], kept by requests;
//! - `upload`: objects in parts;
//! - `transport`: http and TLS, by the packages that the rest of the program uses;
//! - `requests`: counters.
//!
//! Invariant: a claim is sent once and never repeated by a library: [`sapwood_objects::claim()`] decides about that.

mod buckets;
mod connection;
mod requests;
mod store;
mod transport;
mod upload;

pub use connection::Connection;
pub use requests::Kind;
