//! `cargo xtask objects`: what stands on object stores, tried against a real one.
//!
//! `tools/ceph.sh` makes and ends the store: Ceph's gateway, from Debian. It is no step of `cargo xtask test`, since it takes
//! 300 MB of packages, and some minutes with a build that has the feature. Invariant: nothing of the store is left.

use std::fs;
use std::process::Command;

use crate::steps::ROOT;

/// Where the gateway listens.
const PORT: &str = "7490";

/// Packages with tests that need a store, and the feature that they need.
const TESTS: [(&str, &str); 1] = [("sapwood-objects-s3", "sapwood-objects-s3/s3")];

/// Lints, then tests, of what only builds with the feature have.
pub(crate) fn objects() -> Result<(), String> {
    let folder = std::env::temp_dir().join(format!("sapwood-objects-{}", std::process::id()));
    let _ = fs::remove_dir_all(&folder);
    let mut options = Vec::new();
    for (package, feature) in TESTS {
        options.extend(["--package", package, "--features", feature]);
    }
    let lints = ["clippy", "--all-targets"].iter().chain(&options).chain(&["--", "-D", "warnings"]);
    run(Command::new("cargo").args(lints))?;
    // The store is started when the tests are built.
    run(Command::new("cargo").args(["test", "--no-run"].iter().chain(&options)))?;
    let mut tests = Command::new("tools/ceph.sh");
    tests.arg(&folder).args([PORT, "cargo", "test"]).args(&options);
    let tested = run(&mut tests);
    let _ = fs::remove_dir_all(&folder);
    tested
}

fn run(command: &mut Command) -> Result<(), String> {
    let status = command.current_dir(ROOT).status();
    let status = status.map_err(|e| format!("{}: {e}", command.get_program().display()))?;
    if status.success() { Ok(()) } else { Err("the tests of object stores failed".to_owned()) }
}
