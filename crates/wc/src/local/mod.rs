//! What the user does to the working copy without the repository: additions, deletions, copies,
//! moves, and taking them back. Each writes the rows that the reference would.

mod add;
mod add_incoming;
mod add_repos;
mod changelist;
mod copy;
mod copy_pristines;
mod copy_shadow;
mod delete;
mod delete_versioned;
mod find;
mod install;
mod move_conflict;
mod move_incoming;
mod move_update;
mod moves;
mod resolve;
mod resolve_tree;
mod revert;
mod rows;
mod settled;

use sapwood_core::notify::{Action, Notify};
use sapwood_core::paths::RelPath;

use crate::root::WorkingCopy;

pub(crate) use crate::db::below as subtree;
pub use crate::gather::Notifier;
pub use add::AddOptions;
pub(crate) use copy::{From, depths_for_copy, put_not_present};
pub use install::NewText;
pub use resolve::{Choice, Part};
pub use revert::RevertOptions;
pub(crate) use rows::SubtreeSql;

/// Reports that something happened to a path of a working copy.
pub(crate) fn notify_path(
    wc: &WorkingCopy,
    notify: &Notifier<'_>,
    action: Action,
    relpath: &RelPath,
) {
    let path = wc.abspath(relpath);
    notify(&Notify::new(action, &path.to_string_lossy()));
}
