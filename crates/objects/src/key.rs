//! Names of objects.
//!
//! Invariant: a [`Key`] is the same text in every store, and a file's path below the folder of one: it has no part
//! that a file system could understand otherwise.

use std::fmt;

use crate::error::{Error, Result};
use crate::token::Token;

/// The most bytes of a key. S3 takes 1024, with what stands before it in the bucket.
const MAX: usize = 512;

/// The name of an object in a store: parts of ASCII letters, digits, `-`, `_` and `.`, with `/` between them.
/// No part is empty or begins with a dot.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key(String);

impl Key {
    /// A key of this text.
    ///
    /// # Errors
    /// [`Error::BadKey`]
    pub fn new(text: impl Into<String>) -> Result<Self> {
        let text = text.into();
        let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        let good =
            |part: &str| !part.is_empty() && !part.starts_with('.') && part.chars().all(allowed);
        if text.len() > MAX || !text.split('/').all(good) {
            return Err(Error::BadKey(text));
        }
        Ok(Self(text))
    }

    /// The key of an entry: numbers in the order of their keys.
    ///
    /// # Errors
    /// [`Error::BadKey`] when `log` is too long for one more part.
    pub fn slot(log: &Self, slot: u64) -> Result<Self> {
        Self::new(format!("{log}/{slot:016x}"))
    }

    /// The number of the entry that this is the key of in a log.
    #[must_use]
    pub fn slot_in(&self, log: &Self) -> Option<u64> {
        let name = self.0.strip_prefix(log.as_str())?.strip_prefix('/')?;
        let digits = name.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
        (name.len() == 16 && digits).then(|| u64::from_str_radix(name, 16).ok())?
    }

    /// Whether it is the name of a log: stores that keep logs elsewhere than objects go by that.
    #[must_use]
    pub fn is_log(&self) -> bool {
        matches!(self.0.as_str(), "log" | "proof") || self.0.ends_with("-log")
    }

    /// The log and the number of the entry that this is the key of, if it is one.
    #[must_use]
    pub fn as_entry(&self) -> Option<(Self, u64)> {
        let log = Self(self.0.split_once('/')?.0.to_owned());
        let slot = self.slot_in(&log)?;
        log.is_log().then_some((log, slot))
    }

    /// The key of what only this token names, in a part.
    ///
    /// # Errors
    /// [`Error::BadKey`]
    pub fn of_token(part: &str, token: Token) -> Result<Self> {
        Self::new(format!("{part}/{token}"))
    }

    /// Whether the part before its first `/` is this one.
    #[must_use]
    pub fn is_in(&self, part: &str) -> bool {
        self.0.split_once('/').is_some_and(|(first, _)| first == part)
    }

    /// Its text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_file_system_could_understand_otherwise_is_no_key() {
        for good in ["a", "log/0000000000000000", "big/f00-1_2.x/Y"] {
            assert_eq!(Key::new(good).unwrap().as_str(), good);
        }
        let long = "x".repeat(MAX + 1);
        for bad in
            ["", "/", "/a", "a/", "a//b", ".", "a/..", "a/.b", "a b", "a\\b", "ä", "a\0", &long]
        {
            assert!(matches!(Key::new(bad), Err(Error::BadKey(_))), "{bad}");
        }
    }

    #[test]
    fn entries_are_known_by_their_keys() {
        let key = |text: &str| Key::new(text).unwrap();
        for (log, slot) in [("log", 0), ("proof", 7), ("trial-log", u64::MAX)] {
            let entry = Key::slot(&key(log), slot).unwrap();
            assert_eq!(entry.as_entry(), Some((key(log), slot)));
        }
        for other in ["ckpt/0000000000000000", "log/x", "log", "big/log/0000000000000000"] {
            assert_eq!(key(other).as_entry(), None, "{other}");
        }
    }

    #[test]
    fn slots_are_in_order_and_found_again() {
        let log = Key::new("log").unwrap();
        let mut last = None;
        for slot in [0, 1, 9, 10, 255, 1 << 40, u64::MAX] {
            let key = Key::slot(&log, slot).unwrap();
            assert_eq!(key.slot_in(&log), Some(slot));
            assert!(last < Some(key.clone()), "{key}");
            last = Some(key);
        }
        for other in
            ["log/1", "log/000000000000000G", "logs/0000000000000000", "log/000000000000000A"]
        {
            assert_eq!(Key::new(other).unwrap().slot_in(&log), None, "{other}");
        }
    }
}
