//! The list of the rows that a connection changes.
//!
//! Before the first statement that changes rows of NODES or ACTUAL_NODE, triggers of this connection alone (`TEMP`,
//! so not in wc.db) are created, which pass the paths of changed rows to our functions.
//!
//! When a transaction is rolled back, its paths stay in the list: looking at more than what changed does no
//! harm. But the recorded revision of all rows would be wrong then: if there is one, the list is not used.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use memchr::memmem;
use rusqlite::functions::{Context, FunctionFlags};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, params};
use sapwood_core::exact::Exact;
use sapwood_core::paths::RelPathBuf;

use super::changes::Changes;

/// With more rows than this a status looks at everything.
const LIMIT: usize = 4000;
/// The layer number for rows of ACTUAL_NODE.
const ACTUAL: i64 = -1;
/// A property whose value is inherited by whole trees has this in its name.
const FOR_TREES: &[u8] = b"global-ignores";

/// The columns that a status depends on. Revisions are not among them: only `-v` prints those.
const COLUMNS: [&str; 15] = [
    "local_relpath",
    "op_depth",
    "repos_id",
    "repos_path",
    "presence",
    "moved_here",
    "moved_to",
    "kind",
    "properties",
    "depth",
    "checksum",
    "translated_size",
    "last_mod_time",
    "file_external",
    "inherited_props",
];

/// What was changed. Clones share one list.
#[derive(Clone, Debug, Default)]
pub(crate) struct ChangedRows(Arc<Mutex<List>>);

#[derive(Debug, Default)]
struct List {
    /// By path and layer: the inherited properties that the row had before its first change.
    rows: BTreeMap<String, BTreeMap<i64, Vec<u8>>>,
    /// How many rows there are.
    count: usize,
    /// Rows of BASE whose revision changed.
    revised: BTreeSet<String>,
    /// The revision to which all rows of BASE were brought.
    bumped: Option<u64>,
    /// Whether that may have been rolled back.
    taken_back: bool,
    /// Whether the connection has the functions for its triggers.
    has_functions: bool,
    /// Whether it has the triggers. If a transaction created them, a rollback drops them.
    has_triggers: bool,
}

impl List {
    fn touch(&mut self, path: &str, layer: i64, patterns: impl FnOnce() -> Vec<u8>) {
        if self.count >= LIMIT {
            return;
        }
        let layers = match self.rows.get_mut(path) {
            Some(layers) => layers,
            None => self.rows.entry(path.to_owned()).or_default(),
        };
        layers.entry(layer).or_insert_with(|| {
            self.count = self.count.plus(1);
            patterns()
        });
    }
}

/// The properties that may be inherited: each property list that has any, whole.
fn patterns(columns: &[ValueRef<'_>]) -> Vec<u8> {
    let texts = columns.iter().filter_map(|column| match column {
        ValueRef::Blob(bytes) | ValueRef::Text(bytes) => Some(*bytes),
        _ => None,
    });
    texts.filter(|bytes| memmem::find(bytes, FOR_TREES).is_some()).fold(
        Vec::new(),
        |mut all, bytes| {
            all.extend_from_slice(bytes);
            all
        },
    )
}

impl ChangedRows {
    fn list(&self) -> MutexGuard<'_, List> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets the connection list its changes here from now on, if it does not yet.
    pub(crate) fn listen(&self, connection: &Connection) -> rusqlite::Result<()> {
        let (full, listens) = {
            let list = self.list();
            (list.count >= LIMIT, list.has_triggers)
        };
        if full && listens {
            // The list is not used: what comes further need not pay for it.
            connection.execute_batch(&no_triggers())?;
            self.list().has_triggers = false;
        }
        if full || listens {
            return Ok(());
        }
        if !self.list().has_functions {
            self.make_functions(connection)?;
            self.list().has_functions = true;
        }
        connection.execute_batch(&triggers())?;
        self.list().has_triggers = true;
        Ok(())
    }

    fn make_functions(&self, connection: &Connection) -> rusqlite::Result<()> {
        let flags = FunctionFlags::SQLITE_UTF8;
        let to = self.clone();
        connection.create_scalar_function("sapwood_touched", 5, flags, move |context| {
            to.touched(context)
        })?;
        let to = self.clone();
        connection.create_scalar_function("sapwood_revised", 1, flags, move |context| {
            let path = context.get_raw(0).as_str()?;
            let mut list = to.list();
            if list.revised.len() < LIMIT && !list.revised.contains(path) {
                list.revised.insert(path.to_owned());
            }
            Ok(None::<i64>)
        })
    }

    /// Called when a row changes: its path, its layer, whether it is the old row, and its
    /// properties.
    fn touched(&self, context: &Context<'_>) -> rusqlite::Result<Option<i64>> {
        let path = context.get_raw(0).as_str()?;
        let was_there = context.get_raw(2).as_i64()? != 0;
        let columns = [context.get_raw(3), context.get_raw(4)];
        let before = || if was_there { patterns(&columns) } else { Vec::new() };
        self.list().touch(path, context.get_raw(1).as_i64()?, before);
        Ok(None)
    }

    /// Notes that `work` brings all rows of BASE to a revision, so they need not be listed one by
    /// one.
    pub(crate) fn bump<T>(
        &self,
        connection: &Connection,
        revision: i64,
        work: impl FnOnce() -> rusqlite::Result<T>,
    ) -> rusqlite::Result<T> {
        let has_triggers = self.list().has_triggers;
        if has_triggers {
            connection.execute_batch("DROP TRIGGER revised_nodes")?;
        }
        let done = work()?;
        if has_triggers {
            connection.execute_batch(REVISED)?;
        }
        self.list().bumped = u64::try_from(revision).ok();
        Ok(done)
    }

    /// Notes that a transaction was rolled back, and with it that triggers were created or dropped.
    pub(crate) fn take_back(&self, connection: &Connection) {
        let mut list = self.list();
        list.taken_back |= list.bumped.is_some();
        let there = "SELECT EXISTS (SELECT 1 FROM sqlite_temp_schema WHERE name = 'revised_nodes')";
        if list.has_functions {
            list.has_triggers = connection.query_row(there, [], |row| row.get(0)).unwrap_or(false);
        }
    }

    /// Begins a new list.
    pub(super) fn clear(&self) {
        let mut list = self.list();
        let (has_functions, has_triggers) = (list.has_functions, list.has_triggers);
        *list = List { has_functions, has_triggers, ..List::default() };
    }

    /// What was changed so far; `None` when the list is not reliable: after changes of repository locks,
    /// externals, or inherited patterns.
    pub(crate) fn changes(
        &self,
        connection: &Connection,
        wc_id: i64,
    ) -> rusqlite::Result<Option<Changes<RelPathBuf>>> {
        let list = self.list();
        let besides = "SELECT EXISTS (SELECT 1 FROM lock) OR EXISTS (SELECT 1 FROM externals)";
        if list.taken_back
            || list.count >= LIMIT
            || connection.query_row(besides, [], |row| row.get(0))?
        {
            return Ok(None);
        }
        let mut touched = Vec::new();
        for (path, layers) in &list.rows {
            let Some(is_dir) = look_at(connection, wc_id, path, layers)? else { return Ok(None) };
            touched.push((relpath(path)?, is_dir));
        }
        let all = list.revised.len() < LIMIT;
        let revised = all.then(|| list.revised.iter().map(|path| relpath(path)).collect());
        Ok(Some(Changes { touched, revised: revised.transpose()?, bumped: list.bumped }))
    }
}

fn relpath(text: &str) -> rusqlite::Result<RelPathBuf> {
    RelPathBuf::new(text.to_owned())
        .map_err(|error| rusqlite::Error::UserFunctionError(error.into()))
}

/// Whether any layer of a path is a directory; `None` if inherited properties have changed.
fn look_at(
    connection: &Connection,
    wc_id: i64,
    path: &str,
    layers: &BTreeMap<i64, Vec<u8>>,
) -> rusqlite::Result<Option<bool>> {
    let mut before: BTreeMap<i64, &[u8]> =
        layers.iter().map(|(layer, patterns)| (*layer, patterns.as_slice())).collect();
    let mut is_dir = false;
    let mut same = true;
    let mut compare = |layer: i64, columns: &[ValueRef<'_>]| {
        if let Some(was) = before.remove(&layer) {
            same &= was == patterns(columns);
        }
    };
    let mut nodes = connection.prepare_cached(NODES_OF)?;
    let mut rows = nodes.query(params![wc_id, path])?;
    while let Some(row) = rows.next()? {
        is_dir |= row.get::<_, bool>(1)?;
        compare(row.get(0)?, &[row.get_ref(2)?, row.get_ref(3)?]);
    }
    if layers.contains_key(&ACTUAL) {
        let mut actual = connection.prepare_cached(ACTUAL_OF)?;
        let mut rows = actual.query(params![wc_id, path])?;
        if let Some(row) = rows.next()? {
            compare(ACTUAL, &[row.get_ref(2)?, row.get_ref(3)?]);
        }
    }
    // A deleted row has no patterns any more.
    same &= before.values().all(|was| was.is_empty());
    Ok(same.then_some(is_dir))
}

/// The trigger that lists rows of BASE whose revision changes.
const REVISED: &str = "CREATE TEMP TRIGGER revised_nodes AFTER UPDATE OF revision ON main.nodes \
    WHEN OLD.revision IS NOT NEW.revision AND NEW.op_depth = 0 BEGIN \
    SELECT sapwood_revised(NEW.local_relpath); END;";

/// The layers of a path, with properties that may be inherited.
const NODES_OF: &str = "SELECT op_depth, kind = 'dir', properties, inherited_props FROM main.nodes \
    WHERE wc_id = ?1 AND local_relpath = ?2";

/// The same of its row of ACTUAL_NODE.
const ACTUAL_OF: &str =
    "SELECT -1, 0, properties, NULL FROM main.actual_node WHERE wc_id = ?1 AND local_relpath = ?2";

/// Triggers that list changed rows. The triggers for updates name their columns: statements that set none of
/// these columns pay nothing.
fn triggers() -> String {
    let mut all = REVISED.to_owned();
    let nodes = |row: &str, was_there: u8| {
        format!(
            "SELECT sapwood_touched({row}.local_relpath, {row}.op_depth, {was_there}, {row}.properties, \
             {row}.inherited_props);"
        )
    };
    let actual = |row: &str, was_there: u8| {
        format!(
            "SELECT sapwood_touched({row}.local_relpath, {ACTUAL}, {was_there}, {row}.properties, NULL);"
        )
    };
    let side = |row: &str| COLUMNS.map(|column| format!("{row}.{column}")).join(", ");
    let differs = format!("WHEN ({}) IS NOT ({})", side("OLD"), side("NEW"));
    let columns = format!("UPDATE OF {}", COLUMNS.join(", "));
    for (table, update, condition, old, new) in [
        ("nodes", columns.as_str(), differs.as_str(), nodes("OLD", 1), nodes("NEW", 0)),
        ("actual_node", "UPDATE", "", actual("OLD", 1), actual("NEW", 0)),
    ] {
        let both = format!("{old} {new}");
        for (name, event, condition, body) in [
            ("insert", "INSERT", "", &new),
            ("delete", "DELETE", "", &old),
            ("update", update, condition, &both),
        ] {
            all += &format!(
                "CREATE TEMP TRIGGER touched_{table}_{name} AFTER {event} ON main.{table} {condition} \
                 BEGIN {body} END;"
            );
        }
    }
    all
}

/// Takes the triggers away.
fn no_triggers() -> String {
    let mut all = "DROP TRIGGER temp.revised_nodes;".to_owned();
    for table in ["nodes", "actual_node"] {
        for name in ["insert", "delete", "update"] {
            all += &format!("DROP TRIGGER temp.touched_{table}_{name};");
        }
    }
    all
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failure is a failed test")]

    use super::*;

    /// The columns of NODES and ACTUAL_NODE that the triggers name, one row, and a list of what changes.
    fn listened() -> (Connection, ChangedRows) {
        let connection = Connection::open_in_memory().unwrap();
        let columns = COLUMNS.join(", ");
        let tables = format!(
            "CREATE TABLE nodes (wc_id, revision, {columns}, PRIMARY KEY (local_relpath, op_depth)); \
             CREATE TABLE actual_node (wc_id, local_relpath PRIMARY KEY, properties, changelist); \
             CREATE TABLE lock (a); CREATE TABLE externals (a); \
             INSERT INTO nodes (wc_id, local_relpath, op_depth, kind, revision) VALUES \
             (1, 'a', 0, 'dir', 1), (1, 'a/f', 0, 'file', 1); PRAGMA recursive_triggers = ON"
        );
        connection.execute_batch(&tables).unwrap();
        let listed = ChangedRows::default();
        listed.listen(&connection).unwrap();
        (connection, listed)
    }

    fn touched(connection: &Connection, listed: &ChangedRows) -> Option<Vec<(String, bool)>> {
        let changes = listed.changes(connection, 1).unwrap()?;
        Some(changes.touched.into_iter().map(|(path, is_dir)| (path.to_string(), is_dir)).collect())
    }

    #[test]
    fn rows_are_listed_and_revisions_apart() {
        let (connection, listed) = listened();
        connection.execute_batch("UPDATE nodes SET revision = 2, kind = kind").unwrap();
        let changes = listed.changes(&connection, 1).unwrap().unwrap();
        assert!(changes.touched.is_empty());
        assert_eq!(changes.revised.unwrap().len(), 2);
        connection
            .execute_batch(
                "INSERT OR REPLACE INTO nodes (wc_id, local_relpath, op_depth, kind) \
                 VALUES (1, 'a', 0, 'dir'); INSERT INTO actual_node VALUES (1, 'b', NULL, 'list')",
            )
            .unwrap();
        let expected = vec![("a".to_owned(), true), ("b".to_owned(), false)];
        assert_eq!(touched(&connection, &listed), Some(expected));
        listed.clear();
        assert_eq!(touched(&connection, &listed), Some(Vec::new()));
    }

    #[test]
    fn patterns_for_whole_trees_that_change_end_the_list() {
        let (connection, listed) = listened();
        let set = |value: &str| {
            let sql = "UPDATE nodes SET properties = CAST(?1 AS BLOB) WHERE local_relpath = 'a'";
            connection.execute(sql, [value]).unwrap();
        };
        set("(plain)");
        assert!(touched(&connection, &listed).is_some());
        set("(svn:global-ignores *.o)");
        assert_eq!(touched(&connection, &listed), None);
        listed.clear();
        set("(svn:global-ignores *.a)");
        set("(svn:global-ignores *.o)");
        assert!(touched(&connection, &listed).is_some(), "as it was");
        connection.execute("DELETE FROM nodes WHERE local_relpath = 'a'", []).unwrap();
        assert_eq!(touched(&connection, &listed), None);
    }

    #[test]
    fn what_was_taken_back_is_looked_at_but_not_believed_of_all() {
        let (connection, listed) = listened();
        connection.execute_batch("BEGIN; DELETE FROM nodes; ROLLBACK").unwrap();
        listed.take_back(&connection);
        assert_eq!(touched(&connection, &listed).map(|found| found.len()), Some(2));
        listed.bump(&connection, 7, || Ok(())).unwrap();
        assert_eq!(listed.changes(&connection, 1).unwrap().unwrap().bumped, Some(7));
        listed.take_back(&connection);
        assert_eq!(touched(&connection, &listed), None);
    }

    #[test]
    fn a_list_has_an_end() {
        let (connection, listed) = listened();
        let many = "INSERT INTO nodes (wc_id, local_relpath, op_depth) \
            WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < ?1) \
            SELECT 1, 'n' || i, 0 FROM n";
        connection.execute(many, [8000]).unwrap();
        assert_eq!(listed.list().rows.len(), LIMIT);
        assert_eq!(touched(&connection, &listed), None);
    }

    #[test]
    fn a_full_list_costs_nothing_more() {
        let (connection, listed) = listened();
        let many = "INSERT INTO nodes (wc_id, local_relpath, op_depth) \
            WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < ?1) \
            SELECT 1, 'n' || i, 0 FROM n";
        connection.execute(many, [8000]).unwrap();
        let triggers = || -> u32 {
            let count = "SELECT COUNT(*) FROM sqlite_temp_schema WHERE type = 'trigger'";
            connection.query_row(count, [], |row| row.get(0)).unwrap()
        };
        assert_eq!(triggers(), 7);
        connection.execute_batch("BEGIN").unwrap();
        listed.listen(&connection).unwrap();
        assert_eq!(triggers(), 0);
        connection.execute_batch("ROLLBACK").unwrap();
        listed.take_back(&connection);
        assert_eq!(triggers(), 7);
        listed.listen(&connection).unwrap();
        listed.listen(&connection).unwrap();
        assert_eq!(triggers(), 0);
        assert_eq!(touched(&connection, &listed), None);
        listed.clear();
        listed.listen(&connection).unwrap();
        assert_eq!(triggers(), 7);
    }
}
