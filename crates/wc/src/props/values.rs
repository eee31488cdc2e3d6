//! The values of one property in a whole tree.

use std::collections::BTreeMap;

use rusqlite::params;
use sapwood_core::paths::{RelPath, RelPathBuf};

use crate::db::{Db, Paths, Presence, at_and_below, below, read_props};
use crate::error::Result;

/// What the highest layer of a node says: whether the node is there, and its properties as a skel.
struct Top {
    is_there: bool,
    properties: Option<Vec<u8>>,
}

const fn is_there(presence: Presence) -> bool {
    matches!(presence, Presence::Normal | Presence::Incomplete)
}

/// The value of a property in a skel of properties.
fn value_in(properties: &[u8], name: &str) -> Result<Option<Vec<u8>>> {
    Ok(read_props(properties)?.get(name).map(<[u8]>::to_vec))
}

/// As [`WorkingCopy::values_below`](crate::WorkingCopy::values_below).
pub(crate) fn values_below(
    db: &Db,
    relpath: &RelPath,
    name: &str,
) -> Result<Vec<(RelPathBuf, Vec<u8>)>> {
    db.questions(|| {
        let tops = tops_with(db, relpath, name)?;
        let mut values = BTreeMap::new();
        for (path, top) in &tops {
            let properties = top.properties.as_deref().filter(|_| top.is_there);
            let value = properties.map(|properties| value_in(properties, name)).transpose()?;
            if let Some(value) = value.flatten() {
                values.insert(path.clone(), value);
            }
        }
        for (path, properties) in local_props_below(db, relpath)? {
            let Some(value) = value_in(&properties, name)? else {
                values.remove(&path);
                continue;
            };
            let is_there = match tops.get(&path) {
                Some(top) => top.is_there,
                None => db.view(&path)?.is_some_and(|view| is_there(view.top().presence)),
            };
            if is_there {
                values.insert(path, value);
            }
        }
        Ok(values.into_iter().collect())
    })
}

/// The highest layers at and below a path, of nodes that have layers above BASE or may have a property in BASE.
fn tops_with(db: &Db, relpath: &RelPath, name: &str) -> Result<BTreeMap<RelPathBuf, Top>> {
    let (rows, (above, end)) = (at_and_below(relpath), below(relpath));
    let found: Vec<(RelPathBuf, i64, Top)> = db.all(
        &format!(
            "SELECT local_relpath, op_depth, presence, properties FROM nodes WHERE {rows} AND \
             (op_depth > 0 OR instr(properties, ?5) > 0)"
        ),
        params![db.wc_id(), relpath.as_str(), above, end, name.as_bytes()],
        |row| {
            let top = Top { is_there: is_there(row.get(2)?), properties: row.get(3)? };
            Ok((row.relpath(0)?, row.get(1)?, top))
        },
    )?;
    let mut tops: BTreeMap<RelPathBuf, (i64, Top)> = BTreeMap::new();
    for (path, depth, top) in found {
        if tops.get(&path).is_none_or(|(highest, _)| *highest < depth) {
            tops.insert(path, (depth, top));
        }
    }
    Ok(tops.into_iter().map(|(path, (_, top))| (path, top)).collect())
}

/// The local properties at and below a path, of nodes whose properties were changed.
fn local_props_below(db: &Db, relpath: &RelPath) -> Result<Vec<(RelPathBuf, Vec<u8>)>> {
    let (rows, (above, end)) = (at_and_below(relpath), below(relpath));
    db.all(
        &format!(
            "SELECT local_relpath, properties FROM actual_node WHERE {rows} AND properties IS NOT NULL"
        ),
        params![db.wc_id(), relpath.as_str(), above, end],
        |row| Ok((row.relpath(0)?, row.get(1)?)),
    )
}
