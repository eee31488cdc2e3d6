//! Finds out whether a tree is clean by one scan of `NODES` and a list of each directory's names: a merge
//! checks its target so before anything else. A status of all nodes shows that too, and more, for three times
//! the work; it runs only where a tree is not clean.

use hashbrown::HashMap;
use rusqlite::{Row, params};
use sapwood_core::CancelToken;
use sapwood_core::paths::{RelPath, RelPathBuf};

use super::listing::OpenDir;
use super::table::is_implied;
use crate::db::{Db, Kind, at_and_below, below, parent_of};
use crate::error::{Error, Result};
use crate::fan_out;
use crate::root::Disk;

/// The names that a directory has in BASE.
type Names = Vec<Box<str>>;

/// The directories of a tree.
#[derive(Debug, Default)]
struct Dirs {
    list: Vec<(RelPathBuf, Names)>,
    by_path: HashMap<RelPathBuf, usize>,
    /// The last directory that was looked up: rows of one directory often follow each other.
    last: usize,
}

impl Dirs {
    fn add(&mut self, dir: &RelPath, name: &str) {
        if self.list.get(self.last).is_none_or(|(path, _)| path != dir) {
            let next = self.list.len();
            self.last = *self.by_path.entry(dir.to_owned()).or_insert(next);
            if self.last == next {
                self.list.push((dir.to_owned(), Names::new()));
            }
        }
        if let Some((_, names)) = self.list.get_mut(self.last) {
            names.push(name.into());
        }
    }
}

/// What a scan found.
#[derive(Debug, Default)]
struct Scan {
    dirs: Dirs,
    shallow: Vec<RelPathBuf>,
    has_top: bool,
}

impl Scan {
    /// Takes a row; returns whether it is that of an unmodified node.
    fn row(&mut self, row: &Row<'_>, top: &RelPath, root_repos: &RelPath) -> Result<bool> {
        let relpath = RelPath::new(row.get_ref(0)?.as_str().map_err(rusqlite::Error::from)?)?;
        let repos_path = row.get_ref(1)?.as_str_or_null().map_err(rusqlite::Error::from)?;
        let is_in_place = repos_path.is_some_and(|path| is_implied(root_repos, relpath, path));
        if !is_in_place || !row.get::<_, bool>(4)? {
            return Ok(false);
        }
        let is_dir = row.get::<_, Kind>(2)? == Kind::Dir;
        if is_dir && row.get::<_, bool>(3)? {
            self.shallow.push(relpath.to_owned());
        }
        match parent_of(relpath).filter(|_| relpath != top) {
            Some(parent) => self.dirs.add(parent, relpath.name()),
            None => self.has_top = is_dir,
        }
        Ok(true)
    }
}

const COLUMNS: &str = "local_relpath, repos_path, kind, depth IN ('empty', 'files'), op_depth = 0 \
     AND presence = 'normal' AND file_external IS NULL AND repos_id = ?5";

fn scan(db: &Db, top: &RelPath) -> Result<Option<Scan>> {
    let Some((root, repos_id)) =
        db.base(RelPath::ROOT)?.and_then(|row| Some((row.repos_path?, row.repos_id?)))
    else {
        return Ok(None);
    };
    let mut found = Scan::default();
    let (rows, (above, end)) = (at_and_below(top), below(top));
    let sql = format!("SELECT {COLUMNS} FROM nodes WHERE {rows}");
    let mut statement = db.connection().prepare_cached(&sql)?;
    let mut rows = statement.query(params![db.wc_id(), top.as_str(), above, end, repos_id])?;
    while let Some(row) = rows.next()? {
        if !found.row(row, top, &root)? {
            return Ok(None);
        }
    }
    Ok(found.has_top.then_some(found))
}

/// As [`WorkingCopy::shallow_if_ordinary`](crate::WorkingCopy::shallow_if_ordinary).
pub(crate) fn shallow_if_ordinary(
    db: &Db,
    disk: &Disk,
    top: &RelPath,
    cancel: &CancelToken,
) -> Result<Option<Vec<RelPathBuf>>> {
    let Some(mut found) = db.read(|db| scan(db, top))? else { return Ok(None) };
    for (_, names) in &mut found.dirs.list {
        names.sort_unstable();
    }
    let root = disk.root();
    let lacking = fan_out::over(&found.dirs.list, |(dir, names), buffer, lacking| {
        let open = OpenDir::open(&root.join(dir.as_str()));
        let has_all = |open: OpenDir| open.has_all(names, buffer);
        if cancel.is_cancelled() || !open.ok().flatten().is_some_and(has_all) {
            lacking.push(());
        }
    });
    if cancel.is_cancelled() {
        return Err(Error::Cancelled);
    }
    found.shallow.sort_unstable();
    Ok(lacking.is_empty().then_some(found.shallow))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use sapwood_core::Depth;

    use super::*;
    use crate::WorkingCopy;
    use crate::db::{NodeRow, Presence};

    /// A working copy of directories and files, as `change` leaves their rows; what is said of `top`.
    fn question(
        top: &str,
        change: impl Fn(&mut NodeRow),
        on_disk: &str,
    ) -> Option<Vec<RelPathBuf>> {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        let wc = WorkingCopy::create(root, crate::Options::default()).unwrap();
        let repos = wc.db().repository_id("file:///r", "uuid").unwrap();
        for path in ["", "a", "a/b", "a/one", "a/b/two", "c", "c/three"] {
            let name = path.rsplit('/').next().unwrap();
            let kind = if name.len() < 2 { Kind::Dir } else { Kind::File };
            let relpath = RelPath::trusted(path);
            let mut row = NodeRow::new(relpath, 0, Presence::Normal, kind);
            row.repos_id = Some(repos);
            row.repos_path = Some(RelPath::trusted("trunk").join(relpath));
            row.depth = (kind == Kind::Dir).then_some(Depth::Infinity);
            change(&mut row);
            wc.db().put_node(&row).unwrap();
            if on_disk.split(' ').any(|missing| missing == path) {
                continue;
            }
            match kind {
                Kind::Dir => fs::create_dir_all(root.join(path)).unwrap(),
                _ => fs::write(root.join(path), "").unwrap(),
            }
        }
        wc.shallow_if_ordinary(RelPath::trusted(top), &CancelToken::default()).unwrap()
    }

    /// What is said when the row of a path is changed.
    fn with(path: &str, change: impl Fn(&mut NodeRow)) -> [Option<Vec<RelPathBuf>>; 2] {
        ["", "a"].map(|top| {
            question(
                top,
                |row| {
                    if row.relpath.as_str() == path {
                        change(row)
                    }
                },
                "none",
            )
        })
    }

    #[test]
    fn what_is_ordinary() {
        let nothing = Some(Vec::new());
        assert_eq!(with("none", |_| {}), [nothing.clone(), nothing.clone()]);
        let b = Some(vec![RelPath::trusted("a/b").to_owned()]);
        let shallow = with("a/b", |row| row.depth = Some(Depth::Files));
        assert_eq!(shallow, [b.clone(), b], "a directory of its files only");
        assert_eq!(with("c", |row| row.depth = Some(Depth::Immediates))[0], nothing);
        assert_eq!(question("a", |_| {}, "c/three"), nothing, "missing elsewhere");
    }

    #[test]
    fn what_is_not() {
        for (path, why) in [("a/one", "a file"), ("a/b", "a directory")] {
            let elsewhere = |row: &mut NodeRow| row.repos_path = Some(RelPath::trusted("x").into());
            assert_eq!(with(path, elsewhere), [None, None], "{why} switched");
            assert_eq!(with(path, |row| row.presence = Presence::Excluded), [None, None], "{why}");
            assert_eq!(
                with(path, |row| row.presence = Presence::Incomplete),
                [None, None],
                "{why}"
            );
            assert_eq!(with(path, |row| row.op_depth = 2), [None, None], "{why} added");
            assert_eq!(with(path, |row| row.repos_id = Some(7)), [None, None], "{why} of another");
        }
        assert_eq!(with("a/one", |row| row.file_external = true), [None, None], "an external");
        assert_eq!(question("", |_| {}, "a/b/two"), None, "a missing file");
        assert_eq!(question("", |_| {}, "c c/three"), None, "a missing directory");
        assert_eq!(question("a/one", |_| {}, ""), None, "no directory");
        assert_eq!(question("d", |_| {}, ""), None, "nothing");
    }
}
