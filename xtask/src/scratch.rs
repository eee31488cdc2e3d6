//! Where the tests keep temporary files: in memory, if there is enough of it.
//!
//! The tests make thousands of repositories and working copies, and every commit asks the disk to have
//! written everything; on a disk they spend most of their time so. Invariant: the folder is removed
//! when the tests are over, and one that a killed run left is removed by the next.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A file system in memory.
const MEMORY: &str = "/dev/shm";
/// What our folders begin with; the number of the process follows.
const PREFIX: &str = "sapwood-tests-";
/// So much must be free, in KiB: several times what the tests were seen to need at once.
const ENOUGH: u64 = 4 << 20;

/// A folder in memory, or none: then the tests use the usual place.
pub(crate) struct Scratch(Option<PathBuf>);

impl Scratch {
    /// None where `TMPDIR` says another place, or memory is short.
    pub(crate) fn new() -> Self {
        if std::env::var_os("TMPDIR").is_some() || !is_roomy() {
            return Self(None);
        }
        remove_left_over();
        let folder = Path::new(MEMORY).join(format!("{PREFIX}{}", std::process::id()));
        if fs::create_dir(&folder).is_err() {
            return Self(None);
        }
        eprintln!("xtask: the tests keep temporary files in {}", folder.display());
        Self(Some(folder))
    }

    /// The folder.
    pub(crate) fn folder(&self) -> Option<&Path> {
        self.0.as_deref()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if let Some(folder) = &self.0 {
            let _ = fs::remove_dir_all(folder);
        }
    }
}

/// Whether both the file system and the machine have enough left.
fn is_roomy() -> bool {
    let df = Command::new("df").args(["-Pk", MEMORY]).output();
    let on_disk = df.ok().and_then(|out| available(&String::from_utf8_lossy(&out.stdout)));
    let info = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let in_memory = info.lines().find_map(|line| line.strip_prefix("MemAvailable:"));
    let in_memory = in_memory.and_then(|rest| rest.trim().trim_end_matches(" kB").parse().ok());
    [on_disk, in_memory].into_iter().all(|kib: Option<u64>| kib.is_some_and(|kib| kib >= ENOUGH))
}

/// The column `Available` of what `df -Pk` prints.
fn available(df: &str) -> Option<u64> {
    df.lines().nth(1)?.split_whitespace().nth(3)?.parse().ok()
}

/// Removes the folders of runs that are no more.
fn remove_left_over() {
    for entry in fs::read_dir(MEMORY).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let Some(process) = name.to_str().and_then(|name| name.strip_prefix(PREFIX)) else {
            continue;
        };
        if process.parse::<u32>().is_ok() && !Path::new("/proc").join(process).exists() {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_df_says() {
        let said = "Filesystem     1024-blocks  Used Available Capacity Mounted on\n\
                    tmpfs             25165824 16384  25149440       1% /dev/shm\n";
        assert_eq!(available(said), Some(25_149_440));
        assert_eq!(available("df: /dev/shm: No such file or directory\n"), None);
    }
}
