//! Takes the repository's edit as fast as it arrives, and passes it on in pieces, so that the
//! questions to wc.db of many files share one lock (nine system calls). The order of the edit is kept.
//!
//! A piece ends at a limit of files or bytes, at a text that is too long to wait, or a
//! short while after its start: a slow server does not delay the work that has arrived. When the edit breaks off, the
//! rest of the piece is still passed on, unless that failed or the user cancelled: then it is requested again.

use std::collections::{HashMap, VecDeque};
use std::time::{Duration, Instant};

use sapwood_core::exact::Exact;
use sapwood_core::paths::RelPathBuf;
use sapwood_core::{Md5, NodeKind, Revnum, SvnError, SvnResult};
use sapwood_delta::{EditStep, Editor as _, Handle, StepEditor, TextDelta, Window};

use super::editor::RangeEditor;

/// The most nodes in a piece.
const NODES: usize = 64;
/// The most bytes of waiting changes of texts and properties.
const BYTES: usize = 1 << 20;
/// A longer text change, in bytes, does not wait.
const ONE_TEXT: usize = 256 << 10;
/// The longest time that something waits while more arrives.
const WAIT: Duration = Duration::from_millis(100);

/// A step of the edit that waits. Handles of open nodes are our own numbers.
enum WaitingStep {
    TargetRevision(Revnum),
    OpenRoot { own: u64, base: Option<Revnum> },
    Delete { path: RelPathBuf, revision: Option<Revnum>, parent: u64 },
    Add { own: u64, kind: NodeKind, path: RelPathBuf, parent: u64 },
    Open { own: u64, kind: NodeKind, path: RelPathBuf, parent: u64, base: Option<Revnum> },
    Absent { kind: NodeKind, path: RelPathBuf, parent: u64 },
    Prop { kind: NodeKind, node: u64, name: String, value: Option<Vec<u8>> },
    Text { file: u64, base: Option<Md5>, windows: VecDeque<Window> },
    CloseDirectory(u64),
    CloseFile { file: u64, text: Option<Md5> },
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
    waiting: Vec<WaitingStep>,
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

    fn push(&mut self, step: WaitingStep, bytes: usize) -> SvnResult<()> {
        self.waiting.push(step);
        self.bytes = self.bytes.plus(bytes);
        let since = *self.since.get_or_insert_with(Instant::now);
        if self.nodes >= NODES || self.bytes >= BYTES || since.elapsed() >= WAIT {
            return self.pass_on();
        }
        Ok(())
    }

    /// A number for a node.
    fn name_one(&mut self) -> u64 {
        self.nodes = self.nodes.plus(1);
        self.next = self.next.wrapping_add(1);
        self.next
    }

    /// Keeps a text, or passes a long one on at once, after what waits.
    fn text(
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
        self.push(WaitingStep::Text { file: file.0, base, windows }, bytes)
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

    fn do_one(&mut self, step: WaitingStep) -> SvnResult<()> {
        let mut opens = None;
        let (path, name, value);
        let mut text;
        let step = match step {
            WaitingStep::TargetRevision(revision) => EditStep::TargetRevision(revision),
            WaitingStep::OpenRoot { own, base } => {
                opens = Some(own);
                EditStep::OpenRoot(base)
            }
            WaitingStep::Delete { path: at, revision, parent } => {
                path = at;
                EditStep::Delete { path: &path, revision, parent: self.handle(parent)? }
            }
            WaitingStep::Add { own, kind, path: at, parent } => {
                (opens, path) = (Some(own), at);
                EditStep::Add { kind, path: &path, parent: self.handle(parent)?, copy_from: None }
            }
            WaitingStep::Open { own, kind, path: at, parent, base } => {
                (opens, path) = (Some(own), at);
                EditStep::Open { kind, path: &path, parent: self.handle(parent)?, base }
            }
            WaitingStep::Absent { kind, path: at, parent } => {
                path = at;
                EditStep::Absent { kind, path: &path, parent: self.handle(parent)? }
            }
            WaitingStep::Prop { kind, node, name: of, value: to } => {
                (name, value) = (of, to);
                let node = self.handle(node)?;
                EditStep::Prop { kind, node, name: &name, value: value.as_deref() }
            }
            WaitingStep::Text { file, base, windows } => {
                text = BufferedDelta { windows, rest: None };
                EditStep::Text { file: self.handle(file)?, base, delta: &mut text }
            }
            WaitingStep::CloseDirectory(dir) => EditStep::CloseDirectory(self.inner_handle(dir)?),
            WaitingStep::CloseFile { file, text } => {
                EditStep::CloseFile { file: self.inner_handle(file)?, text }
            }
        };
        let opened = step.apply(&mut *self.editor)?;
        if let Some(own) = opens {
            self.handles.insert(own, opened);
        }
        Ok(())
    }
}

/// The number of bytes in a window.
fn weight(window: &Window) -> usize {
    let ops = std::mem::size_of_val(window.ops.as_slice());
    window.new_data.len().plus(ops)
}

impl StepEditor for BufferedEdit<'_, '_, '_> {
    fn step(&mut self, step: EditStep<'_>) -> SvnResult<Handle> {
        let (mut own, mut bytes) = (0, 0);
        let waiting = match step {
            EditStep::TargetRevision(revision) => WaitingStep::TargetRevision(revision),
            EditStep::OpenRoot(base) => {
                own = self.name_one();
                WaitingStep::OpenRoot { own, base }
            }
            EditStep::Delete { path, revision, parent } => {
                self.nodes = self.nodes.plus(1);
                WaitingStep::Delete { path: path.to_owned(), revision, parent: parent.0 }
            }
            EditStep::Add { kind, path, parent, .. } => {
                own = self.name_one();
                WaitingStep::Add { own, kind, path: path.to_owned(), parent: parent.0 }
            }
            EditStep::Open { kind, path, parent, base } => {
                own = self.name_one();
                WaitingStep::Open { own, kind, path: path.to_owned(), parent: parent.0, base }
            }
            EditStep::Absent { kind, path, parent } => {
                WaitingStep::Absent { kind, path: path.to_owned(), parent: parent.0 }
            }
            EditStep::Prop { kind, node, name, value } => {
                bytes = name.len().plus(value.map_or(0, <[u8]>::len));
                let (name, value) = (name.to_owned(), value.map(<[u8]>::to_vec));
                WaitingStep::Prop { kind, node: node.0, name, value }
            }
            EditStep::Text { file, base, delta } => {
                return self.text(file, base, delta).map(|()| Handle::NONE);
            }
            EditStep::CloseDirectory(dir) => WaitingStep::CloseDirectory(dir.0),
            EditStep::CloseFile { file, text } => WaitingStep::CloseFile { file: file.0, text },
            EditStep::CloseEdit => return self.pass_on().map(|()| Handle::NONE),
            EditStep::AbortEdit => return Ok(Handle::NONE),
        };
        self.push(waiting, bytes)?;
        Ok(Handle(own))
    }
}
