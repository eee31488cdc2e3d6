//! Working copies on disk: format 31, as Subversion 1.8 to 1.14 keep them, and 32, as 1.15 does.
//!
//! A working copy is a tree of files with one folder `.svn` at its root, which holds the database
//! `wc.db` ([`mod@db`]), the pristine texts ([`pristine`]) and little else ([`layout`]). A
//! [`WorkingCopy`] is the handle that everything else takes.
//!
//! Other programs use the same working copy at the same time: what is written here is what the
//! reference writes, in its order, under its locks ([`locks`]), and what must happen to files after
//! a change of the database stands in the database first ([`mod@queue`]).
//!
//! No network, no printing, no environment.

pub mod autoprops;
pub mod base;
mod change_journal;
pub mod cleanup;
pub mod clock;
pub mod commit;
pub mod conflict;
pub mod crop;
pub mod db;
pub mod error;
pub mod externals;
mod fan_out;
mod files;
pub mod format;
pub mod gather;
pub mod ignore;
pub mod layout;
pub mod local;
pub mod local_mods;
pub mod locks;
pub mod merge;
pub mod node;
mod operations;
pub mod platform;
pub mod pristine;
pub mod props;
pub mod queue;
pub mod relocate;
pub mod report;
pub mod repos_lock;
pub mod root;
pub mod shelf;
pub mod status;
pub mod summary;
pub mod text_base;
mod text_check;
pub mod translate;
pub mod update;
pub mod upgrade;
pub mod view;
pub mod work_item;

pub use db::Db;
pub use error::{Error, Result};
pub use root::{Options, WorkingCopy};
