//! What administrators do with a filesystem: make it, copy it, pack it, upgrade it, count what is in
//! it. Checking and recovering are methods of [`Filesystem`](crate::Filesystem).

pub use sapwood_fsfs::{create, hotcopy, maintenance, pack, upgrade, verify};

pub use sapwood_fsfs::create::CreateOptions;
pub use sapwood_fsfs::maintenance::MaintenanceOptions;
pub use sapwood_fsx::create::CreateOptions as FsxOptions;

pub use crate::locks::mirror_locks;
