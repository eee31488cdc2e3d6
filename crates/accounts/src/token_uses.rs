//! When each token was used last: a file beside that of the accounts, with a line `ID TIME` for each token. It says
//! nothing about who may log in, and may be deleted at any moment.
//!
//! Cost: a token that is used all the time is written once a minute. Servers that share the file keep the later times of
//! both.

use std::collections::BTreeMap;
use std::fs;
use std::sync::Mutex;
use std::sync::PoisonError;

use sapwood_core::date::{MICROS_PER_SEC, Timestamp};

use crate::file::{AccountsFile, MAX_FILE, replace};

/// How old the time in the file may be, in microseconds.
const EXACT: i64 = 60 * MICROS_PER_SEC;

/// When the tokens of a file of accounts were used last.
#[derive(Debug)]
pub struct TokenUses {
    file: AccountsFile,
    known: Mutex<BTreeMap<String, Timestamp>>,
    /// Held by the one that writes.
    writing: Mutex<()>,
}

impl TokenUses {
    /// The uses of the tokens of a file of accounts.
    #[must_use]
    pub fn of(file: &AccountsFile) -> Self {
        Self { file: file.clone(), known: Mutex::default(), writing: Mutex::default() }
    }

    /// Whether a use of the token should be written: the last one was more than a minute ago. Quick.
    #[must_use]
    pub fn is_due(&self, id: &str, now: Timestamp) -> bool {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(id).is_none_or(|at| now.0.saturating_sub(at.0) >= EXACT)
    }

    /// Writes that a token was used, if that is due.
    ///
    /// # Errors
    /// When the file cannot be written: that is no reason to keep the user out.
    pub fn note(&self, id: &str, now: Timestamp) -> std::io::Result<()> {
        if !self.is_due(id, now) {
            return Ok(());
        }
        // Other requests ask `is_due` and do not wait for the disk.
        let _writer = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        // Another request may have written it meanwhile.
        if !self.is_due(id, now) {
            return Ok(());
        }
        // Also where it fails: then it is tried again in a minute, not for each request.
        let known = {
            let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
            known.insert(id.to_owned(), now);
            known.clone()
        };
        let mut all = self.read();
        for (id, at) in known {
            let entry = all.entry(id).or_insert(at);
            *entry = (*entry).max(at);
        }
        let text: String = all.iter().map(|(id, at)| format!("{id} {at}\n")).collect();
        replace(&self.file.beside("uses"), text.as_bytes())
    }

    /// When each token was used last, by [`crate::Token::id`], as the file has it. Lines that are not understood are left
    /// out.
    #[must_use]
    pub fn read(&self) -> BTreeMap<String, Timestamp> {
        let path = self.file.beside("uses");
        let is_small = fs::metadata(&path).is_ok_and(|found| found.len() <= MAX_FILE);
        let text =
            if is_small { fs::read_to_string(&path).unwrap_or_default() } else { String::new() };
        let lines = text.lines().filter_map(|line| {
            let (id, time) = line.split_once(' ')?;
            Some((id.to_owned(), Timestamp::parse(time.as_bytes()).ok()?))
        });
        lines.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_use_is_written_once_a_minute_and_the_later_time_counts() {
        let folder = tempfile::tempdir().unwrap();
        let file = AccountsFile::at(&folder.path().join("accounts.toml"));
        let (one, two) = (TokenUses::of(&file), TokenUses::of(&file));
        let at = |seconds: i64| Timestamp(seconds * MICROS_PER_SEC);
        assert!(one.is_due("a", at(0)) && one.read().is_empty());
        one.note("a", at(100)).unwrap();
        assert!(!one.is_due("a", at(159)) && one.is_due("a", at(160)));
        one.note("a", at(130)).unwrap();
        assert_eq!(one.read()["a"], at(100));
        two.note("b", at(500)).unwrap();
        two.note("a", at(50)).unwrap();
        assert_eq!((two.read()["a"], two.read()["b"]), (at(100), at(500)));
        one.note("a", at(700)).unwrap();
        assert_eq!((two.read()["a"], two.read()["b"]), (at(700), at(500)));
        fs::write(file.beside("uses"), "nonsense\na soon\n\u{1}\nb 2026-11-27T05:00:00.000000Z\n")
            .unwrap();
        assert_eq!(one.read().len(), 1);
    }
}
