//! A database that is made to hold the rows of another, as an incremental copy of a filesystem needs.
//!
//! Both are read in the order of their hashes, and only rows that differ are written. Where the rows of
//! revisions that the copy had before are as many on both sides, with the same sum of revisions, they are taken to be the
//! same, and only those of later revisions are looked at one by one: SQLite counts in a fifth of the time. At no
//! moment the copy has a row of a revision that it does not have. A part of bounded length is one
//! transaction: programs that wait for either database do not wait long, and memory does not follow
//! the number of rows.

use std::cmp::Ordering;
use std::path::PathBuf;

use rusqlite::{Connection, Params, Rows, TransactionBehavior, params};
use sapwood_core::exact::{Exact, len64};
use sapwood_core::{Revnum, SvnResult as Result};

use super::{CREATED, PRAGMAS, RepCache, Schema, error, signed};

/// How many hashes a part has.
const TOGETHER: usize = 50_000;
/// The columns of a [`StoredRow`].
const COLUMNS: &str = "hash, revision, offset, size, expanded_size";
/// Sorts after all hashes.
const AFTER_ALL: &str = "g";

/// A row as it is stored.
#[derive(Debug, PartialEq, Eq)]
struct StoredRow {
    hash: String,
    /// Revision, item, size, expanded size.
    numbers: [i64; 4],
}

/// What one part has to change.
#[derive(Debug, Default)]
struct Difference {
    gone: Vec<String>,
    new: Vec<StoredRow>,
    /// How many hashes were looked at.
    hashes: usize,
    /// The first hash of the next part, if there may be one.
    next: Option<String>,
}

/// How far the copy goes.
#[derive(Clone, Copy, Debug)]
pub struct Reach {
    /// The youngest revision that it had before, if it is known: what it has of older ones came from the source.
    pub before: Option<Revnum>,
    /// Its youngest revision now.
    pub youngest: Revnum,
}

/// What [`RepCache::follow`] did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FollowSummary {
    /// Hashes that were looked at one by one.
    pub hashes: usize,
    /// Rows that were written or removed.
    pub changed: usize,
    /// Transactions.
    pub parts: usize,
}

impl RepCache {
    /// Makes the database at `to`, which may be in use, hold the rows that the one at `from` has of
    /// revisions up to the youngest, and no others. At no moment it has one of a later revision.
    ///
    /// # Errors
    /// E200030 and kin, for what SQLite reports, and for rows that are none.
    pub fn follow(
        from: PathBuf,
        to: PathBuf,
        reach: Reach,
        schema: Schema,
    ) -> Result<FollowSummary> {
        let source = Self::open_read_only(from)?;
        let mut copy = Self::connect(to, CREATED)?;
        copy.take_rows(&source, reach, schema).map_err(|e| error(&e))
    }

    fn take_rows(
        &mut self,
        source: &Self,
        reach: Reach,
        schema: Schema,
    ) -> rusqlite::Result<FollowSummary> {
        self.connection.execute_batch(PRAGMAS)?;
        self.make_schema(schema)?;
        let mut done = FollowSummary::default();
        if source.version()? == 0 {
            return Ok(done);
        }
        let mut start = Some(String::new());
        while let Some(first) = start {
            let part = self.take_part(&source.connection, &first, reach)?;
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
        reach: Reach,
    ) -> rusqlite::Result<Difference> {
        // The copy's write lock comes first: one that was had for reading could not wait for it.
        let part = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let newer = match reach.before {
            Some(before) => newer(source, &part, first, before, reach.youngest)?,
            None => None,
        };
        let difference = match newer {
            Some(newer) => newer,
            None => compare(source, &part, first, reach.youngest)?,
        };
        {
            let mut remove = part.prepare_cached("DELETE FROM rep_cache WHERE hash = ?1")?;
            for hash in &difference.gone {
                remove.execute([hash])?;
            }
            let mut put = part.prepare_cached(&format!(
                "INSERT OR REPLACE INTO rep_cache ({COLUMNS}) VALUES (?1, ?2, ?3, ?4, ?5)"
            ))?;
            for StoredRow { hash, numbers: [revision, item, size, expanded_size] } in
                &difference.new
            {
                put.execute(params![hash, revision, item, size, expanded_size])?;
            }
        }
        part.commit()?;
        Ok(difference)
    }
}

/// What stretches of both are compared by: rows, and the sum of their revisions.
type RowSum = (i64, Option<i64>);

/// What a stretch is compared by, and its last hash, where the statement says it.
fn counted(
    database: &Connection,
    sql: &str,
    params: impl Params,
) -> rusqlite::Result<(RowSum, Option<String>)> {
    let mut statement = database.prepare_cached(sql)?;
    statement.query_row(params, |row| Ok(((row.get(0)?, row.get(1)?), row.get(2)?)))
}

/// The rows of revisions after `before`, in a stretch of up to [`TOGETHER`] older rows from `first` on; `None` where the
/// older ones are not the same on both sides, or those after them too many for one part.
fn newer(
    source: &Connection,
    copy: &Connection,
    first: &str,
    before: Revnum,
    youngest: Revnum,
) -> rusqlite::Result<Option<Difference>> {
    const OLDER: &str = "SELECT count(*), sum(revision), max(hash) FROM (SELECT hash, revision \
        FROM rep_cache WHERE hash >= ?1 AND revision <= ?2 ORDER BY hash LIMIT ?3)";
    const WITHIN: &str =
        "SELECT count(*), sum(revision), NULL FROM rep_cache WHERE hash >= ?1 AND hash <= ?2";
    let is_all_older = youngest <= before;
    let (before, together) = (signed(before.0), signed(len64(TOGETHER)));
    let (theirs, last) = counted(source, OLDER, params![first, before, together])?;
    let last = last.filter(|_| theirs.0 == together);
    let end = last.as_deref().unwrap_or(AFTER_ALL);
    let (ours, _) = counted(copy, WITHIN, params![first, end])?;
    if ours != theirs {
        return Ok(None);
    }
    if is_all_older {
        return Ok(Some(Difference { next: last.map(after), ..Difference::default() }));
    }
    let mut wanted = source.prepare_cached(&format!(
        "SELECT {COLUMNS} FROM rep_cache WHERE hash >= ?1 AND hash <= ?2 AND revision > ?3 AND revision <= ?4 \
         LIMIT ?5"
    ))?;
    let mut wanted = wanted.query(params![first, end, before, signed(youngest.0), together])?;
    let mut difference = Difference { next: last.map(after), ..Difference::default() };
    while let Some(row) = stored(&mut wanted)? {
        difference.hashes = difference.hashes.plus(1);
        difference.new.push(row);
    }
    // There may be more, in parts of their own.
    Ok((difference.hashes < TOGETHER).then_some(difference))
}

/// The first text that sorts after one: nothing is between a text and the same one with a zero byte after it.
fn after(mut hash: String) -> String {
    hash.push('\0');
    hash
}

/// Compares up to [`TOGETHER`] hashes from `first` on. Nothing is locked in `source` afterwards.
fn compare(
    source: &Connection,
    copy: &Connection,
    first: &str,
    youngest: Revnum,
) -> rusqlite::Result<Difference> {
    let select = format!(
        "SELECT {COLUMNS} FROM rep_cache WHERE hash >= ?1 AND revision <= ?2 ORDER BY hash"
    );
    let mut wanted = source.prepare_cached(&select)?;
    let mut wanted = wanted.query(params![first, signed(youngest.0)])?;
    let mut found = copy.prepare_cached(&select)?;
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
            difference.next = last.as_ref().map(|row| after(row.hash.clone()));
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

fn stored(rows: &mut Rows<'_>) -> rusqlite::Result<Option<StoredRow>> {
    let Some(row) = rows.next()? else { return Ok(None) };
    let numbers = [row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?];
    Ok(Some(StoredRow { hash: row.get(0)?, numbers }))
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
        for before in [None, Some(Revnum(50)), Some(Revnum(89))] {
            let reach = Reach { before, youngest: Revnum(89) };
            RepCache::follow(from.clone(), to.clone(), reach, Schema::V2).unwrap();
            for n in 0..=255 {
                assert_eq!(copy.find(row(n, 0).sha1).unwrap(), expected(n), "{n}");
            }
        }
        RepCache::hotcopy(from, to, Revnum(89)).unwrap();
        assert_eq!(copy.youngest().unwrap(), Some(Revnum(89)));
    }

    #[test]
    fn each_row_is_looked_at_once_and_only_what_differs_is_written() {
        let reach = |before| Reach { before, youngest: Revnum(1 << 20) };
        for n in [500, 2000] {
            let dir = tempfile::tempdir().unwrap();
            let (from, to) = (dir.path().join("one"), dir.path().join("two"));
            let mut source = open(&from);
            source.add(&rows(0..n)).unwrap();
            let hashes = usize::try_from(n).unwrap();
            let follow = |before| {
                RepCache::follow(from.clone(), to.clone(), reach(before), Schema::V2).unwrap()
            };
            assert_eq!(follow(None), FollowSummary { hashes, changed: hashes, parts: 1 });
            assert_eq!(follow(None), FollowSummary { hashes, changed: 0, parts: 1 });
            source.add(&rows(n..n.saturating_add(3))).unwrap();
            let before = Some(Revnum(u64::from(n.saturating_sub(1))));
            // Of what the copy has it is enough that it is as much.
            assert_eq!(follow(before), FollowSummary { hashes: 3, changed: 3, parts: 1 });
            let hashes = hashes.saturating_add(3);
            assert_eq!(follow(before), FollowSummary { hashes, changed: 0, parts: 1 });
            // A row that is missing, and one of another revision, are found.
            for wrong in [
                "DELETE FROM rep_cache WHERE revision = 7",
                "UPDATE rep_cache SET revision = 8 WHERE revision = 9",
            ] {
                open(&to).connection.execute(wrong, []).unwrap();
                let before = Some(Revnum(u64::from(n.saturating_add(2))));
                assert_eq!(follow(before), FollowSummary { hashes, changed: 1, parts: 1 });
                assert_eq!(follow(before), FollowSummary { hashes: 0, changed: 0, parts: 1 });
            }
        }
    }

    #[test]
    fn parts_meet() {
        let dir = tempfile::tempdir().unwrap();
        let (from, to) = (dir.path().join("one"), dir.path().join("two"));
        let n = u32::try_from(TOGETHER).unwrap().saturating_add(10);
        open(&from).add(&rows(5..n)).unwrap();
        open(&to).add(&rows(0..5)).unwrap();
        let reach = Reach { before: None, youngest: Revnum(1 << 20) };
        let followed = RepCache::follow(from.clone(), to.clone(), reach, Schema::V2).unwrap();
        let hashes = usize::try_from(n).unwrap();
        assert_eq!(followed, FollowSummary { hashes, changed: hashes, parts: 2 });
        // Also where they are only counted, and where more than a part holds is new.
        for (before, hashes, parts) in
            [(n, 0, 2), (n.saturating_sub(20), 19, 1), (7, hashes.saturating_sub(5), 2)]
        {
            let reach = Reach { before: Some(Revnum(u64::from(before))), ..reach };
            let cut = "DELETE FROM rep_cache WHERE revision > ?1";
            open(&to).connection.execute(cut, [before]).unwrap();
            let followed = RepCache::follow(from.clone(), to.clone(), reach, Schema::V2).unwrap();
            assert_eq!((followed.hashes, followed.parts), (hashes, parts));
        }
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
