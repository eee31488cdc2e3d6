//! Work from seeds that goes on as long as it is told to: hostile clients, damaged repositories, coarse times,
//! random histories, configurations of httpd. `cargo xtask soak` runs it for minutes and hours, beside the tests of company, kills
//! and full disks; among the tests it only shows that it still works.
//!
//! `SAPWOOD_SEED` is the first seed, `SAPWOOD_SECONDS` how long each part goes on. What fails names its
//! seed, with which the same is done again.

mod coarse;
mod damages;
mod histories;
mod hostile;
use crate::common::httpd;
mod httpd_conf;
use crate::common::places;

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use sapwood_testkit::{Output, Programs, Rng, Shape, patience};

fn number(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).map_or(otherwise, |text| text.parse().unwrap())
}

/// Calls `work` with one seed after the other, as long as there is time, and at least once. Prints
/// how often that was.
fn from_seeds(part: &str, mut work: impl FnMut(u64)) {
    let (began, first) = (Instant::now(), number("SAPWOOD_SEED", 1));
    let time = Duration::from_secs(number("SAPWOOD_SECONDS", 2));
    let mut done = 0;
    while done == 0 || began.elapsed() < time {
        work(first + done);
        done += 1;
    }
    let mut out = std::io::stdout();
    let _ = std::io::Write::write_all(&mut out, format!("{part}: {done} seeds\n").as_bytes());
}

/// One of the shapes, and a history of some revisions.
fn shape(rng: &mut Rng) -> Shape {
    let all = Shape::all();
    rng.pick(&all).clone()
}

/// How one of our programs ends that may say what it likes, but not panic, hang, die, or take
/// memory without bound.
fn ends_well(what: &str, program: &str, args: &[&str], folder: &Path) -> Output {
    let program = Programs::ours().path(program);
    let mut command = Command::new("prlimit");
    sapwood_testkit::programs::environment(&mut command);
    command.arg("--as=6000000000").arg(program).args(args).current_dir(folder);
    let done = patience::run(&mut command, 120, &[], folder);
    let done = done.unwrap_or_else(|late| panic!("{what}: hangs\n{}", late.report));
    let told = done.stderr_text();
    let well = (0..=4).contains(&done.code) && !told.contains("panicked");
    assert!(well, "{what}: {args:?}: code {}\n{told}", done.code);
    done
}
