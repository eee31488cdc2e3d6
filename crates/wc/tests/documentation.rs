//! The tables of `docs/formats/wc.md` and `shelves.md` are those of the code.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "also in the helpers of tests"
)]

use sapwood_wc::db::{Access, Db, FORMAT, FORMAT_OPTIONAL_PRISTINES, Presence};
use sapwood_wc::work_item::WorkItem;

const PAGE: &str = include_str!("../../../docs/formats/wc.md");

/// The rows of a table, cell by cell, that follow a header row.
fn rows(header: &str) -> Vec<Vec<&'static str>> {
    rows_of(PAGE, header)
}

fn rows_of(page: &'static str, header: &str) -> Vec<Vec<&'static str>> {
    let start = page.find(header).unwrap_or_else(|| panic!("no table begins with {header}"));
    let lines = page[start..].lines().skip(2).take_while(|line| line.starts_with('|'));
    lines.map(|line| line.trim_matches('|').split('|').map(str::trim).collect()).collect()
}

/// The words in backquotes of a cell.
fn words(cell: &str) -> Vec<&str> {
    cell.split('`').skip(1).step_by(2).collect()
}

#[test]
fn tables_and_columns() {
    let folder = tempfile::tempdir().unwrap();
    let db = Db::create(&folder.path().join("wc.db"), Access::default()).unwrap();
    let list = |sql: &str| -> Vec<String> {
        let mut statement = db.connection().prepare(sql).unwrap();
        let found = statement.query_map([], |row| row.get(0)).unwrap();
        found.collect::<Result<_, _>>().unwrap()
    };
    let made = list(
        "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY rowid",
    );
    let documented = rows("| table | columns |");
    let names: Vec<_> = documented.iter().map(|row| row[0].to_owned()).collect();
    assert_eq!(made, names);
    for row in documented {
        let columns = list(&format!("SELECT name FROM pragma_table_info('{}')", row[0]));
        assert_eq!(columns.join(", "), row[1], "columns of {}", row[0]);
    }
    assert!(PAGE.contains(&format!("`PRAGMA user_version` is {FORMAT}.")));
    assert_eq!(db.format(), FORMAT);
}

#[test]
fn what_format_32_adds() {
    let folder = tempfile::tempdir().unwrap();
    let db = Db::create(&folder.path().join("wc.db"), Access::default()).unwrap();
    let columns = |table: &str| -> Vec<String> {
        let sql = format!("SELECT name FROM pragma_table_info('{table}')");
        let mut statement = db.connection().prepare(&sql).unwrap();
        let found = statement.query_map([], |row| row.get(0)).unwrap();
        found.collect::<Result<_, _>>().unwrap()
    };
    let tables = rows("| in format 32 | columns | holds |");
    let before: Vec<_> = tables.iter().map(|row| columns(row[0])).collect();
    db.allow_missing_pristines().unwrap();
    for (row, before) in tables.iter().zip(before) {
        let mut after = columns(row[0]);
        after.retain(|name| !before.contains(name));
        assert_eq!(after.join(", "), row[1], "columns of {}", row[0]);
    }
    assert_eq!(db.format(), FORMAT_OPTIONAL_PRISTINES);
    assert!(db.settings().store_pristine);
    assert!(PAGE.contains(&format!("| {FORMAT_OPTIONAL_PRISTINES} | 1.15 |")));
}

#[test]
fn presences() {
    let table = rows("| presence | meaning |");
    assert_eq!(table.len(), 6);
    for row in table {
        let word = words(row[0])[0];
        assert_eq!(Presence::from_word(word).map(Presence::word), Some(word));
    }
}

#[test]
fn work_items() {
    for row in rows("| item | arguments | does |") {
        let name = words(row[0])[0];
        let skel = format!("({name} 1 a 1 1 1 0 0 )");
        let item = WorkItem::parse(skel.as_bytes());
        let item = item.unwrap_or_else(|error| panic!("{skel}: {error:?}"));
        let written = String::from_utf8(item.to_skel()).unwrap();
        assert!(written.starts_with(&format!("({name}")), "{written}");
    }
    assert!(WorkItem::parse(b"(no-such-item 1 a)").is_err());
}

#[test]
fn words_of_conflicts() {
    use sapwood_wc::conflict::{Action, Operation, Reason};
    let table = rows("| word of a conflict | one of |");
    let said = |kind: &str| {
        let row = table.iter().find(|row| row[0] == kind).unwrap();
        words(row[1])
    };
    assert_eq!(said("operation"), Operation::ALL.map(Operation::word));
    assert_eq!(said("reason"), Reason::ALL.map(Reason::word));
    assert_eq!(said("action"), Action::ALL.map(Action::word));
}

#[test]
fn shelves() {
    use sapwood_wc::shelf::{Shelf, Store, v2};
    use sapwood_wc::status::{State, Status};
    const SHELVES: &str = include_str!("../../../docs/formats/shelves.md");
    let letters = rows_of(SHELVES, "| letter | state |");
    let states = [
        State::None,
        State::Normal,
        State::Added,
        State::Deleted,
        State::Replaced,
        State::Modified,
    ];
    assert_eq!(letters.len(), states.len());
    for (row, state) in letters.iter().zip(states) {
        assert_eq!(words(row[0]), [v2::letter(state).to_string()]);
        assert_eq!(row[1], state.word());
    }
    // A version of each store has the name that the page gives it.
    let folder = tempfile::tempdir().unwrap();
    let wc =
        sapwood_wc::WorkingCopy::create(folder.path(), sapwood_wc::Options::default()).unwrap();
    let files = rows_of(SHELVES, "| file | holds |");
    for (store, row) in [(Store::V2, 2), (Store::V3, 3)] {
        let mut shelf = Shelf::open_or_create(&wc, store, "foo", false).unwrap();
        let place = shelf.next_place().unwrap();
        std::fs::create_dir(&place).unwrap();
        shelf.complete().unwrap();
        shelf.set_revprops(sapwood_core::PropList::new()).unwrap();
        let name = words(files[row][0])[0].replace("HEX", "666f6f").replace("NNN", "001");
        let dir = folder.path().join(".svn/experimental/shelves").join(store.folder());
        assert_eq!(place, dir.join(name));
        for row in &files[..2] {
            assert!(dir.join(words(row[0])[0].replace("HEX", "666f6f")).exists());
        }
    }
    assert!(SHELVES.contains("`f MM  12`"));
    assert_eq!(v2::Meta::of(&Status::default()).kind, None);
}
