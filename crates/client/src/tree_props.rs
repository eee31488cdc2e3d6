//! The properties of all nodes of a tree in a repository by one report, without texts: as many turns for a large tree as
//! for a small one.
//!
//! Invariant: the nodes come in the order of their paths, as they do when directories are listed one by one.

use sapwood_core::paths::{RelPath, RelPathBuf};
use sapwood_core::{Depth, Md5, PropList, Revnum, SvnResult, path};
use sapwood_delta::{Editor, Handle, TextDelta, ignore_absent, nothing_to_abort};
use sapwood_ra::{ReportKind, ReportRequest, Session};

/// The properties of the nodes at and below the session's URL, a directory; only of those that have some that are
/// `wanted`, which is also all that is kept in memory.
///
/// # Errors
/// Those of the session.
pub(crate) fn fetch(
    session: &dyn Session,
    revision: Revnum,
    depth: Depth,
    wanted: &dyn Fn(&str) -> bool,
) -> SvnResult<Vec<(RelPathBuf, PropList)>> {
    let mut editor = TreeProps { wanted, open: Vec::new(), found: Vec::new() };
    let kind = ReportKind::Status;
    let request = ReportRequest { revision: Some(revision), target: "", depth, kind };
    let mut report = session.report(&request, &mut editor)?;
    report.set_path(RelPath::ROOT, revision, depth, true, None)?;
    report.finish()?;
    let mut found = editor.found;
    found.sort_by(|a, b| path::compare(&a.0, &b.0));
    Ok(found)
}

/// Takes the edit. Nodes are open one within the other, a file last.
struct TreeProps<'w> {
    wanted: &'w dyn Fn(&str) -> bool,
    open: Vec<(RelPathBuf, PropList)>,
    found: Vec<(RelPathBuf, PropList)>,
}

impl TreeProps<'_> {
    fn enter(&mut self, at: &RelPath) -> SvnResult<Handle> {
        self.open.push((at.to_owned(), PropList::new()));
        Ok(Handle(0))
    }

    fn note(&mut self, name: &str, value: Option<&[u8]>) -> SvnResult<()> {
        if let (Some((_, props)), Some(value), true) =
            (self.open.last_mut(), value, (self.wanted)(name))
        {
            props.set(name, value);
        }
        Ok(())
    }

    fn leave(&mut self) -> SvnResult<()> {
        self.found.extend(self.open.pop().filter(|(_, props)| !props.is_empty()));
        Ok(())
    }
}

impl Editor for TreeProps<'_> {
    ignore_absent!();
    nothing_to_abort!();

    fn open_root(&mut self, _: Option<Revnum>) -> SvnResult<Handle> {
        self.enter(RelPath::ROOT)
    }

    fn delete_entry(&mut self, _: &RelPath, _: Option<Revnum>, _: Handle) -> SvnResult<()> {
        Ok(())
    }

    fn add_directory(
        &mut self,
        at: &RelPath,
        _: Handle,
        _: Option<(&str, Revnum)>,
    ) -> SvnResult<Handle> {
        self.enter(at)
    }

    fn open_directory(&mut self, at: &RelPath, _: Handle, _: Option<Revnum>) -> SvnResult<Handle> {
        self.enter(at)
    }

    fn change_dir_prop(&mut self, _: Handle, name: &str, value: Option<&[u8]>) -> SvnResult<()> {
        self.note(name, value)
    }

    fn close_directory(&mut self, _: Handle) -> SvnResult<()> {
        self.leave()
    }

    fn add_file(
        &mut self,
        at: &RelPath,
        _: Handle,
        _: Option<(&str, Revnum)>,
    ) -> SvnResult<Handle> {
        self.enter(at)
    }

    fn open_file(&mut self, at: &RelPath, _: Handle, _: Option<Revnum>) -> SvnResult<Handle> {
        self.enter(at)
    }

    fn apply_textdelta(
        &mut self,
        _: Handle,
        _: Option<Md5>,
        _: &mut dyn TextDelta,
    ) -> SvnResult<()> {
        Ok(())
    }

    fn change_file_prop(&mut self, _: Handle, name: &str, value: Option<&[u8]>) -> SvnResult<()> {
        self.note(name, value)
    }

    fn close_file(&mut self, _: Handle, _: Option<Md5>) -> SvnResult<()> {
        self.leave()
    }

    fn close_edit(&mut self) -> SvnResult<()> {
        Ok(())
    }
}
