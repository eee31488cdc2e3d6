//! A repository: everything between the versioned filesystem (`fsfs`) and the protocols.
//!
//! Each module answers one kind of request (log, blame, update report, replay ...). All of them
//! take a [`PathAuthorizer`], which says what the user may read, and hand results to callbacks or
//! editors as they are found: nothing here collects a tree or a history whole.
//!
//! A repository that is made, a commit, and the file that it added:
//!
//! ```
//! use std::io::Read as _;
//!
//! use sapwood_core::{FsPath, NodeKind, PropList};
//! use sapwood_delta::ComputedDelta;
//! use sapwood_fs::{Caches, OpenOptions};
//! use sapwood_repos::authz::Access;
//! use sapwood_repos::create::create;
//! use sapwood_repos::hooks::Hooks;
//! use sapwood_repos::{CommitAuthorizer, Repository, TxnEditor, TxnRequest};
//!
//! /// Allows everything: who may do what is the caller's to say.
//! struct Everything;
//!
//! impl CommitAuthorizer for Everything {
//!     fn allows(&self, _: &FsPath, _: Access, _: bool) -> bool {
//!         true
//!     }
//! }
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let folder = tempfile::tempdir()?;
//! let path = folder.path().join("repository");
//! create(&path, &Default::default())?;
//! let repository = Repository::open(&path, &Caches::new(4 << 20), &OpenOptions::default())?;
//!
//! let mut revprops = PropList::new();
//! revprops.set("svn:log", "The first file");
//! let mut editor = TxnEditor::begin(TxnRequest {
//!     repository: &repository,
//!     hooks: Hooks::without_environment(&repository),
//!     revprops,
//!     user: Some("ada"),
//!     lock_tokens: Vec::new(),
//!     capabilities: &[],
//!     base: None,
//! })?;
//! let name = FsPath::new("/greeting")?;
//! editor.add(name, NodeKind::File, &Everything)?;
//! let (source, target) = (&b""[..], &b"Hello\n"[..]);
//! editor.apply_delta(name, None, &mut ComputedDelta::new(source, target), None)?;
//! let committed = editor.commit()?;
//! assert_eq!(committed.revision.0, 1);
//!
//! let root = repository.fs().revision_root(committed.revision)?;
//! let mut text = String::new();
//! root.node(name)?.contents()?.read_to_string(&mut text)?;
//! assert_eq!(text, "Hello\n");
//! # Ok(())
//! # }
//! ```

pub mod access;
pub mod authorizer;
pub mod authz;
pub mod change_tree;
pub mod commit;
pub mod convert;
pub mod create;
pub mod dir_delta;
pub mod dirent;
mod disk_size;
pub mod dump;
pub mod dump_filter;
pub mod dumpstream;
pub mod error;
pub mod file_revs;
pub mod forms;
pub mod hooks;
pub mod hotcopy;
pub mod iprops;
pub mod list;
pub mod load;
pub mod locations;
pub mod locks;
pub mod log;
pub mod mergeinfo;
mod node_delta;
pub mod nodes;
pub mod prop_rules;
pub mod replay;
pub mod reporter;
pub mod repository;
pub mod revprop_change;
pub mod tree_walk;
pub mod txn_editor;
pub mod upgrade;
pub mod verify;

pub use sapwood_core::{FileRev, Inherit, RevpropSelection, Segment};

pub use access::{
    RevisionAccess, revision_access, revision_prop, revision_props, seen_revision_props,
};
pub use authorizer::{Everything, PathAuthorizer, RulesId, SubtreeAccess};
pub use authz::{Access, Authz, ConfigSource, UserAuthz};
pub use commit::{CommitAuthorizer, CommitEditor, CommitResult, CommitSetup};
pub use dir_delta::{DirDelta, dir_delta};
pub use dirent::{CommittedInfo, StoredDirent, committed_in, committed_info, stat};
pub use disk_size::bytes_on_disk;
pub use error::{Error, Result};
pub use file_revs::{FileRevReceiver, FileRevsRequest, file_revs};
pub use forms::Protocol;
pub use hooks::Hooks;
pub use iprops::inherited_props;
pub use list::{ListEntry, ListReceiver, ListRequest, list};
pub use locations::{SegmentsRequest, check_readable, deleted_rev, location_segments, locations};
pub use locks::{LockRequest, LockResults, UnlockRequest, lock_paths, unlock_paths};
pub use log::{LogEncoder, LogReceiver, LogRequest, LogRevision, log, log_to};
pub use mergeinfo::{MergeinfoRequest, mergeinfo_catalog};
pub use replay::replay;
pub use reporter::{ReportWalk, Reporter};
pub use repository::Repository;
pub use revprop_change::{RevpropHooks, RevpropRequest, change_revision_prop, change_txn_prop};
pub use sapwood_rules::Rules;
pub use tree_walk::{SharedAuthorizer, TreeWalk};
pub use txn_editor::{TxnEditor, TxnRequest};
