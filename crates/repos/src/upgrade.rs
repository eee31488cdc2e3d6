//! Bringing a repository to the newest format: its filesystem, and its own `format` file.

use sapwood_core::{CancelToken, SvnError};
use sapwood_fs::admin::maintenance::MaintenanceOptions;
use sapwood_fs::admin::upgrade::UpgradeNotice;
use sapwood_store::write::replace_failure;

use crate::error::Result;
use crate::repository::{FORMAT, Repository};

/// Upgrades a repository. `notify` is called for each step in the filesystem.
///
/// # Errors
/// Those of [`sapwood_fs::Filesystem::upgrade`]; system errors.
pub fn upgrade(
    repository: &Repository,
    options: &MaintenanceOptions,
    cancel: &CancelToken,
    notify: &mut dyn FnMut(UpgradeNotice) -> sapwood_fs::Result<()>,
) -> Result<()> {
    let path = repository.path().join("format");
    let write = |number: u32| {
        let text = format!("{number}\n");
        let done = repository.fs().storage().replace(
            &path,
            text.as_bytes(),
            Some(&path),
            options.flush_to_disk,
        );
        done.map_err(|e| SvnError::io(&e, replace_failure(&e, &path)))
    };
    // Whether it can be written is found out before anything changes.
    write(repository.format())?;
    repository.fs().upgrade(options, cancel, notify)?;
    Ok(write(FORMAT)?)
}
