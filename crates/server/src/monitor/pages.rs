//! The replies: Prometheus' text, plain sentences, JSON.

use std::sync::Arc;
use std::time::Duration;

use prometheus_client::encoding::{prometheus_text, text};
use prometheus_client::registry::Registry;
use sapwood_peers::servers::State;
use sapwood_web::Reply;
use sapwood_web::site::{self, Visitor};
use serde_json::json;
use tokio::sync::Semaphore;

use super::health;
use crate::common::current::Current;
use crate::common::metrics::sample;
use crate::common::state::ServerState;
use crate::common::status::repositories::{self, Repositories, Youngest};
use crate::common::status::{PATIENCE, StatusReader};

/// A reply.
#[derive(Clone, Debug)]
pub(super) struct Page {
    pub(super) status: u16,
    pub(super) kind: &'static str,
    pub(super) body: String,
    /// Headers besides the media type, or in its place.
    pub(super) headers: Vec<(&'static str, String)>,
}

impl Page {
    pub(super) fn text(status: u16, body: impl Into<String>) -> Self {
        Self::of(status, "text/plain; charset=utf-8", body.into())
    }

    const fn of(status: u16, kind: &'static str, body: String) -> Self {
        Self { status, kind, body, headers: Vec::new() }
    }

    /// One for people.
    fn shown(reply: Reply) -> Self {
        let Reply { status, headers, body } = reply;
        Self { headers, ..Self::of(status, "text/html; charset=utf-8", body) }
    }
}

/// What makes the replies.
#[derive(Debug)]
pub(super) struct Pages {
    current: Arc<Current<ServerState>>,
    reader: Arc<StatusReader>,
    /// One thread at a time reads repositories, and one folders.
    reading: Arc<Semaphore>,
    looking: Arc<Semaphore>,
}

impl Pages {
    pub(super) fn new(server: &Arc<Current<ServerState>>) -> Self {
        Self {
            current: Arc::clone(server),
            reader: Arc::default(),
            reading: Arc::new(Semaphore::new(1)),
            looking: Arc::new(Semaphore::new(1)),
        }
    }

    /// The reply to a path. `accepts` is the header of that name.
    pub(super) async fn page(&self, path: &str, accepts: &str) -> Page {
        match path {
            "/metrics" => self.metrics(accepts).await,
            "/healthz" => Page::text(200, "alive\n"),
            "/readyz" => self.ready().await,
            "/status" => self.status().await,
            "/" if accepts.contains("text/html") => self.shown_status().await,
            "/" => Page::text(200, "/metrics\n/healthz\n/readyz\n/status\n"),
            path => site::style_at(path).map_or(Page::text(404, "Not found\n"), Page::shown),
        }
    }

    /// How the server is, for people.
    async fn shown_status(&self) -> Page {
        self.read_repositories().await;
        let server = self.current.get();
        Page::shown(self.reader.page(&server, &Visitor::default()))
    }

    async fn metrics(&self, accepts: &str) -> Page {
        let (age, repositories) = self.repositories().await;
        let server = self.current.get();
        let mut now = sample::registry(&server, &server.sample());
        now.register(
            "sapwood_repositories_age_seconds",
            "How old the values of repositories are: more than a few seconds if a disk does not answer",
            prometheus_client::metrics::gauge::ConstGauge::new(age.as_secs()),
        );
        let of_repositories = repositories::registry(&repositories);
        let all = [server.metrics.registry(), &now, &of_repositories];
        let is_open = accepts.contains("application/openmetrics-text");
        match encode(&all, is_open) {
            Ok(body) if is_open => Page::of(200, OPEN_METRICS, body),
            Ok(body) => Page::of(200, prometheus_text::CONTENT_TYPE, body),
            Err(error) => Page::text(500, format!("{error}\n")),
        }
    }

    async fn ready(&self) -> Page {
        let server = self.current.get();
        let found = in_time(&self.looking, move || health::obstacles(&server)).await;
        match found {
            Some(found) if found.is_empty() => Page::text(200, "ready\n"),
            Some(found) => Page::text(503, found.join("\n") + "\n"),
            None => Page::text(503, "A disk does not answer\n"),
        }
    }

    async fn status(&self) -> Page {
        let (_, repositories) = self.repositories().await;
        let server = self.current.get();
        let summary = server.metrics.summary();
        let sample = server.sample();
        let counts = |list: &[(&'static str, u64)]| -> serde_json::Value {
            list.iter().map(|(name, count)| ((*name).to_owned(), json!(count))).collect()
        };
        let connections: serde_json::Value =
            summary.connections.iter().map(|(name, n)| ((*name).to_owned(), json!(n))).collect();
        let of_repository = |one: &Youngest| {
            json!({
                "name": one.name,
                "youngest": one.revision.map(|(revision, _)| revision.0),
                "date": one.revision.and_then(|(_, date)| date).map(|date| date.to_string()),
                "backup": one.backup.as_ref().and_then(|backup| backup.verified).map(|verified| {
                    json!({
                        "revision": verified.revision.0,
                        "verified": verified.time.to_string(),
                    })
                }),
            })
        };
        let servers = server.settings.servers.as_ref().map(|servers| {
            let state = |one: State| {
                json!({ "name": one.name.to_string(), "is_own": one.is_own, "is_avoided": one.is_avoided })
            };
            servers.states().into_iter().map(state).collect::<Vec<_>>()
        });
        let body = json!({
            "version": env!("CARGO_PKG_VERSION"),
            "started": summary.started,
            "requests": counts(&summary.requests),
            "connections": connections,
            "commits": summary.commits,
            "failed_logins": summary.failed_logins,
            "failed_logins_last_hour": summary.failed_logins_last_hour,
            "limits": counts(&summary.limits),
            "last_reload_successful": summary.last_reload_successful,
            "certificate_end": sample.certificate_end,
            "is_ending": server.ending.has_begun(),
            "servers": servers,
            "repositories": repositories.named.iter().map(of_repository).collect::<Vec<_>>(),
            "repositories_unnamed": repositories.unnamed,
            "has_backups": repositories.has_backups,
        });
        Page::of(200, "application/json", format!("{body:#}\n"))
    }

    /// The repositories, read now if the disk answers in time, else as they were read last; and how long ago that was.
    async fn repositories(&self) -> (Duration, Repositories) {
        self.read_repositories().await;
        self.reader.last()
    }

    async fn read_repositories(&self) {
        let (server, reader) = (self.current.get(), Arc::clone(&self.reader));
        let read = move || reader.read(&server);
        // Later than that, what was read before has to do.
        let _ = in_time(&self.reading, read).await;
    }
}

/// The result of work that may wait for a disk, if it comes in time. The work goes on, and no other begins beside it.
async fn in_time<T: Send + 'static>(
    turn: &Arc<Semaphore>,
    work: impl FnOnce() -> T + Send + 'static,
) -> Option<T> {
    let turn = Arc::clone(turn);
    let done = async {
        let permit = turn.acquire_owned().await.ok()?;
        let work = move || {
            let done = work();
            drop(permit);
            done
        };
        tokio::task::spawn_blocking(work).await.ok()
    };
    tokio::time::timeout(PATIENCE, done).await.ok()?
}

const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// The text of several registries, one after the other.
fn encode(all: &[&Registry], is_open: bool) -> Result<String, std::fmt::Error> {
    let mut body = String::new();
    for registry in all {
        match is_open {
            true => text::encode_registry(&mut body, registry)?,
            false => prometheus_text::encode(&mut body, registry)?,
        }
    }
    if is_open {
        text::encode_eof(&mut body)?;
    }
    Ok(body)
}
