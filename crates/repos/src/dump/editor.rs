//! The editor that writes a node record for every change it is told of.
//!
//! It only learns from the editor calls *what* changed; properties and texts it reads from the
//! revision itself, so the driver need not send any.

use std::collections::BTreeSet;
use std::io::Write;

use sapwood_core::{
    ErrorCode, Md5, NodeKind, Revnum, SvnError, SvnResult, hashdump, path, props::names, rawname,
};
use sapwood_delta::{Editor, Handle, TextDelta};
use sapwood_fsfs::{Node, Root};

use super::record::{header_line, header_value, write_error};
use super::tracker::Tracker;
use super::{Notice, WarningKind};
use crate::dumpstream::header;
use crate::error::Result;

mod check;
mod text;

/// What happens to a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    /// Its properties or text change.
    Change,
    /// It is new.
    Add,
    /// It goes away.
    Delete,
    /// It goes away and another one comes.
    Replace,
}

/// How to write.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    /// Properties and texts as deltas.
    pub(crate) deltas: bool,
    /// The first revision of the stream.
    pub(crate) oldest: Revnum,
    /// Whether somebody listens to warnings.
    pub(crate) notices: bool,
    /// Check that every change is possible; the output is thrown away.
    pub(crate) verify: bool,
    /// Look for names that differ only in the representation of characters.
    pub(crate) check_normalization: bool,
}

/// What was found that the stream's reader should know at the end.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Found {
    pub(crate) old_reference: bool,
    pub(crate) old_mergeinfo: bool,
}

impl Found {
    pub(super) fn merge(&mut self, other: Self) {
        self.old_reference |= other.old_reference;
        self.old_mergeinfo |= other.old_mergeinfo;
    }
}

/// A directory that is open in the edit.
struct Dir {
    path: String,
    written: bool,
    /// What to compare with instead of the same path in the revision before.
    compare: Option<(String, Revnum)>,
    deleted: BTreeSet<String>,
    new_names: bool,
}

/// Writes node records.
pub(crate) struct NodeDumper<'a> {
    root: Root,
    revision: Revnum,
    /// The tree of another revision that was looked into last; mostly the one before.
    other: Option<Root>,
    settings: Settings,
    out: &'a mut dyn Write,
    notify: &'a mut dyn FnMut(Notice),
    found: Found,
    tracker: Option<Tracker>,
    dirs: Vec<Dir>,
    /// Reused from record to record.
    head: Vec<u8>,
    block: Vec<u8>,
}

const FILE: Handle = Handle(u64::MAX);

impl<'a> NodeDumper<'a> {
    pub(crate) fn new(
        root: Root,
        revision: Revnum,
        settings: Settings,
        out: &'a mut dyn Write,
        notify: &'a mut dyn FnMut(Notice),
    ) -> Self {
        Self {
            root,
            revision,
            other: None,
            settings,
            out,
            notify,
            found: Found::default(),
            tracker: settings.verify.then(|| Tracker::new(revision)),
            dirs: Vec::new(),
            head: Vec::new(),
            block: Vec::new(),
        }
    }

    pub(super) fn found(&self) -> Found {
        self.found
    }

    fn warn(&mut self, kind: WarningKind, text: String) {
        if self.settings.notices {
            (self.notify)(Notice::Warning(kind, text));
        }
    }

    /// The tree of any revision.
    fn root_of(&mut self, revision: Revnum) -> Result<&Root> {
        if self.root.revision() == Some(revision) {
            return Ok(&self.root);
        }
        if self.other.as_ref().and_then(Root::revision) != Some(revision) {
            self.other = None;
        }
        Ok(match &mut self.other {
            Some(root) => root,
            none => none.insert(self.root.fs().revision_root(revision)?),
        })
    }

    fn revision_node(&mut self, revision: Revnum, relpath: &str) -> Result<Node> {
        Ok(self.root_of(revision)?.node(&fspath(relpath))?)
    }

    /// The node before a file that changed in this revision, by its history: that spares a walk
    /// through the tree before, most of whose directories nobody else needs. `None` where the
    /// history does not say that this is what was at `old_path`; and when verifying, which trusts
    /// nothing.
    fn before(&self, now: &Node, old_path: &str) -> Option<Node> {
        let in_place = now.kind() == NodeKind::File
            && now.created_rev() == Some(self.revision)
            && now.copied_from().is_none();
        if self.settings.verify || !in_place {
            return None;
        }
        // On one line of history (node and copy) there is one node-revision at a time.
        now.predecessor().ok().flatten().filter(|before| {
            before.kind() == NodeKind::File
                && before.id().same_line(&now.id())
                && path::to_relpath(before.created_path()) == old_path
        })
    }

    /// Writes the record of one node. `copy_from` is where it was copied from; `compare` what to
    /// compare with, when that is not the same path in the revision before. Paths are relpaths;
    /// `kind` is `None` for deletions, whose record does not say it.
    pub(crate) fn dump(
        &mut self,
        path: &str,
        kind: Option<NodeKind>,
        action: Action,
        copy_from: Option<(&str, Revnum)>,
        compare: Option<(&str, Revnum)>,
    ) -> Result<()> {
        if self.settings.verify || self.settings.notices {
            self.check_path(path)?;
        }
        self.head.clear();
        self.head_node(path, kind);
        let mut old: Option<Node> = None;
        let mut new: Option<Node> = None;
        let (mut with_props, mut with_text) = (false, false);
        let is_file = kind == Some(NodeKind::File);
        match action {
            Action::Change => {
                self.expect_there(path, self.revision, kind, "Change invalid path")?;
                header_line(&mut self.head, header::NODE_ACTION, b"change");
                let before = self.revision.prev().unwrap_or_default();
                let (old_path, old_rev) = compare.unwrap_or((path, before));
                let now = self.root.node(&fspath(path))?;
                let before = match self.before(&now, old_path) {
                    Some(before) => before,
                    None => self.revision_node(old_rev, old_path)?,
                };
                with_props = !now.same_props_rep(&before);
                with_text = is_file && text_changed(&before, &now)?;
                old = Some(before);
                new = Some(now);
            }
            Action::Delete => {
                self.expect_there(path, self.revision, kind, "Deleting invalid path")?;
                if let Some(tracker) = &mut self.tracker {
                    tracker.delete(path);
                }
                header_line(&mut self.head, header::NODE_ACTION, b"delete");
            }
            Action::Replace if copy_from.is_none() => {
                self.expect_there(path, self.revision, None, "Replacing non-existent path")?;
                if let Some(tracker) = &mut self.tracker {
                    tracker.add(path);
                }
                header_line(&mut self.head, header::NODE_ACTION, b"replace");
                with_text = is_file;
                with_props = true;
            }
            Action::Replace | Action::Add => {
                if action == Action::Replace {
                    self.expect_there(path, self.revision, None, "Replacing non-existent path")?;
                    if let Some(tracker) = &mut self.tracker {
                        tracker.delete(path);
                    }
                    // A replacement with history is a deletion, with a single empty line after
                    // its headers, and an addition.
                    self.head.clear();
                    self.head_node(path, None);
                    header_line(&mut self.head, header::NODE_ACTION, b"delete");
                    self.head.push(b'\n');
                    self.head_node(path, kind);
                }
                self.expect_not_there(path)?;
                header_line(&mut self.head, header::NODE_ACTION, b"add");
                match copy_from {
                    None => {
                        if let Some(tracker) = &mut self.tracker {
                            tracker.add(path);
                        }
                        with_text = is_file;
                        with_props = true;
                    }
                    Some((source, source_rev)) => {
                        let source = path::canonical_relpath(source);
                        let before = self.copied(path, kind, &source, source_rev)?;
                        let now = self.root.node(&fspath(path))?;
                        with_props = !now.same_props_rep(&before);
                        if is_file {
                            with_text = text_changed(&before, &now)?;
                            self.head_sums(
                                &before,
                                header::COPY_SOURCE_MD5,
                                header::COPY_SOURCE_SHA1,
                            )?;
                        }
                        old = Some(before);
                        new = Some(now);
                    }
                }
            }
        }
        if !with_text && !with_props {
            self.head.extend_from_slice(b"\n\n");
            return self.flush_head();
        }
        let new = match new {
            Some(node) => node,
            None => self.root.node(&fspath(path))?,
        };
        if with_props {
            self.prop_block(path, &new, old.as_ref())?;
        }
        self.content(&new, old.as_ref(), with_props, with_text)
    }

    fn head_node(&mut self, path: &str, kind: Option<NodeKind>) {
        header_line(&mut self.head, header::NODE_PATH, &rawname::to_bytes(path));
        match kind {
            Some(NodeKind::File) => header_line(&mut self.head, header::NODE_KIND, b"file"),
            Some(NodeKind::Dir) => header_line(&mut self.head, header::NODE_KIND, b"dir"),
            None => {}
        }
    }

    fn flush_head(&mut self) -> Result<()> {
        self.out.write_all(&self.head).map_err(write_error)?;
        Ok(())
    }

    /// The source of a copy, after its headers and checks.
    fn copied(
        &mut self,
        path: &str,
        kind: Option<NodeKind>,
        source: &str,
        source_rev: Revnum,
    ) -> Result<Node> {
        if self.tracker.is_some() {
            self.must_exist(source, source_rev, kind).map_err(|e| {
                let text = format!("Copying from invalid path to '{path}' in r{}", self.revision);
                e.context(text)
            })?;
            if let Some(tracker) = &mut self.tracker {
                tracker.copy(path, source, source_rev);
            }
        }
        if !self.settings.verify && source_rev < self.settings.oldest && self.settings.notices {
            let text = format!(
                "Referencing data in revision {source_rev}, which is older than the oldest dumped \
                 revision (r{}).  Loading this dump into an empty repository will fail.",
                self.settings.oldest
            );
            self.warn(WarningKind::OldReference, text);
            self.found.old_reference = true;
        }
        header_value(&mut self.head, header::COPYFROM_REV, source_rev);
        header_line(&mut self.head, header::COPYFROM_PATH, &rawname::to_bytes(source));
        self.revision_node(source_rev, source)
    }

    /// Checksum headers, as far as the checksums are recorded.
    fn head_sums(&mut self, node: &Node, md5: &str, sha1: &str) -> Result<()> {
        if let Some(sum) = node.recorded_md5()?.filter(|sum| sum.0 != [0; 16]) {
            header_value(&mut self.head, md5, sum);
        }
        if let Some(sum) = node.sha1()?.filter(|sum| sum.0 != [0; 20]) {
            header_value(&mut self.head, sha1, sum);
        }
        Ok(())
    }

    /// Makes the property block, with its header when it is a delta.
    fn prop_block(&mut self, path: &str, new: &Node, old: Option<&Node>) -> Result<()> {
        let props = new.props()?;
        if let Some(mergeinfo) = props.get(names::MERGEINFO) {
            if !self.settings.verify && self.settings.notices && self.settings.oldest > Revnum(1) {
                self.check_old_mergeinfo(mergeinfo);
            }
            if self.settings.verify && self.settings.check_normalization && self.settings.notices {
                let old_props = old.map(Node::props).transpose()?;
                let old_value = old_props.as_ref().and_then(|p| p.get(names::MERGEINFO));
                self.check_mergeinfo_normalization(path, mergeinfo, old_value)?;
            }
        }
        self.block.clear();
        match old.filter(|_| self.settings.deltas) {
            Some(old) => {
                header_line(&mut self.head, header::PROP_DELTA, b"true");
                hashdump::write_incremental(
                    &mut self.block,
                    &*old.props()?,
                    &props,
                    Some(hashdump::PROPS_END),
                );
            }
            None => hashdump::write(&mut self.block, &props, Some(hashdump::PROPS_END)),
        }
        Ok(())
    }
}

/// The fspath of a relpath.
fn fspath(relpath: &str) -> String {
    path::join("/", relpath)
}

/// Whether a file's text counts as changed, by representation.
fn text_changed(old: &Node, new: &Node) -> Result<bool> {
    for node in [old, new] {
        if node.kind() != NodeKind::File {
            return Err(SvnError::new(
                ErrorCode::FS_NOT_FILE,
                format!("'{}' is not a file", path::to_relpath(node.path())),
            )
            .into());
        }
    }
    Ok(!new.same_contents_rep(old))
}

impl NodeDumper<'_> {
    fn dir_mut(&mut self, handle: Handle) -> SvnResult<&mut Dir> {
        usize::try_from(handle.0)
            .ok()
            .and_then(|at| self.dirs.get_mut(at))
            .ok_or_else(|| SvnError::new(ErrorCode::ASSERTION_FAIL, "No such directory is open"))
    }

    fn push_dir(&mut self, dir: Dir) -> Handle {
        let handle = Handle(u64::try_from(self.dirs.len()).unwrap_or(u64::MAX));
        self.dirs.push(dir);
        handle
    }

    /// What a child of `parent` compares with.
    fn child_compare(&mut self, parent: Handle, path: &str) -> SvnResult<Option<(String, Revnum)>> {
        let parent = self.dir_mut(parent)?;
        Ok(parent
            .compare
            .as_ref()
            .map(|(source, rev)| (path::join(source, path::basename(path)), *rev)))
    }

    fn add(
        &mut self,
        path: &str,
        kind: NodeKind,
        parent: Handle,
        copy_from: Option<(&str, Revnum)>,
    ) -> SvnResult<()> {
        let replaces = self.dir_mut(parent)?.deleted.remove(path);
        let action = if replaces { Action::Replace } else { Action::Add };
        self.dump(path, Some(kind), action, copy_from, None).map_err(SvnError::from)?;
        if !replaces && self.settings.check_normalization {
            self.dir_mut(parent)?.new_names = true;
        }
        Ok(())
    }
}

impl Editor for NodeDumper<'_> {
    sapwood_delta::ignore_absent!();
    sapwood_delta::nothing_to_abort!();

    fn open_root(&mut self, _base: Option<Revnum>) -> SvnResult<Handle> {
        Ok(self.push_dir(Dir {
            path: String::new(),
            written: false,
            compare: None,
            deleted: BTreeSet::new(),
            new_names: false,
        }))
    }

    fn delete_entry(
        &mut self,
        path: &str,
        _revision: Option<Revnum>,
        parent: Handle,
    ) -> SvnResult<()> {
        self.dir_mut(parent)?.deleted.insert(path.to_owned());
        Ok(())
    }

    fn add_directory(
        &mut self,
        path: &str,
        parent: Handle,
        copy_from: Option<(&str, Revnum)>,
    ) -> SvnResult<Handle> {
        self.add(path, NodeKind::Dir, parent, copy_from)?;
        Ok(self.push_dir(Dir {
            path: path.to_owned(),
            written: true,
            compare: copy_from
                .map(|(source, rev)| (path::canonical_relpath(source).into_owned(), rev)),
            deleted: BTreeSet::new(),
            new_names: false,
        }))
    }

    fn open_directory(
        &mut self,
        path: &str,
        parent: Handle,
        _base: Option<Revnum>,
    ) -> SvnResult<Handle> {
        let compare = self.child_compare(parent, path)?;
        Ok(self.push_dir(Dir {
            path: path.to_owned(),
            written: false,
            compare,
            deleted: BTreeSet::new(),
            new_names: false,
        }))
    }

    fn change_dir_prop(
        &mut self,
        dir: Handle,
        _name: &str,
        _value: Option<&[u8]>,
    ) -> SvnResult<()> {
        let dir = self.dir_mut(dir)?;
        if dir.written {
            return Ok(());
        }
        dir.written = true;
        let path = dir.path.clone();
        let compare = dir.compare.clone();
        let compare = compare.as_ref().map(|(path, rev)| (path.as_str(), *rev));
        self.dump(&path, Some(NodeKind::Dir), Action::Change, None, compare).map_err(SvnError::from)
    }

    fn close_directory(&mut self, handle: Handle) -> SvnResult<()> {
        if self.settings.verify {
            let dir = self.dir_mut(handle)?;
            let (path, new_names) = (dir.path.clone(), dir.new_names);
            self.check_entries(&path, new_names).map_err(SvnError::from)?;
        }
        let deleted = std::mem::take(&mut self.dir_mut(handle)?.deleted);
        for path in deleted {
            self.dump(&path, None, Action::Delete, None, None).map_err(SvnError::from)?;
        }
        // Directories close in the order in which they opened, the last one first.
        if let Ok(at) = usize::try_from(handle.0) {
            self.dirs.truncate(at);
        }
        Ok(())
    }

    fn add_file(
        &mut self,
        path: &str,
        parent: Handle,
        copy_from: Option<(&str, Revnum)>,
    ) -> SvnResult<Handle> {
        self.add(path, NodeKind::File, parent, copy_from)?;
        Ok(FILE)
    }

    fn open_file(
        &mut self,
        path: &str,
        parent: Handle,
        _base: Option<Revnum>,
    ) -> SvnResult<Handle> {
        let compare = self.child_compare(parent, path)?;
        let compare = compare.as_ref().map(|(path, rev)| (path.as_str(), *rev));
        self.dump(path, Some(NodeKind::File), Action::Change, None, compare)
            .map_err(SvnError::from)?;
        Ok(FILE)
    }

    fn apply_textdelta(
        &mut self,
        _file: Handle,
        _base: Option<Md5>,
        _delta: &mut dyn TextDelta,
    ) -> SvnResult<()> {
        Ok(())
    }

    fn change_file_prop(
        &mut self,
        _file: Handle,
        _name: &str,
        _value: Option<&[u8]>,
    ) -> SvnResult<()> {
        Ok(())
    }

    fn close_file(&mut self, _file: Handle, _text: Option<Md5>) -> SvnResult<()> {
        Ok(())
    }

    fn close_edit(&mut self) -> SvnResult<()> {
        Ok(())
    }
}
