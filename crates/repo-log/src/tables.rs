//! Tables of representations: written when many rows are in none, and by levels: a new one takes the rows of those before it that are not
//! longer than what it has already. So each is longer than all behind it together, and their number grows with the logarithm of that of rows.
//!
//! Invariant: a table only repeats what entries say. One that is missing or damaged costs space for texts that are stored again, never an answer.

use std::sync::Arc;

use sapwood_core::SvnError;
use sapwood_core::exact::Exact as _;
use sapwood_core::len64;
use sapwood_objects::{Key, Patience, Store, trouble};

use crate::all_reps::AllReps;
use crate::entry::{Item, Object};
use crate::error::{Error, Result};
use crate::log::RepositoryLog;
use crate::new_object::SomeObject;
use crate::rep_index::{RepIndex, RepTable, TABLES};
use crate::reps::Rep;
use crate::state::State;
use crate::table::{Form, TableBuilder};

/// Rows after which it is time for a table.
const ROWS: u64 = 1024;
/// Entries after which one is tried again that failed.
const AGAIN: u64 = 64;

/// Writes a table, row by row.
#[derive(Debug)]
pub struct TableWriter<'a> {
    builder: TableBuilder,
    object: SomeObject<'a>,
}

impl<'a> TableWriter<'a> {
    /// Begins one.
    #[must_use]
    pub fn new(store: &'a dyn Store) -> Self {
        Self { builder: TableBuilder::default(), object: SomeObject::new(store, TABLES) }
    }

    /// Adds a row. Those whose text does not come after the one before are left out.
    ///
    /// # Errors
    /// Those of the store.
    pub fn add(&mut self, rep: &Rep) -> Result<()> {
        let bytes = self.builder.add(rep);
        self.object.append(&bytes)
    }

    /// Makes the table: for an entry that says it is of the entries from `first` on up to before `end`. `None` when it has no row.
    ///
    /// # Errors
    /// Those of the store.
    pub fn finish(mut self, first: u64, end: u64) -> Result<Option<WrittenTable>> {
        let (form, bytes) = self.builder.finish();
        if form.rows() == 0 {
            return Ok(None);
        }
        self.object.append(&bytes)?;
        Ok(Some(WrittenTable { first, end, form, data: self.object.finish()? }))
    }
}

/// A table that is due, and that any thread can write: nothing waits for it.
#[derive(Debug)]
pub struct NewTable {
    store: Arc<dyn Store>,
    first: u64,
    end: u64,
    /// Tables whose rows it takes.
    tables: Vec<RepTable>,
    rows: Vec<Rep>,
}

/// A table that is written, and that no entry names yet.
#[derive(Clone, Copy, Debug)]
pub struct WrittenTable {
    first: u64,
    end: u64,
    form: Form,
    data: Object,
}

impl NewTable {
    /// Writes it. Blocks of others that are damaged are left out, and passed on as a trouble; `None` when nothing is left.
    ///
    /// # Errors
    /// Those of the store.
    pub fn write(&self) -> Result<Option<WrittenTable>> {
        let mut rows = AllReps::new(&self.store, self.tables.iter(), self.rows.clone())?;
        let mut table = TableWriter::new(&*self.store);
        while let Some(rep) = rows.next()? {
            table.add(&rep)?;
        }
        note_damage(sapwood_objects::Blobs::address(&*self.store), rows.damaged());
        table.finish(self.first, self.end)
    }
}

/// Passes on that blocks of tables are not what they were.
pub fn note_damage(store: &str, blocks: u64) {
    if blocks > 0 {
        trouble::report(&SvnError::from(Error::Tables { store: store.into(), blocks }));
    }
}

impl WrittenTable {
    /// The item that announces it: for the entry that comes next, behind its own.
    #[must_use]
    pub fn item(&self) -> Item<'static> {
        let Self { first, end, form, data } = *self;
        Item::Table { first, end, form, data }
    }

    /// Whether it still fits.
    #[must_use]
    pub fn fits(&self, state: &State) -> bool {
        let Self { first, end, form, data } = *self;
        state.reps.fits(end, first, &RepTable { end, form, data, slot: end })
    }
}

/// The first of the tables whose rows a new one takes, which has so many rows of its own. Without any it is there for tables that are too many.
fn merged(index: &RepIndex, mut rows: u64) -> Option<u64> {
    let mut found = None;
    for (first, table) in index.tables().rev() {
        if rows > 0 {
            if table.form.rows() > rows {
                break;
            }
            found = Some(first);
        }
        rows = rows.plus(table.form.rows());
    }
    found
}

impl RepositoryLog {
    /// Whether [`Self::take_table`] has something.
    pub(crate) fn has_table(&self) -> bool {
        let is_time = self.offered.is_none_or(|offered| self.next >= offered.plus(AGAIN));
        is_time
            && (len64(self.state.reps.rows().len()) >= ROWS
                || merged(&self.state.reps, 0).is_some())
    }

    /// The table that is due, if one is: for a writer to ask after [`Self::append`], to write when it has answered its client, and to
    /// announce. It is handed out once.
    pub fn take_table(&mut self) -> Option<NewTable> {
        if !self.has_table() {
            return None;
        }
        self.offered = Some(self.next);
        let index = &self.state.reps;
        let rows: Vec<Rep> = index.rows().map(|(_, rep)| *rep).collect();
        let merged = [merged(index, len64(rows.len())), merged(index, 0)];
        let first = merged.into_iter().flatten().fold(index.tabled(), u64::min);
        let tables = index.tables().filter(|(at, _)| *at >= first).map(|(_, table)| *table);
        Some(NewTable {
            store: Arc::clone(&self.store),
            first,
            end: self.next,
            tables: tables.collect(),
            rows,
        })
    }

    /// Adds an entry that names a table, unless another writer was first: then it is removed. Whether it was added.
    ///
    /// # Errors
    /// As [`Self::append`]
    pub fn announce_table(
        &mut self,
        table: &WrittenTable,
        patience: &mut Patience<'_>,
    ) -> Result<bool> {
        let mut prepare = |state: &State| Ok(table.fits(state).then(|| vec![table.item()]));
        if self.append(&mut prepare, patience)? {
            self.offered = None;
            return Ok(true);
        }
        self.store.delete(&Key::of_token(TABLES, table.data.token)?)?;
        Ok(false)
    }
}
