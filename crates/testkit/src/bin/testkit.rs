//! Makes fixtures from the command line: for fuzzing seeds, and to look at the
//! repository of a failed test.
//!
//! Invariant: writes only where it is told to.

use sapwood_testkit::{History, random, repository, scripted};
use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;

const USAGE: &str = "\
usage: testkit dump HISTORY                    the dump stream of a history, to stdout
       testkit repository HISTORY SHAPE PATH   a repository made by the reference's svnadmin
       testkit shapes                          the names of all shapes

HISTORY: scripted, wide-N or random-SEED-REVISIONS
";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let done = match args.as_slice() {
        ["dump", name] => history(name)
            .is_some_and(|h| std::io::stdout().write_all(&h.dump(0..=h.youngest())).is_ok()),
        ["repository", name, shape, path] => {
            let shape = repository::Shape::all().into_iter().find(|s| s.name() == *shape);
            match (history(name), shape) {
                (Some(history), Some(shape)) => {
                    repository::make(&shape, &history, Path::new(path));
                    true
                }
                _ => false,
            }
        }
        ["shapes"] => {
            repository::Shape::all().iter().for_each(|s| println!("{}", s.name()));
            true
        }
        _ => false,
    };
    if done {
        ExitCode::SUCCESS
    } else {
        eprint!("{USAGE}");
        ExitCode::FAILURE
    }
}

fn history(name: &str) -> Option<History> {
    if name == "scripted" {
        return Some(scripted::everything());
    }
    if let Some(count) = name.strip_prefix("wide-") {
        return Some(scripted::wide(count.parse().ok()?));
    }
    let (seed, revisions) = name.strip_prefix("random-")?.split_once('-')?;
    Some(random::history(seed.parse().ok()?, revisions.parse().ok()?))
}
