//! Which nodes our own changes of wc.db touch, so that the status cache stays valid after them.
//!
//! From the first change of a connection on, the paths of rows whose status columns change are
//! [listed](super::listed). At the end we check whether another process has written since: SQLite's `data_version`
//! of a connection changes with every commit of another connection and with none of its own. If there was none, a
//! note says that wc.db went from one [`State`] to another and which paths to look at. In every other case (too
//! many paths, a process that was killed, a change of what whole trees inherit) there is no note, and the cache
//! becomes invalid.

use std::path::Path;

use rusqlite::Connection;

use super::listed::ChangedRows;
use super::{Changes, Reader, State, append_note, place, write_part};
use sapwood_core::paths::{RelPath, RelPathBuf};

/// The first byte of a note of touched paths.
pub(crate) const TOUCHED: u8 = 3;

/// The state of a connection's list of changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TrackingState {
    /// Nothing was changed yet.
    Idle,
    /// Changes are to be listed; the state that they start from is not known yet.
    Ready,
    /// Paths are listed since this state of wc.db and of `data_version`.
    Since(State, i64),
    /// There is no cache to keep valid.
    Off,
}

/// Called before the first change, outside of a transaction.
pub(crate) fn prepare(adm: &Path) -> TrackingState {
    if place(adm).exists() { TrackingState::Ready } else { TrackingState::Off }
}

/// Called within a transaction, before its first change: the list of paths starts here.
pub(crate) fn begin(connection: &Connection, db: &Path) -> TrackingState {
    match (State::of(db), data_version(connection)) {
        (Some(state), Ok(version)) => TrackingState::Since(state, version),
        _ => TrackingState::Off,
    }
}

/// Whether a directory is locked for this process or another: then more changes may follow.
pub(crate) fn is_locked(connection: &Connection) -> rusqlite::Result<bool> {
    connection.query_row("SELECT EXISTS (SELECT 1 FROM wc_lock)", [], |row| row.get(0))
}

/// A number that stays the same while no other process changes the database.
pub(crate) fn data_version(connection: &Connection) -> rusqlite::Result<i64> {
    connection.prepare_cached("PRAGMA data_version")?.query_row([], |row| row.get(0))
}

/// After the last change, outside of a transaction: writes a note of what was touched.
pub(crate) fn end(
    connection: &Connection,
    wc_id: i64,
    db: &Path,
    listed: &ChangedRows,
    (from, version): (State, i64),
) {
    let Some(adm) = db.parent() else { return };
    // If a query or a write fails, there is no note.
    let _ = connection.execute_batch("BEGIN");
    let note = note(connection, wc_id, db, listed, (from, version));
    let _ = connection.execute_batch("COMMIT");
    listed.clear();
    if let Ok(Some(note)) = note {
        let _ = append_note(adm, &note);
    }
}

fn note(
    connection: &Connection,
    wc_id: i64,
    db: &Path,
    listed: &ChangedRows,
    (from, version): (State, i64),
) -> rusqlite::Result<Option<Vec<u8>>> {
    if data_version(connection)? != version {
        return Ok(None);
    }
    let Some(to) = State::of(db).filter(|to| *to != from) else { return Ok(None) };
    if is_locked(connection)? {
        return Ok(None);
    }
    let Some(changes) = listed.changes(connection, wc_id)? else { return Ok(None) };
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
