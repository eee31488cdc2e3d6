//! Which representations entries have brought: tables of those of older entries, and the rows of newer ones.
//!
//! Invariant: the tables are of entries from the first on, without a gap, each of those behind the one before; a row of an entry behind the last
//! table is here, and no other is.

use std::collections::BTreeMap;

use sapwood_core::exact::Exact as _;
use sapwood_core::{Sha1, len64};
use sapwood_objects::Key;

use crate::lines::Object;
use crate::reps::Rep;
use crate::table::Form;

/// Where the tables are in a store.
pub(crate) const TABLES: &str = "reps";

/// A table of representations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RepTable {
    /// The first entry behind those whose representations it has.
    pub end: u64,
    /// Where its parts are.
    pub form: Form,
    /// Its bytes.
    pub data: Object,
    /// The entry that says so.
    pub slot: u64,
}

impl RepTable {
    /// Where it is in a store.
    ///
    /// # Errors
    /// As [`Key::of_token`].
    pub fn key(&self) -> sapwood_objects::Result<Key> {
        Key::of_token(TABLES, self.data.token)
    }
}

/// All representations that entries have brought.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RepIndex {
    /// By the first entry.
    tables: BTreeMap<u64, RepTable>,
    /// Rows that are in none, and their entries.
    rows: BTreeMap<Sha1, (u64, Rep)>,
}

impl RepIndex {
    /// The first entry behind those whose representations are in tables.
    #[must_use]
    pub fn tabled(&self) -> u64 {
        self.tables.last_key_value().map_or(0, |(_, table)| table.end)
    }

    /// The tables, each with its first entry, the oldest first.
    pub fn tables(&self) -> impl DoubleEndedIterator<Item = (u64, &RepTable)> {
        self.tables.iter().map(|(first, table)| (*first, table))
    }

    /// Rows that are in no table, in the order of their texts, each with its entry.
    pub fn rows(&self) -> impl ExactSizeIterator<Item = (u64, &Rep)> {
        self.rows.values().map(|(slot, rep)| (*slot, rep))
    }

    /// The row of a text, if it is in no table.
    #[must_use]
    pub fn row(&self, sha1: &Sha1) -> Option<Rep> {
        self.rows.get(sha1).map(|(_, rep)| *rep)
    }

    /// Whether an entry can say that there is this table: it is of the entries from the first of a table, or behind all tables, to
    /// one behind all tables and not behind the entry.
    pub(crate) fn fits(&self, slot: u64, first: u64, table: &RepTable) -> bool {
        let RepTable { end, form, data, .. } = table;
        let begins = first == self.tabled() || self.tables.contains_key(&first);
        let ends = *end > first && *end >= self.tabled() && *end <= slot;
        begins && ends && form.rows() > 0 && form.bytes() == data.len
    }

    /// Puts a table in the place of those that it covers, and of rows.
    pub(crate) fn put_table(&mut self, first: u64, table: RepTable) {
        self.tables.split_off(&first);
        self.rows.retain(|_, (slot, _)| *slot >= table.end);
        self.tables.insert(first, table);
    }

    /// Adds the rows of an entry. Of equal texts the first counts.
    pub(crate) fn add(&mut self, slot: u64, reps: &[Rep]) {
        for rep in reps {
            self.rows.entry(rep.sha1).or_insert((slot, *rep));
        }
    }

    /// Whether a row comes after all that are here.
    pub(crate) fn comes_last(&self, rep: &Rep) -> bool {
        self.rows.last_key_value().is_none_or(|(last, _)| *last < rep.sha1)
    }

    /// About how many bytes of memory it takes.
    pub(crate) fn memory(&self) -> u64 {
        let row = size_of::<(Sha1, u64, Rep)>().plus(size_of::<u64>());
        let table = size_of::<(u64, RepTable)>();
        len64(self.rows.len()).times(len64(row)).plus(len64(self.tables.len()).times(len64(table)))
    }
}
