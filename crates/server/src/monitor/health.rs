//! Whether the server can serve: each folder can be opened, and it is not about to end.

use std::io;
use std::path::Path;

use sapwood_core::SvnError;
use sapwood_fs::Filesystem;
use sapwood_repos::Repository;

use crate::common::metrics::sample::ServedFolder;
use crate::common::state::ServerState;

/// What stands in the way, a sentence each; nothing when all is well.
pub(super) fn obstacles(server: &ServerState) -> Vec<String> {
    let mut found = Vec::new();
    if server.ending.has_begun() {
        found.push("The server is shutting down".to_owned());
    }
    for folder in server.sample().folders {
        if let Err(why) = open(&folder) {
            found.push(format!("/{}: {why}", folder.url));
        }
    }
    found
}

fn open(folder: &ServedFolder) -> Result<(), String> {
    let path = &folder.path;
    let words = |error: &SvnError| error.message().to_owned();
    if Repository::is_root(path) {
        return Filesystem::check_readable(&path.join("db")).map_err(|e| words(&e.into()));
    }
    list(path).map_err(|e| {
        words(&SvnError::io(&e, format_args!("Can't open directory '{}'", path.display())))
    })
}

/// Opens a folder and reads its first entry, which finds a disk that has gone.
fn list(path: &Path) -> io::Result<()> {
    std::fs::read_dir(path)?.next().transpose().map(drop)
}
