//! Single changes to an index: a path, its text and properties, a log message.
//!
//! Invariant: a path that stays keeps its number, whatever happens to its text.

use rusqlite::params;
use sapwood_core::exact::{Exact as _, signed};
use sapwood_core::props::names;
use sapwood_core::{FsPath, NodeKind, PropList, Revnum};
use sapwood_fs::Node;

use crate::error::Result;
use crate::index::Index;
use crate::properties::of_properties;
use crate::text;

impl Index {
    /// Adds a node, or what is new of it. Returns the bytes of text that were added.
    pub(crate) fn put(&self, path: &FsPath, node: &Node) -> Result<usize> {
        let is_dir = node.kind() == NodeKind::Dir;
        let key = match self.id(path)? {
            Some(id) => signed(id),
            None => self.add_path(path, is_dir)?,
        };
        let text = if is_dir { None } else { text::of_file(node)? };
        let props = if node.has_props()? { Some(of_properties(&*node.props()?)) } else { None };
        self.run(|connection| {
            for (table, grams) in [("text_grams", &text), ("prop_grams", &props)] {
                let delete = format!("DELETE FROM {table} WHERE rowid = ?1");
                connection.prepare_cached(&delete)?.execute([key])?;
                if let Some(grams) = grams {
                    let sql = format!("INSERT INTO {table} (rowid, grams) VALUES (?1, ?2)");
                    connection.prepare_cached(&sql)?.execute(params![key, grams])?;
                }
            }
            Ok(())
        })?;
        Ok(text.map_or(0, |text| text.len()).plus(props.map_or(0, |props| props.len())))
    }

    fn add_path(&self, path: &FsPath, is_dir: bool) -> Result<i64> {
        self.run(|connection| {
            connection
                .prepare_cached("INSERT INTO path (path, is_dir) VALUES (?1, ?2)")?
                .execute(params![path.as_str(), is_dir])?;
            let key = connection.last_insert_rowid();
            connection
                .prepare_cached("INSERT INTO path_grams (rowid, grams) VALUES (?1, ?2)")?
                .execute(params![key, path.as_str()])?;
            Ok(key)
        })
    }

    /// Removes a path and all below it.
    pub(crate) fn remove_tree(&self, path: &FsPath) -> Result<()> {
        // '0' is the character after '/'.
        let (path, below, behind) = (path.as_str(), format!("{path}/"), format!("{path}0"));
        let which = "(SELECT id FROM path WHERE path = ?1 OR (path > ?2 AND path < ?3))";
        self.run(|connection| {
            for sql in [
                format!("DELETE FROM text_grams WHERE rowid IN {which}"),
                format!("DELETE FROM prop_grams WHERE rowid IN {which}"),
                format!("DELETE FROM path_grams WHERE rowid IN {which}"),
                "DELETE FROM path WHERE path = ?1 OR (path > ?2 AND path < ?3)".to_owned(),
            ] {
                connection.prepare_cached(&sql)?.execute(params![path, below, behind])?;
            }
            Ok(())
        })
    }

    /// Adds the log message and author of a revision, in place of what was known of it.
    pub(crate) fn put_message(&self, revision: Revnum, props: &PropList) -> Result<()> {
        let text = |name| String::from_utf8_lossy(props.get(name).unwrap_or(b""));
        let grams = format!("{}\n{}", text(names::LOG), text(names::AUTHOR));
        let key = signed(revision.0);
        self.run(|connection| {
            connection
                .prepare_cached("DELETE FROM message_grams WHERE rowid = ?1")?
                .execute([key])?;
            connection
                .prepare_cached("INSERT INTO message_grams (rowid, grams) VALUES (?1, ?2)")?
                .execute(params![key, grams])
        })
        .map(drop)
    }
}
