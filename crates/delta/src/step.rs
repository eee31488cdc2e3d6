//! The calls of an edit as values, for editors that hand most of them on, keep them, or treat directories and files
//! alike: one `match` takes the place of a method for each call.
//!
//! Invariant: [`EditStep::apply`] makes of a step the call that [`StepEditor`] made the step of.

use sapwood_core::paths::RelPath;
use sapwood_core::{Md5, NodeKind, Revnum, SvnResult};

use crate::editor::{EditTarget, Editor, Handle};
use crate::stream::TextDelta;

/// A call of an [`Editor`]: the method of the same name says what it means.
#[allow(missing_docs, reason = "the fields are those of the methods")]
pub enum EditStep<'s> {
    TargetRevision(Revnum),
    OpenRoot(Option<Revnum>),
    Delete { path: &'s RelPath, revision: Option<Revnum>, parent: Handle },
    Add { kind: NodeKind, path: &'s RelPath, parent: Handle, copy_from: Option<(&'s str, Revnum)> },
    Open { kind: NodeKind, path: &'s RelPath, parent: Handle, base: Option<Revnum> },
    Absent { kind: NodeKind, path: &'s RelPath, parent: Handle },
    Prop { kind: NodeKind, node: Handle, name: &'s str, value: Option<&'s [u8]> },
    Text { file: Handle, base: Option<Md5>, delta: &'s mut dyn TextDelta },
    CloseDirectory(Handle),
    CloseFile { file: Handle, text: Option<Md5> },
    CloseEdit,
    AbortEdit,
}

impl EditStep<'_> {
    /// Makes the call. Returns the handle of the node that was opened, and [`Handle::NONE`] for other calls.
    ///
    /// # Errors
    /// Those of the editor.
    pub fn apply(self, editor: &mut (impl Editor + ?Sized)) -> SvnResult<Handle> {
        use NodeKind::{Dir, File};
        match self {
            Self::TargetRevision(revision) => editor.set_target_revision(revision)?,
            Self::OpenRoot(base) => return editor.open_root(base),
            Self::Delete { path, revision, parent } => {
                editor.delete_entry(path, revision, parent)?;
            }
            Self::Add { kind: Dir, path, parent, copy_from } => {
                return editor.add_directory(path, parent, copy_from);
            }
            Self::Add { kind: File, path, parent, copy_from } => {
                return editor.add_file(path, parent, copy_from);
            }
            Self::Open { kind: Dir, path, parent, base } => {
                return editor.open_directory(path, parent, base);
            }
            Self::Open { kind: File, path, parent, base } => {
                return editor.open_file(path, parent, base);
            }
            Self::Absent { kind: Dir, path, parent } => editor.absent_directory(path, parent)?,
            Self::Absent { kind: File, path, parent } => editor.absent_file(path, parent)?,
            Self::Prop { kind: Dir, node, name, value } => {
                editor.change_dir_prop(node, name, value)?;
            }
            Self::Prop { kind: File, node, name, value } => {
                editor.change_file_prop(node, name, value)?;
            }
            Self::Text { file, base, delta } => editor.apply_textdelta(file, base, delta)?,
            Self::CloseDirectory(dir) => editor.close_directory(dir)?,
            Self::CloseFile { file, text } => editor.close_file(file, text)?,
            Self::CloseEdit => editor.close_edit()?,
            Self::AbortEdit => editor.abort_edit()?,
        }
        Ok(Handle::NONE)
    }
}

/// An editor that takes its calls as values.
pub trait StepEditor {
    /// What [`Editor::leads_to`] announces. Most editors ignore it.
    fn announced(&mut self, target: &EditTarget<'_>) {
        let _ = target;
    }

    /// Takes a step. Returns the handle of the node that it opens, and anything for other steps.
    ///
    /// # Errors
    /// Whatever the receiver meets.
    fn step(&mut self, step: EditStep<'_>) -> SvnResult<Handle>;
}

impl<E: StepEditor> Editor for E {
    fn leads_to(&mut self, target: &EditTarget<'_>) {
        self.announced(target);
    }

    fn set_target_revision(&mut self, revision: Revnum) -> SvnResult<()> {
        self.step(EditStep::TargetRevision(revision)).map(drop)
    }

    fn open_root(&mut self, base: Option<Revnum>) -> SvnResult<Handle> {
        self.step(EditStep::OpenRoot(base))
    }

    fn delete_entry(
        &mut self,
        path: &RelPath,
        revision: Option<Revnum>,
        parent: Handle,
    ) -> SvnResult<()> {
        self.step(EditStep::Delete { path, revision, parent }).map(drop)
    }

    fn add_directory(
        &mut self,
        path: &RelPath,
        parent: Handle,
        copy_from: Option<(&str, Revnum)>,
    ) -> SvnResult<Handle> {
        self.step(EditStep::Add { kind: NodeKind::Dir, path, parent, copy_from })
    }

    fn open_directory(
        &mut self,
        path: &RelPath,
        parent: Handle,
        base: Option<Revnum>,
    ) -> SvnResult<Handle> {
        self.step(EditStep::Open { kind: NodeKind::Dir, path, parent, base })
    }

    fn change_dir_prop(&mut self, node: Handle, name: &str, value: Option<&[u8]>) -> SvnResult<()> {
        self.step(EditStep::Prop { kind: NodeKind::Dir, node, name, value }).map(drop)
    }

    fn close_directory(&mut self, dir: Handle) -> SvnResult<()> {
        self.step(EditStep::CloseDirectory(dir)).map(drop)
    }

    fn absent_directory(&mut self, path: &RelPath, parent: Handle) -> SvnResult<()> {
        self.step(EditStep::Absent { kind: NodeKind::Dir, path, parent }).map(drop)
    }

    fn add_file(
        &mut self,
        path: &RelPath,
        parent: Handle,
        copy_from: Option<(&str, Revnum)>,
    ) -> SvnResult<Handle> {
        self.step(EditStep::Add { kind: NodeKind::File, path, parent, copy_from })
    }

    fn open_file(
        &mut self,
        path: &RelPath,
        parent: Handle,
        base: Option<Revnum>,
    ) -> SvnResult<Handle> {
        self.step(EditStep::Open { kind: NodeKind::File, path, parent, base })
    }

    fn apply_textdelta(
        &mut self,
        file: Handle,
        base: Option<Md5>,
        delta: &mut dyn TextDelta,
    ) -> SvnResult<()> {
        self.step(EditStep::Text { file, base, delta }).map(drop)
    }

    fn change_file_prop(
        &mut self,
        node: Handle,
        name: &str,
        value: Option<&[u8]>,
    ) -> SvnResult<()> {
        self.step(EditStep::Prop { kind: NodeKind::File, node, name, value }).map(drop)
    }

    fn close_file(&mut self, file: Handle, text: Option<Md5>) -> SvnResult<()> {
        self.step(EditStep::CloseFile { file, text }).map(drop)
    }

    fn absent_file(&mut self, path: &RelPath, parent: Handle) -> SvnResult<()> {
        self.step(EditStep::Absent { kind: NodeKind::File, path, parent }).map(drop)
    }

    fn close_edit(&mut self) -> SvnResult<()> {
        self.step(EditStep::CloseEdit).map(drop)
    }

    fn abort_edit(&mut self) -> SvnResult<()> {
        self.step(EditStep::AbortEdit).map(drop)
    }
}
