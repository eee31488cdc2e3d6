//! Repositories in stores and their folders on this machine: `create`, `attach`, `push`.

use std::path::Path;

use sapwood_core::{CancelToken, ErrorCode, SvnError, SvnResult};
use sapwood_fs::admin::{self, NewFilesystem};
use sapwood_objects::addresses;
use sapwood_repo_log::repository_at;
use sapwood_repo_transfer::{export, import};
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
    if repository_at(&*store)?.is_some() {
        return Err(there_is_one(address));
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

/// Copies a repository, that of a folder or of the store at an address, to a store: all of it, or with `incremental` what is new.
///
/// # Errors
/// E165004 when there is a repository already, and not only what is new is wanted; those of the stores and the system.
pub(crate) fn copy_to(
    address: &str,
    from: &Path,
    from_store: Option<&str>,
    incremental: bool,
    cancel: &CancelToken,
) -> SvnResult<()> {
    let store = addresses::open(address)?;
    if !incremental && repository_at(&*store)?.is_some() {
        return Err(there_is_one(address));
    }
    let Some(from_store) = from_store else {
        import(from, store, cancel)?;
        return Ok(());
    };
    // A repository in another store is another one: its log is made anew, of a plain folder.
    let plain =
        tempfile::tempdir().map_err(|e| SvnError::io(&e, "Can't create a temporary directory"))?;
    export(addresses::open(from_store)?, plain.path(), cancel)?;
    import(plain.path(), store, cancel)?;
    Ok(())
}

fn there_is_one(address: &str) -> SvnError {
    let message = format!("There is a repository at '{address}' already");
    SvnError::new(ErrorCode::REPOS_BAD_ARGS, message)
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
