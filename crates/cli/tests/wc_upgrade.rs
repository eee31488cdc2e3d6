//! `svn upgrade` of working copies before 1.7, made from seeds, by ours and by the reference: the same is
//! said, and the databases hold the same.

use crate::common::old_wc;
use crate::common::sides;

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

/// Rows of the queue as Subversion 1.7 wrote them, planted in working copies of today: cleanup does
/// what 1.14's does. `plant` is a program that puts skels into the queue.
#[test]
fn work_that_1_7_left() {
    sides::compare(
        r#"
seq 1 9 > f; seq 3 > t; mkdir -p d/e add; echo g > d/g; echo h > d/e/h; echo k > k; ln -s k l; echo r > r; echo p > p; echo b > b; echo x > x
svn add -q f t d k l r p b x
svn ci -q -m one
svn up -q
printf 'import sqlite3,sys\nc=sqlite3.connect(".svn/wc.db")\nfor w in sys.argv[1:]: c.execute("insert into work_queue (work) values (?)",(w.encode(),))\nc.commit()\n' > ../plant
python3 ../plant '(record-fileinfo k)' '(record-fileinfo 1 r 16 1000000000000000)' '(record-fileinfo l 16 1000000000000000)' '(record-fileinfo nothing)' '(record-fileinfo d)'
= cleanup
stat -c '%n %Y' r; python3 -c 'import sqlite3; print(sqlite3.connect(".svn/wc.db").execute("select local_relpath, last_mod_time from nodes where local_relpath = \'r\'").fetchall())'
= status -v
svn rm -q --keep-local x; echo new > x; svn add -q x; echo changed >> b; svn ps -q p v p; svn mv -q d/g moved; echo own > d/own
python3 ../plant '(base-remove f 2 -1 1 0)' '(base-remove t 1 1 1 0)' '(base-remove d 1 1 1 0)' '(base-remove x 2 -1 1 0)' '(base-remove b 2 -1 1 0)'
= cleanup
= status -v
svn revert -q -R .
svn up -q --force --accept working
= status
echo old > k.r1; echo new > k.r2; echo mine > k.mine; echo why > k.prej; echo why > dir_conflicts.prej
python3 ../plant '(tmp-set-text-conflict-markers k 4 k.r1 4 k.r2 6 k.mine)' '(tmp-set-property-conflict-marker k 6 k.prej)' '(tmp-set-property-conflict-marker d/e 0 )' '(tmp-set-text-conflict-markers r 4 k.r1 0  0 )' '(tmp-set-property-conflict-marker p 4 k.r1)' '(tmp-set-text-conflict-markers p 0  4 k.r2 0 )'
= cleanup
= status
= info k
= info d/e
= resolve -q --accept working k r p d/e
= status
"#,
    );
}

/// After a kill an item may be done twice; 1.14 stops at an assertion or at a node that is gone.
#[test]
fn work_that_1_7_left_is_done_twice() {
    let folder = tempfile::tempdir().unwrap();
    let ours = Programs::ours();
    let run = |program: &str, args: &[&str]| {
        let mut command = ours.command(program);
        let output = command.args(args).current_dir(folder.path()).output().unwrap();
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    run("svnadmin", &["create", "repo"]);
    run("svn", &["checkout", "-q", &format!("file://{}/repo", folder.path().display()), "wc"]);
    for name in ["f", "k", "k.old", "k.prej"] {
        fs::write(folder.path().join("wc").join(name), name).unwrap();
    }
    run("svn", &["add", "-q", "wc/f", "wc/k"]);
    run("svn", &["commit", "-q", "-m", "one", "wc"]);
    let db = Connection::open(folder.path().join("wc/.svn/wc.db")).unwrap();
    for _ in 0..2 {
        for skel in [
            "(base-remove f 2 -1 1 0)",
            "(tmp-set-text-conflict-markers k 5 k.old 0  0 )",
            "(tmp-set-property-conflict-marker k 6 k.prej)",
        ] {
            db.execute("INSERT INTO work_queue (work) VALUES (?1)", [skel.as_bytes()]).unwrap();
        }
    }
    run("svn", &["cleanup", "wc"]);
    let status = run("svn", &["status", "wc"]);
    assert!(status.starts_with("CC      wc/k\n"), "{status}");
    assert!(!folder.path().join("wc/f").exists());
    let left: i64 = db.query_row("SELECT COUNT(*) FROM work_queue", [], |row| row.get(0)).unwrap();
    assert_eq!(left, 0);
}
