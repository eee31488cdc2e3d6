//! Against databases of the reference, and query plans.

use sapwood_core::paths::RelPath;
use sapwood_core::{Depth, Revnum};

use super::*;
use crate::work_item::WorkItem;

fn scratch() -> (tempfile::TempDir, Db) {
    let dir = tempfile::tempdir().unwrap();
    let db = Db::create(&dir.path().join("wc.db"), Access::default()).unwrap();
    (dir, db)
}

#[test]
fn a_new_database_has_the_objects_of_the_format() {
    let (_dir, db) = scratch();
    assert_eq!(db.format(), 31);
    let names = |kind: &str| {
        let sql = "SELECT name FROM sqlite_schema WHERE type = ?1 AND name NOT LIKE 'sqlite_%'";
        let mut names: Vec<String> = db.all(sql, [kind], |row| row.get(0)).unwrap();
        names.sort();
        names.join(" ")
    };
    assert_eq!(
        names("table"),
        "ACTUAL_NODE EXTERNALS LOCK NODES PRISTINE REPOSITORY WCROOT WC_LOCK WORK_QUEUE"
    );
    assert_eq!(
        names("index"),
        "I_ACTUAL_PARENT I_EXTERNALS_DEFINED I_LOCAL_ABSPATH I_NODES_MOVED I_NODES_PARENT \
         I_PRISTINE_MD5 I_ROOT I_UUID"
    );
    assert_eq!(names("view"), "NODES_BASE NODES_CURRENT");
    assert_eq!(
        names("trigger"),
        "nodes_delete_trigger nodes_insert_trigger nodes_update_checksum_trigger"
    );
    let rows: i64 =
        db.connection.query_row("SELECT COUNT(*) FROM sqlite_stat1", [], |r| r.get(0)).unwrap();
    assert_eq!(rows, 9);
}

#[test]
fn rows_come_back_as_they_were_written() {
    let (_dir, db) = scratch();
    let repos = db.repository_id("file:///r", "uuid").unwrap();
    assert_eq!(db.repository_id("file:///r", "uuid").unwrap(), repos);
    let sha1 = sapwood_core::Sha1::of(b"x");
    db.add_pristine(&sha1, &sapwood_core::Md5::of(b"x"), 1).unwrap();
    let mut row = NodeRow::new(RelPath::trusted("a/b"), 0, Presence::Normal, Kind::File);
    row.repos_id = Some(repos);
    row.repos_path = Some(RelPath::trusted("trunk/a/b").to_owned());
    row.revision = Some(Revnum(3));
    row.properties = Some(b"()".to_vec());
    row.checksum = Some(sha1);
    row.changed_date = Some(sapwood_core::date::Timestamp(5));
    db.put_node(&row).unwrap();
    assert_eq!(db.base(RelPath::trusted("a/b")).unwrap().unwrap(), row);
    assert_eq!(db.pristine(&sha1).unwrap().unwrap().refcount, 1);
    // Replacing a row must not count twice: the triggers see the row that goes.
    db.put_node(&row).unwrap();
    assert_eq!(db.pristine(&sha1).unwrap().unwrap().refcount, 1);
    let mut above = NodeRow::new(RelPath::trusted("a/b"), 2, Presence::BaseDeleted, Kind::File);
    above.moved_to = Some(RelPath::trusted("c").to_owned());
    above.depth = Some(Depth::Empty);
    db.put_node(&above).unwrap();
    assert_eq!(db.top(RelPath::trusted("a/b")).unwrap().unwrap(), above);
    assert_eq!(db.moved_from(RelPath::trusted("c")).unwrap().unwrap().relpath, "a/b");
    assert_eq!(db.layers(RelPath::trusted("a/b")).unwrap().len(), 2);
    assert_eq!(db.children_top(RelPath::trusted("a")).unwrap(), [above]);
    db.record_fileinfo(RelPath::trusted("a/b"), 7, 8).unwrap();
    assert_eq!(db.node(RelPath::trusted("a/b"), 2).unwrap().unwrap().translated_size, Some(7));
    assert!(db.remove_node(RelPath::trusted("a/b"), 0).unwrap());
    assert_eq!(db.pristine(&sha1).unwrap().unwrap().refcount, 0);
    assert_eq!(db.unreferenced_pristines().unwrap(), [sha1]);
}

#[test]
fn a_failed_change_leaves_nothing() {
    let (_dir, db) = scratch();
    let failed: Result<()> = db.write(|db| {
        db.put_node(&NodeRow::new(RelPath::trusted(""), 0, Presence::Normal, Kind::Dir))?;
        db.write(|db| {
            db.put_node(&NodeRow::new(RelPath::trusted("x"), 0, Presence::Normal, Kind::Dir))
        })?;
        Err(Error::Cancelled)
    });
    assert!(failed.is_err());
    assert!(db.subtree(RelPath::ROOT).unwrap().is_empty());
    db.read(|db| {
        assert!(db.write(|_| Ok(())).is_err());
        Ok(())
    })
    .unwrap();
}

/// How many transactions have been committed: SQLite counts them in the file's head.
fn commits(db: &Db) -> u32 {
    let head = std::fs::read(&db.path).unwrap();
    u32::from_be_bytes(head[24..28].try_into().unwrap())
}

#[test]
fn changes_are_gathered_in_one_transaction() {
    let (_dir, db) = scratch();
    let put = |path: &str| {
        let row = NodeRow::new(RelPath::trusted(path), 0, Presence::Normal, Kind::Dir);
        db.write(|db| db.put_node(&row))
    };
    let before = commits(&db);
    assert!(db.begin_gathering());
    assert!(!db.begin_gathering());
    put("").unwrap();
    put("a").unwrap();
    let failed: Result<()> = db.write(|_| {
        put("b")?;
        Err(Error::Cancelled)
    });
    assert!(failed.is_err());
    put("c").unwrap();
    db.questions::<_, Error>(|| put("d")).unwrap();
    db.read(|db| db.top(RelPath::trusted("d"))).unwrap().unwrap();
    assert_eq!((commits(&db), db.gathered()), (before, 4));
    db.commit_gathered().unwrap();
    assert_eq!((commits(&db), db.gathered()), (before + 1, 0));
    db.read(|db| db.top(RelPath::trusted("c"))).unwrap().unwrap();
    put("e").unwrap();
    db.end_gathering().unwrap();
    let rows = db.subtree(RelPath::ROOT).unwrap();
    let paths: Vec<&str> = rows.iter().map(|row| row.relpath.as_str()).collect();
    assert_eq!(paths, ["", "a", "c", "d", "e"]);
    assert_eq!(commits(&db), before + 2);
    put("f").unwrap();
    assert_eq!(commits(&db), before + 3);
}

#[test]
fn subtrees_end_where_they_should() {
    let (_dir, db) = scratch();
    for path in ["", "a", "a b", "a/x", "a/x/y", "a0", "b"] {
        db.put_node(&NodeRow::new(RelPath::trusted(path), 0, Presence::Normal, Kind::Dir)).unwrap();
    }
    let paths = |p: &str| -> Vec<String> {
        db.subtree(RelPath::trusted(p))
            .unwrap()
            .into_iter()
            .map(|r| r.relpath.into_string())
            .collect()
    };
    assert_eq!(paths("a"), ["a", "a/x", "a/x/y"]);
    assert_eq!(paths("").len(), 7);
    db.remove_below(RelPath::trusted("a"), 0).unwrap();
    assert_eq!(paths("a"), ["a"]);
    db.remove_below(RelPath::ROOT, 0).unwrap();
    assert_eq!(paths(""), [""]);
}

/// A database beside which a memory is, so that changes are listed.
fn fixture() -> (tempfile::TempDir, Db) {
    let (dir, db) = scratch();
    std::fs::create_dir_all(crate::change_journal::place(dir.path())).unwrap();
    (dir, db)
}

fn has_triggers(db: &Db) -> bool {
    let sql = "SELECT EXISTS (SELECT 1 FROM sqlite_temp_schema)";
    db.connection.query_row(sql, [], |row| row.get(0)).unwrap()
}

fn touched(db: &Db) -> Vec<(String, bool)> {
    let changes = db.listed.changes(&db.connection, db.wc_id).unwrap().unwrap();
    changes.touched.into_iter().map(|(path, is_dir)| (path.into_string(), is_dir)).collect()
}

#[test]
fn statements_on_other_tables_need_no_triggers() {
    let (_dir, db) = fixture();
    db.write(|db| {
        db.add_wc_lock(RelPath::ROOT, -1)?;
        db.add_work(&WorkItem::FileRemove { relpath: RelPath::trusted("d").to_owned() })?;
        db.remove_work(1)
    })
    .unwrap();
    assert!(!has_triggers(&db));
    let row = |path: &str, kind| NodeRow::new(RelPath::trusted(path), 0, Presence::Normal, kind);
    db.write(|db| {
        db.put_node(&row("a", Kind::Dir))?;
        db.put_node(&row("a/f", Kind::File))?;
        db.record_fileinfo(RelPath::trusted("a/f"), 1, 2)?;
        db.put_actual(&ActualRow {
            relpath: RelPath::trusted("a/g").to_owned(),
            changelist: Some("list".to_owned()),
            ..ActualRow::default()
        })
    })
    .unwrap();
    assert!(has_triggers(&db));
    let found = [("a", true), ("a/f", false), ("a/g", false)].map(|(p, d)| (p.into(), d));
    assert_eq!(touched(&db), found);
}

#[test]
fn triggers_that_were_taken_back_are_made_again() {
    let (_dir, db) = fixture();
    let add = "INSERT INTO nodes (wc_id, local_relpath, op_depth, presence, kind) VALUES (1, ?1, 0, 'normal', 'file')";
    let failed: Result<()> = db.write(|db| {
        db.execute(add, ["a"])?;
        Err(Error::Cancelled)
    });
    assert!(failed.is_err());
    assert!(!has_triggers(&db));
    db.execute(add, ["b"]).unwrap();
    assert!(has_triggers(&db));
    assert!(touched(&db).iter().any(|(path, _)| path == "b"));
}

#[test]
fn many_rows_are_listed() {
    let (_dir, db) = fixture();
    db.write(|db| {
        (0..200).try_for_each(|n| {
            let path = format!("f{n}");
            db.put_node(&NodeRow::new(RelPath::trusted(&path), 0, Presence::Normal, Kind::File))
        })
    })
    .unwrap();
    assert!(has_triggers(&db));
    assert_eq!(touched(&db).len(), 200);
}

#[test]
fn questions_give_their_lock_back_to_those_who_wait() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("wc.db");
    let at_once = Access { busy_timeout: Duration::ZERO, exclusive: false };
    let one = Db::create(&path, at_once).unwrap();
    let other = Db::open(&path, at_once).unwrap();
    let change = || other.repository_id("file:///r", "uuid");
    one.questions(|| {
        assert!(one.top(RelPath::ROOT)?.is_none());
        assert!(change().is_err(), "it has the lock");
        one.let_go()?;
        let id = change()?;
        assert_eq!(one.repository(id)?.uuid, "uuid");
        assert!(other.repository_id("file:///s", "other").is_err());
        let second = one.released(|| other.repository_id("file:///s", "other"))?;
        assert_eq!(one.repository(second)?.uuid, "other");
        Ok::<_, Error>(())
    })
    .unwrap();
    // Without questions there is nothing to give back.
    one.let_go().unwrap();
    one.released(|| other.repository_id("file:///t", "third")).unwrap();
}
