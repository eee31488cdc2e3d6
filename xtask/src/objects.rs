//! `cargo xtask objects`: what stands on object stores, tried against a real one.
//!
//! `tools/ceph.sh` makes and ends the store: Ceph's gateway, from Debian; `tools/azurite.sh` the emulator of
//! Azure's, from npm; tests of logs in PostgreSQL start Debian's. It is no step of `cargo xtask test`, since it takes
//! 300 MB of packages, and some minutes with a build that has the feature. Invariant: nothing of the store is left.

use std::fs;
use std::process::Command;

use crate::steps::ROOT;

/// Where the gateway listens.
const PORT: &str = "7490";

/// Packages with tests that need a store, which have the feature `s3`, and the tests.
const TESTS: [(&str, &str); 3] = [
    ("sapwood-objects-s3", "gateway::"),
    ("sapwood-cli", "store::"),
    // It kills the gateway, so nothing else runs beside it.
    ("sapwood-cli", "stored::servers_of_a_bucket"),
];

/// Lints, then tests, of what only builds with the feature have.
pub(crate) fn objects() -> Result<(), String> {
    let folder = std::env::temp_dir().join(format!("sapwood-objects-{}", std::process::id()));
    let _ = fs::remove_dir_all(&folder);
    let database = ["--package", "sapwood-objects-postgres", "--features", "postgres"];
    let lints = ["clippy", "--all-targets"];
    run(Command::new("cargo").args(lints).args(database).args(["--", "-D", "warnings"]))?;
    run(Command::new("cargo").arg("test").args(database))?;
    // The store is started when the tests are built.
    for (package, _) in TESTS {
        let built = ["test", "--no-run", "--package", package, "--features", "s3"];
        run(Command::new("cargo").args(built))?;
        let lints = ["clippy", "--all-targets", "--package", package, "--features", "s3"];
        run(Command::new("cargo").args(lints).args(["--", "-D", "warnings"]))?;
    }
    let commands = TESTS.map(|(package, tests)| {
        format!("cargo test --package {package} --features s3 --test it -- {tests}")
    });
    let mut tests = Command::new("tools/ceph.sh");
    let tested = run(tests.arg(&folder).args([PORT, "sh", "-c", &commands.join(" && ")]));
    let _ = fs::remove_dir_all(&folder);
    tested?;
    let mut azure = Command::new("tools/azurite.sh");
    let command = "cargo test --package sapwood-objects-s3 --features s3 --test it -- azure::";
    let tested = run(azure.arg(&folder).args([PORT, "sh", "-c", command]));
    let _ = fs::remove_dir_all(&folder);
    tested
}

fn run(command: &mut Command) -> Result<(), String> {
    let status = command.current_dir(ROOT).status();
    let status = status.map_err(|e| format!("{}: {e}", command.get_program().display()))?;
    if status.success() { Ok(()) } else { Err("the tests of object stores failed".to_owned()) }
}
