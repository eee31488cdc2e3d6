//! Targets as `sapwood-client` knows them.

pub(crate) use sapwood_client::open::{LocatedSession, locate, move_to, number_of};
pub(crate) use sapwood_client::target::{Target, any_canonical_url, canonical_url};
