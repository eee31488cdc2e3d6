//! A database that is made to hold the rows of another, as an incremental copy of a filesystem needs.
//!
//! Both are read once, in the order of their hashes, and only rows that differ are written. At no
//! moment the copy has a row of a revision that it does not have. A part of bounded length is one
//! transaction: programs that wait for either database do not wait long, and memory does not follow
//! the number of rows.

use std::cmp::Ordering;
use std::path::PathBuf;

use rusqlite::{Connection, Rows, TransactionBehavior, params};
use sapwood_core::exact::Exact;
use sapwood_core::{Revnum, SvnResult as Result};

use super::{CREATED, PRAGMAS, RepCache, Schema, error, signed};

/// How many hashes a part has.
const TOGETHER: usize = 50_000;

/// A row as it is stored.
#[derive(Debug, PartialEq, Eq)]
struct Stored {
    hash: String,
    /// Revision, item, size, expanded size.
    numbers: [i64; 4],
}

/// What one part has to change.
#[derive(Debug, Default)]
struct Difference {
    gone: Vec<String>,
    new: Vec<Stored>,
    /// How many hashes were looked at.
    hashes: usize,
    /// The first hash of the next part, if there may be one.
    next: Option<String>,
}

/// What [`RepCache::follow`] did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Followed {
    /// Hashes that were looked at.
    pub hashes: usize,
    /// Rows that were written or removed.
    pub changed: usize,
    /// Transactions.
    pub parts: usize,
}

impl RepCache {
    /// Makes the database at `to`, which may be in use, hold the rows that the one at `from` has of
    /// revisions up to `youngest`, and no others. At no moment it has one of a later revision.
    ///
    /// # Errors
    /// E200030 and kin, for what SQLite reports, and for rows that are none.
    pub fn follow(
        from: PathBuf,
        to: PathBuf,
        youngest: Revnum,
        schema: Schema,
    ) -> Result<Followed> {
        let source = Self::open_read_only(from)?;
        let mut copy = Self::connect(to, CREATED)?;
        copy.take_rows(&source, youngest, schema).map_err(|e| error(&e))
    }

    fn take_rows(
        &mut self,
        source: &Self,
        youngest: Revnum,
        schema: Schema,
    ) -> rusqlite::Result<Followed> {
        self.connection.execute_batch(PRAGMAS)?;
        self.make_schema(schema)?;
        let mut done = Followed::default();
        if source.version()? == 0 {
            return Ok(done);
        }
        let mut start = Some(String::new());
        while let Some(first) = start {
            let part = self.take_part(&source.connection, &first, youngest)?;
            done.parts = done.parts.plus(1);
            done.hashes = done.hashes.plus(part.hashes);
            let changed = part.gone.len().plus(part.new.len());
            done.changed = done.changed.plus(changed);
            start = part.next;
        }
        Ok(done)
    }

    /// Takes over what has changed from the hash `first` on, in one transaction.
    fn take_part(
        &mut self,
        source: &Connection,
        first: &str,
        youngest: Revnum,
    ) -> rusqlite::Result<Difference> {
        // The copy's write lock comes first: one that was had for reading could not wait for it.
        let part = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let difference = compare(source, &part, first, youngest)?;
        {
            let mut remove = part.prepare_cached("DELETE FROM rep_cache WHERE hash = ?1")?;
            for hash in &difference.gone {
                remove.execute([hash])?;
            }
            let mut put = part.prepare_cached(
                "INSERT OR REPLACE INTO rep_cache (hash, revision, offset, size, expanded_size) \
                 VALUES (?1, ?2, ?3, ?4, ?5)",
            )?;
            for Stored { hash, numbers: [revision, item, size, expanded_size] } in &difference.new {
                put.execute(params![hash, revision, item, size, expanded_size])?;
            }
        }
        part.commit()?;
        Ok(difference)
    }
}

/// Compares up to [`TOGETHER`] hashes from `first` on. Nothing is locked in `source` afterwards.
fn compare(
    source: &Connection,
    copy: &Connection,
    first: &str,
    youngest: Revnum,
) -> rusqlite::Result<Difference> {
    const SELECT: &str = "SELECT hash, revision, offset, size, expanded_size FROM rep_cache \
        WHERE hash >= ?1 AND revision <= ?2 ORDER BY hash";
    let mut wanted = source.prepare_cached(SELECT)?;
    let mut wanted = wanted.query(params![first, signed(youngest.0)])?;
    let mut found = copy.prepare_cached(SELECT)?;
    let mut found = found.query(params![first, i64::MAX])?;
    let mut difference = Difference::default();
    let (mut theirs, mut ours) = (stored(&mut wanted)?, stored(&mut found)?);
    while theirs.is_some() || ours.is_some() {
        let order = match (&theirs, &ours) {
            (Some(theirs), Some(ours)) => theirs.hash.cmp(&ours.hash),
            (Some(_), None) => Ordering::Less,
            _ => Ordering::Greater,
        };
        difference.hashes = difference.hashes.plus(1);
        if difference.hashes == TOGETHER {
            let last = if order == Ordering::Greater { &ours } else { &theirs };
            // Nothing sorts between a text and the same one with a zero byte after it.
            difference.next = last.as_ref().map(|row| format!("{}\0", row.hash));
        }
        let equal = theirs == ours;
        if order != Ordering::Greater {
            let row = std::mem::replace(&mut theirs, stored(&mut wanted)?);
            difference.new.extend(row.filter(|_| !equal));
        }
        if order != Ordering::Less {
            let row = std::mem::replace(&mut ours, stored(&mut found)?);
            // One that is there with other numbers is replaced.
            difference.gone.extend(row.filter(|_| order == Ordering::Greater).map(|row| row.hash));
        }
        if difference.next.is_some() {
            break;
        }
    }
    Ok(difference)
}

fn stored(rows: &mut Rows<'_>) -> rusqlite::Result<Option<Stored>> {
    let Some(row) = rows.next()? else { return Ok(None) };
    let numbers = [row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?];
    Ok(Some(Stored { hash: row.get(0)?, numbers }))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use rusqlite::OpenFlags;
    use sapwood_core::Sha1;

    use super::super::Row;
    use super::*;

    fn row(number: u32, revision: u64) -> Row {
        let sha1 = Sha1::of(&number.to_be_bytes());
        Row { sha1, revision: Revnum(revision), item: 3, size: 4, expanded_size: 5 }
    }

    fn open(path: &Path) -> RepCache {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE;
        let cache = RepCache::connect(path.to_owned(), flags).unwrap();
        cache.make_schema(Schema::V2).unwrap();
        cache
    }

    fn rows(numbers: std::ops::Range<u32>) -> Vec<Row> {
        numbers.map(|n| row(n, u64::from(n))).collect()
    }

    #[test]
    fn a_copy_follows() {
        let dir = tempfile::tempdir().unwrap();
        let (from, to) = (dir.path().join("it's one"), dir.path().join("two"));
        let mut copy = open(&to);
        open(&from).add(&rows(0..100)).unwrap();
        // Rows that are equal, wrong, too young, and gone from the source.
        copy.add(&rows(0..20)).unwrap();
        copy.add(&[row(30, 7), row(95, 95), row(200, 1)]).unwrap();
        let expected = |n: u32| (n < 90).then(|| row(n, u64::from(n)));
        for _ in 0..2 {
            RepCache::follow(from.clone(), to.clone(), Revnum(89), Schema::V2).unwrap();
            for n in 0..=255 {
                assert_eq!(copy.find(row(n, 0).sha1).unwrap(), expected(n), "{n}");
            }
        }
        RepCache::hotcopy(from, to, Revnum(89)).unwrap();
        assert_eq!(copy.youngest().unwrap(), Some(Revnum(89)));
    }

    #[test]
    fn each_row_is_looked_at_once_and_only_what_differs_is_written() {
        for n in [500, 2000] {
            let dir = tempfile::tempdir().unwrap();
            let (from, to) = (dir.path().join("one"), dir.path().join("two"));
            let mut source = open(&from);
            source.add(&rows(0..n)).unwrap();
            let hashes = usize::try_from(n).unwrap();
            let follow =
                || RepCache::follow(from.clone(), to.clone(), Revnum(1 << 20), Schema::V2).unwrap();
            assert_eq!(follow(), Followed { hashes, changed: hashes, parts: 1 });
            assert_eq!(follow(), Followed { hashes, changed: 0, parts: 1 });
            source.add(&rows(n..n.saturating_add(3))).unwrap();
            let hashes = hashes.saturating_add(3);
            assert_eq!(follow(), Followed { hashes, changed: 3, parts: 1 });
        }
    }

    #[test]
    fn parts_meet() {
        let dir = tempfile::tempdir().unwrap();
        let (from, to) = (dir.path().join("one"), dir.path().join("two"));
        let n = u32::try_from(TOGETHER).unwrap().saturating_add(10);
        open(&from).add(&rows(5..n)).unwrap();
        open(&to).add(&rows(0..5)).unwrap();
        let followed = RepCache::follow(from, to.clone(), Revnum(1 << 20), Schema::V2).unwrap();
        let hashes = usize::try_from(n).unwrap();
        assert_eq!(followed, Followed { hashes, changed: hashes, parts: 2 });
        let mut left = 0u32;
        open(&to)
            .rows(Revnum(0), Revnum(1 << 20), &mut |_| {
                left = left.saturating_add(1);
                Ok(())
            })
            .unwrap();
        assert_eq!(left, n.saturating_sub(5));
    }
}
