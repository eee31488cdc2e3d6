//! A diff as text: an index line for each node, the header, the hunks, and what changed in the
//! properties.

use std::borrow::Cow;
use std::io::{self, Write};

use sapwood_core::exact::Cut;
use sapwood_core::paths::{RelPath, RelPathBuf};
use sapwood_core::props::{is_binary_mime_type, names};
use sapwood_core::{PropList, Revnum, SvnError, SvnResult, path, uri};
use sapwood_diff::{
    EQUAL_LINE, LargeDiff, LargeText as _, Options, props, unified, write_binary, write_header,
};

use super::git::{self, Operation};
use super::sides::{CopySource, Difference, DirSide, FileSide, Processor, Text};

/// The longest text that is compared in memory.
const IN_MEMORY: u64 = 4 << 20;

/// Compares two files with another program: gets the labels, the files, and where output goes.
pub type ExternalDiff<'a> = &'a dyn Fn([&str; 2], [&Text; 2], &mut dyn Write) -> SvnResult<()>;

/// What a diff shows, and how.
#[derive(Clone, Copy)]
#[allow(clippy::struct_excessive_bools, reason = "each is an option of the command line")]
pub struct Style<'a> {
    /// What counts as a difference.
    pub options: Options,
    /// Another program that compares.
    pub external: Option<ExternalDiff<'a>>,
    /// Added files are only named.
    pub no_added: bool,
    /// Deleted files are only named.
    pub no_deleted: bool,
    /// Copies are shown as if they were new.
    pub copies_as_adds: bool,
    /// Binary files are compared too.
    pub force_binary: bool,
    /// Properties are not shown.
    pub ignore_props: bool,
    /// Nothing but properties is shown.
    pub props_only: bool,
    /// Headers as git has them.
    pub git: bool,
    /// Turns a header's text into what the terminal shows.
    pub encode: fn(&str) -> Cow<'_, [u8]>,
}

/// What the labels of a diff are made of.
#[derive(Clone, Debug, Default)]
pub struct LabelParts {
    /// What is put before paths: a local path as it was typed.
    pub anchor: Option<String>,
    /// The targets: URLs or local paths.
    pub originals: [String; 2],
    /// The path in the repository that git's headers start from; else the working copy says it.
    pub session_relpath: Option<RelPathBuf>,
}

/// Finds the path in the repository of a path below the current folder.
pub(crate) type FindRepos<'a> = &'a dyn Fn(&str) -> SvnResult<String>;

/// Writes a diff.
pub struct Writer<'a> {
    /// What it shows.
    pub style: Style<'a>,
    /// What its labels are made of.
    pub places: LabelParts,
    /// For git's headers.
    pub find: FindRepos<'a>,
    /// Where it goes.
    pub out: &'a mut dyn Write,
}

/// A revision in a label.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Of {
    Revision(Revnum),
    WorkingCopy,
    Nonexistent,
}

impl From<Option<Revnum>> for Of {
    fn from(revision: Option<Revnum>) -> Self {
        revision.map_or(Self::WorkingCopy, Self::Revision)
    }
}

fn label(path: &str, of: Of) -> String {
    match of {
        Of::Revision(revision) => format!("{path}\t(revision {revision})"),
        Of::WorkingCopy => format!("{path}\t(working copy)"),
        Of::Nonexistent => format!("{path}\t(nonexistent)"),
    }
}

/// The hunks of a comparison.
enum Hunks<'t> {
    Memory(Vec<u8>),
    /// Of texts that are read again when they are written.
    Large(LargeDiff<'t>),
}

impl Hunks<'_> {
    fn is_empty(&self) -> bool {
        match self {
            Self::Memory(hunks) => hunks.is_empty(),
            Self::Large(diff) => !diff.has_changes(),
        }
    }
}

/// Index path, and the paths for both labels.
struct DisplayPaths {
    index: String,
    labels: [String; 2],
}

/// One comparison of contents.
struct Comparison<'c> {
    path: &'c RelPath,
    texts: [&'c Text; 2],
    of: [Of; 2],
    props: [&'c PropList; 2],
    operation: Operation<'c>,
    /// Whether the header is wanted though nothing differs.
    force: bool,
}

fn wrote(error: &io::Error) -> SvnError {
    SvnError::io(error, "Can't write to stream")
}

impl Writer<'_> {
    fn line(&mut self, text: &str) -> SvnResult<()> {
        let bytes = (self.style.encode)(text);
        self.out.write_all(&bytes).and_then(|()| self.out.write_all(b"\n")).map_err(|e| wrote(&e))
    }

    fn bytes(&mut self, bytes: &[u8]) -> SvnResult<()> {
        self.out.write_all(bytes).map_err(|e| wrote(&e))
    }

    fn index_path(&self, relpath: &RelPath) -> String {
        match &self.places.anchor {
            Some(anchor) => path::join(anchor, relpath),
            None => relpath.to_string(),
        }
    }

    /// The paths of a comparison; where the targets differ, labels say in what.
    fn display_paths(&self, relpath: &RelPath) -> DisplayPaths {
        let mut index = self.index_path(relpath);
        let [first, second] = &self.places.originals;
        let common = common_length(first, second);
        if index.is_empty() {
            index = ".".to_owned();
        }
        let own = |original: &str| {
            let rest = original.tail(common);
            if rest.is_empty() {
                index.clone()
            } else if uri::is_url(rest) {
                format!("{index}\t({rest})")
            } else if rest.starts_with('/') {
                format!("{index}\t(...{rest})")
            } else {
                format!("{index}\t(.../{rest})")
            }
        };
        let labels = [own(first), own(second)];
        DisplayPaths { index, labels }
    }

    fn index(&mut self, index: &str, suffix: &str) -> SvnResult<()> {
        self.line(&format!("Index: {index}{suffix}"))?;
        self.line(EQUAL_LINE)
    }

    /// The path in the repository, for git's headers.
    /// Whether a side is in a working copy: its paths are those that the other local side has too.
    fn is_local(&self, side: usize) -> bool {
        let original = self.places.originals.get(side).map_or("", String::as_str);
        self.places.anchor.is_some() && !uri::is_url(original)
    }

    fn repos_relpath(&self, relpath: &RelPath, side: usize) -> SvnResult<String> {
        match &self.places.session_relpath {
            Some(session) if !self.is_local(side) => Ok(path::join(session, relpath)),
            Some(session) => {
                (self.find)(&self.index_path(relpath)).or_else(|_| Ok(path::join(session, relpath)))
            }
            None => (self.find)(&self.index_path(relpath)),
        }
    }

    fn git_header(
        &mut self,
        comparison: &Comparison<'_>,
        hashes: Option<&str>,
    ) -> SvnResult<[String; 2]> {
        let left = self.repos_relpath(comparison.path, 0)?;
        let right = match self.is_local(0) == self.is_local(1) {
            true => left.clone(),
            false => self.repos_relpath(comparison.path, 1)?,
        };
        let paths = [left, right];
        let header = git::header(&comparison.operation, &paths, comparison.props, hashes);
        for line in header.lines {
            self.line(&line)?;
        }
        let [left, right] = comparison.of;
        let [first, second] = header.labels;
        Ok([label(&first, left), label(&second, right)])
    }

    /// Compares contents; whether the header was written.
    fn contents(&mut self, comparison: &Comparison<'_>) -> SvnResult<bool> {
        if self.style.props_only {
            return Ok(false);
        }
        let shown = self.display_paths(comparison.path);
        let [left, right] = comparison.of;
        let [first, second] = &shown.labels;
        let mut labels = [label(first, left), label(second, right)];
        let [left_props, right_props] = comparison.props;
        let types = [left_props, right_props].map(|p| p.get_str(names::MIME_TYPE));
        let binary = types.map(|t| t.is_some_and(|t| is_binary_mime_type(t.as_bytes())));
        let [mut old, mut new] = comparison.texts.map(Clone::clone);
        let mut hashes = None;
        if self.style.git {
            let left_hash = git::plain_link(&mut old, left_props)?;
            let right_hash = git::plain_link(&mut new, right_props)?;
            hashes = left_hash.zip(right_hash).map(|(l, r)| format!("{l}..{r}"));
        }
        if !self.style.force_binary && binary != [false, false] {
            self.index(&shown.index, "")?;
            if self.style.git {
                self.git_header(comparison, hashes.as_deref())?;
                write_binary(self.out, &old, &new).map_err(|e| wrote(&e))?;
            } else {
                self.binary(types, binary)?;
            }
            return Ok(true);
        }
        if let Some(external) = self.style.external {
            self.index(&shown.index, "")?;
            self.out.flush().map_err(|e| wrote(&e))?;
            let [first, second] = &labels;
            external([first, second], [&old, &new], self.out)?;
            return Ok(true);
        }
        let options = self.style.options;
        let hunks = if old.len().max(new.len()) <= IN_MEMORY {
            let mut hunks = Vec::new();
            unified(&options, &old.read()?, &new.read()?, &mut hunks);
            Hunks::Memory(hunks)
        } else {
            Hunks::Large(LargeDiff::new(options, &old, &new).map_err(SvnError::from_stream)?)
        };
        if hunks.is_empty() && !comparison.force && !self.style.git {
            return Ok(false);
        }
        self.index(&shown.index, "")?;
        if self.style.git {
            labels = self.git_header(comparison, hashes.as_deref())?;
        }
        if !hunks.is_empty() {
            self.labels(&labels)?;
            match hunks {
                Hunks::Memory(hunks) => self.bytes(&hunks)?,
                Hunks::Large(diff) => diff.write(self.out).map_err(|e| wrote(&e))?,
            }
        }
        Ok(true)
    }

    fn labels(&mut self, [first, second]: &[String; 2]) -> SvnResult<()> {
        let mut header = Vec::new();
        write_header(&mut header, first, second);
        let text = String::from_utf8_lossy(&header).into_owned();
        let encoded = (self.style.encode)(&text).into_owned();
        self.bytes(&encoded)
    }

    fn binary(&mut self, types: [Option<&str>; 2], binary: [bool; 2]) -> SvnResult<()> {
        self.line("Cannot display: file marked as a binary type.")?;
        let [left, right] = types.map(|media| media.unwrap_or(""));
        let shown = match binary {
            [true, false] => left.to_owned(),
            [true, true] if left != right => format!("({left}, {right})"),
            _ => right.to_owned(),
        };
        self.line(&format!("svn:mime-type = {shown}"))
    }

    /// What changed in the properties.
    fn props(
        &mut self,
        relpath: &RelPath,
        sides: [&PropList; 2],
        of: [Of; 2],
        header: bool,
    ) -> SvnResult<()> {
        let [left, right] = sides;
        if self.style.ignore_props || left == right {
            return Ok(());
        }
        let shown = self.display_paths(relpath);
        if header {
            let [first, second] = &shown.labels;
            let [from, to] = of;
            let mut labels = [label(first, from), label(second, to)];
            self.index(&shown.index, "")?;
            if self.style.git {
                let comparison = Comparison {
                    path: relpath,
                    texts: [&Text::Empty, &Text::Empty],
                    of,
                    props: sides,
                    operation: Operation::Modified,
                    force: true,
                };
                labels = self.git_header(&comparison, None)?;
            }
            self.labels(&labels)?;
        }
        let heading = if self.style.git { self.repos_relpath(relpath, 0)? } else { shown.index };
        let mut out = Vec::new();
        props::write_heading(&mut out, &heading);
        let text = String::from_utf8_lossy(&out).into_owned();
        let encoded = (self.style.encode)(&text).into_owned();
        self.bytes(&encoded)?;
        let mut out = Vec::new();
        props::write_changes(&mut out, left, right, true, Options::DEFAULT_CONTEXT);
        self.bytes(&out)
    }
}

/// How much two targets have in common at their start: whole names.
fn common_length(first: &str, second: &str) -> usize {
    match (uri::is_url(first), uri::is_url(second)) {
        (true, true) => uri::common_ancestor(first, second).map_or(0, str::len),
        (false, false) => path::common_ancestor(first, second).len(),
        _ => 0,
    }
}

impl Processor for Writer<'_> {
    fn take(&mut self, path: &RelPath, what: Difference<'_>) -> SvnResult<()> {
        match what {
            Difference::FileAdded(source, right) => self.file_added(path, source, right),
            Difference::FileDeleted(left) => self.file_deleted(path, left),
            Difference::FileChanged { left, right, text } => {
                self.file_changed(path, [left, right], text)
            }
            Difference::DirAdded(source, right) => self.dir_added(path, source, right),
            Difference::DirDeleted(left) => self.dir_deleted(path, left),
            Difference::DirChanged(left, right) => {
                let of = [left.revision.into(), right.revision.into()];
                self.props(path, [&left.props, &right.props], of, true)
            }
        }
    }
}

impl Writer<'_> {
    fn file_added(
        &mut self,
        path: &RelPath,
        source: Option<&CopySource>,
        right: &FileSide,
    ) -> SvnResult<()> {
        if self.style.no_added {
            let index = self.index_path(path);
            return self.index(&index, " (added)");
        }
        let source = source.filter(|_| !self.style.copies_as_adds);
        let none = PropList::new();
        let (text, props, from) = match source {
            Some(source) => (&source.text, &source.props, source.revision.into()),
            None => (&Text::Empty, &none, Of::Nonexistent),
        };
        let of = [from, right.revision.into()];
        let operation = match source {
            None => Operation::Added,
            Some(CopySource { moved_from: Some(from), .. }) => Operation::Moved(from),
            Some(copy) => Operation::Copied(&copy.repos_relpath, copy.revision),
        };
        let wrote = self.contents(&Comparison {
            path,
            texts: [text, &right.text],
            of,
            props: [props, &right.props],
            operation,
            force: true,
        })?;
        self.props(path, [props, &right.props], of, !wrote)
    }

    fn file_deleted(&mut self, path: &RelPath, left: &FileSide) -> SvnResult<()> {
        if self.style.no_deleted {
            let index = self.index_path(path);
            return self.index(&index, " (deleted)");
        }
        let none = PropList::new();
        let of = [left.revision.into(), Of::Nonexistent];
        let wrote = self.contents(&Comparison {
            path,
            texts: [&left.text, &Text::Empty],
            of,
            props: [&left.props, &none],
            operation: Operation::Deleted,
            force: false,
        })?;
        self.props(path, [&left.props, &none], of, !wrote)
    }

    fn file_changed(
        &mut self,
        path: &RelPath,
        [left, right]: [&FileSide; 2],
        text: bool,
    ) -> SvnResult<()> {
        let of = [left.revision.into(), right.revision.into()];
        let props = [&left.props, &right.props];
        let mut wrote = false;
        if text {
            wrote = self.contents(&Comparison {
                path,
                texts: [&left.text, &right.text],
                of,
                props,
                operation: Operation::Modified,
                force: false,
            })?;
        }
        self.props(path, props, of, !wrote)
    }

    fn dir_added(
        &mut self,
        path: &RelPath,
        source: Option<&CopySource>,
        right: &DirSide,
    ) -> SvnResult<()> {
        if self.style.no_added {
            return Ok(());
        }
        let source = source.filter(|_| !self.style.copies_as_adds);
        let none = PropList::new();
        let (props, from) = match source {
            Some(source) => (&source.props, source.revision.into()),
            None => (&none, Of::Nonexistent),
        };
        self.props(path, [props, &right.props], [from, right.revision.into()], true)
    }

    fn dir_deleted(&mut self, path: &RelPath, left: &DirSide) -> SvnResult<()> {
        if self.style.no_deleted {
            return Ok(());
        }
        let of = [left.revision.into(), Of::Nonexistent];
        self.props(path, [&left.props, &PropList::new()], of, true)
    }
}
