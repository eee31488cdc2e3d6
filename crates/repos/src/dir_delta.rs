//! The difference between two trees as editor calls.

use sapwood_core::FsPath;
use sapwood_core::paths::{FsPathBuf, RelPath, RelPathBuf};
use sapwood_core::{CancelToken, Depth, ErrorCode, NodeKind, Revnum, SvnError, hashorder, path};
use sapwood_delta::{Editor, Handle};
use sapwood_fs::{DirEntry, Directory, Node, Relation, RevpropsSnapshot, Root};

use crate::authorizer::PathAuthorizer;
use crate::error::Result;
use crate::node_delta::{NoDelta, Open, send_entry_props, send_node_props};

/// The trees to compare, and how.
#[derive(Clone, Copy, Debug)]
pub struct DirDelta<'a> {
    /// The tree to start from.
    pub source: &'a Root,
    /// The fspath of the directory there.
    pub source_parent: &'a FsPath,
    /// One name below it, or empty for the directory itself.
    pub source_entry: &'a str,
    /// The tree to arrive at.
    pub target: &'a Root,
    /// The fspath in that tree.
    pub target_path: &'a FsPath,
    /// Whether to send text deltas (else empty stand-ins).
    pub text_deltas: bool,
    /// The depth.
    pub depth: Depth,
    /// Whether to send `svn:entry:` properties.
    pub entry_props: bool,
    /// Whether unrelated nodes count as changes of one another.
    pub ignore_ancestry: bool,
    /// Stops the work.
    pub cancel: &'a CancelToken,
}

/// Drives `editor` to turn one tree into another, up to its `close_edit`.
///
/// # Errors
/// E160005 when a directory is compared with something else, E220000 when the root of the edit may
/// not be read; E200015 when cancelled; what the editor returns; corruption and system errors.
pub fn dir_delta(
    request: &DirDelta<'_>,
    authorizer: &dyn PathAuthorizer,
    editor: &mut dyn Editor,
) -> Result<()> {
    let wrong = |code, message: &str| Err(SvnError::new(code, message).into());
    if request.depth == Depth::Exclude {
        return wrong(ErrorCode::REPOS_BAD_ARGS, "Delta depth 'exclude' not supported");
    }
    let DirDelta { source_parent, target_path, source_entry: entry, .. } = *request;
    let source =
        request.source.find(&FsPathBuf::canonicalized(path::join(source_parent, entry)))?;
    let target = request.target.find(target_path)?;
    if source.is_none() && target.is_none() {
        return Ok(editor.close_edit()?);
    }
    let is_dir = |node: &Option<Node>| node.as_ref().is_some_and(|n| n.kind() == NodeKind::Dir);
    if entry.is_empty() && !(is_dir(&source) && is_dir(&target)) {
        return wrong(
            ErrorCode::FS_PATH_SYNTAX,
            "Invalid editor anchoring; at least one of the input paths is not a directory and \
             there was no source entry",
        );
    }
    editor.set_target_revision(request.target.base_revision())?;
    let mut drive = Drive {
        request,
        authorizer,
        editor,
        revprops: request.target.fs().revprops_snapshot(),
        uuid: if request.entry_props { request.target.fs().uuid()? } else { String::new() },
    };
    if let (Some(source), Some(target)) = (&source, &target)
        && source.relation(target) == Relation::Unchanged
    {
        return Ok(drive.editor.close_edit()?);
    }
    let root_path = if entry.is_empty() { target_path } else { target_path.parent() };
    if !authorizer.readable(root_path)? {
        return wrong(ErrorCode::AUTHZ_ROOT_UNREADABLE, "Unable to open root of edit");
    }
    let root = drive.editor.open_root(source_revision(request)?)?;
    let opened = match (source, target) {
        (source, Some(target)) if entry.is_empty() => {
            Some(drive.level(root, RelPathBuf::default(), source, target, request.depth)?)
        }
        (source, target) => {
            let path = RelPath::new(entry).map_err(SvnError::from)?;
            let place = EditPosition { parent: root, path, depth: request.depth };
            drive.entry(place, source, target)?
        }
    };
    if let Some(level) = opened {
        drive.walk(level)?;
    }
    if !entry.is_empty() {
        drive.editor.close_directory(root)?;
    }
    Ok(drive.editor.close_edit()?)
}

/// The revision of what is compared; that of a transaction's directory, when there is no other.
fn source_revision(request: &DirDelta<'_>) -> Result<Option<Revnum>> {
    Ok(match request.source.revision() {
        Some(revision) => Some(revision),
        None => request.source.find(request.source_parent)?.and_then(|node| node.created_rev()),
    })
}

struct Drive<'a> {
    request: &'a DirDelta<'a>,
    authorizer: &'a dyn PathAuthorizer,
    editor: &'a mut dyn Editor,
    revprops: RevpropsSnapshot,
    uuid: String,
}

/// Where an entry is in the edit.
#[derive(Clone, Copy)]
struct EditPosition<'p> {
    parent: Handle,
    path: &'p RelPath,
    depth: Depth,
}

/// A directory that is open in the edit. They make up a stack, which grows with the depth of the
/// tree only.
struct Level {
    handle: Handle,
    path: RelPathBuf,
    source: Option<Node>,
    source_entries: Option<Directory>,
    target: Node,
    target_entries: Directory,
    /// The places of the target's entries in the order in which they are sent.
    order: Vec<u32>,
    /// The next place in `order`.
    at: usize,
    depth: Depth,
}

impl Drive<'_> {
    fn walk(&mut self, first: Level) -> Result<()> {
        let mut stack = vec![first];
        while let Some(level) = stack.last_mut() {
            self.request.cancel.check()?;
            let opened = match level.order.get(level.at).and_then(|at| usize::try_from(*at).ok()) {
                Some(at) => {
                    level.at += 1;
                    self.target_entry(level, at)?
                }
                None => {
                    self.deletions(level)?;
                    let handle = level.handle;
                    stack.pop();
                    self.editor.close_directory(handle)?;
                    continue;
                }
            };
            stack.extend(opened);
        }
        Ok(())
    }

    /// Opens the entries of a directory, after its properties.
    fn level(
        &mut self,
        handle: Handle,
        path: RelPathBuf,
        source: Option<Node>,
        target: Node,
        depth: Depth,
    ) -> Result<Level> {
        self.props(Open::Dir(handle), source.as_ref(), &target)?;
        let target_entries = target.entries()?;
        let source_entries = match &source {
            Some(source) => Some(source.entries()?),
            None => None,
        };
        let order = hashorder::order(target_entries.iter().map(|entry| entry.name));
        Ok(Level {
            handle,
            path,
            source,
            source_entries,
            target,
            target_entries,
            order,
            at: 0,
            depth,
        })
    }

    fn target_entry(&mut self, level: &Level, at: usize) -> Result<Option<Level>> {
        let Some(entry) = level.target_entries.get(at) else { return Ok(None) };
        let source = level.source_entries.as_ref().and_then(|s| s.find(entry.name));
        // A directory in place of a file, or the reverse, is decided by the source.
        if !reaches(level.depth, source.map_or(entry.kind, |s| s.kind))
            || source.is_some_and(|s| s.id == entry.id)
        {
            return Ok(None);
        }
        let source = match &level.source {
            Some(dir) => source.map(|entry| dir.child_of(&entry)).transpose()?,
            _ => None,
        };
        let target = Some(level.target.child_of(&entry)?);
        let place = EditPosition {
            parent: level.handle,
            path: &level.path.child(entry.name),
            depth: level.depth,
        };
        self.entry(place, source, target)
    }

    /// Turns one entry into another, or nothing into one, or one into nothing.
    fn entry(
        &mut self,
        place: EditPosition<'_>,
        source: Option<Node>,
        target: Option<Node>,
    ) -> Result<Option<Level>> {
        let Some(target) = target else {
            self.editor.delete_entry(place.path, None, place.parent)?;
            return Ok(None);
        };
        let Some(source) = source else { return self.add(place, target) };
        let relation = source.relation(&target);
        if source.kind() != target.kind()
            || (relation == Relation::Unrelated && !self.request.ignore_ancestry)
        {
            self.editor.delete_entry(place.path, None, place.parent)?;
            return self.add(place, target);
        }
        if self.absent(place, &target)? {
            return Ok(None);
        }
        let base = self.request.source.revision().or_else(|| source.created_rev());
        match target.kind() {
            NodeKind::Dir => {
                let handle = self.editor.open_directory(place.path, place.parent, base)?;
                let path = place.path.to_owned();
                self.level(handle, path, Some(source), target, demoted(place.depth)).map(Some)
            }
            NodeKind::File => {
                let file = self.editor.open_file(place.path, place.parent, base)?;
                self.file(file, Some(&source), &target)?;
                Ok(None)
            }
        }
    }

    fn add(&mut self, place: EditPosition<'_>, target: Node) -> Result<Option<Level>> {
        if self.absent(place, &target)? {
            return Ok(None);
        }
        match target.kind() {
            NodeKind::Dir => {
                let handle = self.editor.add_directory(place.path, place.parent, None)?;
                let path = place.path.to_owned();
                self.level(handle, path, None, target, demoted(place.depth)).map(Some)
            }
            NodeKind::File => {
                let file = self.editor.add_file(place.path, place.parent, None)?;
                self.file(file, None, &target)?;
                Ok(None)
            }
        }
    }

    /// Reports an entry that the user may not read.
    fn absent(&mut self, place: EditPosition<'_>, target: &Node) -> Result<bool> {
        if self.authorizer.readable(target.path())? {
            return Ok(false);
        }
        match target.kind() {
            NodeKind::Dir => self.editor.absent_directory(place.path, place.parent)?,
            NodeKind::File => self.editor.absent_file(place.path, place.parent)?,
        }
        Ok(true)
    }

    fn props(&mut self, open: Open, source: Option<&Node>, target: &Node) -> Result<()> {
        if self.request.entry_props
            && let Some(created) = target.created_rev()
        {
            let date_author = self.revprops.date_author(created)?;
            let had_source = source.is_some();
            send_entry_props(self.editor, open, created, &date_author, &self.uuid, had_source)?;
        }
        send_node_props(self.editor, open, source, target)
    }

    fn file(&mut self, file: Handle, source: Option<&Node>, target: &Node) -> Result<()> {
        self.props(Open::File(file), source, target)?;
        let changed = match source {
            Some(source) => target.contents_differ(source)?,
            None => true,
        };
        if changed {
            let base = match source {
                Some(source) => Some(source.md5()?),
                None => None,
            };
            if self.request.text_deltas {
                let mut delta = target.delta_from(source)?;
                self.editor.apply_textdelta(file, base, &mut delta)?;
            } else {
                self.editor.apply_textdelta(file, base, &mut NoDelta)?;
            }
        }
        Ok(self.editor.close_file(file, Some(target.md5()?))?)
    }

    /// Deletes entries that only the source has.
    fn deletions(&mut self, level: &Level) -> Result<()> {
        let Some(source) = &level.source_entries else { return Ok(()) };
        let gone = |entry: &DirEntry<'_>| {
            reaches(level.depth, entry.kind) && level.target_entries.find(entry.name).is_none()
        };
        if !source.iter().any(|entry| gone(&entry)) {
            return Ok(());
        }
        let order = hashorder::order(source.iter().map(|entry| entry.name));
        let walk = order.into_iter().filter_map(|at| source.get(usize::try_from(at).ok()?));
        for entry in walk.filter(gone) {
            let path = level.path.child(entry.name);
            self.editor.delete_entry(&path, None, level.handle)?;
        }
        Ok(())
    }
}

fn reaches(depth: Depth, kind: NodeKind) -> bool {
    kind == NodeKind::File || matches!(depth, Depth::Infinity | Depth::Immediates)
}

const fn demoted(depth: Depth) -> Depth {
    match depth {
        Depth::Immediates | Depth::Files => Depth::Empty,
        other => other,
    }
}
