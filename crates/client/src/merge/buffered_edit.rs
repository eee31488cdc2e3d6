//! Takes the repository's edit as fast as it arrives, and passes it on in pieces, so that the
//! questions to wc.db of many files share one lock (nine system calls). The order of the edit is kept.
//!
//! A piece ends at a limit of files or bytes, at a text that is too long to wait, or a
//! short while after its start: a slow server does not delay the work that has arrived. When the edit breaks off, the
//! rest of the piece is still passed on, unless that failed or the user cancelled: then it is requested again.

use std::collections::{HashMap, VecDeque};
use std::time::{Duration, Instant};

use sapwood_core::exact::Exact;
use sapwood_core::paths::{RelPath, RelPathBuf};
use sapwood_core::{Md5, Revnum, SvnError, SvnResult};
use sapwood_delta::{Editor, Handle, TextDelta, Window};

use super::editor::RangeEditor;

/// The most nodes in a piece.
const NODES: usize = 64;
/// The most bytes of waiting changes of texts and properties.
const BYTES: usize = 1 << 20;
/// A longer text change, in bytes, does not wait.
const ONE_TEXT: usize = 256 << 10;
/// The longest time that something waits while more arrives.
const WAIT: Duration = Duration::from_millis(100);

/// A call of the edit.
enum Step {
    Target(Revnum),
    Root { own: u64, base: Option<Revnum> },
    Delete { path: RelPathBuf, revision: Option<Revnum>, parent: u64 },
    Open { own: u64, path: RelPathBuf, parent: u64, kind: Kind },
    Property { node: u64, dir: bool, name: String, value: Option<Vec<u8>> },
    Text { file: u64, base: Option<Md5>, windows: VecDeque<Window> },
    CloseDir(u64),
    CloseFile { file: u64, text: Option<Md5> },
    Absent { path: RelPathBuf, parent: u64, dir: bool },
}

/// How a node is opened.
enum Kind {
    AddedDir,
    AddedFile,
    Dir(Option<Revnum>),
    File(Option<Revnum>),
}

/// A change of a text that came whole, or its beginning.
struct BufferedDelta<'d> {
    windows: VecDeque<Window>,
    rest: Option<&'d mut dyn TextDelta>,
}

impl TextDelta for BufferedDelta<'_> {
    fn next_window(&mut self) -> SvnResult<Option<Window>> {
        match (self.windows.pop_front(), &mut self.rest) {
            (Some(window), _) => Ok(Some(window)),
            (None, Some(rest)) => rest.next_window(),
            (None, None) => Ok(None),
        }
    }
}

/// Passes an edit on in pieces.
pub(super) struct BufferedEdit<'e, 'm, 'a> {
    editor: &'e mut RangeEditor<'m, 'a>,
    waiting: Vec<Step>,
    /// The number of waiting nodes, and of their bytes.
    nodes: usize,
    bytes: usize,
    /// When the first of what waits came.
    since: Option<Instant>,
    /// Handles of the editor, by ours.
    handles: HashMap<u64, Handle>,
    next: u64,
    failed: bool,
}

impl<'e, 'm, 'a> BufferedEdit<'e, 'm, 'a> {
    pub(super) fn new(editor: &'e mut RangeEditor<'m, 'a>) -> Self {
        Self {
            editor,
            waiting: Vec::new(),
            nodes: 0,
            bytes: 0,
            since: None,
            handles: HashMap::new(),
            next: 0,
            failed: false,
        }
    }

    /// The edit has ended like this: what waits is passed on.
    pub(super) fn end(mut self, result: SvnResult<()>) -> SvnResult<()> {
        if self.failed || self.editor.is_stopped() {
            return result;
        }
        let rest = self.pass_on();
        match (result, rest) {
            (Err(error), Err(other)) => Err(error.with_cause(other)),
            (Err(error), Ok(())) => Err(error),
            (Ok(()), rest) => rest,
        }
    }

    fn push(&mut self, step: Step, bytes: usize) -> SvnResult<()> {
        self.waiting.push(step);
        self.bytes = self.bytes.plus(bytes);
        let since = *self.since.get_or_insert_with(Instant::now);
        if self.nodes >= NODES || self.bytes >= BYTES || since.elapsed() >= WAIT {
            return self.pass_on();
        }
        Ok(())
    }

    fn open(&mut self, path: &RelPath, parent: Handle, kind: Kind) -> SvnResult<Handle> {
        let own = self.name_one();
        let (path, parent) = (path.to_owned(), parent.0);
        self.push(Step::Open { own, path, parent, kind }, 0)?;
        Ok(Handle(own))
    }

    /// A number for a node.
    fn name_one(&mut self) -> u64 {
        self.nodes = self.nodes.plus(1);
        self.next = self.next.wrapping_add(1);
        self.next
    }

    fn property(
        &mut self,
        (node, dir): (Handle, bool),
        name: &str,
        value: Option<&[u8]>,
    ) -> SvnResult<()> {
        let (name, value) = (name.to_owned(), value.map(<[u8]>::to_vec));
        let bytes = name.len().plus(value.as_ref().map_or(0, Vec::len));
        self.push(Step::Property { node: node.0, dir, name, value }, bytes)
    }

    /// Passes on all that waits.
    fn pass_on(&mut self) -> SvnResult<()> {
        let waiting = std::mem::take(&mut self.waiting);
        (self.nodes, self.bytes, self.since) = (0, 0, None);
        if waiting.is_empty() {
            return Ok(());
        }
        let wc = self.editor.working_copy();
        let result = wc.db().questions(|| {
            let mut all = waiting.into_iter();
            all.try_for_each(|step| self.do_one(step))
        });
        self.failed |= result.is_err();
        result
    }

    fn handle(&self, own: u64) -> SvnResult<Handle> {
        self.handles
            .get(&own)
            .copied()
            .ok_or_else(|| SvnError::internal("an edit uses a node that is not open"))
    }

    fn inner_handle(&mut self, own: u64) -> SvnResult<Handle> {
        self.handles
            .remove(&own)
            .ok_or_else(|| SvnError::internal("an edit ends a node that is not open"))
    }

    fn do_one(&mut self, step: Step) -> SvnResult<()> {
        match step {
            Step::Target(revision) => self.editor.set_target_revision(revision),
            Step::Root { own, base } => {
                let handle = self.editor.open_root(base)?;
                self.handles.insert(own, handle);
                Ok(())
            }
            Step::Delete { path, revision, parent } => {
                let parent = self.handle(parent)?;
                self.editor.delete_entry(&path, revision, parent)
            }
            Step::Open { own, path, parent, kind } => {
                let parent = self.handle(parent)?;
                let handle = match kind {
                    Kind::AddedDir => self.editor.add_directory(&path, parent, None),
                    Kind::AddedFile => self.editor.add_file(&path, parent, None),
                    Kind::Dir(base) => self.editor.open_directory(&path, parent, base),
                    Kind::File(base) => self.editor.open_file(&path, parent, base),
                }?;
                self.handles.insert(own, handle);
                Ok(())
            }
            Step::Property { node, dir, name, value } => {
                let node = self.handle(node)?;
                match dir {
                    true => self.editor.change_dir_prop(node, &name, value.as_deref()),
                    false => self.editor.change_file_prop(node, &name, value.as_deref()),
                }
            }
            Step::Text { file, base, windows } => {
                let file = self.handle(file)?;
                self.editor.apply_textdelta(file, base, &mut BufferedDelta { windows, rest: None })
            }
            Step::CloseDir(dir) => {
                let dir = self.inner_handle(dir)?;
                self.editor.close_directory(dir)
            }
            Step::CloseFile { file, text } => {
                let file = self.inner_handle(file)?;
                self.editor.close_file(file, text)
            }
            Step::Absent { path, parent, dir } => {
                let parent = self.handle(parent)?;
                match dir {
                    true => self.editor.absent_directory(&path, parent),
                    false => self.editor.absent_file(&path, parent),
                }
            }
        }
    }
}

/// The number of bytes in a window.
fn weight(window: &Window) -> usize {
    let ops = std::mem::size_of_val(window.ops.as_slice());
    window.new_data.len().plus(ops)
}

impl Editor for BufferedEdit<'_, '_, '_> {
    fn set_target_revision(&mut self, revision: Revnum) -> SvnResult<()> {
        self.push(Step::Target(revision), 0)
    }

    fn open_root(&mut self, base: Option<Revnum>) -> SvnResult<Handle> {
        let own = self.name_one();
        self.push(Step::Root { own, base }, 0)?;
        Ok(Handle(own))
    }

    fn delete_entry(
        &mut self,
        path: &RelPath,
        revision: Option<Revnum>,
        parent: Handle,
    ) -> SvnResult<()> {
        self.nodes = self.nodes.plus(1);
        let (path, parent) = (path.to_owned(), parent.0);
        self.push(Step::Delete { path, revision, parent }, 0)
    }

    fn add_directory(
        &mut self,
        path: &RelPath,
        parent: Handle,
        _: Option<(&str, Revnum)>,
    ) -> SvnResult<Handle> {
        self.open(path, parent, Kind::AddedDir)
    }

    fn open_directory(
        &mut self,
        path: &RelPath,
        parent: Handle,
        base: Option<Revnum>,
    ) -> SvnResult<Handle> {
        self.open(path, parent, Kind::Dir(base))
    }

    fn change_dir_prop(&mut self, dir: Handle, name: &str, value: Option<&[u8]>) -> SvnResult<()> {
        self.property((dir, true), name, value)
    }

    fn close_directory(&mut self, dir: Handle) -> SvnResult<()> {
        self.push(Step::CloseDir(dir.0), 0)
    }

    fn absent_directory(&mut self, path: &RelPath, parent: Handle) -> SvnResult<()> {
        let (path, parent) = (path.to_owned(), parent.0);
        self.push(Step::Absent { path, parent, dir: true }, 0)
    }

    fn add_file(
        &mut self,
        path: &RelPath,
        parent: Handle,
        _: Option<(&str, Revnum)>,
    ) -> SvnResult<Handle> {
        self.open(path, parent, Kind::AddedFile)
    }

    fn open_file(
        &mut self,
        path: &RelPath,
        parent: Handle,
        base: Option<Revnum>,
    ) -> SvnResult<Handle> {
        self.open(path, parent, Kind::File(base))
    }

    fn apply_textdelta(
        &mut self,
        file: Handle,
        base: Option<Md5>,
        delta: &mut dyn TextDelta,
    ) -> SvnResult<()> {
        let (mut windows, mut bytes) = (VecDeque::new(), 0usize);
        while let Some(window) = delta.next_window()? {
            bytes = bytes.plus(weight(&window));
            windows.push_back(window);
            if bytes > ONE_TEXT {
                self.pass_on()?;
                let file = self.handle(file.0)?;
                let mut whole = BufferedDelta { windows, rest: Some(delta) };
                let result = self.editor.apply_textdelta(file, base, &mut whole);
                self.failed |= result.is_err();
                return result;
            }
        }
        self.push(Step::Text { file: file.0, base, windows }, bytes)
    }

    fn change_file_prop(
        &mut self,
        file: Handle,
        name: &str,
        value: Option<&[u8]>,
    ) -> SvnResult<()> {
        self.property((file, false), name, value)
    }

    fn close_file(&mut self, file: Handle, text: Option<Md5>) -> SvnResult<()> {
        self.push(Step::CloseFile { file: file.0, text }, 0)
    }

    fn absent_file(&mut self, path: &RelPath, parent: Handle) -> SvnResult<()> {
        let (path, parent) = (path.to_owned(), parent.0);
        self.push(Step::Absent { path, parent, dir: false }, 0)
    }

    fn close_edit(&mut self) -> SvnResult<()> {
        self.pass_on()
    }

    fn abort_edit(&mut self) -> SvnResult<()> {
        Ok(())
    }
}
