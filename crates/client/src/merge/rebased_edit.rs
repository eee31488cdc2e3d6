//! An edit that is anchored at the target's parent directory, rebased to the target.

use sapwood_core::paths::RelPath;
use sapwood_core::{ErrorCode, NodeKind, SvnError, SvnResult};
use sapwood_delta::{EditStep, Editor, Handle, StepEditor};

/// The directory above the target.
const ABOVE: Handle = Handle(u64::MAX);

/// Passes on the part of an edit that is about the target.
pub(super) struct RebasedEdit<'e> {
    inner: &'e mut dyn Editor,
    name: &'e RelPath,
    /// Whether the target was opened, as a directory.
    pub(super) opened: bool,
    /// Whether the edit does anything else with the target.
    pub(super) refused: bool,
}

impl<'e> RebasedEdit<'e> {
    pub(super) fn new(inner: &'e mut dyn Editor, name: &'e RelPath) -> Self {
        Self { inner, name, opened: false, refused: false }
    }

    /// A path below the target, of something that is not right below the directory above.
    fn below<'p>(&mut self, at: &'p RelPath, parent: Handle) -> SvnResult<&'p RelPath> {
        let below = at.below(self.name).filter(|_| parent != ABOVE);
        below.ok_or_else(|| {
            self.refused = true;
            SvnError::new(
                ErrorCode::FS_NOT_DIRECTORY,
                format!("'{at}' is not what is merged as a directory"),
            )
        })
    }
}

impl StepEditor for RebasedEdit<'_> {
    fn step(&mut self, mut step: EditStep<'_>) -> SvnResult<Handle> {
        use EditStep::{Absent, Add, CloseDirectory, Delete, Open, OpenRoot, Prop};
        match &mut step {
            OpenRoot(_) => return Ok(ABOVE),
            Prop { node: ABOVE, .. } | CloseDirectory(ABOVE) => return Ok(Handle::NONE),
            Open { kind: NodeKind::Dir, path, parent: ABOVE, base } if *path == self.name => {
                self.opened = true;
                return self.inner.open_root(*base);
            }
            Delete { path, parent, .. }
            | Add { path, parent, .. }
            | Open { path, parent, .. }
            | Absent { path, parent, .. } => *path = self.below(path, *parent)?,
            _ => {}
        }
        step.apply(self.inner)
    }
}

#[cfg(test)]
mod tests {
    use sapwood_core::paths::RelPathBuf;

    use super::*;

    /// Notes directories and files that are opened.
    #[derive(Default)]
    struct OpenRecorder(Vec<RelPathBuf>);

    impl StepEditor for OpenRecorder {
        fn step(&mut self, step: EditStep<'_>) -> SvnResult<Handle> {
            match step {
                EditStep::OpenRoot(_) => self.0.push(RelPathBuf::default()),
                EditStep::Add { path, .. } | EditStep::Open { path, .. } => {
                    self.0.push(path.to_owned())
                }
                _ => return Ok(Handle::NONE),
            }
            Ok(Handle(1))
        }
    }

    #[test]
    fn the_target_becomes_the_root() {
        let mut opened = OpenRecorder::default();
        let mut edit = RebasedEdit::new(&mut opened, RelPath::trusted("t"));
        let above = edit.open_root(None).unwrap();
        edit.change_dir_prop(above, "p", None).unwrap();
        let root = edit.open_directory(RelPath::trusted("t"), above, None).unwrap();
        let dir = edit.open_directory(RelPath::trusted("t/d"), root, None).unwrap();
        edit.open_file(RelPath::trusted("t/d/f"), dir, None).unwrap();
        for node in [dir, root, above] {
            edit.close_directory(node).unwrap();
        }
        assert!(edit.opened && !edit.refused);
        assert_eq!(opened.0, ["", "d", "d/f"]);
    }

    #[test]
    fn a_target_of_another_kind_is_refused() {
        for open in [
            |edit: &mut RebasedEdit<'_>, above| {
                edit.open_file(RelPath::trusted("t"), above, None).map(drop)
            },
            |edit: &mut RebasedEdit<'_>, above| {
                edit.delete_entry(RelPath::trusted("t"), None, above)
            },
            |edit: &mut RebasedEdit<'_>, above| {
                edit.add_directory(RelPath::trusted("t"), above, None).map(drop)
            },
            |edit: &mut RebasedEdit<'_>, above| {
                edit.open_directory(RelPath::trusted("other"), above, None).map(drop)
            },
        ] {
            let mut opened = OpenRecorder::default();
            let mut edit = RebasedEdit::new(&mut opened, RelPath::trusted("t"));
            let above = edit.open_root(None).unwrap();
            assert!(open(&mut edit, above).is_err() && edit.refused && !edit.opened);
            assert!(opened.0.is_empty());
        }
    }
}
