//! The editor that writes a record for every change that it receives.
//!
//! A directory's record waits until it is known whether properties come with it, and deletions
//! until it is known that nothing takes the node's place. Texts are collected (beyond a limit in
//! a nameless file), since their length stands before them.

use std::collections::{BTreeSet, HashMap};
use std::io::{Read as _, Seek as _, Write};

use sapwood_core::exact::{Cut, Exact};
use sapwood_core::paths::{RelPath, RelPathBuf};
use sapwood_core::props::names;
use sapwood_core::{Md5, NodeKind, Revnum, SvnError, SvnResult, path as paths};
use sapwood_delta::svndiff::Encoder;
use sapwood_delta::{EditStep, Handle, StepEditor, TextDelta, Version};
use sapwood_repos::dumpstream::header;
use tempfile::SpooledTempFile;

use super::records::{Head, PropChanges, deletion};

/// Texts up to this length stay in memory, in bytes.
const IN_MEMORY: usize = 4 << 20;
/// How hard to compress; svndiff 0 does not compress at all.
const COMPRESSION: u8 = 5;

/// A directory that is open.
#[derive(Debug, Default)]
struct Dir {
    path: RelPathBuf,
    /// The headers that were not written yet.
    head: Head,
    props: PropChanges,
    deleted: BTreeSet<RelPathBuf>,
}

/// A file that is open.
#[derive(Debug)]
struct OpenFile {
    path: RelPathBuf,
    action: &'static str,
    copy_from: Option<(String, Revnum)>,
    props: PropChanges,
    base: Option<Md5>,
    text: Option<SpooledTempFile>,
}

impl OpenFile {
    fn of(path: RelPathBuf, action: &'static str) -> Self {
        let props = PropChanges::default();
        Self { path, action, copy_from: None, props, base: None, text: None }
    }
}

/// Writes records.
pub(super) struct DumpEditor<'o> {
    out: &'o mut dyn Write,
    /// Where the edit is anchored, when it is an update: its parents have to be made first.
    anchor: Option<String>,
    dirs: HashMap<u64, Dir>,
    files: HashMap<u64, OpenFile>,
    next: u64,
    /// The directory whose record waits.
    pending: Option<u64>,
}

fn regular(name: &str) -> bool {
    !name.starts_with(names::ENTRY_PREFIX) && !name.starts_with(names::WC_PREFIX)
}

fn relpath(path: &str) -> &str {
    path.trim_start_matches('/')
}

fn no_such() -> SvnError {
    SvnError::new(sapwood_core::ErrorCode::INCORRECT_PARAMS, "An edit that names what is not open")
}

impl<'o> DumpEditor<'o> {
    pub(super) fn new(out: &'o mut dyn Write, anchor: Option<String>) -> Self {
        Self { out, anchor, dirs: HashMap::new(), files: HashMap::new(), next: 0, pending: None }
    }

    fn write(&mut self, bytes: &[u8]) -> SvnResult<()> {
        self.out.write_all(bytes).map_err(SvnError::from_stream)
    }

    fn handle(&mut self) -> u64 {
        let handle = self.next;
        self.next = handle.plus(1);
        handle
    }

    fn dir(&mut self, handle: Handle) -> SvnResult<&mut Dir> {
        self.dirs.get_mut(&handle.0).ok_or_else(no_such)
    }

    fn file(&mut self, handle: Handle) -> SvnResult<&mut OpenFile> {
        self.files.get_mut(&handle.0).ok_or_else(no_such)
    }

    /// The path that a record names.
    fn record_path(&self, path: &str) -> String {
        match &self.anchor {
            Some(anchor) => paths::join(anchor, path),
            None => path.to_owned(),
        }
    }

    /// Writes the record that waits, if one does.
    fn flush_node(&mut self) -> SvnResult<()> {
        let Some(pending) = self.pending.take() else { return Ok(()) };
        let Some(dir) = self.dirs.get_mut(&pending) else { return Ok(()) };
        let mut head = std::mem::take(&mut dir.head);
        let props = dir.props.is_due().then(|| dir.props.block());
        if props.is_some() {
            head.line(header::PROP_DELTA, "true");
        }
        let record = head.finish(props.as_deref(), None);
        self.write(&record)?;
        self.write(b"\n\n")
    }

    /// The headers of a directory that is added or replaced.
    fn head(
        &mut self,
        path: &str,
        replaced: bool,
        copy_from: Option<(&str, Revnum)>,
        is_dir: bool,
    ) -> SvnResult<Head> {
        let action = match (replaced, copy_from) {
            (true, None) => "replace",
            (true, Some(_)) => {
                // A replacement with history is a deletion and an addition.
                let record = deletion(path);
                self.write(&record)?;
                "add"
            }
            (false, _) => "add",
        };
        Ok(Head::node(&self.record_path(path), is_dir, action, copy_from))
    }

    fn mkdir(&mut self, path: &str) -> SvnResult<()> {
        let mut head = Head::node(path, true, "add", None);
        head.line(header::PROP_DELTA, "true");
        let record = head.finish(Some(&PropChanges::default().block()), None);
        self.write(&record)?;
        self.write(b"\n\n")
    }

    fn open_root(&mut self) -> SvnResult<Handle> {
        let handle = self.handle();
        let mut dir = Dir::default();
        if let Some(anchor) = self.anchor.clone().filter(|anchor| !anchor.is_empty()) {
            let mut parents: Vec<&str> = Vec::new();
            let mut parent = paths::dirname(&anchor);
            while !parent.is_empty() {
                parents.push(parent);
                parent = paths::dirname(parent);
            }
            for parent in parents.into_iter().rev() {
                self.mkdir(parent)?;
            }
            dir.head = self.head("", false, None, true)?;
            dir.props.must_be_sent();
            self.pending = Some(handle);
        }
        self.dirs.insert(handle, dir);
        Ok(Handle(handle))
    }

    fn open(&mut self, kind: NodeKind, path: &RelPath) -> SvnResult<Handle> {
        self.flush_node()?;
        let path = path.to_owned();
        match kind {
            NodeKind::Dir => Ok(self.push_dir(Dir { path, ..Dir::default() })),
            NodeKind::File => Ok(self.push_file(OpenFile::of(path, "change"))),
        }
    }

    fn push_dir(&mut self, dir: Dir) -> Handle {
        let handle = self.handle();
        self.dirs.insert(handle, dir);
        Handle(handle)
    }

    fn push_file(&mut self, file: OpenFile) -> Handle {
        let handle = self.handle();
        self.files.insert(handle, file);
        Handle(handle)
    }

    fn add(
        &mut self,
        kind: NodeKind,
        path: &RelPath,
        parent: Handle,
        copy_from: Option<(&str, Revnum)>,
    ) -> SvnResult<Handle> {
        self.flush_node()?;
        let replaced = self.dir(parent)?.deleted.remove(path);
        let copy_from = copy_from.map(|(from, rev)| (relpath(from), rev));
        let mut props = PropChanges::default();
        if copy_from.is_none() {
            props.must_be_sent();
        }
        if kind == NodeKind::File {
            let copy_from = copy_from.map(|(from, rev)| (from.to_owned(), rev));
            let action = if replaced { "replace" } else { "add" };
            let file = OpenFile { copy_from, props, ..OpenFile::of(path.to_owned(), action) };
            return Ok(self.push_file(file));
        }
        let head = self.head(path, replaced, copy_from, true)?;
        let dir = Dir { path: path.to_owned(), head, props, ..Dir::default() };
        let handle = self.push_dir(dir);
        self.pending = Some(handle.0);
        Ok(handle)
    }

    fn change_dir_prop(&mut self, dir: Handle, name: &str, value: Option<&[u8]>) -> SvnResult<()> {
        if self.pending != Some(dir.0) {
            self.flush_node()?;
        }
        if regular(name) {
            self.dir(dir)?.props.take(name, value);
        }
        Ok(())
    }

    fn close_directory(&mut self, dir: Handle) -> SvnResult<()> {
        let was_pending = self.pending == Some(dir.0);
        self.flush_node()?;
        let Some(mut closed) = self.dirs.remove(&dir.0) else { return Err(no_such()) };
        if !was_pending && closed.props.is_due() {
            let mut head = Head::node(&self.record_path(&closed.path), true, "change", None);
            head.line(header::PROP_DELTA, "true");
            let record = head.finish(Some(&closed.props.block()), None);
            self.write(&record)?;
            self.write(b"\n\n")?;
        }
        for path in &closed.deleted {
            let record = deletion(path);
            self.write(&record)?;
            self.write(b"\n")?;
        }
        Ok(())
    }

    fn apply_textdelta(
        &mut self,
        file: Handle,
        base: Option<Md5>,
        delta: &mut dyn TextDelta,
    ) -> SvnResult<()> {
        let mut text = SpooledTempFile::new(IN_MEMORY);
        let mut encoder = Encoder::new(Version::V0, COMPRESSION);
        let mut bytes = Vec::new();
        let fail = |e: std::io::Error| SvnError::io(&e, "Can't write to a temporary file");
        while let Some(window) = delta.next_window()? {
            bytes.clear();
            encoder.encode(&window, &mut bytes);
            text.write_all(&bytes).map_err(fail)?;
        }
        bytes.clear();
        encoder.finish(&mut bytes);
        text.write_all(&bytes).map_err(fail)?;
        let open = self.file(file)?;
        open.base = base;
        open.text = Some(text);
        Ok(())
    }

    fn close_file(&mut self, file: Handle, sum: Option<Md5>) -> SvnResult<()> {
        self.flush_node()?;
        let Some(mut closed) = self.files.remove(&file.0) else { return Err(no_such()) };
        let mut head = if closed.action == "change" {
            Head::node(&self.record_path(&closed.path), false, "change", None)
        } else {
            let from = closed.copy_from.as_ref().map(|(path, rev)| (path.as_str(), *rev));
            self.head(&closed.path, closed.action == "replace", from, false)?
        };
        let props = closed.props.is_due().then(|| closed.props.block());
        if props.is_some() {
            head.line(header::PROP_DELTA, "true");
        }
        let fail = |e: std::io::Error| SvnError::io(&e, "Can't read a temporary file");
        let mut length = None;
        if let Some(text) = &mut closed.text {
            head.line(header::TEXT_DELTA, "true");
            if let Some(base) = closed.base {
                head.line(header::DELTA_BASE_MD5, &base.to_hex());
            }
            if let Some(sum) = sum {
                head.line(header::CONTENT_MD5, &sum.to_hex());
            }
            length = Some(text.stream_position().map_err(fail)?);
            text.rewind().map_err(fail)?;
        }
        let record = head.finish(props.as_deref(), length);
        self.write(&record)?;
        if let Some(mut text) = closed.text {
            let mut piece = vec![0; 64 << 10];
            loop {
                let got = text.read(&mut piece).map_err(fail)?;
                if got == 0 {
                    break;
                }
                self.write(piece.head(got))?;
            }
        }
        self.write(b"\n\n")
    }
}

impl StepEditor for DumpEditor<'_> {
    fn step(&mut self, step: EditStep<'_>) -> SvnResult<Handle> {
        match step {
            EditStep::OpenRoot(_) => return self.open_root(),
            EditStep::Add { kind, path, parent, copy_from } => {
                return self.add(kind, path, parent, copy_from);
            }
            EditStep::Open { kind, path, .. } => return self.open(kind, path),
            EditStep::Delete { path, parent, .. } => {
                self.flush_node()?;
                self.dir(parent)?.deleted.insert(path.to_owned());
            }
            EditStep::Prop { kind: NodeKind::Dir, node, name, value } => {
                self.change_dir_prop(node, name, value)?;
            }
            EditStep::Prop { kind: NodeKind::File, node, name, value } => {
                if regular(name) {
                    self.file(node)?.props.take(name, value);
                }
            }
            EditStep::Text { file, base, delta } => self.apply_textdelta(file, base, delta)?,
            EditStep::CloseDirectory(dir) => self.close_directory(dir)?,
            EditStep::CloseFile { file, text } => self.close_file(file, text)?,
            EditStep::TargetRevision(_)
            | EditStep::Absent { .. }
            | EditStep::CloseEdit
            | EditStep::AbortEdit => {}
        }
        Ok(Handle::NONE)
    }
}
