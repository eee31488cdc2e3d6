//! What the machine offers: counters of processor time and reads, a way to drop its caches, and what
//! one should know of it to judge figures.

use std::fs;
use std::path::{Path, PathBuf};

use sapwood_core::exact::Exact as _;

/// Ticks a second in `/proc`: the same on all machines that Linux runs on today.
const TICKS: f64 = 100.0;

/// How the processor time of a server is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CpuClock {
    /// A control group's counter: exact.
    Group,
    /// `/proc`: in ticks of a hundredth of a second.
    Ticks,
}

impl CpuClock {
    /// How CPU times were measured, as reports print it.
    #[must_use]
    pub const fn about(self) -> &'static str {
        match self {
            Self::Group => "of servers from a control group, exact; of clients from wait4",
            Self::Ticks => "of servers from /proc, in ticks of 10 ms; of clients from wait4",
        }
    }
}

/// A control group that holds one process. It is removed when it is dropped.
#[derive(Debug)]
struct Group {
    folder: PathBuf,
    /// The counter's file, and what makes seconds of it.
    counter: &'static str,
}

/// Where control groups of the first and of the second kind are.
const GROUPS_1: &str = "/sys/fs/cgroup/cpuacct";
const GROUPS_2: &str = "/sys/fs/cgroup";

impl Group {
    /// A group with a process in it, if that is possible here.
    fn of(pid: u32) -> Option<Self> {
        let name = format!("sapwood-bench-{}-{pid}", std::process::id());
        for (parent, counter) in [(GROUPS_1, "cpuacct.usage"), (GROUPS_2, "cpu.stat")] {
            let folder = Path::new(parent).join(&name);
            if !Path::new(parent).join("cgroup.procs").is_file() || fs::create_dir(&folder).is_err()
            {
                continue;
            }
            let group = Self { folder, counter };
            let joined = fs::write(group.folder.join("cgroup.procs"), pid.to_string());
            if joined.is_ok() && group.seconds().is_some() {
                return Some(group);
            }
        }
        None
    }

    fn seconds(&self) -> Option<f64> {
        let text = fs::read_to_string(self.folder.join(self.counter)).ok()?;
        let microseconds = text.lines().find_map(|l| l.strip_prefix("usage_usec "));
        match microseconds {
            Some(text) => text.trim().parse::<f64>().ok().map(|n| n / 1e6),
            None => text.trim().parse::<f64>().ok().map(|n| n / 1e9),
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // It is empty once the process has been waited for; what the system keeps is harmless.
        let _ = fs::remove_dir(&self.folder);
    }
}

/// The counters of one running process.
#[derive(Debug)]
pub(crate) struct Counters {
    pid: u32,
    /// Whether those that it starts count, too.
    with_others: bool,
    group: Option<Group>,
}

impl Counters {
    pub(crate) fn of(pid: u32) -> Self {
        Self { pid, with_others: false, group: Group::of(pid) }
    }

    /// The same of a process and all that it starts from now on.
    pub(crate) fn with_others(pid: u32) -> Self {
        Self { with_others: true, ..Self::of(pid) }
    }

    /// Notes the processes that were started before the first was noted.
    pub(crate) fn gather(&self) {
        let Some(group) = self.group.as_ref().filter(|_| self.with_others) else { return };
        for pid in descendants(self.pid) {
            // A process that has ended meanwhile does not count.
            let _ = fs::write(group.folder.join("cgroup.procs"), pid.to_string());
        }
    }

    pub(crate) const fn clock(&self) -> CpuClock {
        match self.group {
            Some(_) => CpuClock::Group,
            None => CpuClock::Ticks,
        }
    }

    /// Seconds of processor time, user and system, until now.
    pub(crate) fn cpu(&self) -> Option<f64> {
        if let Some(group) = &self.group {
            return group.seconds();
        }
        let seconds = |pid: u32| parse_stat(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?);
        self.sum(seconds)
    }

    /// Read calls until now.
    pub(crate) fn reads(&self) -> Option<u64> {
        self.sum(|pid| field(&format!("/proc/{pid}/io"), "syscr:"))
    }

    /// The peak of its memory, in MiB.
    pub(crate) fn peak_mib(&self) -> Option<f64> {
        self.status("VmHWM:")
    }

    /// Its present memory, in MiB.
    pub(crate) fn resident_mib(&self) -> Option<f64> {
        self.status("VmRSS:")
    }

    fn status(&self, name: &str) -> Option<f64> {
        let kib = self.sum(|pid| field(&format!("/proc/{pid}/status"), name))?;
        Some(f64::from(u32::try_from(kib).ok()?) / 1024.0)
    }

    /// The sum over all processes that count.
    fn sum<N: std::iter::Sum>(&self, of: impl Fn(u32) -> Option<N>) -> Option<N> {
        let own = of(self.pid)?;
        let others = if self.with_others { descendants(self.pid) } else { Vec::new() };
        let others = others.into_iter().filter_map(of);
        Some(std::iter::once(own).chain(others).sum())
    }
}

/// The processes that a process started and that run, and those that these started.
fn descendants(pid: u32) -> Vec<u32> {
    let pids = fs::read_dir("/proc")
        .into_iter()
        .flatten()
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok());
    let parent = |pid: u32| field(&format!("/proc/{pid}/status"), "PPid:");
    let all: Vec<_> =
        pids.filter_map(|pid| Some((pid, u32::try_from(parent(pid)?).ok()?))).collect();
    let (mut found, mut at) = (vec![pid], 0);
    while let Some(of) = found.get(at).copied() {
        at = at.plus(1);
        let own = all.iter().filter(|(pid, parent)| *parent == of && !found.contains(pid));
        let own: Vec<u32> = own.map(|(pid, _)| *pid).collect();
        found.extend(own);
    }
    found.remove(0);
    found
}

/// Processor seconds out of `/proc/PID/stat`, whose second field may hold anything in parentheses.
fn parse_stat(stat: &str) -> Option<f64> {
    let (_, rest) = stat.rsplit_once(')')?;
    let mut fields = rest.split_ascii_whitespace().skip(11);
    let (user, system) = (fields.next()?.parse::<f64>().ok()?, fields.next()?.parse::<f64>().ok()?);
    Some((user + system) / TICKS)
}

/// The number behind a name at the beginning of a line.
fn field(path: &str, name: &str) -> Option<u64> {
    let text = fs::read_to_string(path).ok()?;
    let rest = text.lines().find_map(|l| l.strip_prefix(name))?;
    rest.split_ascii_whitespace().next()?.parse().ok()
}

/// Drops what the system has cached of files; an error says why it cannot.
///
/// # Errors
/// When this is not Linux, or not root.
pub fn drop_caches() -> std::io::Result<()> {
    rustix::fs::sync();
    fs::write("/proc/sys/vm/drop_caches", "3")
}

/// A description of the machine: name and value.
#[must_use]
pub fn about() -> Vec<(String, String)> {
    let mut out = Vec::new();
    let mut say = |name: &str, value: String| {
        if !value.is_empty() {
            out.push((name.to_owned(), value));
        }
    };
    let cpuinfo = read_sysctl("/proc/cpuinfo");
    let model = cpuinfo.lines().find_map(|l| l.strip_prefix("model name"));
    let model = model.and_then(|l| l.split_once(':')).map_or("", |(_, name)| name.trim());
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    say("processor", format!("{model}, {cores} in use").trim_start_matches(", ").to_owned());
    if let Some(kib) = field("/proc/meminfo", "MemTotal:") {
        say("memory", format!("{} MiB", kib.checked_div(1024).unwrap_or(0)));
    }
    let release = read_sysctl("/proc/sys/kernel/osrelease");
    say("system", format!("Linux {}", release.trim()));
    say("load at the start", load());
    out
}

/// The content of a system file; empty where it does not exist.
fn read_sysctl(file: &str) -> String {
    fs::read_to_string(file).unwrap_or_default()
}

/// The load average of the last minute.
fn load() -> String {
    read_sysctl("/proc/loadavg").split_ascii_whitespace().next().unwrap_or("").to_owned()
}

/// Half of the machine's memory, in MiB: the largest cache that a test may ask for.
pub(crate) fn half_of_memory() -> u64 {
    let kib = field("/proc/meminfo", "MemTotal:").unwrap_or(1 << 20);
    kib.checked_div(2048).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processor_time_of_a_line() {
        let line = "7 (a) b) R 1 2 3 4 5 6 7 8 9 10 150 50 0 0";
        assert_eq!(parse_stat(line), Some(2.0));
        assert_eq!(parse_stat("nothing"), None);
    }

    #[test]
    fn our_own_counters() {
        // Without joining a group: that would move the test runner.
        let own = Counters { pid: std::process::id(), with_others: false, group: None };
        assert!(own.cpu().unwrap() >= 0.0);
        assert!(own.resident_mib().unwrap() > 0.0);
        assert!(own.peak_mib().unwrap() >= own.resident_mib().unwrap() - 1.0);
        assert_eq!(own.clock(), CpuClock::Ticks);
        assert!(about().iter().any(|(name, _)| name == "system"));
    }
}
