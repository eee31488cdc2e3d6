//! What the user does to the working copy without the repository: additions, deletions, copies,
//! moves, and taking them back. Each writes the rows that the reference would.

pub(crate) mod add;
pub(crate) mod add_incoming;
pub(crate) mod add_repos;
pub(crate) mod changelist;
mod choice;
pub(crate) mod copy;
mod copy_origin;
pub(crate) mod copy_pristines;
mod copy_rows;
pub(crate) mod copy_shadow;
pub(crate) mod delete;
pub(crate) mod delete_versioned;
pub(crate) mod find;
pub(crate) mod install;
pub(crate) mod move_conflict;
pub(crate) mod move_incoming;
pub(crate) mod move_update;
mod move_walk;
pub(crate) mod moves;
pub(crate) mod resolve;
pub(crate) mod resolve_tree;
pub(crate) mod revert;
mod rows;
mod settled;
use sapwood_core::notify::{Action, Notify};
use sapwood_core::paths::RelPath;

use crate::root::Disk;

pub(crate) use crate::db::below as subtree;
pub use crate::gather::Notifier;
pub use add::AddOptions;
pub use choice::{Choice, Part};
pub(crate) use copy_origin::From;
pub(crate) use copy_rows::{depths_for_copy, put_not_present};
pub use install::NewText;
pub use revert::RevertOptions;
pub(crate) use rows::SubtreeSql;

/// Reports that something happened to a path of a working copy.
pub(crate) fn notify_path(disk: &Disk, notify: &Notifier<'_>, action: Action, relpath: &RelPath) {
    let path = disk.abspath(relpath);
    notify(&Notify::new(action, &path.to_string_lossy()));
}
