//! Takes the edit that leads from the left side to the right one, fetches what it does not bring,
//! and gives each node to [`Apply`]. While it waits for the server it gives back the lock of questions to wc.db
//! that [`super::buffered_edit`] takes.

use std::collections::HashMap;
use std::io;

use sapwood_core::checksum::Md5Reader;
use sapwood_core::paths::{RelPath, RelPathBuf};
use sapwood_core::{ErrorCode, Md5, NodeKind, PropList, Revnum, SvnError, SvnResult};
use sapwood_delta::apply::ApplyReader;
use sapwood_delta::{EditStep, Handle, StepEditor, TextDelta};
use sapwood_ra::{DirentFields, Session};
use sapwood_wc::WorkingCopy;
use sapwood_wc::conflict::PropChange;
use sapwood_wc::merge::Pristine;

use super::Merge;
use super::apply::{Apply, OpenDecision, Sides};
use super::checkpoint::{Checkpoint, OpenNode};
use super::files::FileChange;
use super::left_props::LeftProps;
use super::props::is_regular;
use super::source::MergeSource;
use crate::diff::sides::{KEPT_IN_MEMORY, Text};

/// An open directory or file of the edit.
struct Open {
    below: RelPathBuf,
    /// The node, unless what is above it is not wanted.
    node: Option<u64>,
    skip: bool,
    skip_children: bool,
    added: bool,
    /// The left side's revision of it.
    base: Revnum,
    changes: Vec<PropChange>,
    texts: Option<Texts>,
}

/// The texts of a file that changes.
struct Texts {
    left: Text,
    right: Text,
    /// The MD5 of the right text, which is computed while it is received.
    right_md5: Md5,
    /// The left properties, if they came along.
    props: Option<PropList>,
    /// The left text, if it is the text base of the file, and short.
    pristine: Option<Vec<u8>>,
}

impl Texts {
    fn empty() -> Self {
        let right_md5 = Md5::of(b"");
        Self { left: Text::Empty, right: Text::Empty, right_md5, props: None, pristine: None }
    }
}

/// Applies an edit.
pub(super) struct RangeEditor<'m, 'a> {
    apply: Apply<'m, 'a>,
    session: &'m dyn Session,
    left_props: LeftProps<'m>,
    revision: Revnum,
    target_revision: Revnum,
    open: HashMap<u64, Open>,
    next: u64,
    /// How far it came, now or before it was stopped. What was open then is taken when it is opened
    /// again.
    reached: Checkpoint,
}

fn wrong_handle() -> SvnError {
    SvnError::new(
        ErrorCode::INCORRECT_PARAMS,
        "Internal error: an edit uses a node that is not open",
    )
}

/// Removes changes to values that are set already: some servers send all properties.
fn real_changes(props: &PropList, changes: Vec<PropChange>) -> Vec<PropChange> {
    let same = |(name, value): &PropChange| value.is_some() && props.get(name) == value.as_deref();
    changes.into_iter().filter(|change| !same(change)).collect()
}

impl<'m, 'a> RangeEditor<'m, 'a> {
    pub(super) fn new(
        merge: &'m mut Merge<'a>,
        (session, left_props): (&'m dyn Session, LeftProps<'m>),
        source: &MergeSource,
        reached: Checkpoint,
    ) -> Self {
        let (left, right) = (source.left_revision(), source.right_revision());
        Self {
            apply: Apply::new(merge, left, right),
            session,
            left_props,
            revision: left,
            target_revision: right,
            open: HashMap::new(),
            next: 0,
            reached,
        }
    }

    /// The working copy that is merged into.
    pub(super) fn working_copy(&self) -> WorkingCopy {
        self.apply.merge.wc().clone()
    }

    /// Whether the user said stop.
    pub(super) fn is_stopped(&self) -> bool {
        self.apply.merge.check_cancel().is_err()
    }

    /// How far it came.
    pub(super) fn into_reached(self) -> Checkpoint {
        let Self { apply, open, mut reached, .. } = self;
        for open in open.into_values() {
            let Some(node) = open.node.and_then(|id| apply.node(id).ok()) else { continue };
            let node = OpenNode {
                skip: open.skip,
                skip_children: open.skip_children,
                added: open.added,
                node: node.clone(),
            };
            reached.open.insert(open.below, node);
        }
        reached
    }

    fn put(&mut self, open: Open) -> Handle {
        self.next = self.next.wrapping_add(1);
        self.open.insert(self.next, open);
        Handle(self.next)
    }

    fn get(&mut self, handle: Handle) -> SvnResult<&mut Open> {
        self.open.get_mut(&handle.0).ok_or_else(wrong_handle)
    }

    fn close(&mut self, handle: Handle) -> SvnResult<Open> {
        self.open.remove(&handle.0).ok_or_else(wrong_handle)
    }

    /// Opens a node below a directory, unless nothing below that is wanted.
    fn enter(
        &mut self,
        below: &RelPath,
        parent: Option<Handle>,
        kind: NodeKind,
        base: Option<Revnum>,
    ) -> SvnResult<Handle> {
        let above = match parent {
            Some(parent) => {
                let above = self.get(parent)?;
                Some((above.node, above.skip_children))
            }
            None => None,
        };
        let sides = if base.is_some() { Sides::BOTH } else { Sides::ADDED };
        let wanted = matches!(above, None | Some((Some(_), false)));
        let opened = if !wanted || self.reached.is_done(below) {
            None
        } else {
            let parent = above.and_then(|above| above.0);
            Some(match self.reached.open.remove(below) {
                Some(again) if again.added == base.is_none() => {
                    let OpenNode { skip, skip_children, node, .. } = again;
                    OpenDecision { id: self.apply.open_again(parent, node), skip, skip_children }
                }
                _ => self.apply.open(below, parent, kind, sides)?,
            })
        };
        Ok(self.put(Open {
            below: below.to_owned(),
            node: opened.map(|o| o.id),
            skip: opened.is_none_or(|o| o.skip),
            skip_children: opened.is_none_or(|o| o.skip_children),
            added: base.is_none(),
            base: base.unwrap_or(self.revision),
            changes: Vec::new(),
            texts: None,
        }))
    }

    /// The left text of a file that is to be changed: the pristine one where it is the same, so that
    /// a file whose properties do not change needs no request.
    fn left_text(&self, open: &Open, sum: Option<Md5>) -> SvnResult<Texts> {
        let merge = &*self.apply.merge;
        if let Some(sum) = sum {
            let relpath = merge.target.relpath.join(&open.below);
            let limit = u64::try_from(KEPT_IN_MEMORY).unwrap_or(0);
            let wc = merge.wc();
            let found = match self.apply.node_on_disk(&relpath) {
                Some(seen) => wc.pristine_like(&seen.view, &sum, limit)?,
                None => match wc.view(&relpath)? {
                    Some(view) => wc.pristine_like(&view, &sum, limit)?,
                    None => None,
                },
            };
            if let Some(Pristine { path, text: pristine }) = found {
                return Ok(Texts { left: Text::File(path), pristine, ..Texts::empty() });
            }
        }
        let (left, props) = merge.fetch(self.session, &open.below, open.base)?;
        Ok(Texts { left, props: Some(props), ..Texts::empty() })
    }

    fn receive(&self, texts: &Texts, delta: &mut dyn TextDelta) -> SvnResult<(Text, Md5)> {
        let source = match &texts.pristine {
            Some(text) => Box::new(text.as_slice()),
            None => texts.left.reader()?,
        };
        let mut kept = self.apply.merge.keeper();
        let mut text = Md5Reader::new(ApplyReader::new(delta, source));
        let copied = io::copy(&mut text, &mut kept);
        let bytes = sapwood_core::exact::clamped(copied.map_err(SvnError::from_stream)?);
        self.apply.merge.ctx.wc.meter.add_bytes(bytes);
        Ok((kept.finish()?, text.finish()))
    }

    /// Asks the server.
    fn ask<T>(&self, question: impl FnOnce(&dyn Session) -> SvnResult<T>) -> SvnResult<T> {
        self.apply.merge.wc().db().released(|| question(self.session))
    }

    fn deleted_file(&mut self, below: &RelPath, parent: u64) -> SvnResult<()> {
        let opened = self.apply.open(below, Some(parent), NodeKind::File, Sides::DELETED)?;
        if !opened.skip {
            let wanted =
                !self.apply.merge.options.force_delete && !self.apply.node(opened.id)?.shadowed;
            let (text, props) = match wanted {
                true => self.apply.merge.fetch(self.session, below, self.revision)?,
                false => (Text::Empty, PropList::new()),
            };
            self.apply.file_deleted(opened.id, &text, &props)?;
        }
        self.apply.close(opened.id);
        Ok(())
    }

    /// A directory that only the left side has, with all that is in it.
    fn deleted_dir(&mut self, below: &RelPath, parent: u64) -> SvnResult<()> {
        let opened = self.apply.open(below, Some(parent), NodeKind::Dir, Sides::DELETED)?;
        let mut props = PropList::new();
        if !(opened.skip && opened.skip_children) {
            let fields = DirentFields { kind: true, ..DirentFields::default() };
            let wanted = (!opened.skip_children).then_some(fields);
            let revision = Some(self.revision);
            let mut found =
                self.ask(|session| session.get_dir(below, revision, wanted, !opened.skip))?;
            found.entries.sort_by(|a, b| a.0.cmp(&b.0));
            props = found.props;
            for (name, entry) in &found.entries {
                let child = below.child(name);
                match entry.kind {
                    Some(NodeKind::File) => self.deleted_file(&child, opened.id)?,
                    Some(NodeKind::Dir) => self.deleted_dir(&child, opened.id)?,
                    None => {}
                }
            }
        }
        if !opened.skip {
            self.apply.dir_deleted(opened.id, &props)?;
        }
        self.apply.close(opened.id);
        Ok(())
    }

    fn change_prop(&mut self, node: Handle, name: &str, value: Option<&[u8]>) -> SvnResult<()> {
        let open = self.get(node)?;
        if !open.skip && !name.starts_with("svn:wc:") {
            open.changes.push((name.to_owned(), value.map(<[u8]>::to_vec)));
        }
        Ok(())
    }

    fn end_dir(&mut self, open: &mut Open, id: u64) -> SvnResult<()> {
        let changed = open.changes.iter().any(|(name, _)| is_regular(name));
        if open.added {
            let props = added_props(&open.changes);
            return self.apply.dir_added(id, &props);
        }
        if changed {
            let found =
                self.ask(|session| session.get_dir(&open.below, Some(open.base), None, true))?;
            let changes = real_changes(&found.props, std::mem::take(&mut open.changes));
            if !changes.is_empty() {
                return self.apply.dir_changed(id, &found.props, &changes);
            }
        }
        self.apply.dir_closed(id)
    }

    fn end_file(&mut self, open: &mut Open, id: u64) -> SvnResult<()> {
        let changed = open.changes.iter().any(|(name, _)| is_regular(name));
        if open.added {
            let props = added_props(&open.changes);
            let text = open.texts.take().map_or(Text::Empty, |texts| texts.right);
            return self.apply.file_added(id, &text, &props);
        }
        if open.texts.is_none() && !changed {
            return Ok(());
        }
        let texts = open.texts.take();
        let known = texts.as_ref().and_then(|texts| texts.props.clone());
        let left = match known {
            Some(props) => props,
            None if changed => {
                let wc = self.apply.merge.wc().clone();
                wc.db().released(|| self.left_props.of_file(&open.below, open.base))?
            }
            None => PropList::new(),
        };
        let changes = real_changes(&left, std::mem::take(&mut open.changes));
        let pristine = texts.as_ref().and_then(|texts| texts.pristine.as_deref());
        let texts = texts.as_ref().map(|texts| (&texts.left, &texts.right));
        self.apply.file_changed(id, &FileChange { texts, pristine, left: &left, changes: &changes })
    }
}

fn added_props(changes: &[PropChange]) -> PropList {
    let mut props = PropList::new();
    for (name, value) in changes {
        match value {
            Some(value) => props.set(name, value),
            None => props.remove(name),
        };
    }
    props
}

impl RangeEditor<'_, '_> {
    fn delete(&mut self, below: &RelPath, parent: Handle) -> SvnResult<()> {
        let above = self.get(parent)?;
        let Some(id) = above.node.filter(|_| !above.skip_children) else { return Ok(()) };
        if self.reached.gone.contains(below) {
            return Ok(());
        }
        let revision = Some(self.revision);
        match self.ask(|session| session.check_path(below, revision))? {
            Some(NodeKind::File) => self.deleted_file(below, id)?,
            Some(NodeKind::Dir) => self.deleted_dir(below, id)?,
            None => {}
        }
        self.reached.gone.insert(below.to_owned());
        Ok(())
    }

    fn close_directory(&mut self, dir: Handle) -> SvnResult<()> {
        let mut open = self.close(dir)?;
        let Some(id) = open.node else { return Ok(()) };
        if !open.skip
            && let Err(error) = self.end_dir(&mut open, id)
        {
            // It is still open for the merge that goes on.
            self.open.insert(dir.0, open);
            return Err(error);
        }
        self.apply.close(id);
        self.reached.finish(&open.below);
        Ok(())
    }

    fn text(&mut self, file: Handle, sum: Option<Md5>, delta: &mut dyn TextDelta) -> SvnResult<()> {
        let Some(open) = self.open.get(&file.0) else { return Err(wrong_handle()) };
        if open.skip {
            while delta.next_window()?.is_some() {}
            return Ok(());
        }
        let mut texts = match open.added {
            true => Texts::empty(),
            false => self.left_text(open, sum)?,
        };
        (texts.right, texts.right_md5) = self.receive(&texts, delta)?;
        self.get(file)?.texts = Some(texts);
        Ok(())
    }

    fn close_file(&mut self, file: Handle, sum: Option<Md5>) -> SvnResult<()> {
        let mut open = self.close(file)?;
        let Some(id) = open.node else { return Ok(()) };
        if !open.skip {
            if let (Some(sum), Some(texts)) = (sum, &open.texts) {
                check_sum(&open.below, texts.right_md5, sum)?;
            }
            if let Err(error) = self.end_file(&mut open, id) {
                self.open.insert(file.0, open);
                return Err(error);
            }
        }
        self.apply.close(id);
        self.reached.finish(&open.below);
        Ok(())
    }
}

impl StepEditor for RangeEditor<'_, '_> {
    fn step(&mut self, step: EditStep<'_>) -> SvnResult<Handle> {
        match step {
            EditStep::TargetRevision(revision) => {
                self.target_revision = revision;
                self.apply.right_revision = revision;
            }
            EditStep::OpenRoot(base) => {
                let base = base.unwrap_or(self.revision);
                return self.enter(RelPath::ROOT, None, NodeKind::Dir, Some(base));
            }
            EditStep::Add { kind, path, parent, .. } => {
                return self.enter(path, Some(parent), kind, None);
            }
            EditStep::Open { kind, path, parent, base } => {
                let base = base.unwrap_or(self.revision);
                return self.enter(path, Some(parent), kind, Some(base));
            }
            EditStep::Delete { path, parent, .. } => self.delete(path, parent)?,
            EditStep::Absent { path, parent, .. } => {
                if let Some(id) = self.get(parent)?.node {
                    self.apply.absent(path, id)?;
                }
            }
            EditStep::Prop { node, name, value, .. } => self.change_prop(node, name, value)?,
            EditStep::Text { file, base, delta } => self.text(file, base, delta)?,
            EditStep::CloseDirectory(dir) => self.close_directory(dir)?,
            EditStep::CloseFile { file, text } => self.close_file(file, text)?,
            EditStep::CloseEdit | EditStep::AbortEdit => {}
        }
        Ok(Handle::NONE)
    }
}

/// Refuses a text that is not the one that was meant.
fn check_sum(below: &str, actual: Md5, expected: Md5) -> SvnResult<()> {
    if actual == expected {
        return Ok(());
    }
    Err(SvnError::checksum_mismatch(below, expected, actual))
}
