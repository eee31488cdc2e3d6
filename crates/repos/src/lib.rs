//! A repository: everything between the versioned filesystem (`fsfs`) and the protocols.
//!
//! Each module answers one kind of request (log, blame, update report, replay ...). All of them
//! take a [`PathAuthorizer`], which says what the user may read, and hand results to callbacks or
//! editors as they are found: nothing here collects a tree or a history whole.

pub mod access;
pub mod authorizer;
pub mod authz;
pub mod change_tree;
pub mod commit;
pub mod convert;
pub mod create;
pub mod dir_delta;
pub mod dirent;
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
pub mod txn_editor;
pub mod upgrade;
pub mod verify;

pub use sapwood_core::{FileRev, Inherit, RevpropSelection, Segment};

pub use access::{RevisionAccess, revision_access, revision_prop, revision_props};
pub use authorizer::{Everything, PathAuthorizer, RulesId, SubtreeAccess};
pub use authz::{Access, Authz, ConfigSource, UserAuthz};
pub use commit::{CommitAuthorizer, CommitEditor, CommitResult, CommitSetup};
pub use dir_delta::{DirDelta, dir_delta};
pub use dirent::{CommittedInfo, StoredDirent, committed_in, committed_info, stat};
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
pub use txn_editor::{TxnEditor, TxnRequest};
