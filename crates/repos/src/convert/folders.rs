//! What a repository has beside its revisions: hooks, configuration and folders of the administrator's; locks on paths.

use std::path::Path;

use sapwood_core::{CancelToken, SvnResult};
use sapwood_fs::admin::hotcopy::HotcopyOptions;

use super::{STORAGE, compared};
use crate::hotcopy::copy_folders;

/// Copies them, over what the target has of the same names; but not what says how far the source itself, if it was converted,
/// was compared. The locks of the target become those of the source.
pub(super) fn copy(from: &Path, to: &Path, cancel: &CancelToken) -> SvnResult<()> {
    let options = HotcopyOptions { incremental: true, ..HotcopyOptions::default() };
    copy_folders(&STORAGE, from, to, compared::NAME, &options, cancel)?;
    sapwood_fs::admin::mirror_locks(&from.join("db"), &to.join("db"))
}
