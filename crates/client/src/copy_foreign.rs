//! A directory of another repository, made anew in a working copy: directories and files are added
//! one after the other, with their properties; their texts stay in repository form.

use std::collections::HashMap;
use std::fs;
use std::io::Write as _;
use std::path::PathBuf;

use sapwood_core::checksum::Md5Hasher;
use sapwood_core::exact::Exact;
use sapwood_core::paths::{RelPath, RelPathBuf};
use sapwood_core::props::names;
use sapwood_core::{Depth, ErrorCode, Md5, NodeKind, PropList, Revnum, SvnError, SvnResult};
use sapwood_delta::{Applier, EditStep, Handle, ReportEntry, StepEditor, TextDelta};
use sapwood_ra::{ReportKind, ReportRequest, Session};
use sapwood_wc::WorkingCopy;
use sapwood_wc::props::Change;
use sapwood_wc::props::rules::{PropKind, kind_of};

use crate::context::Context;

/// Copies the directory that a session is at. Needs a lock on the destination's parent.
///
/// # Errors
/// Those of the session; what cannot be made or added.
pub(crate) fn copy_foreign_dir(
    ctx: &Context,
    session: &dyn Session,
    revision: Revnum,
    wc: &WorkingCopy,
    relpath: &RelPath,
) -> SvnResult<()> {
    let mut editor =
        Adder { ctx, wc, root: relpath.to_owned(), open: HashMap::new(), next: 0, text: None };
    let request = ReportRequest {
        revision: Some(revision),
        target: "",
        depth: Depth::Infinity,
        kind: ReportKind::Update { send_copyfrom: false, ignore_ancestry: false },
    };
    let mut report = session.report(&request, &mut editor)?;
    report.entry(&ReportEntry::new(RelPath::ROOT, revision, Depth::Infinity).starting_empty())?;
    report.finish()
}

/// The text of the file that is open.
struct Text {
    temporary: PathBuf,
    md5: Md5,
}

struct Adder<'a> {
    ctx: &'a Context,
    wc: &'a WorkingCopy,
    root: RelPathBuf,
    /// Paths below the working copy's root of what is open.
    open: HashMap<u64, RelPathBuf>,
    next: u64,
    text: Option<Text>,
}

impl Adder<'_> {
    fn begin(&mut self, relpath: RelPathBuf) -> Handle {
        self.next = self.next.plus(1);
        self.open.insert(self.next, relpath);
        Handle(self.next)
    }

    /// Where a path of the edit is. A server's path that leads elsewhere is refused.
    fn place(&self, below: &RelPath) -> SvnResult<RelPathBuf> {
        if below.names().any(|name| matches!(name, "." | ".." | ".svn")) {
            return Err(SvnError::new(
                ErrorCode::WC_OBSTRUCTED_UPDATE,
                format!("Path '{below}' is not in the working copy"),
            ));
        }
        Ok(self.root.join(below))
    }

    fn relpath(&self, handle: Handle) -> SvnResult<RelPathBuf> {
        self.open.get(&handle.0).cloned().ok_or_else(|| {
            SvnError::new(ErrorCode::INCOMPLETE_DATA, "A node that is not open was named")
        })
    }

    fn add_dir(&mut self, relpath: RelPathBuf) -> SvnResult<Handle> {
        self.ctx.check_cancel()?;
        let dir = self.wc.abspath(&relpath);
        fs::create_dir_all(&dir)
            .map_err(|e| SvnError::io(&e, format!("Can't create directory '{}'", dir.display())))?;
        self.wc.add_one(&relpath, &PropList::new(), &|notice| self.ctx.notify(notice))?;
        Ok(self.begin(relpath))
    }

    fn add_file(&mut self, below: &RelPath) -> SvnResult<Handle> {
        self.ctx.check_cancel()?;
        let relpath = self.place(below)?;
        let file = self.wc.abspath(&relpath);
        fs::File::create_new(&file)
            .map_err(|e| SvnError::io(&e, format!("Can't create file '{}'", file.display())))?;
        self.wc.add_one(&relpath, &PropList::new(), &|notice| self.ctx.notify(notice))?;
        Ok(self.begin(relpath))
    }

    fn receive(&mut self, delta: &mut dyn TextDelta) -> SvnResult<()> {
        let temporary = self.wc.temporary();
        let failed = |e: std::io::Error| {
            SvnError::io(&e, format!("Can't write file '{}'", temporary.display()))
        };
        let mut file = fs::File::create(&temporary).map_err(failed)?;
        let mut applier = Applier::new(std::io::empty());
        let mut md5 = Md5Hasher::new();
        while let Some(window) = delta.next_window()? {
            let piece = applier.apply(&window)?;
            md5.update(piece);
            file.write_all(piece).map_err(failed)?;
        }
        self.text = Some(Text { temporary, md5: md5.finish() });
        Ok(())
    }

    fn end_file(&mut self, file: Handle, expected: Option<Md5>) -> SvnResult<()> {
        let relpath = self.relpath(file)?;
        self.open.remove(&file.0);
        let Some(text) = self.text.take() else { return Ok(()) };
        let place = self.wc.abspath(&relpath);
        let shown = place.display();
        fs::rename(&text.temporary, &place).map_err(|e| {
            SvnError::io(&e, format!("Can't move '{}' to '{shown}'", text.temporary.display()))
        })?;
        if expected.is_some_and(|expected| expected != text.md5) {
            let message = format!("Checksum mismatch for '{shown}'");
            return Err(SvnError::new(ErrorCode::CHECKSUM_MISMATCH, message));
        }
        Ok(())
    }

    fn set(&self, handle: Handle, name: &str, value: Option<&[u8]>) -> SvnResult<()> {
        if kind_of(name) != PropKind::Regular || name == names::MERGEINFO {
            return Ok(());
        }
        let change = Change { name, value, force: false };
        let relpath = self.relpath(handle)?;
        let all = std::collections::HashSet::new();
        self.wc.set_prop(&relpath, change, Depth::Empty, &all, self.ctx.cancel(), &|_| {})?;
        Ok(())
    }
}

impl StepEditor for Adder<'_> {
    fn step(&mut self, step: EditStep<'_>) -> SvnResult<Handle> {
        match step {
            EditStep::OpenRoot(_) => return self.add_dir(self.root.clone()),
            EditStep::Add { kind: NodeKind::Dir, path, .. } => {
                let relpath = self.place(path)?;
                return self.add_dir(relpath);
            }
            EditStep::Add { kind: NodeKind::File, path, .. } => return self.add_file(path),
            EditStep::Open { path, .. } => {
                let relpath = self.place(path)?;
                return Ok(self.begin(relpath));
            }
            EditStep::Prop { node, name, value, .. } => self.set(node, name, value)?,
            EditStep::Text { delta, .. } => self.receive(delta)?,
            EditStep::CloseFile { file, text } => self.end_file(file, text)?,
            EditStep::CloseDirectory(dir) => {
                self.open.remove(&dir.0);
            }
            EditStep::TargetRevision(_)
            | EditStep::Delete { .. }
            | EditStep::Absent { .. }
            | EditStep::CloseEdit
            | EditStep::AbortEdit => {}
        }
        Ok(Handle::NONE)
    }
}
