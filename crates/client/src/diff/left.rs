//! The left side of many files, fetched by one request.
//!
//! A report says that a tree is here, in its own revision, but for these files: the other side brings them
//! and nothing else. Every server answers that, and it is one request where a `get-file` a file would be one for each.
//! Large texts are not kept: each is requested when its turn comes.

use std::collections::HashMap;
use std::io;

use sapwood_core::checksum::Md5Reader;
use sapwood_core::exact::Exact;
use sapwood_core::paths::{RelPath, RelPathBuf};
use sapwood_core::{Depth, Md5, NodeKind, PropList, Revnum, SvnError, SvnResult};
use sapwood_delta::apply::ApplyReader;
use sapwood_delta::{EditStep, Handle, ReportEntry, StepEditor, TextDelta};
use sapwood_diff::LargeText as _;
use sapwood_ra::{ReportKind, ReportRequest, Session};

use super::regular::{is_regular, regular, wrong_handle};
use super::sides::{Keeper, Text};

/// The most bytes of text that are kept; later texts are not.
const BYTES: u64 = 32 << 20;

/// A file of the left side.
pub(crate) struct LeftFile {
    pub(crate) text: Text,
    pub(crate) props: PropList,
}

/// Asks for one file.
pub(super) fn fetch(
    session: &dyn Session,
    revision: Revnum,
    at: &RelPath,
    text: bool,
) -> SvnResult<LeftFile> {
    let mut kept = Keeper::default();
    let to: Option<&mut dyn io::Write> = if text { Some(&mut kept) } else { None };
    let found = session.get_file(at, Some(revision), to, true)?;
    let text = if text { kept.finish()? } else { Text::Empty };
    Ok(LeftFile { text, props: regular(&found.props) })
}

/// Asks for many, with their texts or for the properties only. Some may be missing in what comes.
pub(crate) fn fetch_all(
    session: &dyn Session,
    revision: Revnum,
    paths: &[&RelPath],
    texts: bool,
) -> SvnResult<HashMap<RelPathBuf, LeftFile>> {
    let mut gather = Gather { texts, ..Gather::default() };
    let kind = match texts {
        true => ReportKind::Update { send_copyfrom: false, ignore_ancestry: true },
        false => ReportKind::Status,
    };
    let request =
        ReportRequest { revision: Some(revision), target: "", depth: Depth::Infinity, kind };
    let mut report = session.report(&request, &mut gather)?;
    report.entry(&ReportEntry::new(RelPath::ROOT, revision, Depth::Infinity))?;
    for path in paths {
        report.delete_path(path)?;
    }
    report.finish()?;
    Ok(gather.found)
}

/// A file on its way.
struct PendingFile {
    path: RelPathBuf,
    left: LeftFile,
    /// The checksum of what came.
    sum: Option<Md5>,
}

/// Takes the edit.
#[derive(Default)]
struct Gather {
    texts: bool,
    found: HashMap<RelPathBuf, LeftFile>,
    bytes: u64,
    coming: HashMap<u64, PendingFile>,
    next: u64,
}

impl Gather {
    fn coming(&mut self, file: Handle) -> SvnResult<&mut PendingFile> {
        self.coming.get_mut(&file.0).ok_or_else(wrong_handle)
    }

    fn open_file(&mut self, path: &RelPath) -> Handle {
        self.next = self.next.wrapping_add(1);
        let left = LeftFile { text: Text::Empty, props: PropList::new() };
        self.coming.insert(self.next, PendingFile { path: path.to_owned(), left, sum: None });
        Handle(self.next)
    }

    fn receive(&mut self, file: Handle, delta: &mut dyn TextDelta) -> SvnResult<()> {
        if !self.texts || self.bytes > BYTES {
            return Ok(());
        }
        let mut text = Md5Reader::new(ApplyReader::new(delta, io::empty()));
        let kept = Text::keep(&mut text)?;
        self.bytes.tally(kept.len());
        let coming = self.coming(file)?;
        coming.sum = Some(text.finish());
        coming.left.text = kept;
        Ok(())
    }

    fn close_file(&mut self, file: Handle, expected: Option<Md5>) -> SvnResult<()> {
        let PendingFile { path, left, sum } =
            self.coming.remove(&file.0).ok_or_else(wrong_handle)?;
        if self.texts {
            // One that was not kept is missing in what comes.
            let Some(actual) = sum else { return Ok(()) };
            if let Some(expected) = expected.filter(|expected| *expected != actual) {
                return Err(SvnError::checksum_mismatch(&path, expected, actual));
            }
        }
        self.found.insert(path, left);
        Ok(())
    }
}

impl StepEditor for Gather {
    fn step(&mut self, step: EditStep<'_>) -> SvnResult<Handle> {
        match step {
            EditStep::Add { kind: NodeKind::File, path, .. }
            | EditStep::Open { kind: NodeKind::File, path, .. } => return Ok(self.open_file(path)),
            EditStep::Text { file, delta, .. } => self.receive(file, delta)?,
            EditStep::Prop { kind: NodeKind::File, node, name, value: Some(value) }
                if is_regular(name) =>
            {
                self.coming(node)?.left.props.set(name, value);
            }
            EditStep::CloseFile { file, text } => self.close_file(file, text)?,
            _ => {}
        }
        Ok(Handle::NONE)
    }
}
