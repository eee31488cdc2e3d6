//! Which directories lack some of the nodes that BASE has in them: listed by several threads before the
//! report begins. A directory that cannot be decided here is looked at again when its turn comes. For a
//! directory that a status found clean, its own modification time is enough.

use sapwood_core::paths::{RelPath, RelPathBuf};
use std::collections::{BTreeSet, HashSet};
use std::path::Path;

use crate::status::{OpenDir, Table, Whole, over_directories};

/// The directories of a table that lack a child of BASE, or cannot be listed.
pub(super) fn incomplete(root: &Path, table: &Table, whole: &Whole) -> HashSet<RelPathBuf> {
    let found: Vec<RelPathBuf> = over_directories(table, |dir, buffer, found| {
        if !whole.has(dir) && !is_complete(root, table, dir, buffer) {
            found.push(dir.to_owned());
        }
    });
    found.into_iter().collect()
}

/// Those of some directories that lack a child of BASE, or cannot be listed.
pub(super) fn incomplete_among(
    root: &Path,
    table: &Table,
    dirs: &BTreeSet<RelPathBuf>,
) -> HashSet<RelPathBuf> {
    let mut buffer = Vec::new();
    let lacks = |dir: &&RelPathBuf| !is_complete(root, table, dir, &mut buffer);
    dirs.iter().filter(lacks).cloned().collect()
}

fn is_complete(root: &Path, table: &Table, dir: &RelPath, buffer: &mut Vec<u8>) -> bool {
    let wanted: Vec<&str> = table
        .children(dir)
        .iter()
        .filter_map(|at| table.node(*at))
        .filter(|node| {
            node.base.as_ref().is_some_and(|base| base.presence.is_there() && !base.file_external)
        })
        .map(crate::status::Node::name)
        .collect();
    if wanted.is_empty() {
        return true;
    }
    let Ok(Some(open)) = OpenDir::open(&root.join(dir.as_str())) else { return false };
    // The table has children by name.
    open.has_all(&wanted, buffer)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::db::{Kind, NodeRow, Presence};
    use crate::{Options, WorkingCopy};

    #[test]
    fn directories_that_lack_a_file_are_found() {
        let dir = tempfile::tempdir().unwrap();
        let wc = WorkingCopy::create(dir.path(), Options::default()).unwrap();
        let put = |path: &str, kind| {
            wc.db()
                .put_node(&NodeRow::new(RelPath::trusted(path), 0, Presence::Normal, kind))
                .unwrap();
        };
        put("", Kind::Dir);
        for name in ["whole", "lacks", "gone"] {
            put(name, Kind::Dir);
            put(&format!("{name}/a"), Kind::File);
            put(&format!("{name}/b"), Kind::File);
        }
        for made in ["whole", "lacks"] {
            std::fs::create_dir(dir.path().join(made)).unwrap();
            std::fs::write(dir.path().join(made).join("a"), "").unwrap();
        }
        std::fs::write(dir.path().join("whole/b"), "").unwrap();
        std::fs::write(dir.path().join("lacks/unversioned"), "").unwrap();
        let table = Table::read(wc.db(), crate::status::Scope::Subtree(RelPath::ROOT)).unwrap();
        let found = incomplete(dir.path(), &table, &Whole::default());
        let mut found: Vec<&str> = found.iter().map(|dir| dir.as_str()).collect();
        found.sort_unstable();
        assert_eq!(found, ["", "gone", "lacks"]);
    }
}
