//! Open files of an update.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use sapwood_core::checksum::Md5Reader;
use sapwood_core::notify::{Action as NotifyAction, LockState, Notify, State};
use sapwood_core::paths::RelPath;
use sapwood_core::props::names;
use sapwood_core::{ErrorCode, Md5, NodeKind, PropList, Sha1, SvnError, SvnResult, path, uri};
use sapwood_delta::TextDelta;

use super::batch::{Body, NewText, Step, Work};
use super::dirs::{notify_state, patched};
use super::node::OpenNode;
use super::text::{Lazy, receive};
use super::{UpdateEditor, sort_changes};
use crate::base::BaseNode;
use crate::conflict::{
    Action, Conflict, PropChange, Reason, TextMerge, TextOutcome, merge_props, merge_text,
    update_labels,
};
use crate::db::NodeRow;
use crate::error::{Error, Result};
use crate::files::{self, Form};
use crate::layout;
use crate::local_mods::is_magic;
use crate::text_base::set_aside;
use crate::translate::{Direction, KeywordSource, TranslatedReader, Translation};
use crate::work_item::WorkItem;

/// A file that is open.
#[derive(Debug)]
pub(super) struct OpenFile {
    pub(super) node: OpenNode,
    /// The pristine text before.
    pub(super) old_text: Option<Sha1>,
    /// The pristine text after, when it changed.
    pub(super) new_text: Option<NewText>,
}

impl OpenFile {
    pub(super) const fn new(node: OpenNode) -> Self {
        Self { node, old_text: None, new_text: None }
    }
}

/// What closing a file decides about its working file.
#[derive(Default)]
struct Outcome {
    content: State,
    work: Vec<Work>,
    keep_recorded: bool,
}

impl UpdateEditor<'_> {
    /// Takes the text of a file.
    pub(super) fn receive_text(
        &mut self,
        handle: u64,
        expected: Option<Md5>,
        delta: &mut dyn TextDelta,
    ) -> SvnResult<()> {
        if self.file_mut(handle)?.node.skip {
            return Ok(());
        }
        self.mark_edited(handle)?;
        self.require_temporary()?;
        let file = self.file_mut(handle)?;
        let (relpath, adding) = (file.node.relpath.clone(), file.node.adding);
        let old = file.old_text.filter(|_| !adding);
        let recorded = match old {
            Some(old) => self.wc.db().pristine(&old)?.map(|row| row.md5),
            None => None,
        };
        if let (Some(expected), Some(recorded)) = (expected, recorded)
            && expected != recorded
        {
            let shown = self.wc.abspath(&relpath);
            let message = format!(
                "Checksum mismatch for '{}':\n   expected:  {expected}\n   recorded:  {recorded}\n",
                shown.display()
            );
            return Err(SvnError::new(ErrorCode::WC_CORRUPT_TEXT_BASE, message));
        }
        let wc = self.wc.clone();
        let text = match old {
            Some(old) => {
                let mut source = Md5Reader::new(Lazy::new(|| wc.open_text_base(&relpath, &old)));
                let received = receive(&wc, &mut source, delta);
                // A wrong base text explains any other error.
                let found = source.finish_whole().map_err(SvnError::from_stream)?;
                if let Some(recorded) = recorded.filter(|recorded| *recorded != found) {
                    let shown = self.wc.abspath(&relpath);
                    let message = format!(
                        "Checksum mismatch while updating '{}':\n   expected:  {recorded}\n     \
                         actual:  {found}\n",
                        shown.display()
                    );
                    return Err(SvnError::new(ErrorCode::WC_CORRUPT_TEXT_BASE, message));
                }
                received?
            }
            None => receive(&wc, std::io::empty(), delta)?,
        };
        self.file_mut(handle)?.new_text = Some(text);
        Ok(())
    }

    /// Before the first text: the folder for temporary files must be there. Small texts need none, but
    /// whether an update succeeds is not to depend on their size.
    fn require_temporary(&mut self) -> SvnResult<()> {
        if self.temporary_seen {
            return Ok(());
        }
        let folder = layout::tmp(self.wc.root());
        if let Err(error) = fs::metadata(&folder) {
            let what = "Can't create temporary file from template";
            let error = SvnError::io(&error, format!("{what} '{}/svn-XXXXXX'", folder.display()));
            let code = error.code();
            return Err(error.wrap(code, "Unable to create pristine install stream"));
        }
        self.temporary_seen = true;
        Ok(())
    }

    /// Takes a property of a file.
    pub(super) fn change_file(
        &mut self,
        handle: u64,
        name: &str,
        value: Option<&[u8]>,
    ) -> Result<()> {
        if !self.change_prop(handle, name, value)? {
            return Ok(());
        }
        let file = self.file_mut(handle)?;
        if name == names::SPECIAL && !file.node.shadowed && !file.node.adding {
            let relpath = file.node.relpath.clone();
            self.becomes_special(handle, &relpath, value.is_some())?;
        }
        Ok(())
    }

    /// A file becomes a link, or a link a file: local changes cannot be merged, they stay as a copy.
    fn becomes_special(&mut self, handle: u64, relpath: &RelPath, special: bool) -> Result<()> {
        let was = self.old_props(relpath, false)?.get(names::SPECIAL).is_some();
        if was == special {
            return Ok(());
        }
        let Some(view) = self.wc.view(relpath)? else { return Ok(()) };
        if !view.props_modified() && !self.wc.file_modified(&view)? {
            return Ok(());
        }
        let mut conflict = self.file_mut(handle)?.node.conflict.take().unwrap_or_default();
        conflict.tree = super::conflicts::tree(Reason::Edited, Action::Replace).tree;
        if let Some(file) = self.files.get(&handle) {
            self.complete(&mut conflict, &file.node.conflict_sides(), None)?;
        }
        self.step(Step::MakeCopy(relpath.to_owned(), conflict.write()))?;
        self.flush()?;
        self.notify(relpath, NotifyAction::TreeConflict, Some(NodeKind::File));
        let file = self.file_mut(handle)?;
        file.node.conflict = Some(conflict);
        file.node.shadowed = true;
        file.node.add_existed = false;
        file.node.notified = true;
        Ok(())
    }

    /// Closes a file.
    pub(super) fn end_file(&mut self, handle: u64, expected: Option<Md5>) -> Result<()> {
        let Some(mut file) = self.files.remove(&handle) else {
            return Err(super::protocol("A file that is not open was closed"));
        };
        if file.node.skip {
            return Ok(());
        }
        self.check_text(&file, expected)?;
        let mut conflict = file.node.conflict.take().filter(|_| file.node.edited);
        let sorted = sort_changes(std::mem::take(&mut file.node.changes));
        file.node.changed.take_entry_props(&sorted.entry);
        let lock = self.lock_gone(&file, &sorted.entry)?;

        let (base_props, local_props) = self.props_before(&file)?;
        let new_props = patched(&base_props, &sorted.regular);
        let merged = merge_props(&base_props, &base_props, &local_props, &sorted.regular);
        if let Some(prop) = merged.conflict {
            conflict.get_or_insert_default().prop = Some(prop);
        }
        let prop_state = notify_state(merged.state);
        let new_sum = file.new_text.as_ref().map(|t| t.sha1).or(file.old_text);

        self.file_closed = true;
        let mut row = self.row_after(&file.node, &new_props, sorted.dav);
        row.checksum = Some(new_sum.ok_or_else(|| Error::Corrupt {
            path: self.wc.abspath(&file.node.relpath),
            what: "the file has no checksum".to_owned(),
        })?);
        row.file_external = self.file_external;
        let has_text = file.new_text.is_some();
        let mut outcome = if file.node.shadowed {
            let content = if has_text { State::Changed } else { State::Unchanged };
            if let Some(text) = file.new_text.take() {
                self.batch.add_text(text);
            }
            Outcome { content, ..Outcome::default() }
        } else {
            let form = FormOf { new: &new_props, local: &local_props, changes: &sorted.regular };
            self.working_file(&mut file, &form, &row, &mut conflict, lock)?
        };
        self.close_conflict(&file.node, conflict.as_mut(), &mut outcome.work)?;
        let mut node = BaseNode::new(row);
        node.keep_recorded = outcome.keep_recorded;
        let mime = merged.actual.get_str(names::MIME_TYPE).map(str::to_owned);
        node.actual_props = (!file.node.shadowed).then_some(merged.actual);
        node.delete_working = file.node.add_existed && file.node.adding;
        node.delete_here = file.node.shadowed && file.node.obstruction_found;
        node.conflict = conflict.as_ref().map(Conflict::write);
        self.step(Step::Put(Box::new(node), outcome.work))?;
        self.wc.options().meter.add_file();
        self.note_written(&file.node)?;
        self.notify_file(&file, outcome.content, prop_state, lock, mime.as_deref());
        Ok(())
    }

    /// The properties that a file had: those of BASE, and those that the user sees.
    fn props_before(&mut self, file: &OpenFile) -> Result<(PropList, PropList)> {
        if file.node.adding && !file.node.add_existed {
            return Ok((PropList::new(), PropList::new()));
        }
        self.flush_if_touched(&file.node.relpath)?;
        let base = self.old_props(&file.node.relpath, file.node.add_existed)?;
        let local = if file.node.shadowed {
            base.clone()
        } else {
            self.wc.view(&file.node.relpath)?.map_or_else(|| Ok(PropList::new()), |v| v.props())?
        };
        Ok((base, local))
    }

    fn check_text(&self, file: &OpenFile, expected: Option<Md5>) -> Result<()> {
        if let (Some(text), Some(expected)) = (&file.new_text, expected)
            && text.md5 != expected
        {
            let shown = self.wc.abspath(&file.node.relpath);
            return Err(Error::Svn(SvnError::checksum_mismatch(
                shown.display(),
                expected,
                text.md5,
            )));
        }
        Ok(())
    }

    /// Whether the other side reports that a lock is gone; then removes it.
    fn lock_gone(&mut self, file: &OpenFile, entry: &[PropChange]) -> Result<LockState> {
        let gone = entry.iter().any(|(name, _)| name == names::ENTRY_LOCK_TOKEN);
        let same_place = file.node.old_repos_path.as_ref() == Some(&file.node.repos_path);
        if !gone || (self.is_switch() && !same_place) {
            return Ok(LockState::Unchanged);
        }
        if let Some(path) = &file.node.old_repos_path {
            let path = path.clone();
            self.step(Step::RemoveLock(self.repos_id, path))?;
        }
        Ok(LockState::Unlocked)
    }

    /// Decides what happens to the working file.
    fn working_file(
        &mut self,
        file: &mut OpenFile,
        form: &FormOf<'_>,
        row: &NodeRow,
        conflict: &mut Option<Conflict>,
        lock: LockState,
    ) -> Result<Outcome> {
        let mut out = Outcome { content: State::Unchanged, ..Outcome::default() };
        if file.node.obstruction_found || file.node.obstructed {
            // The existing file becomes the node, or obstructs it; either way it stays.
            if let Some(text) = file.new_text.take() {
                self.batch.add_text(text);
                out.content = State::Changed;
            }
            out.keep_recorded = out.content == State::Unchanged;
            return Ok(out);
        }
        let modified = if file.node.adding && !file.node.add_existed {
            false
        } else {
            match self.wc.view(&file.node.relpath)? {
                Some(view) => self.wc.file_modified(&view)?,
                None => false,
            }
        };
        match file.new_text.take() {
            Some(text) if !modified => {
                out.content = State::Changed;
                let work = self.install(file, form, row, &text, lock)?;
                out.work.push(work);
                self.batch.add_installed_text(text);
            }
            Some(text) => {
                out.content = self.merge(file, form, text, conflict, &mut out.work)?;
            }
            None => {
                let magic = form.changes.iter().any(|(name, _)| is_magic(name));
                let keywords = form.local.get(names::KEYWORDS).is_some_and(|v| !v.is_empty());
                if magic || keywords {
                    self.install_again(file, form, modified, &mut out.work)?;
                } else {
                    if lock == LockState::Unlocked {
                        let relpath = file.node.relpath.clone();
                        out.work.push(Work::Item(WorkItem::SyncFileFlags { relpath }));
                    }
                    out.keep_recorded = true;
                }
            }
        }
        Ok(out)
    }

    /// The work that writes an unmodified file from its new text.
    fn install(
        &self,
        file: &OpenFile,
        form: &FormOf<'_>,
        row: &NodeRow,
        text: &NewText,
        lock: LockState,
    ) -> Result<Work> {
        let relpath = file.node.relpath.clone();
        let use_commit_times = self.wc.options().use_commit_times;
        let Body::Memory(bytes) = &text.body else {
            let item = WorkItem::install(relpath, use_commit_times);
            return Ok(Work::Item(item));
        };
        let special = form.new.get(names::SPECIAL).is_some();
        let mut made = Form {
            translation: Translation { special, ..Translation::default() },
            executable: form.new.get(names::EXECUTABLE).is_some(),
            read_only: false,
            time: row.changed_date.filter(|_| use_commit_times),
        };
        if form.new.get(crate::props::rules::NEEDS_LOCK).is_some() {
            let kept = !file.node.adding && lock != LockState::Unlocked;
            let locked = kept && self.wc.lock_of(row)?.is_some();
            made.read_only = !locked;
        }
        if !special {
            made.translation = self.translation_of(form.new, row);
        }
        let new = file.node.adding && !file.node.add_existed && !special;
        Ok(Work::Install { relpath, form: made, text: Arc::clone(bytes), new })
    }

    /// What properties ask for, with the values that a row gives keywords.
    fn translation_of(&self, props: &PropList, row: &NodeRow) -> Translation {
        if props.is_empty() {
            return Translation::default();
        }
        let url = uri::join(&self.repos_root, row.repos_path.as_deref().unwrap_or_default());
        let source = KeywordSource {
            modified: false,
            revision: row.changed_revision,
            date: row.changed_date,
            author: row.changed_author.as_deref(),
            url: &url,
            root: &self.repos_root,
            zone: &self.wc.options().zone,
        };
        Translation::of(props, Some(&source))
    }

    /// Merges a new text into a modified file.
    fn merge(
        &mut self,
        file: &OpenFile,
        form: &FormOf<'_>,
        text: NewText,
        conflict: &mut Option<Conflict>,
        work: &mut Vec<Work>,
    ) -> Result<State> {
        let sha1 = text.sha1;
        self.batch.add_text(text);
        // The merge reads the new text from the store.
        self.flush()?;
        let right = layout::pristine(self.wc.root(), &sha1);
        let old = file.old_text.filter(|_| !file.node.add_existed);
        let (left, temporary) = match old {
            // The text base of a modified file is kept.
            Some(old) => (layout::pristine(self.wc.root(), &old), None),
            None => {
                let empty = self.wc.temporary();
                fs::write(&empty, b"").map_err(|e| Error::io(e, "Can't write to file", &empty))?;
                (empty.clone(), Some(empty))
            }
        };
        let labels = update_labels(
            path::basename(&file.node.relpath),
            file.node.old_revision,
            self.to_revision()?,
            &self.wc.options().preserved_extensions,
        );
        let merged = merge_text(
            &self.wc,
            &TextMerge {
                relpath: &file.node.relpath,
                left: &left,
                right: &right,
                left_label: &labels.0,
                right_label: &labels.1,
                target_label: &labels.2,
                actual: form.local,
                changes: form.changes,
                options: sapwood_diff::Options::default(),
                external: self.params.diff3,
                suffix: None,
            },
        )?;
        work.extend(merged.work.into_iter().map(Work::Item));
        self.remove_later(temporary, work)?;
        if let Some(text) = merged.conflict {
            conflict.get_or_insert_default().text = Some(text);
        }
        Ok(match merged.outcome {
            TextOutcome::Conflict => State::Conflicted,
            TextOutcome::Merged | TextOutcome::Unchanged => State::Merged,
        })
    }

    fn remove_later(&self, file: Option<PathBuf>, work: &mut Vec<Work>) -> Result<()> {
        if let Some(file) = file {
            let relpath = self.wc.relpath(&file)?;
            work.push(Work::Item(WorkItem::FileRemove { relpath }));
        }
        Ok(())
    }

    /// The text is as it was, but the working form changes: keywords have new values, or line ends
    /// another style. A modified file is brought to normal form and written again.
    fn install_again(
        &mut self,
        file: &OpenFile,
        form: &FormOf<'_>,
        modified: bool,
        work: &mut Vec<Work>,
    ) -> Result<()> {
        let mut source = None;
        if modified {
            let path = self.wc.abspath(&file.node.relpath);
            let normal = Translation::of(form.local, None);
            let temporary = self.wc.temporary();
            if normal.special {
                let mut text = crate::translate::special::read_normal(&path)
                    .map_err(|e| Error::io(e, "Can't read file", &path))?;
                files::create(&temporary, &mut text, &Form::default())?;
            } else {
                let from =
                    fs::File::open(&path).map_err(|e| Error::io(e, "Can't open file", &path))?;
                let translator = normal.translator(Direction::ToNormal, false)?;
                let mut text = TranslatedReader::new(from, translator);
                files::create(&temporary, &mut text, &Form::default())?;
            }
            source = Some(temporary);
        } else if !self.wc.stores_pristines()
            && let Some(sha1) = file.old_text
        {
            // The file is its own text base as long as it has its old form only.
            let mut text = self.wc.open_text_base(&file.node.relpath, &sha1)?;
            source = Some(self.wc.abspath(&set_aside(self.wc.disk(), &mut text)?));
        }
        let relpath = source.as_deref().map(|path| self.wc.relpath(path)).transpose()?;
        work.push(Work::Item(WorkItem::FileInstall {
            relpath: file.node.relpath.clone(),
            use_commit_times: self.wc.options().use_commit_times,
            record_fileinfo: !modified,
            source: relpath,
        }));
        self.remove_later(source, work)
    }

    fn notify_file(
        &self,
        file: &OpenFile,
        content: State,
        props: State,
        lock: LockState,
        mime: Option<&str>,
    ) {
        if file.node.notified || !(file.node.edited || lock == LockState::Unlocked) {
            return;
        }
        let action = match file.node.action() {
            _ if !file.node.edited => NotifyAction::UpdateBrokenLock,
            NotifyAction::Exists if content == State::Conflicted => NotifyAction::UpdateUpdate,
            action => action,
        };
        let value = Notify {
            kind: Some(NodeKind::File),
            content,
            props,
            lock,
            mime_type: mime,
            revision: self.revision,
            ..Notify::new(action, "")
        };
        self.notify_value(&file.node.relpath, value);
    }
}

/// The properties that decide a working file's form.
struct FormOf<'p> {
    /// The pristine ones after the update.
    new: &'p PropList,
    /// The local ones before it.
    local: &'p PropList,
    changes: &'p [PropChange],
}
