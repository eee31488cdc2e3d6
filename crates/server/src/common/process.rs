//! What this process takes of the machine, where the system says it.

use rustix::param::{clock_ticks_per_second, page_size};
use rustix::process::{Resource, getrlimit};
use sapwood_core::len64;

use crate::platform;

/// What the process takes now.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Process {
    /// Bytes of memory that belong to it.
    pub(crate) resident: u64,
    /// Bytes of its address space.
    pub(crate) virtual_size: u64,
    pub(crate) threads: u64,
    /// Processor time, of the program and of the system for it.
    pub(crate) cpu_seconds: f64,
    pub(crate) open_files: u64,
    /// The limit of open files.
    pub(crate) most_files: u64,
}

impl Process {
    /// `None` where the system does not say it.
    pub(crate) fn read() -> Option<Self> {
        let numbers = Numbers::parse(&platform::process_numbers()?)?;
        let tick = u32::try_from(clock_ticks_per_second()).map_or(100.0, f64::from);
        Some(Self {
            resident: numbers.pages.checked_mul(len64(page_size()))?,
            virtual_size: numbers.virtual_size,
            threads: numbers.threads,
            cpu_seconds: u32::try_from(numbers.ticks).map_or(f64::MAX, f64::from) / tick,
            open_files: platform::open_files()?,
            most_files: getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX),
        })
    }
}

/// What a line of `stat` has.
#[derive(Debug, PartialEq, Eq)]
struct Numbers {
    ticks: u64,
    threads: u64,
    virtual_size: u64,
    pages: u64,
}

impl Numbers {
    fn parse(stat: &str) -> Option<Self> {
        // The name of the program, in parentheses, may have spaces and parentheses.
        let (_, rest) = stat.rsplit_once(')')?;
        let fields: Vec<&str> = rest.split_whitespace().collect();
        // The third field of the line is the first here.
        let field = |number: usize| fields.get(number.checked_sub(3)?)?.parse::<u64>().ok();
        Some(Self {
            ticks: field(14)?.checked_add(field(15)?)?,
            threads: field(20)?,
            virtual_size: field(23)?,
            pages: field(24)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_counted_after_the_name() {
        let line = "12 (a ) b) S 1 2 3 4 5 6 7 8 9 10 140 15 16 17 18 19 7 21 22 4096 24 25\n";
        let numbers = Numbers { ticks: 155, threads: 7, virtual_size: 4096, pages: 24 };
        assert_eq!(Numbers::parse(line), Some(numbers));
        assert_eq!(Numbers::parse("12 (a) S 1"), None);
    }

    #[test]
    fn this_process_takes_some() {
        let process = Process::read().unwrap();
        assert!(process.resident > 100_000 && process.threads > 0 && process.open_files > 2);
    }
}
