//! One entry of the two trees: its change, and the editor calls for that.

use sapwood_core::FsPath;
use sapwood_core::paths::{FsPathBuf, RelPath};
use sapwood_core::{Depth, ErrorCode, NodeKind, Revnum, SvnError};
use sapwood_delta::Handle;
use sapwood_fs::{Node, Relation};

use super::{Drive, Level};
use crate::error::Result;
use crate::locations::deleted_rev_in;
use crate::reporter::spool::PathInfo;

/// Where an entry comes from. `path` without `node` is a path without a node.
#[derive(Clone, Debug, Default)]
pub(super) struct Source {
    pub(super) revision: Revnum,
    pub(super) path: Option<FsPathBuf>,
    pub(super) node: Option<Node>,
}

/// The depth of the working copy at a path, and the depth that the client wants.
#[derive(Clone, Copy, Debug)]
pub(super) struct Depths {
    pub(super) wc: Depth,
    pub(super) requested: Depth,
}

impl Depths {
    pub(super) fn below(self) -> Self {
        let below = |depth| if depth == Depth::Immediates { Depth::Empty } else { depth };
        Self { wc: below(self.wc), requested: below(self.requested) }
    }

    /// Whether an entry of a kind is not looked at, because it is deeper than what is wanted.
    pub(super) fn is_too_shallow(self, kind: NodeKind) -> bool {
        let Self { wc, requested } = self;
        match kind {
            NodeKind::File => requested == Depth::Unknown && wc < Depth::Files,
            NodeKind::Dir => wc < Depth::Immediates || requested == Depth::Files,
        }
    }

    /// Whether an entry is wanted that the working copy is too shallow to have.
    pub(super) fn is_upgrade(self, kind: NodeKind) -> bool {
        let Self { wc, requested } = self;
        if requested == Depth::Unknown || requested <= wc || wc == Depth::Immediates {
            return false;
        }
        match kind {
            NodeKind::File => wc != Depth::Files,
            NodeKind::Dir => !(wc == Depth::Empty && requested == Depth::Files),
        }
    }
}

/// An entry to be brought from source to target.
pub(super) struct Entry<'p> {
    pub(super) source: Source,
    pub(super) target_path: &'p FsPath,
    pub(super) target: Option<Node>,
    pub(super) parent: Handle,
    /// The path in the edit.
    pub(super) path: &'p RelPath,
    pub(super) depths: Depths,
    /// Whether all of the parent's target may be read.
    pub(super) readable: bool,
}

/// What has to be sent of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Change {
    /// Nothing: the client has it already.
    Nothing,
    /// The difference: the target is a later state of the source's node.
    Edit,
    /// All of the target, after the source is deleted: they are unrelated, or
    /// one of them does not exist.
    Anew,
}

impl Drive<'_> {
    /// Brings one entry from source to target. A directory that was opened for that is returned
    /// for the walk.
    pub(super) fn update_entry(
        &mut self,
        entry: Entry<'_>,
        info: Option<&PathInfo>,
    ) -> Result<Option<Level>> {
        let mut entry = entry;
        let link = info.and_then(|info| info.link.as_deref());
        let hidden = match link {
            Some(link) => !self.authorizer.readable(link)?,
            None => false,
        };
        if hidden && self.is_switch {
            self.forget_hidden_source(&mut entry)?;
            return self.bring(entry, None);
        }
        if hidden {
            return self.send_hidden_link(&entry).map(|()| None);
        }
        if let Some(link) = link.filter(|_| !self.is_switch) {
            entry.target = self.target_root.find(link)?;
            entry.target_path = link;
            entry.readable = false;
        }
        self.take_reported_source(&mut entry, info)?;
        self.bring(entry, info)
    }

    /// The answer about an entry that is linked to a path which may not be read: the same whether that path exists, in
    /// whatever revision and of whatever kind.
    fn send_hidden_link(&mut self, entry: &Entry<'_>) -> Result<()> {
        match entry.source.node.as_ref().map(Node::kind) {
            Some(NodeKind::Dir) => self.editor.absent_directory(entry.path, entry.parent)?,
            Some(NodeKind::File) | None => self.editor.absent_file(entry.path, entry.parent)?,
        }
        self.skip(entry.path)
    }

    /// A switched entry whose present path may not be read: it is replaced whole, so that the edit does not depend on
    /// what is there.
    fn forget_hidden_source(&mut self, entry: &mut Entry<'_>) -> Result<()> {
        self.editor.delete_entry(entry.path, None, entry.parent)?;
        entry.source.path = None;
        entry.source.node = None;
        Ok(())
    }

    /// Sends what brings an entry from its source to its target.
    fn bring(&mut self, entry: Entry<'_>, info: Option<&PathInfo>) -> Result<Option<Level>> {
        let mut entry = entry;
        let change = self.change_of(&entry, info)?;
        if change == Change::Nothing {
            return Ok(None);
        }
        if change == Change::Anew && entry.source.node.is_some() {
            self.delete(&entry)?;
            entry.source.path = None;
            entry.source.node = None;
        }
        let Some(target) = entry.target.take() else {
            self.skip(entry.path)?;
            return Ok(None);
        };
        if !entry.readable && !self.authorizer.readable(entry.target_path)? {
            match target.kind() {
                NodeKind::Dir => self.editor.absent_directory(entry.path, entry.parent)?,
                NodeKind::File => self.editor.absent_file(entry.path, entry.parent)?,
            }
            self.skip(entry.path)?;
            return Ok(None);
        }
        match target.kind() {
            NodeKind::Dir => {
                let start_empty = info.is_some_and(|info| info.start_empty);
                self.send_directory(entry, target, change, start_empty).map(Some)
            }
            NodeKind::File => {
                let token = info.and_then(|info| info.lock_token.as_deref());
                self.send_file(&entry, &target, change, token)?;
                Ok(None)
            }
        }
    }

    /// The source as the report has it: another revision, another place, or nothing at all.
    fn take_reported_source(
        &mut self,
        entry: &mut Entry<'_>,
        info: Option<&PathInfo>,
    ) -> Result<()> {
        let source = &mut entry.source;
        match info {
            Some(PathInfo { revision: None, .. }) => {
                source.path = None;
                source.node = None;
            }
            Some(PathInfo { revision: Some(revision), link, .. }) if source.path.is_some() => {
                source.revision = *revision;
                if let Some(link) = link {
                    source.path = Some(link.clone());
                }
                let root = self.source_root(*revision)?;
                source.node = match &source.path {
                    Some(place) => root.find(place)?,
                    None => None,
                };
            }
            _ => {}
        }
        if source.path.is_some() && source.node.is_none() {
            return Err(SvnError::new(
                ErrorCode::FS_NOT_FOUND,
                format!("Working copy path '{}' does not exist in repository", entry.path),
            )
            .into());
        }
        Ok(())
    }

    /// How source and target differ.
    fn change_of(&self, entry: &Entry<'_>, info: Option<&PathInfo>) -> Result<Change> {
        let (Some(from), Some(to)) = (&entry.source.node, &entry.target) else {
            return Ok(Change::Anew);
        };
        if from.kind() != to.kind() {
            return Ok(Change::Anew);
        }
        let relation = from.relation(to);
        let is_file = to.kind() == NodeKind::File;
        let mut changed = relation != Relation::Unchanged;
        // An unchanged copy of a file is no change: sending it would raise tree conflicts.
        if !self.ignore_ancestry && is_file && relation == Relation::Common {
            changed = !from.same_props_rep(to) || !from.same_contents_rep(to);
        }
        if !changed
            && !self.any_below(entry.path)
            && (entry.depths.requested <= entry.depths.wc || is_file)
            && self.is_unchanged_entry(info, entry.target_path)?
        {
            return Ok(Change::Nothing);
        }
        let is_related = relation != Relation::Unrelated || self.ignore_ancestry;
        Ok(if is_related { Change::Edit } else { Change::Anew })
    }

    /// Opens or adds a directory, whose entries are then to be walked.
    fn send_directory(
        &mut self,
        entry: Entry<'_>,
        target: Node,
        change: Change,
        start_empty: bool,
    ) -> Result<Level> {
        let Entry { source, path, parent, depths, readable, .. } = entry;
        self.send_node(&target)?;
        let handle = match change {
            Change::Edit => self.editor.open_directory(path, parent, Some(source.revision))?,
            _ => self.editor.add_directory(path, parent, None)?,
        };
        self.level(handle, path.to_owned(), source, target, start_empty, depths, readable)
    }

    /// Opens or adds a file, and brings it up to date.
    fn send_file(
        &mut self,
        entry: &Entry<'_>,
        target: &Node,
        change: Change,
        token: Option<&str>,
    ) -> Result<()> {
        let Entry { source, path, parent, .. } = entry;
        let handle = if change == Change::Edit {
            self.send_node(target)?;
            let file = self.editor.open_file(path, *parent, Some(source.revision))?;
            self.delta_files(file, source.node.as_ref(), target, token)?;
            file
        } else {
            let copy = self.copy_source(target)?;
            let from = copy.as_ref().map(|(revision, node)| (node.path().as_str(), *revision));
            self.send_node(target)?;
            let file = self.editor.add_file(path, *parent, from)?;
            self.delta_files(file, copy.as_ref().map(|(_, node)| node), target, token)?;
            file
        };
        Ok(self.editor.close_file(handle, Some(target.md5()?))?)
    }

    /// Whether an entry that did not change needs no mention: unless the working copy lacks what
    /// is in it, or has the token of a lock that is gone.
    fn is_unchanged_entry(&self, info: Option<&PathInfo>, target_path: &FsPath) -> Result<bool> {
        let Some(info) = info else { return Ok(true) };
        if info.start_empty {
            return Ok(false);
        }
        match &info.lock_token {
            None => Ok(true),
            Some(token) => Ok(self.fs.lock(target_path)?.is_some_and(|lock| lock.token == *token)),
        }
    }

    /// Deletes an entry that is not related to its replacement.
    fn delete(&mut self, entry: &Entry<'_>) -> Result<()> {
        let place = entry.target_path;
        let mut revision = deleted_rev_in(
            &mut self.roots,
            place,
            entry.source.revision,
            self.revision,
            self.cancel,
        )?;
        if revision.is_none() && self.target_root.kind(place)?.is_some() {
            revision = self.revision.prev();
        }
        Ok(self.editor.delete_entry(entry.path, revision, entry.parent)?)
    }

    /// What a new file was copied from, if the client wants to know and may read it.
    fn copy_source(&mut self, target: &Node) -> Result<Option<(Revnum, Node)>> {
        if !self.send_copyfrom_args {
            return Ok(None);
        }
        let Some((copied, place)) = self.target_root.closest_copy(target.path())? else {
            return Ok(None);
        };
        if place != target.path() {
            return Ok(None);
        }
        let copy = self.roots.get(copied)?.node(&place)?;
        let Some((revision, source)) = copy.copied_from() else { return Ok(None) };
        if !self.authorizer.readable(source)? {
            return Ok(None);
        }
        Ok(Some((revision, self.source_root(revision)?.node(source)?)))
    }
}
