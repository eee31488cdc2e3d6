//! The rows of several tables, and some in memory, as one row of texts: read from begin to end.
//!
//! Invariants: they come in the order of their texts, each once: of equal texts the row of the oldest table. A block that is damaged is passed
//! over and counted.

use std::sync::Arc;

use sapwood_core::exact::{Cut as _, Exact as _, clamped};
use sapwood_objects::{Key, Store};

use crate::error::Result;
use crate::rep_index::{RepIndex, RepTable};
use crate::reps::Rep;
use crate::table::Form;

/// Blocks that are read at once.
const BLOCKS: u64 = 64;

/// Rows of a table, block by block.
#[derive(Debug)]
struct TableRows {
    store: Arc<dyn Store>,
    key: Key,
    form: Form,
    /// The next block that is to be read.
    block: u64,
    rows: std::vec::IntoIter<Rep>,
    damaged: u64,
}

impl TableRows {
    fn new(store: &Arc<dyn Store>, table: &RepTable) -> Result<Self> {
        Ok(Self {
            store: Arc::clone(store),
            key: table.key()?,
            form: table.form,
            block: 0,
            rows: Vec::new().into_iter(),
            damaged: 0,
        })
    }

    fn next(&mut self) -> Result<Option<Rep>> {
        loop {
            if let Some(row) = self.rows.next() {
                return Ok(Some(row));
            }
            if self.block >= self.form.blocks() {
                return Ok(None);
            }
            self.read()?;
        }
    }

    /// Reads some blocks.
    fn read(&mut self) -> Result<()> {
        let end = self.block.plus(BLOCKS).min(self.form.blocks());
        let range = self.form.block(self.block).start..self.form.block(end.minus(1)).end;
        let start = range.start;
        let Some(bytes) = self.store.get(&self.key, range)? else {
            self.damaged.tally(end.minus(self.block));
            self.block = end;
            return Ok(());
        };
        let mut rows = Vec::new();
        for number in self.block..end {
            let place = self.form.block(number);
            let from = clamped(place.start.minus(start)).min(bytes.len());
            let to = clamped(place.end.minus(start)).min(bytes.len());
            match self.form.rows_of(number, bytes.piece(from..to)) {
                Some(found) => rows.extend(found),
                None => self.damaged.tally(1),
            }
        }
        (self.block, self.rows) = (end, rows.into_iter());
        Ok(())
    }
}

/// Where rows come from.
#[derive(Debug)]
enum Rows {
    Table(TableRows),
    Held(std::vec::IntoIter<Rep>),
}

impl Rows {
    fn next(&mut self) -> Result<Option<Rep>> {
        match self {
            Self::Table(rows) => rows.next(),
            Self::Held(rows) => Ok(rows.next()),
        }
    }
}

/// Rows of tables and of memory.
#[derive(Debug)]
pub struct AllReps {
    /// The oldest first, each with the row that comes next.
    sources: Vec<(Option<Rep>, Rows)>,
}

impl AllReps {
    /// All representations of a repository.
    ///
    /// # Errors
    /// Those of the store.
    pub fn of(store: &Arc<dyn Store>, index: &RepIndex) -> Result<Self> {
        let rows: Vec<Rep> = index.rows().map(|(_, rep)| *rep).collect();
        Self::new(store, index.tables().map(|(_, table)| table), rows)
    }

    /// Those of these tables, the oldest first, and then of `held`, which are in the order of their texts.
    ///
    /// # Errors
    /// Those of the store.
    pub(crate) fn new<'a>(
        store: &Arc<dyn Store>,
        tables: impl Iterator<Item = &'a RepTable>,
        held: Vec<Rep>,
    ) -> Result<Self> {
        let mut sources = Vec::new();
        for table in tables {
            sources.push(Rows::Table(TableRows::new(store, table)?));
        }
        sources.push(Rows::Held(held.into_iter()));
        let mut begun = Vec::new();
        for mut rows in sources {
            begun.push((rows.next()?, rows));
        }
        Ok(Self { sources: begun })
    }

    /// The next row.
    ///
    /// # Errors
    /// Those of the store.
    #[allow(clippy::should_implement_trait, reason = "it can fail, and ends then")]
    pub fn next(&mut self) -> Result<Option<Rep>> {
        let heads = self.sources.iter().filter_map(|(head, _)| *head);
        let Some(least) = heads.min_by_key(|rep| rep.sha1) else { return Ok(None) };
        for (head, rows) in &mut self.sources {
            if head.is_some_and(|head| head.sha1 == least.sha1) {
                *head = rows.next()?;
            }
        }
        Ok(Some(least))
    }

    /// How many blocks were damaged so far.
    #[must_use]
    pub fn damaged(&self) -> u64 {
        let mut sum = 0_u64;
        for (_, rows) in &self.sources {
            if let Rows::Table(rows) = rows {
                sum.tally(rows.damaged);
            }
        }
        sum
    }
}
