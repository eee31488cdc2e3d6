//! Logins at OpenLDAP's server.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

mod example;
mod logins;
mod outages;
mod tls;
