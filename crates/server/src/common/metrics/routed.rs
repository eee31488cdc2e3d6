//! Requests whose repository belongs to another server, by what became of them.
//!
//! Invariant: a server without others has none of these series before the first of them.

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::registry::Registry;
use sapwood_peers::Error;

use super::Labels;

/// What became of a request for another server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RouteOutcome {
    /// That server answered it.
    Forwarded,
    /// It cannot be reached: this server answered.
    Unreachable,
    /// What is there is none of the servers: this server answered.
    Refused,
    /// The repository is not there under this address: this server answered.
    Elsewhere,
    /// It failed in the middle of the request: whether it did what was asked for is not known.
    Broken,
}

impl RouteOutcome {
    const fn name(self) -> &'static str {
        match self {
            Self::Forwarded => "forwarded",
            Self::Unreachable => "unreachable",
            Self::Refused => "refused",
            Self::Elsewhere => "elsewhere",
            Self::Broken => "broken",
        }
    }
}

impl From<&Error> for RouteOutcome {
    fn from(error: &Error) -> Self {
        match error {
            Error::Unreachable { .. } => Self::Unreachable,
            Error::Elsewhere { .. } => Self::Elsewhere,
            Error::Refused { .. } | Error::Setting(_) => Self::Refused,
        }
    }
}

/// Their counts.
#[derive(Debug)]
pub(super) struct RoutedCounts(Family<Labels<2>, Counter>);

impl RoutedCounts {
    pub(super) fn registered(registry: &mut Registry) -> Self {
        let counts = Family::<Labels<2>, Counter>::default();
        let help =
            "Requests, and connections of svn://, for repositories of other servers, by result";
        registry.register("sapwood_routed", help, counts.clone());
        Self(counts)
    }

    pub(super) fn add(&self, door: &'static str, result: RouteOutcome) {
        self.0.get_or_create(&[("door", door), ("result", result.name())]).inc();
    }
}
