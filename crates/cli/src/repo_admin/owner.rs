//! The owner of what root makes: that of the folder that it is in, whose server has to write it.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, lchown};
use std::path::Path;

use sapwood_core::SvnResult;

use super::cannot;

/// Gives a folder, and all below it, to the owner and group of the folder that it is in; does nothing unless root runs it.
pub(super) fn inherit(path: &Path) -> SvnResult<()> {
    if !rustix::process::geteuid().is_root() {
        return Ok(());
    }
    let Some(parent) = path.parent() else { return Ok(()) };
    let owner = fs::metadata(parent).map_err(|e| cannot(&e, "Can't stat", parent))?;
    give(path, (owner.uid(), owner.gid()))
}

fn give(path: &Path, owner: (u32, u32)) -> SvnResult<()> {
    let found = fs::symlink_metadata(path).map_err(|e| cannot(&e, "Can't stat", path))?;
    if (found.uid(), found.gid()) != owner {
        lchown(path, Some(owner.0), Some(owner.1))
            .map_err(|e| cannot(&e, "Can't change owner of", path))?;
    }
    if found.is_dir() {
        let entries = fs::read_dir(path).map_err(|e| cannot(&e, "Can't read directory", path))?;
        for entry in entries {
            let entry = entry.map_err(|e| cannot(&e, "Can't read directory", path))?;
            give(&entry.path(), owner)?;
        }
    }
    Ok(())
}
