//! Who a request says its user is, and with what proof.

use std::time::Duration;

use hyper::header::{AUTHORIZATION, HeaderMap};
use sapwood_core::base64;

use crate::common::users::Users;

/// What is to be checked.
#[derive(Debug)]
pub struct Claim {
    pub(super) user: String,
    pub(super) evidence: Evidence,
    /// The first delay at the location; zero for none.
    pub(super) delay: Duration,
}

/// How the name is verified.
#[derive(Debug)]
pub enum Evidence {
    /// By Digest authentication, which was checked already.
    Digest(bool),
    /// By a password, in these files or this directory.
    Password(String, Users),
}

impl Evidence {
    pub(super) const fn mechanism(&self) -> &'static str {
        match self {
            Self::Digest(_) => "Digest",
            Self::Password(..) => "Basic",
        }
    }
}

/// The name and password of Basic authentication.
pub(super) fn credentials(headers: &HeaderMap) -> Option<(String, String)> {
    let value = headers.get(AUTHORIZATION)?.to_str().ok()?;
    let (scheme, rest) = value.split_once(' ')?;
    if !scheme.eq_ignore_ascii_case("basic") {
        return None;
    }
    let decoded = String::from_utf8(base64::decode(rest.trim().as_bytes())?).ok()?;
    let (user, password) = decoded.split_once(':')?;
    Some((user.to_owned(), password.to_owned()))
}
