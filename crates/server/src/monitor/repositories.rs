//! The youngest revision of each repository, and when it was made.
//!
//! Invariants: at most [`MOST`] repositories are named; the date of a revision is read once.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use parking_lot::Mutex;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::{ConstGauge, Gauge};
use prometheus_client::registry::Registry;
use sapwood_core::date::Timestamp;
use sapwood_core::exact::signed;
use sapwood_core::{Revnum, SvnResult, len64};
use sapwood_repos::Repository;

use crate::common::metrics::sample::ServedFolder;
use crate::common::state::ServerState;

/// Most repositories that are named.
pub(super) const MOST: usize = 200;
/// Most entries of a folder that are looked at.
const MOST_ENTRIES: usize = 10_000;

/// A repository's youngest revision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Youngest {
    /// The path of its URL, without slashes around it.
    pub(super) name: String,
    /// `None` when it cannot be read.
    pub(super) revision: Option<(Revnum, Option<Timestamp>)>,
}

/// What was read.
#[derive(Clone, Debug, Default)]
pub(super) struct Repositories {
    pub(super) named: Vec<Youngest>,
    /// How many more there are, as far as it was counted.
    pub(super) unnamed: usize,
}

/// What was read last.
#[derive(Debug, Default)]
pub(super) struct RepositoryReader {
    dates: Mutex<BTreeMap<PathBuf, (Revnum, Option<Timestamp>)>>,
}

impl RepositoryReader {
    /// Reads them anew.
    pub(super) fn read(&self, server: &ServerState) -> Repositories {
        let all = find(server.sample().folders);
        let read = |(path, name): (&PathBuf, &String)| Youngest {
            name: name.clone(),
            revision: self.youngest(server, path).ok(),
        };
        let named: Vec<Youngest> = all.iter().take(MOST).map(read).collect();
        self.dates.lock().retain(|path, _| all.contains_key(path));
        let unnamed = all.keys().skip(MOST).count();
        Repositories { named, unnamed }
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

/// The repositories that are served, each once, with the path of its URL.
fn find(folders: Vec<ServedFolder>) -> BTreeMap<PathBuf, String> {
    let mut found = BTreeMap::new();
    for ServedFolder { url, path } in folders {
        if Repository::is_root(&path) {
            let name = if url.is_empty() { file_name(&path) } else { url };
            found.entry(path).or_insert(name);
            continue;
        }
        let entries = std::fs::read_dir(&path).into_iter().flatten().take(MOST_ENTRIES);
        let inner = entries.filter_map(|entry| Some(entry.ok()?.path()));
        for repository in inner.filter(|path| Repository::is_root(path)) {
            let name = file_name(&repository);
            let name = if url.is_empty() { name } else { format!("{url}/{name}") };
            found.entry(repository).or_insert(name);
        }
    }
    found
}

fn file_name(path: &Path) -> String {
    path.file_name().map_or(String::new(), |name| name.to_string_lossy().into_owned())
}

/// The gauges of repositories.
pub(super) fn registry(repositories: &Repositories) -> Registry {
    type ByName = Family<[(&'static str, String); 1], Gauge>;
    let (revisions, dates, readable) = (ByName::default(), ByName::default(), ByName::default());
    for one in &repositories.named {
        let labels = [("repository", one.name.clone())];
        readable.get_or_create(&labels).set(i64::from(one.revision.is_some()));
        let Some((revision, date)) = one.revision else { continue };
        revisions.get_or_create(&labels).set(signed(revision.0));
        if let Some(date) = date {
            dates.get_or_create(&labels).set(date.0.div_euclid(1_000_000));
        }
    }
    let mut registry = Registry::default();
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
