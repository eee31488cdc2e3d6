//! The series of a protocol's requests: how many, by kind and result; how long they took; the size of their replies.
//!
//! Invariant: the series of a kind are made at its first request, and found by its number from then on.

use std::sync::OnceLock;
use std::time::Duration;

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;
use sapwood_core::{ErrorCode, SvnError};

use super::Labels;

/// How a request ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It was answered.
    Success,
    /// The client was sent elsewhere.
    Redirect,
    /// The client was asked for a name and password, or they were wrong.
    Unauthenticated,
    /// The user may not do it.
    Denied,
    /// Another error that the request itself has: what it asks for is not there, is out of date, is malformed.
    ClientError,
    /// An error of the server, its disk or a hook.
    ServerError,
}

impl Outcome {
    const ALL: [Self; 6] = [
        Self::Success,
        Self::Redirect,
        Self::Unauthenticated,
        Self::Denied,
        Self::ClientError,
        Self::ServerError,
    ];

    /// How a request ended that failed with an error.
    #[must_use]
    pub(crate) fn of_error(error: &SvnError) -> Self {
        /// Below it are the numbers of the system's errors.
        const FIRST: u32 = 20_000;
        match error.code() {
            ErrorCode::RA_NOT_AUTHORIZED
            | ErrorCode::AUTHZ_UNREADABLE
            | ErrorCode::AUTHZ_UNWRITABLE => Self::Denied,
            ErrorCode::AUTHN_FAILED => Self::Unauthenticated,
            ErrorCode::FS_CORRUPT
            | ErrorCode::FS_INDEX_CORRUPTION
            | ErrorCode::FS_CORRUPT_REVPROP_MANIFEST
            | ErrorCode::FS_CORRUPT_PROPLIST
            | ErrorCode::SVNDIFF_CORRUPT_WINDOW
            | ErrorCode::BASE
            | ErrorCode::ASSERTION_FAIL
            | ErrorCode::AUTHZ_INVALID_CONFIG => Self::ServerError,
            ErrorCode(1..FIRST) => Self::ServerError,
            _ => Self::ClientError,
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::Redirect => "redirect",
            Self::Unauthenticated => "unauthenticated",
            Self::Denied => "denied",
            Self::ClientError => "client_error",
            Self::ServerError => "server_error",
        }
    }
}

/// The upper ends of the classes of times, in seconds.
const SECONDS: [f64; 10] = [0.001, 0.004, 0.016, 0.063, 0.25, 1.0, 4.0, 16.0, 60.0, 600.0];
/// The same of sizes, in bytes.
const BYTES: [f64; 7] = [1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9];

type Histograms<const N: usize> = Family<Labels<N>, Histogram, fn() -> Histogram>;

/// What the series of all protocols belong to.
#[derive(Clone, Debug)]
pub(super) struct Families {
    requests: Family<Labels<3>, Counter>,
    seconds: Histograms<2>,
    bytes: Histograms<1>,
}

impl Families {
    pub(super) fn registered(registry: &mut Registry) -> Self {
        let requests = Family::default();
        let seconds: Histograms<2> = Family::new_with_constructor(|| Histogram::new(SECONDS));
        let bytes: Histograms<1> = Family::new_with_constructor(|| Histogram::new(BYTES));
        registry.register(
            "sapwood_requests",
            "Requests that were answered, by protocol, command or method, and result",
            requests.clone(),
        );
        registry.register(
            "sapwood_request_duration_seconds",
            "Time from a request's head to the end of its reply",
            seconds.clone(),
        );
        registry.register("sapwood_response_size_bytes", "Bytes of a reply", bytes.clone());
        Self { requests, seconds, bytes }
    }
}

/// The series of a protocol.
#[derive(Debug)]
pub struct RequestSeries {
    families: Families,
    protocol: &'static str,
    kinds: &'static [&'static str],
    /// One for each kind, and one for all others.
    cells: Box<[OnceLock<Cell>]>,
    bytes: Histogram,
}

/// The series of a kind.
#[derive(Debug)]
struct Cell {
    results: [Counter; Outcome::ALL.len()],
    seconds: Histogram,
}

impl RequestSeries {
    pub(super) fn new(
        families: &Families,
        protocol: &'static str,
        kinds: &'static [&'static str],
    ) -> Self {
        Self {
            families: families.clone(),
            protocol,
            kinds,
            cells: (0..=kinds.len()).map(|_| OnceLock::new()).collect(),
            bytes: families.bytes.get_or_create_owned(&[("protocol", protocol)]),
        }
    }

    fn cell(&self, number: usize) -> Option<&Cell> {
        let make = || {
            let (protocol, kind) = (self.protocol, self.kinds.get(number).copied());
            let kind = kind.unwrap_or("other");
            let result = |outcome: Outcome| {
                let labels = [("protocol", protocol), ("kind", kind), ("result", outcome.name())];
                self.families.requests.get_or_create_owned(&labels)
            };
            Cell {
                results: Outcome::ALL.map(result),
                seconds: self
                    .families
                    .seconds
                    .get_or_create_owned(&[("protocol", protocol), ("kind", kind)]),
            }
        };
        self.cells.get(number).map(|cell| cell.get_or_init(make))
    }

    /// Counts a request that has ended, with the bytes of its reply.
    pub fn record(&self, kind: &str, outcome: Outcome, time: Duration, bytes: u64) {
        let number = self.kinds.iter().position(|known| *known == kind);
        let Some(cell) = self.cell(number.unwrap_or(self.kinds.len())) else { return };
        let at = Outcome::ALL.iter().position(|one| *one == outcome);
        if let Some(counter) = at.and_then(|at| cell.results.get(at)) {
            counter.inc();
        }
        cell.seconds.observe(time.as_secs_f64());
        #[allow(clippy::as_conversions, clippy::cast_precision_loss, reason = "a class of sizes")]
        self.bytes.observe(bytes as f64);
    }

    /// How many requests ended.
    #[must_use]
    pub fn total(&self) -> u64 {
        let made = self.cells.iter().filter_map(OnceLock::get);
        made.flat_map(|cell| &cell.results).map(Counter::get).sum()
    }
}
