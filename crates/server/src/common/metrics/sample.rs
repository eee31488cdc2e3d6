//! What is read only when a monitoring program asks: queues and folders of the protocols, caches, the process.

mod stores;

use std::path::PathBuf;
use std::sync::atomic::AtomicU64;

use prometheus_client::metrics::counter::{ConstCounter, Counter};
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::{ConstGauge, Gauge};
use prometheus_client::registry::Registry;
use sapwood_core::{Exact as _, len64};

use crate::common::state::ServerState;

/// A queue of requests that wait for something of which there is so much.
#[derive(Clone, Debug)]
pub struct Queue {
    /// What they wait for, as the label has it.
    pub name: &'static str,
    /// How many have it.
    pub running: usize,
    /// How many wait.
    pub waiting: usize,
}

/// A folder that is served.
#[derive(Clone, Debug)]
pub struct ServedFolder {
    /// The decoded path of its URL, without slashes around it.
    pub url: String,
    /// Where it is.
    pub path: PathBuf,
}

/// What the protocols say of themselves.
#[derive(Clone, Debug, Default)]
pub struct Sample {
    /// Their queues.
    pub queues: Vec<Queue>,
    /// What they serve.
    pub folders: Vec<ServedFolder>,
    /// When the first of the server's certificates expires, in seconds since 1970.
    pub certificate_end: Option<i64>,
    /// With ACME: names whose last order failed.
    pub failing_certificates: Option<usize>,
    /// Bytes of temporary files.
    pub temporary_bytes: u64,
    /// Commits in progress whose clients come back for them by name.
    pub open_commits: usize,
}

/// Other servers of the same repositories, where there are any.
fn of_servers(server: &ServerState, registry: &mut Registry) {
    let Some(servers) = &server.settings.servers else { return };
    let states = servers.states();
    let avoided = states.iter().filter(|state| state.is_avoided).count();
    let gauges = QueueGauges::default();
    for (state, count) in [("usual", states.len().minus(avoided)), ("avoided", avoided)] {
        gauges.get_or_create(&[("state", state)]).set(len64(count));
    }
    let help = "Servers of the list, with this one, by state";
    registry.register("sapwood_servers", help, gauges);
}

type QueueGauges = Family<[(&'static str, &'static str); 1], Gauge<u64, AtomicU64>>;

/// The values of a moment.
#[must_use]
pub fn registry(server: &ServerState, sample: &Sample) -> Registry {
    let mut registry = Registry::default();
    of_build(server, &mut registry);
    of_queues(sample, &mut registry);
    of_caches(server, &mut registry);
    stores::register(&mut registry);
    of_servers(server, &mut registry);
    of_process(&mut registry);
    let mut gauge = |name: &str, help: &str, value: u64| {
        registry.register(name, help, ConstGauge::new(value));
    };
    let memory = len64(server.requests.used());
    gauge("sapwood_request_memory_bytes", "Memory of requests in progress", memory);
    gauge("sapwood_temporary_file_bytes", "Temporary files of requests", sample.temporary_bytes);
    let open = len64(sample.open_commits);
    gauge("sapwood_open_commits", "Commits over http in progress", open);
    if let Some(failing) = sample.failing_certificates {
        registry.register(
            "sapwood_acme_failing_names",
            "Names whose last order of a certificate by ACME failed",
            ConstGauge::new(len64(failing)),
        );
    }
    if let Some(end) = sample.certificate_end {
        registry.register(
            "sapwood_certificate_expiry_timestamp_seconds",
            "When the server's certificate expires, in seconds since 1970",
            ConstGauge::new(end),
        );
    }
    registry
}

fn of_build(server: &ServerState, registry: &mut Registry) {
    let build = Family::<[(&'static str, &'static str); 1], Gauge>::default();
    build.get_or_create(&[("version", env!("CARGO_PKG_VERSION"))]).set(1);
    registry.register("sapwood_build_info", "The version of the program", build);
    registry.register(
        "process_start_time_seconds",
        "When the process started, in seconds since 1970",
        ConstGauge::new(server.metrics.started_at()),
    );
}

fn of_queues(sample: &Sample, registry: &mut Registry) {
    let (running, waiting) = (QueueGauges::default(), QueueGauges::default());
    for queue in &sample.queues {
        let labels = [("queue", queue.name)];
        running.get_or_create(&labels).set(len64(queue.running));
        waiting.get_or_create(&labels).set(len64(queue.waiting));
    }
    registry.register("sapwood_queue_running", "Requests that have what they need", running);
    registry.register("sapwood_queue_waiting", "Requests that wait in a queue", waiting);
}

fn of_caches(server: &ServerState, registry: &mut Registry) {
    let stats = server.caches.stats();
    let mut gauge = |name: &str, help: &str, value: u64| {
        registry.register(name, help, ConstGauge::new(value));
    };
    gauge("sapwood_cache_bytes", "Memory of the caches", len64(stats.bytes));
    gauge("sapwood_cache_capacity_bytes", "Most memory of the caches", server.caches.capacity());
    gauge("sapwood_cache_entries", "Entries of the caches", len64(stats.entries));
    let mut counter = |name: &str, help: &str, value: u64| {
        registry.register(name, help, ConstCounter::new(value));
    };
    counter("sapwood_cache_hits", "Look-ups in the caches that found something", stats.hits);
    counter("sapwood_cache_misses", "Look-ups in the caches that found nothing", stats.misses);
    counter("sapwood_block_reads", "Blocks that were read from files", stats.block_reads);
    counter("sapwood_file_opens", "Files of repositories that were opened", stats.opens);
}

/// By the names that Prometheus' own libraries have for them.
fn of_process(registry: &mut Registry) {
    let Some(process) = crate::common::process::Process::read() else { return };
    let mut gauge = |name: &str, help: &str, value: u64| {
        registry.register(name, help, ConstGauge::new(value));
    };
    gauge("process_resident_memory_bytes", "Memory of the process", process.resident);
    gauge("process_virtual_memory_bytes", "Address space of the process", process.virtual_size);
    gauge("process_threads", "Threads of the process", process.threads);
    gauge("process_open_fds", "Files and sockets that are open", process.open_files);
    gauge("process_max_fds", "Most files and sockets that may be open", process.most_files);
    let cpu: Counter<f64, AtomicU64> = Counter::default();
    cpu.inc_by(process.cpu_seconds);
    registry.register("process_cpu_seconds", "Processor time of the process", cpu);
}
