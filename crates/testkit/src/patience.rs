//! Programs with a time limit, and what all tests wait for when it is over.
//!
//! Invariant: the limit counts moments in which this process could run, not the clock's: a machine
//! that holds all of them still makes no test late.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::io::Read;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use crate::compare::Output;

/// How long a moment is.
const MOMENT: Duration = Duration::from_millis(20);
/// Moments that make a second.
const MOMENTS: u64 = 50;

/// Waits for what takes several seconds, a moment at a time: calls `done` until it says so, or
/// until this process could run for so long. Whether it did.
pub fn wait(seconds: u64, mut done: impl FnMut() -> bool) -> bool {
    for _ in 0..seconds * MOMENTS {
        if done() {
            return true;
        }
        thread::sleep(MOMENT);
    }
    done()
}

/// A program that did not end in time.
#[derive(Debug)]
pub struct Late {
    /// The command, the processes that were looked at, what they wait for, and all locks.
    pub report: String,
    /// Processes that hold locks which others wait for.
    pub blockers: Vec<u32>,
}

/// Runs a command to its end, but no longer than `seconds`: then it is killed, after a look at it,
/// at `others` (with their children), and at the locks on files of `folder`.
///
/// # Errors
/// What was found when it took too long.
///
/// # Panics
/// If it cannot be started.
pub fn run(
    command: &mut Command,
    seconds: u64,
    others: &[u32],
    folder: &Path,
) -> Result<Output, Late> {
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap_or_else(|e| panic!("{command:?}: {e}"));
    let drain = |mut pipe: Box<dyn Read + Send>| {
        thread::spawn(move || {
            let mut bytes = Vec::new();
            pipe.read_to_end(&mut bytes).map(|_| bytes).unwrap_or_default()
        })
    };
    let stdout = drain(Box::new(child.stdout.take().unwrap()));
    let stderr = drain(Box::new(child.stderr.take().unwrap()));
    let mut status = None;
    wait(seconds, || {
        status = child.try_wait().unwrap();
        status.is_some()
    });
    let Some(status) = status else {
        let pids: Vec<u32> = others.iter().copied().chain([child.id()]).collect();
        let mut late = look(&pids, folder);
        late.report = format!("{command:?} did not end in {seconds} s\n{}", late.report);
        let _ = child.kill();
        let _ = child.wait();
        return Err(late);
    };
    let code = status.code().unwrap_or(-1);
    Ok(Output { code, stdout: stdout.join().unwrap(), stderr: stderr.join().unwrap() })
}

/// Looks at processes with their children, and at the locks on files below `folder`.
fn look(pids: &[u32], folder: &Path) -> Late {
    let mut report = String::new();
    let mut todo = pids.to_vec();
    while let Some(pid) = todo.pop() {
        let proc = PathBuf::from(format!("/proc/{pid}"));
        let text = |name: &str| fs::read_to_string(proc.join(name)).unwrap_or_default();
        let command = text("cmdline").replace('\0', " ");
        let _ = writeln!(report, "== {pid}: {command}");
        for task in fs::read_dir(proc.join("task")).into_iter().flatten().flatten() {
            let text = |name: &str| fs::read_to_string(task.path().join(name)).unwrap_or_default();
            let (stack, call) = (text("stack"), text("syscall"));
            let frames: Vec<&str> = stack.lines().take(4).collect();
            let _ = writeln!(report, "  {} {}: {}", text("wchan"), call.trim(), frames.join(" "));
            let children = text("children");
            todo.extend(children.split_whitespace().filter_map(|pid| pid.parse::<u32>().ok()));
        }
        for fd in fs::read_dir(proc.join("fd")).into_iter().flatten().flatten() {
            if let Ok(to) = fs::read_link(fd.path()) {
                let _ = writeln!(report, "  fd {:?} {}", fd.file_name(), to.display());
            }
        }
        let trace = Command::new("gdb")
            .args(["-batch", "-nx", "-ex", "thread apply all bt 25", "-p", &pid.to_string()])
            .stdin(Stdio::null())
            .output();
        if let Ok(trace) = trace {
            report += &String::from_utf8_lossy(&trace.stdout);
        }
    }
    report += "== sockets with something in them\n";
    for line in fs::read_to_string("/proc/net/tcp").unwrap_or_default().lines() {
        if line.split_whitespace().nth(4).is_some_and(|queues| queues != "00000000:00000000") {
            let _ = writeln!(report, "{line}");
        }
    }
    let mut names = BTreeMap::new();
    name_inodes(folder, &mut names, 0);
    let locks = fs::read_to_string("/proc/locks").unwrap_or_default();
    report += "== locks\n";
    let mut blockers = Vec::new();
    let mut holder = None;
    for line in locks.lines() {
        let words: Vec<&str> = line.split_whitespace().filter(|word| *word != "->").collect();
        let inode = words.get(5).and_then(|id| id.rsplit(':').next()?.parse::<u64>().ok());
        let Some(name) = inode.and_then(|inode| names.get(&inode)) else { continue };
        let pid = words.get(4).and_then(|pid| pid.parse::<u32>().ok());
        // A line with an arrow is of who waits for the lock above.
        if line.contains("->") {
            blockers.extend(holder);
        } else {
            holder = pid;
        }
        let _ = writeln!(report, "{line} {}", name.display());
    }
    blockers.sort_unstable();
    blockers.dedup();
    Late { report, blockers }
}

/// The names of files by their inode numbers, two levels deep: lock files and databases.
fn name_inodes(folder: &Path, names: &mut BTreeMap<u64, PathBuf>, depth: u32) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let Ok(meta) = entry.metadata() else { continue };
        if meta.is_file() {
            names.insert(meta.ino(), entry.path());
        } else if meta.is_dir() && depth < 2 {
            name_inodes(&entry.path(), names, depth + 1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn in_time_and_late() {
        let dir = tempfile::tempdir().unwrap();
        let mut quick = Command::new("sh");
        quick.args(["-c", "echo out; echo err >&2; exit 3"]);
        let done = run(&mut quick, 60, &[], dir.path()).unwrap();
        assert_eq!(
            (done.code, done.stdout_text(), done.stderr_text()),
            (3, "out\n".into(), "err\n".into())
        );
        let late = run(Command::new("sleep").arg("100"), 0, &[], dir.path()).unwrap_err();
        assert!(late.report.contains("sleep"), "{}", late.report);
        assert!(late.blockers.is_empty());
    }
}
