//! How many requests were sent, by kind: they cost time and money.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

use hyper::header::{IF_NONE_MATCH, RANGE};
use hyper::{Method, Request};

/// Google's condition.
const IF_GENERATION: &str = "x-goog-if-generation-match";

/// A kind of request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// An object, or a range of it.
    Get,
    /// An object on the condition that there is none.
    Claim,
    /// An object, or a part of one.
    Put,
    /// Names of objects.
    List,
    /// Objects that are removed, and uploads that are given up.
    Delete,
    /// What is left: beginnings and ends of uploads, credentials.
    Other,
    /// Of all these, those that got no answer, or that the store could not serve then: most are sent again.
    Failed,
}

const KINDS: [Kind; 7] =
    [Kind::Get, Kind::Claim, Kind::Put, Kind::List, Kind::Delete, Kind::Other, Kind::Failed];

impl Kind {
    /// The kind of a request.
    pub(crate) fn of<B>(request: &Request<B>) -> Self {
        let query = request.uri().query().unwrap_or("");
        let headers = request.headers();
        match *request.method() {
            Method::GET if query.contains("list-type=") || query.contains("comp=list") => {
                Self::List
            }
            Method::GET if headers.contains_key(RANGE) || query.is_empty() => Self::Get,
            Method::PUT if headers.contains_key(IF_NONE_MATCH) => Self::Claim,
            Method::PUT if headers.contains_key(IF_GENERATION) => Self::Claim,
            Method::PUT => Self::Put,
            Method::DELETE => Self::Delete,
            _ => Self::Other,
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Get => "get",
            Self::Claim => "claim",
            Self::Put => "put",
            Self::List => "list",
            Self::Delete => "delete",
            Self::Other => "other",
            Self::Failed => "failed",
        })
    }
}

/// Counters of requests.
#[derive(Debug, Default)]
pub(crate) struct Requests([AtomicU64; KINDS.len()]);

impl Requests {
    pub(crate) fn count(&self, kind: Kind) {
        for (counter, of) in self.0.iter().zip(KINDS) {
            if of == kind {
                counter.fetch_add(1, Ordering::Relaxed);
            }
        }
    }

    /// All kinds with their counts.
    pub(crate) fn all(&self) -> Vec<(Kind, u64)> {
        let counts = self.0.iter().map(|counter| counter.load(Ordering::Relaxed));
        KINDS.into_iter().zip(counts).collect()
    }
}
