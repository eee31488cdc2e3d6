//! The editor that writes a node record for every change that it receives.
//!
//! It only learns from the editor calls *what* changed; properties and texts it reads from the
//! revision itself, so the driver need not send any.

use std::io::Write;

use sapwood_core::paths::FsPathBuf;
use sapwood_core::{
    CancelToken, ErrorCode, NodeKind, Revnum, SvnError, hashdump, path, props::names, rawname,
};
use sapwood_fs::{Node, Root, Roots};

use super::record::{header_line, header_value, write_error};
use super::tracker::Tracker;
use super::{Notice, WarningKind, check_cancelled};
use crate::dumpstream::header;
use crate::error::Result;

mod check;
mod edit;
mod text;

use edit::Dir;

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
    /// Whether the caller takes warnings.
    pub(crate) notices: bool,
    /// Check that every change is possible; the output is thrown away.
    pub(crate) verify: bool,
    /// Look for names that differ only in the representation of characters.
    pub(crate) check_normalization: bool,
}

/// What was found that the stream's reader should know at the end.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct DumpWarnings {
    pub(crate) old_reference: bool,
    pub(crate) old_mergeinfo: bool,
}

impl DumpWarnings {
    pub(super) fn merge(&mut self, other: Self) {
        self.old_reference |= other.old_reference;
        self.old_mergeinfo |= other.old_mergeinfo;
    }
}

/// What follows the headers of a node's record.
#[derive(Default)]
struct Body {
    /// The node as it is now, and what it is compared with, where they had to be found already.
    new: Option<Node>,
    old: Option<Node>,
    with_props: bool,
    with_text: bool,
}

impl Body {
    /// Everything that the node has.
    fn whole(kind: Option<NodeKind>) -> Self {
        let with_text = kind == Some(NodeKind::File);
        Self { with_props: true, with_text, ..Self::default() }
    }

    /// What is not as it was before.
    fn difference(kind: Option<NodeKind>, old: Node, new: Node) -> Result<Self> {
        let with_text = kind == Some(NodeKind::File) && text_changed(&old, &new)?;
        let with_props = !new.same_props_rep(&old);
        Ok(Self { new: Some(new), old: Some(old), with_props, with_text })
    }
}

/// Writes node records.
pub(crate) struct NodeDumper<'a> {
    root: Root,
    revision: Revnum,
    /// The trees of other revisions; mostly the one before.
    roots: Roots,
    settings: Settings,
    /// Looked at for each record, and within long ones.
    cancel: &'a CancelToken,
    out: &'a mut dyn Write,
    notify: &'a mut dyn FnMut(Notice),
    found: DumpWarnings,
    tracker: Option<Tracker>,
    dirs: Vec<Dir>,
    /// Reused from record to record.
    head: Vec<u8>,
    block: Vec<u8>,
}

impl<'a> NodeDumper<'a> {
    pub(crate) fn new(
        root: Root,
        revision: Revnum,
        settings: Settings,
        cancel: &'a CancelToken,
        out: &'a mut dyn Write,
        notify: &'a mut dyn FnMut(Notice),
    ) -> Self {
        Self {
            roots: Roots::new(root.fs()),
            root,
            revision,
            settings,
            cancel,
            out,
            notify,
            found: DumpWarnings::default(),
            tracker: settings.verify.then(|| Tracker::new(revision)),
            dirs: Vec::new(),
            head: Vec::new(),
            block: Vec::new(),
        }
    }

    pub(super) fn warnings(&self) -> DumpWarnings {
        self.found
    }

    fn warn(&mut self, kind: WarningKind, text: String) {
        if self.settings.notices {
            (self.notify)(Notice::Warning(kind, text));
        }
    }

    /// The tree of any revision.
    fn root_of(&mut self, revision: Revnum) -> Result<Root> {
        if self.root.revision() == Some(revision) {
            return Ok(self.root.clone());
        }
        Ok(self.roots.get(revision)?)
    }

    fn revision_node(&mut self, revision: Revnum, relpath: &str) -> Result<Node> {
        Ok(self.root_of(revision)?.node(&fspath(relpath))?)
    }

    /// The node before a file that changed in this revision, by its history: that spares a walk
    /// through the tree before, most of whose directories nothing else needs. `None` where the
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
                && before.same_line(now)
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
        check_cancelled(self.cancel)?;
        if self.settings.verify || self.settings.notices {
            self.check_path(path)?;
        }
        self.head.clear();
        self.head_node(path, kind);
        let body = match (action, copy_from) {
            (Action::Change, _) => self.changed(path, kind, compare)?,
            (Action::Delete, _) => {
                self.expect_there(path, self.revision, kind, "Deleting invalid path")?;
                self.track(|tracker| tracker.delete(path));
                header_line(&mut self.head, header::NODE_ACTION, b"delete");
                Body::default()
            }
            (Action::Replace, None) => {
                self.expect_there(path, self.revision, None, "Replacing non-existent path")?;
                self.track(|tracker| tracker.add(path));
                header_line(&mut self.head, header::NODE_ACTION, b"replace");
                Body::whole(kind)
            }
            (Action::Replace, Some(_)) => {
                self.expect_there(path, self.revision, None, "Replacing non-existent path")?;
                self.track(|tracker| tracker.delete(path));
                // A replacement with history is a deletion, with a single empty line after its
                // headers, and an addition.
                self.head.clear();
                self.head_node(path, None);
                header_line(&mut self.head, header::NODE_ACTION, b"delete");
                self.head.push(b'\n');
                self.head_node(path, kind);
                self.added(path, kind, copy_from)?
            }
            (Action::Add, _) => self.added(path, kind, copy_from)?,
        };
        if !body.with_text && !body.with_props {
            self.head.extend_from_slice(b"\n\n");
            return self.flush_head();
        }
        let new = match body.new {
            Some(node) => node,
            None => self.root.node(&fspath(path))?,
        };
        if body.with_props {
            self.prop_block(path, &new, body.old.as_ref())?;
        }
        self.content(&new, body.old.as_ref(), body.with_props, body.with_text)
    }

    /// The headers of a changed node, and what follows them.
    fn changed(
        &mut self,
        path: &str,
        kind: Option<NodeKind>,
        compare: Option<(&str, Revnum)>,
    ) -> Result<Body> {
        self.expect_there(path, self.revision, kind, "Change invalid path")?;
        header_line(&mut self.head, header::NODE_ACTION, b"change");
        let before = self.revision.prev().unwrap_or(Revnum::ZERO);
        let (old_path, old_rev) = compare.unwrap_or((path, before));
        let now = self.root.node(&fspath(path))?;
        let before = match self.before(&now, old_path) {
            Some(before) => before,
            None => self.revision_node(old_rev, old_path)?,
        };
        Body::difference(kind, before, now)
    }

    /// The same of a new node.
    fn added(
        &mut self,
        path: &str,
        kind: Option<NodeKind>,
        copy_from: Option<(&str, Revnum)>,
    ) -> Result<Body> {
        self.expect_not_there(path)?;
        header_line(&mut self.head, header::NODE_ACTION, b"add");
        let Some((source, source_rev)) = copy_from else {
            self.track(|tracker| tracker.add(path));
            return Ok(Body::whole(kind));
        };
        let source = path::canonical_relpath(source);
        let before = self.copied(path, kind, &source, source_rev)?;
        if kind == Some(NodeKind::File) {
            self.head_sums(&before, header::COPY_SOURCE_MD5, header::COPY_SOURCE_SHA1)?;
        }
        Body::difference(kind, before, self.root.node(&fspath(path))?)
    }

    /// Lets the tracker know, if there is one.
    fn track(&mut self, what: impl FnOnce(&mut Tracker)) {
        if let Some(tracker) = &mut self.tracker {
            what(tracker);
        }
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
            self.track(|tracker| tracker.copy(path, source, source_rev));
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
fn fspath(relpath: &str) -> FsPathBuf {
    FsPathBuf::canonicalize(relpath)
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
