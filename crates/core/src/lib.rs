//! The vocabulary that every other crate of Sapwood speaks: revision numbers, repository paths,
//! property lists, dates, checksums, E-codes, and the small text forms (INI configuration, skels,
//! hash dumps) that several on-disk formats are built from.
//!
//! Nothing here does I/O, reads the environment or prints.

pub mod ascii;
pub mod base64;
pub mod cancel;
pub mod checksum;
pub mod common;
pub mod config;
pub mod date;
pub mod depth;
pub mod error;
pub mod exact;
pub mod fold;
pub mod form;
pub mod glob;
pub mod hashdump;
pub mod hashorder;
pub mod kind;
mod md5;
pub mod mergeinfo;
pub mod meter;
pub mod notify;
pub mod path;
pub mod paths;
pub mod props;
pub mod rawname;
pub mod requests;
pub mod revnum;
pub mod rng;
pub mod skel;
pub mod uri;
pub mod values;
mod wrong_setting;

pub use cancel::CancelToken;
pub use checksum::{Md5, Sha1};
pub use depth::Depth;
pub use error::{ErrorCode, SvnError, SvnResult};
pub use exact::{Cut, Exact, len64};
pub use form::FormKey;
pub use kind::{ChangeKind, NodeKind};
pub use meter::Meter;
pub use notify::Notify;
pub use paths::{FsPath, LocalPath, RelPath, Url};
pub use props::PropList;
pub use requests::{
    CommitRequest, FileRevsRequest, ListRequest, LogRequest, MergeinfoRequest, ReplayRequest,
    ReportKind, ReportRequest,
};
pub use revnum::Revnum;
pub use values::{
    ChangedPath, Dirent, DirentFields, FileRev, Inherit, Lock, LogEntry, RevpropSelection, Segment,
};
pub use wrong_setting::WrongSetting;
