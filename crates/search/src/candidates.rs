//! What an index finds for a query: what may have the words, and nothing else has.
//!
//! Invariant: candidates are handed out one by one, until the asker has enough; what they are, and whether the asker may see
//! them, is for the asker to check.

use std::ops::ControlFlow;

use rusqlite::params_from_iter;
use rusqlite::types::Value;
use sapwood_core::exact::{Exact as _, signed};
use sapwood_core::paths::FsPathBuf;
use sapwood_core::{FsPath, Revnum};

use crate::error::Result;
use crate::grams::expression;
use crate::history::ROWS;
use crate::index::{Index, number};
use crate::query::Query;

/// Paths that are compared to find the best ones.
const MOST_PATHS: usize = 20_000;
/// Names that are looked at for letters in the right order.
const MOST_NAMES: usize = 200_000;

/// A path that has the words in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathCandidate {
    /// The path.
    pub path: FsPathBuf,
    /// Whether it was a directory.
    pub is_dir: bool,
}

/// Takes a candidate, and says whether to go on.
type Take<'t, T, E> = dyn FnMut(T) -> std::result::Result<ControlFlow<()>, E> + 't;

/// The answers of an index to one query.
#[derive(Clone, Copy, Debug)]
pub struct Candidates<'a> {
    /// The index.
    pub index: &'a Index,
    /// The query.
    pub query: &'a Query,
}

impl Candidates<'_> {
    /// The paths that have all words, the best first: where the name itself has them, then short ones. Where few have, also
    /// names that have the letters of the words in their order.
    ///
    /// # Errors
    /// Of the database.
    pub fn paths(&self) -> Result<Vec<PathCandidate>> {
        let mut found = self.substring_paths()?;
        if found.len() < 10 && !self.query.words().is_empty() && !self.query.has_patterns() {
            let near = self.near_paths()?;
            let new = near.into_iter().filter(|one| !found.contains(one)).collect::<Vec<_>>();
            found.extend(new);
        }
        Ok(found)
    }

    fn substring_paths(&self) -> Result<Vec<PathCandidate>> {
        let select = "SELECT path.path, path.is_dir FROM path";
        let (sql, values) = match expression(&self.query.letters()) {
            Some(groups) => {
                let join = "JOIN path_grams ON path_grams.rowid = path.id";
                let sql = format!("{select} {join} WHERE path_grams MATCH ?1 LIMIT {MOST_PATHS}");
                (sql, vec![Value::from(groups)])
            }
            None => (format!("{select} LIMIT {MOST_NAMES}"), Vec::new()),
        };
        let mut found = self.read_paths(&sql, values, |path| self.query.is_in(path.as_str()))?;
        found.truncate(MOST_PATHS);
        found.sort_by_cached_key(|one| {
            let is_in_name = self.query.is_in(one.path.name());
            (!is_in_name, one.path.as_str().len(), one.path.clone())
        });
        Ok(found)
    }

    fn near_paths(&self) -> Result<Vec<PathCandidate>> {
        let sql = format!("SELECT path, is_dir FROM path LIMIT {MOST_NAMES}");
        let mut found = self.read_paths(&sql, Vec::new(), |path| {
            self.query.words().iter().all(|word| has_in_order(path.name(), word))
        })?;
        found.sort_by_cached_key(|one| (one.path.name().len(), one.path.clone()));
        found.truncate(100);
        Ok(found)
    }

    fn read_paths(
        &self,
        sql: &str,
        values: Vec<Value>,
        is_wanted: impl Fn(&FsPath) -> bool,
    ) -> Result<Vec<PathCandidate>> {
        self.index.run(|connection| {
            let mut found = Vec::new();
            let mut statement = connection.prepare_cached(sql)?;
            let mut rows = statement.query(params_from_iter(values))?;
            while let Some(row) = rows.next()? {
                let path = FsPath::trusted(row.get_ref(0)?.as_str()?);
                // The root has no name.
                if !path.is_root() && self.query.allows_path(path) && is_wanted(path) {
                    found.push(PathCandidate { path: path.to_owned(), is_dir: row.get(1)? });
                }
            }
            Ok(found)
        })
    }

    /// The files whose text may have all words, from behind a path on.
    ///
    /// # Errors
    /// Of the database, and of `take`.
    pub fn texts<E: From<crate::Error>>(
        &self,
        after: Option<&FsPath>,
        take: &mut Take<'_, FsPathBuf, E>,
    ) -> std::result::Result<(), E> {
        self.nodes("text_grams", after, take)
    }

    /// The same for properties, also of directories.
    ///
    /// # Errors
    /// Of the database, and of `take`.
    pub fn properties<E: From<crate::Error>>(
        &self,
        after: Option<&FsPath>,
        take: &mut Take<'_, FsPathBuf, E>,
    ) -> std::result::Result<(), E> {
        self.nodes("prop_grams", after, take)
    }

    /// The rows of changed lines that may have all words, youngest first, up to a row of a revision: each has some of the
    /// files that a revision changed ([`crate::positions`]).
    ///
    /// # Errors
    /// Of the database, and of `take`.
    pub fn changes<E: From<crate::Error>>(
        &self,
        up_to: Option<(Revnum, u64)>,
        take: &mut Take<'_, (Revnum, u64), E>,
    ) -> std::result::Result<(), E> {
        let (first, last) = self.query.revisions().unwrap_or((0, u64::MAX));
        let most = u64::MAX >> 16;
        let end = |revision: u64| revision.min(most).times(ROWS).plus(ROWS.minus(1));
        let from = up_to.map(|(revision, row)| revision.0.min(most).times(ROWS).plus(row));
        let last = end(last).min(from.unwrap_or(u64::MAX));
        let groups = expression(&self.query.letters());
        let matching = if groups.is_some() { "AND change_grams MATCH ?3" } else { "" };
        let sql = format!(
            "SELECT rowid FROM change_grams WHERE rowid >= ?1 AND rowid <= ?2 {matching} ORDER BY rowid DESC"
        );
        let bounds = [first.min(most).times(ROWS), last].map(|bound| Value::from(signed(bound)));
        let values = bounds.into_iter().chain(groups.map(Value::from)).collect();
        let read = |row: &rusqlite::Row<'_>| {
            let key = number(row, 0)?;
            Ok(Some((Revnum(key / ROWS), key % ROWS)))
        };
        self.each(&sql, values, read, take)
    }

    /// The paths whose row in a table may have all words, from behind a path on.
    fn nodes<E: From<crate::Error>>(
        &self,
        table: &str,
        after: Option<&FsPath>,
        take: &mut Take<'_, FsPathBuf, E>,
    ) -> std::result::Result<(), E> {
        let from = match after {
            Some(path) => self.index.id(path)?.unwrap_or(0),
            None => 0,
        };
        let groups = expression(&self.query.letters());
        let tables = format!("FROM {table} JOIN path ON path.id = {table}.rowid");
        let matching =
            if groups.is_some() { format!("AND {table} MATCH ?2") } else { String::new() };
        let sql = format!(
            "SELECT path.path {tables} WHERE {table}.rowid > ?1 {matching} ORDER BY {table}.rowid"
        );
        let values = std::iter::once(Value::from(signed(from)));
        self.each(
            &sql,
            values.chain(groups.map(Value::from)).collect(),
            |row| {
                let path = FsPath::trusted(row.get_ref(0)?.as_str()?);
                Ok(self.query.allows_path(path).then(|| path.to_owned()))
            },
            take,
        )
    }

    /// The revisions whose message or author may have all words, youngest first, before a revision.
    ///
    /// # Errors
    /// Of the database, and of `take`.
    pub fn revisions<E: From<crate::Error>>(
        &self,
        before: Option<Revnum>,
        take: &mut Take<'_, Revnum, E>,
    ) -> std::result::Result<(), E> {
        let (first, last) = self.query.revisions().unwrap_or((0, u64::MAX >> 1));
        let last = before.map_or(last, |before| last.min(before.0.saturating_sub(1)));
        let groups = expression(&self.query.letters());
        let matching = if groups.is_some() { "AND message_grams MATCH ?3" } else { "" };
        let sql = format!(
            "SELECT rowid FROM message_grams WHERE rowid >= ?1 AND rowid <= ?2 {matching} ORDER BY rowid DESC"
        );
        let bounds = [first.max(1), last].map(|bound| Value::from(signed(bound)));
        let values = bounds.into_iter().chain(groups.map(Value::from)).collect();
        self.each(&sql, values, |row| Ok(Some(Revnum(number(row, 0)?))), take)
    }

    fn each<T, E: From<crate::Error>>(
        &self,
        sql: &str,
        values: Vec<Value>,
        read: impl Fn(&rusqlite::Row<'_>) -> rusqlite::Result<Option<T>>,
        take: &mut Take<'_, T, E>,
    ) -> std::result::Result<(), E> {
        let prepared = self.index.connection.prepare(sql);
        let mut statement = self.index.run(|_| prepared)?;
        let mut rows = self.index.run(|_| statement.query(params_from_iter(values)))?;
        loop {
            let next = self.index.run(|_| match rows.next()? {
                Some(row) => read(row).map(Some),
                None => Ok(None),
            })?;
            match next {
                None => return Ok(()),
                Some(None) => {}
                Some(Some(candidate)) => {
                    if take(candidate)?.is_break() {
                        return Ok(());
                    }
                }
            }
        }
    }
}

/// Whether a name has the letters of a word, which are small ones, in their order.
fn has_in_order(name: &str, word: &str) -> bool {
    if name.is_ascii() {
        let mut letters = name.bytes().map(|letter| letter.to_ascii_lowercase());
        return word.bytes().all(|wanted| letters.any(|letter| letter == wanted));
    }
    let mut letters = name.chars().flat_map(char::to_lowercase);
    word.chars().all(|wanted| letters.any(|letter| letter == wanted))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_in_order() {
        assert!(has_in_order("update_editor.rs", "upded") && has_in_order("ABC", "ac"));
        assert!(!has_in_order("abc", "ca") && !has_in_order("abc", "abcd"));
        assert!(has_in_order("ÄÖÜ.rs", "äüs") && !has_in_order("abc", "ä"));
    }
}
