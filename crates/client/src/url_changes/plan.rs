//! The changes of one commit, as a tree of operations below the session's URL.
//!
//! Each change is checked against the repository and against the changes before it, in the
//! reference's words. Operations are in one list and know each other by number, so that no depth
//! of paths can exhaust the stack.

use std::io::{Read, Write};

use sapwood_core::paths::RelPath;
use sapwood_core::props::names;
use sapwood_core::{ErrorCode, NodeKind, PropList, Revnum, SvnError, SvnResult, path};
use sapwood_ra::Session;
use sapwood_wc::props::rules::{FileForCheck, canonicalize};

use super::props;
use crate::props::NewlineWriter;

/// Where a file's new contents come from.
pub trait Source: std::fmt::Debug {
    /// Checks that it can be opened. Called once, when the change is planned, so that a failure is
    /// reported before the commit begins.
    ///
    /// # Errors
    /// Why it cannot.
    fn prepare(&mut self) -> SvnResult<()>;

    /// Its name in error messages.
    fn display_path(&self) -> String;

    /// Opens it: is called once, when the text is sent. There may be more sources than files can be open
    /// at one time.
    ///
    /// # Errors
    /// Why it cannot.
    fn open(&self) -> SvnResult<Box<dyn Read + '_>>;

    /// Opens it for a look at its contents before; `None` for what can be read only once.
    ///
    /// # Errors
    /// Why it cannot be opened.
    fn look(&self) -> SvnResult<Option<Box<dyn Read + '_>>>;
}

/// The change of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    OpenDir,
    OpenFile,
    AddDir,
    AddFile,
    Delete,
}

impl Kind {
    pub(super) fn is_dir(self) -> bool {
        matches!(self, Self::OpenDir | Self::AddDir)
    }

    fn is_file(self) -> bool {
        matches!(self, Self::OpenFile | Self::AddFile)
    }

    fn is_addition(self) -> bool {
        matches!(self, Self::AddDir | Self::AddFile)
    }
}

/// One operation.
#[derive(Debug)]
pub(super) struct Operation {
    pub(super) name: String,
    pub(super) kind: Kind,
    /// Numbers of the operations below; `None` for what is no directory.
    pub(super) children: Option<Vec<usize>>,
    /// Where it is copied from, a relpath below the session's URL.
    pub(super) copy_from: Option<(String, Revnum)>,
    pub(super) props: Vec<(String, Option<Vec<u8>>)>,
    pub(super) source: Option<Box<dyn Source>>,
    /// Whether the repository was asked what this is.
    checked: bool,
}

impl Operation {
    fn open(name: &str, dir: bool) -> Self {
        Self {
            name: name.to_owned(),
            kind: if dir { Kind::OpenDir } else { Kind::OpenFile },
            children: dir.then(Vec::new),
            copy_from: None,
            props: Vec::new(),
            source: None,
            checked: false,
        }
    }
}

/// The changes of one commit.
pub struct Plan<'s> {
    pub(super) session: &'s dyn Session,
    pub(super) base: Revnum,
    head: Revnum,
    /// The first is the root.
    pub(super) operations: Vec<Operation>,
}

/// A file as it is after the changes so far, for the checks of properties.
struct PlannedFile<'p, 's> {
    plan: &'p Plan<'s>,
    relpath: &'p str,
}

impl PlannedFile<'_, '_> {
    /// The repository's node, if any.
    fn fetch(&self, contents: Option<&mut dyn Write>) -> SvnResult<Option<PropList>> {
        let Some((origin, revision)) = self.plan.origin(self.relpath) else { return Ok(None) };
        let origin = RelPath::trusted(&origin);
        let wants_props = contents.is_none();
        let found = self.plan.session.get_file(origin, Some(revision), contents, wants_props)?;
        Ok(Some(found.props))
    }
}

impl FileForCheck for PlannedFile<'_, '_> {
    fn mime_type(&mut self) -> SvnResult<Option<Vec<u8>>> {
        let planned = self.plan.planned(self.relpath).and_then(|operation| {
            operation.props.iter().find(|(name, _)| name == names::MIME_TYPE)
        });
        if let Some((_, value)) = planned {
            return Ok(value.clone());
        }
        let props = self.fetch(None)?;
        Ok(props.and_then(|props| props.get(names::MIME_TYPE).map(<[u8]>::to_vec)))
    }

    fn has_consistent_newlines(&mut self) -> SvnResult<bool> {
        let mut lines = NewlineWriter::default();
        let source = self.plan.planned(self.relpath).and_then(|found| found.source.as_ref());
        match source.map(|source| source.look()).transpose()?.flatten() {
            Some(mut text) => {
                std::io::copy(&mut text, &mut lines).map_err(|e| {
                    let shown = source.map_or(String::new(), |source| source.display_path());
                    SvnError::io(&e, format!("Can't read {shown}"))
                })?;
            }
            None => drop(self.fetch(Some(&mut lines))?),
        }
        Ok(lines.consistent())
    }
}

/// The number of the root operation.
pub(super) const ROOT: usize = 0;

fn error(code: ErrorCode, text: String) -> SvnError {
    SvnError::new(code, text)
}

/// A question for [`Plan::find`].
#[derive(Clone, Copy)]
struct Look {
    /// Whether the operation may be there already.
    existing: bool,
    /// Whether deletions count.
    deletions: bool,
}

const THERE: Look = Look { existing: true, deletions: false };

impl<'s> Plan<'s> {
    /// No changes yet, to `base` or the youngest revision.
    ///
    /// # Errors
    /// E160006 for a base that is not there.
    pub fn new(session: &'s dyn Session, base: Option<Revnum>) -> SvnResult<Self> {
        let head = session.latest_revnum()?;
        let base = base.unwrap_or(head);
        if base > head {
            return Err(error(
                ErrorCode::FS_NO_SUCH_REVISION,
                format!("No such revision {base} (HEAD is {head})"),
            ));
        }
        Ok(Self { session, base, head, operations: vec![Operation::open("", true)] })
    }

    pub(super) fn operation(&self, number: usize) -> Option<&Operation> {
        self.operations.get(number)
    }

    fn change(&mut self, number: usize, change: impl FnOnce(&mut Operation)) {
        if let Some(operation) = self.operations.get_mut(number) {
            change(operation);
        }
    }

    fn kind_of(&self, number: usize) -> Kind {
        self.operation(number).map_or(Kind::Delete, |o| o.kind)
    }

    /// Whether nothing was entered yet.
    pub(super) fn is_unmodified(&self) -> bool {
        self.operation(ROOT).is_none_or(|root| {
            matches!(root.kind, Kind::OpenDir | Kind::OpenFile)
                && root.props.is_empty()
                && root.children.as_ref().is_none_or(Vec::is_empty)
        })
    }

    /// The last child of this name.
    fn child(&self, number: usize, name: &str, deletions: bool) -> Option<usize> {
        let children = self.operation(number)?.children.as_ref()?;
        children.iter().rev().copied().find(|child| {
            self.operation(*child)
                .is_some_and(|o| o.name == name && (deletions || o.kind != Kind::Delete))
        })
    }

    /// The operation for `relpath`, if there is one.
    fn find(&self, relpath: &str, look: Look) -> Option<usize> {
        let mut number = ROOT;
        for name in path::components(relpath) {
            number = self.child(number, name, look.deletions)?;
        }
        look.existing.then_some(number)
    }

    /// The operation for `relpath`, made if there is none; whether it was made. `None` when there
    /// is one and there must not be.
    fn find_or_make(
        &mut self,
        relpath: &str,
        look: Look,
        file: bool,
    ) -> SvnResult<Option<(usize, bool)>> {
        let (mut number, mut made) = (ROOT, false);
        let mut names = path::components(relpath).peekable();
        while let Some(name) = names.next() {
            if self.operation(number).is_none_or(|o| o.children.is_none()) {
                let above = self.operation(number).map_or("", |o| o.name.as_str());
                return Err(error(
                    ErrorCode::FS_NOT_DIRECTORY,
                    format!("Can't operate on '{name}' because '{above}' is not a directory"),
                ));
            }
            number = match self.child(number, name, look.deletions) {
                Some(child) => child,
                None => {
                    let is_last = names.peek().is_none();
                    let child = self.operations.len();
                    self.operations.push(Operation::open(name, !(is_last && file)));
                    self.change(number, |o| o.children.get_or_insert_default().push(child));
                    made = is_last;
                    child
                }
            };
        }
        Ok((made || look.existing).then_some((number, made)))
    }

    /// Where `relpath` comes from in the repository; `None` when it does not come from there.
    fn origin(&self, relpath: &str) -> Option<(String, Revnum)> {
        // The deepest operation on the way that says something wins.
        let mut found = Some((relpath.to_owned(), self.base));
        let mut number = ROOT;
        let mut rest = relpath;
        loop {
            let operation = self.operation(number)?;
            if operation.kind.is_addition() {
                found = operation
                    .copy_from
                    .as_ref()
                    .map(|(from, revision)| (path::join(from, rest), *revision));
            }
            if rest.is_empty() {
                return found;
            }
            let (name, below) = rest.split_once('/').unwrap_or((rest, ""));
            match self.child(number, name, true) {
                None => return found,
                Some(child) if self.kind_of(child) == Kind::Delete => return None,
                Some(child) => (number, rest) = (child, below),
            }
        }
    }

    /// What `relpath` is with the changes so far. With `ask`, operations that only open are checked
    /// against the repository too.
    fn check_path(&mut self, relpath: &str, ask: bool) -> SvnResult<Option<NodeKind>> {
        let root_checked = self.operation(ROOT).is_some_and(|root| root.checked);
        if relpath.is_empty() && self.is_unmodified() && !root_checked {
            let kind = self.session.check_path(RelPath::ROOT, Some(self.base))?;
            self.change(ROOT, |root| {
                root.checked = true;
                if kind == Some(NodeKind::File) {
                    root.kind = Kind::OpenFile;
                    root.children = None;
                }
            });
            return Ok(kind);
        }
        let number = self.find(relpath, THERE);
        let settled = number.filter(|n| !ask || self.operation(*n).is_some_and(|o| o.checked));
        if let Some(number) = settled {
            return Ok(Some(if self.kind_of(number).is_dir() {
                NodeKind::Dir
            } else {
                NodeKind::File
            }));
        }
        let kind = match self.origin(relpath) {
            None => None,
            Some((origin, revision)) => {
                self.session.check_path(RelPath::trusted(&origin), Some(revision))?
            }
        };
        let Some(number) = number else { return Ok(kind) };
        let is = self.kind_of(number);
        match kind {
            Some(NodeKind::Dir) if is.is_file() => Err(error(
                ErrorCode::FS_NOT_FILE,
                format!("Can't perform file operation on '{relpath}' as it is not a file"),
            )),
            Some(NodeKind::File) if is.is_dir() => Err(error(
                ErrorCode::FS_NOT_DIRECTORY,
                format!(
                    "Can't perform directory operation on '{relpath}' as it is not a directory"
                ),
            )),
            None if matches!(is, Kind::OpenDir | Kind::OpenFile) => Err(error(
                ErrorCode::FS_NOT_FOUND,
                format!("Can't open '{relpath}' as it does not exist"),
            )),
            kind => {
                if kind.is_some() {
                    self.change(number, |o| o.checked = true);
                }
                Ok(kind)
            }
        }
    }

    /// Checks that nothing is at `relpath`.
    fn verify_create(&mut self, relpath: &str) -> SvnResult<()> {
        if !relpath.is_empty() || !self.is_unmodified() {
            if self.find(relpath, THERE).is_some() {
                return Err(error(
                    ErrorCode::FS_ALREADY_EXISTS,
                    format!(
                        "Path '{relpath}' already exists, or was created by an earlier operation"
                    ),
                ));
            }
            if self.find(relpath, Look { existing: true, deletions: true }).is_some() {
                return Ok(());
            }
        }
        if self.check_path(relpath, false)?.is_some() {
            return Err(error(
                ErrorCode::FS_ALREADY_EXISTS,
                format!("Path '{relpath}' already exists"),
            ));
        }
        Ok(())
    }

    /// A new operation at `relpath`; `refusal` is the error when there cannot be one.
    fn make(&mut self, relpath: &str, look: Look, file: bool, refusal: &str) -> SvnResult<usize> {
        if relpath.is_empty() && self.is_unmodified() {
            return Ok(ROOT);
        }
        match self.find_or_make(relpath, look, file)? {
            Some((number, true)) => Ok(number),
            _ => Err(error(ErrorCode::ILLEGAL_TARGET, format!("{refusal} at '{relpath}'"))),
        }
    }

    pub(super) fn mkdir(&mut self, relpath: &str) -> SvnResult<()> {
        self.verify_create(relpath)?;
        let new = Look { existing: false, deletions: false };
        let number = self.make(relpath, new, false, "Can't create directory")?;
        self.change(number, |o| o.kind = Kind::AddDir);
        Ok(())
    }

    pub(super) fn copy(&mut self, from: &str, revision: Option<Revnum>, to: &str) -> SvnResult<()> {
        let revision = revision.unwrap_or(self.head);
        if revision > self.head {
            return Err(error(
                ErrorCode::FS_NO_SUCH_REVISION,
                format!("No such revision {revision}"),
            ));
        }
        self.verify_create(to)?;
        let Some(kind) = self.session.check_path(RelPath::trusted(from), Some(revision))? else {
            return Err(error(
                ErrorCode::FS_NOT_FOUND,
                format!("Path '{from}' not found in revision {revision}"),
            ));
        };
        let file = kind == NodeKind::File;
        let new = Look { existing: false, deletions: false };
        let Some((number, true)) = self.find_or_make(to, new, file)? else {
            return Err(error(ErrorCode::ILLEGAL_TARGET, format!("Can't add node at '{to}'")));
        };
        self.change(number, |o| {
            o.kind = if file { Kind::AddFile } else { Kind::AddDir };
            o.copy_from = Some((from.to_owned(), revision));
        });
        Ok(())
    }

    pub(super) fn add_move(&mut self, from: &str, to: &str) -> SvnResult<()> {
        // A node made by earlier operations cannot be moved.
        if self.find(from, THERE).is_some_and(|n| self.kind_of(n).is_addition())
            || self.origin(from).as_ref() != Some(&(from.to_owned(), self.base))
        {
            return Err(error(
                ErrorCode::FS_NOT_FOUND,
                format!("No origin found for node at '{from}'"),
            ));
        }
        self.copy(from, Some(self.base), to)?;
        self.delete(from, true)
    }

    /// Whether something other than deletions happens at or below an operation.
    fn has_changes(&self, number: usize) -> bool {
        let mut open = vec![number];
        while let Some(operation) = open.pop().and_then(|n| self.operation(n)) {
            if operation.kind.is_addition()
                || !operation.props.is_empty()
                || operation.source.is_some()
            {
                return true;
            }
            open.extend(operation.children.iter().flatten());
        }
        false
    }

    pub(super) fn delete(&mut self, relpath: &str, for_move: bool) -> SvnResult<()> {
        if self.check_path(relpath, false)?.is_none() {
            return Err(error(
                ErrorCode::FS_NOT_FOUND,
                format!("Can't delete node at '{relpath}' as it does not exist"),
            ));
        }
        let new = Look { existing: false, deletions: true };
        let number = if relpath.is_empty() && self.is_unmodified() {
            Some(ROOT)
        } else {
            match self.find_or_make(relpath, new, true)? {
                Some((number, made)) => made.then_some(number),
                // A directory in which only deletions happened goes away as a whole.
                None if !for_move => self.find(relpath, THERE).filter(|n| !self.has_changes(*n)),
                None => None,
            }
        };
        let Some(number) = number else {
            return Err(error(
                ErrorCode::ILLEGAL_TARGET,
                format!("Can't delete node at '{relpath}'"),
            ));
        };
        self.change(number, |o| {
            o.kind = Kind::Delete;
            o.children = None;
            o.props.clear();
        });
        Ok(())
    }

    pub(super) fn put(&mut self, relpath: &str, mut source: Box<dyn Source>) -> SvnResult<()> {
        let mut kind = self.check_path(relpath, true)?;
        if kind == Some(NodeKind::Dir) {
            self.delete(relpath, false)?;
            kind = None;
        }
        source.prepare()?;
        if kind.is_none() {
            self.verify_create(relpath)?;
            let new = Look { existing: false, deletions: false };
            let number = self.make(relpath, new, true, "Can't add file")?;
            self.change(number, |o| {
                o.kind = Kind::AddFile;
                o.source = Some(source);
            });
            return Ok(());
        }
        let found = self.find_or_make(relpath, THERE, true)?.map(|(number, _)| number);
        let free =
            |n: &usize| self.operation(*n).is_some_and(|o| o.kind.is_file() && o.source.is_none());
        let Some(number) = found.filter(free) else {
            return Err(error(
                ErrorCode::ILLEGAL_TARGET,
                format!("Can't update file at '{relpath}'"),
            ));
        };
        self.change(number, |o| o.source = Some(source));
        Ok(())
    }

    pub(super) fn set_property(
        &mut self,
        relpath: &str,
        name: &str,
        value: Option<Vec<u8>>,
    ) -> SvnResult<()> {
        props::check_node_property(name)?;
        let kind = self.check_path(relpath, false)?;
        let value = match (value, kind) {
            (Some(_), None) if name.starts_with("svn:") => {
                let shown = if relpath.is_empty() { "." } else { relpath };
                return Err(error(
                    ErrorCode::NODE_UNEXPECTED_KIND,
                    format!("'{shown}' is not a file or directory"),
                ));
            }
            (Some(value), Some(kind)) if name.starts_with("svn:") => {
                let shown = if relpath.is_empty() { "." } else { relpath };
                let mut file = PlannedFile { plan: self, relpath };
                Some(canonicalize(name, &value, shown, kind, false, &mut file)?)
            }
            (value, _) => value,
        };
        let nowhere = || {
            error(
                ErrorCode::ILLEGAL_TARGET,
                format!("Can't set properties at not existing '{relpath}'"),
            )
        };
        let kind = kind.ok_or_else(nowhere)?;
        let file = kind == NodeKind::File;
        let found = self.find_or_make(relpath, THERE, file)?;
        let (number, _) = found.ok_or_else(nowhere)?;
        self.change(number, |o| o.props.push((name.to_owned(), value)));
        Ok(())
    }

    /// The operation on a path, if there is one already.
    fn planned(&self, relpath: &str) -> Option<&Operation> {
        self.find(relpath, THERE).and_then(|number| self.operation(number))
    }

    /// Makes the parent of the session's URL the root, when the root itself is added or deleted.
    pub(super) fn move_up(&mut self) -> SvnResult<()> {
        if self.kind_of(ROOT) == Kind::OpenDir {
            return Ok(());
        }
        let url = self.session.url();
        let Some((parent, name)) = url.parent_and_name() else { return Ok(()) };
        self.session.reparent(parent)?;
        for operation in &mut self.operations {
            if let Some((from, _)) = &mut operation.copy_from {
                *from = path::join(&name, from);
            }
        }
        let number = self.operations.len();
        let mut root = Operation::open("", true);
        root.children = Some(vec![number]);
        if let Some(place) = self.operations.get_mut(ROOT) {
            let mut old = std::mem::replace(place, root);
            old.name = name;
            self.operations.push(old);
        }
        Ok(())
    }
}
