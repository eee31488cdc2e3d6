//! The reply to an update report: an edit as a tree of elements.
//!
//! Invariant: each node that is opened was announced once before, so that its address is known; only the root may lack one.

use sapwood_core::exact::{Exact, clamped, len64};
use sapwood_core::path::basename;
use sapwood_core::{ErrorCode, Md5, NodeKind, Revnum, Sha1, SvnError, SvnResult, uri};
use sapwood_delta::{EditStep, EditTarget, Handle, StepEditor, TextDelta, Version};

use super::super::{Sink, replay, reply};
use crate::xml::{HEADER, Xml as _};

/// How a reply is written.
#[derive(Clone, Debug)]
pub struct Style {
    /// Whether texts are in it.
    pub send_all: bool,
    /// Whether properties of additions are in it.
    pub include_props: bool,
    /// The newest svndiff that the client reads.
    pub svndiff: Version,
    /// How hard to compress, 0 to 9.
    pub compression: u8,
    /// Whether addresses are those of HTTPv2.
    pub v2: bool,
    /// The percent-encoded path of the repository's URL, without a slash at its end.
    pub root: String,
    /// The special name.
    pub special: String,
}

/// An open directory or file.
#[derive(Clone, Debug, Default)]
struct Open {
    added: bool,
    copied: bool,
    removed: Vec<String>,
    base: Option<Md5>,
    text_changed: bool,
    sha1: Option<Sha1>,
}

/// What the driver has announced of the node that comes next.
#[derive(Debug)]
struct NodeAttributes {
    /// Its path, percent-encoded; empty for the root.
    path: String,
    revision: Revnum,
    sha1: Option<Sha1>,
    /// Whether the node has been opened: then this is not used again.
    is_used: bool,
}

/// The parts that are the same for all nodes: the XML before an address, and the address up to the revision.
struct Begins {
    /// Of a version.
    checked_in: String,
    /// Of a directory's place in a revision.
    directory: String,
}

impl Begins {
    fn of(style: &Style) -> Self {
        let begin = |before: &str, kind: &str| {
            let mut out = before.as_bytes().to_vec();
            out.attribute_text(&style.root);
            out.raw("/");
            out.attribute_text(&style.special);
            out.raw(kind);
            String::from_utf8_lossy(&out).into_owned()
        };
        let kind = if style.v2 { "/rvr/" } else { "/ver/" };
        Self {
            checked_in: begin("<D:checked-in><D:href>", kind),
            directory: begin(" bc-url=\"", "/bc/"),
        }
    }
}

/// Writes an edit as an `update-report`.
pub struct UpdateEditor<S> {
    sink: S,
    style: Style,
    begins: Begins,
    next_node: NodeAttributes,
    open: Vec<Open>,
    started: bool,
}

impl<S> std::fmt::Debug for UpdateEditor<S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("UpdateEditor").field("style", &self.style).finish_non_exhaustive()
    }
}

impl<S: Sink> UpdateEditor<S> {
    /// An editor that has written nothing.
    pub fn new(sink: S, style: Style) -> Self {
        let next_node = NodeAttributes {
            path: String::new(),
            revision: Revnum::ZERO,
            sha1: None,
            is_used: true,
        };
        let begins = Begins::of(&style);
        Self { sink, style, begins, next_node, open: Vec::new(), started: false }
    }

    fn out(&mut self) -> SvnResult<&mut Vec<u8>> {
        self.sink.flush_if_large()?;
        let out = self.sink.buffer();
        if !self.started {
            self.started = true;
            out.raw(HEADER);
            out.raw("<S:update-report xmlns:S=\"svn:\" xmlns:V=\"");
            out.raw(crate::NS_SVN_DAV);
            out.raw("\" xmlns:D=\"DAV:\"");
            if self.style.send_all {
                out.raw(" send-all=\"true\"");
            }
            if self.style.include_props {
                out.raw(" inline-props=\"true\"");
            }
            out.raw(">\n");
        }
        Ok(out)
    }

    fn find(&mut self, handle: Handle) -> SvnResult<&mut Open> {
        let at = clamped(handle.0);
        self.open.get_mut(at).ok_or_else(out_of_order)
    }

    /// Opens the announced node below `parent`.
    fn child(&mut self, parent: Handle, added: bool, copied: bool) -> SvnResult<Handle> {
        if std::mem::replace(&mut self.next_node.is_used, true) {
            return Err(out_of_order());
        }
        // Siblings that are still open would be an error of the driver.
        let level = clamped(parent.0).plus(1);
        self.open.truncate(level);
        self.find(parent)?;
        Ok(self.push(Open { added, copied, sha1: self.next_node.sha1, ..Open::default() }))
    }

    fn push(&mut self, open: Open) -> Handle {
        self.open.push(open);
        Handle(len64(self.open.len().minus(1)))
    }

    /// Writes `before` and the rest of the address of the announced node: as
    /// `Resource::path` makes it, without texts in between, since there is one of each node.
    fn address(sink: &mut S, next_node: &NodeAttributes, before: &str) {
        let out = sink.buffer();
        out.raw(before);
        out.number(next_node.revision.0);
        out.attribute_text(&next_node.path);
    }

    /// Writes the address of a node's version.
    fn checked_in(&mut self) {
        Self::address(&mut self.sink, &self.next_node, &self.begins.checked_in);
        self.sink.buffer().raw("</D:href></D:checked-in>\n");
    }

    fn add(
        &mut self,
        kind: NodeKind,
        path: &str,
        parent: Handle,
        copy_from: Option<(&str, Revnum)>,
    ) -> SvnResult<Handle> {
        let is_dir = kind == NodeKind::Dir;
        let child = self.child(parent, true, copy_from.is_some())?;
        let sha1 = self.next_node.sha1;
        let out = self.out()?;
        out.raw(if is_dir { "<S:add-directory" } else { "<S:add-file" });
        out.attribute("name", basename(path));
        if is_dir {
            Self::address(&mut self.sink, &self.next_node, &self.begins.directory);
            self.sink.buffer().raw("\"");
        } else if let Some(sha1) = sha1 {
            out.raw(" sha1-checksum=\"");
            out.extend_from_slice(sha1.hex_digits().as_flattened());
            out.raw("\"");
        }
        let out = self.sink.buffer();
        if let Some((from, revision)) = copy_from {
            out.attribute("copyfrom-path", from);
            out.raw(" copyfrom-rev=\"");
            out.number(revision.0);
            out.raw("\"");
        }
        out.raw(">\n");
        self.checked_in();
        Ok(child)
    }

    fn reopen(
        &mut self,
        kind: NodeKind,
        path: &str,
        parent: Handle,
        base: Option<Revnum>,
    ) -> SvnResult<Handle> {
        let child = self.child(parent, false, false)?;
        let out = self.out()?;
        out.raw(match kind {
            NodeKind::Dir => "<S:open-directory",
            NodeKind::File => "<S:open-file",
        });
        out.attribute("name", basename(path));
        replay::revision(out, base);
        out.raw(">\n");
        self.checked_in();
        Ok(child)
    }

    fn prop(&mut self, node: Handle, name: &str, value: Option<&[u8]>) -> SvnResult<()> {
        let (send_all, include_props) = (self.style.send_all, self.style.include_props);
        let open = self.find(node)?;
        let sends = if send_all || !open.added {
            true
        } else {
            // Clients fetch all properties of an addition themselves, unless they asked for them
            // here; removed properties of a copy must be sent.
            if open.copied && value.is_none() {
                open.removed.push(name.to_owned());
            }
            value.is_some() && include_props
        };
        if sends {
            reply::prop(self.out()?, "S:set-prop", name, value);
        }
        Ok(())
    }

    fn close(&mut self, kind: NodeKind, node: Handle) -> SvnResult<()> {
        let open = self.find(node)?;
        let (added, removed) = (open.added, std::mem::take(&mut open.removed));
        let at = clamped(node.0);
        self.open.truncate(at);
        let out = self.out()?;
        for name in removed {
            reply::prop(out, "S:set-prop", &name, None);
        }
        out.raw(match (added, kind) {
            (true, NodeKind::Dir) => "</S:add-directory>\n",
            (true, NodeKind::File) => "</S:add-file>\n",
            (false, NodeKind::Dir) => "</S:open-directory>\n",
            (false, NodeKind::File) => "</S:open-file>\n",
        });
        Ok(())
    }

    fn absent(&mut self, kind: NodeKind, path: &str) -> SvnResult<()> {
        let out = self.out()?;
        out.raw(match kind {
            NodeKind::Dir => "<S:absent-directory",
            NodeKind::File => "<S:absent-file",
        });
        out.attribute("name", basename(path));
        out.raw("/>\n");
        Ok(())
    }

    fn target_revision(&mut self, revision: Revnum) -> SvnResult<()> {
        let out = self.out()?;
        out.raw("<S:target-revision");
        replay::revision(out, Some(revision));
        out.raw("/>\n");
        Ok(())
    }

    fn open_root(&mut self, base: Option<Revnum>) -> SvnResult<Handle> {
        let out = self.out()?;
        out.raw("<S:open-directory");
        replay::revision(out, base);
        out.raw(">\n");
        self.open.clear();
        // Where one name below the root is meant, nothing is sent of the root.
        if !std::mem::replace(&mut self.next_node.is_used, true) {
            self.checked_in();
        }
        Ok(self.push(Open::default()))
    }

    fn delete(&mut self, path: &str, rev: Option<Revnum>) -> SvnResult<()> {
        let out = self.out()?;
        out.raw("<S:delete-entry");
        out.attribute("name", basename(path));
        replay::revision(out, rev);
        out.raw("/>\n");
        Ok(())
    }

    fn apply_textdelta(
        &mut self,
        file: Handle,
        base: Option<Md5>,
        delta: &mut dyn TextDelta,
    ) -> SvnResult<()> {
        let open = self.find(file)?;
        open.base = base;
        open.text_changed = true;
        if !self.style.send_all {
            return Ok(());
        }
        let (version, level) = (self.style.svndiff, self.style.compression);
        let out = self.out()?;
        out.raw("<S:txdelta");
        if let Some(base) = base {
            out.attribute("base-checksum", &base.to_hex());
        }
        out.raw(">");
        reply::text_delta(&mut self.sink, delta, version, level)?;
        self.sink.buffer().raw("</S:txdelta>");
        Ok(())
    }

    fn close_file(&mut self, file: Handle, text: Option<Md5>) -> SvnResult<()> {
        let send_all = self.style.send_all;
        let open = self.find(file)?;
        if !send_all && !open.added && open.text_changed {
            let (base, sha1) = (open.base, open.sha1);
            let out = self.out()?;
            out.raw("<S:fetch-file");
            if let Some(base) = base {
                out.attribute("base-checksum", &base.to_hex());
            }
            if let Some(sha1) = sha1 {
                out.attribute("sha1-checksum", &sha1.to_hex());
            }
            out.raw("/>\n");
        }
        if let Some(text) = text {
            let out = self.out()?;
            out.raw("<S:prop><V:md5-checksum>");
            out.extend_from_slice(text.hex_digits().as_flattened());
            out.raw("</V:md5-checksum></S:prop>\n");
        }
        self.close(NodeKind::File, file)
    }
}

fn out_of_order() -> SvnError {
    SvnError::new(ErrorCode::INCORRECT_PARAMS, "Editor commands out of order")
}

impl<S: Sink> StepEditor for UpdateEditor<S> {
    fn announced(&mut self, target: &EditTarget<'_>) {
        let next_node = &mut self.next_node;
        next_node.path.clear();
        if !target.path.is_root() {
            next_node.path.push_str(&uri::encode(target.path));
        }
        (next_node.revision, next_node.sha1, next_node.is_used) =
            (target.revision, target.sha1, false);
    }

    fn step(&mut self, step: EditStep<'_>) -> SvnResult<Handle> {
        match step {
            EditStep::TargetRevision(revision) => self.target_revision(revision)?,
            EditStep::OpenRoot(base) => return self.open_root(base),
            EditStep::Add { kind, path, parent, copy_from } => {
                return self.add(kind, path, parent, copy_from);
            }
            EditStep::Open { kind, path, parent, base } => {
                return self.reopen(kind, path, parent, base);
            }
            EditStep::Delete { path, revision, .. } => self.delete(path, revision)?,
            EditStep::Absent { kind, path, .. } => self.absent(kind, path)?,
            EditStep::Prop { node, name, value, .. } => self.prop(node, name, value)?,
            EditStep::Text { file, base, delta } => self.apply_textdelta(file, base, delta)?,
            EditStep::CloseDirectory(dir) => self.close(NodeKind::Dir, dir)?,
            EditStep::CloseFile { file, text } => self.close_file(file, text)?,
            EditStep::CloseEdit => self.out()?.raw("</S:update-report>\n"),
            EditStep::AbortEdit => {}
        }
        Ok(Handle::NONE)
    }
}
