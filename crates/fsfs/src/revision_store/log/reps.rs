//! Representations by which equal texts are found: rows of the log's newer entries, and tables in the store, of older ones.
//!
//! A look-up reads one block of a table whose filter says that it may have the text; blocks are kept on this machine as all that is read.
//!
//! Invariants: what is found is a hint, which a writer checks before it is used. A table that is damaged or missing has nothing from
//! then on, and is passed on as a trouble, once.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use parking_lot::Mutex;
use sapwood_core::{Exact as _, Revnum, Sha1, SvnError, len64};
use sapwood_fs_common::rep_cache::Row;
use sapwood_objects::{Token, trouble};
use sapwood_repo_log::entry::{Item, Rep};
use sapwood_repo_log::table::{Lookup, Table};
use sapwood_repo_log::{AllReps, RepTable};

use super::LogRevisions;
use crate::error::Result;

/// Tables that were looked at; `None` for those that are damaged.
#[derive(Debug, Default)]
pub(super) struct Tables(Mutex<BTreeMap<Token, Option<Arc<Table>>>>);

impl Tables {
    /// About how many bytes of memory they take.
    pub(super) fn memory(&self) -> u64 {
        let mut sum = 0_u64;
        self.0.lock().values().flatten().for_each(|table| sum.tally(table.memory()));
        sum
    }

    fn keep(&self, of: &[RepTable], token: Token, table: Option<Arc<Table>>) {
        let mut kept = self.0.lock();
        kept.retain(|token, _| of.iter().any(|table| table.data.token == *token));
        kept.insert(token, table);
    }
}

impl LogRevisions {
    /// Where a text is, if some revision has it.
    ///
    /// # Errors
    /// Those of the store.
    pub(crate) fn find_rep(&self, sha1: Sha1) -> Result<Option<Row>> {
        let (newest, tables) = self.with_state(|state| {
            let tables = state.reps.tables().rev().map(|(_, table)| *table);
            (state.reps.row(&sha1), tables.collect::<Vec<_>>())
        });
        if let Some(rep) = newest {
            return Ok(Some(row(&rep)));
        }
        for place in &tables {
            let Some(table) = self.table(place, &tables)? else { continue };
            match table.find(&sha1, |range| self.read_of(place, range))? {
                Lookup::Row(rep) => return Ok(Some(row(&rep))),
                Lookup::Nothing => {}
                Lookup::Damage => self.note_damage(place, &tables)?,
            }
        }
        Ok(None)
    }

    /// A table, which is read when it is asked for first; `None` for a damaged one.
    fn table(&self, place: &RepTable, all: &[RepTable]) -> Result<Option<Arc<Table>>> {
        if let Some(kept) = self.tables.0.lock().get(&place.data.token) {
            return Ok(kept.clone());
        }
        let end = self.read_of(place, place.form.end())?;
        let Some(table) = Table::parse(place.form, &end).map(Arc::new) else {
            self.note_damage(place, all)?;
            return Ok(None);
        };
        self.tables.keep(all, place.data.token, Some(Arc::clone(&table)));
        Ok(Some(table))
    }

    /// Bytes of a table; others when they are damaged, as the sums in them say.
    fn read_of(&self, place: &RepTable, range: Range<u64>) -> Result<Vec<u8>> {
        let key = place.key()?;
        let len = range.end.minus(range.start);
        let read = self
            .cache
            .as_ref()
            .and_then(|cache| cache.read(&*self.store, &key, place.data.len, range.clone()).ok());
        match read.filter(|bytes| len64(bytes.len()) == len) {
            Some(bytes) => Ok(bytes),
            None => Ok(self.store.get(&key, range)?.unwrap_or_default()),
        }
    }

    fn note_damage(&self, place: &RepTable, all: &[RepTable]) -> Result<()> {
        let error = sapwood_repo_log::Error::WrongData {
            store: self.address().into(),
            key: place.key()?.as_str().into(),
            slot: place.slot,
        };
        let text = "Texts that were there are stored again";
        trouble::report(&SvnError::from(error).context(text));
        self.tables.keep(all, place.data.token, None);
        Ok(())
    }

    /// Hands out all rows.
    ///
    /// # Errors
    /// Those of the store and of `found`; corruption when a table is damaged.
    pub(crate) fn each_rep(&self, found: &mut dyn FnMut(Row) -> Result<()>) -> Result<()> {
        let index = self.with_state(|state| state.reps.clone());
        let mut reps = AllReps::of(&self.store, &index)?;
        while let Some(rep) = reps.next()? {
            found(row(&rep))?;
        }
        match reps.damaged() {
            0 => Ok(()),
            blocks => {
                let store = self.address().into();
                Err(sapwood_repo_log::Error::Tables { store, blocks }.into())
            }
        }
    }

    /// Adds rows of revisions that are there, but for those whose texts are found.
    ///
    /// # Errors
    /// Those of the store.
    pub(crate) fn add_reps(&self, rows: &[Row]) -> Result<()> {
        let mut unknown = Vec::new();
        for row in rows {
            if self.find_rep(row.sha1)?.is_none() {
                unknown.push(rep(row));
            }
        }
        let items = || match unknown.is_empty() {
            true => Vec::new(),
            false => vec![Item::Reps(unknown.clone())],
        };
        self.append(&mut || Ok(items())).map(drop)
    }
}

fn row(rep: &Rep) -> Row {
    let Rep { sha1, revision, item, size, expanded: expanded_size } = *rep;
    Row { sha1, revision: Revnum(revision), item, size, expanded_size }
}

/// The other way.
pub(super) fn rep(row: &Row) -> Rep {
    let Row { sha1, revision, item, size, expanded_size } = *row;
    Rep { sha1, revision: revision.0, item, size, expanded: expanded_size }
}
