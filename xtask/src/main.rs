//! `cargo xtask`: the one command that is CI.
//!
//! Holds the command line only; the steps are in [`steps`], where they keep temporary files in
//! [`scratch`], the web pages in a browser in [`browser`], their JSON interface in [`api`], object stores in [`objects`], servers of one store in [`cluster`], packages of the program in [`dist`] with pages for `man` from [`man_page`], releases in [`release`], what dependencies may be in [`licences`], the Debian packages that the
//! interoperation tests need in [`packages`]. Invariant: `cargo xtask test` does everything that
//! `.ci/run` does, needs no terminal and no input, and ends with a non-zero status if any step fails.

mod api;
mod browser;
mod cluster;
mod dist;
mod fuzz;
mod licences;
mod man_page;
mod objects;
mod packages;
mod release;
mod scratch;
mod soak;
mod steps;
mod test_times;

use std::process::ExitCode;

const USAGE: &str = "\
usage: cargo xtask COMMAND

  test       install what the tests need (as root; else say what is missing), then run all checks
  ci         the same; the name that says what it is for
  quick      for daily work: formatting, lints and unit tests of the crates that differ from main
  packages   only install the Debian packages, or say which are missing
  fmt        only the formatting check
  clippy     only the lints
  browser    the web pages in Chromium (installs what tools/browser/package-lock.json names)
  api        the JSON interface by schemathesis (installs what tools/api/requirements.txt names;
             --examples N, --seed N)
  objects    what stands on object stores, against a real one (Ceph: see tools/ceph.sh)
  cluster    three servers of one store in network namespaces, while servers, network and store fail
             (as root; --seconds N, --commits N, --clients N, --seed N, --longest-stop SECONDS, --ceph, --postgres)
  dist       build a Debian package and a container file into target/dist
             (--profile PROFILE, --target TRIPLE)
  release    all files of a release of this commit in target/release-VERSION, with checksums
             (--target TRIPLE)
  soak       hostile clients, damages, kills, full disks and mixed company, from seeds:
             --minutes N [--seed SEED] [--only PART]
  fuzz       all fuzz targets, ten minutes altogether (--minutes N)
  licences   only the check of the dependencies' licences and duplicates
  tests      only the tests (more arguments go to the test runner)
";

fn main() -> ExitCode {
    let mut args = std::env::args().skip(1);
    let command = args.next().unwrap_or_default();
    let rest: Vec<String> = args.collect();
    let outcome = match command.as_str() {
        "test" | "ci" => packages::ensure().and_then(|()| steps::everything()),
        "browser" => browser::browser(),
        "api" => api::api(&rest),
        "objects" => objects::objects(),
        "cluster" => cluster::cluster(&rest),
        "quick" => steps::quick(),
        "packages" => packages::ensure(),
        "fmt" => steps::fmt(),
        "clippy" => steps::clippy(),
        "dist" => dist::dist(&rest),
        "release" => release::release(&rest),
        "fuzz" => fuzz::fuzz(&rest),
        "licences" => licences::check(),
        "soak" => soak::soak(&rest),
        "tests" => steps::tests(&rest),
        _ => {
            eprint!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("xtask: {message}");
            ExitCode::FAILURE
        }
    }
}
