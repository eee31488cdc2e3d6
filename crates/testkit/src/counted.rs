//! What a program's work costs, counted: executed instructions and reads, which a busy machine
//! does not change. A cost that grows faster than it may is found by comparing n with 4n.
//!
//! Instructions are counted by valgrind's `cachegrind` (without its simulated caches): comparisons,
//! copies and allocations are all made of them, so a quadratic loop shows wherever it is. Half a
//! second goes into the start of a program, and the rest runs some fifty times slower: choose n so that a
//! measurement takes less than a second.
//!
//! Invariant: nothing here looks at a clock.

use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::library;

/// What one run of a program cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// Instructions that the program executed, in all its threads.
    pub instructions: u64,
    /// System calls that read or open files: `read`, `pread64`, `openat` and kin.
    pub reads: u64,
}

/// How a cost may grow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Not with n: four times as many may cost a quarter more.
    Constant,
    /// As n, with little beside it: four times as many may cost four and a half times as much. For a search among n
    /// that is cheap beside the work on each.
    Proportional,
    /// As n, or n log n: four times as many may cost six times as much.
    Linear,
    /// As the square of n: four times as many may cost twenty times as much.
    Square,
}

/// System calls that get something from a file.
const READS: [&str; 5] =
    [" sys_read ", " sys_pread64 ", " sys_readv ", " sys_preadv", " sys_openat "];
/// Differences below this are noise: the start of a thread, the growth of a table.
const NOISE: u64 = 300_000;
/// The same for reads.
const FEW_READS: u64 = 40;

/// Runs a program to its end under valgrind, with `input` as its standard input, and counts.
///
/// # Panics
/// When valgrind is not installed (`cargo xtask packages` does that), or the program fails.
#[must_use]
pub fn cost(command: &Command, input: &[u8]) -> Cost {
    counted(command, input).0
}

/// As [`cost`], with what the program printed.
///
/// # Panics
/// As [`cost`].
#[must_use]
pub fn counted(command: &Command, input: &[u8]) -> (Cost, Vec<u8>) {
    dialogue(command, &[(input, b"")])
}

/// How many reads a program makes, and what it printed: as [`counted`], in a fraction of the time, since no instruction is
/// counted.
///
/// # Panics
/// As [`cost`].
#[must_use]
pub fn reads(command: &Command) -> (u64, Vec<u8>) {
    let (log, printed) = traced(&["--tool=none"], command, &[]);
    (read_log(&log).reads, printed)
}

/// As [`counted`], in steps: each says something, and waits until the program has printed an answer
/// that ends so (with an empty one it does not wait). After the last, the input ends.
///
/// # Panics
/// As [`cost`], and when the program ends before it has answered.
#[must_use]
pub fn dialogue(command: &Command, steps: &[(&[u8], &[u8])]) -> (Cost, Vec<u8>) {
    let counter = ["--tool=cachegrind", "--cache-sim=no", "--branch-sim=no"];
    let files = ["--cachegrind-out-file=/dev/null"];
    let (log, printed) = traced(&[&counter[..], &files].concat(), command, steps);
    let cost = read_log(&log);
    assert!(cost.instructions > 0, "valgrind counted nothing");
    (cost, printed)
}

/// Runs a program under a tool of valgrind's: the log with its system calls, and what the program printed.
fn traced(tool: &[&str], command: &Command, steps: &[(&[u8], &[u8])]) -> (String, Vec<u8>) {
    let log = tempfile::NamedTempFile::new().expect("a file for valgrind's log");
    let mut valgrind = Command::new("valgrind");
    valgrind
        .args(tool)
        .arg("--trace-syscalls=yes")
        // Most of what is run is run once: quick translation is worth more than quick code.
        .args(["--vex-guest-chase=no", "--vex-iropt-level=0"])
        .arg(format!("--log-file={}", log.path().display()))
        .arg(without_symbols(Path::new(command.get_program())))
        .args(command.get_args())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => valgrind.env(name, value),
            None => valgrind.env_remove(name),
        };
    }
    if let Some(folder) = command.get_current_dir() {
        valgrind.current_dir(folder);
    }
    let mut child = valgrind.spawn().unwrap_or_else(|e| {
        panic!("valgrind does not start ({e}): run `cargo xtask packages` as root to install it")
    });
    let mut stdin = child.stdin.take().expect("a pipe");
    let mut stdout = child.stdout.take().expect("a pipe");
    let mut printed = Vec::new();
    for (say, answer) in steps {
        let told = std::thread::scope(|scope| {
            let stdin = &mut stdin;
            // A program that does not read all of it is free to do so.
            let told = scope.spawn(move || stdin.write_all(say).is_ok());
            let begun = printed.len();
            let mut block = vec![0; 1 << 16];
            while !printed[begun..].ends_with(answer) {
                let got = stdout.read(&mut block).expect("the program's output");
                assert!(got > 0, "{command:?} ended: {}", printed[begun..].escape_ascii());
                printed.extend_from_slice(&block[..got]);
            }
            told.join().expect("a writer")
        });
        if !told {
            break;
        }
    }
    drop(stdin);
    stdout.read_to_end(&mut printed).expect("the program's output");
    let output = child.wait_with_output().expect("the program's end");
    let text = std::fs::read(log.path()).expect("valgrind's log");
    let text = String::from_utf8_lossy(&text).into_owned();
    assert!(
        output.status.success(),
        "{command:?}: {}\n{}",
        output.status,
        String::from_utf8_lossy(&output.stderr)
    );
    (text, printed)
}

/// A copy of a program without symbols and without what unwinding needs, under the same name: valgrind reads them all
/// when it starts, which takes longer than most of what is counted. A panic in it ends the program, as it should.
fn without_symbols(program: &Path) -> PathBuf {
    let (Some(name), Ok(real)) = (program.file_name(), std::fs::canonicalize(program)) else {
        return program.to_owned();
    };
    let built = std::fs::metadata(&real).and_then(|m| m.modified()).expect("the program's time");
    let key = sapwood_core::Md5::of(format!("{} {built:?}", real.display()).as_bytes()).to_hex();
    let all = library::folder().join("counted");
    std::fs::create_dir_all(&all).expect("a folder");
    let made = library::shared(&format!("counted/{key}"), |folder| {
        // Those of earlier builds.
        for entry in std::fs::read_dir(&all).expect("a folder").flatten() {
            let hours = entry.metadata().and_then(|m| m.modified()).ok();
            let hours = hours.and_then(|t| t.elapsed().ok()).map_or(0, |t| t.as_secs() / 3600);
            if hours > 12 {
                let _ = std::fs::remove_dir_all(entry.path());
            }
        }
        let strip = Command::new("strip")
            .args(["--remove-section=.eh_frame", "--remove-section=.eh_frame_hdr", "-o"])
            .arg(folder.join("program"))
            .arg(&real)
            .status();
        assert!(strip.is_ok_and(|s| s.success()), "strip fails: `cargo xtask packages`");
    });
    let link = made.join(name);
    match std::os::unix::fs::symlink("program", &link) {
        Err(e) if e.kind() != std::io::ErrorKind::AlreadyExists => panic!("{link:?}: {e}"),
        _ => link,
    }
}

fn read_log(text: &str) -> Cost {
    let mut cost = Cost::default();
    for line in text.lines() {
        if READS.iter().any(|name| line.contains(name)) {
            cost.reads += 1;
        } else if let Some((head, number)) = line.split_once("refs:")
            && head.contains("I ")
        {
            let digits: String = number.chars().filter(char::is_ascii_digit).collect();
            cost.instructions = digits.parse().expect("a number of instructions");
        }
    }
    cost
}

impl Cost {
    /// Without what every run costs.
    #[must_use]
    pub const fn less(self, base: Self) -> Self {
        Self {
            instructions: self.instructions.saturating_sub(base.instructions),
            reads: self.reads.saturating_sub(base.reads),
        }
    }
}

/// Demands that `cost_of` grows within `order` from `n` to `4n`; `base` is taken off both. Both are
/// counted at once. Runs that are not long count half as many: a square shows with them, too.
///
/// # Panics
/// When it grows faster, with the figures.
pub fn grows(what: &str, n: u64, order: Order, base: Cost, cost_of: impl Fn(u64) -> Cost + Sync) {
    let n = if crate::long() { n } else { n.div_ceil(2) };
    let (few, many) = std::thread::scope(|scope| {
        let many = scope.spawn(|| cost_of(n * 4));
        (cost_of(n), many.join())
    });
    let many = many.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    let (few, many) = (few.less(base), many.less(base));
    println!("{what}: {n} cost {few:?}, {} cost {many:?}, without {base:?}", n * 4);
    within(what, order, few, many);
}

/// Demands that a cost `few` may become `many` when there is four times as much of what it may grow
/// with.
///
/// # Panics
/// When it grows faster, with the figures.
pub fn within(what: &str, order: Order, few: Cost, many: Cost) {
    let bounds = |few: u64, noise: u64| match order {
        Order::Constant => few + few / 4 + noise,
        Order::Proportional => few * 9 / 2 + noise,
        Order::Linear => few * 6 + noise,
        Order::Square => few * 20 + noise,
    };
    for (unit, few, many, noise) in [
        ("instructions", few.instructions, many.instructions, NOISE),
        ("reads", few.reads, many.reads, FEW_READS),
    ] {
        assert!(
            many <= bounds(few, noise),
            "{what}: {few} {unit}, and {many} for four times as much: that grows too fast"
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_is_read() {
        let log = "SYSCALL[7,1](257) sys_openat ( 4294967196, 0x4(/x), 524288 ) --> [async] ... \n\
                   SYSCALL[7,1](17) sys_pread64 ( 3, 0x1, 4096, 0 ) --> [async] ... \n\
                   SYSCALL[7,1](1) sys_write ( 3, 0x1, 4096 ) --> [async] ... \n\
                   ==7== \n==7== I   refs:      1,213,466\n";
        let cost = read_log(log);
        assert_eq!(cost, Cost { instructions: 1_213_466, reads: 2 });
    }

    #[test]
    fn a_quadratic_cost_is_found() {
        let base = Cost { instructions: 5_000_000, reads: 0 };
        let of = |f: fn(u64) -> u64| move |n| Cost { instructions: f(n) + 5_000_000, reads: n };
        grows("linear", 1000, Order::Linear, base, of(|n| n * 1000));
        grows("constant", 1000, Order::Constant, base, |_| Cost { instructions: 7, reads: 7 });
        let caught = std::panic::catch_unwind(|| {
            grows("quadratic", 1000, Order::Linear, base, of(|n| n * n + n * 100));
        });
        assert!(caught.is_err(), "a quadratic cost passes for a linear one");
        grows("linear", 1000, Order::Proportional, base, of(|n| n * 1000));
        let caught = std::panic::catch_unwind(|| {
            grows("a cheap search", 1000, Order::Proportional, base, of(|n| n * n + n * 8000));
        });
        assert!(caught.is_err(), "a cheap quadratic cost passes for a proportional one");
    }
}
