//! The repositories that are served, whatever the location: for what looks at all of them.
//!
//! Invariant: of a folder no more than [`MOST_ENTRIES`] entries are looked at.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use sapwood_repos::Repository;

use super::metrics::sample::ServedFolder;

/// Most entries of a folder that are looked at.
const MOST_ENTRIES: usize = 10_000;

/// The repositories that are served, each once, with the path of its URL.
pub(crate) fn find(folders: Vec<ServedFolder>) -> BTreeMap<PathBuf, String> {
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

/// The name of a folder.
pub(crate) fn file_name(path: &Path) -> String {
    path.file_name().map_or(String::new(), |name| name.to_string_lossy().into_owned())
}
