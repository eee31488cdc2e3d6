//! Comparing two trees of a repository: the other side sends the edit that turns one into the other.

use std::collections::HashMap;

use sapwood_core::exact::Exact;
use sapwood_core::paths::{RelPath, RelPathBuf};
use sapwood_core::{NodeKind, Revnum, SvnResult};
use sapwood_delta::apply::ApplyReader;
use sapwood_delta::{EditStep, Handle, StepEditor, TextDelta};
use sapwood_ra::{DirentFields, Session};
use sapwood_wc::conflict::PropChange;

use super::regular::{regular, wrong_handle};
use super::sides::{Processor, Text};
use super::steps::{Delta, FileStep, Step, Steps, any_regular};

/// An open directory or file.
enum Open {
    Dir { path: RelPathBuf, added: bool, changes: Vec<PropChange> },
    File(OpenFile),
}

struct OpenFile {
    path: RelPathBuf,
    changes: Vec<PropChange>,
    step: FileStep,
}

/// Deletions from one directory: deleted nodes are requested one by one at first, and then all at once.
#[derive(Default)]
struct Deletions {
    dir: RelPathBuf,
    asked: usize,
    /// The entries of the directory, with their sizes.
    entries: Option<HashMap<String, (Option<NodeKind>, u64)>>,
}

/// The requested fields of a directory's entries.
const FIELDS: DirentFields = DirentFields {
    kind: true,
    size: true,
    has_props: false,
    created_rev: false,
    time: false,
    last_author: false,
};

/// The most deletions from one directory that are requested one by one.
const ONE_BY_ONE: usize = 2;

/// Takes an edit from one tree to another and passes it to a processor with a delay.
pub(super) struct DiffEditor<'a> {
    /// Fetches content that the edit does not contain: at the start of the edit.
    session: &'a dyn Session,
    /// The revision of the left side.
    revision: Revnum,
    /// The revision of the right side.
    target: Option<Revnum>,
    /// Whether texts are wanted.
    text_deltas: bool,
    steps: Steps<'a>,
    /// The directory that something was deleted of last.
    deletions: Deletions,
    open: HashMap<u64, Open>,
    next: u64,
}

/// Applies a delta to a text.
pub(super) fn apply(base: &Text, delta: &mut dyn TextDelta) -> SvnResult<Text> {
    Text::keep(&mut ApplyReader::new(delta, base.reader()?))
}

impl<'a> DiffEditor<'a> {
    pub(super) fn new(
        session: &'a dyn Session,
        revision: Revnum,
        text_deltas: bool,
        processor: &'a mut dyn Processor,
    ) -> Self {
        let steps = Steps::new(session, revision, text_deltas, processor);
        let (open, deletions) = (HashMap::new(), Deletions::default());
        Self { session, revision, target: None, text_deltas, steps, deletions, open, next: 0 }
    }

    fn add(&mut self, node: Open) -> Handle {
        self.next = self.next.wrapping_add(1);
        self.open.insert(self.next, node);
        Handle(self.next)
    }

    fn add_file_node(&mut self, at: &RelPath, step: FileStep) -> Handle {
        let path = at.to_owned();
        self.add(Open::File(OpenFile { path, changes: Vec::new(), step }))
    }

    fn add_dir_node(&mut self, at: &RelPath, added: bool) -> Handle {
        let path = at.to_owned();
        self.add(Open::Dir { path, added, changes: Vec::new() })
    }

    fn deleted_file(&mut self, at: &RelPath, size: u64) -> SvnResult<()> {
        let step = FileStep::Deleted;
        let step = Step::File { path: at.to_owned(), step, changes: Vec::new() };
        self.steps.add(step, size, self.target)
    }

    /// The kind of the node at a path, and its size if that is known.
    fn deleted(&mut self, at: &RelPath) -> SvnResult<(Option<NodeKind>, u64)> {
        let (dir, name) = (at.parent(), at.name());
        let deletions = &mut self.deletions;
        if deletions.dir != *dir {
            *deletions = Deletions { dir: dir.to_owned(), ..Deletions::default() };
        }
        deletions.asked = deletions.asked.plus(1);
        if deletions.asked <= ONE_BY_ONE {
            return Ok((self.session.check_path(at, Some(self.revision))?, 0));
        }
        let entries = match &mut deletions.entries {
            Some(entries) => entries,
            none => {
                let found = self.session.get_dir(dir, Some(self.revision), Some(FIELDS), false)?;
                let found = found.entries.into_iter();
                none.insert(found.map(|(name, e)| (name, (e.kind, e.size.unwrap_or(0)))).collect())
            }
        };
        Ok(entries.get(name).copied().unwrap_or((None, 0)))
    }

    fn deleted_dir(&mut self, at: &RelPath) -> SvnResult<()> {
        let mut found = self.session.get_dir(at, Some(self.revision), Some(FIELDS), true)?;
        found.entries.sort_by(|a, b| a.0.cmp(&b.0));
        for (name, entry) in &found.entries {
            let child = at.child(name);
            match entry.kind {
                Some(NodeKind::File) => self.deleted_file(&child, entry.size.unwrap_or(0))?,
                Some(NodeKind::Dir) => self.deleted_dir(&child)?,
                None => {}
            }
        }
        let step = Step::DirDeleted { path: at.to_owned(), props: regular(&found.props) };
        self.steps.add(step, 0, self.target)
    }

    fn receive(&mut self, file: Handle, from: &mut dyn TextDelta) -> SvnResult<()> {
        let Some(Open::File(open)) = self.open.get_mut(&file.0) else { return Err(wrong_handle()) };
        match &mut open.step {
            FileStep::Added(text) if self.text_deltas => *text = apply(&Text::Empty, from)?,
            FileStep::Changed { text, delta } => {
                *text = true;
                *delta = self.text_deltas.then(|| Delta::keep(from)).transpose()?;
            }
            FileStep::Added(_) | FileStep::Deleted => {}
        }
        Ok(())
    }

    fn end(&mut self, node: Handle) -> SvnResult<()> {
        match self.open.remove(&node.0).ok_or_else(wrong_handle)? {
            Open::File(file) => self.end_file(file),
            Open::Dir { added: false, changes, .. } if !any_regular(&changes) => Ok(()),
            Open::Dir { path, added, changes } => {
                self.steps.add(Step::Dir { path, added, changes }, 0, self.target)
            }
        }
    }

    fn end_file(&mut self, file: OpenFile) -> SvnResult<()> {
        let OpenFile { path, changes, step } = file;
        if matches!(step, FileStep::Changed { text: false, .. }) && !any_regular(&changes) {
            return Ok(());
        }
        self.steps.add(Step::File { path, step, changes }, 0, self.target)
    }
}

impl StepEditor for DiffEditor<'_> {
    fn step(&mut self, step: EditStep<'_>) -> SvnResult<Handle> {
        use NodeKind::{Dir, File};
        match step {
            EditStep::TargetRevision(revision) => self.target = Some(revision),
            EditStep::OpenRoot(_) => return Ok(self.add_dir_node(RelPath::ROOT, false)),
            EditStep::Add { kind: Dir, path, .. } => return Ok(self.add_dir_node(path, true)),
            EditStep::Open { kind: Dir, path, .. } => return Ok(self.add_dir_node(path, false)),
            EditStep::Add { kind: File, path, .. } => {
                return Ok(self.add_file_node(path, FileStep::Added(Text::Empty)));
            }
            EditStep::Open { kind: File, path, .. } => {
                return Ok(self.add_file_node(path, FileStep::Changed { text: false, delta: None }));
            }
            EditStep::Delete { path, .. } => match self.deleted(path)? {
                (Some(File), size) => self.deleted_file(path, size)?,
                (Some(Dir), _) => self.deleted_dir(path)?,
                (None, _) => {}
            },
            EditStep::Prop { node, name, value, .. } => {
                if let Some(Open::Dir { changes, .. } | Open::File(OpenFile { changes, .. })) =
                    self.open.get_mut(&node.0)
                {
                    changes.push((name.to_owned(), value.map(<[u8]>::to_vec)));
                }
            }
            EditStep::Text { file, delta, .. } => self.receive(file, delta)?,
            EditStep::CloseDirectory(node) | EditStep::CloseFile { file: node, .. } => {
                self.end(node)?;
            }
            // After an abort earlier changes are shown.
            EditStep::CloseEdit | EditStep::AbortEdit => self.steps.take(self.target)?,
            EditStep::Absent { .. } => {}
        }
        Ok(Handle::NONE)
    }
}
