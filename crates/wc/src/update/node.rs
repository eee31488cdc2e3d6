//! What an update knows of a node that is open, be it a file or a directory, and what both do alike.

use sapwood_core::date::Timestamp;
use sapwood_core::notify::Action as NotifyAction;
use sapwood_core::paths::{RelPath, RelPathBuf};
use sapwood_core::props::names;
use sapwood_core::{NodeKind, PropList, Revnum, path};

use super::batch::Work;
use super::conflicts::ConflictSides;
use super::{UpdateEditor, is_regular};
use crate::conflict::{Conflict, PropChange, names as files_beside};
use crate::db::{NodeRow, Presence, write_inherited, write_props};
use crate::error::Result;
use crate::work_item::WorkItem;

/// The last change of a node.
#[derive(Clone, Debug, Default)]
pub(crate) struct LastChange {
    pub(crate) revision: Option<Revnum>,
    pub(crate) date: Option<Timestamp>,
    pub(crate) author: Option<String>,
}

impl LastChange {
    pub(super) fn of(row: &NodeRow) -> Self {
        Self {
            revision: row.changed_revision,
            date: row.changed_date,
            author: row.changed_author.clone(),
        }
    }

    /// Takes the values of the entry properties.
    pub(super) fn take_entry_props(&mut self, entry: &[PropChange]) {
        for (name, value) in entry {
            let Some(value) = value else { continue };
            match name.as_str() {
                names::ENTRY_COMMITTED_REV => {
                    self.revision = Revnum::parse(value).or(self.revision);
                }
                names::ENTRY_COMMITTED_DATE => {
                    self.date = Timestamp::parse(value).ok().or(self.date);
                }
                names::ENTRY_LAST_AUTHOR => {
                    self.author = Some(sapwood_core::ascii::readable(value).into_owned());
                }
                _ => {}
            }
        }
    }

    pub(super) fn put(&self, row: &mut NodeRow) {
        row.changed_revision = self.revision;
        row.changed_date = self.date;
        row.changed_author.clone_from(&self.author);
    }
}

/// A node that is open.
#[derive(Debug)]
pub(super) struct OpenNode {
    pub(super) relpath: RelPathBuf,
    pub(super) kind: NodeKind,
    /// The directory that it is in; `None` for the anchor.
    pub(super) parent: Option<u64>,
    /// Its path in the repository after the update.
    pub(super) repos_path: RelPathBuf,
    pub(super) old_revision: Option<Revnum>,
    pub(super) old_repos_path: Option<RelPathBuf>,
    /// It and everything in it is skipped.
    pub(super) skip: bool,
    /// The user has been notified of it, or of what it is in.
    pub(super) notified: bool,
    /// The edit adds it; otherwise it changes what BASE has.
    pub(super) adding: bool,
    /// BASE changes; the user's layer above it does not.
    pub(super) shadowed: bool,
    /// Another node is in its place on disk.
    pub(super) obstructed: bool,
    /// Something unversioned was at its path when it was added.
    pub(super) obstruction_found: bool,
    /// A local addition becomes this node.
    pub(super) add_existed: bool,
    /// The edit really changed it, or something in it.
    pub(super) edited: bool,
    /// A conflict that is recorded only if the update really changes something here.
    pub(super) conflict: Option<Conflict>,
    /// Changes of its properties, in the order in which they came.
    pub(super) changes: Vec<PropChange>,
    /// Its last change in the repository.
    pub(super) changed: LastChange,
}

impl OpenNode {
    pub(super) fn new(
        relpath: RelPathBuf,
        kind: NodeKind,
        parent: Option<u64>,
        adding: bool,
    ) -> Self {
        Self {
            relpath,
            kind,
            parent,
            repos_path: RelPathBuf::default(),
            old_revision: None,
            old_repos_path: None,
            skip: false,
            notified: false,
            adding,
            shadowed: false,
            obstructed: false,
            obstruction_found: false,
            add_existed: false,
            edited: false,
            conflict: None,
            changes: Vec::new(),
            changed: LastChange::default(),
        }
    }

    /// Takes what BASE says of it.
    pub(super) fn take_base(&mut self, base: &NodeRow) {
        self.old_revision = base.revision;
        self.old_repos_path.clone_from(&base.repos_path);
        self.changed = LastChange::of(base);
    }

    pub(super) fn conflict_sides(&self) -> ConflictSides<'_> {
        ConflictSides {
            old_path: self.old_repos_path.as_deref(),
            old_revision: self.old_revision,
            old_kind: Some(self.kind),
            new_path: &self.repos_path,
            new_kind: Some(self.kind),
        }
    }

    /// The action that is reported for it.
    pub(super) const fn action(&self) -> NotifyAction {
        if self.shadowed || self.obstructed {
            if self.adding {
                NotifyAction::UpdateShadowedAdd
            } else {
                NotifyAction::UpdateShadowedUpdate
            }
        } else if self.obstruction_found || self.add_existed {
            NotifyAction::Exists
        } else if self.adding {
            NotifyAction::UpdateAdd
        } else {
            NotifyAction::UpdateUpdate
        }
    }
}

impl UpdateEditor<'_> {
    /// A node in the open directory `parent`, whose fate it shares.
    pub(super) fn child_node(
        &self,
        relpath: RelPathBuf,
        kind: NodeKind,
        parent: u64,
        adding: bool,
    ) -> Result<OpenNode> {
        let mut node = OpenNode::new(relpath, kind, Some(parent), adding);
        let above = &self.dir(parent)?.node;
        node.skip = above.skip;
        node.shadowed = above.shadowed || above.obstructed;
        Ok(node)
    }

    fn node(&self, handle: u64) -> Result<&OpenNode> {
        match self.files.get(&handle) {
            Some(file) => Ok(&file.node),
            None => Ok(&self.dir(handle)?.node),
        }
    }

    fn node_mut(&mut self, handle: u64) -> Result<&mut OpenNode> {
        if self.files.contains_key(&handle) {
            return Ok(&mut self.file_mut(handle)?.node);
        }
        Ok(&mut self.dir_mut(handle)?.node)
    }

    /// The update really changes something in a node: it and its parents count as edited, and
    /// conflicts that were waiting for this are recorded.
    pub(super) fn mark_edited(&mut self, handle: u64) -> Result<()> {
        let node = self.node(handle)?;
        if node.edited {
            return Ok(());
        }
        if let Some(parent) = node.parent {
            self.mark_edited(parent)?;
        }
        let node = self.node_mut(handle)?;
        node.edited = true;
        let Some(mut conflict) = node.conflict.take() else { return Ok(()) };
        node.notified = true;
        let (relpath, kind) = (node.relpath.clone(), node.kind);
        self.complete(&mut conflict, &self.node(handle)?.conflict_sides(), None)?;
        self.raise(&relpath, &conflict, kind)?;
        self.node_mut(handle)?.conflict = Some(conflict);
        Ok(())
    }

    /// Takes a property of a node: whether it is wanted.
    pub(super) fn change_prop(
        &mut self,
        handle: u64,
        name: &str,
        value: Option<&[u8]>,
    ) -> Result<bool> {
        let node = self.node_mut(handle)?;
        if node.skip {
            return Ok(false);
        }
        node.changes.push((name.to_owned(), value.map(<[u8]>::to_vec)));
        if !node.edited && is_regular(name) {
            self.mark_edited(handle)?;
        }
        Ok(true)
    }

    /// The row that a node has after the update, with these versioned and these cached properties.
    pub(super) fn row_after(
        &mut self,
        node: &OpenNode,
        props: &PropList,
        dav: Vec<PropChange>,
    ) -> NodeRow {
        let mut row = NodeRow::new(node.relpath.clone(), 0, Presence::Normal, node.kind.into());
        row.repos_id = Some(self.repos_id);
        row.repos_path = Some(node.repos_path.clone());
        row.revision = self.revision;
        row.properties = Some(write_props(props));
        node.changed.put(&mut row);
        let dav: PropList = dav.into_iter().filter_map(|(n, v)| Some((n, v?))).collect();
        row.dav_cache = (!dav.is_empty()).then(|| write_props(&dav));
        row.inherited_props =
            self.params.inherited.remove(&node.relpath).map(|list| write_inherited(&list));
        row
    }

    /// Completes the conflict of a node that is closed, and queues the file that describes one of properties.
    pub(super) fn close_conflict(
        &self,
        node: &OpenNode,
        conflict: Option<&mut Conflict>,
        work: &mut Vec<Work>,
    ) -> Result<()> {
        let Some(conflict) = conflict else { return Ok(()) };
        let deletion = self.deletion_of(node.parent, &node.relpath);
        self.complete(conflict, &node.conflict_sides(), deletion.as_ref())?;
        if let Some(prop) = &mut conflict.prop
            && prop.marker.is_none()
        {
            prop.marker = Some(files_beside::reserve_prej(&self.wc, &node.relpath)?);
            let relpath = node.relpath.clone();
            work.push(Work::Item(WorkItem::PrejInstall { relpath, old_skel: None }));
        }
        Ok(())
    }

    /// A node is in the database: it would not be missing if the update stopped now.
    pub(super) fn note_written(&mut self, node: &OpenNode) -> Result<()> {
        if let Some(parent) = node.parent {
            self.dir_mut(parent)?.not_present.remove(path::basename(&node.relpath));
        }
        Ok(())
    }

    /// The conflict of a deletion that this node follows.
    pub(super) fn deletion_of(&self, parent: Option<u64>, relpath: &RelPath) -> Option<Conflict> {
        let parent = self.dirs.get(&parent?)?;
        parent.deletions.get(path::basename(relpath)).cloned()
    }
}
