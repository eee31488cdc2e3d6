//! The editor that writes a replayed revision: flat, in the order of the calls, as the client
//! plays it.

use sapwood_core::paths::RelPath;
use sapwood_core::{Md5, Revnum, SvnResult, base64};
use sapwood_delta::{Editor, Handle, TextDelta, Version};

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
        self.sink.relieve()?;
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

    fn add(&mut self, what: &str, path: &str, from: Option<(&str, Revnum)>) -> SvnResult<Handle> {
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
        Ok(Handle(0))
    }

    fn open(&mut self, what: &str, path: &str, base: Option<Revnum>) -> SvnResult<Handle> {
        let out = self.out()?;
        out.raw(what);
        out.attribute("name", path);
        revision(out, base);
        out.raw("/>\n");
        Ok(Handle(0))
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

impl<S: Sink> Editor for ReplayEditor<S> {
    sapwood_delta::ignore_absent!();
    sapwood_delta::nothing_to_abort!();

    fn set_target_revision(&mut self, target: Revnum) -> SvnResult<()> {
        let out = self.out()?;
        out.raw("<S:target-revision");
        revision(out, Some(target));
        out.raw("/>\n");
        Ok(())
    }

    fn open_root(&mut self, base: Option<Revnum>) -> SvnResult<Handle> {
        let out = self.out()?;
        out.raw("<S:open-root");
        revision(out, base);
        out.raw("/>\n");
        Ok(Handle(0))
    }

    fn delete_entry(&mut self, path: &RelPath, rev: Option<Revnum>, _: Handle) -> SvnResult<()> {
        let out = self.out()?;
        out.raw("<S:delete-entry");
        out.attribute("name", path);
        revision(out, rev);
        out.raw("/>\n");
        Ok(())
    }

    fn add_directory(
        &mut self,
        path: &RelPath,
        _: Handle,
        from: Option<(&str, Revnum)>,
    ) -> SvnResult<Handle> {
        self.add("<S:add-directory", path, from)
    }

    fn open_directory(
        &mut self,
        path: &RelPath,
        _: Handle,
        base: Option<Revnum>,
    ) -> SvnResult<Handle> {
        self.open("<S:open-directory", path, base)
    }

    fn change_dir_prop(&mut self, _: Handle, name: &str, value: Option<&[u8]>) -> SvnResult<()> {
        self.prop("S:change-dir-prop", name, value)
    }

    fn close_directory(&mut self, _: Handle) -> SvnResult<()> {
        self.out()?.raw("<S:close-directory/>\n");
        Ok(())
    }

    fn add_file(
        &mut self,
        path: &RelPath,
        _: Handle,
        from: Option<(&str, Revnum)>,
    ) -> SvnResult<Handle> {
        self.add("<S:add-file", path, from)
    }

    fn open_file(&mut self, path: &RelPath, _: Handle, base: Option<Revnum>) -> SvnResult<Handle> {
        self.open("<S:open-file", path, base)
    }

    fn apply_textdelta(
        &mut self,
        _: Handle,
        base: Option<Md5>,
        delta: &mut dyn TextDelta,
    ) -> SvnResult<()> {
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

    fn change_file_prop(&mut self, _: Handle, name: &str, value: Option<&[u8]>) -> SvnResult<()> {
        self.prop("S:change-file-prop", name, value)
    }

    fn close_file(&mut self, _: Handle, text: Option<Md5>) -> SvnResult<()> {
        let out = self.out()?;
        out.raw("<S:close-file");
        if let Some(text) = text {
            out.attribute("checksum", &text.to_hex());
        }
        out.raw("/>\n");
        Ok(())
    }

    fn close_edit(&mut self) -> SvnResult<()> {
        Ok(())
    }
}
