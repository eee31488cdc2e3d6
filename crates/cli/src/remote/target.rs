//! Targets as `sapwood-client` knows them, with dates in the person's time zone.

use sapwood_core::SvnResult;

pub(crate) use sapwood_client::open::{Located, locate, move_to, number_of};
pub(crate) use sapwood_client::target::{Target, any_canonical_url, canonical_url};

use crate::user_date;

/// Takes an argument apart.
pub(crate) fn parse(text: &str) -> SvnResult<Target> {
    Target::parse(text, &user_date::parse)
}
