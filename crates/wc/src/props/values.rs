//! The values of one property in a whole tree.

use rusqlite::params;

use crate::db::{Paths, Presence, at_and_below, below};
use crate::error::Result;
use crate::root::WorkingCopy;
use sapwood_core::paths::{RelPath, RelPathBuf};

impl WorkingCopy {
    /// The nodes at and below a path that have a property, with the value that the user sees, by
    /// path. Looks at no node that has no such property in any layer.
    ///
    /// # Errors
    /// SQLite's.
    pub fn values_below(
        &self,
        relpath: &RelPath,
        name: &str,
    ) -> Result<Vec<(RelPathBuf, Vec<u8>)>> {
        let (rows, (above, end)) = (at_and_below(relpath), below(relpath));
        let mut paths: Vec<RelPathBuf> = Vec::new();
        for table in ["nodes", "actual_node"] {
            let found: Vec<RelPathBuf> = self.db().all(
                &format!(
                    "SELECT local_relpath FROM {table} WHERE {rows} AND instr(properties, ?5) > 0"
                ),
                params![self.db().wc_id(), relpath.as_str(), above, end, name.as_bytes()],
                |row| row.relpath(0),
            )?;
            paths.extend(found);
        }
        paths.sort_unstable();
        paths.dedup();
        let mut values = Vec::new();
        for path in paths {
            let Some(view) = self.view(&path)? else { continue };
            if !matches!(view.top().presence, Presence::Normal | Presence::Incomplete) {
                continue;
            }
            if let Some(value) = view.props()?.get(name) {
                values.push((path, value.to_vec()));
            }
        }
        Ok(values)
    }
}
