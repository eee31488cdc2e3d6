//! An edit that is anchored at the target's parent directory, rebased to the target.

use sapwood_core::paths::RelPath;
use sapwood_core::{ErrorCode, Revnum, SvnError, SvnResult};
use sapwood_delta::{Editor, Handle};

use crate::delegate::delegate_editor;

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

impl Editor for RebasedEdit<'_> {
    delegate_editor!(inner: set_target_revision, apply_textdelta, change_file_prop, close_file,
        close_edit, abort_edit);

    fn open_root(&mut self, _: Option<Revnum>) -> SvnResult<Handle> {
        Ok(ABOVE)
    }

    fn delete_entry(
        &mut self,
        path: &RelPath,
        revision: Option<Revnum>,
        parent: Handle,
    ) -> SvnResult<()> {
        let path = self.below(path, parent)?;
        self.inner.delete_entry(path, revision, parent)
    }

    fn add_directory(
        &mut self,
        path: &RelPath,
        parent: Handle,
        copy_from: Option<(&str, Revnum)>,
    ) -> SvnResult<Handle> {
        let path = self.below(path, parent)?;
        self.inner.add_directory(path, parent, copy_from)
    }

    fn open_directory(
        &mut self,
        path: &RelPath,
        parent: Handle,
        base: Option<Revnum>,
    ) -> SvnResult<Handle> {
        if parent == ABOVE && path == self.name {
            self.opened = true;
            return self.inner.open_root(base);
        }
        let path = self.below(path, parent)?;
        self.inner.open_directory(path, parent, base)
    }

    fn change_dir_prop(&mut self, dir: Handle, name: &str, value: Option<&[u8]>) -> SvnResult<()> {
        if dir == ABOVE { Ok(()) } else { self.inner.change_dir_prop(dir, name, value) }
    }

    fn close_directory(&mut self, dir: Handle) -> SvnResult<()> {
        if dir == ABOVE { Ok(()) } else { self.inner.close_directory(dir) }
    }

    fn absent_directory(&mut self, path: &RelPath, parent: Handle) -> SvnResult<()> {
        let path = self.below(path, parent)?;
        self.inner.absent_directory(path, parent)
    }

    fn add_file(
        &mut self,
        path: &RelPath,
        parent: Handle,
        copy_from: Option<(&str, Revnum)>,
    ) -> SvnResult<Handle> {
        let path = self.below(path, parent)?;
        self.inner.add_file(path, parent, copy_from)
    }

    fn open_file(
        &mut self,
        path: &RelPath,
        parent: Handle,
        base: Option<Revnum>,
    ) -> SvnResult<Handle> {
        let path = self.below(path, parent)?;
        self.inner.open_file(path, parent, base)
    }

    fn absent_file(&mut self, path: &RelPath, parent: Handle) -> SvnResult<()> {
        let path = self.below(path, parent)?;
        self.inner.absent_file(path, parent)
    }
}

#[cfg(test)]
mod tests {
    use sapwood_core::paths::RelPathBuf;
    use sapwood_delta::IgnoreAll;

    use super::*;

    /// Notes directories and files that are opened.
    #[derive(Default)]
    struct OpenRecorder {
        paths: Vec<RelPathBuf>,
        rest: IgnoreAll,
    }

    impl Editor for OpenRecorder {
        delegate_editor!(rest: delete_entry, change_dir_prop, close_directory, absent_directory,
            apply_textdelta, change_file_prop, close_file, absent_file, close_edit, abort_edit);

        fn open_root(&mut self, _: Option<Revnum>) -> SvnResult<Handle> {
            self.paths.push(RelPathBuf::default());
            Ok(Handle(0))
        }

        fn add_directory(
            &mut self,
            path: &RelPath,
            parent: Handle,
            _: Option<(&str, Revnum)>,
        ) -> SvnResult<Handle> {
            self.open_directory(path, parent, None)
        }

        fn open_directory(
            &mut self,
            path: &RelPath,
            _: Handle,
            _: Option<Revnum>,
        ) -> SvnResult<Handle> {
            self.paths.push(path.to_owned());
            Ok(Handle(1))
        }

        fn add_file(
            &mut self,
            path: &RelPath,
            parent: Handle,
            _: Option<(&str, Revnum)>,
        ) -> SvnResult<Handle> {
            self.open_directory(path, parent, None)
        }

        fn open_file(
            &mut self,
            path: &RelPath,
            parent: Handle,
            _: Option<Revnum>,
        ) -> SvnResult<Handle> {
            self.open_directory(path, parent, None)
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
        assert_eq!(opened.paths, ["", "d", "d/f"]);
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
            assert!(opened.paths.is_empty());
        }
    }
}
