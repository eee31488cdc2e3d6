//! `cargo xtask soak --minutes N`: everything that has a seed or a duration, again and again with new
//! seeds, and a summary at the end.
//!
//! The parts are tests (`cli/tests/soak`, `cli/tests/company`) that look at `SAPWOOD_SEED`,
//! `SAPWOOD_SECONDS` and `SAPWOOD_KILLS`, so what is found is found again by one command, which the
//! summary names. Invariant: a finding never ends the soak; it fails it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant, SystemTime};

/// A part: the file of tests, its test, and what it is.
struct Part {
    file: &'static str,
    test: &'static str,
    about: &'static str,
}

const PARTS: [Part; 11] = [
    Part { file: "soak", test: "hostile::hostile_clients", about: "hostile clients" },
    Part { file: "soak", test: "damages::damaged_repositories", about: "damages" },
    Part { file: "soak", test: "histories::random_histories", about: "random histories" },
    Part { file: "soak", test: "coarse::coarse_times", about: "coarse times" },
    Part {
        file: "soak",
        test: "httpd_conf::imported_configurations",
        about: "imported configurations",
    },
    Part { file: "http_waiting", test: "", about: "clients that let http wait" },
    Part { file: "http_autoversioning", test: "parallel_saves", about: "parallel saves" },
    Part { file: "http_names", test: "", about: "odd names against httpd" },
    Part { file: "company", test: "killed::", about: "kills" },
    Part { file: "company", test: "disks::", about: "full and read-only disks" },
    Part { file: "company", test: "mixed::", about: "mixed company" },
];

/// Seconds that one part of a round goes on.
const SECONDS: u64 = 20;
/// Seeds that a part may use in a round.
const SEEDS: u64 = 100_000;

/// What the command line says.
struct Plan {
    time: Duration,
    seed: u64,
    only: Option<String>,
    /// Our program, when it is not to be built: that of a release, or of yesterday.
    program: Option<PathBuf>,
}

fn plan(args: &[String]) -> Result<Plan, String> {
    let usage = || {
        "usage: cargo xtask soak --minutes N [--seed SEED] [--only PART] [--program PATH]"
            .to_owned()
    };
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let now = now.map_or(1, |d| d.as_secs());
    let mut plan = Plan { time: Duration::ZERO, seed: now * SEEDS, only: None, program: None };
    for pair in args.chunks(2) {
        let [name, value] = pair else { return Err(usage()) };
        let number = || value.parse::<u64>().map_err(|_| usage());
        match name.as_str() {
            "--minutes" => plan.time = Duration::from_secs(number()? * 60),
            "--seed" => plan.seed = number()?,
            "--only" => plan.only = Some(value.clone()),
            "--program" => plan.program = Some(value.into()),
            _ => return Err(usage()),
        }
    }
    if plan.time.is_zero() { Err(usage()) } else { Ok(plan) }
}

/// What came of one part so far.
#[derive(Default)]
struct Tally {
    runs: u64,
    seconds: u64,
    work: Vec<String>,
    findings: Vec<String>,
}

/// Runs the soak.
pub(crate) fn soak(args: &[String]) -> Result<(), String> {
    let plan = plan(args)?;
    let folder = root().join("target/soak");
    fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let built = build(&folder, plan.program.as_deref())?;
    let wanted = |part: &Part| {
        let names = |only: &str| part.test.contains(only) || part.file.contains(only);
        plan.only.as_deref().is_none_or(names)
    };
    let parts: Vec<&Part> = PARTS.iter().filter(|part| wanted(part)).collect();
    let mut tallies: Vec<Tally> = parts.iter().map(|_| Tally::default()).collect();
    let began = Instant::now();
    let mut round = 0;
    while !parts.is_empty() && (round == 0 || began.elapsed() < plan.time) {
        let seed = plan.seed + round * SEEDS;
        for (part, tally) in parts.iter().zip(&mut tallies) {
            if round > 0 && began.elapsed() >= plan.time {
                break;
            }
            run(part, seed, &folder, &built, tally)?;
        }
        round += 1;
    }
    summary(&parts, &tallies, began.elapsed(), round, plan.seed)
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// What is run: copies, so that the next build does not change it half-way.
struct Built {
    program: PathBuf,
    tests: PathBuf,
}

/// Builds the tests and our program (or takes `program`), and copies them.
fn build(folder: &Path, program: Option<&Path>) -> Result<Built, String> {
    let mut command = Command::new(std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned()));
    command.args(["test", "--package", "sapwood-cli", "--no-run", "--test", "it"]);
    let output = command.current_dir(root()).stdin(Stdio::null()).output();
    let output = output.map_err(|e| format!("{command:?}: {e}"))?;
    let said = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        return Err(format!("{command:?} fails:\n{said}"));
    }
    let copy = |from: &Path, name: &str| {
        let to = folder.join(name);
        let _ = fs::remove_file(&to);
        fs::copy(from, &to).map_err(|e| format!("{}: {e}", from.display()))?;
        fs::canonicalize(&to).map_err(|e| format!("{}: {e}", to.display()))
    };
    // `Executable tests/main.rs (target/debug/deps/it-0123)`
    let line = said.lines().find(|line| line.contains("tests/main.rs ("));
    let path = line.and_then(|line| line.split(['(', ')']).nth(1));
    let path = path.ok_or(format!("cargo does not say where the tests are:\n{said}"))?;
    let tests = copy(&root().join(path), "tests")?;
    let program = program.map_or_else(|| root().join("target/debug/sapwood"), Path::to_owned);
    Ok(Built { program: copy(&program, "sapwood")?, tests })
}

/// Runs one part once.
fn run(
    part: &Part,
    seed: u64,
    folder: &Path,
    built: &Built,
    tally: &mut Tally,
) -> Result<(), String> {
    let began = Instant::now();
    let tests = format!("{}::{}", part.file, part.test);
    let mut command = Command::new(&built.tests);
    command
        .args([&tests, "--nocapture", "--test-threads=1"])
        .envs(
            [("SAPWOOD_SEED", seed), ("SAPWOOD_SECONDS", SECONDS), ("SAPWOOD_KILLS", 60)]
                .map(|(name, value)| (name, value.to_string())),
        )
        .env("SAPWOOD_BIN", &built.program)
        .current_dir(root().join("crates/cli"))
        .stdin(Stdio::null());
    let output = command.output().map_err(|e| format!("{command:?}: {e}"))?;
    tally.runs += 1;
    tally.seconds += began.elapsed().as_secs();
    let text = [output.stdout.as_slice(), &output.stderr].concat();
    let text = String::from_utf8_lossy(&text);
    tally.work.extend(text.lines().filter(|l| l.ends_with(" seeds")).map(str::to_owned));
    if !output.status.success() {
        let log: PathBuf =
            folder.join(format!("{}-{}-{seed}.log", part.file, part.test.replace("::", "-")));
        fs::write(&log, text.as_bytes()).map_err(|e| format!("{}: {e}", log.display()))?;
        // The first line of a failure says with which seed.
        let said = text.lines().find(|l| l.contains("SAPWOOD_SEED=") || l.contains("panicked"));
        let again = format!(
            "SAPWOOD_SEED={seed} SAPWOOD_SECONDS={SECONDS} cargo test -p sapwood-cli --test it -- {tests}",
        );
        let said = said.unwrap_or("failed").trim();
        tally.findings.push(format!("{said}\n    {}\n    {again}", log.display()));
        eprintln!("xtask: soak: {}: {said}", part.about);
    }
    Ok(())
}

fn summary(
    parts: &[&Part],
    tallies: &[Tally],
    took: Duration,
    rounds: u64,
    seed: u64,
) -> Result<(), String> {
    println!("soak: {} min, {rounds} rounds, first seed {seed}", took.as_secs() / 60);
    println!("{:<28}{:>6}{:>9}{:>12}{:>10}", "part", "runs", "seconds", "seeds", "findings");
    let mut all = 0;
    for (part, tally) in parts.iter().zip(tallies) {
        let count = |line: &String| line.split_whitespace().rev().nth(1)?.parse::<u64>().ok();
        let seeds: u64 = tally.work.iter().filter_map(count).sum();
        let seeds = if tally.work.is_empty() { "-".to_owned() } else { seeds.to_string() };
        let found = tally.findings.len();
        println!("{:<28}{:>6}{:>9}{seeds:>12}{found:>10}", part.about, tally.runs, tally.seconds);
        all += found;
    }
    for (part, tally) in parts.iter().zip(tallies) {
        for finding in &tally.findings {
            println!("\n{}: {finding}", part.about);
        }
    }
    if all == 0 { Ok(()) } else { Err(format!("soak: {all} findings")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line() {
        let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let made = plan(&words("--minutes 3 --seed 7 --only kill --program /x")).unwrap();
        assert_eq!(made.program.as_deref(), Some(Path::new("/x")));
        assert_eq!((made.time.as_secs(), made.seed, made.only.as_deref()), (180, 7, Some("kill")));
        for wrong in ["", "--minutes", "--minutes x", "--seed 4", "--minutes 1 --nonsense 2"] {
            assert!(plan(&words(wrong)).is_err(), "{wrong}");
        }
    }

    /// A part whose test was renamed would run nothing, and find nothing.
    #[test]
    fn every_part_is_there() {
        let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/cli/tests");
        for part in PARTS {
            let (file, test) = match part.test.split_once("::") {
                Some((module, test)) => (format!("{}/{module}.rs", part.file), test),
                None => (format!("{}.rs", part.file), part.test),
            };
            let file = tests.join(file);
            let text = fs::read_to_string(&file).unwrap_or_default();
            assert!(
                text.contains("#[test]") && text.contains(&format!("fn {test}")),
                "{}",
                part.test
            );
        }
    }
}
