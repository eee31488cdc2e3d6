//! `cargo xtask cluster`: three servers of one repository in a store, in network namespaces, while servers, network and store fail.
//!
//! The work is in `testkit` (`cluster`); here it is built. Options go to it: `--seconds N`, `--commits N`, `--clients N`, `--seed N`,
//! `--calm COMMITS` (acknowledged between two faults), `--longest-stop SECONDS`; in place of a folder, `--ceph`: the store is Ceph's gateway by
//! `tools/ceph.sh`, or `--postgres`: the log is in PostgreSQL by `tools/postgres.sh`. Invariant: what runs is what is
//! in the working tree, unless `SAPWOOD_BIN` names another program.

use std::process::Command;

use crate::steps::{ROOT, cargo, target};

/// Seconds of the part of the full check.
const SHORT: &str = "12";

/// What builds and runs it.
const HARNESS: [&str; 7] =
    ["run", "--quiet", "--package", "sapwood-testkit", "--bin", "cluster", "--"];

/// Builds it and runs it with these options.
pub(crate) fn cluster(args: &[String]) -> Result<(), String> {
    let has = |wanted: &str| args.iter().any(|arg| arg == wanted);
    if std::env::var_os("SAPWOOD_BIN").is_none() {
        let features: &[&str] = match (has("--ceph"), has("--postgres")) {
            (true, _) => &["--features", "sapwood-cli/s3"],
            (_, true) => &["--features", "sapwood-cli/postgres"],
            _ => &[],
        };
        let build = ["build", "--package", "sapwood-cli", "--bin", "sapwood"];
        run(Command::new("cargo").args(build).args(features))?;
    }
    run(Command::new("cargo").args(HARNESS).args(args))
}

/// The short one, over a folder, with programs as the tests are built: a full check builds them once.
pub(crate) fn short() -> Result<(), String> {
    cargo(&["test", "--workspace", "--no-run", "--quiet"])?;
    let program = target()?.join("debug/sapwood");
    run(Command::new("cargo").args(HARNESS).args(["--seconds", SHORT]).env("SAPWOOD_BIN", program))
}

fn run(command: &mut Command) -> Result<(), String> {
    let status = command.current_dir(ROOT).status();
    let status = status.map_err(|e| format!("{}: {e}", command.get_program().display()))?;
    if status.success() { Ok(()) } else { Err("servers of one store fail together".to_owned()) }
}
