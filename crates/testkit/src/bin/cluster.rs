//! `cargo xtask cluster`: three servers of one repository in a store, and all that can happen to them ([`sapwood_testkit::cluster`]).
//!
//! Invariant: it ends with 0 only when all that clients saw can be.

use std::process::ExitCode;
use std::time::Duration;

use sapwood_testkit::cluster::{Kind, Plan, run};

const USAGE: &str = "usage: cluster [--seconds N] [--commits N] [--clients N] [--seed N] [--calm COMMITS] \
                     [--longest-stop SECONDS] [--ceph | --postgres]";

fn plan() -> Option<Plan> {
    let folder = std::env::temp_dir().join(format!("sapwood-cluster-{}", std::process::id()));
    let mut plan = Plan {
        time: Duration::from_secs(20),
        commits: u64::MAX,
        clients: 6,
        seed: 1,
        calm: 3,
        longest_stop: Duration::from_secs(2),
        kind: Kind::Folder,
        folder,
    };
    let mut args = std::env::args().skip(1);
    while let Some(name) = args.next() {
        let kind = match name.as_str() {
            "--ceph" => Some(Kind::Ceph),
            "--postgres" => Some(Kind::Postgres),
            _ => None,
        };
        if let Some(kind) = kind {
            plan.kind = kind;
            continue;
        }
        let value: u64 = args.next()?.parse().ok()?;
        match name.as_str() {
            "--seconds" => plan.time = Duration::from_secs(value),
            "--commits" => plan.commits = value,
            "--clients" => plan.clients = value.clamp(1, 64),
            "--calm" => plan.calm = value,
            "--seed" => plan.seed = value,
            "--longest-stop" => plan.longest_stop = Duration::from_secs(value),
            _ => return None,
        }
    }
    Some(plan)
}

fn main() -> ExitCode {
    let Some(plan) = plan() else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    match run(&plan) {
        Ok(lines) => {
            println!("{}", lines.join("\n"));
            ExitCode::SUCCESS
        }
        Err(why) => {
            eprintln!("cluster: {why}");
            ExitCode::FAILURE
        }
    }
}
