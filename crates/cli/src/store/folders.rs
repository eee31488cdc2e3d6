//! Repositories in stores and their folders on this machine: `create`, `attach`, `push`.

use std::path::Path;

use sapwood_core::{CancelToken, ErrorCode, SvnError, SvnResult};
use sapwood_fs::admin::{self, NewFilesystem};
use sapwood_objects::addresses;
use sapwood_repo_log::RepositoryLog;
use sapwood_repo_transfer::import;
use sapwood_repos::create::create_of;

use crate::command::Options;

/// Makes an empty repository in a store, and its folder on this machine.
pub(crate) fn create(
    address: &str,
    folder: &Path,
    kind: &NewFilesystem,
    compatible_minor: Option<u32>,
    cancel: &CancelToken,
) -> SvnResult<()> {
    let store = addresses::open(address)?;
    if RepositoryLog::open(store.clone())?.is_some() {
        let message = format!("There is a repository at '{address}' already");
        return Err(SvnError::new(ErrorCode::REPOS_BAD_ARGS, message));
    }
    create_of(folder, kind, compatible_minor)?;
    let imported = import(folder, store, cancel);
    // It was made here, and nothing of others is in it.
    let removed = std::fs::remove_dir_all(folder);
    imported?;
    removed.map_err(|e| {
        SvnError::io(&e, format_args!("Can't remove directory '{}'", folder.display()))
    })?;
    attach(address, folder)
}

/// Makes the folder of a repository that is in a store.
pub(crate) fn attach(address: &str, folder: &Path) -> SvnResult<()> {
    Ok(admin::attach(folder, address)?)
}

/// Brings what was changed in a repository's folder to its store: the paths.
pub(crate) fn push(folder: &str) -> SvnResult<Vec<String>> {
    let repository = crate::repo::open(&crate::repo::local_path(folder)?, &Options::default())?;
    Ok(admin::push_files(repository.fs())?)
}
