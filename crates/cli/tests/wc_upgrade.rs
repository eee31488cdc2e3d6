//! `svn upgrade` of working copies before 1.7, made from seeds, by ours and by the reference: the same is
//! said, and the databases hold the same.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a failure is a failed test"
)]

#[path = "common/old_wc.rs"]
mod old_wc;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use rusqlite::Connection;
use rusqlite::types::Value;
use sapwood_testkit::Programs;
use sapwood_wc::db::read_props;

/// All rows of all tables, by table; property lists in the order of their names.
fn dump(db: &Path) -> BTreeMap<String, Vec<String>> {
    let db = Connection::open(db).unwrap();
    // SQLite makes `sqlite_stat4` by itself, if it was built with that.
    let tables = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name <> 'sqlite_stat4'";
    let mut tables = db.prepare(tables).unwrap();
    let tables = tables.query_map([], |row| row.get::<_, String>(0)).unwrap();
    let mut found = BTreeMap::new();
    for table in tables.map(Result::unwrap) {
        let mut rows = db.prepare(&format!("SELECT * FROM {table}")).unwrap();
        let names: Vec<String> = rows.column_names().map(str::to_owned).collect();
        let rows = rows.query_map([], |row| {
            let cells = names.iter().enumerate().map(|(at, name)| {
                let value: Value = row.get(at).unwrap();
                match (name.as_str(), &value) {
                    ("properties" | "dav_cache", Value::Blob(bytes)) => {
                        format!("{name}={:?}", read_props(bytes).unwrap())
                    }
                    (_, Value::Blob(bytes)) => format!("{name}={}", String::from_utf8_lossy(bytes)),
                    _ => format!("{name}={value:?}"),
                }
            });
            Ok(cells.collect::<Vec<_>>().join(" "))
        });
        let mut rows: Vec<String> = rows.unwrap().map(Result::unwrap).collect();
        rows.sort_unstable();
        found.insert(table, rows);
    }
    found
}

/// The paths below a folder, but for the database's.
fn paths(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut todo = vec![folder.to_owned()];
    while let Some(dir) = todo.pop() {
        for entry in fs::read_dir(&dir).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                todo.push(path.clone());
            }
            let shown = path.strip_prefix(folder).unwrap().display().to_string();
            if !shown.contains("wc.db") {
                found.push(shown);
            }
        }
    }
    found.sort_unstable();
    found
}

/// What an upgrade came to: that it worked with its lines in order, or the codes of its errors.
#[derive(Debug, PartialEq)]
enum Came {
    Upgraded { said: Vec<String>, db: BTreeMap<String, Vec<String>>, paths: Vec<String> },
    Failed(Vec<String>),
}

fn upgrade(programs: &Programs, root: &Path) -> Came {
    let output = programs.command("svn").arg("upgrade").arg(root).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).replace(root.to_str().unwrap(), "WC");
    let errors = text(&output.stderr);
    if output.status.success() {
        assert_eq!(errors, "");
        let mut said: Vec<String> = text(&output.stdout).lines().map(str::to_owned).collect();
        said.sort_unstable();
        let db = dump(&root.join(".svn/wc.db"));
        return Came::Upgraded { said, db, paths: paths(root) };
    }
    // Shown when the test fails.
    println!("{} {errors}", programs.label);
    let codes = errors.lines().filter_map(|line| line.strip_prefix("svn: ")?.get(..7));
    let codes: Vec<String> = codes.map(str::to_owned).collect();
    // What the reference asserts ends it at once.
    if output.status.code().is_none() {
        Came::Failed(vec!["E235000".to_owned()])
    } else {
        Came::Failed(codes)
    }
}

fn compare(format: u32, seeds: std::ops::Range<u64>) {
    let mut upgraded = 0;
    for seed in seeds.clone() {
        let folder = tempfile::tempdir().unwrap();
        let came = [Programs::ours(), Programs::reference()].map(|programs| {
            let root = folder.path().join("wc");
            old_wc::make(&root, format, seed);
            let came = upgrade(&programs, &root);
            fs::remove_dir_all(&root).unwrap();
            came
        });
        let [ours, theirs] = &came;
        if let (Came::Upgraded { db, paths, .. }, Came::Upgraded { db: wanted, paths: left, .. }) =
            (ours, theirs)
        {
            upgraded += 1;
            for (table, rows) in wanted {
                let more: Vec<_> = db[table].iter().filter(|row| !rows.contains(row)).collect();
                let less: Vec<_> = rows.iter().filter(|row| !db[table].contains(row)).collect();
                assert!(
                    more.is_empty() && less.is_empty(),
                    "{table}, format {format}, seed {seed}\nours {more:#?}\ntheirs {less:#?}"
                );
            }
            assert!(db.keys().eq(wanted.keys()), "{:?} {:?}", db.keys(), wanted.keys());
            let more: Vec<_> = paths.iter().filter(|path| !left.contains(path)).collect();
            let less: Vec<_> = left.iter().filter(|path| !paths.contains(path)).collect();
            assert!(
                more.is_empty() && less.is_empty(),
                "format {format}, seed {seed}: {more:?} {less:?}"
            );
        }
        assert_eq!(ours, theirs, "format {format}, seed {seed}");
    }
    assert!(upgraded * 2 > seeds.count(), "only {upgraded} were upgraded");
}

/// How many of each format.
fn count() -> u64 {
    if std::env::var_os("SAPWOOD_LONG").is_some() { 1000 } else { 12 }
}

#[test]
fn as_the_reference_upgrades_1_6() {
    compare(10, 0..count());
}

#[test]
fn as_the_reference_upgrades_1_5() {
    compare(9, 10_000..10_000 + count());
}

#[test]
fn as_the_reference_upgrades_1_4() {
    compare(8, 20_000..20_000 + count());
}

#[test]
fn as_the_reference_upgrades_1_0() {
    compare(4, 30_000..30_000 + count());
}
