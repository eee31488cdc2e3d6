//! The youngest revision of each repository and when it was made, the same of its backup, and what waits for webhooks.
//!
//! Invariants: at most [`MOST`] repositories are named; the date of a revision is read once.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU64;

use parking_lot::Mutex;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::{ConstGauge, Gauge};
use prometheus_client::registry::Registry;
use sapwood_backup::Record;
use sapwood_core::date::{MICROS_PER_SEC, Timestamp};
use sapwood_core::exact::signed;
use sapwood_core::{Revnum, SvnResult, len64};
use sapwood_notify::TargetQueue;

use crate::common::served_repositories::{ServedRepositories, file_name};
use crate::common::state::ServerState;

/// Most repositories that are named.
pub(crate) const MOST: usize = 200;

/// A repository's youngest revision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Youngest {
    /// The path of its URL, without slashes around it.
    pub(crate) name: String,
    /// `None` when it cannot be read.
    pub(crate) revision: Option<(Revnum, Option<Timestamp>)>,
    /// The record of its backup; `None` when there is none that can be read.
    pub(crate) backup: Option<Record>,
}

/// What was read.
#[derive(Clone, Debug, Default)]
pub(crate) struct Repositories {
    pub(crate) named: Vec<Youngest>,
    /// How many more there are, as far as it was counted.
    pub(crate) unnamed: usize,
    /// Whether the settings name a folder of backups.
    pub(crate) has_backups: bool,
    /// What waits for webhooks and mail servers.
    pub(crate) messages: Vec<TargetQueue>,
}

/// What was read last.
#[derive(Debug, Default)]
pub(crate) struct RepositoryReader {
    dates: Mutex<BTreeMap<PathBuf, (Revnum, Option<Timestamp>)>>,
    served: ServedRepositories,
}

impl RepositoryReader {
    /// Reads them anew.
    pub(crate) fn read(&self, server: &ServerState) -> Repositories {
        let all = self.served.find(server.sample().folders);
        let backups = server.settings.backups.as_deref();
        let read = |(path, name): (&PathBuf, &String)| Youngest {
            name: name.clone(),
            revision: self.youngest(server, path).ok(),
            backup: backups.and_then(|folder| Record::read(folder, &file_name(path)).ok()?),
        };
        let named: Vec<Youngest> = all.iter().take(MOST).map(read).collect();
        self.dates.lock().retain(|path, _| all.contains_key(path));
        let unnamed = all.keys().skip(MOST).count();
        let messages = server.waiting_messages();
        Repositories { named, unnamed, has_backups: backups.is_some(), messages }
    }

    fn youngest(
        &self,
        server: &ServerState,
        path: &Path,
    ) -> SvnResult<(Revnum, Option<Timestamp>)> {
        let repository = server.repository(path)?;
        let fs = repository.fs();
        let youngest = fs.youngest()?;
        if let Some(known) = self.dates.lock().get(path).filter(|(rev, _)| *rev == youngest) {
            return Ok(*known);
        }
        let props = fs.revprops(youngest)?;
        let date = props.get(sapwood_core::props::names::DATE);
        let date = date.and_then(|text| Timestamp::parse(text).ok());
        self.dates.lock().insert(path.to_owned(), (youngest, date));
        Ok((youngest, date))
    }
}

type ByName = Family<[(&'static str, String); 1], Gauge>;

/// The gauges of repositories.
pub(crate) fn registry(repositories: &Repositories) -> Registry {
    let (revisions, dates, readable) = (ByName::default(), ByName::default(), ByName::default());
    for one in &repositories.named {
        let labels = [("repository", one.name.clone())];
        readable.get_or_create(&labels).set(i64::from(one.revision.is_some()));
        let Some((revision, date)) = one.revision else { continue };
        revisions.get_or_create(&labels).set(signed(revision.0));
        if let Some(date) = date {
            dates.get_or_create(&labels).set(date.0.div_euclid(MICROS_PER_SEC));
        }
    }
    let mut registry = Registry::default();
    if !repositories.messages.is_empty() {
        of_messages(&repositories.messages, &mut registry);
    }
    if repositories.has_backups {
        of_backups(repositories, &mut registry);
    }
    registry.register(
        "sapwood_repository_readable",
        "1 if the youngest revision of the repository can be read",
        readable,
    );
    registry.register(
        "sapwood_repository_youngest_revision",
        "The youngest revision of the repository",
        revisions,
    );
    registry.register(
        "sapwood_repository_youngest_timestamp_seconds",
        "The date of the youngest revision, in seconds since 1970",
        dates,
    );
    registry.register(
        "sapwood_repositories_unnamed",
        "Repositories that are served and have no series of their own",
        ConstGauge::new(len64(repositories.unnamed)),
    );
    registry
}

/// The gauges of backups: 0 says that there is none.
fn of_backups(repositories: &Repositories, registry: &mut Registry) {
    let (revisions, dates) = (ByName::default(), ByName::default());
    for one in &repositories.named {
        let labels = [("repository", one.name.clone())];
        let verified = one.backup.as_ref().and_then(|backup| backup.verified);
        let seconds = verified.map_or(0, |verified| verified.time.0.div_euclid(MICROS_PER_SEC));
        dates.get_or_create(&labels).set(seconds);
        let revision = verified.map_or(0, |verified| signed(verified.revision.0));
        revisions.get_or_create(&labels).set(revision);
    }
    registry.register(
        "sapwood_backup_verified_revision",
        "The youngest revision in the repository's backup that was verified there",
        revisions,
    );
    registry.register(
        "sapwood_backup_verified_timestamp_seconds",
        "When the repository's backup was verified last, in seconds since 1970; 0 for never",
        dates,
    );
}

/// The gauges of webhooks and mail.
fn of_messages(messages: &[TargetQueue], registry: &mut Registry) {
    type ByTarget = Family<[(&'static str, String); 1], Gauge<u64, AtomicU64>>;
    let (revisions, down) = (ByTarget::default(), ByTarget::default());
    for waiting in messages {
        let labels = [("target", waiting.target.clone())];
        revisions.get_or_create(&labels).set(waiting.revisions);
        down.get_or_create(&labels).set(u64::from(waiting.is_down));
    }
    registry.register(
        "sapwood_notification_waiting_revisions",
        "Revisions whose messages a webhook or mail server has not taken yet",
        revisions,
    );
    registry.register(
        "sapwood_notification_target_down",
        "1 if a webhook or mail server does not take messages",
        down,
    );
}
