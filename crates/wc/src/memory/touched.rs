//! Which nodes our own changes of wc.db touch, so that what is remembered outlives them.
//!
//! Before the first change of a connection, triggers of that connection alone (`TEMP`: nothing of them is in
//! wc.db) begin to list the paths of rows that change in what a status tells of. At the end it is asked
//! whether another process has written since: SQLite's `data_version` of a connection changes with every commit of
//! others and with none of its own. If none has, a note says that wc.db went from one [`State`] to another
//! and which paths to look at. In every other case (too many paths, a process that was killed, a change of
//! what whole trees inherit) there is no note, and the states do not join.

use std::path::Path;

use rusqlite::Connection;

use super::{Reader, State, append_note, place, write_part};

/// What the first byte of a note of touched paths says.
pub(crate) const TOUCHED: u8 = 1;
/// With more paths than this everything is looked at.
const LIMIT: i64 = 4000;

/// Columns of which a status depends. Revisions are not among them: only `-v` tells of those.
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

/// The columns of a row that may have patterns for whole trees, where they have any, as a text.
fn patterns(row: &str, columns: &[&str]) -> String {
    let one = |column: &&str| {
        let column = format!("{row}.{column}");
        format!(
            "CASE WHEN instr({column}, CAST('global-ignores' AS BLOB)) THEN hex({column}) ELSE '' END"
        )
    };
    columns.iter().map(one).collect::<Vec<_>>().join(" || ")
}

/// A table for the paths, and triggers that fill it. Of patterns it has what was there before the first change
/// of a row.
fn triggers() -> String {
    let list = |row: &str, layer: &str, patterns: &str| {
        let layer = layer.replace('?', row);
        format!(
            "INSERT INTO touched (path, layer, patterns) SELECT {row}.local_relpath, {layer}, {patterns} \
             WHERE (SELECT coalesce(max(id), 0) FROM touched) < {LIMIT} AND NOT EXISTS \
             (SELECT 1 FROM touched WHERE path = {row}.local_relpath AND layer = {layer});"
        )
    };
    let mut all = "CREATE TEMP TABLE touched (id INTEGER PRIMARY KEY, path TEXT, layer INTEGER, \
                   patterns TEXT, UNIQUE (path, layer));"
        .to_owned();
    for (table, layer, with) in [
        ("nodes", "?.op_depth", &["properties", "inherited_props"][..]),
        ("actual_node", "-1", &["properties"][..]),
    ] {
        let old = list("OLD", layer, &patterns("OLD", with));
        let new = list("NEW", layer, "''");
        let side = |row: &str| COLUMNS.map(|column| format!("{row}.{column}")).join(", ");
        let differs = match table {
            "nodes" => format!("WHEN ({}) IS NOT ({})", side("OLD"), side("NEW")),
            _ => String::new(),
        };
        for (event, condition, body) in [
            ("INSERT", "", new.clone()),
            ("DELETE", "", old.clone()),
            ("UPDATE", differs.as_str(), old + &new),
        ] {
            all += &format!(
                "CREATE TEMP TRIGGER touched_{table}_{event} AFTER {event} ON main.{table} {condition} \
                 BEGIN {body} END;"
            );
        }
    }
    all
}

/// Whether something makes what is remembered worthless: locks, externals, changed patterns of whole trees.
fn spoiled() -> String {
    let node = patterns("n", &["properties", "inherited_props"]);
    let actual = patterns("a", &["properties"]);
    format!(
        "SELECT EXISTS (SELECT 1 FROM lock) OR EXISTS (SELECT 1 FROM wc_lock) \
         OR EXISTS (SELECT 1 FROM externals) OR (SELECT count(*) FROM touched) >= {LIMIT} \
         OR EXISTS (SELECT 1 FROM touched WHERE patterns IS NOT CASE layer \
         WHEN -1 THEN coalesce((SELECT {actual} FROM main.actual_node AS a \
         WHERE a.wc_id = ?1 AND a.local_relpath = path), '') \
         ELSE coalesce((SELECT {node} FROM main.nodes AS n \
         WHERE n.wc_id = ?1 AND n.local_relpath = path AND n.op_depth = layer), '') END)"
    )
}

/// The paths, and whether any layer of each is a directory.
const PATHS: &str = "SELECT path, max(EXISTS (SELECT 1 FROM main.nodes AS n WHERE n.wc_id = ?1 \
    AND n.local_relpath = path AND n.kind = 'dir')) FROM touched GROUP BY path";

/// Where a connection is with its changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tracking {
    /// Nothing was changed yet.
    Idle,
    /// The triggers are there; when they began to count is not yet said.
    Ready,
    /// Paths are listed since this state of wc.db and of `data_version`.
    Since(State, i64),
    /// Nothing is remembered that could be carried on.
    Off,
}

/// Before the first change, outside of a transaction.
pub(crate) fn prepare(connection: &Connection, adm: &Path) -> Tracking {
    if !place(adm).exists() {
        return Tracking::Off;
    }
    match connection.execute_batch(&triggers()) {
        Ok(()) => Tracking::Ready,
        Err(_) => Tracking::Off,
    }
}

/// Within a transaction, before its first change: this is where the paths begin.
pub(crate) fn begin(connection: &Connection, db: &Path) -> Tracking {
    match (State::of(db), data_version(connection)) {
        (Some(state), Ok(version)) => Tracking::Since(state, version),
        _ => Tracking::Off,
    }
}

/// Whether no row was touched so far that a status depends on.
pub(crate) fn is_nothing(connection: &Connection) -> rusqlite::Result<bool> {
    connection.query_row("SELECT NOT EXISTS (SELECT 1 FROM touched)", [], |row| row.get(0))
}

/// A number that stays as it is while no other process changes the database.
pub(crate) fn data_version(connection: &Connection) -> rusqlite::Result<i64> {
    connection.prepare_cached("PRAGMA data_version")?.query_row([], |row| row.get(0))
}

/// After the last change, outside of a transaction: leaves a note of what was touched.
pub(crate) fn end(connection: &Connection, wc_id: i64, db: &Path, from: State, version: i64) {
    let Some(adm) = db.parent() else { return };
    // What cannot be asked or written leaves no note.
    let _ = connection.execute_batch("BEGIN");
    let note = note(connection, wc_id, db, from, version);
    let _ = connection.execute_batch("COMMIT; DELETE FROM touched");
    if let Ok(Some(note)) = note {
        let _ = append_note(adm, &note);
    }
}

fn note(
    connection: &Connection,
    wc_id: i64,
    db: &Path,
    from: State,
    version: i64,
) -> rusqlite::Result<Option<Vec<u8>>> {
    if data_version(connection)? != version {
        return Ok(None);
    }
    let Some(to) = State::of(db).filter(|to| *to != from) else { return Ok(None) };
    if connection.query_row(&spoiled(), [wc_id], |row| row.get(0))? {
        return Ok(None);
    }
    let mut body = vec![TOUCHED];
    from.write(&mut body);
    to.write(&mut body);
    let mut statement = connection.prepare(PATHS)?;
    let mut rows = statement.query([wc_id])?;
    while let Some(row) = rows.next()? {
        write_part(&mut body, row.get_ref(0)?.as_bytes().map_err(rusqlite::Error::from)?);
        body.push(row.get::<_, i64>(1)?.try_into().unwrap_or(1));
    }
    Ok(Some(body))
}

/// A note of touched paths.
#[derive(Debug)]
pub(crate) struct Note<'b> {
    pub(crate) from: State,
    pub(crate) to: State,
    /// The paths, and whether each is a directory.
    pub(crate) paths: Vec<(&'b str, bool)>,
}

/// Reads a note after its first byte.
pub(crate) fn read<'b>(reader: &mut Reader<'b>) -> Option<Note<'b>> {
    let mut note = Note { from: State::read(reader)?, to: State::read(reader)?, paths: Vec::new() };
    while !reader.0.is_empty() {
        note.paths.push((reader.name()?, reader.flag()?));
    }
    Some(note)
}
