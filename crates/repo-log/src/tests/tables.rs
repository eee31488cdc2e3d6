//! Tables of representations: their form, how many there are, what they cost, and all that can be wrong with them.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

use proptest::prelude::*;
use sapwood_core::{Sha1, len64};
use sapwood_objects::testing::{Fault, Faulty};
use sapwood_objects::{Blobs as _, CountedStore, Key, Memory, Store};

use super::{file, object, revision};
use crate::all_reps::AllReps;
use crate::entry::{FoundItem, Item, Rep};
use crate::log::RepositoryLog;
use crate::state::State;
use crate::table::{Form, Lookup, Table, TableBuilder};
use crate::verify::verify;

fn rep(n: u64) -> Rep {
    let sha1 = Sha1::of(&n.to_be_bytes());
    Rep { sha1, revision: 0, item: n, size: n + 1, expanded: u64::MAX - n }
}

/// The bytes of a table of these rows, in any order.
fn table_of(rows: &[Rep]) -> (Form, Vec<u8>) {
    let sorted: BTreeMap<Sha1, Rep> = rows.iter().map(|rep| (rep.sha1, *rep)).collect();
    let (mut builder, mut bytes) = (TableBuilder::default(), Vec::new());
    for rep in sorted.values() {
        bytes.extend(builder.add(rep));
    }
    let (form, end) = builder.finish();
    bytes.extend(end);
    (form, bytes)
}

fn cut(bytes: &[u8], range: Range<u64>) -> Vec<u8> {
    let at = |n: u64| usize::try_from(n).unwrap().min(bytes.len());
    bytes[at(range.start)..at(range.end)].to_vec()
}

/// What a table of these bytes has of a text; `None` when its end is none.
fn found(form: Form, bytes: &[u8], sha1: &Sha1) -> Option<Lookup> {
    let table = Table::parse(form, &cut(bytes, form.end()))?;
    Some(table.find(sha1, |range| Ok::<_, ()>(cut(bytes, range))).unwrap())
}

#[test]
fn all_rows_are_found_and_nothing_else() {
    for count in [1, 255, 256, 257, 1000] {
        let rows: Vec<Rep> = (0..count).map(rep).collect();
        let (form, bytes) = table_of(&rows);
        assert_eq!((form.rows(), form.bytes()), (count, len64(bytes.len())));
        let table = Table::parse(form, &cut(&bytes, form.end())).unwrap();
        for row in &rows {
            assert_eq!(found(form, &bytes, &row.sha1), Some(Lookup::Row(*row)));
        }
        let mut reads = 0;
        for n in count..count + 2000 {
            let read = |range| {
                reads += 1;
                Ok::<_, ()>(cut(&bytes, range))
            };
            assert_eq!(table.find(&rep(n).sha1, read).unwrap(), Lookup::Nothing);
        }
        assert!(reads < 60, "{reads} of 2000 look-ups in {count} rows were in vain");
    }
    assert_eq!(Form::new(u64::MAX), None);
}

/// The bytes were made by another program, out of the words of `docs/formats/repository-log.md`.
#[test]
fn the_form_is_the_one_that_is_described() {
    let kept = std::fs::read("../../fuzz/kept/rep_table/two_blocks").unwrap();
    let rows: Vec<Rep> = (0..300_u64)
        .map(|revision| Rep {
            sha1: Sha1::of(format!("text {revision}").as_bytes()),
            revision,
            item: 3,
            size: 10,
            expanded: 20,
        })
        .collect();
    let (form, bytes) = table_of(&rows);
    assert_eq!(form.rows(), 300);
    assert!(kept[8..] == bytes);
}

/// What is kept for the fuzz targets has tables: it is read, and written back.
#[test]
fn kept_checkpoints_and_entries_have_tables() {
    let kept = |name: &str| std::fs::read(format!("../../fuzz/kept/{name}")).unwrap();
    let bytes = kept("repository_checkpoint/all_lines");
    let read = crate::checkpoint::parse(&bytes).unwrap();
    assert_eq!((read.state.reps.tables().count(), read.state.reps.rows().len()), (2, 3));
    assert_eq!(crate::checkpoint::write(read.slot, read.last, &read.state), bytes);
    let bytes = kept("repository_log/all_items_table");
    let (_, found) = crate::entry::parse(&bytes, 0).unwrap();
    assert!(matches!(found.last().unwrap().item, Item::Table { first: 0, end: 6, .. }));
}

#[test]
fn of_equal_texts_the_first_counts() {
    let mut builder = TableBuilder::default();
    let other = Rep { item: 9, ..rep(1) };
    let mut bytes = [rep(1), other].iter().flat_map(|rep| builder.add(rep)).collect::<Vec<_>>();
    let (form, end) = builder.finish();
    bytes.extend(end);
    assert_eq!(found(form, &bytes, &other.sha1), Some(Lookup::Row(rep(1))));
}

proptest! {
    /// Whatever is wrong with a table, it gives its own rows or none.
    #[test]
    fn a_damaged_table_has_no_wrong_row(
        numbers in proptest::collection::btree_set(0u64..5000, 1..700),
        at in any::<proptest::sample::Index>(),
        bit in 0u8..8,
        is_cut in any::<bool>(),
    ) {
        let rows: Vec<Rep> = numbers.into_iter().map(rep).collect();
        let (form, mut bytes) = table_of(&rows);
        let at = at.index(bytes.len());
        if is_cut {
            bytes.truncate(at);
        } else {
            bytes[at] ^= 1 << bit;
        }
        let mut missing = 0;
        for row in &rows {
            match found(form, &bytes, &row.sha1) {
                Some(Lookup::Row(found)) => prop_assert_eq!(found, *row),
                Some(Lookup::Nothing) => prop_assert!(false, "it is said that a row is not there"),
                Some(Lookup::Damage) | None => missing += 1,
            }
        }
        prop_assert!(missing > 0);
    }

    #[test]
    fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..1000), rows in 0u64..1000) {
        let form = Form::new(rows).unwrap();
        prop_assert!(Table::parse(form, &bytes).is_none());
        prop_assert!(form.rows_of(0, &bytes).is_none());
    }
}

fn append(log: &mut RepositoryLog, items: &[Item<'static>]) {
    assert!(log.append(&mut |_| Ok(Some(items.to_vec())), &mut |_, _| false).unwrap());
}

fn new(store: &Arc<dyn Store>) -> RepositoryLog {
    let mut log = RepositoryLog::new(Arc::clone(store)).unwrap();
    append(&mut log, &[file("format", "5\n"), revision(0, "zero")]);
    log
}

fn keep_up(log: &mut RepositoryLog) {
    if let Some(table) = log.take_table() {
        let table = table.write().unwrap().unwrap();
        assert!(log.announce_table(&table, &mut |_, _| false).unwrap());
    }
}

/// Adds entries with so many representations each, up to a number of them.
fn grow(log: &mut RepositoryLog, numbers: Range<u64>, each: u64) {
    let mut at = numbers.start;
    while at < numbers.end {
        let end = (at + each).min(numbers.end);
        append(log, &[Item::Reps((at..end).map(rep).collect())]);
        keep_up(log);
        at = end;
    }
}

fn opened(store: &Arc<dyn Store>) -> RepositoryLog {
    RepositoryLog::open(Arc::clone(store)).unwrap().unwrap()
}

/// All rows, which are those of the numbers, and how many blocks were damaged.
fn numbers(log: &RepositoryLog) -> (BTreeSet<u64>, u64) {
    let mut reps = AllReps::of(log.store(), &log.state().reps).unwrap();
    let mut found = BTreeSet::new();
    while let Some(row) = reps.next().unwrap() {
        assert_eq!(row, rep(row.item));
        assert!(found.insert(row.item));
    }
    (found, reps.damaged())
}

#[test]
fn tables_are_few_and_rows_are_written_few_times() {
    for count in [10_000_u64, 40_000] {
        let counted = CountedStore::new(Arc::new(Memory::new()));
        let store: Arc<dyn Store> = Arc::new(counted.clone());
        let mut log = new(&store);
        grow(&mut log, 0..count, 300);
        let state = log.state();
        let lens: Vec<u64> = state.reps.tables().map(|(_, table)| table.form.rows()).collect();
        // Each has more rows than all behind it together.
        for at in 0..lens.len() {
            assert!(lens[at + 1..].iter().sum::<u64>() < lens[at], "{lens:?}");
        }
        assert!(len64(lens.len()) <= u64::from((count / 1024).ilog2()) + 1, "{lens:?}");
        assert!(state.reps.rows().len() < 1024 + 300);
        // A table is 53 bytes a row; the entries themselves are as long.
        let levels = u64::from((count / 1024).ilog2()) + 1;
        let bytes = counted.requests().bytes_out;
        assert!(bytes < 60 * count * (levels + 1), "{bytes} bytes for {count} rows");
        assert_eq!(numbers(&log), ((0..count).collect(), 0));
        assert_eq!(opened(&store).state(), state);
        let bytes = log.checkpoint_bytes().unwrap();
        assert_eq!(&crate::checkpoint::parse(&bytes).unwrap().state, state);
        verify(&store).unwrap();
    }
}

/// Many short tables, as imports bring them, are put together without a row.
#[test]
fn tables_that_are_too_many_become_one() {
    let store: Arc<dyn Store> = Arc::new(Memory::new());
    let mut log = new(&store);
    let mut sizes = Vec::new();
    for n in 0..6 {
        append(&mut log, &[Item::Gone { path: "x".into() }]);
        let mut table = crate::TableWriter::new(&*store);
        let rows: BTreeMap<Sha1, Rep> =
            (n * 10..n * 10 + 10).map(|n| (rep(n).sha1, rep(n))).collect();
        rows.values().for_each(|rep| table.add(rep).unwrap());
        let table = table.finish(log.state().reps.tabled(), log.entries()).unwrap().unwrap();
        assert!(log.announce_table(&table, &mut |_, _| false).unwrap());
        keep_up(&mut log);
        sizes.push(log.state().reps.tables().count());
        assert_eq!(numbers(&log), ((0..n * 10 + 10).collect(), 0));
    }
    assert_eq!(sizes, [1, 1, 2, 1, 2, 2]);
    verify(&store).unwrap();
}

/// What is done to an object of a store.
type Damage<'a> = &'a dyn Fn(&Memory, &Key);

#[test]
fn a_table_that_is_lost_or_damaged_costs_rows_and_nothing_else() {
    let damages: [Damage<'_>; 3] = [
        &|store, key| store.delete(key).unwrap(),
        &|store, key| store.put(key, b"short").unwrap(),
        &|store, key| {
            let mut bytes = store.get(key, 0..u64::MAX).unwrap().unwrap();
            bytes[1] ^= 1;
            store.put(key, &bytes).unwrap();
        },
    ];
    for damage in damages {
        let memory = Memory::new();
        let store: Arc<dyn Store> = Arc::new(memory.clone());
        let mut log = new(&store);
        grow(&mut log, 0..1200, 300);
        let key = memory.list("reps", None, 1).unwrap().remove(0).key;
        damage(&memory, &key);
        let (rows, damaged) = numbers(&log);
        assert!(rows.len() < 1200 && damaged > 0);
        let error = verify(&store).unwrap_err().to_string();
        assert!(error.contains(&format!("'{key}' is not what entry")), "{error}");
        // The next table has the rows that are left, and is whole.
        grow(&mut log, 1200..2400, 300);
        let (rows, damaged) = numbers(&log);
        assert!(damaged == 0 && (1200..2400).all(|n| rows.contains(&n)));
        verify(&store).unwrap();
    }
}

#[test]
fn of_two_that_write_a_table_both_may_come_and_no_row_is_lost() {
    let store: Arc<dyn Store> = Arc::new(Memory::new());
    let mut one = new(&store);
    append(&mut one, &[Item::Reps((0..2000).map(rep).collect())]);
    let first = one.take_table().unwrap().write().unwrap().unwrap();
    assert!(one.take_table().is_none(), "it is handed out once");
    let mut two = opened(&store);
    append(&mut two, &[Item::Reps((2000..2500).map(rep).collect())]);
    let second = two.take_table().unwrap().write().unwrap().unwrap();
    assert!(one.announce_table(&first, &mut |_, _| false).unwrap());
    assert_eq!(numbers(&one), ((0..2500).collect(), 0));
    // It has the rows of the first, too.
    assert!(two.announce_table(&second, &mut |_, _| false).unwrap());
    assert_eq!(numbers(&two), ((0..2500).collect(), 0));
    assert!(!one.announce_table(&first, &mut |_, _| false).unwrap(), "it comes too late");
    assert_eq!(numbers(&opened(&store)), ((0..2500).collect(), 0));
    verify(&store).unwrap();
}

#[test]
fn tables_that_do_not_fit_are_refused() {
    let store: Arc<dyn Store> = Arc::new(Memory::new());
    let mut log = new(&store);
    append(&mut log, &[Item::Reps((0..2000).map(rep).collect())]);
    keep_up(&mut log);
    append(&mut log, &[Item::Reps((2000..2010).map(rep).collect())]);
    assert_eq!((log.state().reps.tabled(), log.entries()), (2, 4));
    let table = |first: u64, end: u64, rows: u64, len: usize| Item::Table {
        first,
        end,
        form: Form::new(rows).unwrap(),
        data: object(1, &vec![0; len]),
    };
    let fits = |items: &[Item<'static>]| {
        let items: Vec<_> =
            items.iter().map(|item| FoundItem { item: item.clone(), at: 0 }).collect();
        log.state().fits(log.entries(), &items).is_ok()
    };
    let len = usize::try_from(Form::new(1).unwrap().bytes()).unwrap();
    for (first, end) in [(0, 4), (0, 2), (2, 4), (2, 3)] {
        assert!(fits(&[table(first, end, 1, len)]), "{first} {end}");
    }
    for (first, end, rows, len) in [
        (1, 4, 1, len),
        (0, 1, 1, len),
        (2, 2, 1, len),
        (3, 4, 1, len),
        (2, 5, 1, len),
        (2, 4, 1, len - 1),
        (2, 4, 2, len),
        (2, 4, 0, usize::try_from(Form::new(0).unwrap().bytes()).unwrap()),
    ] {
        assert!(!fits(&[table(first, end, rows, len)]), "{first} {end} {rows} {len}");
    }
    assert!(!fits(&[table(0, 2, 1, len), table(2, 4, 1, len)]), "one is enough");
}

/// A server that stops at any request of the step that writes a table, or whose answers are lost; another one goes on.
#[test]
fn a_writer_that_stops_at_a_table_harms_nothing() {
    for fault in [
        Fault::StopBefore,
        Fault::StopAfter,
        Fault::AnswerLost,
        Fault::RequestLost,
        Fault::Delayed(2),
        Fault::Twice(2),
    ] {
        let mut done = false;
        for at in 0.. {
            let below: Arc<dyn Store> = Arc::new(Memory::new());
            let mut log = new(&below);
            grow(&mut log, 0..1200, 300);
            append(&mut log, &[Item::Reps((1200..2500).map(rep).collect())]);
            let faulty = Arc::new(Faulty::new(Arc::clone(&below), at, fault));
            let shared: Arc<dyn Store> = Arc::<Faulty>::clone(&faulty);
            if let Ok(Some(mut stopped)) = RepositoryLog::open(shared)
                && let Ok(Some(table)) = stopped.take_table().unwrap().write()
            {
                drop(stopped.announce_table(&table, &mut |_, _| false));
            }
            done = faulty.operations() <= at;
            faulty.let_all_arrive();
            let mut second = opened(&below);
            assert_eq!(numbers(&second), ((0..2500).collect(), 0), "{fault:?} at {at}");
            verify(&below).unwrap();
            append(&mut second, &[Item::Reps((2500..4000).map(rep).collect())]);
            keep_up(&mut second);
            assert_eq!(numbers(&second), ((0..4000).collect(), 0), "{fault:?} at {at}");
            verify(&below).unwrap();
            if done {
                break;
            }
        }
        assert!(done);
    }
}

#[test]
fn a_state_forgets_no_row_and_keeps_none_twice() {
    let mut state = State::new(sapwood_objects::Token::from_bytes([5; 16]));
    let later = Rep { item: 99, ..rep(1) };
    state.reps.add(3, &[rep(1), rep(2)]);
    state.reps.add(4, &[later, rep(3)]);
    assert_eq!(state.reps.row(&later.sha1), Some(rep(1)));
    let table =
        |end| crate::RepTable { end, form: Form::new(1).unwrap(), data: object(1, b""), slot: end };
    state.reps.put_table(0, table(4));
    let left: Vec<u64> = state.reps.rows().map(|(_, rep)| rep.item).collect();
    assert_eq!((left, state.reps.tabled()), (vec![3], 4));
    state.reps.put_table(4, table(5));
    state.reps.put_table(0, table(6));
    assert_eq!(state.reps.tables().count(), 1);
}
