//! Counts and times of what the server does, in the families that monitoring programs read.
//!
//! * `requests`: the series of one protocol's requests.
//! * `routed`: requests for other servers.
//! * `recent`: what happened in the last hour.
//! * [`sample`]: what is read only for a monitoring program: queues, caches, the process.
//!
//! Invariants: no label holds anything that a client chose (a path, a user, an unknown method); to count a request takes
//! no look-up in a table and no memory.

mod recent;
mod requests;
mod routed;
pub mod sample;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use parking_lot::Mutex;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

use self::recent::RecentCount;
use self::requests::Families;
pub use self::requests::{Outcome, RequestSeries};
pub use self::routed::RouteOutcome;
use self::routed::RoutedCounts;

/// Labels of a series: names and values that are known when the program is built.
pub(crate) type Labels<const N: usize> = [(&'static str, &'static str); N];

/// A limit that a client met.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// All connections are in use.
    Connections,
    /// One address has all the connections that it may have.
    ConnectionsOfAddress,
    /// The memory for requests.
    RequestMemory,
    /// The size of one request.
    RequestSize,
    /// The time for a request, its login or its greeting.
    RequestTime,
    /// The temporary files of slow bodies and unread replies.
    TemporaryFiles,
    /// Attempts to log in.
    Logins,
    /// Commits over http in progress.
    OpenCommits,
    /// The time that a reply may stay unread.
    UnreadReplies,
}

impl Limit {
    const ALL: [Self; 9] = [
        Self::Connections,
        Self::ConnectionsOfAddress,
        Self::RequestMemory,
        Self::RequestSize,
        Self::RequestTime,
        Self::TemporaryFiles,
        Self::Logins,
        Self::OpenCommits,
        Self::UnreadReplies,
    ];

    /// Its name in the label.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Connections => "connections",
            Self::ConnectionsOfAddress => "connections_of_address",
            Self::RequestMemory => "request_memory",
            Self::RequestSize => "request_size",
            Self::RequestTime => "request_time",
            Self::TemporaryFiles => "temporary_files",
            Self::Logins => "logins",
            Self::OpenCommits => "open_commits",
            Self::UnreadReplies => "unread_replies",
        }
    }
}

/// The counts of a server.
#[derive(Debug)]
pub struct Metrics {
    registry: Registry,
    families: Families,
    routed: RoutedCounts,
    commits: Counter,
    failed_logins: Counter,
    recent_failures: RecentCount,
    limits: Family<Labels<1>, Counter>,
    connections: Family<Labels<1>, Gauge>,
    reloads: Family<Labels<1>, Counter>,
    last_reload: Gauge,
    series: Mutex<HashMap<&'static str, Arc<RequestSeries>>>,
    started: Instant,
    started_at: SystemTime,
}

impl Default for Metrics {
    fn default() -> Self {
        let mut registry = Registry::default();
        let families = Families::registered(&mut registry);
        let routed = RoutedCounts::registered(&mut registry);
        let (commits, failed_logins) = (Counter::default(), Counter::default());
        let limits = Family::<Labels<1>, Counter>::default();
        let connections = Family::<Labels<1>, Gauge>::default();
        let reloads = Family::<Labels<1>, Counter>::default();
        let last_reload = Gauge::default();
        last_reload.set(1);
        let mut add = |name: &str, help: &str, metric: &Counter| {
            registry.register(name, help, metric.clone());
        };
        add("sapwood_commits", "Revisions made by clients", &commits);
        add(
            "sapwood_failed_logins",
            "Wrong passwords, and names that do not exist",
            &failed_logins,
        );
        registry.register(
            "sapwood_limit_hits",
            "How often a request or connection met a limit of the server",
            limits.clone(),
        );
        registry.register("sapwood_connections", "Connections that are open", connections.clone());
        registry.register(
            "sapwood_configuration_reloads",
            "How often the configuration was read again, by result",
            reloads.clone(),
        );
        registry.register(
            "sapwood_configuration_last_reload_successful",
            "1 if the configuration that was read last is in use",
            last_reload.clone(),
        );
        // An alarm needs the zero before the first one.
        for limit in Limit::ALL {
            drop(limits.get_or_create(&[("limit", limit.name())]));
        }
        for result in RELOADS {
            drop(reloads.get_or_create(&[("result", result)]));
        }
        Self {
            registry,
            families,
            routed,
            commits,
            failed_logins,
            recent_failures: RecentCount::default(),
            limits,
            connections,
            reloads,
            last_reload,
            series: Mutex::default(),
            started: Instant::now(),
            started_at: SystemTime::now(),
        }
    }
}

/// The results of reading the configuration again.
const RELOADS: [&str; 2] = ["failure", "success"];

/// An open connection, which is counted until this is dropped.
#[derive(Debug)]
pub struct OpenConnection(Gauge);

impl Drop for OpenConnection {
    fn drop(&mut self) {
        self.0.dec();
    }
}

impl Metrics {
    /// The series of a protocol's requests: `kinds` are the names of its commands or methods; all others are counted
    /// as `other`.
    #[must_use]
    pub fn requests(
        &self,
        protocol: &'static str,
        kinds: &'static [&'static str],
    ) -> Arc<RequestSeries> {
        let mut all = self.series.lock();
        let make = || Arc::new(RequestSeries::new(&self.families, protocol, kinds));
        Arc::clone(all.entry(protocol).or_insert_with(make))
    }

    /// Counts a connection while the result lives.
    #[must_use]
    pub fn connection(&self, protocol: &'static str) -> OpenConnection {
        let gauge = self.connections.get_or_create_owned(&[("protocol", protocol)]);
        gauge.inc();
        OpenConnection(gauge)
    }

    /// Counts a revision that a client made.
    pub fn committed(&self) {
        self.commits.inc();
    }

    /// Counts a wrong password.
    pub(crate) fn login_failed(&self) {
        self.failed_logins.inc();
        self.recent_failures.add(self.started.elapsed());
    }

    /// Counts a request, or a connection of svn://, whose repository belongs to another server.
    pub fn routed(&self, door: &'static str, result: RouteOutcome) {
        self.routed.add(door, result);
    }

    /// Counts that a client met a limit.
    pub fn limit(&self, limit: Limit) {
        self.limits.get_or_create(&[("limit", limit.name())]).inc();
    }

    /// Counts that the configuration was read again, and whether it could be used.
    pub fn reloaded(&self, is_used: bool) {
        let [failure, success] = RELOADS;
        let result = if is_used { success } else { failure };
        self.reloads.get_or_create(&[("result", result)]).inc();
        self.last_reload.set(i64::from(is_used));
    }

    /// What was counted, for a page that people read.
    #[must_use]
    pub fn summary(&self) -> Summary {
        let requests = self.series.lock().iter().map(|(name, one)| (*name, one.total())).collect();
        let of_limit = |limit: &Limit| {
            let labels = [("limit", limit.name())];
            (limit.name(), self.limits.get_or_create(&labels).get())
        };
        let open = |protocol: &'static str| {
            let gauge = self.connections.get_or_create_owned(&[("protocol", protocol)]);
            (protocol, gauge.get())
        };
        let protocols: Vec<&'static str> = self.series.lock().keys().copied().collect();
        Summary {
            started: self.started_at(),
            requests,
            connections: protocols.into_iter().map(open).collect(),
            commits: self.commits.get(),
            failed_logins: self.failed_logins.get(),
            failed_logins_last_hour: self.recent_failures.of_last_hour(self.started.elapsed()),
            limits: Limit::ALL.iter().map(of_limit).collect(),
            last_reload_successful: self.last_reload.get() == 1,
        }
    }

    /// When the server started, in seconds since 1970.
    #[must_use]
    pub(crate) fn started_at(&self) -> u64 {
        self.started_at.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
    }

    /// The registry of all that is counted as it happens.
    #[must_use]
    pub const fn registry(&self) -> &Registry {
        &self.registry
    }
}

/// What was counted since the start. Lists are of names and numbers.
#[derive(Clone, Debug)]
pub struct Summary {
    /// Seconds since 1970.
    pub started: u64,
    /// By protocol.
    pub requests: Vec<(&'static str, u64)>,
    /// Open now, by protocol.
    pub connections: Vec<(&'static str, i64)>,
    /// Revisions made.
    pub commits: u64,
    /// Wrong passwords.
    pub failed_logins: u64,
    /// Those of the last 60 minutes.
    pub failed_logins_last_hour: u64,
    /// By limit.
    pub limits: Vec<(&'static str, u64)>,
    /// Whether the configuration that was read last is in use.
    pub last_reload_successful: bool,
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use prometheus_client::encoding::prometheus_text::encode;

    use super::*;

    #[test]
    fn what_is_counted_is_in_the_text() {
        let metrics = Metrics::default();
        let series = metrics.requests("http", &["GET", "PUT"]);
        series.record("GET", Outcome::Success, Duration::from_millis(3), 12);
        series.record("x{y=\"z\"}\n", Outcome::ClientError, Duration::from_secs(1), 0);
        assert!(Arc::ptr_eq(&series, &metrics.requests("http", &["GET", "PUT"])));
        let open = metrics.connection("http");
        metrics.committed();
        metrics.login_failed();
        metrics.limit(Limit::Logins);
        metrics.reloaded(false);
        let text = |metrics: &Metrics| {
            let mut text = String::new();
            encode(&mut text, metrics.registry()).unwrap();
            text
        };
        let shown = text(&metrics);
        for line in [
            "sapwood_requests_total{protocol=\"http\",kind=\"GET\",result=\"success\"} 1\n",
            "sapwood_requests_total{protocol=\"http\",kind=\"other\",result=\"client_error\"} 1\n",
            "sapwood_request_duration_seconds_count{protocol=\"http\",kind=\"GET\"} 1\n",
            "sapwood_response_size_bytes_sum{protocol=\"http\"} 12.0\n",
            "sapwood_connections{protocol=\"http\"} 1\n",
            "sapwood_commits_total 1\n",
            "sapwood_failed_logins_total 1\n",
            "sapwood_limit_hits_total{limit=\"logins\"} 1\n",
            "sapwood_limit_hits_total{limit=\"connections\"} 0\n",
            "sapwood_configuration_last_reload_successful 0\n",
        ] {
            assert!(shown.contains(line), "{line} is missing in {shown}");
        }
        drop(open);
        assert!(text(&metrics).contains("sapwood_connections{protocol=\"http\"} 0\n"));
        let summary = metrics.summary();
        assert_eq!((summary.requests, summary.failed_logins_last_hour), (vec![("http", 2)], 1));
    }
}
