//! The editor that writes a replayed revision: flat, in the order of the calls, as the client
//! plays it.

use sapwood_core::paths::RelPath;
use sapwood_core::{Md5, NodeKind, Revnum, SvnResult, base64};
use sapwood_delta::{EditStep, Handle, StepEditor, TextDelta, Version};

use super::{Sink, reply};
use crate::xml::{HEADER, Xml as _};

/// Writes an edit as an `editor-report`.
#[derive(Debug)]
pub struct ReplayEditor<S> {
    sink: S,
    version: Version,
    level: u8,
    started: bool,
}

impl<S: Sink> ReplayEditor<S> {
    /// An editor that has written nothing.
    pub fn new(sink: S, version: Version, level: u8) -> Self {
        Self { sink, version, level, started: false }
    }

    fn out(&mut self) -> SvnResult<&mut Vec<u8>> {
        self.sink.flush_if_large()?;
        let out = self.sink.buffer();
        if !self.started {
            self.started = true;
            out.raw(HEADER);
            out.raw("<S:editor-report xmlns:S=\"svn:\">\n");
        }
        Ok(out)
    }

    /// Ends the report.
    ///
    /// # Errors
    /// What the connection meets.
    pub fn finish(mut self) -> SvnResult<()> {
        self.out()?.raw("</S:editor-report>\n");
        Ok(())
    }

    fn add(&mut self, what: &str, path: &str, from: Option<(&str, Revnum)>) -> SvnResult<()> {
        let out = self.out()?;
        out.raw(what);
        out.attribute("name", path);
        if let Some((path, revision)) = from {
            out.attribute("copyfrom-path", path);
            out.raw(" copyfrom-rev=\"");
            out.number(revision.0);
            out.raw("\"");
        }
        out.raw("/>\n");
        Ok(())
    }

    fn prop(&mut self, what: &str, name: &str, value: Option<&[u8]>) -> SvnResult<()> {
        let out = self.out()?;
        out.raw("<");
        out.raw(what);
        out.attribute("name", name);
        match value {
            Some(value) => {
                out.raw(">");
                out.raw(&base64::encode_lines(value));
                out.raw("</");
                out.raw(what);
                out.raw(">\n");
            }
            None => out.raw(" del=\"true\"/>\n"),
        }
        Ok(())
    }
}

/// Appends ` rev="N"`; -1 for none.
pub(super) fn revision(out: &mut Vec<u8>, revision: Option<Revnum>) {
    out.raw(" rev=\"");
    match revision {
        Some(revision) => out.number(revision.0),
        None => out.raw("-1"),
    }
    out.raw("\"");
}

impl<S: Sink> ReplayEditor<S> {
    /// An element with a revision and perhaps a path.
    fn empty(&mut self, what: &str, path: Option<&RelPath>, rev: Option<Revnum>) -> SvnResult<()> {
        let out = self.out()?;
        out.raw(what);
        if let Some(path) = path {
            out.attribute("name", path);
        }
        revision(out, rev);
        out.raw("/>\n");
        Ok(())
    }

    fn text(&mut self, base: Option<Md5>, delta: &mut dyn TextDelta) -> SvnResult<()> {
        let out = self.out()?;
        out.raw("<S:apply-textdelta");
        if let Some(base) = base {
            out.attribute("checksum", &base.to_hex());
        }
        out.raw(">");
        reply::text_delta(&mut self.sink, delta, self.version, self.level)?;
        self.sink.buffer().raw("</S:apply-textdelta>\n");
        Ok(())
    }

    fn close_file(&mut self, text: Option<Md5>) -> SvnResult<()> {
        let out = self.out()?;
        out.raw("<S:close-file");
        if let Some(text) = text {
            out.attribute("checksum", &text.to_hex());
        }
        out.raw("/>\n");
        Ok(())
    }
}

impl<S: Sink> StepEditor for ReplayEditor<S> {
    fn step(&mut self, step: EditStep<'_>) -> SvnResult<Handle> {
        use NodeKind::{Dir, File};
        match step {
            EditStep::TargetRevision(target) => {
                self.empty("<S:target-revision", None, Some(target))?;
            }
            EditStep::OpenRoot(base) => self.empty("<S:open-root", None, base)?,
            EditStep::Delete { path, revision, .. } => {
                self.empty("<S:delete-entry", Some(path), revision)?;
            }
            EditStep::Add { kind: Dir, path, copy_from, .. } => {
                self.add("<S:add-directory", path, copy_from)?;
            }
            EditStep::Add { kind: File, path, copy_from, .. } => {
                self.add("<S:add-file", path, copy_from)?;
            }
            EditStep::Open { kind: Dir, path, base, .. } => {
                self.empty("<S:open-directory", Some(path), base)?;
            }
            EditStep::Open { kind: File, path, base, .. } => {
                self.empty("<S:open-file", Some(path), base)?;
            }
            EditStep::Prop { kind: Dir, name, value, .. } => {
                self.prop("S:change-dir-prop", name, value)?;
            }
            EditStep::Prop { kind: File, name, value, .. } => {
                self.prop("S:change-file-prop", name, value)?;
            }
            EditStep::Text { base, delta, .. } => self.text(base, delta)?,
            EditStep::CloseDirectory(_) => self.out()?.raw("<S:close-directory/>\n"),
            EditStep::CloseFile { text, .. } => self.close_file(text)?,
            EditStep::Absent { .. } | EditStep::CloseEdit | EditStep::AbortEdit => {}
        }
        Ok(Handle::NONE)
    }
}
