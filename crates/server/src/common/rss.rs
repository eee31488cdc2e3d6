//! How much memory this process takes, where the system says it.

use rustix::param::page_size;

use crate::platform;

/// Bytes of memory that belong to this process now; `None` where the system does not report them.
pub(crate) fn resident() -> Option<usize> {
    pages(&platform::memory_numbers()?)?.checked_mul(page_size())
}

/// The second number of a line of `statm`: pages in memory.
fn pages(statm: &str) -> Option<usize> {
    statm.split(' ').nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_number_counts() {
        assert_eq!(pages("15422 1083 905 12 0 480 0\n"), Some(1083));
        assert_eq!(pages("15422"), None);
        assert_eq!(pages(""), None);
    }

    #[test]
    fn this_process_takes_some() {
        if std::path::Path::new("/proc/self/statm").exists() {
            assert!(resident().is_some_and(|bytes| bytes > 100_000));
        }
    }
}
