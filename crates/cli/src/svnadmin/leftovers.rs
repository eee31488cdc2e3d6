//! Warnings about files that killed processes left in a repository, for the commands that look for them.

use sapwood_core::{ErrorCode, SvnError, SvnResult};
use sapwood_fs::Filesystem;

use crate::report;

/// Names the files on standard error, and what removes them.
pub(super) fn say(fs: &Filesystem) -> SvnResult<()> {
    for leftover in fs.leftovers()? {
        let path = &leftover.path;
        let message = match &leftover.txn {
            Some(txn) => format!(
                "'{path}' belongs to no transaction: a process that was killed has left it, unless a commit is under \
                 way; 'svnadmin rmtxns REPOS_PATH {txn}' removes it"
            ),
            None => format!(
                "'{path}' was left by a process that was killed; 'svnadmin recover REPOS_PATH' removes it"
            ),
        };
        report::warning(&SvnError::new(ErrorCode::BASE, message), "svnadmin: ");
    }
    Ok(())
}
