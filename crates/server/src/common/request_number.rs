//! Numbers of requests: in the lines of logs, and in the error replies of http, so that a reply leads to its lines.
//!
//! Invariant: a number says nothing of other requests: neither how many there were, nor when the server started.

use std::fmt;
use std::hash::{BuildHasher as _, RandomState};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// The number of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestNumber(u64);

impl fmt::Display for RequestNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // With a random key: only what shows a number pays for hiding the count.
        static KEY: OnceLock<RandomState> = OnceLock::new();
        write!(f, "{:016x}", KEY.get_or_init(RandomState::new).hash_one(self.0))
    }
}

/// What gives out the numbers.
#[derive(Debug, Default)]
pub struct RequestNumbers(AtomicU64);

impl RequestNumbers {
    /// The next one.
    #[must_use]
    pub fn next(&self) -> RequestNumber {
        RequestNumber(self.0.fetch_add(1, Ordering::Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_another_one_of_the_same_length() {
        let numbers = RequestNumbers::default();
        let mut all: Vec<String> = (0..1000).map(|_| numbers.next().to_string()).collect();
        assert!(all.iter().all(|number| number.len() == 16), "{all:?}");
        all.sort();
        all.dedup();
        assert_eq!(all.len(), 1000);
    }
}
