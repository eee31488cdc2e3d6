//! Working copies of formats 29 (1.7) and 30 brought to format 31.
//!
//! | from | what changes |
//! | --- | --- |
//! | 29 | conflicts become one skel each in `conflict_data`; indexes of moves and of MD5; `absent` is `server-excluded` |
//! | 30 | the column `inherited_props`, empty where nodes begin that are not their parent's; two indexes with more columns |
//!
//! Each step is one transaction, so that a killed upgrade leaves one format or the other.

use std::fs;
use std::path::Path;

use rusqlite::params;
use sapwood_core::skel::Skel;
use sapwood_core::{ErrorCode, NodeKind, Revnum, SvnError, path};

use crate::conflict::{
    Action, Conflict, Location, Operation, PropConflict, Reason, TextConflict, TreeConflict,
};
use crate::db::schema::STATISTICS;
use crate::db::{Access, Db, FORMAT, write_inherited};
use crate::error::{Error, Result};
use crate::layout;

/// The first format with a database.
const FIRST_WITH_DATABASE: i64 = 12;
/// The first one that was not only in use by developers.
const FIRST_RELEASED: i64 = 29;
/// Those that scripts of their time could bring on.
const FIRST_OF_SCRIPTS: i64 = 19;

const TO_30: &str = "
CREATE UNIQUE INDEX IF NOT EXISTS I_NODES_MOVED ON NODES (wc_id, moved_to, op_depth);
CREATE INDEX IF NOT EXISTS I_PRISTINE_MD5 ON PRISTINE (md5_checksum);
UPDATE nodes SET presence = 'server-excluded' WHERE presence = 'absent';
UPDATE nodes SET file_external = 1 WHERE file_external IS NOT NULL;
PRAGMA user_version = 30;
";

const TO_31: &str = "
ALTER TABLE NODES ADD COLUMN inherited_props BLOB;
DROP INDEX IF EXISTS I_ACTUAL_CHANGELIST;
DROP INDEX IF EXISTS I_EXTERNALS_PARENT;
DROP INDEX I_NODES_PARENT;
CREATE UNIQUE INDEX I_NODES_PARENT ON NODES (wc_id, parent_relpath, local_relpath, op_depth);
DROP INDEX I_ACTUAL_PARENT;
CREATE UNIQUE INDEX I_ACTUAL_PARENT ON ACTUAL_NODE (wc_id, parent_relpath, local_relpath);
PRAGMA user_version = 31;
";

/// Files of programs before 1.7, below the administrative folder.
const OLD_FILES: [&str; 10] = [
    "format",
    "entries",
    "empty-file",
    "README.txt",
    "dir-wcprops",
    "all-wcprops",
    "dir-props",
    "dir-prop-base",
    "dir-prop-revert",
    "lock",
];
/// And folders.
const OLD_FOLDERS: [&str; 4] = ["wcprops", "text-base", "props", "prop-base"];

/// Brings the working copy whose root is `root` to the present format. Whether there was anything to
/// bring on.
///
/// # Errors
/// E155019 when it is no root of a working copy; E155021 for formats of developers and of the future;
/// E200007 for those before 1.7; SQLite's.
pub fn upgrade(root: &Path, access: Access) -> Result<bool> {
    if fs::metadata(layout::db(root)).is_err() {
        return Err(without_database(root));
    }
    let db = Db::open(&layout::db(root), access)?;
    let format = db.format()?;
    if format > FORMAT {
        return Err(Error::Format { path: root.to_owned(), format });
    }
    if format < FIRST_RELEASED {
        return Err(too_old(root, format));
    }
    if format < 30 {
        db.write(to_30)?;
    }
    if format < 31 {
        db.write(to_31)?;
    }
    db.write(statistics)?;
    for name in OLD_FILES {
        let _none = fs::remove_file(layout::adm(root).join(name));
    }
    for name in OLD_FOLDERS {
        let _none = fs::remove_dir_all(layout::adm(root).join(name));
    }
    Ok(format < FORMAT)
}

/// The error for what has no database: an old working copy, or none.
fn without_database(root: &Path) -> Error {
    let shown = root.display();
    let entries = layout::adm(root).join("entries");
    let error = match fs::read(&entries) {
        Ok(_) => {
            return Error::new(
                ErrorCode::UNSUPPORTED_FEATURE,
                format!(
                    "'{shown}' is a working copy from before Subversion 1.7; this svn cannot upgrade \
                     such ones yet"
                ),
            );
        }
        Err(error) => error,
    };
    let not_found = format!("Working copy database '{}' not found", layout::db(root).display());
    let no_entries = SvnError::io(&error, format!("Can't open file '{}'", entries.display()));
    let cause = SvnError::new(ErrorCode(2), not_found)
        .with_cause(no_entries.wrap(ErrorCode(200_042), "Additional errors:"));
    let text = format!("Can't upgrade '{shown}' as it is not a working copy root");
    cause.wrap(ErrorCode::WC_INVALID_OP_ON_CWD, text).into()
}

fn too_old(root: &Path, format: i64) -> Error {
    let shown = root.display();
    let text = if format < FIRST_WITH_DATABASE {
        let version = match format {
            4 => "<=1.3",
            8 => "1.4",
            9 => "1.5",
            10 => "1.6",
            _ => "(unreleased development version)",
        };
        format!(
            "Working copy '{shown}' is too old (format {format}, created by Subversion {version})"
        )
    } else if format < FIRST_OF_SCRIPTS {
        format!(
            "Working copy '{shown}' is an old development version (format {format}); to upgrade it, \
             use a format 18 client, then use 'tools/dev/wc-ng/bump-to-19.py', then use the current \
             client"
        )
    } else {
        format!(
            "Working copy '{shown}' is an old development version (format {format}); to upgrade it, \
             use a Subversion 1.7-1.9 client, then use the current client"
        )
    };
    SvnError::new(ErrorCode::WC_UPGRADE_REQUIRED, text)
        .wrap(ErrorCode::WC_UNSUPPORTED_FORMAT, "Working copy upgrade failed")
        .into()
}

/// What a row of ACTUAL_NODE says of conflicts in format 29.
struct OldConflict {
    wc_id: i64,
    relpath: String,
    old: Option<String>,
    mine: Option<String>,
    theirs: Option<String>,
    reject: Option<String>,
    tree: Option<Vec<u8>>,
}

fn to_30(db: &Db) -> Result<()> {
    let conflicts = db.all(
        "SELECT wc_id, local_relpath, conflict_old, conflict_working, conflict_new, prop_reject, \
         CAST(tree_conflict_data AS BLOB) FROM actual_node WHERE conflict_old IS NOT NULL OR \
         conflict_working IS NOT NULL OR conflict_new IS NOT NULL OR prop_reject IS NOT NULL OR \
         tree_conflict_data IS NOT NULL",
        [],
        |row| {
            Ok(OldConflict {
                wc_id: row.get(0)?,
                relpath: row.get(1)?,
                old: row.get(2)?,
                mine: row.get(3)?,
                theirs: row.get(4)?,
                reject: row.get(5)?,
                tree: row.get(6)?,
            })
        },
    )?;
    for old in conflicts {
        db.execute(
            "UPDATE actual_node SET conflict_data = ?3, conflict_old = NULL, \
             conflict_working = NULL, conflict_new = NULL, prop_reject = NULL, \
             tree_conflict_data = NULL WHERE wc_id = ?1 AND local_relpath = ?2",
            params![old.wc_id, old.relpath, old.conflict()?.write()],
        )?;
    }
    Ok(db.connection().execute_batch(TO_30)?)
}

impl OldConflict {
    fn conflict(&self) -> Result<Conflict> {
        let (operation, old, new, tree) = match &self.tree {
            Some(bytes) => read_tree(bytes).ok_or_else(|| {
                let shown = String::from_utf8_lossy(bytes);
                Error::new(
                    ErrorCode::WC_CORRUPT,
                    format!("Invalid conflict info '{shown}' in tree conflict description"),
                )
            })?,
            None => (Operation::Update, None, None, None),
        };
        let mut conflict = Conflict::new(operation, old, new);
        conflict.tree = tree;
        if self.old.is_some() || self.mine.is_some() || self.theirs.is_some() {
            conflict.text = Some(TextConflict {
                old: self.old.clone(),
                mine: self.mine.clone(),
                theirs: self.theirs.clone(),
            });
        }
        if self.reject.is_some() {
            let marker = self.reject.clone();
            conflict.prop = Some(PropConflict { marker, ..PropConflict::default() });
        }
        Ok(conflict)
    }
}

/// A tree conflict of format 29:
/// `(conflict NAME KIND OPERATION ACTION REASON (version ROOT REVISION PATH KIND) (version ...))`.
#[allow(clippy::type_complexity)] // It is taken apart at once.
fn read_tree(
    bytes: &[u8],
) -> Option<(Operation, Option<Location>, Option<Location>, Option<TreeConflict>)> {
    let skel = Skel::parse(bytes).ok()?;
    let [tag, _name, kind, operation, action, reason, old, new] = skel.list()? else { return None };
    if tag.atom()? != b"conflict" || ![&b"file"[..], b"dir"].contains(&kind.atom()?) {
        return None;
    }
    let operation = match operation.atom()? {
        b"switch" => Operation::Switch,
        b"merge" => Operation::Merge,
        b"update" | b"none" => Operation::Update,
        _ => return None,
    };
    let action = match action.atom()? {
        b"edited" => Action::Edit,
        b"deleted" => Action::Delete,
        b"added" => Action::Add,
        b"replaced" => Action::Replace,
        _ => return None,
    };
    let reason = match reason.atom()? {
        b"edited" => Reason::Edited,
        b"deleted" => Reason::Deleted,
        b"missing" => Reason::Missing,
        b"obstructed" => Reason::Obstructed,
        b"added" => Reason::Added,
        b"replaced" => Reason::Replaced,
        b"unversioned" => Reason::Unversioned,
        b"moved-away" => Reason::MovedAway,
        b"moved-here" => Reason::MovedHere,
        _ => return None,
    };
    let tree = TreeConflict { reason, action, move_source: None, move_destination: None };
    Some((operation, read_version(old)?, read_version(new)?, Some(tree)))
}

/// One of its versions; none when it has no root.
#[allow(clippy::option_option)] // Malformed, or not there.
fn read_version(skel: &Skel<'_>) -> Option<Option<Location>> {
    let [tag, root, revision, relpath, kind] = skel.list()? else { return None };
    if tag.atom()? != b"version" {
        return None;
    }
    let text = |skel: &Skel<'_>| Some(std::str::from_utf8(skel.atom()?).ok()?.to_owned());
    let root = text(root)?;
    if root.is_empty() {
        return Some(None);
    }
    Some(Some(Location {
        root: sapwood_core::uri::canonicalize(&root).unwrap_or(root),
        uuid: None,
        relpath: text(relpath)?,
        revision: text(revision)?.parse().ok().map(Revnum),
        kind: match kind.atom()? {
            b"file" => Some(NodeKind::File),
            b"dir" => Some(NodeKind::Dir),
            b"none" | b"" => None,
            _ => return None,
        },
    }))
}

/// A node of BASE beside its parent.
struct BaseRow {
    wc_id: i64,
    relpath: String,
    place: (Option<i64>, String),
    /// Repository, path in it, and path here.
    parent: Option<(Option<i64>, Option<String>, String)>,
}

impl BaseRow {
    /// Whether it is where its parent says that it is.
    fn follows(&self) -> bool {
        let Some((id, Some(place), at)) = &self.parent else { return false };
        let below = path::skip_ancestor(at, &self.relpath).unwrap_or_default();
        self.place == (*id, path::join(place, below))
    }
}

fn to_31(db: &Db) -> Result<()> {
    db.connection().execute_batch(TO_31)?;
    let rows = db.all(
        "SELECT l.wc_id, l.local_relpath, l.repos_id, l.repos_path, r.repos_id, r.repos_path, \
         r.local_relpath FROM nodes AS l LEFT OUTER JOIN nodes AS r ON l.wc_id = r.wc_id AND \
         r.local_relpath = l.parent_relpath AND r.op_depth = 0 WHERE l.op_depth = 0 AND \
         l.repos_path != ''",
        [],
        |row| {
            let parent: Option<String> = row.get(6)?;
            let (id, place) = (row.get(4)?, row.get(5)?);
            Ok(BaseRow {
                wc_id: row.get(0)?,
                relpath: row.get(1)?,
                place: (row.get(2)?, row.get(3)?),
                parent: parent.map(|at| (id, place, at)),
            })
        },
    )?;
    let nothing = write_inherited(&[]);
    for row in rows.iter().filter(|row| !row.follows()) {
        db.execute(
            "UPDATE nodes SET inherited_props = ?3 WHERE wc_id = ?1 AND local_relpath = ?2 AND \
             op_depth = 0",
            params![row.wc_id, row.relpath, nothing],
        )?;
    }
    Ok(())
}

/// The made-up figures that queries are planned with.
fn statistics(db: &Db) -> Result<()> {
    db.connection().execute_batch(
        "ANALYZE sqlite_schema; DELETE FROM sqlite_stat1 WHERE tbl IN ('NODES', 'ACTUAL_NODE', \
         'LOCK', 'WC_LOCK', 'EXTERNALS');",
    )?;
    for (table, index, figures) in STATISTICS {
        let insert = "INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES (?1, ?2, ?3)";
        db.execute(insert, [table, index, figures])?;
    }
    Ok(db.connection().execute_batch("ANALYZE sqlite_schema;")?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conflicts_of_1_7() {
        let old = OldConflict {
            wc_id: 1,
            relpath: "a/f".to_owned(),
            old: Some("a/f.r1".to_owned()),
            mine: Some("a/f.mine".to_owned()),
            theirs: Some("a/f.r2".to_owned()),
            reject: None,
            tree: None,
        };
        let made = old.conflict().unwrap().write();
        let wanted: &[u8] = b"((update (() ())) ((text ((6 a/f.r1 8 a/f.mine 6 a/f.r2)))))";
        let read = Conflict::parse(&made).unwrap();
        assert_eq!(read.text.unwrap().mine.as_deref(), Some("a/f.mine"), "{wanted:?}");
        let tree = b"(conflict f file update deleted edited (version 9 file:///r 1 1 3 a/f file) \
                     (version 9 file:///r 1 2 3 a/f none))";
        let made = OldConflict { tree: Some(tree.to_vec()), ..old }.conflict().unwrap();
        let read = Conflict::parse(&made.write()).unwrap();
        assert_eq!(read.tree.unwrap().reason, Reason::Edited);
        let first = read.locations.first().cloned().flatten().unwrap();
        assert_eq!((first.relpath.as_str(), first.revision), ("a/f", Some(Revnum(1))));
        assert!(read_tree(b"(conflict f link update deleted edited () ())").is_none());
    }
}
