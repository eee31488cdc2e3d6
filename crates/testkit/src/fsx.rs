//! FSX repositories, made by the reference.

use std::fs;
use std::path::Path;

use crate::{History, Output, Programs, repository};

/// Makes an FSX repository with a history and shards of `shard` revisions, packed if `pack`.
///
/// # Panics
/// When the reference's `svnadmin` is missing or fails.
pub fn make(path: &Path, history: &History, shard: u64, pack: bool) {
    create(path, shard);
    repository::load(path, &history.dump(0..=history.youngest()));
    if pack {
        svnadmin(path, &["pack", "-q"]);
    }
}

fn svnadmin(path: &Path, args: &[&str]) {
    let mut command = Programs::reference().command("svnadmin");
    Output::of(command.args(args).arg(path)).expect_success(args[0]);
}

/// Makes an FSX repository without revisions and with shards of `shard` revisions.
///
/// # Panics
/// When the reference's `svnadmin` is missing or fails.
pub fn create(path: &Path, shard: u64) {
    svnadmin(path, &["create", "--fs-type", "fsx"]);
    let format = path.join("db/format");
    // The reference makes it read-only.
    fs::remove_file(&format).expect("db/format");
    fs::write(&format, format!("2\nlayout sharded {shard}\n")).expect("db/format");
}
