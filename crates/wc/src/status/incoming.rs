//! What the repository has and the working copy has not: an edit, recorded by path.
//!
//! The other side drives this editor with the differences to the report of a status
//! ([`crate::report`]). Nothing is compared during the edit: what it says about each node is
//! stored, and [`super::against`] joins it with the local status afterwards. Memory grows with the
//! number of nodes that are out of date, not with the working copy.

use std::collections::{BTreeMap, HashMap};

use sapwood_core::date::Timestamp;
use sapwood_core::paths::{FsPathBuf, RelPath, RelPathBuf};
use sapwood_core::props::names;
use sapwood_core::{ErrorCode, NodeKind, Revnum, SvnError, SvnResult};
use sapwood_delta::{EditStep, Handle, StepEditor};

use super::value::{LastChange, LockInfo, Remote, State};
use crate::props::rules::{PropKind, kind_of};

/// What an edit contains for one name in a directory.
#[derive(Clone, Debug, Default)]
pub(super) struct IncomingChange {
    /// Whether the reported node was deleted.
    deleted: bool,
    /// Whether a node was added.
    added: bool,
    remote: Remote,
}

impl IncomingChange {
    /// The incoming state of a node with or without a local status; `None` for nodes that are
    /// unknown here and are not added.
    /// are not added are not spoken of.
    pub(super) fn beside(&self, local: bool) -> Option<Remote> {
        if !local && !self.added {
            return None;
        }
        let mut remote = self.remote.clone();
        if self.added && self.deleted && local {
            remote.node = State::Replaced;
        }
        Some(remote)
    }
}

/// Everything that an edit contains.
#[derive(Debug, Default)]
pub struct IncomingChanges {
    /// The revision that the other side compared with.
    pub revision: Option<Revnum>,
    /// Locks of the repository, by fspath.
    pub locks: HashMap<FsPathBuf, LockInfo>,
    /// Whether the edit had a root: otherwise it was empty.
    pub(super) opened: bool,
    /// The entry of the anchor itself.
    pub(super) anchor: Remote,
    /// The entries, by directory and name.
    pub(super) changes: HashMap<RelPathBuf, BTreeMap<String, IncomingChange>>,
    /// Directories that the edit went into, with the names of those below that it went into too,
    /// in the order in which it left them.
    pub(super) dirs: HashMap<RelPathBuf, Vec<String>>,
}

impl IncomingChanges {
    pub(super) fn of(&self, relpath: &RelPath) -> Option<&IncomingChange> {
        let (dir, name) = relpath.parent_and_name();
        self.changes.get(dir)?.get(name)
    }

    /// Whether a node was deleted and another added in its place.
    pub(super) fn is_replaced(&self, relpath: &RelPath) -> bool {
        self.of(relpath).is_some_and(|change| change.deleted && change.added)
    }
}

/// A directory or file that the edit is in.
#[derive(Debug, Default)]
struct Open {
    relpath: RelPathBuf,
    parent: Option<u64>,
    is_dir: bool,
    added: bool,
    text: bool,
    props: bool,
    changed: LastChange,
}

/// Records the edit.
#[derive(Debug)]
pub struct StatusEditor {
    anchor: RelPathBuf,
    has_target: bool,
    open: HashMap<u64, Open>,
    next: u64,
    incoming: IncomingChanges,
}

/// What is recorded for a node; `None` keeps the previous value.
struct Words {
    node: Option<State>,
    text: Option<State>,
    props: Option<State>,
}

const fn word(yes: bool, state: State) -> State {
    if yes { state } else { State::None }
}

impl StatusEditor {
    /// For a report of `anchor`, or (with `has_target`) of one name in it.
    #[must_use]
    pub fn new(anchor: &RelPath, has_target: bool) -> Self {
        Self {
            anchor: anchor.to_owned(),
            has_target,
            open: HashMap::new(),
            next: 0,
            incoming: IncomingChanges::default(),
        }
    }

    /// The recorded edit.
    #[must_use]
    pub fn finish(self) -> IncomingChanges {
        self.incoming
    }

    fn at(&mut self, handle: Handle) -> SvnResult<&mut Open> {
        self.open.get_mut(&handle.0).ok_or_else(wrong_handle)
    }

    fn begin(
        &mut self,
        below: &RelPath,
        parent: Handle,
        is_dir: bool,
        added: bool,
    ) -> SvnResult<Handle> {
        if added {
            self.at(parent)?.text = true;
        }
        let relpath = self.anchor.join(inside(below)?);
        Ok(self.push(Open { relpath, parent: Some(parent.0), is_dir, added, ..Open::default() }))
    }

    fn push(&mut self, open: Open) -> Handle {
        if open.is_dir {
            self.incoming.dirs.entry(open.relpath.clone()).or_default();
        }
        self.next = self.next.wrapping_add(1);
        self.open.insert(self.next, open);
        Handle(self.next)
    }

    fn incoming(&mut self, relpath: &RelPath) -> &mut IncomingChange {
        let (dir, name) = relpath.parent_and_name();
        let dir = self.incoming.changes.entry(dir.to_owned()).or_default();
        dir.entry(name.to_owned()).or_default()
    }

    fn write(&mut self, open: &Open, words: &Words) {
        let change = self.incoming(&open.relpath);
        change.added |= open.added;
        let remote = &mut change.remote;
        remote.node = words.node.unwrap_or(remote.node);
        remote.text = words.text.unwrap_or(remote.text);
        remote.props = words.props.unwrap_or(remote.props);
        remote.kind = Some(if open.is_dir { NodeKind::Dir } else { NodeKind::File });
        remote.changed.revision = open.changed.revision;
        remote.changed.date = open.changed.date;
        if open.changed.author.is_some() {
            remote.changed.author.clone_from(&open.changed.author);
        }
    }

    fn prop(&mut self, handle: Handle, name: &str, value: Option<&[u8]>) -> SvnResult<()> {
        let open = self.at(handle)?;
        if kind_of(name) == PropKind::Regular {
            open.props = true;
        }
        let Some(text) = value.and_then(|value| std::str::from_utf8(value).ok()) else {
            return Ok(());
        };
        match name {
            names::ENTRY_COMMITTED_REV => open.changed.revision = text.parse().ok().map(Revnum),
            names::ENTRY_LAST_AUTHOR => open.changed.author = Some(text.to_owned()),
            names::ENTRY_COMMITTED_DATE => {
                open.changed.date = Timestamp::parse(text.as_bytes())?.0;
            }
            _ => {}
        }
        Ok(())
    }
}

/// The path of an edit that is about a node in its root.
fn inside(path: &RelPath) -> SvnResult<&RelPath> {
    let outside = || SvnError::new(ErrorCode::RA_SVN_MALFORMED_DATA, "An edit of no node");
    if path.is_root() { Err(outside()) } else { Ok(path) }
}

fn wrong_handle() -> SvnError {
    SvnError::new(ErrorCode::RA_SVN_MALFORMED_DATA, "Use of a node that is not open")
}

impl StatusEditor {
    fn delete(
        &mut self,
        path: &RelPath,
        revision: Option<Revnum>,
        parent: Handle,
    ) -> SvnResult<()> {
        let relpath = self.anchor.join(inside(path)?);
        let has_target = self.has_target;
        let open = self.open.remove(&parent.0).ok_or_else(wrong_handle)?;
        // Other servers do not send a date; the last change of the directory is the best guess.
        let revision = revision.or(open.changed.revision);
        let change = self.incoming(&relpath);
        change.deleted = true;
        change.remote.node = State::Deleted;
        change.remote.changed.revision = revision;
        if open.parent.is_some() && !has_target {
            let modified = Some(State::Modified);
            self.write(&open, &Words { node: modified, text: modified, props: None });
        }
        self.open.insert(parent.0, open);
        Ok(())
    }

    fn close_directory(&mut self, dir: Handle) -> SvnResult<()> {
        let open = self.open.remove(&dir.0).ok_or_else(wrong_handle)?;
        if open.added || open.props || open.text || open.changed.revision.is_some() {
            let words = if open.added {
                Words {
                    node: Some(State::Added),
                    text: Some(State::None),
                    props: Some(word(open.props, State::Added)),
                }
            } else {
                Words {
                    node: Some(word(open.text || open.props, State::Modified)),
                    text: Some(word(open.text, State::Modified)),
                    props: Some(word(open.props, State::Modified)),
                }
            };
            if open.parent.is_some() {
                self.write(&open, &words);
            } else {
                let none = |state: Option<State>| state.unwrap_or_default();
                self.incoming.anchor = Remote {
                    node: none(words.node),
                    text: none(words.text),
                    props: none(words.props),
                    lock: None,
                    kind: Some(NodeKind::Dir),
                    changed: open.changed.clone(),
                };
            }
        }
        if open.parent.is_some() {
            let (above, name) = open.relpath.parent_and_name();
            if let Some(dirs) = self.incoming.dirs.get_mut(above) {
                dirs.push(name.to_owned());
            }
        }
        Ok(())
    }

    fn close_file(&mut self, file: Handle) -> SvnResult<()> {
        let open = self.open.remove(&file.0).ok_or_else(wrong_handle)?;
        if open.added || open.props || open.text {
            let modified = |yes: bool| yes.then_some(State::Modified);
            let node = if open.added { State::Added } else { State::Modified };
            let (text, props) = (modified(open.text), modified(open.props));
            self.write(&open, &Words { node: Some(node), text, props });
        }
        Ok(())
    }
}

impl StepEditor for StatusEditor {
    fn step(&mut self, step: EditStep<'_>) -> SvnResult<Handle> {
        match step {
            EditStep::TargetRevision(revision) => self.incoming.revision = Some(revision),
            EditStep::OpenRoot(_) => {
                self.incoming.opened = true;
                let relpath = self.anchor.clone();
                return Ok(self.push(Open { relpath, is_dir: true, ..Open::default() }));
            }
            EditStep::Add { kind, path, parent, .. } => {
                return self.begin(path, parent, kind == NodeKind::Dir, true);
            }
            EditStep::Open { kind, path, parent, .. } => {
                return self.begin(path, parent, kind == NodeKind::Dir, false);
            }
            EditStep::Delete { path, revision, parent } => self.delete(path, revision, parent)?,
            EditStep::Prop { node, name, value, .. } => self.prop(node, name, value)?,
            EditStep::Text { file, .. } => self.at(file)?.text = true,
            EditStep::CloseDirectory(dir) => self.close_directory(dir)?,
            EditStep::CloseFile { file, .. } => self.close_file(file)?,
            EditStep::Absent { .. } | EditStep::CloseEdit | EditStep::AbortEdit => {}
        }
        Ok(Handle::NONE)
    }
}
