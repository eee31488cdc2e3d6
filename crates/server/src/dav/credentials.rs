//! Who a request says its user is, and with what proof.

use std::time::Duration;

use hyper::header::{AUTHORIZATION, HeaderMap};
use sapwood_core::{Exact as _, base64};
use sapwood_kerberos::MAX_TOKEN;

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
    /// By a ticket of Kerberos, whose user this directory may know.
    Ticket(Vec<u8>, Users),
}

impl Evidence {
    pub(super) const fn mechanism(&self) -> &'static str {
        match self {
            Self::Digest(_) => "Digest",
            Self::Password(..) => "Basic",
            Self::Ticket(..) => "Negotiate",
        }
    }
}

/// The token of Negotiate authentication (RFC 4559).
pub(super) fn ticket(headers: &HeaderMap) -> Option<Vec<u8>> {
    let value = headers.get(AUTHORIZATION)?.to_str().ok()?;
    let (scheme, rest) = value.split_once(' ')?;
    let token = rest.trim().as_bytes();
    let is_ticket = scheme.eq_ignore_ascii_case("negotiate") && token.len() <= MAX_TOKEN.times(2);
    if is_ticket { base64::decode(token) } else { None }
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
