//! Tree conflicts of merges, and directories that merges add.

use std::fs;

use sapwood_core::paths::RelPath;
use sapwood_core::{Depth, ErrorCode, PropList};

use crate::conflict::Conflict;
use crate::db::{Kind, NodeRow, Presence, write_props};
use crate::error::{Error, Result};
use crate::local::From;
use crate::local::{depths_for_copy, put_not_present};
use crate::node::Origin;
use crate::root::WorkingCopy;
use crate::update::{LastChange, split_props};
use crate::view::Status;

impl WorkingCopy {
    /// Records a tree conflict.
    ///
    /// # Errors
    /// E155035 when there is one already; SQLite's.
    pub fn add_tree_conflict(&self, relpath: &RelPath, conflict: &Conflict) -> Result<()> {
        self.db().write(|db| {
            let known = db.actual(relpath)?.and_then(|actual| actual.conflict_data);
            if let Some(known) = known
                && Conflict::parse(&known)?.tree.is_some()
            {
                let shown = self.abspath(relpath);
                return Err(Error::new(
                    ErrorCode::WC_PATH_UNEXPECTED_STATUS,
                    format!(
                        "Attempt to add tree conflict that already exists at '{}'",
                        shown.display()
                    ),
                ));
            }
            db.mark_conflict(relpath, &conflict.write())
        })
    }

    /// Forgets a tree conflict; other conflicts of the node stay.
    ///
    /// # Errors
    /// SQLite's; a malformed record.
    pub fn remove_tree_conflict(&self, relpath: &RelPath) -> Result<()> {
        self.db().write(|db| {
            let Some(mut row) = db.actual(relpath)? else { return Ok(()) };
            let Some(record) = &row.conflict_data else { return Ok(()) };
            let mut conflict = Conflict::parse(record)?;
            conflict.tree = None;
            row.conflict_data = (!conflict.is_resolved()).then(|| conflict.write());
            db.put_actual(&row)
        })
    }

    /// Makes a directory on disk.
    ///
    /// # Errors
    /// That it cannot be made.
    pub fn make_dir(&self, relpath: &RelPath) -> Result<()> {
        let path = self.abspath(relpath);
        fs::create_dir(&path).map_err(|e| Error::io(e, "Can't create directory", &path))
    }

    /// Adds a directory that is on disk as a copy of one of the repository, of which nothing is
    /// known yet; what is in it is added next, and [`WorkingCopy::complete_repos_dir`] ends it. Needs
    /// a lock on the parent.
    ///
    /// # Errors
    /// E150002 when there is a node; E155014 and the like when nothing can be added to the parent.
    pub fn add_repos_dir(&self, relpath: &RelPath, origin: &Origin) -> Result<()> {
        self.check_addable(relpath)?;
        self.check_parent_of_addition(relpath)?;
        let changed = LastChange { revision: Some(origin.revision), ..LastChange::default() };
        self.put_repos_dir(relpath, origin, &PropList::new(), &changed)
    }

    /// Gives a directory that was added in this way its properties, those of its last change among
    /// them.
    ///
    /// # Errors
    /// E155035 when it is no such directory.
    pub fn complete_repos_dir(&self, relpath: &RelPath, props: &PropList) -> Result<()> {
        let view = self.require_view(relpath)?;
        let origin = self.origin(&view)?;
        let fresh = view.status() == Status::Added
            && view.is_dir()
            && !view.props_modified()
            && view.pristine_props()?.is_empty();
        let Some(origin) = origin.filter(|_| fresh) else {
            let shown = self.abspath(relpath);
            return Err(Error::new(
                ErrorCode::WC_PATH_UNEXPECTED_STATUS,
                format!("'{}' is not an unmodified copied directory", shown.display()),
            ));
        };
        let (regular, changed) = split_props(props);
        self.put_repos_dir(relpath, &origin, &regular, &changed)
    }

    fn put_repos_dir(
        &self,
        relpath: &RelPath,
        origin: &Origin,
        props: &PropList,
        changed: &LastChange,
    ) -> Result<()> {
        let place = From {
            repos_id: Some(origin.repos_id),
            path: Some(origin.repos_path.clone()),
            revision: Some(origin.revision),
        };
        self.db().write(|db| {
            let depths = depths_for_copy(self.db(), &place, relpath)?;
            let mut row = NodeRow::new(relpath, depths.op_depth, Presence::Normal, Kind::Dir);
            row.moved_to = db.node(relpath, depths.op_depth)?.and_then(|old| old.moved_to);
            row.repos_id = place.repos_id;
            row.repos_path.clone_from(&place.path);
            row.revision = place.revision;
            row.depth = Some(Depth::Infinity);
            row.properties = Some(write_props(props));
            row.changed_revision = changed.revision;
            row.changed_date = changed.date.or(Some(sapwood_core::date::Timestamp(0)));
            row.changed_author.clone_from(&changed.author);
            db.put_node(&row)?;
            if let Some(mut actual) = db.actual(relpath)? {
                actual.changelist = None;
                db.put_actual(&actual)?;
            }
            if let Some(depth) = depths.not_present {
                put_not_present(self.db(), relpath, depth, Kind::Dir, &place)?;
            }
            Ok(())
        })
    }
}
