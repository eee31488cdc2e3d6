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
use crate::db::Paths;
use sapwood_core::paths::{RelPath, RelPathBuf};

/// What the first byte of a note of touched paths says.
pub(crate) const TOUCHED: u8 = 3;
/// With more paths than this everything is looked at.
const LIMIT: i64 = 4000;

/// What was changed from one state to another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Changes<S> {
    /// The paths of rows that changed in what a status tells of, and whether each is a directory.
    pub(crate) touched: Vec<(S, bool)>,
    /// Those whose rows of BASE changed in nothing but their revision; `None` when they were too many to list.
    pub(crate) revised: Option<Vec<S>>,
    /// The revision to which all rows of BASE were brought, before or after the others changed.
    pub(crate) bumped: Option<u64>,
}

impl<S> Changes<S> {
    /// No changes.
    pub(crate) const fn none() -> Self {
        Self { touched: Vec::new(), revised: Some(Vec::new()), bumped: None }
    }
}

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

/// The trigger that lists rows of BASE whose revision changes.
fn revised() -> String {
    format!(
        "CREATE TEMP TRIGGER revised_nodes AFTER UPDATE OF revision ON main.nodes \
         WHEN OLD.revision IS NOT NEW.revision AND NEW.op_depth = 0 BEGIN \
         INSERT OR IGNORE INTO revised (path) SELECT NEW.local_relpath \
         WHERE (SELECT coalesce(max(id), 0) FROM revised) < {LIMIT}; END"
    )
}

/// A table for the paths, and triggers that fill it. Of patterns it has what was there before the first change
/// of a row. Triggers of an update name their columns: where none of them is set they cost nothing.
fn triggers() -> String {
    let list = |row: &str, layer: &str, patterns: &str| {
        let layer = layer.replace('?', row);
        format!(
            "INSERT INTO touched (path, layer, patterns) SELECT {row}.local_relpath, {layer}, {patterns} \
             WHERE (SELECT coalesce(max(id), 0) FROM touched) < {LIMIT} AND NOT EXISTS \
             (SELECT 1 FROM touched WHERE path = {row}.local_relpath AND layer = {layer});"
        )
    };
    let mut all = format!(
        "CREATE TEMP TABLE touched (id INTEGER PRIMARY KEY, path TEXT, layer INTEGER, patterns TEXT, \
         UNIQUE (path, layer)); \
         CREATE TEMP TABLE revised (id INTEGER PRIMARY KEY, path TEXT UNIQUE); \
         CREATE TEMP TABLE bumped (id INTEGER PRIMARY KEY, revision INTEGER); {};",
        revised()
    );
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
        let update = match table {
            "nodes" => format!("UPDATE OF {}", COLUMNS.join(", ")),
            _ => "UPDATE".to_owned(),
        };
        for (name, event, condition, body) in [
            ("insert", "INSERT", "", new.clone()),
            ("delete", "DELETE", "", old.clone()),
            ("update", update.as_str(), differs.as_str(), old + &new),
        ] {
            all += &format!(
                "CREATE TEMP TRIGGER touched_{table}_{name} AFTER {event} ON main.{table} {condition} \
                 BEGIN {body} END;"
            );
        }
    }
    all
}

/// Whether something makes what is remembered worthless: locks of the repository, externals, changed patterns
/// of whole trees.
fn spoiled() -> String {
    let node = patterns("n", &["properties", "inherited_props"]);
    let actual = patterns("a", &["properties"]);
    format!(
        "SELECT EXISTS (SELECT 1 FROM lock) \
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

/// Within a transaction: `work` brings all rows of BASE to a revision, which need not be listed one by one.
pub(crate) fn bump<T>(
    connection: &Connection,
    revision: i64,
    work: impl FnOnce() -> rusqlite::Result<T>,
) -> rusqlite::Result<T> {
    connection.execute("INSERT INTO bumped (revision) VALUES (?1)", [revision])?;
    connection.execute_batch("DROP TRIGGER revised_nodes")?;
    let done = work()?;
    connection.execute_batch(&revised())?;
    Ok(done)
}

/// What was changed so far; nothing when it is not known whether that is all.
pub(crate) fn so_far(
    connection: &Connection,
    wc_id: i64,
) -> rusqlite::Result<Option<Changes<RelPathBuf>>> {
    if connection.query_row(&spoiled(), [wc_id], |row| row.get(0))? {
        return Ok(None);
    }
    let mut statement = connection.prepare(PATHS)?;
    let touched = statement
        .query_map([wc_id], |row| Ok((row.relpath(0)?, row.get::<_, i64>(1)? != 0)))?
        .collect::<rusqlite::Result<_>>()?;
    let mut statement = connection.prepare("SELECT path FROM revised")?;
    let revised: Vec<RelPathBuf> =
        statement.query_map([], |row| row.relpath(0))?.collect::<rusqlite::Result<_>>()?;
    let all = i64::try_from(revised.len()).is_ok_and(|count| count < LIMIT);
    let last = "SELECT revision FROM bumped ORDER BY id DESC LIMIT 1";
    let mut statement = connection.prepare(last)?;
    let bumped = statement.query_map([], |row| row.get::<_, i64>(0))?.next().transpose()?;
    let bumped = bumped.and_then(|revision| u64::try_from(revision).ok());
    Ok(Some(Changes { touched, revised: all.then_some(revised), bumped }))
}

/// Whether a directory is locked for this process or another: what is touched is not all yet.
pub(crate) fn is_locked(connection: &Connection) -> rusqlite::Result<bool> {
    connection.query_row("SELECT EXISTS (SELECT 1 FROM wc_lock)", [], |row| row.get(0))
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
    let emptied = "COMMIT; DELETE FROM touched; DELETE FROM revised; DELETE FROM bumped";
    let _ = connection.execute_batch(emptied);
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
    if is_locked(connection)? {
        return Ok(None);
    }
    let Some(changes) = so_far(connection, wc_id)? else { return Ok(None) };
    let mut body = vec![TOUCHED];
    from.write(&mut body);
    to.write(&mut body);
    write_changes(&mut body, &changes);
    Ok(Some(body))
}

fn write_changes(out: &mut Vec<u8>, changes: &Changes<RelPathBuf>) {
    let count = |len: usize| u32::try_from(len).unwrap_or(u32::MAX).to_le_bytes();
    out.extend(count(changes.touched.len()));
    for (path, is_dir) in &changes.touched {
        write_part(out, path.as_bytes());
        out.push((*is_dir).into());
    }
    out.push(changes.revised.is_some().into());
    let revised = changes.revised.as_deref().unwrap_or(&[]);
    out.extend(count(revised.len()));
    for path in revised {
        write_part(out, path.as_bytes());
    }
    out.push(changes.bumped.is_some().into());
    out.extend(changes.bumped.unwrap_or(0).to_le_bytes());
}

fn read_changes<'b>(reader: &mut Reader<'b>) -> Option<Changes<&'b RelPath>> {
    let mut touched = Vec::new();
    for _ in 0..reader.u32()? {
        touched.push((reader.relpath()?, reader.flag()?));
    }
    let all = reader.flag()?;
    let mut revised = Vec::new();
    for _ in 0..reader.u32()? {
        revised.push(reader.relpath()?);
    }
    let is_bumped = reader.flag()?;
    let bumped = Some(reader.u64()?).filter(|_| is_bumped);
    Some(Changes { touched, revised: all.then_some(revised), bumped })
}

/// A note of changes.
#[derive(Debug)]
pub(crate) struct Note<'b> {
    pub(crate) from: State,
    pub(crate) to: State,
    pub(crate) changes: Changes<&'b RelPath>,
}

/// Reads a note after its first byte.
pub(crate) fn read<'b>(reader: &mut Reader<'b>) -> Option<Note<'b>> {
    let (from, to) = (State::read(reader)?, State::read(reader)?);
    Some(Note { from, to, changes: read_changes(reader)? })
}
