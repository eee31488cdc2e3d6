//! Operations on properties, and on externals, which a property defines. The functions: `props`, `externals`.

use std::collections::HashSet;

use sapwood_core::paths::{RelPath, RelPathBuf};
use sapwood_core::{CancelToken, Depth};

use crate::commit::externals;
use crate::commit::externals::Committable;
use crate::error::Result;
use crate::externals::{Dismantling, definitions};
use crate::gather::{GatheredChanges, Notifier};
use crate::props::inherited::InheritedProps;
use crate::props::set::Change;
use crate::props::{inherited, set, values};
use crate::root::WorkingCopy;
use crate::view::View;

impl WorkingCopy {
    /// The externals below a directory that follow the youngest revision of the repository that this
    /// working copy is of; those within other externals too, with a depth of infinity.
    ///
    /// # Errors
    /// SQLite's.
    pub fn committable_externals(
        &self,
        relpath: &RelPath,
        depth: Depth,
    ) -> Result<Vec<Committable>> {
        externals::committable_externals(self, relpath, depth)
    }

    /// The directories at and below a path, as deep as `depth`, whose properties define externals:
    /// path, depth and value.
    ///
    /// # Errors
    /// SQLite's.
    pub fn externals_definitions(
        &self,
        relpath: &RelPath,
        depth: Depth,
    ) -> Result<Vec<(RelPathBuf, Depth, String)>> {
        definitions::externals_definitions(self, relpath, depth)
    }

    /// Removes the node of a file external; a file with local changes stays as an unversioned one.
    ///
    /// # Errors
    /// SQLite's; that the file cannot be removed.
    pub fn remove_file_external(&self, relpath: &RelPath, cancel: &CancelToken) -> Result<()> {
        definitions::remove_file_external(self, relpath, cancel)
    }

    /// Removes a whole working copy in which no file has local changes: its files and the administrative directory.
    ///
    /// # Errors
    /// That files cannot be read or removed.
    pub fn dismantle(&self) -> Result<Dismantling> {
        definitions::dismantle(self)
    }

    /// The nodes of BASE that have properties inherited in the repository, at a path and as deep below it as
    /// `depth`.
    ///
    /// # Errors
    /// SQLite's.
    pub fn with_inherited_props(&self, relpath: &RelPath, depth: Depth) -> Result<Vec<RelPathBuf>> {
        inherited::with_inherited_props(self, relpath, depth)
    }

    /// What a node inherits, of all properties or of one; what is farthest above comes first.
    ///
    /// # Errors
    /// E155010 for what is not known, E155035 for what has no properties.
    pub fn inherited_props(
        &self,
        relpath: &RelPath,
        name: Option<&str>,
    ) -> Result<Vec<InheritedProps>> {
        inherited::inherited_props(self.db(), self.disk(), relpath, name)
    }

    /// Sets or deletes a property of a node and, as deep as `depth` says, of what is below. Of nodes
    /// below only those on one of `changelists` count, when there are some; kinds that cannot have
    /// the property are left out.
    ///
    /// # Errors
    /// E155010 and E155023 for what cannot have properties; what is wrong with the value.
    pub fn set_prop(
        &self,
        relpath: &RelPath,
        change: Change<'_>,
        depth: Depth,
        changelists: &HashSet<String>,
        cancel: &CancelToken,
        notify: &Notifier<'_>,
    ) -> Result<()> {
        set::set_prop(self, relpath, change, depth, changelists, cancel, notify)
    }

    /// As [`WorkingCopy::set_prop`], among other changes.
    ///
    /// # Errors
    /// As there.
    pub fn set_prop_among(
        &self,
        relpath: &RelPath,
        change: Change<'_>,
        depth: Depth,
        changelists: &HashSet<String>,
        gathered: &GatheredChanges<'_>,
    ) -> Result<()> {
        set::set_prop_among(self.db(), self.disk(), relpath, change, depth, changelists, gathered)
    }

    /// Calls `visit` with a directory and, as deep as `depth` says, the nodes below that are there
    /// for the user.
    ///
    /// # Errors
    /// Those of the database and of `visit`.
    pub fn walk_nodes(
        &self,
        relpath: &RelPath,
        depth: Depth,
        visit: &mut dyn FnMut(&View) -> Result<()>,
    ) -> Result<()> {
        set::walk_nodes(self.db(), self.disk(), relpath, depth, visit)
    }

    /// The nodes at and below a path that have a property, with the value that the user sees, by
    /// path. Reads no row of a node that has no such property and no local change: two
    /// statements for the whole tree.
    ///
    /// # Errors
    /// SQLite's; that a column is no property list.
    pub fn values_below(
        &self,
        relpath: &RelPath,
        name: &str,
    ) -> Result<Vec<(RelPathBuf, Vec<u8>)>> {
        values::values_below(self.db(), relpath, name)
    }
}
